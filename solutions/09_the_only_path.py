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
# # 09 · The only path
#
# Switch attention off in a whole model: what does its last word still know of the others? You get the answer to the
# last bit, in two architectures. Then you let the model write, and find out what a text that repeats itself proves.
#
# - **At its end** you can change what a module of a model hands on, switch attention off and on again, show that it
#   is the only path between words, and say which ways of showing it deceive.
# - **Time:** 45 minutes.
# - **You need:** chapters 04 to 08; what `with` does.
# - **Letters:** T tokens, d width of a row, V tokens in the vocabulary.

# %%
from contextlib import contextmanager

import torch

from attention_lab import answer, exercise, hint, progress
from attention_lab.figures import chapter_09 as charts
from attention_lab.figures import picture, side_by_side
from attention_lab.models import load, present
from attention_lab.models.english import AMBIGUOUS
from attention_lab.probes.tiny_models import tiny_llama
from attention_lab.widgets import Choice, FigureView, Slider, Toggle, explore

torch.set_num_threads(1)
torch.set_grad_enabled(False)

lab, plain = load("lab"), load("lab-no-positions")  # some seconds

# %% [markdown]
# ## Rows that grow
#
# The *lab model* of chapter 07 has three blocks, each with attention and an MLP. The row of a word starts as its row
# in a table, with the row of its position added, and goes from block to block.
#
# ### Question: pieces
#
# Nothing in a row is ever replaced: both parts of a block *add* to it. Of how many pieces is the row of *bank* the
# sum when it leaves the last block? A number.

# %%
answer("09_pieces", 8)

# %% tags=["nbval-check-output", "claim-C11"]
boat, clerk = (lab.encode(f"the {who} left the bank", start=True) for who in ("boat", "clerk"))  # (1, T) = (1, 6)
blocks = charts.stream(lab.model, boat)
for number, block in enumerate(blocks):
    same = torch.equal(block.after, block.before + block.attention + block.mlp)
    print(f"block {number}: after is before + attention + MLP, bit for bit: {same}")
parts = charts.pieces(lab, boat)
print(f"the row of bank: {', '.join(parts)}")
same = torch.equal(sum(parts.values()), blocks[-1].after[-1])
print(f"{len(parts)} pieces; their sum is the row after the last block, bit for bit: {same}")

# %%
words, chart = ("muddy", "closed"), charts.said_chart(list(parts), ("muddy", "closed"))
picture(side_by_side(chart, chart), [charts.said_so_far(lab, ids, words) for ids in (boat, clerk)], size=(12, 3.6))

# %% [markdown]
# What would the model say next if the row stopped growing there? Left *the boat left the bank …*, right *the clerk left
# the bank …*. The word alone knows nothing of boats or clerks. The last attention adds what decides.
#
# ### Exercise: last_row (5 min, difficulty 1)
#
# An instrument: the row of the last token after the final norm, from which the last matrix makes logits. It has to
# work for GPT-2's class and for Llama's, which call their inner parts by different names. Called with
# `output_hidden_states=True`, both give an output whose `.hidden_states` are the rows (1, T, d) before each block and,
# last of all, those after the final norm.


# %%
@exercise
def last_row(model, ids):
    """The last token's row after the final norm: ids (1, T) -> (d,), for GPT-2's and for Llama's class."""
    ### BEGIN SOLUTION
    return model(ids, output_hidden_states=True).hidden_states[-1][0, -1]
    ### END SOLUTION


# %% [markdown]
# ## Swap a word
#
# ### Question: swap
#
# *boat* becomes *clerk*, one token for one. Which rows are other ones when they leave the model? Choose one:
# `"the row of clerk only"`, `"the row of clerk and all after it"`, `"all rows"`.

# %%
answer("09_swap", "the row of clerk and all after it")


# %% tags=["nbval-check-output"]
def moved(model, one, other):
    a, b = (model.base_model(ids).last_hidden_state[0] for ids in (one, other))  # (T, d)
    return (a - b).norm(dim=-1) / a.norm(dim=-1)


tokens = charts.named(lab, clerk)
for token, share in zip(tokens, moved(lab.model, boat, clerk), strict=True):
    print(f"{token:8} " + (f"moves by {share:.2f} of its length" if share else "stays, bit for bit"))
for ids in (boat, clerk):
    print(lab.text(ids[0, 1:]), "…", lab.text(lab.model(ids).logits[:, -1].argmax(-1)))

# %% [markdown]
# ## The wrong place to cut
#
# Torch lets you put a *hook* on any module: a function that sees the module's output, and what it returns takes its
# place. Attention is a module of each block, so you hook it. Three tries, to empty it or to weaken it:


# %% tags=["nbval-check-output"]
def zeros(module, inputs, output):
    print(f"(output is a {type(output).__name__} of {len(output)})", end=" ")
    return torch.zeros_like(output)


def first_zeros(module, inputs, output):
    return torch.zeros_like(output[0])


def half(module, inputs, output):
    return output[0] / 2  # attention at half strength


def hooked(hook, *texts):
    with charts.hooks_on_attention(lab.model, hook):
        return lab.model.base_model(torch.cat(texts)).last_hidden_state  # (B, T, d)


for hook, *texts in ((zeros, boat), (first_zeros, boat), (half, boat, boat)):
    try:
        print(f"{hook.__name__}, {len(texts)} text(s): {tuple(hooked(hook, *texts).shape)}")
    except Exception as error:
        print(f"{hook.__name__}, {len(texts)} text(s): {type(error).__name__}")

# %% [markdown]
# The module returns a *tuple*: what it adds, and its pattern. The second hook puts a tensor in its place, which is
# unpacked along its first axis: one text gives one value, where two are expected. An error is luck. `half` returns a
# tensor, too, but of *two* texts, and nothing fails.
#
# ### Question: bug in a hook
#
# Which property does a model with `half` break? Choose one: `"looks ahead"`, `"does not see itself"`,
# `"rows do not sum to 1"`, `"mixes batch entries"`, `"scrambles words"`, `"forgets order"`, `"changes its input"`,
# `"ignores the query"`.

# %%
answer("09_bug_in_a_hook", "mixes batch entries")

# %% tags=["nbval-check-output", "claim-C21"]
changed = (hooked(half, boat, boat) != hooked(half, clerk, boat)).any(-1)  # (B, T)
print("boat becomes clerk in text 0. Rows that move in text 1:", changed[1].int().tolist())
for name in dict(lab.model.named_modules()) | dict(tiny_llama().named_modules()):
    if ".0." in name and "proj" in name:
        print(name)

# %% [markdown]
# What attention adds to text 0 is added to *both* texts. So cut where a plain tensor comes out, at the last projection
# inside attention: `attn.c_proj` in GPT-2's class, `self_attn.o_proj` in Llama's.
#
# ### Exercise: attention_off (12 min, difficulty 3)
#
# `handle = module.register_forward_hook(hook)` sets a hook, called as `hook(module, inputs, output)`; `handle.remove()`
# takes it away. Below `@contextmanager` what stands before the one `yield` runs when a `with` block begins, what
# stands after it when the block ends. `model.named_modules()` gives every name with its module.
#
# Three things go wrong most often: another module is called `c_proj`, too; a projection adds a bias, which has to go as
# well; and when an exception leaves the block, hooks stay.


# %%
@exercise
@contextmanager
def attention_off(model):
    """Inside it no block's attention adds anything; after it all is as before. GPT-2's class and Llama's."""
    ### BEGIN SOLUTION
    handles = []
    for name, module in model.named_modules():
        if name.endswith(("attn.c_proj", "attn.o_proj")):
            handles.append(module.register_forward_hook(lambda module, inputs, output: torch.zeros_like(output)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
    ### END SOLUTION


# %% [markdown]
# ## Cut
#
# ### Question: swap, cut
#
# Attention is off in all blocks. *boat* becomes *clerk*: which rows move? Choose one: `"none"`,
# `"the row of clerk only"`, `"the row of clerk, and the others a little"`.

# %%
answer("09_swap_off", "the row of clerk only")


# %% tags=["nbval-check-output", "claim-C19"]
def report(name, model, a, b):
    on = moved(model, a, b)[-1]
    with attention_off(model):
        same, off = torch.equal(last_row(model, a), last_row(model, b)), moved(model, a, b) > 0
    print(f"{name:27} on: moves by {on:.2f}; off: the same bit for bit: {same}, rows that move {off.int().tolist()}")


for word, (one, other) in AMBIGUOUS.items():
    a, b = (lab.encode(f"the {sense.cues[0]} left the {word}", start=True) for sense in (one, other))
    report(f"{one.cues[0]}/{other.cues[0]} … {word}", lab.model, a, b)
llama = tiny_llama(seed=2, vocabulary=40)
report("tiny Llama", llama, torch.tensor([[3, 14, 15, 9, 26, 5]]), torch.tensor([[3, 14, 31, 9, 26, 5]]))

# %% [markdown]
# All swaps, and in a second architecture: a small Llama with random weights, with rotary positions, other norms and
# heads that share keys. Norms, MLPs and matrices still work, each on one row at a time. A switch for each block:

# %%
others = lab.encode(". two clerk found two light")  # what each token is swapped for
switches = [Toggle(f"block_{n}", True, label=f"attention in block {n}") for n in range(3)]


def switched(**on):
    with charts.blocks_off(lab.model, [n for n in range(3) if not on[f"block_{n}"]]):
        return charts.swaps(lab, boat, others, (boat, clerk), words)


chart = charts.swap_chart(charts.named(lab, boat), lab.tokens(others), 2, ("boat … bank", "clerk … bank"), words)
explore(switched, switches, FigureView(chart, size=(11, 4.2)))

# %% tags=["nbval-check-output"]
for off in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
    with charts.blocks_off(lab.model, off):
        seen = charts.swaps(lab, boat, others, (boat, clerk), words)
    reach = int((seen.moved[-1] > 0).sum())
    print(f"off: {off!s:9} words that reach the row of bank: {reach} of 6; muddy: {seen.said['muddy'][0]:.2f}")

# %% [markdown]
# One block that is on is enough for every word to arrive. For *muddy* all of them are needed.
#
# ## Ways to deceive yourself
#
# ### Question: ferryman
#
# The tokenizer cuts *ferryman* into five pieces. Attention is off. Is the last row of *the ferryman left the bank*
# that of *the clerk left the bank*? Choose `"the same"` or `"another"`.

# %%
answer("09_ferryman", "another")

# %% tags=["nbval-check-output", "claim-C21"]
ferryman = lab.encode("the ferryman left the bank", start=True)
print(*lab.tokens(ferryman)[1:])
for name, model in (("lab", lab.model), ("lab-no-positions", plain.model)):
    with attention_off(model):
        a, b = last_row(model, clerk), last_row(model, ferryman)
    print(f"{name:16} last row moves by {(a - b).norm() / a.norm():.3f} of its length")

# %% [markdown]
# No word reached *bank*. It stands four places later, where another position row is added. The second model has no
# position rows, and nothing moves. Count tokens, not words.
#
# Three more: another shape, a model that is made anew, and a bias.

# %%
with attention_off(plain.model):
    alone, last = last_row(plain.model, boat[:, -1:]), last_row(plain.model, boat)  # bank, and … bank
print("the same bit for bit:", torch.equal(alone, last), "  largest difference:", (alone - last).abs().max().item())

# %% tags=["nbval-check-output", "claim-C21"]
print("bank alone and bank as sixth token, equal but for rounding:", torch.allclose(alone, last, atol=1e-4))
fresh = charts.new_gpt2()  # as GPT2LMHeadModel makes it
for state in ("as it is made", "after eval()"):
    with attention_off(fresh):
        print(f"{state}: nothing swapped, attention off, rows that move: {(moved(fresh, boat, boat) > 0).sum()} of 6")
    fresh.eval()
with charts.biases_only(lab.model):
    print(
        "attention adds its biases: last row the same:",
        torch.equal(last_row(lab.model, boat), last_row(lab.model, clerk)),
    )

# %% [markdown]
# In mathematics *bank* alone is the same row. A matrix of another shape is multiplied by another routine, which adds
# in another order: *bit-identical* is a claim about equal shapes. And a model that is made anew is in training mode,
# in which dropout draws other zeros at each call.
#
# The last line: biases that attention still adds go unnoticed, since they are the same for every word. The experiment
# shows that nothing passes *between* rows, not that nothing is added.
#
# ## What is left writes
#
# With attention off the next word depends on the last token, and on its position where positions are added. Nothing
# else gets in.
#
# ### Exercise: greedy_decode (6 min, difficulty 2)
#
# Always the token with the largest logit, read again together with the others. The prompt stays in front; n may be 0.


# %%
@exercise
def greedy_decode(model, ids, n):
    """ids (1, T) and n tokens more, each the one with the largest logit: -> (1, T + n); all is computed anew."""
    ### BEGIN SOLUTION
    for _ in range(n):
        best = model(ids).logits[:, -1:].argmax(-1)  # (1, 1)
        ids = torch.cat([ids, best], dim=1)
    return ids
    ### END SOLUTION


# %% tags=["nbval-check-output", "claim-C20"]
for model in (lab, plain):
    for ids in (boat, clerk):
        print(f"{model.name}, on:  {model.text(greedy_decode(model.model, ids, 14)[0, 1:])}")
    with attention_off(model.model):
        a, b = (greedy_decode(model.model, ids, 14)[0, 6:] for ids in (boat, clerk))
    print(f"{model.name}, off: … {model.text(a)}\n   the same after clerk: {torch.equal(a, b)}")

# %% [markdown]
# ### Exercise: find_cycle (8 min, difficulty 3)
#
# Does a text end in a loop? The *shortest* period of which at least two full turns stand at the end, and the *earliest*
# index from which it holds to the end. In 7 3 5 3 5 3 that is start 1, period 2: tokens 1 to 5. Two equal tokens at the
# end are a loop of period 1. No loop: `None`.


# %%
@exercise
def find_cycle(ids):
    """The loop in which ids (T,) end: -> (start, period), or None."""
    ### BEGIN SOLUTION
    tokens = ids.tolist()
    for period in range(1, len(tokens) // 2 + 1):
        if tokens[-period:] == tokens[-2 * period : -period]:
            start = len(tokens) - 2 * period
            while start > 0 and tokens[start - 1] == tokens[start - 1 + period]:
                start -= 1
            return start, period
    return None
    ### END SOLUTION


# %% [markdown]
# ### Question: two texts
#
# Two models write 60 tokens each. One text runs into a loop, the other does not. Which was written with attention off?
# Choose one: `"the one with the loop"`, `"the other"`, `"that cannot be told"`.

# %%
answer("09_two_texts", "that cannot be told")

# %% tags=["nbval-check-output", "claim-C20"]
twice = lab.encode("builder drums Cole builder drums Cole", start=True)
for model, ids, note in ((lab, boat, "a story"), (lab, twice, "words said twice"), (plain, boat, "a story")):
    print(f"{model.name}, {note}, on: loop {find_cycle(greedy_decode(model.model, ids, 60)[0])}", end="; ")
    with attention_off(model.model):
        print(f"off: {find_cycle(greedy_decode(model.model, ids, 60)[0])}")

# %% [markdown]
# On and a loop, on and none, off and a loop, off and none: all four happen. Attention *makes* a loop where it copies
# words that were said twice (chapter 07's induction heads). With it off, the lab model finds none, since each position
# has another table. Repetition proves nothing.
#
# ## A map that must end in a loop
#
# Without position rows, and with rotary positions, which turn queries and keys only, what is left is *one* table: a
# next token for every token.
#
# ### Question: at the latest
#
# V = 852 tokens, one arrow from each. You start at any and follow the arrows. After how many steps, at the latest, are
# you at a token where you were before? A number.

# %%
answer("09_at_the_latest", 852)

# %% tags=["nbval-check-output", "claim-C20"]
maps = {}
for name, model, V in (("lab-no-positions", plain.model, 852), ("tiny Llama", llama, 40)):
    with attention_off(model):
        maps[name] = model(torch.arange(V)[:, None]).logits[:, -1].argmax(-1)  # each token is a text: (V, 1) -> (V,)
        walk = greedy_decode(model, torch.tensor([[5]]), 30)[0]
    print(f"{name}: a text follows its map: {walk.tolist() == charts.path(maps[name], 5, 30)}")
    names = plain.tokens(range(V)) if V == 852 else [str(token) for token in range(V)]
    print(f"  {charts.describe_loops(maps[name], names)}")
    print(f"  steps before a loop: at most {charts.steps_to_loop(maps[name]).max()}")

# %%
names = ["(start)", *plain.tokens(range(1, 852))]
controls = [Choice("word", ["bank", "boat", "light", "market", "yellow", "Anna"], "bank"), Slider("steps", 0, 14, 3)]
chart = charts.map_chart(maps["lab-no-positions"], names)
explore(lambda word, steps: (names.index(word), steps), controls, FigureView(chart, size=(9.0, 6.6)))

# %% [markdown]
# Whatever you say, without attention this model ends in *the horse hid .*, for ever. A function on finitely many tokens
# has to: sooner or later a token comes back, and from there everything does.
#
# And a real one, trained on real text, a Llama of 30 blocks. Compare its two texts:

# %%
if present("smollm2"):
    real = load("smollm2")
    text = "The river bank was muddy so we walked to the"
    one, other = real.encode(text), real.encode(text.replace("river", "old"))
    print(f"tokens: {one.shape[1]}, {other.shape[1]}; on: last row moves by {moved(real.model, one, other)[-1]:.2f}")
    on = greedy_decode(real.model, one, 40)  # half a minute
    print("on: ", real.text(on), "loop:", find_cycle(on[0]))
    with attention_off(real.model):
        print("off: the same bit for bit:", torch.equal(last_row(real.model, one), last_row(real.model, other)))
        off = greedy_decode(real.model, one, 40)
    print("off:", real.text(off), "loop:", find_cycle(off[0]))
else:
    print("SmolLM2 is not on this machine. `python course.py models add smollm2` fetches it once (93 MB).")

# %% [markdown]
# ## What you showed
#
# - **C11** Attention and MLP add to a row; a row is the sum of its pieces (*Rows that grow*).
# - **C19** A swapped word moves the last row; with attention off in every block the last row is the same bit for bit,
#   in two architectures (*Cut*).
# - **C20** With attention off a model is a table over tokens, or over tokens and positions. Without position rows, and
#   with rotary ones, greedy text must end in a loop (*What is left writes*, *A map that must end in a loop*).
# - **C21** The module returns a tuple, token counts have to agree, bits need equal shapes, and dropout has to be off
#   (*The wrong place to cut*, *Ways to deceive yourself*).
#
# ## What is not true
#
# - *"It repeats itself, so its attention is broken."* Attention makes loops as well, and without it there may be none.
# - *"Without attention every text ends in a loop."* Not where positions are added.
# - *"The last row is the same, so attention is off."* It could still add a bias, the same for all words.
# - *"The last row moved, so a word got through."* Perhaps it stands elsewhere, or was multiplied by another routine.
#
# ## Where it leads
#
# One path for all words, to any distance. Chapter 10 asks what that costs.
