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
# # 00 · Start here
#
# This course follows one question from start to finish: **how does one word take account of another?**
# This chapter does not ask it yet. It shows how the pages work, so that nothing stands in your way later.
#
# - **At its end** you can run a page, move a slider, read what an exercise says about your code, and get unstuck.
# - **Time:** 15 minutes.
# - **You need:** Python functions and a first acquaintance with NumPy arrays.

# %% [markdown]
# ## A cell runs
#
# A page is a column of cells. Click into the grey cell below and press **Shift+Enter**: the cell runs, and the next
# one is chosen. While it works, `[*]` stands beside it; afterwards a number says in which order the cells ran.

# %%
import numpy as np

from attention_lab import answer, exercise, hint, progress

# %% [markdown]
# The first cell of every chapter fetches what the chapter needs, so run it first. When a page behaves strangely,
# choose *Kernel → Restart Kernel and Run All Cells*: then everything runs once, from top to bottom.

# %% tags=["nbval-check-output"]
sentence = "the boat left the bank"
words = sentence.split()
print(words)

# %% [markdown]
# ## Letters for shapes
#
# An array has a *shape*: how many numbers it holds along each axis. The course always uses the same letters. You need
# B, T and d now; the others are explained where they are used, and stand here for looking up:
#
# | letter | how many |
# |---|---|
# | B | sentences handled side by side (a batch) |
# | T | rows that ask: the places of a sentence, from 0 to T-1 |
# | S | rows that are asked |
# | H | heads (from chapter 07) |
# | d | numbers in the row of a word, its width |
# | d_k | numbers in a query or a key (from chapter 03) |
# | d_v | numbers in a value (from chapter 03) |
# | V | words in the vocabulary: rows of the table of all words |
# | L | layers of a model |
#
# A comment at the end of a line gives the shape: `x = …  # (T, d)`. Three dots stand for any axes in front:
# `(…, T, d)` is one sentence or a batch of them.

# %% [markdown]
# ### Question: how many rows
#
# Questions ask you to commit yourself *before* a cell shows the answer. Put your answer in place of the three dots
# and run the cell. A wrong answer costs nothing and is told apart from other wrong answers.
#
# An array `x` of shape (T, d) holds one row of 4 numbers for each word of *the boat left the bank*. What is T?

# %%
answer("00_rows_of_a_sentence", 5)

# %% tags=["nbval-check-output"]
from attention_lab.lesson import rows

x = rows(sentence)  # (T, d)
print(x.shape)

# %% [markdown]
# ## A slider
#
# Some cells end in a slider. Drag it, or click it and use the arrow keys. The sentence beside it says what is seen.
# Here the last of four numbers moves, and the mean follows. Before you try: how far does the mean move when the last
# number moves by 4?

# %%
from attention_lab.figures.chapter_00 import row_chart
from attention_lab.widgets import FigureView, Slider, explore


def row_of_four(last):
    return np.array([1.0, 0.0, 2.0, last])  # (4,)


last_number = Slider("last", -4.0, 8.0, 1.0, step=0.5, label="last number")
explore(row_of_four, [last_number], FigureView(row_chart(), (5.0, 2.8)))

# %% tags=["nbval-check-output"]
for last in (1.0, 5.0):
    print(f"last number {last}: mean {row_of_four(last).mean()}")

# %% [markdown]
# The mean moves by 1, a quarter of 4: each number is one part in four of it.

# %% [markdown]
# ## An exercise answers
#
# An exercise is a function under the line `@exercise`. When its cell runs, the function is called with many inputs and
# a card appears. The first one is solved for you.
#
# ### Exercise: double (2 min, difficulty 1)
#
# `double(x)` gives back twice every number of `x`, in an array of the same shape. Run it. Then break it: write `x + 2`
# in place of `x * 2`, run it again, and read the card. Try `x ** 2` as well. Put it right at the end.


# %%
@exercise
def double(x):
    """Twice every number of x, any shape."""
    return x * 2


# %% [markdown]
# The card for `x + 2` says what your code *does*, asks a question, and shows the smallest call that tells it
# from a right one. It does not show the right line. Your turn.
#
# ### Exercise: row_means (3 min, difficulty 1)
#
# `row_means(x)` takes `x` of shape (T, d) and gives the mean of each row, of shape (T,). The cell below holds an
# answer that somebody gave. Run it, read the card, and repair it.


# %%
@exercise
def row_means(x):
    """The mean of each row: x (T, d) -> (T,)."""
    ### BEGIN SOLUTION
    return x.mean(axis=1)
    ### END SOLUTION
    ### STARTS AS: return x.mean(axis=0)


# %% [markdown]
# The cell below uses `row_means`. It gives right numbers even while your answer is wrong: until then a
# right version stands in under the same name. So you can leave an exercise and come back.

# %% tags=["nbval-check-output"]
table = np.array([[1.0, 2.0, 6.0], [0.0, -1.0, 4.0]])  # (T, d) = (2, 3)
print(row_means(table))

# %% [markdown]
# ## When you are stuck
#
# Each exercise has three hints: a question, then a property that fails, then a place in the code. Change the number
# to 2 and to 3. Questions have hints, too. The folder `solutions` holds every chapter solved; look there last.

# %%
hint("row_means", 1)

# %% [markdown]
# ## Where you stand
#
# What you solve is kept on your machine. `progress()` shows it, in any chapter.

# %%
progress()

# %% [markdown]
# ## What you showed
#
# No claim about attention yet. You committed to an answer, moved a slider, saw a mistake called by its name, and
# repaired it. Every chapter goes through these four beats: **predict, run, break, write**.
#
# ## What is not true
#
# - *A solved card proves a function right.* It says that the function was right on a number of chosen inputs, odd
#   ones among them. The card says how many.
# - *What stands under a cell is what the cell gives now.* It is what it gave when it last ran.
#
# ## Where it leads
#
# [Chapter 01](01_context_free_embeddings.ipynb) gives each word a row of numbers, and shows that this is not enough
# to tell one bank from another.
