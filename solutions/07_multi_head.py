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
# # 07 · Several heads
#
# A word often wants to know two things at once, and one pattern cannot look for both. So a layer has several heads,
# side by side, for the price of one. Then you open a trained model and look at what its heads do.
#
# - **At its end** you can split rows among heads and merge them again, say what that costs, write the whole layer, and
#   tell from patterns what a head looks for.
# - **Time:** 50 minutes.
# - **You need:** chapters 04 to 06; `reshape` and `transpose` of tensors.
# - **Letters:** B texts, T words, d width of a row, H heads, d_h = d/H width of a head, L layers.

# %%
from dataclasses import replace

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_07 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.microscope import influence_map
from attention_lab.models import load
from attention_lab.models.switches import heads_off
from attention_lab.training import next_word
from attention_lab.widgets import Choice, PatternData, PatternView, Slider, attention_viewer, explore

torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## One pattern, two questions
#
# In *the boat left the bank*, *bank* has two questions: water or money? (*boat* knows), and what happened here? (*left*
# knows).
#
# ### Question: one pattern
#
# One row of one pattern gives the same weight to *boat* and to *left*. How large can it be at most? A number.

# %%
answer("07_one_pattern", 0.5)

# %% [markdown]
# Here are both questions in one matrix. The first two columns are the head that you know, a third asks for an action.
# The four columns serve as one head of width 4, then as two heads of width 2.

# %% tags=["nbval-check-output", "claim-C17"]
x = torch.tensor(rows(WORDS))  # (T, d) = (5, 4)
W_q, W_k = torch.zeros(2, 4, 4, dtype=torch.float64)
W_q[:, :2], W_k[:, :2] = torch.tensor(W_Q), torch.tensor(W_K)
W_q[2, 2], W_k[3, 2] = 2.0, 2.0  # a place asks for an action
W_v = torch.tensor(W_V)
one, two = (charts.head_patterns(x, W_q, W_k, n_heads) for n_heads in (1, 2))
for name, pattern in (("one head", one[0]), ("head 0 of 2", two[0]), ("head 1 of 2", two[1])):
    print(f"{name:11} bank gives boat {pattern[4, 1]:.3f}, left {pattern[4, 2]:.3f}; largest {pattern[4].max():.3f}")

# %%
picture(charts.one_and_two_chart(WORDS), (one[0], two[0], two[1]), size=(12.6, 3.7))


# %%
def at_width_4(n_heads, head):
    patterns = charts.head_patterns(x, W_q, W_k, int(n_heads))
    which = min(head, len(patterns) - 1)
    boat, left, bank = patterns[which, 4, [1, 2, 4]].tolist()
    text = f"Head {which} of {n_heads}, width {4 // len(patterns)}: bank gives boat {boat:.2f}, left {left:.2f}."
    text += "" if which == head else f" (There is no head {head}.)"
    return PatternData(patterns[which].numpy(), text, {"boat": boat, "left": left, "bank": bank})


controls = [Choice("n_heads", ["1", "2", "4"], "2"), Slider("head", 0, 3, 0, label="head shown")]
explore(at_width_4, controls, PatternView(WORDS, WORDS, title="One width, cut", bars_title="from bank to"))

# %% [markdown]
# One head adds its two questions up to one score. It finds both words, gives each less than half, and hands over a
# mixture. Two heads have two softmaxes: *boat* gets 0.643 from one, as in chapter 04, and *left* 0.601 from the
# other. Of four heads, 1 wide, the last has only zeros to ask with, and gives all the same.
#
# ## Cut by shape
#
# A head gets d/H columns that stand side by side. Nothing is computed: four columns become two times two, and the axis
# of the heads goes in front of the words.
#
# ### Question: the forgotten transpose
#
# Somebody reshapes (5, 4) straight to (2, 5, 2): 2 heads, 5 words, 2 columns. The shape is right. From which word come
# the numbers in row 1 of head 0: `"the"`, `"boat"`, `"left"`, `"bank"`?

# %%
answer("07_forgotten_transpose", "the")

# %% tags=["nbval-check-output"]
number_of_word = torch.arange(5)[:, None].expand(5, 4)  # row t holds t four times
print("reshape alone", charts.words_of(number_of_word.reshape(2, 5, 2), WORDS), sep="\n")
print("with a transpose", charts.words_of(number_of_word.reshape(5, 2, 2).transpose(0, 1), WORDS), sep="\n")

# %% [markdown]
# Memory holds all of word 0 before word 1, and reshape keeps that order. So head 0 gets the first half of the
# *text*, in pieces. `reshape` may cut an axis in two; moving an axis is the work of `transpose`.
#
# ### Exercise: split_heads (8 min, difficulty 2)
#
# A width that does not divide is a `ValueError` whose message names both numbers: whoever meets it wants to know which.


# %%
@exercise
def split_heads(x, n_heads):
    """Columns shared out among heads: x (B, T, d) -> (B, H, T, d/H); ValueError when H does not divide d."""
    ### BEGIN SOLUTION
    B, T, d = x.shape
    if d % n_heads:
        raise ValueError(f"{d} columns do not divide among {n_heads} heads")
    return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
    ### END SOLUTION


# %% [markdown]
# ### Exercise: merge_heads (5 min, difficulty 2)
#
# The way back. After a transpose `view` refuses to work, since the numbers no longer lie in the order of the shape;
# `reshape` makes a copy.


# %%
@exercise
def merge_heads(x):
    """Heads side by side in one row again: x (B, H, T, d_h) -> (B, T, H·d_h)."""
    ### BEGIN SOLUTION
    B, H, T, d_h = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_h)
    ### END SOLUTION


# %% tags=["nbval-check-output"]
text = x[None]  # (B, T, d) = (1, 5, 4)
print("split:", tuple(split_heads(text, 2).shape), "back:", torch.equal(merge_heads(split_heads(text, 2)), text))
print("reshaped there and back:", torch.equal(text.reshape(1, 2, 5, 2).reshape(1, 5, 4), text))

# %% [markdown]
# Two wrong halves make a right round trip. It is the test that most people write, and it sees nothing.
#
# ## The same work, more memory
#
# ### Question: multiply-adds
#
# From 1 head to 8, the width of the rows stays. What becomes of the multiply-adds of scores and blends? Choose one:
# `"an eighth"`, `"they stay the same"`, `"eight times as many"`.

# %%
answer("07_multiply_adds", "they stay the same")

# %% tags=["nbval-check-output", "claim-C17"]
long = torch.randn(1, 128, 64, generator=torch.Generator().manual_seed(0))  # (B, T, d)
for n_heads in (1, 2, 4, 8):
    with FlopCounterMode(display=False) as counter:
        heads = split_heads(long, n_heads)  # queries, keys and values in one: only the count matters
        scores = heads @ heads.mT
        merge_heads(scores.softmax(-1) @ heads)
    work = counter.get_total_flops() // 2
    print(f"{n_heads} heads: {work:,} multiply-adds, {scores.numel():7,} scores, {4 * scores.numel():7,} bytes")

# %% [markdown]
# torch counted. Eight heads have eight times as many scores, each a sum of an eighth as many products: the work stays.
# The *memory* of the scores does not, it grows with H (chapter 10 does without most of it), and so do the exponentials
# of the softmax. The projections never meet the heads; their cost is the same, too.
#
# ## Mixed by W_o
#
# Merged, head 0 has written the first d/H columns and nothing else. The last matrix lets each head write anywhere.
#
# ### Exercise: multi_head_attention (12 min, difficulty 3)
#
# The whole layer, causal: three views of the rows, split, a head of chapter 06 for each, merge, `W_o`. Which width
# belongs into the scale?


# %%
@exercise
def multi_head_attention(x, W_q, W_k, W_v, W_o, n_heads):
    """Causal heads side by side: x (B, T, d), four matrices (d, d) -> (B, T, d). Vaswani et al. 2017, section 3.2.2."""
    ### BEGIN SOLUTION
    q, k, v = (split_heads(x @ W, n_heads) for W in (W_q, W_k, W_v))  # (B, H, T, d_h)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    pattern = scores.masked_fill(ahead, float("-inf")).softmax(-1)
    return merge_heads(pattern @ v) @ W_o
    ### END SOLUTION


# %% tags=["nbval-check-output"]
W_o = torch.tensor([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0.5, 1]], dtype=torch.float64)
apart = multi_head_attention(text, W_q, W_k, W_v, torch.eye(4, dtype=torch.float64), 2)
pieces = [apart[..., :2] @ W_o[:2], apart[..., 2:] @ W_o[2:]]  # head 0, head 1
for name, rows_of in (("merged", apart), ("head 0 adds", pieces[0]), ("head 1 adds", pieces[1]), ("sum", sum(pieces))):
    print(f"bank, {name:12} {rows_of[0, 4].numpy().round(3)}")
print("the layer's own:", torch.allclose(sum(pieces), multi_head_attention(text, W_q, W_k, W_v, W_o, 2)))

# %% [markdown]
# So a layer of H heads is a *sum*: each head hands its blend through its own rows of `W_o`. Heads of one layer never
# see each other's work. As W_q W_kᵀ says where a head looks (chapter 05), its columns of `W_v` with its rows of `W_o`,
# one matrix again, say what it carries over. (In training, many layers also drop random weights: *dropout*.)
#
# ## Find the bug: it still trains
#
# `heads_1` is written without a transpose, there and back. It learns the sentences of chapter 06, where no loss below
# 0.74 is possible.


# %% tags=["nbval-check-output"]
def heads_0(q, k, v, n_heads=4):
    return merge_heads(next_word.may_not(*(split_heads(rows, n_heads) for rows in (q, k, v))))


def heads_1(q, k, v, n_heads=4):
    B, T, d = q.shape
    cut = (rows.reshape(B, n_heads, T, d // n_heads) for rows in (q, k, v))
    return F.scaled_dot_product_attention(*cut, is_causal=True).reshape(B, T, d)


layers = {"heads_0": heads_0, "heads_1": heads_1}
models = {name: next_word.trained(heads)[0] for name, heads in layers.items()}  # some seconds each
print(f"the least loss that is possible: {next_word.FLOOR:.2f}")
fresh = next_word.sentences(np.random.default_rng(11), 100)
for name, model in models.items():
    print(f"{name}: loss {next_word.shifted_loss(model(fresh), fresh):.2f}")
for name, heads in layers.items():
    moved = influence_map(lambda x, heads=heads: heads(x[None], x[None], x[None], n_heads=2)[0], x)
    print(f"{name}: which word moves which", moved.int(), sep="\n")

# %% [markdown]
# ### Question: the first bug
#
# Two equal losses, nothing above the diagonal. Which property does `heads_1` break? Choose one: `"looks ahead"`,
# `"does not see itself"`, `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`,
# `"changes its input"`, `"ignores the query"`.

# %%
answer("07_bug_reshape", "scrambles words")

# %% tags=["nbval-check-output"]
for name, model in models.items():
    past, once = (next_word.shifted_loss(said, fresh) for said in (next_word.from_the_past(model, fresh), model(fresh)))
    right = next_word.right_sentences(next_word.continued(model, fresh[:, :1])).all(1).float().mean()
    print(f"{name}: worse when it sees only the words before: {bool(past > once + 0.1)};", end=" ")
    print(f"share of its own texts without a fault: {right:.1f}")

# %% [markdown]
# Heads hold pieces of words, each head another part of the text, cut at places that depend on its *length*. In training
# all texts have 28 words, and four heads get seven each: one sentence, by luck. A text that is being written has every
# length once. The loss saw nothing of it; the map, with its missing words, did.
#
# ## Heads of a trained model
#
# The *lab model* has 3 layers of 4 heads, counted from 0: head 1.3 is head 3 of layer 1. It was trained to say the next
# word of a miniature English. Each text begins with a token that says so; words that are repeated here make no sense,
# so that nothing but repetition helps.

# %%
lab = load("lab")  # some seconds
names = charts.head_names(3, 4)  # "1.3": layer 1, head 3
texts = {"boat": "the boat left the bank", "clerk": "the clerk left the bank"}
texts |= {f"{period} random words, twice": charts.recited(period) for period in (8, 12)}
ids = {name: lab.encode(text, start=True) for name, text in texts.items()}
patterns = {name: torch.tensor(lab.patterns(some)) for name, some in ids.items()}  # (L, H, T, T)

# %% [markdown]
# ### Exercise: previous_token_score (6 min, difficulty 2)
#
# Is there a head that looks one word back? How much of their weight do its rows give, in the mean, to the row before?
# Row 0 has none. Any axes may stand in front.


# %%
@exercise
def previous_token_score(pattern):
    """Mean weight of rows 1 … T-1 on the row before: (…, T, T) -> (…)."""
    ### BEGIN SOLUTION
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean(-1)
    ### END SOLUTION


# %%
found = charts.jobs(patterns["8 random words, twice"], previous_token_score, 8)
picture(charts.jobs_chart(names), found, size=(9.0, 3.8))

# %% tags=["nbval-check-output", "claim-C17"]
for job, scores in found.items():
    print(f"{job}: most by head {names[int(scores.argmax())]}, {scores.max():.2f}")
for name in ("boat", "clerk"):
    said = lab.text(lab.model(ids[name]).logits[0, -1:].argmax(-1))
    looks = [charts.most_looked_at(patterns[name][1, head], charts.token_names(lab, ids[name])) for head in (3, 1)]
    print(f"{texts[name]} … {said}\n  head 1.3: {looks[0]} Head 1.1: {looks[1]}")

# %% [markdown]
# Each follows a relation of its own. Head 0.3 looks at the word before. Heads of layer 1 look at the word *after the
# last time*: they find what followed when this word stood here before, and so they can continue what is repeated.
# Such a head is called an **induction head**.
#
# Where nothing is repeated they do something else. In the short sentences head 1.3 looks from *bank* at the word that
# decides. Head 1.1 gives most of its weight to the start token: nothing that it looks for is there, as it seems, and
# its row has to sum to 1. Such a place to rest is called a *sink*, and large models have many.


# %%
name = "8 random words, twice"  # try "boat" and "clerk", too: sort the heads, walk the rows with the arrow keys
attention_viewer(patterns[name], charts.token_names(lab, ids[name]), layer=1, head=3, title=f"The heads on: {name}")

# %% [markdown]
# ### Question: the same head
#
# Eight random words, said twice: head 1.3 looks 7 back. Now twelve words are said twice. What does the same head do:
# `"it looks 7 back"`, `"it looks 11 back"`, `"it looks nowhere in particular"`?

# %%
answer("07_same_head", "it looks 11 back")

# %% tags=["nbval-check-output", "claim-C13"]
torch.manual_seed(0)
untrained = replace(lab, model=type(lab.model)(lab.model.config).eval())
for period in (8, 12):
    name = f"{period} random words, twice"
    print(f"{name}: {charts.most_looked_at(patterns[name][1, 3], lab.tokens(ids[name]))}")
    before = charts.after_last_time(torch.tensor(untrained.patterns(ids[name])), period)
    after = charts.after_last_time(patterns[name], period)
    print(f"  best head on the word after the last time: untrained {before.max():.2f}, trained {after.max():.2f}")

# %% [markdown]
# The matrices are the same, the pattern is another: it is computed from the words. Nobody specified it. Before training
# no head did this, and the training asked for next words only.
#
# A pattern says where a head looks, not what that is good for. Switch heads off: their blends become zero, and nothing
# is trained anew. More words than before are said twice, 16 to 36, so that a loss shows.

# %% tags=["nbval-check-output"]
repeated = [(charts.recited(period, seed=period), period) for period in range(16, 40, 4)]
sets = {"none": [[]], "1.3": [[(1, 3)]], "1.3 and 1.1": [[(1, 3), (1, 1)]], "layer 1": [[(1, h) for h in range(4)]]}
sets |= {"0.3": [[(0, 3)]], "8 other pairs": charts.other_pairs(8)}
for name, pairs in sets.items():
    shares = []
    for heads in pairs:
        with heads_off(lab.model, heads):
            shares.append(charts.repeats_right(lab, repeated))
    print(f"off: {name:13} share of repeated words expected rightly: {min(shares):.2f}")

# %% [markdown]
# Without 1.3 half of the repeating is lost, and the more heads of layer 1 are off, the less is left: they share the
# work. The worst of eight other pairs, some with 1.0 or 1.2, leaves 0.81. Head 0.3 is needed, too. The usual account
# (Olsson et al. 2022): such a head writes into each row which word stood before it, and that is what an induction head
# looks for.
#
# ## Find the bug: a library layer
#
# ### Question: the second bug
#
# `layer_2` leaves the work to torch. Which property does it break, of the same list?


# %% tags=["nbval-check-output"]
torch.manual_seed(0)
theirs = torch.nn.MultiheadAttention(4, 2, bias=False, dtype=torch.float64).eval()


def layer_2(x):
    with torch.no_grad():
        return theirs(x, x, x)[0]


batch = torch.stack([x, x.flip(0), x + 0.1])  # (B, T, d) = (3, 5, 4)
print("shape:", tuple(layer_2(batch).shape))
words = influence_map(lambda x: layer_2(torch.stack([x, *batch[1:]]))[0], x)
print("words of text 0:", words.int(), sep="\n")

# %%
answer("07_bug", "mixes batch entries")

# %% tags=["nbval-check-output"]
print("texts, as it is:", charts.text_influence(layer_2, batch).int(), sep="\n")
theirs.batch_first = True
print("texts, told batch_first:", charts.text_influence(layer_2, batch).int(), sep="\n")

# %% [markdown]
# Torch's layer wants words first, texts second, unless it is told otherwise. Given (B, T, d), it lets the words in the
# same place of all texts look at each other, and no word looks at its neighbours. All shapes are right.
#
# ## What you showed
#
# - **C13** The pattern is computed from the words at run time: the same head looks 7 back in one text, 11 back in
#   another. Training found it (*Heads of a trained model*).
# - **C17** Heads side by side follow different relations; splitting changes the shape and not the multiply-adds, while
#   the memory of the scores grows with H (*One pattern, two questions*, *The same work, more memory*, *Heads of a
#   trained model*).
#
# ## What is not true
#
# - *"More heads cost more."* Not in multiply-adds; in memory for scores they do.
# - *"More heads are better."* Each gets narrower: a head of width 1 asks one number.
# - *"It trains, so it is right."* `heads_1` trained as well as the right one.
# - *"This head does that."* On this kind of text. What it does on another you have to look at again.
#
# ## Where it leads
#
# Nothing here asked where a word stands, and yet head 0.3 finds the word before. Chapter 08 shows where order comes
# from.
