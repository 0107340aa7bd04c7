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
# # 05 · Three views of one row
#
# The matrices of chapter 04 were written by hand. Here you train your own: three matrices that learn from answers
# alone where a word has to look.
#
# - **At its end** you can write a head in PyTorch, say what each of its three matrices is for, train it, and check
#   that its pattern finds the word that decides, however far away it stands.
# - **Time:** 45 minutes.
# - **You need:** chapter 04; that PyTorch has arrays (*tensors*) with gradients, and an optimiser that follows them.
# - **Letters:** B sentences in a batch, T rows, d width of a row, d_k width of a query or key, d_v width of a value,
#   P ambiguous words in a sentence. `…` stands for any leading axes.

# %%
import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from tqdm.auto import tqdm

import attention_lab.lesson as lesson
from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_05 as charts
from attention_lab.figures import picture
from attention_lab.microscope import influence_map  # that of chapter 04, for tensors
from attention_lab.training import deciding
from attention_lab.widgets import Choice, PatternData, PatternView, Slider, explore

torch.set_num_threads(1)
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One row, three matrices
#
# *the boat left the bank* as tensors. One row of numbers per word goes in, and three matrices look at it.
#
# ### Question: the and the
#
# Query, key and value: how many of the three differ between the first *the* and the second? A number.

# %%
answer("05_the_and_the", 0)

# %% tags=["nbval-check-output"]
x = torch.tensor(lesson.rows())  # (T, d) = (5, 4)
W_q, W_k, W_v = (torch.tensor(W) for W in (lesson.W_Q, lesson.W_K, lesson.W_V))
matrices = {"query": W_q, "key": W_k, "value": W_v}
for word, row in zip(lesson.WORDS, x, strict=True):
    print(f"{word:4} row {row.numpy()}", *(f"{name} {(row @ W).numpy()}" for name, W in matrices.items()))

# %% [markdown]
# A word *has* no query. It has a row, and `W_q` makes a query of it: what this row looks for. `W_k` makes how it is
# found, `W_v` what it hands over.
#
# ### Exercise: project_qkv (4 min, difficulty 1)
#
# All rows through all three matrices, with any leading axes. `torch.nn.Linear` keeps its matrix turned; these are not.


# %%
@exercise
def project_qkv(x, W_q, W_k, W_v):
    """Three views: x (…, T, d), W_q, W_k (d, d_k), W_v (d, d_v) -> q, k (…, T, d_k), v (…, T, d_v)."""
    ### BEGIN SOLUTION
    return x @ W_q, x @ W_k, x @ W_v
    ### END SOLUTION


# %% [markdown]
# ### Exercise: attention_head (8 min, difficulty 2)
#
# The whole head of chapter 04, from rows to blends. For the last two axes `.mT` turns a tensor, whatever leads them;
# `.T` turns more. `.softmax` wants to be told its axis.


# %%
@exercise
def attention_head(x, W_q, W_k, W_v):
    """One head: x (…, T, d), W_q, W_k (d, d_k), W_v (d, d_v) -> (…, T, d_v). Vaswani et al. 2017, equation 1."""
    ### BEGIN SOLUTION
    q, k, v = project_qkv(x, W_q, W_k, W_v)
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (…, T, T)
    return scores.softmax(dim=-1) @ v
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C7"]
blend = attention_head(x, W_q, W_k, W_v)
print("blend of bank, as in chapter 04:", blend[4].numpy())
for name, rows in (("row of bank", x), ("with its blend added", x + blend)):
    q, k, v = (view[4].numpy() for view in project_qkv(rows, W_q, W_k, W_v))
    print(f"{name:20} query {q} key {k} value {v}")

# %% [markdown]
# The sum is another row, and so its three views are others: they are made of what the row is *now*. *bank* looks a
# little for a place, too, is found as *boat* is, and hands over water.
#
# ## Who matches whom
#
# A score is (x W_q)(x W_k)ᵀ. Without the brackets it is x W_q W_kᵀ xᵀ: one matrix M = W_q W_kᵀ stands between two rows,
# a *bilinear form*.
#
# ### Question: mutual
#
# The scaled score of *bank* for *boat* is 2.04. What is that of *boat* for *bank*? `"2.04"`, `"-2.04"`, or
# `"another number"`.

# %%
answer("05_mutual", "another number")

# %% [markdown]
# ### Exercise: match_form (8 min, difficulty 2)
#
# All scaled scores, by way of the single matrix. It is (d, d), but the scale still belongs to the width of a query.


# %%
@exercise
def match_form(x, W_q, W_k):
    """Scaled scores by one matrix: x (…, T, d), W_q, W_k (d, d_k) -> (…, T, T), row = the word that looks."""
    ### BEGIN SOLUTION
    M = W_q @ W_k.T / W_q.shape[-1] ** 0.5  # (d, d)
    return x @ M @ x.mT
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C12"]
print((W_q @ W_k.T).numpy())
one_sided, mutual = match_form(x, W_q, W_k), x @ (W_q @ W_k.T + W_k @ W_q.T) @ x.mT / 2 / 2**0.5
for name, scores in (("W_q W_kᵀ", one_sided), ("made symmetric", mutual)):
    pattern = scores.softmax(-1)
    print(f"{name}: bank for boat {scores[4, 1]:.2f}, boat for bank {scores[1, 4]:.2f};", end=" ")
    print(f"bank gives boat {pattern[4, 1]:.3f}, boat gives bank {pattern[1, 4]:.3f}")
turn = torch.tensor([[0.6, 0.8], [-0.8, 0.6]], dtype=torch.float64)
print("query of bank", (x[4] @ W_q).numpy(), "turned", (x[4] @ W_q @ turn).numpy(), end="; ")
print("same scores:", torch.allclose(one_sided, match_form(x, W_q @ turn, W_k @ turn)))

# %% [markdown]
# *bank* looks at *boat*, 0.643; *boat* gives *bank* 0.279, little more than the 0.2 of an even share. With one matrix
# for both jobs M would be symmetric: nobody could look without being looked at, score for score.
#
# The last line turns all queries and keys by one angle. All of them change, and no score does. No number of a query
# means anything by itself; what counts is M, how two views fit. However wide the rows, M compares them in d_k
# directions at most (that is its *rank*): a head asks few things.
#
# ## A head is trained
#
# Now 64 numbers a row and eight ambiguous words. For each of them four words *decide* whether something of nature is
# meant or something made; one in four is left undecided. The deciding word stands anywhere.

# %% tags=["nbval-check-output"]
table = torch.tensor(deciding.table())  # (V, d) = (60, 64): fixed rows, never trained
shown = deciding.sentences(np.random.default_rng(1), batch=1, length=16, asked=2)
print(table.shape, deciding.in_words(shown.ids[0]))
for place, by, sense in zip(shown.asked[0], shown.deciding[0], shown.answers[0], strict=True):
    word, other = (deciding.VOCABULARY[shown.ids[0, at]] for at in (place, by))
    print(f"{word}: undecided" if sense == 0.5 else f"{word}: {'nature' if sense else 'made'}, by {other}")

# %% [markdown]
# The head is yours. Its values are one number wide, so that the blend of an ambiguous word *is* the answer: above 0 for
# nature, below 0 for made. Read the cell, then answer before you run it. `W_v` learns faster than the others: words
# must have something to say before it pays to listen.


# %%
def train(seed, head=attention_head, steps=200):
    rng = np.random.default_rng(seed)
    W_q, W_k = (torch.tensor(rng.normal(0, 0.025, (64, 16)), requires_grad=True) for _ in range(2))
    W_v = torch.zeros(64, 1, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([{"params": [W_q, W_k], "lr": 0.005}, {"params": [W_v], "lr": 0.05}])
    history = []
    for _ in tqdm(range(steps + 1), desc=f"seed {seed}", unit="step"):
        history.append([W.detach().clone() for W in (W_q, W_k, W_v)])
        batch = deciding.sentences(rng)  # 64 new sentences of 32 words
        blends = head(table[batch.ids], W_q, W_k, W_v)[..., 0]  # (B, T)
        asked = blends.gather(1, torch.tensor(batch.asked))  # (B, P)
        loss = binary_cross_entropy_with_logits(asked, torch.tensor(batch.answers))
        adam.zero_grad()
        loss.backward()
        adam.step()
    return history


# %% [markdown]
# ### Question: what training sees
#
# What does the loss compare with the truth? Choose one: `"which word decides"`, `"where the deciding word stands"`,
# `"nature or made"`, `"the whole pattern"`.

# %%
answer("05_what_training_sees", "nature or made")

# %%
history, second, third = (train(seed) for seed in range(3))  # a few seconds each


# %% tags=["nbval-check-output", "claim-C13"]
def measure(matrices, batch, head=attention_head):
    rows = table[batch.ids]
    pattern = match_form(rows, *matrices[:2]).softmax(-1)  # (B, T, T)
    decided = batch.answers != deciding.UNDECIDED
    right = (batch.at_asked(head(rows, *matrices)[..., 0].numpy()) > 0) == (batch.answers == deciding.NATURE)
    return batch.on_deciding(pattern.numpy())[decided].mean(), right[decided].mean()


fresh = deciding.sentences(np.random.default_rng(99), batch=300)
for step in (0, 25, 50, 100, 200):
    weight, right = measure(history[step], fresh)
    print(f"step {step:3}: {right:.2f} decided rightly, weight on the deciding word {weight:.2f}")

# %%
weights, right = zip(*(measure(matrices, fresh) for matrices in history[::10]), strict=True)
picture(charts.training_chart(), charts.training_lines(range(0, 201, 10), weights, right))

# %% [markdown]
# At the start each of 32 words gets 0.03, and half of the answers are right: a guess. At the end most of the weight is
# on the deciding word, in sentences that training never had. Its place was in no line of the training. Watch it happen.


# %%
def at_step(step, sentence):
    words = charts.SENTENCES[sentence].split()
    W_q, W_k, W_v = history[step]
    rows = table[deciding.word_ids(words)]
    pattern, lean = match_form(rows, W_q, W_k).softmax(-1), attention_head(rows, W_q, W_k, W_v)
    place = next(i for i, word in enumerate(words) if word in deciding.AMBIGUOUS)
    text = f"Step {step}: {words[place]} looks most at {words[int(pattern[place].argmax())]}, "
    text += f"{pattern[place].max():.2f}, and leans by {float(lean[place]):.1f} (nature above 0, made below)."
    return PatternData(pattern.numpy(), text, queries=words, keys=words)


names = list(charts.SENTENCES)
first = charts.SENTENCES[names[0]].split()
controls = [Slider("step", 0, 200, 200, step=5, label="training step"), Choice("sentence", names, names[0])]
explore(at_step, controls, PatternView(first, first, title="Who looks at whom, while the head is trained"))

# %% [markdown]
# Rows of ordinary words look somewhere, too. Nobody ever asked them, so it means nothing.
#
# The other two trainings started from other numbers. The rows of the table are the same three times, bit by bit.

# %% tags=["nbval-check-output", "claim-C12"]
heads = [history[-1], second[-1], third[-1]]
rows = table[deciding.word_ids("the boat left the bank")]  # (T, d) = (5, 64)
for seed, matrices in enumerate(heads):
    (q, k, v), (weight, right) = project_qkv(rows, *matrices), measure(matrices, fresh)
    print(f"seed {seed}: first numbers of boat's key {k[1, :3].numpy()}, its value {float(v[1]):.1f};", end=" ")
    print(f"right {right:.2f}, weight {weight:.2f}")
    print(f"        bank gives boat {match_form(rows, *matrices[:2]).softmax(-1)[4, 1]:.2f}")

# %% [markdown]
# Three keys of *boat* that have nothing in common, and three heads that do the same: a key belongs to a matrix as much
# as to a word.
#
# ## Change the sentence
#
# ### Question: bank becomes bat
#
# In *the boat was near the cave by the old bank* the last word looks at *boat*. Replace it by *bat*. At which word does
# the last row look most now: `"boat"`, `"cave"`, `"bat"`, `"was"`?

# %%
answer("05_bank_becomes_bat", "cave")

# %% tags=["nbval-check-output", "claim-C13"]
for sentence in charts.SENTENCES.values():
    words = sentence.split()
    rows = table[deciding.word_ids(words)]
    place = next(i for i, word in enumerate(words) if word in deciding.AMBIGUOUS)
    row = match_form(rows, *history[-1][:2]).softmax(-1)[place]
    lean = attention_head(rows, *history[-1])[place, 0]
    print(f"{sentence:49} {words[place]:4} -> {words[int(row.argmax())]:5} {row.max():.2f}, leans {lean:4.1f}")

# %% [markdown]
# The matrices stay, the pattern follows the words, at run time: wiring that the sentence itself lays, where chapter 01
# fixed it in advance.
#
# ## Any distance
#
# ### Question: two hundred back
#
# In a sentence of 240 words the deciding word moves from 2 back to 200 back. What becomes of the weight on it:
# `"it falls to a hundredth"`, `"it falls a little"`, `"it stays the same"`?

# %%
answer("05_two_hundred_back", "it stays the same")

# %% tags=["nbval-check-output", "claim-C14"]
for distance in (1, 2, 10, 50, 200):
    weight, right = measure(history[-1], deciding.with_distance(np.random.default_rng(7), distance))
    print(f"{distance:3} back: one dot product of 16 numbers; weight {weight:.4f}, decided rightly {right:.2f}")
for length in (32, 128, 512):
    longer = deciding.sentences(np.random.default_rng(8), batch=20, length=length, undecided=0.0)
    weight, right = measure(history[-1], longer)
    print(f"{length:3} words: weight {weight:.2f}, decided rightly {right:.2f}")

# %% [markdown]
# Training saw 32 words, at most 31 apart. At 200 back no printed digit differs, for the same words are compared. What
# does cost is *length*: every further word takes a small share.
#
# ## On the axes of chapter 02
#
# Now the task of chapter 02, who has what, for one head with as many parameters as the networks there, the same
# stories, steps and three seeds (`python -m attention_lab.training.attention` repeats it).

# %%
picture(charts.recall_chart(), (charts.recall_by_distance(), charts.recall_by_items()), size=(10.0, 4.4))

# %% tags=["nbval-check-output", "claim-C14"]
for title, curves in (("steps back", charts.recall_by_distance()), ("items", charts.recall_by_items())):
    print(f"{title:22}", *(f"{k:4}" for k in next(iter(curves.values()))[0]))
    for name, (_, recalled) in curves.items():
        print(f"{name:22}", *(f"{share:.2f}" for share in recalled))
print("items, two seeds apart at most:", *(f"{name} {apart:.2f};" for name, apart in charts.seeds_apart().items()))
print("learning rates: 0.003 attention and LSTM, 0.001 RNN")
print(f"attention after 100 steps, worst of all seeds and distances: {charts.early_recall(100):.2f}")
for kind, parameters, cpu in charts.costs():
    print(f"{kind:9} {parameters:5} parameters, processor time of a training step, in ms: {cpu}")

# %% [markdown]
# On the left attention is *not* better than the LSTM: both recall one item from any distance, and so does the plain
# network after 3200 steps. Attention is early: 100 steps are enough (the LSTM was measured after 800 only). On the
# right it stands alone. To be fair:
#
# - **Equal:** parameters within 2 %, stories, batches, steps. Distances of 80 and 160 are beyond what training had.
# - **Not equal: memory.** The LSTM carries 128 numbers through a story of any length. Attention keeps all rows, and
#   compares each with each.
# - **Time:** on one core a training step costs about the same here; in longer stories that changes (chapter 10).
# - **Size:** a head of width 16, with 3152 parameters, does as well. The wide one is there for equality.
# - **The task suits attention:** one look at the row with the same name is enough, and order plays no part. Learning
#   rates are those of chapter 02, 0.003 for attention and LSTM, 0.001 for the plain network, searched no further.
# - **Seeds:** each line is the mean of three. On the right two of the LSTM's are up to 0.11 apart, attention's 0.00.
#
# ## Find the bug
#
# `head_1` turns the keys with `reshape`, as published code did. The shapes are right, the rows sum to 1, and a sentence
# of one word gets what it should. It can even be trained.


# %%
def head_1(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    turned = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    return (q @ turned / q.shape[-1] ** 0.5).softmax(dim=-1) @ v


trained = train(0, head_1)

# %% tags=["nbval-check-output"]
one_word = torch.allclose(head_1(x[:1], W_q, W_k, W_v), attention_head(x[:1], W_q, W_k, W_v))
print("shape", tuple(head_1(x, W_q, W_k, W_v).shape), "one word as it should be:", one_word)
for step in (0, 200):
    print(f"step {step:3}: {measure(trained[step], fresh, head_1)[1]:.2f} decided rightly")

# %% [markdown]
# ### Question: bug
#
# 0.67 is better than a guess, and the loss falls. Which property does `head_1` break? Choose one: `"looks ahead"`,
# `"does not see itself"`, `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`,
# `"changes its input"`, `"ignores the query"`.

# %%
answer("05_bug_reshape", "scrambles words")

# %% tags=["nbval-check-output"]
q, k, _ = project_qkv(x, W_q, W_k, W_v)
for name, turned in (("turned", lambda k: k.T), ("reshaped", lambda k: k.reshape(2, 5))):
    columns = influence_map(lambda k, turned=turned: (q @ turned(k)).T, k)
    print(f"{name}: key 0 moves the scores for words {columns[:, 0].nonzero().flatten().tolist()}")

# %% [markdown]
# The key of word 0 should move the scores for word 0. Reshaped, it moves those for words 0 and 1: a column holds
# numbers of several words. Without the bug 1.00 were right. *It trains* is no test; the microscope is one.
#
# ## What you showed
#
# - **C7** A query says what a row looks for, a key how it is found, a value what it hands over; all three are computed
#   from the row as it is now (*One row, three matrices*).
# - **C12** They are views, learned ones: three trainings see the same row in three ways, and queries and keys can be
#   turned together without changing a score (*Who matches whom*, *A head is trained*).
# - **C13** The pattern is computed from the sentence; training found where to look without being told (*A head is
#   trained*, *Change the sentence*).
# - **C14** Any distance costs one comparison, and recall does not fall with it (*Any distance*, *On the axes of
#   chapter 02*).
#
# ## What is not true
#
# - *"The key of a word says what the word is."* No number of a key means anything without the queries it will meet.
# - *"Attention finds the relevant word."* It finds what lowered the loss. The *bank* with nothing to find gives 0.44
#   to *left* and leans by -2.3: a softmax cannot say *nobody*.
# - *"Long texts cost nothing."* Distance does not. Length shares the weight out, 0.73 at 512 words, and multiplies the
#   comparisons: chapter 10.
# - *"Recurrence cannot do this."* One far item it can.
#
# ## Where it leads
#
# Every word looked both ways. A model that is to predict the next word must not see it: chapter 06. And this head would
# do the same if all words were shuffled, which is chapter 08.
