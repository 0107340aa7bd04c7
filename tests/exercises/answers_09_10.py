"""Answers to chapters 09 and 10 that a reader wrote without a look at the catalogue; see `test_unseen`."""

from __future__ import annotations

WRONG: dict[str, str] = {}
RIGHT: dict[str, str] = {}

WRONG["last_row"] = """
# batch kept -> batch_axis_kept
return model(ids, output_hidden_states=True).hidden_states[-1][:, -1]
# all rows -> all_rows
return model(ids, output_hidden_states=True).hidden_states[-1][0]
# first row -> first_row
return model(ids, output_hidden_states=True).hidden_states[-1][0, 0]
# row before the last block -> into_the_last_block
return model(ids, output_hidden_states=True).hidden_states[-2][0, -1]
# the table's row -> embedding
return model(ids, output_hidden_states=True).hidden_states[0][0, -1]
# logits -> logits
return model(ids).logits[0, -1]
# index before axis -> all_rows
return model(ids, output_hidden_states=True).hidden_states[-1][-1]
# name of the base model -> whole_model_has_none
return model(ids, output_hidden_states=True).last_hidden_state[0, -1]
# gpt2 only -> gpt2_only
return model.transformer(ids).last_hidden_state[0, -1]
# llama only -> llama_only
return model.model(ids).last_hidden_state[0, -1]
# mean of rows -> mean_row
return model(ids, output_hidden_states=True).hidden_states[-1][0].mean(0)
# normed a second time -> gpt2_norm_again
return model.transformer.ln_f(model(ids, output_hidden_states=True).hidden_states[-1][0, -1])
# last column -> last_column
return model(ids, output_hidden_states=True).hidden_states[-1][0, :, -1]
# forgot return
row = model(ids, output_hidden_states=True).hidden_states[-1][0, -1]
# forgot the argument -> states_not_asked_for
return model(ids).hidden_states[-1][0, -1]
# only the last token read -> last_token_alone
return model.base_model(ids[:, -1:]).last_hidden_state[0, -1]
"""

RIGHT["last_row"] = """
# hidden states
return model(ids, output_hidden_states=True).hidden_states[-1][0, -1]
# base model
return model.base_model(ids).last_hidden_state[0, -1]
# squeezed
states = model(input_ids=ids, output_hidden_states=True).hidden_states
return states[-1][:, -1, :].squeeze(0)
# flattened
return model.base_model(ids)[0][:, -1].flatten()
# without gradients
with torch.no_grad():
    return model.base_model(ids).last_hidden_state[0][-1]
"""

WRONG["attention_off"] = """
# the MLP's too -> every_c_proj
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith('c_proj') or name.endswith('o_proj'):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# no finally -> not_after_an_exception
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith('attn.c_proj') or name.endswith('o_proj'):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    yield
    for h in handles:
        h.remove()
# never removed -> never_restored
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    for name, module in model.named_modules():
        if name.endswith('attn.c_proj') or name.endswith('o_proj'):
            module.register_forward_hook(lambda m, i, o: torch.zeros_like(o))
    yield
# hooks return nothing -> nothing_happens
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    def zero(m, i, o):
        o = torch.zeros_like(o)
    handles = [m.register_forward_hook(zero) for n, m in model.named_modules() if n.endswith(('attn.c_proj', 'o_proj'))]
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# GPT-2 only -> no_llama
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith('attn.c_proj'):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# Llama only -> no_gpt2
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith('o_proj'):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# weights set to zero, bias left, put back -> bias_left
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    old = {}
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            old[module] = module.weight.data.clone()
            module.weight.data.zero_()
    try:
        yield
    finally:
        for module, w in old.items():
            module.weight.data.copy_(w)
# weights set to zero for good -> never_restored
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            module.weight.data.zero_()
            if module.bias is not None:
                module.bias.data.zero_()
    yield
# attn dropped: hook on attention itself, first try -> names_that_end_in_attn
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith('attn'):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o[0])))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# only the first block -> first_block_only
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
            break
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# only one handle kept -> last_handle_only
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handle = module.register_forward_hook(lambda m, i, o: torch.zeros_like(o))
    try:
        yield
    finally:
        handle.remove()
# values' projection in place of the last -> bias_left
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('c_attn', 'v_proj')):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# pre-hook zeros the input, bias stays -> bias_left
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handles.append(module.register_forward_pre_hook(lambda m, i: (torch.zeros_like(i[0]),)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# all projections -> mlp_too
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if 'proj' in name:
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# forgot to yield -> no_yield
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            module.register_forward_hook(lambda m, i, o: torch.zeros_like(o))
# yields inside the loop -> all_in_the_loop
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handle = module.register_forward_hook(lambda m, i, o: torch.zeros_like(o))
            try:
                yield
            finally:
                handle.remove()
# exception swallowed -> exception_kept
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    except Exception:
        pass
    for h in handles:
        h.remove()
# halved -> half
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handles.append(module.register_forward_hook(lambda m, i, o: o * 0.5))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# plain function instead of a context -> handles_returned
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    return handles
# every name that ends in attn, with a tuple -> names_that_end_in_attn_and_tuples
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith('attn'):
            handles.append(module.register_forward_hook(lambda m, i, o: (torch.zeros_like(o[0]), *o[1:])))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# forward set and deleted -> forward_deleted
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    changed = [m for n, m in model.named_modules() if n.endswith(('attn.c_proj', 'o_proj'))]
    for m in changed:
        m.forward = lambda x, f=m.forward: torch.zeros_like(f(x))
    try:
        yield
    finally:
        for m in changed:
            del m.forward
"""

RIGHT["attention_off"] = """
# hooks
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'o_proj')):
            handles.append(module.register_forward_hook(lambda m, i, o: torch.zeros_like(o)))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
# exit stack
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    from contextlib import ExitStack
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if 'attn' in name and name.endswith('_proj'):
                if name.split('.')[-1] in ('c_proj', 'o_proj'):
                    stack.callback(module.register_forward_hook(lambda m, i, o: 0 * o).remove)
        yield
# weights and biases zeroed, put back
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    old = []
    for name, module in model.named_modules():
        if name.endswith(('attn.c_proj', 'self_attn.o_proj')):
            for p in module.parameters():
                old.append((p, p.data.clone()))
                p.data.zero_()
    try:
        yield
    finally:
        for p, data in old:
            p.data.copy_(data)
# tuple rebuilt at the module
from contextlib import contextmanager
@contextmanager
def attention_off(model):
    handles = []
    for name, module in model.named_modules():
        if name.split('.')[-1] in ('attn', 'self_attn'):
            handles.append(module.register_forward_hook(lambda m, i, o: (torch.zeros_like(o[0]), *o[1:])))
    try:
        yield
    finally:
        for h in handles:
            h.remove()
"""

WRONG["greedy_decode"] = """
# only the new ones -> only_new_tokens
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out[:, ids.shape[1]:]
# only last token read again -> newest_after_the_first_turn
out = ids
cur = ids
for _ in range(n):
    cur = model(cur).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, cur], dim=1)
return out
# the prompt is read again and again -> prompt_read
out = ids
for _ in range(n):
    nxt = model(ids).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# one too many -> one_token_more
out = ids
for _ in range(n + 1):
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# one too few -> one_token_less
out = ids
for _ in range(n - 1):
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# first row of logits -> first_logits
out = ids
for _ in range(n):
    nxt = model(out).logits[:, 0].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# smallest -> smallest
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -1].argmin(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# argmax over positions -> over_the_tokens
out = ids
for _ in range(n):
    nxt = model(out).logits.argmax(1)[:, -1:]
    out = torch.cat([out, nxt], dim=1)
return out
# sampled
out = ids
for _ in range(n):
    p = model(out).logits[:, -1].softmax(-1)
    out = torch.cat([out, torch.multinomial(p, 1)], dim=1)
return out
# in front -> in_front
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([nxt, out], dim=1)
return out
# keepdim forgotten -> axis_lost
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -1].argmax(-1)
    out = torch.cat([out, nxt], dim=1)
return out
# all n at once -> best_at_once
nxt = model(ids).logits[:, -1].topk(n).indices
return torch.cat([ids, nxt], dim=1)
# flat -> no_batch_axis
out = ids[0]
for _ in range(n):
    nxt = model(out[None]).logits[0, -1].argmax()
    out = torch.cat([out, nxt[None]])
return out
# generate with a length too short
return model.generate(ids, max_length=n, do_sample=False)
# a list
out = ids[0].tolist()
for _ in range(n):
    out.append(model(torch.tensor([out])).logits[0, -1].argmax().item())
return out
# forgot return
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
# returns in the loop -> back_in_the_loop
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
    return out
# second last row -> logits_before
out = ids
for _ in range(n):
    nxt = model(out).logits[:, -2].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# total length n -> n_in_all
out = ids
while out.shape[1] < n:
    nxt = model(out).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
# window slides -> window_of_the_prompt
out = ids
for _ in range(n):
    nxt = model(out[:, -ids.shape[1]:]).logits[:, -1].argmax(-1, keepdim=True)
    out = torch.cat([out, nxt], dim=1)
return out
"""

RIGHT["greedy_decode"] = """
# loop
for _ in range(n):
    ids = torch.cat([ids, model(ids).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
return ids
# flat then batch
out = ids[0].tolist()
for _ in range(n):
    out.append(model(torch.tensor([out])).logits[0, -1].argmax().item())
return torch.tensor([out])
# recursive
def greedy_decode(model, ids, n):
    if n == 0:
        return ids
    nxt = model(ids).logits[:, -1].argmax(-1)[:, None]
    return greedy_decode(model, torch.hstack([ids, nxt]), n - 1)
# max indices of a softmax
for _ in range(n):
    p = torch.softmax(model(input_ids=ids).logits[0, -1], 0)
    ids = torch.cat((ids, p.max(0).indices.view(1, 1)), 1)
return ids
# topk
out = ids.clone()
while out.shape[1] < ids.shape[1] + n:
    out = torch.cat([out, model(out).logits[:, -1].topk(1).indices], 1)
return out
"""

WRONG["find_cycle"] = """
# first repeated token -> first_token_again
seen = {}
for i, t in enumerate(ids.tolist()):
    if t in seen:
        return seen[t], i - seen[t]
    seen[t] = i
return None
# start of the last two turns, not walked back -> last_two_turns
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        return T - 2 * p, p
return None
# longest period -> longest_period
ids = ids.tolist()
T = len(ids)
for p in range(T // 2, 0, -1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# period T//2 left out -> one_period_short
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# period 1 left out -> not_period_1
ids = ids.tolist()
T = len(ids)
for p in range(2, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# swapped -> period_first
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return p, s
return None
# walked one too far -> one_too_early_or_0
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s] == ids[s + p]:
            s -= 1
        return s, p
return None
# walks back in whole turns -> whole_turns_only
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s >= p and ids[s - p:s] == ids[s:s + p]:
            s -= p
        return s, p
return None
# one turn is enough -> last_token_and_back
ids = ids.tolist()
T = len(ids)
for p in range(1, T):
    if all(ids[i] == ids[i + p] for i in range(T - p)[-1:]):
        s = T - p - 1
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# loop anywhere -> anywhere_shortest_first
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    for s in range(T - 2 * p + 1):
        if ids[s:s + p] == ids[s + p:s + 2 * p]:
            return s, p
return None
# last token seen before -> last_token_and_where
ids = ids.tolist()
for p in range(1, len(ids)):
    if ids[-1] == ids[-1 - p]:
        return len(ids) - 1 - p, p
return None
# (0, 0) without a loop -> zeros_for_none
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return 0, 0
# start 0 is never reached -> back_to_1
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 1 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# start runs from the front, any period that fits to the end -> less_than_two_turns
ids = ids.tolist()
T = len(ids)
for s in range(T):
    for p in range(1, T - s):
        if all(ids[i] == ids[i + p] for i in range(s, T - p)):
            return s, p
return None
# earliest start first, two turns -> earliest_start_first
ids = ids.tolist()
T = len(ids)
for s in range(T):
    for p in range(1, (T - s) // 2 + 1):
        if all(ids[i] == ids[i + p] for i in range(s, T - p)):
            return s, p
return None
# the loop itself -> last_turn_itself
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        return ids[T - p:]
return None
# whole turns must fill the text -> all_or_nothing
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if (T % p) == 0 and ids[:p] * (T // p) == ids:
        return 0, p
return None
# tensors compared with == -> tensors_in_an_if
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# wrap at the front (negative index) -> round_the_front
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# sets -> any_order
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if set(ids[T - p:]) == set(ids[T - 2 * p:T - p]):
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# end instead of period -> ends_of_a_turn
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, s + p - 1
return None
"""

RIGHT["find_cycle"] = """
# lists
ids = ids.tolist()
T = len(ids)
for p in range(1, T // 2 + 1):
    if ids[T - p:] == ids[T - 2 * p:T - p]:
        s = T - 2 * p
        while s > 0 and ids[s - 1] == ids[s - 1 + p]:
            s -= 1
        return s, p
return None
# tensors
T = len(ids)
for p in range(1, T // 2 + 1):
    same = ids[:-p] == ids[p:]
    run = 0
    while run < len(same) and same[-1 - run]:
        run += 1
    if run >= p:
        return T - p - run, p
# torch.equal, from the front
T = ids.shape[0]
for p in range(1, T // 2 + 1):
    for s in range(T - 2 * p + 1):
        if torch.equal(ids[s:T - p], ids[s + p:]):
            return (s, p)
return None
# a list of two
x = ids.numpy()
for p in range(1, len(x) // 2 + 1):
    same = x[:-p] == x[p:]
    bad = (~same).nonzero()[0]
    s = int(bad[-1]) + 1 if len(bad) else 0
    if len(x) - s >= 2 * p:
        return s, p
return None
"""

WRONG["comparisons"] = """
# without itself -> itself_left_out
return T * (T - 1) // 2 if causal else T * T
# half of the square -> half_of_all
return T * T // 2 if causal else T * T
# half with a fraction -> half_of_all_as_a_float
return T * T / 2 if causal else T * T
# swapped -> flag_turned_round
return T * T if causal else T * (T + 1) // 2
# no self at all -> itself_left_out_everywhere
return T * (T - 1) // 2 if causal else T * (T - 1)
# float from / -> float
return T * (T + 1) / 2 if causal else T * T
# mask ignored -> all_always
return T * T
# always masked -> triangle_always
return T * (T + 1) // 2
# linear -> last_word_only
return T if causal else T * T
# 2T -> square_without_the_diagonal
return T ** 2 - T if causal else T ** 2
# sum of range -> itself_left_out
return sum(range(T)) if causal else T ** 2
# pattern, not count
return torch.ones(T, T).tril() if causal else torch.ones(T, T)
# tensor sum -> both_floats
return torch.ones(T, T).tril().sum() if causal else torch.ones(T, T).sum()
# forgot return
T * (T + 1) // 2 if causal else T * T
# only the masked branch
if causal:
    return T * (T + 1) // 2
# twice -> doubled
return 2 * T * T if not causal else T * (T + 1)
"""

RIGHT["comparisons"] = """
# formula
return T * (T + 1) // 2 if causal else T * T
# sum
return sum(t + 1 if causal else T for t in range(T))
# pattern counted
pattern = np.ones((T, T))
return int(np.tril(pattern).sum()) if causal else pattern.size
# half of the square and of the diagonal
return (T ** 2 + T) // 2 if causal else T ** 2
# a loop
count = 0
for i in range(T):
    for j in range(T):
        if not causal or j <= i:
            count += 1
return count
"""

WRONG["attention_flops"] = """
# scores only -> half
return 2 * T * T * d
# multiply-add is one -> half
return 2 * T * T * d // 1
# heads times -> heads_multiplied
return 4 * T * T * d * n_heads
# heads divided -> one_head
return 4 * T * T * d // n_heads
# width forgotten -> no_width
return 4 * T * T
# with projections -> projections_added
return 4 * T * T * d + 8 * T * d * d
# width squared -> width_squared
return 4 * T * d * d
# not quadratic -> text_once
return 4 * T * d
# float -> float
return 4 * T ** 2 * (d / n_heads) * n_heads
# causal -> causal
return 2 * T * (T + 1) * d
# head widths only -> one_head
d_h = d // n_heads
return 4 * T * T * d_h
# softmax counted -> softmax_added
return 4 * T * T * d + 3 * T * T * n_heads
# minus the first addition -> one_addition_less
return n_heads * (T * T * (2 * (d // n_heads) - 1) + T * (d // n_heads) * (2 * T - 1))
# three -> three_quarters
return 3 * T * T * d
# eight -> twice
return 8 * T * T * d
# projections only -> projections_only
return 8 * T * d * d
# forgot return
flops = 4 * T * T * d
# 2 T (2 d)^.. -> both_squared
return (2 * T * d) ** 2
# heads squared
return 4 * T * T * d * n_heads ** 2
"""

RIGHT["attention_flops"] = """
# short
return 4 * T * T * d
# by head
d_h = d // n_heads
scores = 2 * T * T * d_h
blend = 2 * T * d_h * T
return n_heads * (scores + blend)
# sum of both
return 2 * T * T * d + 2 * T * T * d
# power
return 4 * d * T ** 2
"""

WRONG["score_matrix_bytes"] = """
# linear -> t_not_squared
return B * H * T * bytes_per_number
# heads forgotten -> heads_missing
return B * T * T * bytes_per_number
# texts forgotten -> texts_missing
return H * T * T * bytes_per_number
# numbers -> numbers_counted
return B * H * T * T
# bits -> bits
return B * H * T * T * bytes_per_number * 8
# causal -> triangle_only
return B * H * T * (T + 1) // 2 * bytes_per_number
# half -> half_of_the_bytes
return B * H * T * T * bytes_per_number // 2
# megabytes -> megabytes
return B * H * T * T * bytes_per_number / 1e6
# always 4 -> always_4
return B * H * T * T * 4
# divided by heads -> bytes_divided_by_heads
return B * T * T * bytes_per_number // H
# q and k too -> two_tables
return 2 * B * H * T * T * bytes_per_number
# all squared -> all_squared
return (B * H * T) ** 2 * bytes_per_number
# kibibytes -> whole_kibibytes
return B * H * T * T * bytes_per_number // 1024
# float -> float
return float(B * H * T * T * bytes_per_number)
# sum of all -> twice_t
return B * H * (T + T) * bytes_per_number
"""

RIGHT["score_matrix_bytes"] = """
# product
return B * H * T * T * bytes_per_number
# power
return bytes_per_number * B * H * T ** 2
# by shape
return int(np.prod([B, H, T, T], dtype=object)) * bytes_per_number
# loop over texts and heads
return sum(T * T * bytes_per_number for _ in range(B) for _ in range(H))
"""

WRONG["growth_exponent"] = """
# no logs -> raw_numbers
s, c = sizes - sizes.mean(), costs - costs.mean()
return ((s * c).sum() / (s * s).sum()).item()
# logs of costs only -> costs_only
y = costs.log()
s, c = sizes - sizes.mean(), y - y.mean()
return ((s * c).sum() / (s * s).sum()).item()
# logs of sizes only -> sizes_only
x = sizes.log()
s, c = x - x.mean(), costs - costs.mean()
return ((s * c).sum() / (s * s).sum()).item()
# ends only -> first_and_last
x, y = sizes.log(), costs.log()
return ((y[-1] - y[0]) / (x[-1] - x[0])).item()
# axes swapped -> swapped
x, y = sizes.log(), costs.log()
s, c = x - x.mean(), y - y.mean()
return ((s * c).sum() / (c * c).sum()).item()
# intercept -> intercept
return float(np.polyfit(np.log(sizes.numpy()), np.log(costs.numpy()), 1)[1])
# both coefficients -> both_numbers
return np.polyfit(np.log(sizes.numpy()), np.log(costs.numpy()), 1)
# through the origin -> through_zero
x, y = sizes.log(), costs.log()
return ((x * y).sum() / (x * x).sum()).item()
# mean of ratios -> mean_ratio
return (costs.log() / sizes.log()).mean().item()
# mean of local slopes -> mean_of_steps
x, y = sizes.log(), costs.log()
return (y.diff() / x.diff()).mean().item()
# correlation -> correlation
x, y = sizes.log(), costs.log()
return torch.corrcoef(torch.stack([x, y]))[0, 1].item()
# different bases -> two_bases_2_and_10
x, y = sizes.log2(), costs.log10()
s, c = x - x.mean(), y - y.mean()
return ((s * c).sum() / (s * s).sum()).item()
# exp of the slope -> risen
x, y = sizes.log(), costs.log()
s, c = x - x.mean(), y - y.mean()
return ((s * c).sum() / (s * s).sum()).exp().item()
# rounded -> rounded
x, y = sizes.log(), costs.log()
s, c = x - x.mean(), y - y.mean()
return round(((s * c).sum() / (s * s).sum()).item())
# ratio of last two -> last_two
return ((costs[-1] / costs[-2]).log() / (sizes[-1] / sizes[-2]).log()).item()
# divided without log -> ratio_of_ratios
return ((costs[-1] / costs[0]) / (sizes[-1] / sizes[0])).item()
# log1p -> plus_one
x, y = sizes.log1p(), costs.log1p()
s, c = x - x.mean(), y - y.mean()
return ((s * c).sum() / (s * s).sum()).item()
# means not taken off x -> sizes_not_centred
x, y = sizes.log(), costs.log()
return ((x * (y - y.mean())).sum() / (x * x).sum()).item()
# log of c -> intercept
x, y = sizes.log(), costs.log()
s, c = x - x.mean(), y - y.mean()
p = (s * c).sum() / (s * s).sum()
return (y.mean() - p * x.mean()).item()
# polyfit turned round -> swapped
return float(np.polyfit(np.log(costs.numpy()), np.log(sizes.numpy()), 1)[0])
# std ratio -> spread_of_both
x, y = sizes.log(), costs.log()
return (y.std() / x.std()).item()
"""

RIGHT["growth_exponent"] = """
# covariance
x, y = sizes.log(), costs.log()
s, c = x - x.mean(), y - y.mean()
return ((s * c).sum() / (s * s).sum()).item()
# polyfit
return float(np.polyfit(np.log(sizes.numpy()), np.log(costs.numpy()), 1)[0])
# lstsq
A = torch.stack([torch.ones_like(sizes), sizes.log()], dim=1)
return torch.linalg.lstsq(A, costs.log()[:, None]).solution[1, 0].item()
# base 2, cov
m = torch.cov(torch.stack([sizes.log2(), costs.log2()]))
return float(m[0, 1] / m[0, 0])
# a number in a tensor
x, y = sizes.log(), costs.log()
s, c = x - x.mean(), y - y.mean()
return (s * c).sum() / (s * s).sum()
"""

WRONG["blockwise_attention"] = """
# mean of blocks -> averaged
outs = []
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    outs.append(scores.softmax(-1) @ v[s:s + block])
return sum(outs) / len(outs)
# sum of blocks -> added_up
out = 0
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    out = out + scores.softmax(-1) @ v[s:s + block]
return out
# full attention -> whole_matrix
return (q @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v
# no max -> no_maximum
total, out = 0, 0
for s in range(0, len(k), block):
    e = (q @ k[s:s + block].T / q.shape[1] ** 0.5).exp()
    total = total + e.sum(1, keepdim=True)
    out = out + e @ v[s:s + block]
return out / total
# no scale -> unscaled
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# blend not rescaled -> blend_not_rescaled
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    e = (scores - new).exp()
    total = total * (m - new).exp() + e.sum(1, keepdim=True)
    out = out + e @ v[s:s + block]
    m = new
return out / total
# sum not rescaled -> sum_not_rescaled
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    e = (scores - new).exp()
    total = total + e.sum(1, keepdim=True)
    out = out * (m - new).exp() + e @ v[s:s + block]
    m = new
return out / total
# nothing rescaled -> nothing_rescaled
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    m = torch.maximum(m, scores.amax(1, keepdim=True))
    e = (scores - m).exp()
    total = total + e.sum(1, keepdim=True)
    out = out + e @ v[s:s + block]
return out / total
# factor upside down -> infinity_at_the_start
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (new - m).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# the block's own maximum -> maximum_of_the_block
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = scores.amax(1, keepdim=True)
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# last block dropped -> last_block_dropped
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for b in range(len(k) // block):
    s = b * block
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# divided in each turn -> divided_on_the_way
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = (out * f + e @ v[s:s + block]) / total
    m = new
return out
# not divided -> not_divided
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    out = out * (m - new).exp() + (scores - new).exp() @ v[s:s + block]
    m = new
return out
# one maximum for all queries -> one_maximum_for_all
m = torch.tensor(-torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.max())
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# maximum starts at 0 -> maximum_from_0
m = torch.zeros(len(q), 1, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# all blocks kept -> all_kept
pieces = [q @ kk.T / q.shape[1] ** 0.5 for kk in k.split(block)]
m = torch.stack([p.amax(1) for p in pieces]).amax(0)[:, None]
total = sum((p - m).exp().sum(1, keepdim=True) for p in pieces)
return sum((p - m).exp() @ vv for p, vv in zip(pieces, v.split(block))) / total
# scaled by d_k -> scaled_by_width
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1]
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# blocks of queries -> queries_cut
return torch.cat([(qq @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v for qq in q.split(block)])
# weighted by length -> averaged_by_size
out = 0
for kk, vv in zip(k.split(block), v.split(block)):
    scores = q @ kk.T / q.shape[1] ** 0.5
    out = out + scores.softmax(-1) @ vv * len(kk) / len(k)
return out
# m not renewed -> last_block_only
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
return out / total
# the first block is enough -> first_block_only
kk, vv = k[:block], v[:block]
return (q @ kk.T / q.shape[1] ** 0.5).softmax(-1) @ vv
"""

RIGHT["blockwise_attention"] = """
# slices
m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
total = torch.zeros(len(q), 1, dtype=q.dtype)
out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
for s in range(0, len(k), block):
    scores = q @ k[s:s + block].T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f = (m - new).exp()
    e = (scores - new).exp()
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
# queries scaled first
q = q / q.shape[1] ** 0.5
m = q.new_full((len(q), 1), -torch.inf)
total, out = torch.zeros_like(m), q.new_zeros(len(q), v.shape[1])
for kk, vv in zip(k.split(block), v.split(block)):
    scores = q @ kk.T
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    e = (scores - new).exp()
    total = total * (m - new).exp() + e.sum(1, keepdim=True)
    out = out * (m - new).exp() + e @ vv
    m = new
return out / total
# running mean by log-sum-exp
lse = q.new_full((len(q), 1), -torch.inf)
out = q.new_zeros(len(q), v.shape[1])
for kk, vv in zip(k.split(block), v.split(block)):
    scores = q @ kk.T / q.shape[1] ** 0.5
    new = torch.logaddexp(lse, scores.logsumexp(1, keepdim=True))
    out = out * (lse - new).exp() + (scores - new).exp() @ vv
    lse = new
return out
# two passes
m = q.new_full((len(q), 1), -torch.inf)
for kk in k.split(block):
    m = torch.maximum(m, (q @ kk.T / q.shape[1] ** 0.5).amax(1, keepdim=True))
total, out = 0, 0
for kk, vv in zip(k.split(block), v.split(block)):
    e = (q @ kk.T / q.shape[1] ** 0.5 - m).exp()
    total, out = total + e.sum(1, keepdim=True), out + e @ vv
return out / total
# divided in each turn, weighted right
m = q.new_full((len(q), 1), -torch.inf)
total, out = torch.zeros_like(m), q.new_zeros(len(q), v.shape[1])
for kk, vv in zip(k.split(block), v.split(block)):
    scores = q @ kk.T / q.shape[1] ** 0.5
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    e = (scores - new).exp()
    old = total * (m - new).exp()
    total = old + e.sum(1, keepdim=True)
    out = (out * old + e @ vv) / total
    m = new
return out
# maximum starts at a very small number
m = q.new_full((len(q), 1), -1e30)
total, out = torch.zeros_like(m), q.new_zeros(len(q), v.shape[1])
for s in range(0, len(k), block):
    scores = (q @ k[s:s + block].T) / np.sqrt(q.shape[1])
    new = torch.maximum(m, scores.amax(1, keepdim=True))
    f, e = torch.exp(m - new), torch.exp(scores - new)
    total = total * f + e.sum(1, keepdim=True)
    out = out * f + e @ v[s:s + block]
    m = new
return out / total
"""
