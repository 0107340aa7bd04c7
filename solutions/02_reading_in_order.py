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
# # 02 · Reading in order
#
# Rows of a table know nothing of their neighbours. The oldest cure is to read word after word, with a memory that
# each word changes. You build such a *recurrent* network, and measure three ways in which it fails.
#
# - **At its end** you can write a recurrent network, say how far a change reaches in it and what gates cure, and count
#   how long steps wait.
# - **Time:** 60 minutes.
# - **You need:** chapter 01, matrix times vector; for the last exercise partial derivatives, products of matrices.
# - **Letters:** T words, d numbers in a word's row, m numbers in the state. In this chapter vectors are columns, as in
#   `W @ h`; from chapter 03 on they are rows.

# %%
import numpy as np

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_02 as figures
from attention_lab.figures import picture
from attention_lab.lesson import CLERK_WORDS, WORDS, rows
from attention_lab.training.stories import in_words, stories, summary_recall
from attention_lab.waiting import Chain
from attention_lab.widgets import FigureView, Slider, explore

# %% [markdown]
# ## One state, word after word
#
# The memory is a vector **h** of m numbers, the *state*. Each word x changes it:
#
# $$h_{\text{new}} = \tanh(W_h\,h + W_x\,x + b)$$
#
# W_h says what becomes of the old state, W_x what the word brings, and tanh keeps every entry between -1 and 1. The
# matrices stay the same for all words. Here they are set by hand: entry 0 collects water, entry 1 money, and each step
# keeps 0.8 of the old state.
#
# ### Question: two banks again
#
# The row of *bank* was the same beside boat and clerk. Is the state after *bank* `"the same"`, or `"different"`?

# %%
answer("02_two_banks_again", "different")

# %% [markdown]
# After *boat* the water is tanh(0.9) = 0.72; each later word keeps 0.8 of it, and *left* and *bank* bring water and
# money of their own. In the last line a state keeps 1.1 of itself at each step.

# %% tags=["nbval-check-output"]
W_h = np.array([[0.8, 0.0], [0.0, 0.8]])  # (m, m)
W_x = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])  # (m, d): columns water, money, place, action
b = np.zeros(2)  # (m,)
for words in (WORDS, CLERK_WORDS):
    h = np.zeros(2)
    for word, x in zip(words, rows(words), strict=True):
        h = np.tanh(W_h @ h + W_x @ x + b)
        print(f"{word}: water {h[0]:.2f}, money {h[1]:.2f}", end="; " if word != "bank" else "\n")
bare, bent = np.ones(2), np.ones(2)
for _ in range(200):
    bare, bent = 1.1 * bare, np.tanh(1.1 * bent)
print(f"after 200 steps: without tanh {bare[0]:.0e}, with tanh {bent[0]:.2f}")

# %% [markdown]
# *bank* now comes with its context: more water than money in the first sentence, the opposite in the second. And
# tanh keeps a state in range that explodes without it.
#
# ### Exercise: rnn_step (5 min, difficulty 1)
#
# `rnn_step(h, x, W_h, W_x, b)` gives the new state as a new array and leaves the old one alone.

# %%
@exercise
def rnn_step(h, x, W_h, W_x, b):
    """One step: h (m,), x (d,), W_h (m, m), W_x (m, d), b (m,) -> (m,)."""
    ### BEGIN SOLUTION
    return np.tanh(W_h @ h + W_x @ x + b)
    ### END SOLUTION


# %% [markdown]
# ### Exercise: rnn_states (6 min, difficulty 2)
#
# `rnn_states(xs, h0, W_h, W_x, b)` reads T words from the start h0 and keeps the state *after each word*. h0 itself is
# not among them.

# %%
@exercise
def rnn_states(xs, h0, W_h, W_x, b):
    """All states: xs (T, d), h0 (m,), W_h (m, m), W_x (m, d), b (m,) -> (T, m)."""
    ### BEGIN SOLUTION
    states = []
    for x in xs:
        h0 = rnn_step(h0, x, W_h, W_x, b)
        states.append(h0)
    return np.array(states)  # (T, m)
    ### END SOLUTION


# %% [markdown]
# ## First failure: one summary for everything
#
# Whatever was read, the next step sees m numbers. What fits into them? Take stories about who has what. A row says
# *name 7 has thing 3*; later the names are asked for in another order.

# %% tags=["nbval-check-output"]
ids, answers = stories(np.random.default_rng(4), batch=1, items=3)
print(in_words(ids[0]))
print("right answers:", ", ".join(f"t{thing}" for thing in answers[0]))

# %% [markdown]
# The simplest summary is a sum. Give every pair (name, thing) a code, a vector of m random signs. At each item multiply
# the summary by `keep` and add the code. To answer, try the 16 things: for each, take the code of (name, thing) and its
# dot product with the summary; the largest wins. Nothing is trained; a blind guess is right once in 16.
#
# Move numbers and items. Then lower `keep` a little: which items does that save?

# %%
explore(
    figures.summary_data,
    [Slider("numbers", 8, 256, 64, step=8, label="numbers in the state"),
     Slider("items", 1, 16, 12, label="items in the story"),
     Slider("keep", 0.5, 1.0, 1.0, step=0.05, label="keep, at each new item")],
    FigureView(figures.summary_chart()),
)  # fmt: skip

# %% [markdown]
# Does training find a better use of the numbers? Networks were trained on stories with 1 to 16 items, 3000 steps each
# (`python -m attention_lab.training.recurrence` repeats it). An *LSTM* has gates, which come below, and hands on two
# vectors, 2m numbers. Each line is the mean of three seeds.

# %%
picture(figures.items_chart(), figures.recall_by_items(), size=(6.6, 4.0))

# %% tags=["nbval-check-output", "claim-C4"]
curves, apart = figures.recall_by_items(), figures.seeds_apart()
print("items:              ", *(f"{k:4}" for k in curves["RNN, 140 numbers"][0]), "| seeds apart, at most")
for name, (_, recalled) in curves.items():
    print(f"{name:20}", *(f"{share:.2f}" for share in recalled), f"| {apart.get(name, 0):.2f}")

# %% [markdown]
# Each line falls; a larger state moves the fall to the right. Seeds lie up to 0.15 apart. *Names ignored* belongs to
# someone who knows which things were said, and not by whom. From two items on the plain network (RNN) is hardly better
# than that. Does it at least treat its items alike?

# %% tags=["nbval-check-output", "claim-C4"]
for kind, numbers in (("RNN", 140), ("LSTM", 128)):
    by_place = figures.recall_by_place(kind, numbers)
    print(f"{kind}, {numbers} numbers: oldest 8 of 16 items {by_place[:8].mean():.2f}, newest {by_place[-1]:.2f}")
print(f"sum of codes, 128 numbers: all 16 items {summary_recall(128, 16, count=1000).mean():.2f}")
crushed = summary_recall(64, 12, keep=0.9, count=1000)
print(f"sum of codes, 64 numbers, keep 0.9: oldest of 12 items {crushed[0]:.2f}, newest {crushed[-1]:.2f}")

# %% [markdown]
# It recalls 0.33 of the newest and 0.10 of the older half; the LSTM treats its items nearly alike. A sum that keeps
# 0.9 at each item saves the newest, too (0.98), and crushes the oldest (0.29).
#
# ## Second failure: what is copied fades
#
# Back to the network set by hand. Put more and more *the* before *bank*: how different are the two banks?

# %% tags=["nbval-check-output"]
for between in (1, 5, 10, 20, 40):
    texts = [["the", who, "left"] + ["the"] * between + ["bank"] for who in ("boat", "clerk")]
    boat, clerk = (rnn_states(rows(text), np.zeros(2), W_h, W_x, b)[-1] for text in texts)
    print(f"{between:2} times the: the banks differ by {abs(boat - clerk).max():.0e}")

# %% [markdown]
# ### Question: fifty steps
#
# A word survives only by being copied. If each copy keeps 0.8 of a change, how much is left after 50 steps?
# `"about 0.8"`, `"about 0.016"`, `"about 0.00001"`, `"nothing, exactly"`.

# %%
answer("02_fifty_steps", "about 0.00001")

# %% [markdown]
# With m numbers the factor becomes a matrix. A small change of state t passes through W_h, and then through tanh,
# whose slope at the state *after* the step, h, is 1 - h². `np.diag` puts these slopes on the diagonal of a matrix:
#
# $$\frac{\partial h_{t+1}}{\partial h_t} = \mathrm{diag}(1 - h_{t+1}^2)\; W_h$$
#
# One step, which arrives at a state of two numbers:

# %% tags=["nbval-check-output"]
arrived, W = np.array([0.0, 0.6]), np.array([[0.5, 1.0], [0.0, 2.0]])
one_step = np.diag(1 - arrived**2) @ W
print("slopes", 1 - arrived**2, "- one step", one_step.round(2).tolist())
print("a change of (0, 0.1) before the step is", (one_step @ [0, 0.1]).round(3), "after it")
print(f"np.linalg.norm of the unit matrix: {np.linalg.norm(np.eye(2)):.2f}")

# %% [markdown]
# Over several steps these matrices are multiplied, the latest on the left. The *spectral norm* of the product, its
# largest singular value, says how much the luckiest change is stretched: call it the **reach** of state t. The
# gradient of training takes the same way back: what has no reach is hardly learned from.
#
# ### Exercise: reach (20 min, difficulty 3)
#
# `reach(states, W_h)` gives the reach of each state to the last one. The last value is 1: a state moves with itself.
# NumPy's default norm is not the spectral one: it gives 1.41 for the unit matrix, which stretches nothing.
# `help(np.linalg.norm)` lists the others.

# %%
@exercise
def reach(states, W_h):
    """Spectral norms of d(last state)/d(state t): states (T, m), W_h (m, m) -> (T,)."""
    ### BEGIN SOLUTION
    T, m = states.shape
    values, product = np.ones(T), np.eye(m)
    for t in range(T - 2, -1, -1):
        step = (1 - states[t + 1] ** 2)[:, None] * W_h  # (m, m)
        product = product @ step
        values[t] = np.linalg.norm(product, 2)
    return values
    ### END SOLUTION


# %% [markdown]
# Now a network of 32 numbers that nobody trained. The *spectral radius* of W_h, its largest absolute eigenvalue, sets
# how much a step keeps in the long run. Can you find a radius at which 1 and 50 words back count alike?

# %%
def reach_from(radius, distance):
    xs, h0, W_h, W_x, b = figures.random_network(radius)
    return figures.reach_data(reach(rnn_states(xs, h0, W_h, W_x, b), W_h), distance)


sliders = [Slider("radius", 0.2, 3.0, 0.9, step=0.1), Slider("distance", 1, 60, 50, unit="words")]
explore(reach_from, sliders, FigureView(figures.reach_chart()))

# %% tags=["nbval-check-output", "claim-C5"]
for radius in (0.5, 0.9, 1.0, 1.5, 1.7, 3.0):
    xs, h0, *network = figures.random_network(radius)
    values = reach(rnn_states(xs, h0, *network), network[0])
    print(f"radius {radius}: reach", ", ".join(f"{values[-1 - k]:.0e} from {k}" for k in (1, 10, 50)))

# %% [markdown]
# The axis is logarithmic: a straight line loses a constant share per word. Up to radius 1 it comes to that. Near 1.7
# near and far count alike, at a price: *every* change is kept, noise too. The place is narrow: 1.5 loses the far words,
# 3.0 enlarges everything, and the gradient explodes.
#
# ## Gates: what they cure
#
# An LSTM has a second vector c with a path of its own: c_new = f · c + i · g, entry by entry. On it stands no matrix
# and no tanh, only the *forget gate* f between 0 and 1, computed anew at each word. A GRU does this with one vector. A
# copy then costs a factor f:

# %% tags=["nbval-check-output"]
for f in (0.5, 0.9, 0.99):
    print(f"forget gate {f}: {f**50:.0e} is left after 50 steps")

# %% [markdown]
# ### Question: one far item
#
# A plain network and an LSTM of equal size are trained for 800 steps on stories with *one* item, then 0 to 39 rows of
# chatter, then the question. Which recalls the item 40 steps later in nine stories of ten? `"both"`,
# `"only the LSTM"`, `"only the plain network"`, `"neither"`.

# %%
answer("02_one_far_item", "only the LSTM")

# %%
picture(figures.distance_chart(), figures.recall_by_distance(), size=(6.6, 4.0))

# %% tags=["nbval-check-output", "claim-C5"]
curves = figures.recall_by_distance()
print("steps from item to question", *(f"{k:4}" for k in curves["RNN, 800 steps"][0]))
for name, (_, recalled) in curves.items():
    print(f"{name:27}", *(f"{share:.2f}" for share in recalled))

# %% [markdown]
# Three lines lie on top of one another at 1.00, even at 80 and 160 steps, which no training story had: LSTM, GRU,
# plain network after 3200 steps. After 800 it has learned the near item best; of the far one it keeps a trace that
# fades no further, 0.22, more than a blind guess. So "a recurrent network forgets a far word" is false of gates here,
# and of the plain network a matter of training.
#
# ### Question: what gates cure
#
# Put this picture beside the one for many items. What does a gate cure: `"one far item"`, `"many items"`,
# `"one far item and many items"`, `"the waiting"`, `"nothing"`?

# %%
answer("02_what_gates_cure", "one far item")

# %% [markdown]
# ## Third failure: the wait
#
# ### Question: a chain of steps
#
# T = 50 words are read in order. Take the longest chain of steps, each of which needs the result of the one before. How
# many steps are in it?

# %%
answer("02_chain_in_order", 50)

# %% [markdown]
# ### Question: one look
#
# Another plan: 50 rows each look once at all 50 rows. How many looks are in the longest such chain?

# %%
answer("02_chain_one_look", 1)

# %% [markdown]
# `Chain` wraps a function and counts its calls, which are the work, and the longest chain of calls that were given
# another's result, which is the wait. `look` compares one row with all rows and blends them, those that fit best with
# the largest shares (chapter 03 explains its two lines).

# %% tags=["nbval-check-output", "claim-C6"]
def look(row, all_rows):
    pattern = np.exp(all_rows @ row)  # (T,)
    return pattern @ all_rows / pattern.sum()


for T in (5, 50, 500):
    xs, step, looks = np.random.default_rng(0).normal(size=(T, 4)), Chain(rnn_step), Chain(look)
    h = np.zeros(2)
    for x in xs:
        h = step(h, x, W_h, W_x, b)
        looks(x, xs)
    print(f"{T:3} words: {step.calls} steps, chain {step.longest}; {looks.calls} looks, chain {looks.longest}")

# %% [markdown]
# An LSTM waits, too. No second machine shortens a chain.
#
# ## What you showed
#
# - **C4** Everything goes through one summary of fixed size; recall falls with more items, and the plain network keeps
#   the newest best: [First failure](#First-failure:-one-summary-for-everything).
# - **C5** What has to be copied at each step fades: up to radius 1 the reach falls word by word; a plain network learns
#   near items first. Gates cure that for one item, not for many:
#   [Second failure](#Second-failure:-what-is-copied-fades), [Gates](#Gates:-what-they-cure).
# - **C6** Reading in order is a chain of T steps, one look a chain of 1: [Third failure](#Third-failure:-the-wait).
#
# ## What is not true
#
# - "128 numbers cannot hold 16 items." A sum of random codes recalls 0.84 of them. What falls short is what training
#   found, not only what fits.
# - "A chain makes it slow on every machine." A chain is a count, not seconds. The wait costs where many things could
#   run at once.
# - "Looking is less work." 50 looks at 50 rows are 2500 comparisons. It is less *waiting*.
#
# ## Where it leads
#
# The cure for all three would be not to copy at all: keep every row, and let the one that needs something look.
# [Chapter 03](03_soft_lookup.ipynb) makes such a look out of a dictionary; chapter 05 trains and measures it.
