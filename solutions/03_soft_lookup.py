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
# # 03 · A lookup gone soft
#
# Wiring fixed in advance looks in the wrong place, and one summary of fixed size cannot hold everything. What is left
# is to ask: each word says what it looks for, and finds it wherever it stands.
#
# - **At its end** you can look a value up by best match, turn scores into shares without overflow, and blend all
#   values with a dial that runs from "the best one only" to "all alike".
# - **Time:** 40 minutes.
# - **You need:** chapter 01, dot products, NumPy's `axis` and `keepdims`.
# - **Letters:** T rows that ask, S rows that are asked, d width of a row, d_k width of a query or key, d_v width of a
#   value. From here on vectors are rows, and a matrix stands on the right: `x @ W`.

# %%
import numpy as np

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import picture
from attention_lab.lesson import CLERK_WORDS, COLUMNS, W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import FigureView, PatternData, PatternView, Slider, explore

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## A dictionary
#
# The plainest lookup is a Python dictionary. You hand over a key, and you get what is stored under exactly this key,
# or an error.

# %% tags=["nbval-check-output"]
store = {"boat": "water", "clerk": "money"}
print(store["boat"])
try:
    store["boats"]
except KeyError as error:
    print("KeyError:", error)

# %% [markdown]
# *boats* is one letter away from *boat* and gets nothing. In a model everything is rows of numbers, and what one word
# looks for hardly ever equals another word digit by digit. An exact key is of no use there; a key that *fits well* is.
#
# ## Query, key, value
#
# So each row plays three parts, and a matrix computes each part from the row:
#
# - its **query** says what it looks for,
# - its **key** says how it can be found,
# - its **value** is what it hands over to whoever finds it.
#
# The three matrices below are written by hand for our sentence; in chapter 05 they are learned. Each of their rows says
# what becomes of one column of a word: water, money, place, action. Column 0 of queries and keys stands for the
# question "water or money?", column 1 for "where?". A value has the columns of a word's row.

# %% tags=["nbval-check-output"]
x = rows(WORDS)  # (5, 4)
q, k, v = x @ W_Q, x @ W_K, x @ W_V  # (5, 2), (5, 2), (5, 4)
for i, column in enumerate(COLUMNS):
    print(f"{column:6}  W_Q {W_Q[i]}  W_K {str(W_K[i]):8}  W_V {W_V[i]}")
for i, word in enumerate(WORDS):
    print(f"{word:4}  query {q[i]}  key {k[i]}  value {v[i]}")

# %% [markdown]
# How well a key fits a query is their dot product q·k, the **score**: large when both are large in the same columns.
#
# ### Question: best match
#
# Take the query of *bank* and a pencil. Whose key has the largest score? Choose one: `"the"`, `"boat"`, `"left"`,
# `"bank"`.

# %%
answer("03_best_match", "boat")

# %% [markdown]
# ### Exercise: hard_lookup (5 min, difficulty 1)
#
# Return the value whose key has the largest dot product with the query. When several keys are equally good, the first
# of them wins.


# %%
@exercise
def hard_lookup(query, keys, values):
    """The value whose key fits the query best.

    query (d_k,), keys (S, d_k), values (S, d_v) -> (d_v,)
    """
    ### BEGIN SOLUTION
    scores = keys @ query  # (S,)
    return values[np.argmax(scores)]
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C7"]
x_clerk = rows(CLERK_WORDS)  # the clerk left the bank
k_clerk, v_clerk = x_clerk @ W_K, x_clerk @ W_V
print("keys of boat and clerk  ", k[1], k_clerk[1])
print("bank gets from the boat ", hard_lookup(q[4], k, v))
print("bank gets from the clerk", hard_lookup(q[4], k_clerk, v_clerk))
moved = x[4] + 0.1
changed = [not np.allclose(moved @ W, x[4] @ W) for W in (W_Q, W_K, W_V)]
print("query, key, value change when the row of bank changes:", changed)

# %% [markdown]
# The clerk took the boat's place. Both have the *same key*, since both answer "water or money?"; they differ in what
# they hand over. So one question gets water in one sentence and money in the other. The last line shows where the
# three parts come from: change the row, and all three change with it.
#
# ## What the best match cannot do
#
# **It depends on the order.** In "the bank left the clerk the boat" two keys are equally good for *bank*. The first one
# wins, only because it stands first.
#
# **It jumps.** Turn the query of *bank* in the plane, from its own direction at 0 degrees towards "where?" at 90. One
# degree, between 48 and 49, and the boat's value gives way to the bank's own.

# %% tags=["nbval-check-output"]
from attention_lab.figures.chapter_03 import turned_query

for words in ("the bank left the clerk the boat", "the bank left the boat the clerk"):
    y = rows(words)
    print(words, hard_lookup(y[1] @ W_Q, y @ W_K, y @ W_V))
for degrees in (0, 48, 49, 90):
    print(f"{degrees:2} degrees: scores {k @ turned_query(degrees)} -> {hard_lookup(turned_query(degrees), k, v)}")

# %% [markdown]
# ### Question: a small turn
#
# You turn the query by a thousandth of a degree. What does the *result* do, nearly always? Choose one: `"nothing"`,
# `"moves a little"`, `"jumps to another row"`.

# %%
answer("03_small_turn", "nothing")


# %% tags=["nbval-check-output"]
def how_many_move(lookup):
    angles = np.arange(0.5, 360)
    moves = [np.abs(lookup(turned_query(a + 0.001)) - lookup(turned_query(a))).max() for a in angles]
    return f"the result moves at {np.count_nonzero(moves)} of {len(angles)} angles"


print("best match:", how_many_move(lambda query: hard_lookup(query, k, v)))

# %% [markdown]
# **It has no slope.** Training asks of each number: if this moves a little, does the result get better? Here it
# moves at 0 of 360 angles, and nothing says which way the query should turn.
#
# ## Shares in place of a winner
#
# The cure: do not take one value, take a *share* of each. Shares should be positive, add up to one, and grow with the
# score. A first idea is to divide each score by the sum of all.
#
# ### Question: turned round
#
# *bank* turns its query round, so each score changes its sign and *boat* fits worst. What does dividing by the sum
# give now? Choose one: `"the same shares"`, `"boat gets the smallest share"`, `"all shares are equal"`.

# %%
answer("03_turned_round", "the same shares")

# %% tags=["nbval-check-output"]
scores = k @ q[4]  # (5,)
print("scores      ", scores)
print("as asked    ", scores / scores.sum())
print("turned round", -scores / (-scores).sum())
mixed = np.array([3.0, -1.0, -1.5])
print("mixed signs ", mixed / mixed.sum())

# %% [markdown]
# The opposite question gets the same answer, and the scores 3, −1 and −1.5 get "shares" of 6, −2 and −3. Scores have to
# be made positive first. The exponential does that: exp(s) is above zero for any s and grows with s. Then dividing by
# the sum is safe. This is the **softmax**:
#
# $$\text{share}_j = \frac{e^{s_j}}{\sum_i e^{s_i}}$$
#
# Here it is on a napkin, for *bank*:

# %% tags=["nbval-check-output"]
powers = np.exp(scores)
print("word  score   exp  share")
for word, s, e in zip(WORDS, scores, powers):
    print(f"{word:4}  {s:5.2f} {e:5.2f}  {e / powers.sum():.3f}")
print(f"sum         {powers.sum():5.2f}  {(powers / powers.sum()).sum():.3f}")

# %% [markdown]
# Five exponentials, one sum of 22.19, five divisions: *boat* gets 0.803.
#
# ### Question: a shift
#
# You add 100 to each score of a row. What happens to its shares? Choose one: `"nothing"`, `"the best share grows"`,
# `"the shares come closer together"`.

# %%
answer("03_shift", "nothing")


# %% tags=["nbval-check-output"]
def naive_softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


print("scores       ", naive_softmax(scores))
print("scores + 100 ", naive_softmax(scores + 100))
print("scores * 2   ", naive_softmax(scores * 2))
with np.errstate(all="ignore"):
    print("scores + 1000", naive_softmax(scores + 1000))

# %% [markdown]
# A shift changes nothing, a stretch does: only *differences* of scores count. And the last line breaks: exp(1000) is
# too large for a float, it becomes infinity, and infinity over infinity is NaN, "not a number".
#
# But a shift is free. Subtract the largest score of the row, and the largest exponent is 0.
#
# ### Exercise: softmax (8 min, difficulty 2)
#
# Shares over the *last* axis, for scores of any shape: (S,), (T, S), (B, T, S). They must be finite for scores of
# ±10,000, in any row. A score of −∞ means "no share at all" and gets exactly 0; no row holds −∞ only. Leave the input
# as it is.


# %%
@exercise
def softmax(scores):
    """Shares over the last axis: positive, each row adding up to one.

    any shape -> the same shape
    """
    ### BEGIN SOLUTION
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
    ### END SOLUTION


# %% [markdown]
# ### Question: find the bug
#
# Somebody wrote the softmax below and tried it on the scores of *bank*. It looks right. Then it got all five rows at
# once. Which property does it break? Choose one: `"looks ahead"`, `"does not see itself"`, `"rows do not sum to 1"`,
# `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`, `"ignores the query"`.

# %% tags=["nbval-check-output"]
e = np.exp(scores)  # (5,)
print("one row:", e / e.sum(axis=0))
e = np.exp(q @ k.T)  # (5, 5)
suspect = e / e.sum(axis=0)
print("five rows:", suspect, sep="\n")

# %%
answer("03_find_the_bug", "rows do not sum to 1")

# %% [markdown]
# ## The dial
#
# A stretch of the scores makes the shares sharper or flatter, so it gets a dial of its own: the **temperature**.
# Scores are divided by it before the softmax.
#
# ### Question: very hot
#
# The temperature grows and grows. To which number does the share of *boat* tend?

# %%
answer("03_hot", 0.2)


# %%
def soften(temperature):
    pattern = softmax(q @ k.T / temperature)
    text = f"Temperature {temperature:g}: bank gives boat {pattern[4, 1]:.2f} and itself {pattern[4, 4]:.2f}."
    return PatternData(pattern, text, bars=dict(zip(COLUMNS, pattern[4] @ v)))


dial = Slider("temperature", 0.25, 20.0, 1.0, step=0.25)
explore(soften, [dial], PatternView(WORDS, WORDS, "Cold: one winner. Hot: all alike", bars_title="bank gets"))

# %% tags=["nbval-check-output"]
for temperature in (0.1, 0.5, 1, 2**0.5, 2, 10, 1000):
    print(f"temperature {temperature:6.4g}: pattern of bank {softmax(scores / temperature)}")

# %% [markdown]
# To three digits, 0.1 is the best match and 1000 the plain mean; softmax is called soft as it lies between. Halving the
# temperature doubles the scores: the line for 0.5 is the line `scores * 2` from before.
#
# ### Exercise: soft_lookup (6 min, difficulty 2)
#
# Scores q·k, divided by the temperature and by nothing else; shares by softmax; then all values, each times its share,
# added up. The temperature is above zero and may be as low as 0.001.


# %%
@exercise
def soft_lookup(query, keys, values, temperature):
    """The blend of all values, shared out by how well their keys fit.

    query (d_k,), keys (S, d_k), values (S, d_v), temperature > 0 -> (d_v,)
    """
    ### BEGIN SOLUTION
    pattern = softmax(keys @ query / temperature)  # (S,)
    return pattern @ values
    ### END SOLUTION


# %% [markdown]
# The next cells ask at the same 360 angles, draw the way from 0 to 90 degrees, and let you turn the query yourself.

# %% tags=["nbval-check-output"]
print("best match:   ", how_many_move(lambda query: hard_lookup(query, k, v)))
print("temperature 1:", how_many_move(lambda query: soft_lookup(query, k, v, 1.0)))
print("225 degrees: scores", k @ turned_query(225), "shares", softmax(k @ turned_query(225)))

# %%
from attention_lab.figures.chapter_03 import turn_chart, turn_data

lookups = {"best match": lambda query: hard_lookup(query, k, v)}
for t in (0.1, 1):
    lookups[f"temperature {t}"] = lambda query, t=t: soft_lookup(query, k, v, t)
picture(turn_chart(), turn_data(lookups))

# %%
from attention_lab.figures.chapter_03 import PlaneData, plane_chart


def turn(degrees, temperature):
    query = turned_query(degrees)
    pattern = softmax(k @ query / temperature)
    return PlaneData(query, pattern, soft_lookup(query, k, v, temperature))


controls = [Slider("degrees", 0, 360, 30, step=2), Slider("temperature", 0.05, 3.0, 0.5, step=0.05)]
explore(turn, controls, FigureView(plane_chart(k, WORDS, COLUMNS), size=(7.6, 4.2)))

# %% [markdown]
# The blend moves with the query at all 360 angles: there is a slope to follow. At 225 degrees no key fits, and the
# shares still add up to one: *the*, with a score of 0, gets most, 0.341.
#
# ## The pattern
#
# The shares of one query are its row's **attention pattern**. All five queries ask at once, one row each:

# %% tags=["nbval-check-output", "claim-C9"]
pattern = softmax(q @ k.T)  # (5, 5): row = the word that looks
print(pattern)
print("each row adds up to", pattern.sum(axis=-1))
print("each row's share for itself", np.diag(pattern))

# %% [markdown]
# Each row reads itself too. How much depends on how its key fits its *own* query: *left* gives itself 0.066, less
# than the 0.783 it gives to *bank*.
#
# ## An average, not a find
#
# ### Question: whose value
#
# Back to "the bank left the clerk the boat". Whose value does `soft_lookup` hand to *bank* at temperature 1? Choose
# one: `"clerk's"`, `"boat's"`, `"bank's own"`, `"nobody's"`.

# %%
answer("03_whose_value", "nobody's")

# %% tags=["nbval-check-output", "claim-C8"]
y = rows("the bank left the clerk the boat")
query, keys, values = y[1] @ W_Q, y @ W_K, y @ W_V
for name, look in (("best match", hard_lookup), ("blend", lambda *given: soft_lookup(*given, 1.0))):
    got = look(query, keys, values)
    say = [np.any(look(query, keys, values + row[:, None]) != got) for row in np.eye(7)]
    same = np.isclose(values, got).all(axis=1)
    print(f"{name:10} {got}: {sum(say)} of 7 values have a say, {sum(same)} of 7 are equal to it")

# %% [markdown]
# The best match *is* the clerk's value, and no other has a say in it. In the blend all seven have one: change any of
# them, and the blend changes. It holds as much water as money, so it is neither the clerk's value nor the boat's.
#
# ## What you showed
#
# - **C7** A query says what a row looks for, a key how it can be found, a value what it hands over; each is computed
#   from the row (*Query, key, value*). Boat and clerk share a key and differ in value.
# - **C8** Attention is a lookup gone soft: the best match returns one row, the blend takes from all, and nothing is
#   retrieved (*An average, not a find*).
# - **C9** The pattern of a row adds up to one, and the row itself is in it (*The pattern*).
#
# ## What is not true
#
# - *"Attention looks up the right word."* It averages. At temperature 1 even *the*, which fits nothing, gets 0.045.
# - *"If nothing fits, nothing comes back."* The shares add up to one whatever the scores are.
# - *"The pattern is a probability."* It is positive and adds up to one, but nothing is drawn by lot.
#
# ## Where it leads
#
# The temperature was yours to choose. Chapter 04 fixes it at √d_k and measures why. Our queries have two columns: at
# √2 = 1.414 *bank* gives *boat* 0.643, and you will meet that number again.
