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
# Rows of a table know nothing of their neighbours. The oldest cure is to read: word after word, with a memory that
# each word changes. You build such a *recurrent* network, and then measure the three ways in which it fails.
#
# - **At its end** you can write a recurrent network, say how far a change reaches in it, what gates cure and what
#   they leave, and count how long steps wait.
# - **Time:** 45 minutes.
# - **You need:** chapter 01, matrix times vector, the slope of a function.
# - **Letters:** T words, d numbers in a word's row, m numbers in the state. In this chapter vectors are columns, as in
#   `W @ h`; from chapter 03 on they are rows.

# %%
import numpy as np

from attention_lab import answer, exercise, hint
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
# The row of *bank* was the same beside the boat and beside the clerk. Is the state after *bank* `"the same"`, or
# `"different"`?

# %%
answer("02_two_banks_again", "different")

# %% [markdown]
# After *boat* the water is tanh(0.9) = 0.72; each later word keeps 0.8 of it before tanh bends it.

# %% tags=["nbval-check-output"]
W_h = np.array([[0.8, 0.0], [0.0, 0.8]])  # (m, m)
W_x = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])  # (m, d): columns water, money, place, action
b = np.zeros(2)  # (m,)
for words in (WORDS, CLERK_WORDS):
    h = np.zeros(2)
    for word, x in zip(words, rows(words), strict=True):
        h = np.tanh(W_h @ h + W_x @ x + b)
        print(f"{word}: water {h[0]:.2f}, money {h[1]:.2f}", end="; " if word != "bank" else "\n")

# %% [markdown]
# *bank* now comes with its context: more water than money in the first sentence, the opposite in the second. No window
# is needed: whatever came earlier has left its mark.
#
# Break it: leave tanh out, and let each step keep a little too much. The state explodes; with tanh it stays in range.

# %% tags=["nbval-check-output"]
bare, bent = np.ones(2), np.ones(2)
for _ in range(200):
    bare, bent = 1.1 * bare, np.tanh(1.1 * bent)
print(f"after 200 steps: without tanh {bare[0]:.0e}, with tanh {bent[0]:.2f}")

# %% [markdown]
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
# Whatever was read, the next step sees m numbers. To measure what fits into them, take stories about who has what. A
# row says *name 7 has thing 3*; afterwards the names are asked for in another order.

# %% tags=["nbval-check-output"]
ids, answers = stories(np.random.default_rng(4), batch=1, items=3)
print(in_words(ids[0]))
print("right answers:", ", ".join(f"t{thing}" for thing in answers[0]))

# %% [markdown]
# The simplest summary is a sum. Give every pair a code, a vector of m random signs; multiply the summary by `keep`,
# and add the code. To answer, take the thing whose code, with the name asked for, matches the summary best. Nothing is
# trained; with 16 things, a blind guess is right once in 16.
#
# Move the numbers and the items. Then lower `keep` a little: the newest items are saved, and early detail is crushed.

# %%
explore(
    figures.summary_data,
    [Slider("numbers", 8, 256, 64, step=8, label="numbers in the state"),
     Slider("items", 1, 16, 12, label="items in the story"),
     Slider("keep", 0.5, 1.0, 1.0, step=0.05, label="keep, at each new item")],
    FigureView(figures.summary_chart()),
)  # fmt: skip

# %% [markdown]
# Does training find a better use of the numbers? A committed script trained networks on stories with 1 to 16 items,
# 3000 steps each (`python -m attention_lab.training.recurrence` repeats it). An *LSTM* is a recurrent network with
# gates, which come below; it hands on two vectors, so its state has 2m numbers. Each line is one network, so
# differences of a few hundredths mean nothing.

# %%
picture(figures.items_chart(), figures.recall_by_items(), size=(6.6, 4.0))

# %% tags=["nbval-check-output", "claim-C4"]
curves = figures.recall_by_items()
print("items:              ", *(f"{k:4}" for k in curves["RNN, 140 numbers"][0]))
for name, (_, recalled) in curves.items():
    print(f"{name:20}", *(f"{share:.2f}" for share in recalled))

# %% [markdown]
# Each line falls, and a larger state moves the fall to the right without removing it. The line *names ignored* belongs
# to someone who knows which things were said, and not by whom. The plain network (RNN) is hardly ever better than that,
# from two items on. Does it at least treat its items alike?

# %% tags=["nbval-check-output", "claim-C4"]
for kind, numbers in (("RNN", 140), ("LSTM", 128)):
    by_place = figures.recall_by_place(kind, numbers)
    print(f"{kind}, {numbers} numbers: oldest 8 of 16 items {by_place[:8].mean():.2f}, newest {by_place[-1]:.2f}")
print(f"sum of codes, 128 numbers: all 16 items {summary_recall(128, 16, count=1000).mean():.2f}")

# %% [markdown]
# ## Second failure: what is copied fades
#
# Back to the network set by hand. Put more and more *the* between *boat* and *bank*: how different are the two banks?

# %% tags=["nbval-check-output"]
for between in (1, 5, 10, 20, 40):
    texts = [["the", who, "left"] + ["the"] * between + ["bank"] for who in ("boat", "clerk")]
    boat, clerk = (rnn_states(rows(text), np.zeros(2), W_h, W_x, b)[-1] for text in texts)
    print(f"{between:2} times the: the banks differ by {abs(boat - clerk).max():.4f}")

# %% [markdown]
# ### Question: fifty steps
#
# A word survives only by being copied, step after step. If each copy keeps 0.8 of a change, how much is left after 50?
# `"about 0.8"`, `"about 0.016"`, `"about 0.00001"`, `"nothing, exactly"`.

# %%
answer("02_fifty_steps", "about 0.00001")

# %% [markdown]
# With m numbers the factor becomes a matrix. A small change of state t passes through W_h, and then through tanh,
# whose slope at the state it arrives at, h, is 1 - h²:
#
# $$\frac{\partial h_{t+1}}{\partial h_t} = \mathrm{diag}(1 - h_{t+1}^2)\; W_h$$
#
# Over several steps these matrices are multiplied, the latest on the left. The *spectral norm* of the product, its
# largest singular value, says how much the luckiest change is stretched: call it the **reach** of state t. The
# gradient that trains the network takes the same way back, so what has no reach is hardly learned from, either.
#
# ### Exercise: reach (12 min, difficulty 3)
#
# `reach(states, W_h)` gives the reach of each state to the last one. The last value is 1: a state moves with itself.
# NumPy's default norm of a matrix is another one; the unit matrix, which stretches nothing, gives it away.

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
for radius in (0.5, 0.9, 1.0, 1.5, 3.0):
    xs, h0, *network = figures.random_network(radius)
    values = reach(rnn_states(xs, h0, *network), network[0])
    print(f"radius {radius}: reach", ", ".join(f"{values[-1 - k]:.0e} from {k}" for k in (1, 10, 50)))

# %% [markdown]
# On this scale a straight line is a constant share lost per word. Small radii lose everything. Even at radius 1 the
# slope of tanh takes its share. Large radii keep or enlarge *every* change, noise included, and then the gradient
# explodes.
#
# ## Gates: what they cure
#
# An LSTM has a second vector c with a path of its own: c_new = f · c + i · g, entry by entry. On this path stands no
# matrix and no tanh, only the *forget gate* f between 0 and 1, computed anew at each word. A GRU has the same idea
# with one vector. A copy then costs a factor f:

# %% tags=["nbval-check-output"]
for f in (0.5, 0.9, 0.99):
    print(f"forget gate {f}: {f**50:.0e} is left after 50 steps")

# %% [markdown]
# ### Question: one far item
#
# A plain network and an LSTM of equal size are trained for 800 steps on stories with *one* item, then 0 to 39 rows of
# chatter, then the question. Which recalls the item 40 steps later? `"both"`, `"only the LSTM"`,
# `"only the plain network"`, `"neither"`.

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
# The LSTM and the GRU recall one item at every distance, also at 80 and 160, which no training story had. The plain
# network learns the near item first and the far one last. It is not a wall: after 3200 steps it holds one item, too. So
# "a recurrent network forgets a far word" is false of gates here, and of the plain network a matter of training.
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
# The last failure has nothing to do with memory.
#
# ### Question: a chain of steps
#
# T = 50 words are read in order. How many steps stand in the longest chain in which each waits for the one before?

# %%
answer("02_chain_in_order", 50)

# %% [markdown]
# ### Question: one look
#
# Now another plan: each of 50 rows looks once at all 50 rows. How many looks stand
# in the longest such chain?

# %%
answer("02_chain_one_look", 1)

# %% [markdown]
# `Chain` wraps a function and counts: its calls, which are the work, and the longest chain in which a call was given
# another call's result, which is the wait. `look` compares one row with all rows, and blends them.

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
# - **C4** Everything goes through one summary of fixed size; recall falls with the number of items, and the plain
#   network keeps the newest best: [First failure](#First-failure:-one-summary-for-everything).
# - **C5** What has to be copied at each step fades: the reach falls by a factor a word, and a plain network learns near
#   items first. Gates cure that for one item, not for many: [Second failure](#Second-failure:-what-is-copied-fades),
#   [Gates](#Gates:-what-they-cure).
# - **C6** Reading in order is a chain of T steps, one look a chain of 1: [Third failure](#Third-failure:-the-wait).
#
# ## What is not true
#
# - "Recurrent networks cannot remember." One far item is easy with gates; many items are hard.
# - "128 numbers cannot hold 16 items." The sum of random codes recalls more from 128 numbers than this LSTM does. What
#   falls short is what training found, not only what fits.
# - "A chain makes it slow on every machine." The chain is a count, not seconds: on a single processor core a well-made
#   recurrent layer need not be slower than looking at everything. The wait costs where many things could run at once.
# - "Looking is less work." 50 looks at 50 rows are 2500 comparisons. It is less *waiting*.
#
# ## Where it leads
#
# The cure for all three would be not to copy at all: keep every row, and let the one that needs something go and look.
# [Chapter 03](03_soft_lookup.ipynb) makes such a look out of a dictionary. Chapter 05 trains it and puts it on the
# axes of this chapter.
