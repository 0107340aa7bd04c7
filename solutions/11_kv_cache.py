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
# # 11 · The key/value cache
#
# A model that writes one token at a time reads its whole text again for each of them. Most of what it computes was
# there a moment ago. Here you keep it, prove that nothing changes, and count what is saved and what it costs.
#
# - **At its end** you can write a cache, attend with it in pieces of any size, find the bugs that single rows never
#   show, and say how many bytes a cache takes.
# - **Time:** 60 minutes.
# - **You need:** chapters 06 and 07, `torch.cat`.
# - **Letters:** B texts, H heads, d_h width of a head, t new rows, S rows so far, T tokens, L layers.

# %%
import time

import numpy as np
import torch
from torch.nn import functional as F
from transformers.models.llama import modeling_llama

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_11 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.microscope import influence_map  # that of chapter 04, for tensors
from attention_lab.models import load, present
from attention_lab.probes.tiny_models import tiny_llama
from attention_lab.widgets import Choice, FigureView, Slider, Toggle, explore

torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False)
lab = load("lab")  # some seconds

# %% [markdown]
# ## What is computed twice
#
# In chapter 09 to write meant: hand in the whole text, take the token that the last row says, put it at the end, hand
# in the whole text again.
#
# ### Question: rows
#
# A text of 6 tokens; 20 more are written, one in each pass. How many rows, all passes together, does a layer make keys
# of?

# %%
answer("11_rows", 310)


# %% tags=["nbval-check-output", "claim-C24"]
def read_again(model, ids, n):
    for _ in range(n):
        with torch.no_grad():
            ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    return ids


ids = lab.encode("the boat left the bank", start=True)  # (1, T) = (1, 6)
with charts.rows_counted(lab) as counted:
    text = read_again(lab.model, ids, 20)
print(lab.text(text))
print(f"{len(counted)} passes, {sum(counted)} rows; tokens that were read: {text.shape[1] - 1}")

# %% [markdown]
# Keys were made of 310 rows, and there are 25 tokens. Could the first key of a token have been kept? Only if a token
# that comes later never changes it.
#
# ### Question: out of date
#
# Think of a model *without* a mask, which keeps the keys of its last pass. A new token comes. In which layers are kept
# keys out of date now: `"in none"`, `"in layer 0"`, `"in all but layer 0"`, `"in all"`?

# %%
answer("11_out_of_date", "in all but layer 0")

# %% tags=["nbval-check-output", "claim-C25"]
x = lab.model.transformer.wte(ids[:, 1:])[0].detach()  # rows of the five words
for name, causal in (("mask", True), ("no mask", False)):
    for layer in (0, 1, 2):
        moved = influence_map(charts.keys_of(lab, layer, causal), x)
        print(f"{name:7}, layer {layer}: bank moves the keys of", *(WORDS[i] for i in range(5) if moved[i, 4]))

# %% [markdown]
# Layer 0 makes keys of the tokens alone. From layer 1 on a row has read others: without a mask all of them, the new one
# too, so that whatever was kept is stale. **With the mask no earlier row ever changes.** What is kept is not close to
# what would be computed again, it *is* that.
#
# Queries need not be kept: a query is used once, by its own row. Move the step, then switch the cache off.

# %%
tokens = ["(start)", *lab.tokens(text[0, 1:12])]


def at_step(step, cache):
    return charts.step_data(len(tokens), 6, step, cache)


controls = [Slider("step", 1, 7, 1, label="step"), Toggle("cache", True)]
explore(at_step, controls, FigureView(charts.step_chart(tokens), size=(9.6, 2.6)))

# %% [markdown]
# ### Exercise: KVCache (10 min, difficulty 2)
#
# The cache of one layer. `append` takes t rows, for any t, and gives all so far, oldest first; `length` is a property.
# After `reset` the cache is as good as new. A caller may write its next row into the tensor that held the last one:
# what you keep must not change with it.


# %%
@exercise
class KVCache:
    """Keys and values of one layer, oldest first."""

    ### BEGIN SOLUTION
    def __init__(self):
        self.reset()

    def append(self, k, v):
        if self.keys is None:
            self.keys, self.values = k.clone(), v.clone()
        else:
            self.keys = torch.cat([self.keys, k], dim=2)
            self.values = torch.cat([self.values, v], dim=2)
        return self.keys, self.values

    @property
    def length(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def reset(self):
        self.keys = self.values = None

    ### END SOLUTION
    ### STARTS AS: def __init__(self):
    ### STARTS AS:     raise NotImplementedError  # your code here and below
    ### STARTS AS:
    ### STARTS AS: def append(self, k, v):
    ### STARTS AS:     """k, v (B, H, t, d_h) -> all keys and all values so far, (B, H, S, d_h) each."""
    ### STARTS AS:     raise NotImplementedError
    ### STARTS AS:
    ### STARTS AS: @property
    ### STARTS AS: def length(self):
    ### STARTS AS:     """How many rows are kept."""
    ### STARTS AS:     raise NotImplementedError
    ### STARTS AS:
    ### STARTS AS: def reset(self):
    ### STARTS AS:     raise NotImplementedError


# %% [markdown]
# ## Several new rows
#
# Writing has two phases. **Prefill** reads the whole prompt at once, **decode** one token at a time. And there is
# everything between: long prompts come in chunks, and a guess of several tokens is checked in one pass.
#
# ### Question: two new rows
#
# Three rows are kept, two new ones come. How many of the five keys may the first of the two see?

# %%
answer("11_two_new", 4)

# %% [markdown]
# ### Exercise: cached_attention (12 min, difficulty 3)
#
# Append, then attend: each new row sees the whole cache, itself, and new rows before it.


# %%
@exercise
def cached_attention(q, k, v, cache):
    """Causal heads on the t newest rows: q, k, v (B, H, t, d_h), a KVCache -> (B, H, t, d_h)."""
    ### BEGIN SOLUTION
    keys, values = cache.append(k, v)  # (B, H, S, d_h)
    t, S = q.shape[2], keys.shape[2]
    look = torch.ones(t, S, dtype=torch.bool).tril(S - t)
    scores = q @ keys.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(~look, float("-inf")).softmax(-1) @ values
    ### END SOLUTION


# %% [markdown]
# Two short cuts are often seen: "with a cache no mask is needed", and torch's flag where there are several rows. All
# three read the five words of our sentence, in pieces of different sizes.


# %% tags=["nbval-check-output", "claim-C25"]
def no_mask(q, k, v, cache):
    return F.scaled_dot_product_attention(q, *cache.append(k, v))


def attend_1(q, k, v, cache):
    return F.scaled_dot_product_attention(q, *cache.append(k, v), is_causal=q.shape[2] > 1)


def in_pieces(attend, x, schedule):
    cache = KVCache()
    views = ((x @ torch.tensor(W))[None, None].split(schedule, dim=2) for W in (W_Q, W_K, W_V))
    return torch.cat([attend(*piece, cache) for piece in zip(*views)], dim=2)[0, 0]


x, schedules = torch.tensor(rows(WORDS)), ([1, 1, 1, 1, 1], [2, 2, 1], [5])
full = F.scaled_dot_product_attention(*(x @ torch.tensor(W) for W in (W_Q, W_K, W_V)), is_causal=True)
for attend in (cached_attention, no_mask, attend_1):
    gaps = [(in_pieces(attend, x, schedule) - full).abs().max().item() for schedule in schedules]
    words = ("right" if gap < 1e-12 else f"off by {gap:.2f}" for gap in gaps)
    print(f"{attend.__name__:17}", *(f"{schedule}: {word};" for schedule, word in zip(schedules, words)))

# %% [markdown]
# Yours gives the blends of full attention under every schedule. `no_mask` is right as long as rows come one by one. Who
# tests that way and no other ships it.
#
# ### Question: bug in pieces
#
# `attend_1` is right in prefill *and* in decode. Which property does it break in between? Choose one: `"looks ahead"`,
# `"does not see itself"`, `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`,
# `"changes its input"`, `"ignores the query"`.

# %%
answer("11_bug_pieces", "does not see itself")

# %% tags=["nbval-check-output"]
for attend in (no_mask, attend_1):
    moved = influence_map(lambda x, attend=attend: in_pieces(attend, x, [2, 2, 1]), x)
    print(attend.__name__, moved.int(), sep="\n")

# %% [markdown]
# `no_mask` looks ahead: *the* sees *boat*. And `attend_1`: rows 2 and 3 came together, and torch's triangle starts in
# the upper left corner. Row 2 is given key 0 only, and does not move when it is changed itself. Row 3 is given keys 0
# and 1: it moves with its query, and never sees its own key.
#
# ## A whole model
#
# Models of `transformers` keep a cache for all layers. `said = model(new, cache=cache, use_cache=True)` reads new
# tokens behind those that are kept; `said.logits` and `said.cache` are what comes back. `cache=None` makes a new one.
# Positions go on where the cache ends. (Older releases call it `past_key_values`.)
#
# ### Exercise: cached_greedy (12 min, difficulty 2)
#
# Behind the prompt come n tokens, each the best one after all before it. What the model has read it need not read
# again: the rows that it is fed are counted.


# %%
@exercise
def cached_greedy(model, ids, n):
    """Greedy text with the model's own cache: ids (1, T) -> (1, T + n). Nothing stops at an end token."""
    ### BEGIN SOLUTION
    cache, new = None, ids
    for _ in range(n):
        with torch.no_grad():
            said = model(new, cache=cache, use_cache=True)
        cache, new = said.cache, said.logits[:, -1:].argmax(-1)
        ids = torch.cat([ids, new], dim=1)
    return ids
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C24", "claim-C25"]
def generate(model, ids, n):
    return model.generate(ids, max_new_tokens=n, min_new_tokens=n, do_sample=False, use_cache=True, pad_token_id=0)


ways, written, seconds = (read_again, cached_greedy, generate), {}, {}
for way in ways:
    start = time.perf_counter()
    with charts.rows_counted(lab) as counted:
        written[way.__name__] = way(lab.model, ids, 100)
    seconds[way.__name__] = time.perf_counter() - start
    same = torch.equal(written[way.__name__], written["read_again"])
    print(f"{way.__name__:13} {sum(counted):4} rows, the text of full reading: {same}")

# %%
for name in ("read_again", "generate"):  # depends on the machine
    print(f"{name} takes {seconds[name] / seconds['cached_greedy']:.1f} times as long as cached_greedy")

# %% [markdown]
# 5,550 rows or 105, and token for token the same text.
#
# ### Question: comparisons
#
# 1,000 rows are kept, one comes. How many comparisons of a query with a key does a head make in that step?

# %%
answer("11_comparisons", 1001)

# %% tags=["nbval-check-output", "claim-C24"]
whole = written["read_again"]
print("multiply-adds of one pass  matrices  attention")
for length in (25, 50, 100):
    for name, kept in (("last row", length - 1), ("all rows", 0)):
        matrices, attention = charts.step_work(lab, whole[:, :length], kept)
        print(f"{name}, {length:3} tokens {matrices:16,} {attention:10,}")

# %% [markdown]
# To the matrices a row costs the same wherever it stands. The comparisons still happen: twice the text, twice the
# scores and blends for one row. The cache spares rows from being derived again, not from being looked at.
#
# ## The next request
#
# ### Question: left over
#
# A model has read "the clerk left the bank". The next user's request is "the bank", and nobody has reset the cache.
# What happens: `"an error"`, `"the words of a new cache"`, `"the first user's bank"`?

# %%
answer("11_left_over", "the first user's bank")

# %% tags=["nbval-check-output"]
request = lab.encode("the bank", start=True)
for before in ("", "the clerk left the bank", "the boat left the bank"):
    cache = lab.model(lab.encode(before, start=True), use_cache=True).cache if before else None
    chances = lab.model(request, cache=cache, use_cache=True).logits[0, -1].softmax(-1)
    print(f"{before or 'a new cache':23}: the bank … {lab.text(chances.argmax()[None])} {chances.max():.2f}")

# %% [markdown]
# No error, fluent text, and what one user said decides what another one reads. So a reset is a line that somebody
# writes. Better still, make the cache where the request begins: then a cell that runs twice gives the same text twice.
#
# ## Where exactness ends
#
# - **Rounding.** The proof is about numbers, not about floats. One row and 127 rows go through different matrix
#   kernels, which may add in different orders.
# - **The last position.** The lab model has 128 rows for positions. To make room by dropping the oldest keys is another
#   computation: those that stay have read what is gone, at places further on.

# %% tags=["nbval-check-output", "claim-C25"]
long = read_again(lab.model, ids, 121)  # (1, T) = (1, 127)
for dtype, limit in ((torch.float64, 1e-10), (torch.float32, 1e-3)):
    model = load("lab").model.to(dtype)
    once, pieces = model(long).logits[0], charts.logits_in_pieces(model, long, size=1)
    best = (once.argmax(-1) == pieces.argmax(-1)).sum()
    print(f"{dtype}: logits within {limit:g}: {bool((once - pieces).abs().max() < limit)}, best token {best}/127")
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    print(f"{dtype}: near 20 the next number is {16 * torch.finfo(dtype).eps:.3g} away")
try:
    lab.model(torch.cat([long, ids], dim=1))
except IndexError:
    print("133 tokens: IndexError")
cache = charts.without_the_oldest(lab.model(long[:, :-1], use_cache=True).cache, 64)
dropped = lab.model(long[:, -1:], cache=cache).logits[0, -1] - lab.model(long[:, 64:]).logits[0, -1]
print(f"oldest 64 keys dropped: a logit is off by {dropped.abs().max():.1f}")

# %%
picture(charts.rounding_chart(), charts.rounding_data(long[:, :60]), size=(7.2, 3.2))  # depends on the machine

# %% [markdown]
# "The cache changes the logits" is a bug report that many projects get. Compare *tokens*, and logits with a tolerance
# that you state. In bfloat16 numbers near 20 lie 0.125 apart: two nearly equal logits can change places, texts part,
# and neither is wrong. (So coarse a format may also round a difference away, and give the same bits.)
#
# ## What it costs
#
# ### Exercise: cache_bytes (5 min, difficulty 1)
#
# The bytes that a whole model keeps. In the lab model, 3 layers with 4 heads of width 16 and 4 bytes a number, one
# token of one text takes 1,536. `kv_heads` are heads of keys and values, which may be fewer than those of queries.


# %%
@exercise
def cache_bytes(layers, kv_heads, head_dim, tokens, batch, bytes_per_number):
    """Bytes of all keys and values of all layers -> int."""
    ### BEGIN SOLUTION
    return 2 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C26"]
shared = tiny_llama(heads=8, kv_heads=2, width=64, dtype="float32")
for name, model in (("lab model", lab.model), ("tiny Llama", shared)):
    sizes = charts.shape_of(model.config)
    kept = model(torch.ones(5, 7, dtype=torch.long), use_cache=True).cache  # B = 5, T = 7
    formula = cache_bytes(sizes.layers, sizes.kv_heads, sizes.head_dim, 7, 5, 4)
    each = cache_bytes(sizes.layers, sizes.heads, sizes.head_dim, 7, 5, 4)
    print(f"{name}, {sizes.heads} query heads, {sizes.kv_heads} KV heads: {formula // 35:,} bytes a token")
    print(f"  in all {formula:,}, torch says {charts.kept_bytes(kept):,}; a KV head for each query head: {each:,}")

# %% [markdown]
# The tiny Llama lets four query heads read one head of keys and values, and keeps a quarter. This is **grouped-query
# attention** (Ainslie et al. 2023), and most large models have it, for the cache of many long texts outgrows the model
# itself. Choose one, and make the texts longer.


# %%
def held(model, thousands, texts, number):
    shape, b = charts.SHAPES[model], int(number[0])
    sizes = [cache_bytes(shape.layers, kv, shape.head_dim, 1000 * thousands, texts, b) for kv in shape.kv_choices]
    return dict(zip(charts.BARS, [*sizes, shape.weights * b]))


controls = [
    Choice("model", list(charts.SHAPES), "Llama 3 8B"),
    Slider("thousands", 1, 128, 8, label="tokens of a text", unit="thousand"),
    Slider("texts", 1, 64, 16, label="texts at once"),
    Choice("number", ["2 bytes", "4 bytes"], "2 bytes", label="a number takes"),
]
explore(held, controls, FigureView(charts.bytes_chart(), size=(7.6, 3.2)))

# %%
if present("smollm2"):
    real = load("smollm2")
    sizes, kept = charts.shape_of(real.model.config), real.model(real.encode("the boat left the bank"), use_cache=True)
    print(f"a token: {cache_bytes(sizes.layers, sizes.kv_heads, sizes.head_dim, 1, 1, 4):,} bytes in float32;", end=" ")
    print(f"torch says {charts.kept_bytes(kept.cache) // kept.cache.get_seq_length():,}")
else:
    print("python course.py models add smollm2 fetches a real model; then this cell shows its cache.")

# %% [markdown]
# ### Exercise: repeat_kv (5 min, difficulty 1)
#
# Attention wants as many heads of keys as of queries. With `times` = 2, query heads 0 and 1 read KV head 0, the next
# two KV head 1, and so on.


# %%
@exercise
def repeat_kv(x, times):
    """Each head repeated next to itself: x (B, H_kv, T, d_h) -> (B, H_kv·times, T, d_h)."""
    ### BEGIN SOLUTION
    return x.repeat_interleave(times, dim=1)
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C26"]
heads = torch.arange(3.0).reshape(1, 3, 1, 1)  # head h holds the number h
print("repeat_kv:", *(f"{h:.0f}" for h in repeat_kv(heads, 2).flatten()))
print("repeat:   ", *(f"{h:.0f}" for h in heads.repeat(1, 2, 1, 1).flatten()))
print("as in Llama:", torch.equal(repeat_kv(heads, 2), modeling_llama.repeat_kv(heads, 2)))

# %% [markdown]
# Torch's `repeat` gives the right shape, and query head 1 another head's keys. With one KV head for all the two agree:
# a test on such a model sees nothing.
#
# ## What you showed
#
# - **C24** Kept keys and values spare earlier rows from being derived again, and the comparisons still happen (*What is
#   computed twice*, *A whole model*).
# - **C25** Under every schedule of pieces the same tokens come out, because of the mask (*What is computed twice*,
#   *Several new rows*, *A whole model*), up to rounding and to the last position (*Where exactness ends*).
# - **C26** A cache holds 2 · layers · KV heads · head width · tokens · texts · bytes, and sharing KV heads shrinks it
#   (*What it costs*).
#
# ## What is not true
#
# - *"With a cache no mask is needed."* True for one new row, false for two.
# - *"With a cache a token costs the same at every length."* Its comparisons grow with the text.
# - *"A cache is an approximation."* Rounding apart, it holds what would be computed again.
# - *"Every model can have one."* Not one whose words look forward.
#
# ## Where it leads
#
# Chapter 12 puts your attention, with your cache, into a trained model.
