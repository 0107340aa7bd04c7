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
# # 06 · The causal mask
#
# A model that writes has read the words so far and no others. In training the whole text lies there, and a word can
# look at the very word that it is asked for. This chapter lets it, sees what comes of it, and puts a mask in between.
#
# - **At its end** you can train on all words of a text at once, write a mask and put it where it belongs, and tell
#   from numbers that a model looks ahead.
# - **Time:** 40 minutes.
# - **You need:** chapter 04, tensors, `torch.tril` and `masked_fill`.
# - **Letters:** B texts, T rows that ask, S rows that are asked, d width of a row, d_k width of a query or key, d_v
#   width of a value, V words in the vocabulary.

# %%
import numpy as np
import torch
from torch.nn import functional as F

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_06 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.microscope import influence_map  # that of chapter 04, for tensors
from attention_lab.training import next_word
from attention_lab.waiting import Chain
from attention_lab.widgets import PatternData, PatternView, Slider, Toggle, explore

torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## Every word is a question
#
# A model that learns to write is asked, after each word, for the next one. In *the boat left the bank*:

# %% tags=["nbval-check-output"]
x = torch.tensor(rows(WORDS))  # (T, d) = (5, 4)
q, k, v = (x @ torch.tensor(W) for W in (W_Q, W_K, W_V))
for t in range(4):
    print(f"row {t} has read: {' '.join(WORDS[: t + 1]):19} it has to say: {WORDS[t + 1]}")
pattern = (q @ k.T / 2**0.5).softmax(-1)
print(f"left gives bank {pattern[2, 4]:.3f}, and {pattern[2, :3].sum():.3f} to all that it has read")

# %% [markdown]
# One text is many questions with known answers, and one pass through the model answers them all. But the head of
# chapter 04 lets *left* look at *bank*, a word from the future, and gives it most of all.
#
# ### Question: predictions
#
# A text of 28 words goes through the model once. How many of its predictions can be marked right or wrong? A number.

# %%
answer("06_predictions", 27)

# %% [markdown]
# ### Exercise: next_token_loss (8 min, difficulty 2)
#
# The model gives scores for all V words in every row. The loss of a prediction is minus the natural logarithm of the
# chance (by softmax) of the word that really follows; return the mean over all predictions of all texts, as a tensor
# that training can follow back. Forget to shift, and the model is praised for repeating the word it has read. Scores
# may lie 1000 apart.


# %%
@exercise
def next_token_loss(logits, ids):
    """Mean cross-entropy of predicting ids[:, 1:]: logits (B, T, V), ids (B, T) -> a single number, in nats."""
    ### BEGIN SOLUTION
    said, wanted = logits[:, :-1], ids[:, 1:]  # (B, T-1, V), (B, T-1)
    return F.cross_entropy(said.flatten(0, 1), wanted.flatten())
    ### END SOLUTION


# %% [markdown]
# ## The future leaks
#
# Now train, on sentences like *the boat left the muddy bank*. Subject and verb are drawn freely; the adjective depends
# on the subject. So nobody who sees only the words before can have a mean loss below a known **floor**.

# %% tags=["nbval-check-output"]
text = next_word.sentences(np.random.default_rng(11), batch=100)  # (B, T) = (100, 28)
print(next_word.text(text[0, :14]))
print(f"a guess that knows nothing: {next_word.UNIFORM:.2f} nats, the floor: {next_word.FLOOR:.2f} nats")

# %% [markdown]
# Two small models with the same start, equal but for this: in one every row may look at all rows, in the other torch
# hides what lies ahead. Each is trained for 300 steps with *your* loss.
#
# ### Question: the leak
#
# Where does the training loss of the first one end? Choose one: `"above the floor"`, `"the floor"`,
# `"below the floor"`.

# %%
answer("06_leak", "below the floor")

# %%
kinds = {"with a mask": next_word.may_not, "without a mask": next_word.may_look_ahead}
models, losses = {}, {}
for name, attention in kinds.items():  # some seconds each
    models[name], losses[name] = next_word.trained(attention, next_token_loss)
picture(charts.loss_chart(list(kinds), next_word.UNIFORM, next_word.FLOOR), charts.loss_lines(losses))

# %%
for name, model in models.items():
    print(f"{name}: {next_word.text(next_word.continued(model, text[:1, :1])[0])}\n")

# %% tags=["nbval-check-output", "claim-C16"]
for name, model in models.items():
    past = next_token_loss(next_word.from_the_past(model, text), text)
    right = next_word.right_sentences(next_word.continued(model, text[:, :1])).all(1).sum()
    print(f"{name:14}: training loss {losses[name][-1]:.1f}, from the words before only {past:.1f} nats")
    print(f"{'':14}  of 100 texts that it writes, {right} are without a fault")

# %% [markdown]
# Without a mask training looks perfect: the loss is 0.0, below what is possible. The model has learned one thing, to
# copy the word one row further. When it writes there is no such row. Given the words before and no others it is worse
# than a guess that knows nothing, and what it writes is rubbish.
#
# A loss below the floor is no success but a symptom. In a real language nobody knows the floor; a loss too good to be
# true is the symptom there.
#
# ## The mask
#
# A mask is a table that says who may look where. In this course True means *may look*; rows are queries, columns keys.
#
# Often fewer rows ask than are asked: a model that goes on writing hands in 2 new words, and they look at all 5. The
# rows that ask are the *last* T of S. A triangle that starts in the upper left corner takes them for the first.
#
# ### Exercise: causal_mask (6 min, difficulty 2)
#
# A row may look at itself and at all rows before it. S left out is T.


# %%
@exercise
def causal_mask(T, S=None):
    """Who may look where: bool (T, S), True = may look; the rows that ask are the last T of S."""
    ### BEGIN SOLUTION
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)
    ### END SOLUTION


# %% [markdown]
# ## Before the softmax
#
# A first idea: compute the pattern, then set what lies ahead to zero.
#
# ### Question: row 0
#
# The first *the* asks for next to nothing: all five weights of its row are about 0.2. What does the row sum to when
# the mask comes after the softmax? A number with one decimal.

# %%
answer("06_row_0", 0.2)

# %% tags=["nbval-check-output", "claim-C16"]
mask = causal_mask(5)
scores = q @ k.T / 2**0.5
after = scores.softmax(-1) * mask
before = scores.masked_fill(~mask, float("-inf")).softmax(-1)
zeros = (scores * mask).softmax(-1)
divided = after / after.sum(-1, keepdim=True)
for name, one in (("after it", after), ("and divided", divided), ("before it", before), ("zeros, not -inf", zeros)):
    print(f"{name:15} rows sum to {one.sum(-1).numpy().round(3)}, left gives bank {one[2, 4]:.3f}")

# %%
picture(charts.too_late_chart(WORDS), (after.numpy(), before.numpy()), size=(9.6, 3.6))

# %% [markdown]
# After the softmax a row loses the weight of what is hidden and never gets it back: 0.295 is all that *left* has.
# Divided by its new sum, a row is right again, unless a hidden score was so large that nothing is left of the rest. A
# score of *zero* hides nothing, since exp(0) is 1: *left* still gives *bank* 0.178. With −∞, before the softmax, hidden
# words get exactly 0 and rows sum to 1.
#
# ## Rows with nothing to look at
#
# In a batch, short texts are filled up and the filling is masked. Then a row can be left with nothing at all.

# %% tags=["nbval-check-output"]
nothing = torch.zeros(5, 5, dtype=torch.bool)
by_hand = scores.masked_fill(~nothing, float("-inf")).softmax(-1) @ v
finite = scores.masked_fill(~nothing, -1e9).softmax(-1) @ v
sdpa = F.scaled_dot_product_attention(q, k, v, attn_mask=nothing)
torch.manual_seed(0)
heads = torch.nn.MultiheadAttention(4, num_heads=1, dtype=torch.float64).eval()
mha, _ = heads(x, x, x, attn_mask=~nothing)  # True = blocked
for name, out in (("-inf", by_hand), ("-1e9", finite), ("SDPA", sdpa), ("MultiheadAttention", mha)):
    print(f"{name:18} {out[0].detach().numpy().round(3)}")
print(f"{'mean of all values':18} {v.mean(0).numpy().round(3)}")

# %% [markdown]
# By hand NaN, 0 divided by 0, which spreads through a whole model; with a finite fill the mean of all values, hidden
# ones included; zeros from one function of torch and NaN from another. Here it is zeros: who sees nothing gets nothing.
#
# ### Exercise: masked_pattern (8 min, difficulty 2)
#
# The softmax of each row over what its mask lets it see. The mask may be (T, S) or one for each text, (B, 1, S). A row
# with nothing to look at is all zeros. Scores may be as large as ±20000.


# %%
@exercise
def masked_pattern(scores, mask):
    """Masked softmax: scores (…, T, S), bool mask (T, S) or broadcastable, True = may look -> (…, T, S)."""
    ### BEGIN SOLUTION
    pattern = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return pattern.masked_fill(~mask.any(-1, keepdim=True), 0)
    ### END SOLUTION


# %% [markdown]
# ### Exercise: causal_attention (6 min, difficulty 2)
#
# The whole head, scale and all; the rows that ask are the last T of S. Below it, break the mask in three ways and
# watch the row that asks.


# %%
@exercise
def causal_attention(q, k, v):
    """A causal head: q (…, T, d_k), k (…, S, d_k), v (…, S, d_v), S >= T -> (…, T, d_v)."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return masked_pattern(scores, causal_mask(*scores.shape[-2:])) @ v
    ### END SOLUTION


# %%
def looking(asking, after_the_softmax, one_word_ahead, read_as_blocked):
    look = torch.ones(5, 5, dtype=torch.bool).tril(1 if one_word_ahead else 0)
    look = ~look if read_as_blocked else look
    found = scores.softmax(-1) * look if after_the_softmax else masked_pattern(scores, look)
    row, word = found[asking - 1], WORDS[asking - 1]
    text = f"{word} (row {asking - 1}) gives {row[asking:].sum():.2f} to words ahead; its row sums to {row.sum():.2f}."
    return PatternData(found, text, {"ahead": row[asking:].sum(), "itself and before": row[:asking].sum()})


switches = [Toggle(name) for name in ("after_the_softmax", "one_word_ahead", "read_as_blocked")]
explore(
    looking,
    [Slider("asking", 1, 5, 3, label="asking word, 1 to 5"), *switches],
    PatternView(WORDS, WORDS, title="Who looks at whom", bars_title="weight of the asking row"),
)


# %% tags=["nbval-check-output", "claim-C16"]
def head(x):
    return causal_attention(*(x @ torch.tensor(W) for W in (W_Q, W_K, W_V)))


print(influence_map(head, x).int())
print(f"left gives bank {masked_pattern(scores, causal_mask(5))[2, 4]:.3f}")

# %% [markdown]
# Nothing above the diagonal: change *bank*, and only its own row moves. The 0.624 of *left* are gone.
#
# ## What the mask buys
#
# A row of the blend needs queries, keys and values, and no other row of the blend. And a row that cannot see further
# than itself gives the same answer whether the rest of the text is there or not. So one pass stands for 28.

# %% tags=["nbval-check-output", "claim-C15"]
row = Chain(lambda *qkv: F.scaled_dot_product_attention(*map(torch.from_numpy, qkv)).numpy())
Q, K, V = q.numpy(), k.numpy(), v.numpy()
blend = {t: row(Q[t : t + 1], K[: t + 1], V[: t + 1]) for t in (3, 0, 4, 1, 2)}  # in any order
same = all(np.allclose(blend[t], causal_attention(q, k, v)[t]) for t in range(5))
print(f"attention: {row.calls} rows, longest chain {row.longest}, the same as all at once: {same}")
for name, model in models.items():
    at_once, one_by_one = model(text), next_word.from_the_past(model, text)
    print(f"{name}: 1 pass gives the predictions of 28 passes: {torch.allclose(at_once, one_by_one, atol=1e-3)}")
write = Chain(lambda ids: next_word.continued(models["with a mask"], torch.from_numpy(ids), ids.shape[1] + 1).numpy())
written = text[:1, :1].numpy()
for _ in range(20):
    written = write(written)
print(f"writing: {write.calls} passes, longest chain {write.longest}")

# %% [markdown]
# In training nobody waits: chain 1, where chapter 02 had one as long as the text. **Writing gets none of it.** Word 20
# cannot be asked for before word 19 is there: 20 words, 20 passes, each waiting for the one before. (Inside a pass the
# layers wait for each other, in training as in writing.)
#
# ## One mask, three conventions
#
# The same mask, as libraries want it: torch's `scaled_dot_product_attention` (SDPA) reads True as here, its
# `MultiheadAttention` reads True as *blocked*, and both *add* a mask of floats to the scores.

# %% tags=["nbval-check-output"]
print(charts.conventions(mask, WORDS))


# %% tags=["nbval-check-output"]
def sdpa_pattern(mask, queries=q):
    return F.scaled_dot_product_attention(queries, k, torch.eye(5, dtype=q.dtype), attn_mask=mask)


added = torch.zeros(5, 5, dtype=q.dtype).masked_fill(~mask, float("-inf"))
_, seen = heads(x, x, x, attn_mask=~mask)
print("SDPA, numbers added: the same pattern:", torch.allclose(sdpa_pattern(added), sdpa_pattern(mask)))
print("MultiheadAttention, turned round: looks where it may:", torch.equal(seen > 0, mask))

# %% tags=["nbval-check-output"]
print("True = blocked, handed to SDPA:", sdpa_pattern(~mask), sep="\n")
print("0 and 1 as floats, handed to SDPA:", sdpa_pattern(mask.double()), sep="\n")

# %% [markdown]
# Neither fails, and all shapes are right. In the first each row sees *only* its future, and the last nothing: a widely
# used course shipped a mask of this kind. In the second nothing is hidden: what may be seen got 1 added to its score,
# and row 0 keeps 0.388 and gives the rest to the future.
#
# ### Question: one new row
#
# Instead of a mask torch takes a flag, `is_causal=True`. One new query asks 5 keys. How many does it see? A number.

# %%
answer("06_one_new_row", 1)

# %% tags=["nbval-check-output"]
flagged = F.scaled_dot_product_attention(q[3:], k, torch.eye(5, dtype=q.dtype), is_causal=True)
print("rows 3 and 4 with the flag:", flagged, sep="\n")
print("with causal_mask(2, 5):", sdpa_pattern(causal_mask(2, 5), q[3:]), sep="\n")

# %% [markdown]
# The flag puts its corner upper left: rows 3 and 4 are taken for 0 and 1. A test with T = S cannot see it.
#
# ## Find the bug
#
# ### Question: the bug
#
# `head_1` first takes the mean off, as many networks do. Its pattern has the right triangle, its rows sum to 1. Which
# property does it break? Choose one: `"looks ahead"`, `"does not see itself"`, `"rows do not sum to 1"`,
# `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`, `"ignores the query"`.


# %% tags=["nbval-check-output"]
def head_1(x):
    return head(x - x.mean(dim=0))


centred = x - x.mean(dim=0)
print(masked_pattern(centred @ torch.tensor(W_Q) @ (centred @ torch.tensor(W_K)).T / 2**0.5, causal_mask(5)))

# %%
answer("06_bug", "looks ahead")

# %% tags=["nbval-check-output"]
print(influence_map(head_1, x).int())

# %% [markdown]
# The mean runs over the words, so each row holds a little of every other before any mask comes. A pattern shows one
# step; the microscope shows the whole function. (Models take the mean over the columns of *one* row.)
#
# ## What you showed
#
# - **C15** Inside one attention step no query waits for another's result, and one pass trains on all words at once; a
#   model that writes gets none of it (*What the mask buys*).
# - **C16** A word may look backward, never forward; the mask belongs before the softmax; a leak makes training look
#   perfect (*The future leaks*, *Before the softmax*).
#
# ## What is not true
#
# - *"The lower the loss the better."* Not below the floor.
# - *"The mask makes it a language model."* It keeps training honest; a model that writes has nothing ahead to look at.
# - *"A mask in the first layer is enough."* Each layer without one looks ahead by itself.
# - *"Attention writes all words at once."* It trains on all at once.
# - *"Attention has to be masked like this."* A model that only reads looks both ways, as BERT does; and where keys and
#   values come from another, finished text (*cross-attention*, in translation), all of it may be seen.
#
# ## Where it leads
#
# One head asks one question at a time. Chapter 07 puts several side by side. The 2 new rows that look at 5 come back
# in chapter 11, with a cache.
