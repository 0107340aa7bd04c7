# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 · Order
#
# *The dog bit the man* and *the man bit the dog* have the same words. Does attention know the difference? You
# shuffle a sentence and measure, then give words a place: by a mask, by codes that are added, by rotation.
#
# - **At its end** you can say what a shuffle does to attention, measure it for any function of rows, and write both
#   usual ways to tell positions: codes that are added, and rotation.
# - **Time:** 40 minutes.
# - **You need:** chapters 04 and 06; sine and cosine.
# - **Letters:** B sentences in a batch, T rows, d width of a row, d_k width of a query or key, T_max rows of a table of
#   positions. `…` stands for any leading axes.

# %%
import numpy as np
import torch
from torch.nn import functional as F

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_08 as charts
from attention_lab.figures import picture
from attention_lab.lesson import CLERK_WORDS, W_K, W_Q, W_V, WORDS, rows
from attention_lab.models import load
from attention_lab.widgets import PatternData, PatternView, Slider, explore

torch.set_num_threads(1)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## Shuffle the words
#
# *the boat left the bank*, and the same words as *bank left the boat the*. The head of chapter 04 reads both, without
# a mask.
#
# ### Question: shuffled blend
#
# What becomes of the blend of *bank*? Choose one: `"the same blend, in another row"`, `"another blend"`,
# `"the blend of left"`.

# %%
answer("08_shuffled_blend", "the same blend, in another row")


# %% tags=["nbval-check-output", "claim-C18"]
def head(x, causal=False):
    q, k, v = (x @ torch.tensor(W) for W in (W_Q, W_K, W_V))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


x = torch.tensor(rows(WORDS))  # (T, d) = (5, 4)
perm = torch.tensor([4, 2, 0, 1, 3])  # row 0 of x[perm] is row 4 of x
in_order, shuffled = head(x), head(x[perm])
for t in range(5):
    before, after = WORDS[t], WORDS[perm[t]]
    print(f"{before:4} {in_order[t].numpy()}      {after:4} {shuffled[t].numpy()}")

# %% [markdown]
# Every word keeps its blend and takes it along to its new row. A blend is a sum over the words, and a sum does not ask
# in which order it is made. The two *the* cannot be told apart either.
#
# Two words for two things that are often confused:
#
# - f is **equivariant** when the output is shuffled like the input: f(x[perm]) = f(x)[perm].
# - f is **invariant** when the output does not change at all: f(x[perm]) = f(x).
#
# Attention is equivariant. Its output does change: the blend of *bank* stands first now.
#
# ### Question: mean row
#
# A function takes the mean of all rows, (T, d) to (d,). What is it: `"invariant"`, `"equivariant"`, `"neither"`?

# %%
answer("08_mean_row", "invariant")

# %% [markdown]
# ### Exercise: equivariance_gap (5 min, difficulty 2)
#
# An instrument: the largest |f(x[perm]) − f(x)[perm]| over all rows and columns, 0 for an equivariant f. Two things
# often go wrong: differences keep their sign, or the wrong one of the two is shuffled. `f` may write into the tensor
# that it gets; `x` stays as it was.


# %%
@exercise
def equivariance_gap(f, x, perm):
    """How far f is from letting a shuffle through: f takes (T, d) to (T, d'), x (T, d), perm (T,) int -> float."""
    ### BEGIN SOLUTION
    return (f(x[perm]) - f(x.clone())[perm]).abs().max().item()
    ### END SOLUTION


# %% tags=["nbval-check-output"]
print(f"head, no mask:         {equivariance_gap(head, x, perm):.3f}")
print(f"product with a matrix: {equivariance_gap(lambda x: x @ torch.tensor(W_V), x, perm):.3f}")
print(f"sum so far:            {equivariance_gap(lambda x: x.cumsum(0), x, perm):.3f}")

# %% [markdown]
# ## What a mask tells
#
# With a causal mask the first row sees itself only, the second sees two words, and so on. Who sees how much depends on
# the place.

# %% tags=["nbval-check-output"]
masked = head(x, causal=True)
print("first and second the, no mask:", in_order[0].numpy(), in_order[3].numpy())
print("first and second the, masked: ", masked[0].numpy(), masked[3].numpy())
print(f"gap of the masked head: {equivariance_gap(lambda x: head(x, causal=True), x, perm):.3f}")

# %% [markdown]
# The two *the* have the same row and different blends now: the mask alone tells them apart. But how much does it tell?
# Look at the last row, from which a model says its next word, and call *x plus the blend of x* a block.
#
# ### Question: last row
#
# One masked block. The words before *bank* are shuffled, *bank* stays last. What becomes of its row:
# `"nothing"`, `"it moves a little"`, `"it becomes another word's row"`?

# %%
answer("08_last_row", "nothing")


# %% tags=["nbval-check-output", "claim-C18"]
def blocks(x, n, causal):
    for _ in range(n):
        x = x + head(x, causal)
    return x


before_bank = torch.tensor([1, 2, 0, 3, 4])  # boat left the the bank
for n in (1, 2, 3):
    for causal in (False, True):
        a, b = blocks(x, n, causal)[4], blocks(x[before_bank], n, causal)[4]
        share = (a - b).abs().max() / a.abs().max()
        print(f"blocks: {n}, {'causal' if causal else 'no mask'}: row of bank moves by {share:.2f} of its size")

# %% [markdown]
# In one block the last row sees all words, as a set. The rows *before* it, though, have each read what stood before
# them, so they leave the block as other rows than after the shuffle. In the second block the last row reads these,
# and it moves, by 0.22 of its size. Without a mask it never does, at any depth.
#
# So a deep causal model is not blind to order, even without any code for positions; such models have been trained, and
# they work (Haviv et al. 2022). Nearly all models tell positions directly all the same.
#
# ## Positions, added
#
# A place can be told as a word is: by a row of numbers. Take a table with one row for each position, its *code*, and
# add it to the word. First a code that does not work.
#
# ### Question: same code
#
# Every word gets the *same* row added, such as that of position 1. How large is the gap of the unmasked head then?
# A number.

# %%
answer("08_same_code", 0)

# %% [markdown]
# A result that moves proves nothing: the rows are other rows, but they still do not say where they stand. Codes have
# to differ. The plain number of the position would do for that, but it grows without end: at position 500 it drowns
# the word. Sines and cosines stay between −1 and 1 (Vaswani et al. 2017):
#
# - column 2i: sin(t / 10000^(2i/d))
# - column 2i + 1: cos(t / 10000^(2i/d))
#
# Each pair of columns is a hand of a clock. The first turns by 1 radian a position, later ones ever more slowly.
#
# ### Exercise: sinusoidal_positions (7 min, difficulty 2)
#
# For an odd d the last sine has no cosine. A common way to write it fails there.


# %%
@exercise
def sinusoidal_positions(T, d):
    """Codes of the positions 0 … T - 1: -> (T, d), sines in even columns, cosines in odd ones, base 10000."""
    ### BEGIN SOLUTION
    t = torch.arange(T, dtype=torch.float64)[:, None]
    angles = t / 10000 ** (torch.arange(0, d, 2) / d)  # (T, number of sines)
    table = torch.empty(T, d, dtype=torch.float64)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()[:, : d // 2]
    return table
    ### END SOLUTION


# %%
table_32 = sinusoidal_positions(32, 16)
picture(charts.codes_chart(32, 16), charts.codes_data(table_32), size=(10.4, 4.8))

# %% tags=["nbval-check-output"]
for start in charts.STARTS:
    print(f"from {start:2}:", *(f"{product:.2f}" for product in charts.products(table_32, start, 5)))

# %% [markdown]
# On the right: codes 3 apart have the same dot product, 5.54, wherever they stand. Each pair adds cos(distance ·
# frequency), and the place itself drops out.
#
# ### Exercise: add_positions (4 min, difficulty 1)
#
# Word t of *every* sentence gets row t of the table. When there are more words than positions, raise a `ValueError`
# that names both numbers. Torch will not always complain by itself: a table with one row it adds everywhere.


# %%
@exercise
def add_positions(tokens, table):
    """Tokens with the codes of their positions: tokens (B, T, d), table (T_max, d) -> (B, T, d), a new tensor."""
    ### BEGIN SOLUTION
    T, T_max = tokens.shape[1], len(table)
    if T > T_max:
        raise ValueError(f"{T} tokens, but the table has only {T_max} positions")
    return tokens + table[:T]
    ### END SOLUTION


# %% tags=["nbval-check-output"]
table = sinusoidal_positions(10, 4).double()
told = add_positions(x[None], table)[0]  # (T, d)
print("first and second the, codes added:", head(told)[0].numpy(), head(told)[3].numpy())
print(f"gap: {equivariance_gap(lambda x: head(add_positions(x[None], table)[0]), x, perm):.3f}")

# %% [markdown]
# ### Question: one row for all
#
# A table can also be *learned*, as the rows of words are: in GPT-2, and in the lab model of chapter 07, whose head 0.3
# gives the word before 0.71. Now all its positions get one and the same row. What becomes of the 0.71:
# `"it stays"`, `"it falls to an even share"`, `"it becomes 1"`?

# %%
answer("08_one_row", "it falls to an even share")

# %% tags=["nbval-check-output"]
lab = load("lab")  # some seconds
learned = lab.model.transformer.wpe.weight.detach()  # (T_max, d) = (128, 64)
one_row, shuffled = learned[1].expand_as(learned), learned[charts.some_order(len(learned))]
for name, rows_told in (("learned", learned), ("one row for all", one_row), ("shuffled", shuffled)):
    pattern = charts.pattern_of_head(lab, rows_told, layer=0, head=3)  # (T, T), 8 random words, twice
    print(f"{name:15} weight on the word before: {pattern.diagonal(-1).mean():.2f}")
even = (1 / torch.arange(2, len(pattern) + 1)).mean()  # row t sees t + 1 words
print(f"{'an even share':15} weight on the word before: {even:.2f}")

# %% [markdown]
# In random words the head found the word before by its position alone. Learned rows end with the table: there is none
# for position 128, and your `ValueError` says so.
#
# ## Find the bug
#
# ### Question: bug in a batch
#
# `add_1` comes from somebody who was used to tensors of shape (T, B, d). Shapes are right, rows and blends change.
# Which property does it break, with attention behind it? Choose one: `"looks ahead"`, `"does not see itself"`,
# `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`,
# `"ignores the query"`.


# %% tags=["nbval-check-output"]
def add_1(tokens, table):
    return tokens + table[: len(tokens), None]


batch = torch.stack([x, torch.tensor(rows(CLERK_WORDS))])  # (B, T, d) = (2, 5, 4)
print("shape", tuple(add_1(batch, table).shape), "as it should be", tuple(add_positions(batch, table).shape))
print("blend of bank without codes:", head(batch)[1, 4].numpy())
print("blend of bank with add_1:   ", head(add_1(batch, table))[1, 4].numpy())

# %%
answer("08_bug_batch", "forgets order")

# %% tags=["nbval-check-output"]
print("what add_1 adds to the second sentence:", add_1(0 * batch, table)[1].numpy(), sep="\n")
for name, add in (("add_1", add_1), ("add_positions", add_positions)):
    gap = equivariance_gap(lambda x, add=add: head(add(torch.stack([x, x]), table))[1], batch[1], perm)
    print(f"{name:13} gap {gap:.3f}")

# %% [markdown]
# The table runs along the batch. All words of a sentence get the code of the *sentence's* number, and a shuffle goes
# through. With a batch of one every word gets row 0. The gap sees what shapes do not.
#
# ## Positions, rotated
#
# Sums mix word and place in one row. Rotation keeps them apart: rows stay as they are, and queries and keys are
# *turned* when they meet, by an angle that grows with the position (Su et al. 2021). A dot product of two arrows
# depends on the angle between them, so a score will depend on how far apart two words are. Values are not turned:
# what is handed over has no place.
#
# ### Question: shift
#
# All positions grow by 100, of queries and keys alike. What becomes of the scores: `"they stay"`, `"they fall"`,
# `"all change by the same amount"`?

# %%
answer("08_shift", "they stay")

# %% [markdown]
# ### Exercise: rotate (9 min, difficulty 3)
#
# Numbers i and i + d_k/2 of a row are a pair (a, b). At position p it is turned by the angle w = p / 10000^(2i/d_k):
#
# (a, b) becomes (a cos w − b sin w, a sin w + b cos w)
#
# `positions` holds the place of each row, in any order, whole or not. Some models pair neighbours, 2i and 2i + 1,
# instead. Both work; matrices trained with one do not fit the other. (Others add a number for each distance to the
# scores: ALiBi.)


# %%
@exercise
def rotate(x, positions):
    """Rotary positions: x (…, T, d_k) with even d_k, positions (T,) -> (…, T, d_k), pairs (i, i + d_k/2)."""
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    slowing = 10000 ** (torch.arange(half, dtype=x.dtype) / half)  # (d_k/2,)
    w = positions[:, None] / slowing  # (T, d_k/2)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], dim=-1)
    ### END SOLUTION


# %%
q, k, v = (x @ torch.tensor(W) for W in (W_Q, W_K, W_V))


def scores_at(positions):
    return rotate(q, positions) @ rotate(k, positions).T / 2**0.5  # (T, T)


def turned(shift, stretch):
    found = scores_at(stretch * torch.arange(5) + shift)
    moved = (found - scores_at(torch.arange(5))).abs().max()
    text = f"Positions {shift:g} to {4 * stretch + shift:g}: no score differs by more than {moved:.2f} from before."
    return PatternData(found.softmax(-1), text, {"largest change of a score": moved})


explore(
    turned,
    [Slider("shift", 0, 100, 0, label="shift of all positions"), Slider("stretch", 0.0, 4.0, 1.0, step=0.25)],
    PatternView(WORDS, WORDS, title="Shifting changes nothing, stretching does", bars_high=5.0),
)

# %% tags=["nbval-check-output"]
here = scores_at(torch.arange(5))
for name, stretch, shift in (("+ 1", 1, 1), ("+ 1000", 1, 1000), ("· 2", 2, 0)):
    moved = (scores_at(stretch * torch.arange(5) + shift) - here).abs().max()
    print(f"positions {name:6}: largest change of a score {moved:.4f}")
print("all at position 0: as without rotation:", torch.allclose(scores_at(torch.zeros(5)), q @ k.T / 2**0.5))
far = [(rotate(q[4:], torch.tensor([n])) @ rotate(k[1:2], torch.tensor([0])).T).item() / 2**0.5 for n in range(7)]
print("bank for boat, 0 to 6 apart:", *(f"{score:.2f}" for score in far))

# %% [markdown]
# Shift: nothing. Stretch: all distances change, and so do the scores. With stretch 0 all words stand in one place, and
# order is gone: position numbers that are all the same are a bug you can ship without an error.
#
# The last line: the score falls and *rises again*. A pair that turns by 1 a position is back after some six words.
# Rotation tells distance; what a head makes of it is left to training. The matrices here were written without it, so
# their pattern means little now.
#
# ## All together
#
# Five ways, each measured with every one of the 120 orders of five words.

# %% tags=["nbval-check-output", "claim-C18"]
places = torch.arange(5)
ways = {
    "attention only": head,
    "one same code": lambda x: head(x + table[1]),
    "a causal mask": lambda x: head(x, causal=True),
    "codes added": lambda x: head(add_positions(x[None], table)[0]),
    "rotation": lambda x: F.scaled_dot_product_attention(
        *(rotate(x @ torch.tensor(W), places) for W in (W_Q, W_K)), x @ torch.tensor(W_V)
    ),
}
gaps = {name: [equivariance_gap(f, x, order) for order in charts.all_shuffles(5)] for name, f in ways.items()}
for name, found in gaps.items():
    print(f"{name:14} notices {sum(gap > 1e-9 for gap in found):3} of 119 shuffles, largest gap {max(found):.3f}")

# %%
picture(charts.gaps_chart(list(gaps)), charts.gaps_data(gaps), size=(7.6, 3.8))

# %% [markdown]
# ## What you showed
#
# - **C18** Attention alone has no notion of order: shuffle the rows, and the outputs are shuffled the same way
#   (*Shuffle the words*). A causal mask breaks that, for the last row from the second block on (*What a mask
#   tells*), and so do codes that differ, added or as rotation (*All together*).
#
# ## What is not true
#
# - *"Attention is invariant to order."* It is equivariant: outputs move along. Invariant is a mean of all rows.
# - *"Without positions a language model sees a bag of words."* Not behind a causal mask, with two blocks or more.
# - *"The output changed, so positions are in."* It changes with the same code for all, too. Shuffle, and measure.
# - *"Rotation makes far words count less."* It makes the distance count: the score of *bank* for *boat*
#   falls and rises.
#
# ## Where it leads
#
# All parts of a block have been on the table. Chapter 09 goes into a whole model and switches attention off: what can
# still pass from word to word?
