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
# # 10 · What length costs
#
# "Attention is quadratic" is said of time, of memory and of money, often by people who counted none of them. You
# count first and look at the clock later. Then you write attention that is exact and never holds the table of scores.
#
# - **At its end** you can say what a text costs before anything is computed, where the quadratic part begins to
#   matter, and do attention in blocks with a running softmax.
# - **Time:** 50 minutes.
# - **You need:** chapters 04, 06 and 07; logarithms.
# - **Letters:** B texts, T rows that ask, S rows that are asked, H heads, d width of a row, d_k width of a query or
#   key, d_v width of a value, n words in a text.

# %%
import numpy as np
import torch
from torch.nn import functional as F

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_10 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.probes.chapter_10 import held
from attention_lab.widgets import Choice, FigureView, Slider, explore

torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## Comparisons
#
# In *the boat left the bank* each of five words looks at five: 25 comparisons, or 15 behind a causal mask.
#
# ### Question: twice the text
#
# A text becomes twice as long. How many times as many comparisons are there, without a mask? A number.

# %%
answer("10_double", 4)

# %% [markdown]
# ### Exercise: comparisons (4 min, difficulty 1)
#
# How many times does a word look at a word, all words together? With a mask it is not half of the square: half of 25
# is no number of comparisons.


# %%
@exercise
def comparisons(T, causal):
    """Comparisons in a text of T words, each word with itself included; causal: no word looks ahead -> int."""
    ### BEGIN SOLUTION
    return T * (T + 1) // 2 if causal else T * T
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C22"]
for T in (5, 10, 1000, 2000):
    print(f"{T:5} words: {comparisons(T, False):9,} comparisons, {comparisons(T, True):9,} behind a mask")
for T in (5, 1000):
    print(f"from {T} to {2 * T}, behind a mask: times {comparisons(2 * T, True) / comparisons(T, True):.2f}")

# %% [markdown]
# Double the text: four times as many. Behind a mask it is a little less, 3.67 for short texts, and 4.00 for long ones.
#
# ## Operations
#
# A comparison is a dot product, so it costs a multiplication and an addition for each column; the blend costs the same
# once more. "n²" alone leaves out the width.
#
# ### Exercise: attention_flops (6 min, difficulty 2)
#
# Operations for the scores and the blend of all heads, which share the width d. No mask; nothing for softmax and
# scale. A multiply-add counts as two.


# %%
@exercise
def attention_flops(T, d, n_heads):
    """Operations of scores and blend for T words of width d, shared out among n_heads heads -> int."""
    ### BEGIN SOLUTION
    return 4 * T * T * d
    ### END SOLUTION


# %% [markdown]
# Torch can count, too, on tensors that have a shape and no numbers in them: nothing is computed.

# %% tags=["nbval-check-output"]
for n_heads in (1, 4, 12):
    shape = (n_heads, 1024, 768 // n_heads)  # (H, T, d_h)
    counted = charts.counted(charts.by_hand, shape, shape, shape)
    print(f"{n_heads:2} heads: {attention_flops(1024, 768, n_heads):,}, torch counts {counted:,}")

# %% [markdown]
# ## And the rest of the layer
#
# A layer also has projections and an MLP. They treat each word alone, so they grow with n only; but they are wide.
# Torch counts both, for layers of three models.
#
# ### Question: the share of attention
#
# GPT-2 small reads 1024 words at most, with d = 768. Its context is full: which part of a layer's operations are scores
# and blend? Choose one: `"about a fifth"`, `"about half"`, `"about nine tenths"`.

# %%
answer("10_share", "about a fifth")


# %% tags=["nbval-check-output", "claim-C22"]
def half(shape, causal):
    rest = charts.layer_operations(shape, 1)[1]  # of one word
    return charts.first_at(lambda n: 4 * shape.width * comparisons(n, causal) >= rest * n)


for name, shape in charts.SHAPES.items():
    print(f"{name}, d = {shape.width}, context {shape.context:,}:")
    print("  share at n =", *(f"{n}: {charts.share(shape, n):.0%} " for n in (64, 512, 1024, 8192)))
    print(f"  half at n = {half(shape, False):,}; causal pairs only: {half(shape, True):,}")

# %%
picture(charts.share_chart(), charts.shares([2**i for i in range(4, 16)]), size=(7.2, 3.8))

# %% [markdown]
# With GPT-2's shape a word costs 24 d² in projections and MLP (4 d² and 8 d² weights, two operations each), and 4 n d
# in attention: equal at n = 6 d = 4608, far beyond its context. (Count only what the mask lets through, and it is 12
# d.) The quadratic part is there from the first word on, and small until n comes near the width.
#
# ## Bytes
#
# Memory is another matter: the scores of all heads are there at once, one table each.
#
# ### Exercise: score_matrix_bytes (5 min, difficulty 1)
#
# Bytes of all scores of one layer. A float32 number has 4 bytes; a mask hides numbers, it does not remove them.


# %%
@exercise
def score_matrix_bytes(B, H, T, bytes_per_number):
    """Bytes of the scores of B texts of T words in H heads -> int."""
    ### BEGIN SOLUTION
    return B * H * T * T * bytes_per_number
    ### END SOLUTION


# %% [markdown]
# An estimate costs nothing. So first the estimate, then the memory, or a refusal in one sentence. Each doubling takes
# four times the bytes.


# %% tags=["nbval-check-output", "claim-C22"]
def scores_if_they_fit(T, n_heads=12, d_head=64):
    need = score_matrix_bytes(1, n_heads, T, 4)
    if need > charts.free_bytes():
        raise MemoryError(f"the scores of {T:,} words need {charts.size_text(need)}, and less is free here")
    q = torch.zeros(n_heads, T, d_head)
    return q @ q.mT


for T in (256, 512, 1024):
    estimate, scores = score_matrix_bytes(1, 12, T, 4), scores_if_they_fit(T)
    print(f"{T:,} words: {charts.size_text(estimate)}, as torch says: {scores.nbytes == estimate}")
try:
    scores_if_they_fit(1_000_000)
except MemoryError as refusal:
    print("refused:", refusal)


# %%
def layer(n, n_heads, width):
    return charts.costs(n, n_heads, width, score_matrix_bytes(1, n_heads, n, 4), attention_flops(n, width, n_heads))


controls = [
    Slider("n", 256, 65536, 1024, step=256, label="words"),
    Choice("n_heads", [1, 2, 4, 8, 16, 32], 8, label="heads"),
    Slider("width", 64, 2048, 512, step=64, label="width d"),
]
explore(layer, controls, FigureView(charts.cost_chart(), size=(9.6, 3.8)))

# %% [markdown]
# More heads: more bytes, the same operations. More width: more operations of both kinds, the same bytes of scores.
#
# ## How fast does it grow?
#
# If costs = c · nᵖ, then log costs = log c + p · log n: a line with slope p.
#
# ### Exercise: growth_exponent (6 min, difficulty 2)
#
# The slope of the least-squares line through all points (log size, log cost). Without logarithms a slope has a unit
# and depends on c; from two measured points alone it is mostly noise.


# %%
@exercise
def growth_exponent(sizes, costs):
    """The exponent p of costs = c · sizes ** p: two tensors of numbers above 0, (N,) and (N,) -> float."""
    ### BEGIN SOLUTION
    x, y = sizes.log(), costs.log()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())
    ### END SOLUTION


# %% [markdown]
# ### Question: a whole layer
#
# A whole layer of GPT-2's shape, from n = 64 to n = 16384, fitted with one line. Which exponent comes out? Choose one:
# `"1"`, `"between 1 and 2"`, `"2"`.

# %%
answer("10_layer_exponent", "between 1 and 2")

# %% tags=["nbval-check-output", "claim-C22"]
gpt2 = charts.SHAPES["GPT-2 small"]
n = [64 * 2**i for i in range(9)]
attention, rest = torch.tensor([charts.layer_operations(gpt2, T) for T in n]).double().T
n = torch.tensor(n).double()
for name, operations in (("attention", attention), ("all else", rest), ("the layer", attention + rest)):
    local = [growth_exponent(n[i : i + 2], operations[i : i + 2]) for i in range(8)]
    print(f"{name:9}: {growth_exponent(n, operations):.2f}; from point to point", *(f"{p:.2f}" for p in local))
print("1 + share of attention between them:", *(f"{1 + charts.share(gpt2, 91 * 2**i):.2f}" for i in range(8)))

# %% [markdown]
# From counts the exponents are exact: 2.00 and 1.00. The layer's 1.25 belongs to no part of it and to no range: its
# line bends, from 1.02 to 1.71. At each length the exponent is 1 plus the share of attention. So ask *where*, not only
# how fast.
#
# Now the clock. No two runs and no two machines agree, so nothing here depends on these numbers.

# %%
lengths = [128, 256, 512, 1024, 2048, 4096]
W_up, W_down = torch.randn(64, 256), torch.randn(256, 64)
ways = {
    "scores by hand": charts.by_hand,
    "torch's SDPA": F.scaled_dot_product_attention,
    "MLP": lambda q, k, v: F.gelu(q @ W_up) @ W_down,
}
times = {name: charts.clocked(f, lambda T: torch.randn(3, 1, 1, T, 64), lengths) for name, f in ways.items()}
for name, found in times.items():
    print(f"{name:14} exponent {growth_exponent(torch.tensor(lengths).double(), torch.tensor(found).double()):.1f}")
lines = {name: (lengths, found) for name, found in times.items()}
picture(charts.clock_chart(list(ways), lengths), lines, size=(7.2, 3.8))

# %% [markdown]
# The slopes wander. Short texts pay for the call itself; where the scores outgrow the processor's cache, or new memory
# has to be handed out, the line by hand jumps, and a fit across the jump says more than 2. SDPA is torch's own
# attention: as many operations, and mostly less time. The reason is the memory, and it comes now.
#
# ## The softmax, a block at a time
#
# A softmax needs its whole row, as it seems: the sum runs over all keys. Take the keys two at a time, then the mean of
# what comes out?
#
# ### Question: the mean of two halves
#
# When is the mean of attention over two halves of the keys attention over all? Choose one: `"always"`,
# `"when both halves have the same length"`, `"when both halves have the same sum of exp"`.

# %%
answer("10_average", "when both halves have the same sum of exp")

# %% [markdown]
# So a block has to bring its sum along (Milakov and Gimelshein 2018). Three small steps for one row, *left*, whose best
# match comes last:
#
# 1. Sums add up: keep Σ exp(score) and Σ exp(score) · value, and divide at the very end.
# 2. exp(1000) is infinite. So the largest score m is taken off first: exp(score − m). But only the largest *so far* is
#    known.
# 3. When a block raises it from m to m′, all that was added before is too large by exp(m′ − m): multiply both sums
#    by exp(m − m′). It is exact, no matter how often m rises.

# %% tags=["nbval-check-output"]
x = torch.tensor(rows(WORDS))
q, k, v = (x @ torch.tensor(W) for W in (W_Q, W_K, W_V))
scores, water = (q @ k.T / 2**0.5)[2], v[:, 0]  # of left, (5,); one column of the values
m, total, blend, halves = torch.tensor(-torch.inf), 0.0, 0.0, []
for block in ([0, 1], [2, 3], [4]):
    new = torch.maximum(m, scores[block].max())
    factor, risen = (m - new).exp(), (scores[block] - new).exp()
    total, blend, m = total * factor + risen.sum(), blend * factor + risen @ water[block], new
    halves.append(scores[block].softmax(-1) @ water[block])
    words = " ".join(WORDS[i] for i in block)
    print(f"{words:9} m {m:.3f}, factor {factor:.3f}, sum {total:.3f}, blend {blend:.3f}")
print(f"blend / sum = {blend / total:.3f}, all at once {scores.softmax(-1) @ water:.3f}")
print(f"mean of three blocks: {sum(halves) / 3:.3f}")

# %% [markdown]
# ### Exercise: blockwise_attention (14 min, difficulty 3)
#
# The mean of the blocks is 0.321 where 0.355 is right. Now for all queries: `block` keys at a time, the last block
# perhaps shorter. Exactly full attention, without a mask, for scores of any size. The check looks at every tensor you
# make: none with more than T × `block` numbers (q, k and v have fewer there), and nothing kept for each block.


# %%
@exercise
def blockwise_attention(q, k, v, block):
    """Exact attention in blocks of keys: q (T, d_k), k (S, d_k), v (S, d_v), block >= 1 -> (T, d_v)."""
    ### BEGIN SOLUTION
    largest = q.new_full((len(q), 1), -torch.inf)
    total, blend = torch.zeros_like(largest), q.new_zeros(len(q), v.shape[1])
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5  # (T, block)
        new = torch.maximum(largest, scores.amax(1, keepdim=True))
        factor, risen = (largest - new).exp(), (scores - new).exp()
        total, blend = total * factor + risen.sum(1, keepdim=True), blend * factor + risen @ values
        largest = new
    return blend / total
    ### END SOLUTION


# %%
def stopped(block, step):
    return charts.moment(q @ k.T / 2**0.5, block, step)


controls = [Slider("block", 1, 5, 2, label="keys in a block"), Slider("step", 1, 5, 2, label="block number")]
explore(stopped, controls, FigureView(charts.moment_chart(WORDS), size=(7.6, 3.8)))

# %% [markdown]
# ### Question: the work
#
# Attention in blocks of 64 keys. What becomes of the operations for scores and blend? Choose one:
# `"they grow with n only"`, `"they halve"`, `"they stay the same"`.

# %%
answer("10_work", "they stay the same")

# %% [markdown]
# An instrument decides, not the author: `held` looks at each tensor while torch makes it.


# %% tags=["nbval-check-output", "claim-C23"]
def in_blocks(q, k, v):
    return blockwise_attention(q, k, v, 64)


lengths = [256, 512, 1024, 2048]
ways = {"full": charts.by_hand, "in blocks": in_blocks}
seen = {name: [] for name in ways}
for T in lengths:
    some = torch.randn(3, T, 64, generator=torch.Generator().manual_seed(T))  # q, k, v
    outs = {}
    for name, f in ways.items():
        outs[name], use = held(f, *some)
        seen[name].append((use.largest, use.peak, charts.counted(f, *some)))
    print(f"{T:4} words: largest tensor", " and ".join(f"{seen[name][-1][0]:9,}" for name in ways), end="; ")
    print("equal results:", torch.allclose(outs["full"], outs["in blocks"], atol=1e-5), end="; ")
    print("equal operations:", seen["full"][-1][2] == seen["in blocks"][-1][2])
n = torch.tensor(lengths).double()
for name, numbers in seen.items():
    p = [growth_exponent(n, torch.tensor(some).double()) for some in zip(*numbers, strict=True)]
    print(f"{name:9}: exponent of the largest tensor {p[0]:.2f}, of all at once {p[1]:.2f}, of operations {p[2]:.2f}")

# %% [markdown]
# Memory grows with n, arithmetic with n², to the last multiply-add. Nothing is approximated: the largest table is
# gone, no comparison is.
#
# **FlashAttention** (Dao et al. 2022) is this, made for graphics cards: queries are cut, too, so that a tile of scores
# fits into the small memory beside the processor and never travels to the large one. Scores are even computed
# *again* for the gradient, and it is faster all the same: moving numbers was the slow part. (Cutting only the queries
# needs no running softmax; but then each piece still has rows of length S.)

# %% tags=["nbval-check-output"]
some = torch.randn(3, 512, 64, generator=torch.Generator().manual_seed(0))
for name, given in (("(T, d)", some), ("(B, H, T, d)", some[:, None, None])):
    out, use = held(F.scaled_dot_product_attention, *given)
    print(f"SDPA on {name}: largest tensor that torch sees {use.largest:,}, scores out of sight {use.hidden:,}")

# %% [markdown]
# The same function: on two axes torch makes the table, on four it takes a kernel with blocks. And an instrument at the
# door sees nothing of what a kernel does inside.
#
# ## Find the bug
#
# ### Question: the bug
#
# `blocks_1` is exact for *bank*. Which property does it break? Choose one: `"looks ahead"`, `"does not see itself"`,
# `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`,
# `"ignores the query"`.


# %% tags=["nbval-check-output"]
def blocks_1(q, k, v, block):
    largest = q.new_full((len(q), 1), -torch.inf)
    total, blend = torch.zeros_like(largest), q.new_zeros(len(q), v.shape[1])
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        new = torch.maximum(largest, scores.amax(1, keepdim=True))
        risen = (scores - new).exp()
        total = total * (largest - new).exp() + risen.sum(1, keepdim=True)
        blend, largest = blend + risen @ values, new
    return blend / total


print("bank, blocks_1:", blocks_1(q, k, v, 2)[4])
print("bank, full:    ", charts.by_hand(q, k, v)[4])

# %%
answer("10_bug", "rows do not sum to 1")

# %% tags=["nbval-check-output"]
pattern = blocks_1(q, k, torch.eye(5, dtype=q.dtype), 2)  # unit values: the blend is the pattern
for word, weights in zip(WORDS, pattern, strict=True):
    print(f"{word:4} {weights.numpy().round(3)} sum {weights.sum():.3f}")

# %% [markdown]
# *bank* finds its best match in the first block, and nothing has to be rescaled afterwards. For *left* the largest
# score rises twice, and only the sum is told. Many tests have their best match early.
#
# ## What you showed
#
# - **C22** Double the text and the comparisons quadruple: operations 4 n² d, bytes of scores with n² for each head; and
#   where the quadratic part outweighs the rest: at n = 6 d in GPT-2's shape (*Comparisons*, *And the rest of the
#   layer*, *Bytes*, *How fast does it grow?*).
# - **C23** Exact attention need not hold the table: in blocks with a running softmax the memory is linear, the
#   arithmetic still quadratic (*The softmax, a block at a time*).
#
# ## What is not true
#
# - *"Attention is what costs."* For long texts; at GPT-2's full context it is 18 % of a layer.
# - *"FlashAttention makes it linear."* The memory, not the operations.
# - *"It is faster, so it approximates."* It is exact, up to rounding.
# - *"The time is O(n²)."* The operations are of the order n² · d; the time depends on memory, too.
#
# ## Where it leads
#
# A model that writes computes keys and values of old words again for each new one, and that can be saved. Chapter 11
# keeps them, in a cache.
