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
# # 04 · One attention head
#
# Chapter 03 asked one question at a time and left the dial to you. Here every word asks at once, the dial gets a fixed
# value with a measured reason, and what comes back is added to the row that asked.
#
# - **At its end** you can compute an attention head from start to finish, say what its √d_k is for, and see with an
#   instrument of your own which rows of any function read which.
# - **Time:** 60 minutes.
# - **You need:** chapter 03, matrix products, NumPy's `axis` and `keepdims`.
# - **Letters:** T rows that ask, S rows that are asked, d width of a row, d_k width of a query or key, d_v width of a
#   value. `…` stands for any leading axes.

# %%
import numpy as np

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_04 as charts
from attention_lab.figures import picture
from attention_lab.lesson import CLERK_WORDS, COLUMNS, W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import Choice, PatternData, PatternView, Slider, explore, step_through

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## All words ask at once
#
# Three products give every word of *the boat left the bank* its query, its key and its value. One more compares every
# query with every key: row = the word that looks, column = the word looked at.

# %% tags=["nbval-check-output"]
x = rows(WORDS)  # (T, d) = (5, 4)
q, k, v = x @ W_Q, x @ W_K, x @ W_V  # (5, 2), (5, 2), (5, 4)
for i, word in enumerate(WORDS):
    print(f"{word:>4}   query {q[i]}   key {k[i]}   value {v[i]}")
raw = q @ k.T  # (T, S) = (5, 5)
print(raw)
print(f"bank looks at boat: 1.6 · 1.8 + 0 · 0 = {raw[4, 1]:.2f}")

# %% [markdown]
# ## How large is a score?
#
# A score adds d_k products. Here d_k is 2; in models it is 64 or 128. Suppose, as Vaswani et al. (2017) do, that the
# numbers in queries and keys are independent, with mean 0 and variance 1. Then one product of two has variance 1, too.
#
# ### Question: variance at 64
#
# What is the variance of such a score when d_k is 64? A number.

# %%
answer("04_variance_at_64", 64)

# %% tags=["nbval-check-output", "claim-C10"]
for d_k in (4, 16, 64, 256):
    unscaled, scaled = (charts.random_scores(d_k, power).var() for power in (0, 0.5))
    print(f"d_k = {d_k:3}: variance of q · k {unscaled:3.0f}, of q · k / √d_k {scaled:.1f}")

# %% [markdown]
# Variances of independent terms add up, so the variance grows with the width (252 is measured on samples). Dividing a
# number by c divides its variance by c², and c = √d_k brings it back to 1 at any width.
#
# ### Exercise: scaled_scores (6 min, difficulty 2)
#
# The scores of all queries for all keys, divided by √d_k. Leading axes hold a batch: each sentence is scored by itself.
# `@` works on the last two axes and leaves the others alone; `np.swapaxes` swaps two axes.


# %%
@exercise
def scaled_scores(q, k):
    """Scaled dot products: q (…, T, d_k), k (…, S, d_k) -> (…, T, S). Vaswani et al. 2017, equation 1."""
    ### BEGIN SOLUTION
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    ### END SOLUTION


# %% [markdown]
# ## The pattern
#
# A softmax turns each row of scores into shares.
#
# ### Exercise: attention_pattern (6 min, difficulty 2)
#
# The softmax of the scaled scores: every row sums to 1, for one sentence and for a batch. `softmax` is not imported:
# write its lines again. Scores may be as large as 1000, so take each row's largest score away before `exp`.


# %%
@exercise
def attention_pattern(q, k):
    """Attention pattern: q (…, T, d_k), k (…, S, d_k) -> (…, T, S); each row sums to 1."""
    ### BEGIN SOLUTION
    scores = scaled_scores(q, k)
    risen = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return risen / risen.sum(axis=-1, keepdims=True)
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C9"]
pattern = attention_pattern(q, k)  # (T, S) = (5, 5)
print(pattern)
print("rows sum to", pattern.sum(axis=-1))
print("each row reads itself:", np.diag(pattern))

# %% [markdown]
# *bank* gives *boat* 0.643, and *left* gives *bank* 0.624. No share is 0: every word reads itself, and every word reads
# *the*.
#
# ## Why √d_k
#
# The scale keeps the variance of the scores at 1. What is a large variance bad for? The next measurement uses patterns
# over 16 keys. Their *entropy* says among how many keys the weight is spread: 4 bits when all 16 weigh the same,
# 0 bits when one key has it all. Their *gradient* is the size of ∂pattern/∂scores: how far a pattern moves when its
# scores are nudged, and so how much training can change about where a word looks.
#
# ### Question: entropy at 64
#
# With the scale a pattern has about 3.4 bits, at any width. How many has it without the scale at d_k = 64?
# Choose one: `"3.4"`, `"2.5"`, `"0.6"`, `"0"`. Then move the slider.

# %%
answer("04_entropy_at_64", "0.6")


# %%
def patterns_at(d_k, divided_by):
    power = charts.DIVISORS[divided_by]
    found = charts.saturation(d_k, power)
    text = f"d_k = {d_k}, scores divided by {divided_by}: variance {found.variance:.2f}, "
    text += f"entropy {found.entropy:.2f} of 4 bits, gradient {found.gradient:.2f}."
    bars = {"entropy / 4 bits": found.entropy / 4, "largest weight": found.largest, "gradient": found.gradient}
    return PatternData(charts.sample_pattern(d_k, power), text, bars)


explore(
    patterns_at,
    [Slider("d_k", 1, 256, 2, label="d_k"), Choice("divided_by", list(charts.DIVISORS), "nothing")],
    PatternView([f"query {i}" for i in range(8)], [str(j) for j in range(16)], title="Patterns over 16 random keys"),
)

# %% tags=["nbval-check-output", "claim-C10"]
for divided_by, power in charts.DIVISORS.items():
    for d_k in (4, 64, 256):
        one = charts.saturation(d_k, power)
        print(f"divided by {divided_by:7} d_k = {d_k:3}: entropy {one.entropy:.1f} bits, gradient {one.gradient:.2f}")
one = charts.saturation(64, 0.5, spread=3)
print(f"numbers 3 times as large, d_k = 64, divided by √d_k: variance {one.variance:.0f}, entropy {one.entropy:.1f}")

# %%
picture(charts.width_chart(), charts.width_lines(), size=(9.6, 3.2))

# %% [markdown]
# - **Not scaled**, the pattern hardens as queries widen: 2.5, 0.6, 0.3 bits. That is a *saturated* softmax. The
#   gradient falls: 0.32, 0.17, 0.10.
# - **Divided by √d_k**, both stay where they are: 3.4 bits, 0.30.
# - **Divided by d_k**, the pattern is flat, 4.0 bits: wide queries can hardly say what they want.
#
# The scale counts on numbers of variance 1. Let training make queries and keys three times as large, and the scaled
# softmax saturates all the same: the variance is 80, and 0.5 bits are left.
#
# ## The blend
#
# Each query takes the values along, in the shares of its row of the pattern.
#
# ### Question: what is lost
#
# Suppose that this blend takes the place of the row of *bank*. Which column of *bank* would be empty? Choose one:
# `"water"`, `"money"`, `"place"`, `"action"`.

# %%
answer("04_lost_if_replaced", "place")

# %% [markdown]
# ### Exercise: attend (4 min, difficulty 1)
#
# The whole head after the three products. d_v may differ from d_k.


# %%
@exercise
def attend(q, k, v):
    """Attention: q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) -> (…, T, d_v)."""
    ### BEGIN SOLUTION
    return attention_pattern(q, k) @ v
    ### END SOLUTION


# %% tags=["nbval-check-output"]
blend = attend(q, k, v)  # (5, 4)
for i, word in enumerate(WORDS):
    print(f"{pattern[4, i]:.3f} of {word:4} {v[i]}")
print("blend of bank ", blend[4], "in", *COLUMNS)

# %% [markdown]
# ### Question: what the clerk changes
#
# In *the clerk left the bank*, what is different for *bank*? Choose one: `"its query"`, `"its scores"`,
# `"its pattern"`, `"its blend"`.

# %%
answer("04_clerk_changes", "its blend")

# %% [markdown]
# ## The blend is added
#
# The blend is not yet the new row of *bank*. Two ways to use it:

# %% tags=["nbval-check-output", "claim-C11"]
print("                       ", *COLUMNS)
for words in (WORDS, CLERK_WORDS):
    y = rows(words)
    found = attend(y @ W_Q, y @ W_K, y @ W_V)
    print(f"bank with {words[1]:5}: replaced {found[4]}   added {y[4] + found[4]}")

# %% [markdown]
# Replaced, *bank* is no place any more: `W_V` hands no place over, so no blend holds one. Added, the row keeps its
# 0.8 of place, and it leans: 1.023 water against 0.444 money beside the boat, the other way round with the clerk.
# What *bank* could not say in chapter 01 it says now.
#
# ### Exercise: add_update (3 min, difficulty 1)
#
# The row goes on, with what attention found added. Others may still need the old rows: leave `x` as it was.


# %%
@exercise
def add_update(x, update):
    """The rows with their updates added: x (T, d), update (T, d) -> (T, d), a new array."""
    ### BEGIN SOLUTION
    return x + update
    ### END SOLUTION


# %%
def looking(second_word, asking, blend):
    words = ("the", second_word, "left", "the", "bank")
    y = rows(words)
    ways, found = attention_pattern(y @ W_Q, y @ W_K), attend(y @ W_Q, y @ W_K, y @ W_V)
    new = add_update(y, found) if blend == "is added" else found
    row = dict(zip(COLUMNS, new[asking - 1], strict=True))
    text = f"{words[asking - 1]} looks most at {words[ways[asking - 1].argmax()]}. Its row afterwards: "
    text += ", ".join(f"{column} {number:.2f}" for column, number in row.items())
    return PatternData(ways, text + ".", row, queries=words, keys=words, asking=asking)


second = Choice("second_word", ["boat", "clerk"], "boat")
ways_to_use_it = Choice("blend", ["is added", "takes the row's place"], "is added", label="the blend")
explore(
    looking,
    [second, Slider("asking", 1, 5, 5, label="asking word, 1 to 5"), ways_to_use_it],
    PatternView(WORDS, WORDS, "Who looks at whom", walk=True, bars_title="the asking word's new row", bars_high=1.2),
)

# %%
# The whole head once more, a step at a time. Point at a number to see how it is made.
step_through(q, k, v, WORDS, rows=rows(), columns=COLUMNS, mask=None)

# %% [markdown]
# In a model the sum goes on to a small network that works on each row alone (an MLP), and then to the next head.
# Chapter 09 follows it through a whole model and finishes claim C11.
#
# ## A microscope
#
# Formulas say who reads whom. Code can say something else, and shapes will not tell you. So build an instrument:
# change one input row, and see which output rows move.
#
# ### Question: reach of a query
#
# Keys and values stay, one of the five queries changes. How many of the five blends change? A number.

# %%
answer("04_query_reach", 1)


# %% tags=["nbval-check-output"]
def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


row = np.array([[3.0, 1.0, 4.0, 8.0]])
print("add 1 to each:  moved", np.any(centred(row + 1) != centred(row)))
print("add 1, 2, 3, 4: moved", np.any(centred(row + [1, 2, 3, 4]) != centred(row)))

# %% [markdown]
# A change can be invisible: this function takes each row's mean away, as real models do, and never notices the 1.
# Zeroing a row fails where it is zero already, and a tiny step fails where numbers are rounded. Make your change
# different in every entry, and not small.
#
# ### Exercise: influence_map (15 min, difficulty 3)
#
# Entry [i, j] is True when changing row j of `x` changes row i of `f(x)` in any digit. `f` may write into the array
# that it gets, and may return that very array; `x` stays as it was.


# %%
@exercise
def influence_map(f, x):
    """Who reads whom: f takes (T, d) to (T, d'), x (T, d) -> bool (T, T), True where input row j moves output row i."""
    ### BEGIN SOLUTION
    base = np.array(f(x.copy()))
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += np.linspace(1, 2, x.shape[1])
        moved[:, j] = (f(changed) != base).any(axis=-1)
    return moved
    ### END SOLUTION


# %% tags=["nbval-check-output"]
def head(x):
    return attend(x @ W_Q, x @ W_K, x @ W_V)


by_query = influence_map(lambda queries: attend(queries, k, v), q)
print(by_query.astype(int))
print("a query moves", by_query.sum(), "of 25; a row of x in the head moves", influence_map(head, x).sum())
print("a row of x in a product with a matrix moves", influence_map(lambda x: x @ W_V, x).sum())

# %% [markdown]
# A query reaches its own blend and no other: no query waits for another one's result, which chapter 06 builds on. A
# row of x is query, key and value at once, and reaches every blend. A product with a matrix never leaves its row: of
# these steps, attention alone carries anything from word to word.
#
# ## Find the bug
#
# Both functions below are modelled on published code, and both are wrong.
#
# ### Question: bug 1
#
# You met this bug in chapter 03; here it hides: `pattern_1` is right for our sentence. A batch of two sentences comes
# in, and nothing fails. Which property does it break? Choose one: `"looks ahead"`, `"does not see itself"`,
# `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`,
# `"ignores the query"`.


# %% tags=["nbval-check-output"]
def pattern_1(q, k):
    risen = np.exp(scaled_scores(q, k))
    return risen / risen.sum(axis=1, keepdims=True)


print("as it should be, on our sentence:", np.allclose(pattern_1(q, k), attention_pattern(q, k)))

# %%
answer("04_bug_axis", "rows do not sum to 1")


# %% tags=["nbval-check-output"]
def blend_in_a_batch(rows_of_q):
    return (pattern_1(np.stack([rows_of_q, q]), np.stack([k, k])) @ v)[0]


first = pattern_1(np.stack([q, q]), np.stack([k, k]))[0]
print("rows sum to", first.sum(axis=-1), "and columns to", first.sum(axis=-2))
print(influence_map(blend_in_a_batch, q).astype(int))

# %% [markdown]
# With a batch, axis 1 holds the queries: each *key* now hands out one unit among them. The microscope shows it without
# a look at the code, for a query moves the blends of all others. The annotated models of labml.ai had a softmax over
# the queries; the reader who found it trained both ways and measured no difference (their issue 146). *It trains*
# proves nothing.
#
# ### Question: bug 2
#
# In `pattern_2` a score is a sum: one number of the query and one of the key. The row of *bank* comes out right. Which
# of the same eight properties does `pattern_2` break?

# %% tags=["nbval-check-output"]
a, b = np.array([1.0, 1.0]), q[4] / np.sqrt(2)


def pattern_2(q, k):
    risen = np.exp((q @ a)[:, None] + (k @ b)[None, :])
    return risen / risen.sum(axis=-1, keepdims=True)


print("bank, as it should be:", attention_pattern(q, k)[4])
print("bank, by pattern_2:   ", pattern_2(q, k)[4])

# %%
answer("04_bug_static", "ignores the query")

# %% tags=["nbval-check-output"]
print(pattern_2(q, k))
print("moved by a query:", influence_map(lambda q: pattern_2(q, k).round(9), q).sum(), "of 25")

# %% [markdown]
# Every word looks where *bank* looks. The query adds one number to its whole row of scores, and a softmax does not see
# what is added to all (it moves the last digits, hence `round`). A well-known attention for graphs had scores of this
# kind, with one bend in between; that it ranks the neighbours of all nodes alike was published years later (Brody,
# Alon and Yahav, "How attentive are graph attention networks?", 2021).
#
# ## What you showed
#
# - **C9** The scores of a query, after softmax, sum to one, and a row reads itself too (*The pattern*).
# - **C10** Scores are divided by √d_k because their variance grows with d_k and the softmax saturates: entropy and
#   gradient fall without the scale and stay with it (*Why √d_k*).
# - **C11** The blend is added to the row and does not replace it (*The blend is added*). That the row goes on to the
#   MLP is shown in chapter 09.
#
# ## What is not true
#
# - *"The scale prevents small gradients."* It keeps the variance of the scores at 1 *if* queries and keys have
#   variance 1. Large numbers saturate the scaled softmax as well.
# - *"Attention replaces a word by its context."* The row is still there, in the sum.
# - *"Right shapes and a falling loss mean that it is right."* Both bugs have the right shapes.
#
# ## Where it leads
#
# Somebody wrote `W_Q`, `W_K` and `W_V` by hand for five words. In chapter 05 training finds them. Keep the microscope:
# every chapter from here on uses it.
