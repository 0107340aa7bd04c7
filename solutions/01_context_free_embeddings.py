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
# # 01 · Context-free embeddings
#
# A model reads a sentence as rows of numbers: one row a word, taken from a table. You find out what such rows can
# say, what they cannot say, and why a first cure does not work.
#
# - **At its end** you can look up and compare rows, say which facts of a sentence are in no row, and measure how
#   often a fixed window finds the word that decides.
# - **Time:** 35 minutes.
# - **You need:** chapter 00, slices of NumPy arrays, dot products.
# - **Letters:** T words in a sentence, V rows of the table, d numbers in a row.

# %%
import numpy as np

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_01 as charts
from attention_lab.figures import picture
from attention_lab.lesson import CLERK_WORDS, TABLE, VOCABULARY, WORDS, rows, word_ids
from attention_lab.sentences import deciding_sentences, leaning
from attention_lab.widgets import FigureView, Slider, explore

# %% [markdown]
# ## One word, one row
#
# Two sentences go through the whole course. They differ in one word, and that word decides what *bank* means:
#
# - the **boat** left the bank
# - the **clerk** left the bank
#
# Each word has a number, its *id*, and the id names a row of a table of shape (V, d). That row is the word's
# *embedding*. Our table is small enough to read: V is 5 and d is 4. Its columns have names so that you can follow the
# arithmetic. In a trained model there are hundreds of columns, and none has a name.

# %%
picture(charts.table_chart(), TABLE, size=(4.8, 3.2))

# %% tags=["nbval-check-output"]
for words in (WORDS, CLERK_WORDS):
    print(" ".join(words), word_ids(words))

# %% [markdown]
# ### Question: two banks
#
# In which numbers do the two rows of *bank* differ? Choose one: `"in none"`, `"in the water column"`,
# `"in the money column"`, `"in all of them, a little"`.

# %%
answer("01_two_banks", "in none")

# %% [markdown]
# ## The same row everywhere
#
# The next cell compares the two rows byte by byte, so that not even the last bit could differ. Then it collects the
# rows of *bank* from 200 generated sentences, some about water and some about money.

# %% tags=["nbval-check-output", "claim-C1"]
boat_bank, clerk_bank = TABLE[word_ids(WORDS)][4], TABLE[word_ids(CLERK_WORDS)][4]
print("bank by the boat:   ", boat_bank)
print("bank with the clerk:", clerk_bank, "- same bytes:", boat_bank.tobytes() == clerk_bank.tobytes())
found = {sentence.rows[-1].tobytes() for sentence in deciding_sentences()}
print(f"different rows of bank in 200 generated sentences: {len(found)}")

# %% [markdown]
# They are equal because of what a lookup is: the id of *bank* goes in, the row comes out, and no other word is looked
# at on the way. Nothing that is computed from this row *alone* can mend that. Here are 1000 functions with random
# numbers in them (small *neural networks*), each applied to both rows:

# %% tags=["nbval-check-output"]
rng = np.random.default_rng(0)
told_apart = 0
for _ in range(1000):
    W_1, W_2 = rng.normal(size=(4, 8)), rng.normal(size=(8, 4))
    told_apart += not np.array_equal(np.tanh(boat_bank @ W_1) @ W_2, np.tanh(clerk_bank @ W_1) @ W_2)
print(f"networks that tell the two banks apart: {told_apart} of 1000")

# %% [markdown]
# Before you write the lookup, see what it must not do. There are five rows, 0 to 4, and no word has the id -1. NumPy
# counts -1 from the end, so a wrong id yields the row of a real word, and nobody notices:

# %% tags=["nbval-check-output"]
print(np.array_equal(TABLE[-1], rows("bank")[0]))

# %% [markdown]
# ### Exercise: embed (4 min, difficulty 1)
#
# `embed(ids, table)` gives row `ids[t]` of the table at position t. An id that is not one of 0 … V-1 is an
# `IndexError`; negative ones are included.


# %%
@exercise
def embed(ids, table):
    """Look rows up: ids (T,) whole numbers, table (V, d) -> (T, d)."""
    ### BEGIN SOLUTION
    if (ids < 0).any() or (ids >= len(table)).any():
        raise IndexError(f"the table has rows 0 to {len(table) - 1}")
    return table[ids]
    ### END SOLUTION


# %% [markdown]
# ## Near and far
#
# What a table can say is which words are alike. The usual measure is the *cosine* of the angle between two rows: their
# dot product divided by both lengths. It is 1 for rows that point the same way, 0 at a right angle, and -1 for opposite
# ones.
#
# ### Question: nearest to bank
#
# Which row points most nearly the way *bank* does? Read the table above, then choose: `"boat"`, `"clerk"`, `"left"`,
# `"the"`, `"boat and clerk alike"`.

# %%
answer("01_nearest_to_bank", "boat and clerk alike")

# %% [markdown]
# Why divide by the lengths? Without that, a word comes nearer to everything by having a long row. Below, the row of
# *clerk* is doubled. It points where it pointed before, yet its dot product with *bank* doubles.

# %% tags=["nbval-check-output"]
bank, boat, clerk = rows("bank boat clerk")
for name, row in (("boat", boat), ("clerk", clerk), ("clerk, doubled", 2 * clerk)):
    print(f"{name:15} dot product with bank {bank @ row:.2f}")

# %% [markdown]
# ### Exercise: cosine_similarity (6 min, difficulty 2)
#
# `cosine_similarity(a, b)` compares each of the m rows of `a` with each of the n rows of `b`; entry [i, j] belongs to
# row i of `a` and row j of `b`. A row of zeros has no direction: its similarity to everything is 0.


# %%
@exercise
def cosine_similarity(a, b):
    """Cosines of all pairs of rows: a (m, d), b (n, d) -> (m, n)."""
    ### BEGIN SOLUTION
    lengths = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))  # (m, n)
    products = a @ b.T  # (m, n)
    return products / np.where(lengths == 0, 1.0, lengths)
    ### END SOLUTION


# %%
similarities = cosine_similarity(TABLE, TABLE)  # (V, V)
picture(charts.similarity_chart(), similarities.round(6), size=(4.8, 3.6))

# %% tags=["nbval-check-output"]
for i, word in enumerate(VOCABULARY):
    print(f"{word:5}: similarity to bank {similarities[i, 4]:.2f}, to the {similarities[i, 0]:.2f}")

# %% [markdown]
# *bank* is as near to *boat* as to *clerk*: 0.40 both times. Its row holds both meanings, half and half, and being near
# is a matter between words: the sentence around them has no part in it.

# %% [markdown]
# ## Who left whom
#
# Suppose the rows of a sentence are tipped into a bag and their order is lost. Compare *the boat left the bank* with
# *the bank left the boat*: in one the boat leaves, in the other the bank.
#
# ### Question: from a bag
#
# What can still be told from the bag? Choose: `"which words occur, and how often"`, `"who left whom"`,
# `"which word came first"`, `"which 'the' goes with the boat"`.

# %%
answer("01_from_a_bag", "which words occur, and how often")

# %% tags=["nbval-check-output", "claim-C2"]
told, turned = rows("the boat left the bank"), rows("the bank left the boat")  # (T, d) each
print("same rows at the same positions:", np.array_equal(told, turned))
print("same rows in the bag:", sorted(told.tolist()) == sorted(turned.tolist()))
print("same row of 'left':", told[2].tobytes() == turned[2].tobytes())

# %% [markdown]
# The bags are equal, so who left whom is not in them. It is not in the row of *left* either, the word that would have
# to know. The sentences differ only in *where* rows stand, and no row knows where it stands, or beside which other.
# A
# fact about two words needs something that **moves information from one position to another**.
#
# ## A first cure: fixed wiring
#
# The first idea is to connect each word with the few words before it, always in the same way: row t becomes the mean of
# the last `width` rows, its own included. In our sentence *boat* stands at position 1 and *bank* at position 4.
#
# ### Question: width for the boat
#
# What is the smallest width with which the window of *bank* holds *boat*?

# %%
answer("01_width_for_boat", 4)

# %% [markdown]
# Move the width and watch the two rows of *bank*. From which width on do they differ, and what happens after that?


# %%
def two_banks(width):
    return {sentence: rows(sentence)[5 - width :].mean(axis=0) for sentence in charts.SENTENCES}  # (d,) each


width_slider = Slider("width", 1, 5, 1, label="window width", unit="words")
explore(two_banks, [width_slider], FigureView(charts.bank_chart(), (6.0, 3.2)))

# %% tags=["nbval-check-output"]
for width in (1, 3, 4, 5):
    boat_row, clerk_row = two_banks(width).values()
    gap = np.abs(boat_row - clerk_row).max()
    print(f"width {width}: {boat_row.round(3)} leans to {leaning(boat_row)}, ", end="")
    print(f"with the clerk to {leaning(clerk_row)}: {gap:.3f} apart")

# %% [markdown]
# Width 3 brings something to *bank*, but from the wrong words: the action, 0.333, comes from *left* and *the*. Width 4
# tells the banks apart: 0.225 lies between them.
# Width 5 does, too, but more weakly: 0.180.
#
# Near the start of a sentence there are fewer than `width` rows. A slice that ignores this starts at a negative
# number, and again NumPy counts from the end: the window of row 1 below holds no row at all, and the mean of no rows
# is `nan`.

# %% tags=["nbval-check-output"]
x, t, width = rows(WORDS), 1, 3
print(x[t - width + 1 : t + 1].shape)

# %% [markdown]
# ### Exercise: window_mean (6 min, difficulty 2)
#
# `window_mean(x, width)` gives a new array in which row t is the mean of rows t-width+1 to t of `x`; at the start, of
# those that there are. Leave `x` as it was.


# %%
@exercise
def window_mean(x, width):
    """Means of each row and the width - 1 rows before it: x (T, d), width at least 1 -> (T, d)."""
    ### BEGIN SOLUTION
    out = np.zeros_like(x)
    for t in range(len(x)):
        out[t] = x[max(0, t - width + 1) : t + 1].mean(axis=0)
    return out
    ### END SOLUTION


# %% [markdown]
# ## How often is it right?
#
# One sentence proves little. The package makes 200 of them, all ending in *bank*. In each a *boat* or a *clerk*
# decides, once for each distance: 1, 2, 3 … 200 words back. All other words lean neither way. A sentence counts as
# right when the row that `window_mean` makes for *bank* leans to the side of the deciding word.
#
# ### Question: share at width 51
#
# Which share of the 200 sentences does a window of width 51 get right? Answer with a number from 0 to 1.

# %%
answer("01_share_at_51", 0.25)

# %% tags=["nbval-check-output", "claim-C3"]
sentences = deciding_sentences()
print(f"one that ends in {' '.join(sentences[4].words[-6:])}: {sentences[4].sense}, {sentences[4].distance} back")
for width in (2, 4, 51, 201):
    leans = [leaning(window_mean(sentence.rows, width)[-1]) for sentence in sentences]
    right = sum(lean == sentence.sense for lean, sentence in zip(leans, sentences, strict=True))
    print(f"width {width:3}: {right:3} of 200 right, {leans.count('neither'):3} lean neither way")

# %% [markdown]
# To look at the three words before (width 4) is right 3 times in 200. What is right is exactly what falls inside the
# window: width - 1 of the 200 distances. The rest is not decided wrongly. It is not decided at all.
#
# ## Why not a very wide window?
#
# A width of 201 holds every deciding word, at a price. First, that word is one row among many: "deciding word's part
# of the mean" shrinks as the window grows. Second, a wide window holds more than one topic. "An older topic too" is
# for sentences in which the other of *boat* and *clerk* stands somewhere earlier and the nearer one decides. When both
# are inside, the mean leans neither way. Before you move the slider: which width would you choose for this line?

# %%
widths = Slider("width", 1, 201, 5, step=4, label="window width", unit="words")
explore(charts.reach_data, [widths], FigureView(charts.reach_chart(), (6.4, 3.8)))

# %% tags=["nbval-check-output"]
for width in (4, 51, 201):
    water, money = window_mean(sentences[2].rows, width)[-1, :2]
    print(f"width {width:3}: the columns differ by {abs(water - money):.4f}, and 0.9 / width is {0.9 / width:.4f}")
share = charts.reach_lines()[charts.TWO_TOPICS]
print(f"with an older topic: {share.max():.3f} right at width {share.argmax() + 1}, the best; {share[-1]:.3f} at 201")

# %% [markdown]
# The row of *boat* has 0.9 in its water column; what arrives at *bank* is 0.9 / width. With an older topic no width is
# right in even half of the sentences: the best, 140, reaches 0.445. Narrow windows miss the word, wide ones drown it.
#
# Other weights that are fixed in advance share the fault: they go by the *position* of a word, and what matters is
# *which* word stands there.

# %% [markdown]
# ## What you showed
#
# - **C1** An embedding row is the same, bit for bit, in every sentence:
#   [The same row everywhere](#The-same-row-everywhere).
# - **C2** Who did what is not in the rows; something has to move information between positions:
#   [Who left whom](#Who-left-whom).
# - **C3** Wiring that is fixed in advance misses the deciding word in most of the generated sentences:
#   [How often is it right?](#How-often-is-it-right?)
#
# ## What is not true
#
# - *Embeddings are useless.* They say which words are alike, and every model in this course starts from them.
# - *Near rows mean the same.* In our table *the* and *left* have a similarity of 0.98: the cosine does not see that the
#   row of *the* is almost nothing.
# - *A window of 4 is right 3 times in 200, whatever the text.* That holds where all distances are equally frequent. If
#   near words decide more often, as is likely in real text, a short window does better. Still no width fits every
#   sentence.
#
# ## Where it leads
#
# [Chapter 02](02_reading_in_order.ipynb) tries a second cure: read the words in order and carry a summary along.
