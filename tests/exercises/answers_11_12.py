"""Answers to chapters 11 and 12 that a reader wrote without a look at the catalogue; see `test_unseen`."""

from __future__ import annotations

WRONG: dict[str, str] = {}
RIGHT: dict[str, str] = {}

WRONG["KVCache"] = """
# along the heads -> joined_along_heads
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=1)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=1)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# newest first -> prepended
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([k, self.k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([v, self.v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# first one not copied -> caller_s_tensor_kept
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k, self.v = torch.cat([self.k, k], dim=2), torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# list of pieces, not copied -> caller_s_tensors_listed
class KVCache:
    def __init__(self):
        self.ks, self.vs = [], []
    def append(self, k, v):
        self.ks.append(k)
        self.vs.append(v)
        return torch.cat(self.ks, dim=2), torch.cat(self.vs, dim=2)
    @property
    def length(self):
        return sum(k.shape[2] for k in self.ks)
    def reset(self):
        self.ks, self.vs = [], []
# number of pieces -> counts_calls
class KVCache:
    def __init__(self):
        self.ks, self.vs = [], []
    def append(self, k, v):
        self.ks.append(k.clone())
        self.vs.append(v.clone())
        return torch.cat(self.ks, dim=2), torch.cat(self.vs, dim=2)
    @property
    def length(self):
        return len(self.ks)
    def reset(self):
        self.ks, self.vs = [], []
# lists of the class -> one_for_all
class KVCache:
    ks, vs = [], []
    def __init__(self):
        pass
    def append(self, k, v):
        self.ks.append(k.clone())
        self.vs.append(v.clone())
        return torch.cat(self.ks, dim=2), torch.cat(self.vs, dim=2)
    @property
    def length(self):
        return sum(k.shape[2] for k in self.ks)
    def reset(self):
        self.ks.clear()
        self.vs.clear()
# values doubled as keys -> later_values_are_keys
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, k], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# gives the new rows -> only_new_given
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return k, v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# reset keeps the count -> counts_all_ever
class KVCache:
    def __init__(self):
        self.k = self.v = None
        self.n = 0
    def append(self, k, v):
        self.n += k.shape[2]
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return self.n
    def reset(self):
        self.k = self.v = None
# counts one an append -> counts_calls
class KVCache:
    def __init__(self):
        self.k = self.v = None
        self.n = 0
    def append(self, k, v):
        self.n += 1
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return self.n
    def reset(self):
        self.__init__()
# length of the batch -> counts_texts
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else len(self.k)
    def reset(self):
        self.k = self.v = None
# length fails when it is new -> length_of_nothing
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# reset forgets the values -> reset_forgets_keys_only
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = None
# length a method -> length_is_a_method
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# nothing kept at the first -> never_begins
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        if self.k is None:
            return k.clone(), v.clone()
        self.k, self.v = torch.cat([self.k, k], dim=2), torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
"""

RIGHT["KVCache"] = """
# copies, then joined
class KVCache:
    def __init__(self):
        self.k = self.v = None
    def append(self, k, v):
        self.k = k.clone() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.clone() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v
    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[2]
    def reset(self):
        self.k = self.v = None
# lists of copies
class KVCache:
    def __init__(self):
        self.reset()
    def append(self, k, v):
        self.pieces.append((k.clone(), v.clone()))
        return tuple(torch.cat(some, dim=-2) for some in zip(*self.pieces))
    @property
    def length(self):
        return sum(k.shape[-2] for k, _ in self.pieces)
    def reset(self):
        self.pieces = []
# both in one tensor
class KVCache:
    def __init__(self):
        self.both = None
    def append(self, k, v):
        new = torch.stack([k, v])
        self.both = new if self.both is None else torch.cat([self.both, new], dim=3)
        return self.both[0], self.both[1]
    @property
    def length(self):
        return 0 if self.both is None else self.both.shape[3]
    def reset(self):
        self.both = None
"""

WRONG["cached_attention"] = """
# no mask -> unmasked
keys, values = cache.append(k, v)
return F.scaled_dot_product_attention(q, keys, values)
# the flag -> mask_top_left
keys, values = cache.append(k, v)
return F.scaled_dot_product_attention(q, keys, values, is_causal=True)
# the flag for several -> mask_top_left_for_several
keys, values = cache.append(k, v)
return F.scaled_dot_product_attention(q, keys, values, is_causal=q.shape[2] > 1)
# not appended -> cache_not_looked_at
return F.scaled_dot_product_attention(q, k, v, is_causal=True)
# length before the append, one too far -> one_ahead
start = cache.length
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.arange(S)[None, :] <= torch.arange(t)[:, None] + start + 1
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# strictly before -> own_row_hidden_zeros
start = cache.length
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.arange(S)[None, :] < torch.arange(t)[:, None] + start
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# length after the append -> unmasked
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.arange(S)[None, :] <= torch.arange(t)[:, None] + cache.length
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# tril without an offset -> mask_top_left
keys, values = cache.append(k, v)
mask = torch.ones(q.shape[2], keys.shape[2], dtype=torch.bool).tril()
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# mask the wrong way round -> true_read_as_blocked_zeros
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.ones(t, S, dtype=torch.bool).triu(S - t + 1)
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# own softmax, no scale -> unscaled
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
s = q @ keys.mT
s = s.masked_fill(torch.ones(t, S, dtype=torch.bool).triu(S - t + 1), float('-inf'))
return s.softmax(-1) @ values
# old rows only
old = cache.length
keys, values = cache.append(k, v)
return F.scaled_dot_product_attention(q, keys[:, :, :max(old, 1)], values[:, :, :max(old, 1)])
# appended twice -> stored_twice
cache.append(k, v)
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.ones(t, S, dtype=torch.bool).tril(S - t)
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# reset first -> cache_not_looked_at
cache.reset()
keys, values = cache.append(k, v)
return F.scaled_dot_product_attention(q, keys, values, is_causal=True)
# blocked ones as 0 -> zeros_for_hidden
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
s = q @ keys.mT / q.shape[-1] ** 0.5
s = s * torch.ones(t, S).tril(S - t)
return s.softmax(-1) @ values
# values of the new rows
keys, _ = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.ones(t, S, dtype=torch.bool).tril(S - t)
return F.scaled_dot_product_attention(q, keys, v, attn_mask=mask)
# swapped in append -> keys_and_values_swapped
keys, values = cache.append(v, k)
t, S = q.shape[2], keys.shape[2]
mask = torch.ones(t, S, dtype=torch.bool).tril(S - t)
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# mask as numbers -> mask_added_as_numbers
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.ones(t, S, dtype=q.dtype).tril(S - t)
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
"""

RIGHT["cached_attention"] = """
# a triangle moved
keys, values = cache.append(k, v)
t, S = q.shape[2], keys.shape[2]
mask = torch.ones(t, S, dtype=torch.bool).tril(S - t)
return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
# places compared
start = cache.length
keys, values = cache.append(k, v)
place = torch.arange(keys.shape[2])
return F.scaled_dot_product_attention(q, keys, values, attn_mask=place <= place[start:, None])
# one by one
out = []
for i in range(q.shape[2]):
    now = slice(i, i + 1)
    keys, values = cache.append(k[:, :, now], v[:, :, now])
    out.append((q[:, :, now] @ keys.mT / q.shape[-1] ** 0.5).softmax(-1) @ values)
return torch.cat(out, dim=2)
"""

WRONG["cached_greedy"] = """
# whole text with the cache -> everything_appended_again
cache = None
for _ in range(n):
    said = model(ids, cache=cache, use_cache=True)
    cache = said.cache
    ids = torch.cat([ids, said.logits[:, -1:].argmax(-1)], dim=1)
return ids
# no cache -> recomputed
for _ in range(n):
    ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], dim=1)
return ids
# new tokens only -> new_rows_only
new, cache, out = ids, None, []
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[:, -1:].argmax(-1), said.cache
    out.append(new)
return torch.cat(out, dim=1)
# last token of the prompt -> prompt_not_read
cache, new = None, ids[:, -1:]
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[:, -1:].argmax(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# cache not handed on -> cache_not_handed_on
new = ids
for _ in range(n):
    said = model(new, use_cache=True)
    new = said.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
return ids
# one too many -> one_token_more
said = model(ids, use_cache=True)
new = said.logits[:, -1:].argmax(-1)
ids = torch.cat([ids, new], dim=1)
for _ in range(n):
    said = model(new, cache=said.cache, use_cache=True)
    new = said.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
return ids
# one too few -> first_lost_and_one_less
said = model(ids, use_cache=True)
new = said.logits[:, -1:].argmax(-1)
for _ in range(n - 1):
    said = model(new, cache=said.cache, use_cache=True)
    new = said.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
return ids
# sampled
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = torch.multinomial(said.logits[:, -1].softmax(-1), 1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# least likely -> worst_token
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[:, -1:].argmin(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# first row -> logits_of_the_first_row
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[:, :1].argmax(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# argmax of all rows -> every_row_s_token
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits.argmax(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# prompt again and again -> prompt_again
cache, new = None, ids
prompt = ids
for _ in range(n):
    said = model(prompt, cache=cache, use_cache=True)
    cache = said.cache
    ids = torch.cat([ids, said.logits[:, -1:].argmax(-1)], dim=1)
return ids
# prompt token by token -> prompt_in_bits
cache = None
for i in range(ids.shape[1]):
    said = model(ids[:, i:i + 1], use_cache=True)
for _ in range(n):
    new = said.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
    said = model(new, cache=said.cache, use_cache=True)
return ids
# last token read twice -> last_prompt_token_twice
said = model(ids, use_cache=True)
new = ids[:, -1:]
for _ in range(n):
    said = model(new, cache=said.cache, use_cache=True)
    new = said.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
return ids
# stops at the end token
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[:, -1:].argmax(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
    if new.item() == 0:
        break
return ids
# generate without a minimum
return model.generate(ids, max_length=n, do_sample=False)
# without the batch
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[0, -1].argmax(), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# cache not asked for -> cache_not_handed_on
new, cache = ids, None
for _ in range(n):
    said = model(new, cache=cache, use_cache=False)
    new, cache = said.logits[:, -1:].argmax(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
"""

RIGHT["cached_greedy"] = """
# one pass too many
said = model(ids, use_cache=True)
for _ in range(n):
    new = said.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
    said = model(new, cache=said.cache, use_cache=True)
return ids
# the last piece
new, cache = ids, None
for _ in range(n):
    with torch.no_grad():
        said = model(new, cache=cache, use_cache=True)
    new, cache = said.logits[:, -1:].argmax(-1), said.cache
    ids = torch.cat([ids, new], dim=1)
return ids
# with gradients, cut by the cache's length
cache = None
for _ in range(n):
    kept = 0 if cache is None else cache.get_seq_length()
    said = model(ids[:, kept:], cache=cache, use_cache=True)
    cache = said.cache
    ids = torch.cat([ids, said.logits[:, -1].argmax(-1, keepdim=True)], dim=1)
return ids
# prompt one by one
said = None
for i in range(ids.shape[1] + n - 1):
    said = model(ids[:, i:i + 1], cache=said.cache if said else None, use_cache=True)
    if i + 1 >= ids.shape[1]:
        ids = torch.cat([ids, said.logits[:, -1:].argmax(-1)], dim=1)
return ids
"""

WRONG["cache_bytes"] = """
# keys only -> without_the_two
return layers * kv_heads * head_dim * tokens * batch * bytes_per_number
# one layer -> without_layers
return 2 * kv_heads * head_dim * tokens * batch * bytes_per_number
# one text -> without_batch
return 2 * layers * kv_heads * head_dim * tokens * bytes_per_number
# no bytes -> numbers_not_bytes
return 2 * layers * kv_heads * head_dim * tokens * batch
# bits -> bits
return 2 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number * 8
# one head -> without_heads
return 2 * layers * head_dim * tokens * batch * bytes_per_number
# head width forgotten -> without_width
return 2 * layers * kv_heads * tokens * batch * bytes_per_number
# one token -> without_tokens
return 2 * layers * kv_heads * head_dim * batch * bytes_per_number
# queries too -> queries_too
return 3 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number
# tokens squared -> tokens_squared
return 2 * layers * kv_heads * head_dim * tokens ** 2 * batch * bytes_per_number
# kilobytes -> kilobytes
return 2 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number / 1024
# a float -> a_float
return 2.0 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number
# added -> texts_as_tokens
return 2 * layers * kv_heads * head_dim * (tokens + batch) * bytes_per_number
# pattern too -> scores_too
return layers * kv_heads * tokens * batch * bytes_per_number * (2 * head_dim + tokens)
# four bytes always -> always_four_bytes
return 2 * layers * kv_heads * head_dim * tokens * batch * 4
# width shared by the heads -> width_shared_out
return 2 * layers * (head_dim // kv_heads) * tokens * batch * bytes_per_number
"""

RIGHT["cache_bytes"] = """
# a product
import math
return 2 * math.prod([layers, kv_heads, head_dim, tokens, batch, bytes_per_number])
# of a shape
keys = np.broadcast_to(np.int64(0), (layers, batch, kv_heads, tokens, head_dim)).size
return int((keys + keys) * bytes_per_number)
"""

WRONG["repeat_kv"] = """
# repeat -> tiled
return x.repeat(1, times, 1, 1)
# cat -> tiled
return torch.cat([x] * times, dim=1)
# dim 0 -> texts_repeated
return x.repeat_interleave(times, dim=0)
# dim 2 -> rows_repeated
return x.repeat_interleave(times, dim=2)
# last -> width_repeated
return x.repeat_interleave(times, dim=-1)
# flat -> no_axis
return x.repeat_interleave(times)
# stacked, not joined -> copies_in_an_axis
return torch.stack([x] * times, dim=2)
# stacked on the wrong side -> tiled
B, H, T, d = x.shape
return torch.stack([x] * times, dim=1).reshape(B, H * times, T, d)
# expand then view -> copies_in_an_axis
B, H, T, d = x.shape
return x[:, :, None].expand(B, H, times, T, d)
# view after expand
B, H, T, d = x.shape
return x[:, :, None].expand(B, H, times, T, d).view(B, H * times, T, d)
# expand in front -> tiled
B, H, T, d = x.shape
return x[:, None].expand(B, times, H, T, d).reshape(B, H * times, T, d)
# heads by times -> repeated_to_the_total
return x.repeat_interleave(x.shape[1] * times, dim=1)
# unchanged -> not_repeated
return x
# one more -> once_more
return x.repeat_interleave(times + 1, dim=1)
# first head only -> first_head_everywhere
return x[:, :1].repeat_interleave(x.shape[1] * times, dim=1)
# zeros between -> zeros_between
out = torch.zeros(x.shape[0], x.shape[1] * times, *x.shape[2:], dtype=x.dtype)
out[:, ::times] = x
return out
# stacked behind -> rows_folded_into_heads
B, H, T, d = x.shape
return torch.stack([x] * times, dim=3).reshape(B, H * times, T, d)
"""

RIGHT["repeat_kv"] = """
# interleaved
return x.repeat_interleave(times, dim=1)
# numbers of heads
return x[:, torch.arange(x.shape[1] * times) // times]
# a list
return torch.stack([x[:, h] for h in range(x.shape[1]) for _ in range(times)], dim=1)
# einsum
B, H, T, d = x.shape
return torch.einsum('bhtd,r->bhrtd', x, torch.ones(times, dtype=x.dtype)).reshape(B, H * times, T, d)
"""

WRONG["gpt2_attention"] = """
# order kqv -> k_q_v
B, T, d = x.shape
k, q, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# k and v swapped -> q_v_k
B, T, d = x.shape
q, v, k = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# no mask -> unmasked
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# no bias behind -> c_proj_bias_forgotten
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight
# no bias in front -> c_attn_bias_forgotten
B, T, d = x.shape
q, k, v = (x @ c_attn_weight).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# F.linear for the second -> c_proj_turned
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return F.linear(y.transpose(1, 2).reshape(B, T, d), c_proj_weight, c_proj_bias)
# F.linear for both -> taken_for_linear
B, T, d = x.shape
q, k, v = F.linear(x, c_attn_weight, c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return F.linear(y.transpose(1, 2).reshape(B, T, d), c_proj_weight, c_proj_bias)
# heads not split -> one_head
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y @ c_proj_weight + c_proj_bias
# view straight to heads -> split_without_transpose
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.reshape(B, n_heads, T, -1) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# heads not turned back -> merged_without_transpose
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.reshape(B, T, d) @ c_proj_weight + c_proj_bias
# heads outside -> packed_head_by_head
B, T, d = x.shape
qkv = (x @ c_attn_weight + c_attn_bias).view(B, T, n_heads, 3, d // n_heads)
q, k, v = qkv.permute(3, 0, 2, 1, 4)
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# every third column -> every_third
B, T, d = x.shape
both = x @ c_attn_weight + c_attn_bias
q, k, v = (both[..., i::3].view(B, T, n_heads, -1).transpose(1, 2) for i in range(3))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# no projection -> c_proj_bias_forgotten+c_proj_forgotten
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, d)
# x added -> added_to_the_row
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return x + y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# scale by the row's width -> scaled_by_width
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=d ** -0.5)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# view of n_heads as width -> heads_and_width_exchanged
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, -1, n_heads).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# split(3) -> pieces_of_three
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).split(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# scaled twice -> scaled_twice
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q / q.shape[-1] ** 0.5, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# bias only for queries -> bias_of_the_queries_only
B, T, d = x.shape
q, k, v = (x @ c_attn_weight).chunk(3, dim=-1)
q = q + c_attn_bias[:d]
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
"""

RIGHT["gpt2_attention"] = """
# chunk, then heads
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# one view, permuted
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).view(B, T, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
w = q @ k.mT / (d // n_heads) ** 0.5
w = w.masked_fill(torch.ones(T, T).triu(1).bool(), float('-inf')).softmax(-1)
return F.linear((w @ v).transpose(1, 2).flatten(2), c_proj_weight.T, c_proj_bias)
# head by head
B, T, d = x.shape
w = d // n_heads
out = c_proj_bias.expand(B, T, d)
for h in range(n_heads):
    q, k, v = (x @ c_attn_weight[:, i * d + h * w:i * d + (h + 1) * w] + c_attn_bias[i * d + h * w:i * d + (h + 1) * w]
               for i in range(3))
    out = out + F.scaled_dot_product_attention(q, k, v, is_causal=True) @ c_proj_weight[h * w:(h + 1) * w]
return out
"""

WRONG["gpt2_attention_cached"] = """
# rows kept before they are cut, as one head -> one_head
B, t, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
k, v = (y[:, 0] for y in cache.append(k[:, None], v[:, None]))
q, k, v = (y.view(B, -1, n_heads, d // n_heads).transpose(1, 2) for y in (q, k, v))
mask = torch.ones(t, k.shape[2], dtype=torch.bool).tril(k.shape[2] - t)
return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2) @ c_proj_weight + c_proj_bias
# no mask -> unmasked
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
k, v = cache.append(k, v)
y = F.scaled_dot_product_attention(q, k, v)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# the flag -> aligned_up_left
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
k, v = cache.append(k, v)
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# the flag for several -> aligned_up_left_for_several
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
k, v = cache.append(k, v)
y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# cache not used -> nothing_kept
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# appended before the heads -> kept_before_the_split
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
k, v = cache.append(k, v)
q, k, v = (y.view(B, -1, n_heads, d // n_heads).transpose(1, 2) for y in (q, k, v))
mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# appended before the turn -> kept_before_the_transpose
B, T, d = x.shape
q, k, v = (y.view(B, T, n_heads, -1) for y in (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1))
k, v = cache.append(k, v)
q, k, v = (y.transpose(1, 2) for y in (q, k, v))
mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# cached_attention, heads not turned back -> merged_without_transpose
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, k, v, cache).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# cached_attention, no last bias -> c_proj_bias_forgotten
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, k, v, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight
# cached_attention, order -> k_q_v
B, T, d = x.shape
k, q, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, k, v, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# reset first -> nothing_kept
cache.reset()
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, k, v, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# appended twice -> appended_and_handed_on
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
k, v = cache.append(k, v)
return cached_attention(q, k, v, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# without the other bias -> c_attn_bias_forgotten
B, T, d = x.shape
q, k, v = (x @ c_attn_weight).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, k, v, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# x kept in place of keys -> one_head
B, T, d = x.shape
whole, _ = cache.append(x[:, None], x[:, None])
return gpt2_attention(whole[:, 0], c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads)
# attention of the new rows, cache filled -> nothing_kept
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
cache.append(k, v)
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# swapped in append -> q_v_k
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, v, k, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
# one too far -> one_row_ahead
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
k, v = cache.append(k, v)
mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T + 1)
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
return y.transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
"""

RIGHT["gpt2_attention_cached"] = """
# with cached_attention
B, T, d = x.shape
q, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
q, k, v = (y.view(B, T, n_heads, -1).transpose(1, 2) for y in (q, k, v))
return cached_attention(q, k, v, cache).transpose(1, 2).reshape(B, T, d) @ c_proj_weight + c_proj_bias
"""

WRONG["induction_score"] = """
# the same word -> same_word
return pattern.diagonal(-period, -2, -1).mean(-1)
# the row before -> word_before_it
return pattern.diagonal(-period - 1, -2, -1).mean(-1)
# above the diagonal -> ahead
return pattern.diagonal(period - 1, -2, -1).mean(-1)
# of all dims -> one_row_early+over_everything
return pattern.diagonal(1 - period, -2, -1).mean()
# first dims
return pattern.diagonal(1 - period).mean(-1)
# with row period - 1 -> one_row_early
return pattern.diagonal(1 - period, -2, -1).mean(-1)
# one row too many left out -> one_row_late
return pattern.diagonal(1 - period, -2, -1)[..., 2:].mean(-1)
# sum -> summed
return pattern.diagonal(1 - period, -2, -1)[..., 1:].sum(-1)
# divided by T -> divided_by_t
return pattern.diagonal(1 - period, -2, -1)[..., 1:].sum(-1) / pattern.shape[-1]
# all rounds -> rounds_added_up
T = pattern.shape[-1]
t, s = torch.meshgrid(torch.arange(T), torch.arange(T), indexing='ij')
hit = ((t - s) % period == period - 1) & (t >= period) & (s <= t)
return (pattern * hit).sum((-2, -1)) / (T - period)
# transposed -> turned
return pattern.mT.diagonal(1 - period, -2, -1)[..., 1:].mean(-1)
# last row only -> last_row_only
return pattern[..., -1, -period]
# one number -> over_everything
T = pattern.shape[-1]
return sum(pattern[..., t, t - period + 1].mean() for t in range(period, T)) / (T - period)
# loop from period - 1 -> loop_starts_early
T = pattern.shape[-1]
return sum(pattern[..., t, t - period + 1] for t in range(period - 1, T)) / (T - period)
# loop ends early -> loop_stops_early
T = pattern.shape[-1]
return sum(pattern[..., t, t - period + 1] for t in range(period, T - 1)) / (T - period - 1)
# largest weight -> counts_rows
return (pattern.argmax(-1)[..., period:] == torch.arange(1, pattern.shape[-1] - period + 1)).double().mean(-1)
# row before the last time -> row_before_wrapped
T = pattern.shape[-1]
return sum(pattern[..., t, t - period - 1] for t in range(period, T)) / (T - period)
# max -> largest
return pattern.diagonal(1 - period, -2, -1)[..., 1:].amax(-1)
# list of numbers
return [pattern[..., t, t - period + 1].mean().item() for t in range(period, pattern.shape[-1])]
# means of a row -> whole_block
return pattern[..., period:, 1:pattern.shape[-1] - period + 1].mean((-2, -1))
"""

RIGHT["induction_score"] = """
# a diagonal
return pattern.diagonal(1 - period, -2, -1)[..., 1:].mean(-1)
# numbers of rows
t = torch.arange(period, pattern.shape[-1])
return pattern[..., t, t - period + 1].mean(-1)
# a loop
T = pattern.shape[-1]
return sum(pattern[..., t, t - period + 1] for t in range(period, T)) / (T - period)
# cut, then trace
below = pattern[..., period:, 1:pattern.shape[-1] - period + 1]
return below.diagonal(0, -2, -1).mean(-1)
"""
