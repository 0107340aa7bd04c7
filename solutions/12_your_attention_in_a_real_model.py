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
# # 12 · Your attention in a real model
#
# You take attention out of a trained model, put yours in, and nobody can tell. Then you use it as an instrument: which
# heads let the model repeat what it has read, and what does it lose without them?
#
# - **At its end** you can read GPT-2's packed weights, run a pretrained model on your own attention and cache, prove
#   that nothing changed, and say what a head does without claiming too much.
# - **Time:** 60 minutes.
# - **You need:** chapters 06 to 11; `chunk` and `reshape` of tensors.
# - **Letters:** B texts, T words, d width of a row, H heads, d_h = d/H width of a head, L layers.

# %%
import numpy as np
import torch
from torch.nn import functional as F

from attention_lab import answer, exercise, hint, progress
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_12 as charts
from attention_lab.figures import picture
from attention_lab.ledger import table
from attention_lab.models import evaluation, load, present
from attention_lab.models.english import stories
from attention_lab.models.swap import attention_replaced
from attention_lab.models.switches import heads_off
from attention_lab.probes.tiny_models import tiny_gpt2, tiny_llama
from attention_lab.widgets import Choice, FigureView, PatternData, PatternView, Slider, explore

torch.set_num_threads(1)
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown]
# ## One matrix for three views
#
# GPT-2's class does not keep W_q, W_k and W_v. It keeps one matrix, `c_attn`, whose columns hold all three, and a bias;
# the layer computes x @ W + b. In which order do the 192 columns stand? The file does not say. But each order gives
# other queries and keys, and so another pattern, and the model's own pattern is known.

# %% tags=["nbval-check-output"]
lab = load("lab")  # some seconds
attn = lab.model.transformer.h[0].attn
print(*(f"{name} {tuple(weights.shape)}" for name, weights in attn.named_parameters()), sep="\n")

ids = lab.encode("the boat left the bank", start=True)
packed = attn.c_attn(charts.first_rows(lab.model, ids))[0]  # (T, 3d)
own = charts.patterns_of(lab.model, ids)[0, :, 0]  # (H, T, T) of block 0
for name, columns in charts.PACKED.items():
    error = charts.pattern_error(packed, own, attn.num_heads, columns(64, 4))
    print(f"{name:20} largest error of a weight: {error:.2f}")

# %% [markdown]
# ### Question: columns
#
# So: queries, then keys, then values, and within each of them the heads side by side, as in chapter 07. d is 64, there
# are 4 heads. In which column, counted from 0, do the keys of head 1 begin?

# %%
answer("12_columns", 80)

# %% [markdown]
# ### Exercise: gpt2_attention (12 min, difficulty 3)
#
# The whole layer of chapter 07 from packed weights, causal, with a bias after each of the two matrices. Shapes refuse
# some mistakes. Most they let pass.


# %%
@exercise
def gpt2_attention(x, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads):
    """GPT-2's layer, causal: x (B, T, d) -> (B, T, d); weights (d, 3d), (3d,), (d, d), (d,)."""
    ### BEGIN SOLUTION
    B, T, d = x.shape
    packed = x @ c_attn_weight + c_attn_bias  # (B, T, 3d)
    q, k, v = (part.reshape(B, T, n_heads, -1).transpose(1, 2) for part in packed.chunk(3, dim=-1))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    pattern = scores.masked_fill(ahead, float("-inf")).softmax(-1)
    return (pattern @ v).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
    ### END SOLUTION


# %% [markdown]
# ## In every block
#
# `attention_replaced` puts a function in the place of the attention of each block; norms, MLPs and tables stay. After
# the `with` block all is as before.
#
# ### Question: how equal
#
# What do you expect of the logits: `"equal to the last bit"`, `"equal up to rounding"`, `"another scale, same words"`?

# %%
answer("12_how_equal", "equal up to rounding")


# %% tags=["nbval-check-output", "claim-C27"]
@torch.no_grad()
def write(model, ids, n):
    for _ in range(n):
        ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    return ids


told = charts.openings(lab, count=8, length=100)  # (8, 100) tokens of stories
with torch.no_grad():
    theirs, their_text = lab.model(told, use_cache=False).logits, write(lab.model, told[:, :40], 40)
    with attention_replaced(lab.model, gpt2_attention):
        yours, your_text = lab.model(told).logits, write(lab.model, told[:, :40], 40)
largest = theirs.abs().max()
near = (theirs - yours).abs().amax(-1) < largest / 100_000  # (8, 100)
print(f"largest logit: {largest:.0f}")
print(f"positions where all 852 logits agree to a hundred-thousandth of it: {near.sum()} of 800")
print(f"texts of 40 new tokens that are the same: {(their_text == your_text).all(1).sum()} of 8")
print("one of them: …", lab.text(your_text[0, 40:56]))

# %% [markdown]
# All of it agrees. Two right programs may add the same numbers in another order, so the last digits can differ: compare
# with a tolerance, and state it.
#
# ## Nearly right
#
# How much does such a test have to ask? Here your function gets wrong weights, as if somebody had misread the file.
#
# ### Question: unseen
#
# Which misreading leaves texts that nobody would suspect: `"keys first"`, `"head after head"`, `"c_proj turned"`,
# `"biases forgotten"`?

# %%
answer("12_unseen", "biases forgotten")

# %% tags=["nbval-check-output"]
keys_first, by_head = (charts.PACKED[name](64, 4) for name in ("k, then q, then v", "head after head"))
attentions = {
    "yours": gpt2_attention,
    "keys first": lambda x, W, b, P, c, H: gpt2_attention(x, W[:, keys_first], b[keys_first], P, c, H),
    "head after head": lambda x, W, b, P, c, H: gpt2_attention(x, W[:, by_head], b[by_head], P, c, H),
    "c_proj turned": lambda x, W, b, P, c, H: gpt2_attention(x, W, b, P.T, c, H),
    "8 heads": lambda x, W, b, P, c, H: gpt2_attention(x, W, b, P, c, 2 * H),
    "biases forgotten": lambda x, W, b, P, c, H: gpt2_attention(x, W, 0 * b, P, 0 * c, H),
}
found = {name: charts.compared(lab, told, name, f, write) for name, f in attentions.items()}
for one in found.values():
    print(f"{one.name:16} loss {one.loss[1]:.2f}, likeliest word equal {one.same:.2f}, agree {one.agree:3} of 100")
    print(f"    … {one.text[:78]}")

# %%
explore(
    lambda attention: found[attention],
    [Choice("attention", list(attentions), "biases forgotten")],
    FigureView(charts.apart_chart(100, found["yours"].scale), size=(7.6, 3.8)),
)

# %% [markdown]
# Read the texts. *Keys first* is rubbish, so you would find it. The next two soon say the same again. The last two tell
# stories. Without biases the loss rises from 1.69 to 1.71, which few tests of quality would notice, and with heads of
# half the width to 1.82: a trained model is robust, and hides your bug. Logits do not. Ask for *every* position, too:
# the first one agrees with keys and queries exchanged, since a row that sees itself alone has nothing to choose.
#
# ## Find the bug
#
# `attention_1` saves memory: it writes its result where x was.
#
# ### Question: the bug
#
# Which property does it break? Choose one: `"looks ahead"`, `"does not see itself"`, `"rows do not sum to 1"`,
# `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`, `"ignores the query"`.


# %% tags=["nbval-check-output"]
def attention_1(x, *weights):
    return x.copy_(gpt2_attention(x, *weights))


one = charts.compared(lab, told, "attention_1", attention_1, write)
print(f"agree {one.agree} of 100, likeliest word equal {one.same:.2f}")

# %%
answer("12_bug", "changes its input")

# %% tags=["nbval-check-output"]
weights = [*(w.detach() for w in attn.parameters()), attn.num_heads]
for name, attention in (("gpt2_attention", gpt2_attention), ("attention_1", attention_1)):
    x = charts.first_rows(lab.model, ids)
    before = x.clone()
    after = attention(x, *weights)
    print(f"{name:14} x as before: {torch.equal(x, before)}; x + attention(x) right:", end=" ")
    print(torch.allclose(x + after, before + gpt2_attention(before, *weights), atol=1e-5))

# %% [markdown]
# Every logit agrees, because GPT-2 norms first: x is a fresh tensor that nobody needs again. In the first transformer
# (Vaswani et al. 2017) the block adds the result to x itself, and there this layer is wrong. One model proves a
# function right for the ways in which that model uses it.
#
# ## With your cache
#
# ### Exercise: gpt2_attention_cached (9 min, difficulty 3)
#
# x holds the newest rows alone; `cache` is a `KVCache` of chapter 11. Several new rows can come at once. Your
# `cached_attention` may help: paste it in above.


# %%
@exercise
def gpt2_attention_cached(x, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads, cache):
    """`gpt2_attention` of the newest rows, keys and values kept in cache: x (B, t, d) -> (B, t, d)."""
    ### BEGIN SOLUTION
    B, t, d = x.shape
    packed = x @ c_attn_weight + c_attn_bias
    q, k, v = (part.reshape(B, t, n_heads, -1).transpose(1, 2) for part in packed.chunk(3, dim=-1))
    k, v = cache.append(k, v)  # (B, H, S, d_h)
    S = k.shape[2]
    ahead = torch.ones(t, S, dtype=torch.bool).triu(S - t + 1)
    pattern = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(ahead, float("-inf")).softmax(-1)
    return (pattern @ v).transpose(1, 2).reshape(B, t, d) @ c_proj_weight + c_proj_bias
    ### END SOLUTION


# %% [markdown]
# ### Question: place
#
# Your caches hold the keys of 40 tokens. The model gets token 40 alone, and its own cache is empty. Which row of its
# position table does it add, if nobody says where the token stands? A number.

# %%
answer("12_place", 0)

# %% tags=["nbval-check-output", "claim-C27"]
KVCache = exercises()["KVCache"].reference  # ours; paste your class of chapter 11 in place of this line


@torch.no_grad()
def write_cached(model, ids, n, piece, placed=True):
    """Greedy text with one cache a block; the prompt goes in by pieces."""
    caches = [KVCache() for _ in model.transformer.h]
    with attention_replaced(model, gpt2_attention_cached, caches):
        for new in ids.split(piece, dim=1):
            start = caches[0].length
            logits = model(new, position_ids=torch.arange(start, start + new.shape[1])[None]).logits
        for _ in range(n):
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
            logits = model(ids[:, -1:], position_ids=torch.tensor([[caches[0].length]]) if placed else None).logits
    return ids


for piece in (1, 7, 40):
    same = (write_cached(lab.model, told[:, :40], 40, piece) == their_text).all(1).sum()
    print(f"prompt in pieces of {piece:2}: {same} of 8 texts as the model's own")
same = (write_cached(lab.model, told[:, :40], 40, 40, placed=False) == their_text).all(1).sum()
print(f"positions not given:    {same} of 8")

# %% [markdown]
# The prompt may come in pieces of any size. Without positions each new token takes itself for the first one of the
# text: no error, another text.
#
# ## In other models
#
# Your functions know no sizes. Here are untrained models of the same class with other ones.

# %% tags=["nbval-check-output", "claim-C27"]
some = torch.randint(13, (2, 9), generator=torch.Generator().manual_seed(0))
for layers, heads, width in ((1, 2, 8), (4, 3, 12), (2, 5, 20)):
    model = tiny_gpt2(layers=layers, heads=heads, width=width)
    same = (write_cached(model, some, 20, piece=4) == write(model, some, 20)).all(1).sum()
    print(f"{layers} × {heads} heads: {charts.agreement(model, some, gpt2_attention)}; {same} of 2 texts, cached")

# %% [markdown]
# Models of Llama's kind differ in three things. There are four matrices and no biases; queries and keys are turned
# (chapter 08); several query heads share the keys and values of one (chapter 11).


# %% tags=["nbval-check-output"]
def llama_attention(x, W_q, W_k, W_v, W_o, n_heads, kv_heads, base):
    B, T, _ = x.shape
    q = (x @ W_q).view(B, T, n_heads, -1).transpose(1, 2)
    k, v = ((x @ W).view(B, T, kv_heads, -1).transpose(1, 2) for W in (W_k, W_v))
    k, v = (rows.repeat_interleave(n_heads // kv_heads, dim=1) for rows in (charts.turned(k, base), v))
    blend = F.scaled_dot_product_attention(charts.turned(q, base), k, v, is_causal=True)
    return blend.transpose(1, 2).reshape(B, T, -1) @ W_o


print("Llama's class, 4 heads, 2 of keys:", charts.agreement(tiny_llama(), some, llama_attention))

# %%
for name, attention in (("gpt2", gpt2_attention), ("smollm2", llama_attention)):
    if present(name):
        real = load(name)
        print(f"{name}: {charts.agreement(real.model, real.encode('The boat left the bank, and'), attention)}")
    else:
        print(f"{name} is not on this machine: python course.py models add {name}")

# %% [markdown]
# ## Heads that repeat
#
# A layer that you wrote you can take apart. Chapter 07 met **induction heads**: they look at the word that followed
# when this one stood here before. Measure them.
#
# ### Exercise: induction_score (6 min, difficulty 2)
#
# A text repeats itself with a period. In row t stands the word of row t − period. How much weight does it give to the
# row *after* that one, in the mean over all rows that have one?


# %%
@exercise
def induction_score(pattern, period):
    """Mean weight of rows t >= period on row t - period + 1: (…, T, T), int -> (…). Olsson et al. 2022."""
    ### BEGIN SOLUTION
    rows = torch.arange(period, pattern.shape[-1])
    return pattern[..., rows, rows - period + 1].mean(-1)
    ### END SOLUTION


# %% tags=["nbval-check-output"]
second = {period: charts.recited(lab, period) for period in (16, 24, 32)}  # random words, twice
said = {n: charts.patterns_of(lab.model, ids)[..., 1:, 1:] for n, ids in second.items()}  # no start token
induction = torch.stack([induction_score(p, n).mean(-1) for n, p in said.items()]).mean(0)  # (L, H)
previous = torch.stack([p.diagonal(-1, -2, -1).mean((-2, -1)) for p in said.values()]).mean(0)
print("induction, a row a layer:", induction, "word before:", previous, sep="\n")

# %%
picture(charts.scores_chart(3, 4), (induction, previous), size=(10.4, 3.6))


# %%
def look(period, layer, head):
    ids = charts.recited(lab, period, count=1, length=24)
    pattern, words = charts.patterns_of(lab.model, ids)[layer, head, 0, 1:, 1:], lab.tokens(ids[0, 1:])
    bars = {"induction": induction_score(pattern, period), "word before": pattern.diagonal(-1).mean()}
    text = charts.after_last_time(pattern, words, period)
    return PatternData(pattern, text, bars, queries=words, keys=words)


controls = [Slider("period", 4, 16, 12), Slider("layer", 0, 2, 1), Slider("head", 0, 3, 3)]
words = lab.tokens(charts.recited(lab, 12, count=1, length=24)[0, 1:])
view = PatternView(words, words, title="24 words, said again and again", bars_title="mean weight")
explore(look, controls, view)

# %% [markdown]
# The stripe moves with the period; the head stays. With a short period there are several stripes, one for each round
# before, and the score counts the last only.
#
# ### Question: needed
#
# One head is switched off. Without which one does the second copy suffer most: `"1.3"`, which has the best induction
# score, `"1.1"`, `"0.3"`, whose score is nearly 0, or `"2.0"`?

# %%
answer("12_needed", "0.3")


# %% tags=["nbval-check-output"]
@torch.no_grad()
def second_copy(heads):
    """Loss on the second copy, from its second word on, with these heads switched off."""
    with heads_off(lab.model, heads):
        said = {n: lab.model(ids, use_cache=False).logits[:, n + 1 : -1] for n, ids in second.items()}
    return np.mean([F.cross_entropy(some.mT, second[n][:, n + 2 :]).item() for n, some in said.items()])


pair = [(1, 3), (1, 1)]  # the two best
for heads in ([], [(2, 0)], [(1, 1)], [(1, 3)], [(0, 3)], [(1, 0), (1, 2)], pair):
    name = " and ".join(f"{layer}.{head}" for layer, head in heads) or "none"
    print(f"off: {name:11} loss on the second copy {second_copy(heads):5.2f}")
others = {heads: second_copy(heads) for heads in charts.pairs_without(pair, 3, 4)}  # some seconds
for name, with_it in (("with 0.3", True), ("without 0.3", False)):
    some = [loss for heads, loss in others.items() if ((0, 3) in heads) == with_it]
    print(f"{len(some):2} other pairs, {name:11}: {min(some):5.2f} to {max(some):5.2f}")

# %%
data = charts.pairs_data(others, second_copy(pair), (0, 3), "1.3 and 1.1")
picture(charts.pairs_chart("0.3", "1.3 and 1.1"), data, size=(7.6, 3.8))

# %% [markdown]
# Always compare with as many other heads: without them every number looks like a finding. The two best induction heads
# cost more than any other pair but those with 0.3. Heads 1.0 and 1.2, which also score 0.75 or more, cost far less.
# And all of it rests on 0.3, whose score is 0.00: by the usual account (Olsson et al. 2022) it writes into each row
# which word stood before, and induction heads look for that. A score says where a head looks, not what depends on it.
#
# Now ordinary text: stories, in which an earlier word decides what *bank* means.

# %% tags=["nbval-check-output"]
story = evaluation.documents(stories(16, seed=11), lab)


def on_stories(heads):
    """Where ambiguous words look, (L, H); the share of them decided rightly; and the loss, with heads off."""
    with heads_off(lab.model, heads):
        found = evaluation.decide(lab, story)
        return found.from_word.mean(0), (found.right > 0.5).mean(), charts.loss(lab.model, told)


looks = on_stories([])[0]
print(f"most weight on the word that decides: head {'.'.join(map(str, divmod(looks.argmax(), 4)))}, {looks.max():.2f}")
for name, heads in (("none", []), ("0.3", [(0, 3)]), ("1.3 and 1.1", pair)):
    print(f"off: {name:11} rightly decided {on_stories(heads)[1]:.2f}, loss {on_stories(heads)[2]:.2f}")
controls = [on_stories(heads) for heads in list(others)[::5] if (0, 3) not in heads]
print(f"{len(controls)} other pairs, the worst: {min(c[1] for c in controls):.2f}, {max(c[2] for c in controls):.2f}")

# %% [markdown]
# Head 1.3 again: the best induction head is also the one that looks at the deciding word, and without the pair most
# meanings come out wrong. Head 0.3, without which nothing is repeated, is not needed for that; the loss shows that
# stories need it for something else. So "induction head" is the name of what a head does on repeated text.
#
# The same on SmolLM2, where it is present: none off, the four best, then four others, four times. Should one of these
# cost as much, look up what its heads do.

# %%
if present("smollm2"):
    smol = load("smollm2")
    for heads, loss in charts.switched_off(smol, induction_score, period=30, best=4, controls=4).items():
        print(f"off: {heads:24} loss on the second copy {loss:5.2f}")
else:
    print("smollm2 is not on this machine: python course.py models add smollm2")

# %% [markdown]
# ## What you showed
#
# - **C27** It is the real thing: your function, in every block of a pretrained model, gives its logits and its text
#   (*In every block*), with your cache too (*With your cache*), and in any model of the class (*In other models*).
#
# That was the last of 27. Each was shown by a cell; the table is read from the notebooks as they are now. A link opens
# the chapter, and goes to the cell when the chapter is open already.

# %%
table()

# %% [markdown]
# ## What is not true
#
# - *"The text is fine, so the code is right."* Without any bias, and with heads of the wrong width, it is fine too.
# - *"It agrees in the model, so it is right."* For how this model uses it.
# - *"Head 1.3 is an induction head."* On repeated words. On stories it finds the deciding word.
# - *"The heads with the highest score do the work."* Head 0.3 has none.
# - *"Attention explains the model."* It is the only path between words. What is done with what comes along is the
#   work of the MLPs, of which this course says nothing.
#
# ## Where it leads
#
# - **Larger models.** SmolLM2 and GPT-2 are one command away; repeat the last two sections on them.
# - **How heads work together.** Elhage et al. 2021, *A Mathematical Framework for Transformer Circuits*; Olsson et al.
#   2022, *In-context Learning and Induction Heads*.
# - **Speed.** Dao et al. 2022, *FlashAttention*: the blocks of chapter 10, made for a GPU.
# - **The rest of the model.** MLPs, norms, training: Radford et al. 2019 for GPT-2, Touvron et al. 2023 for Llama.
#
# You began with a table of rows that could not tell one *bank* from the other. You can now say how a word takes account
# of another, and show it.
