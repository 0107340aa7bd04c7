"""Answers to chapters 05 to 08 that a reader wrote without a look at the catalogue; see `test_unseen`."""

from __future__ import annotations

WRONG: dict[str, str] = {}
RIGHT: dict[str, str] = {}

WRONG["project_qkv"] = """
# weights first -> matrix_first
return W_q @ x, W_k @ x, W_v @ x
# like a linear layer -> matrices_turned
return x @ W_q.T, x @ W_k.T, x @ W_v.T
# order q v k -> k_and_v_swapped
return x @ W_q, x @ W_v, x @ W_k
# order v k q -> q_and_v_swapped
return x @ W_v, x @ W_k, x @ W_q
# same matrix for keys -> keys_by_w_q
return x @ W_q, x @ W_q, x @ W_v
# keys for values -> values_by_w_k
return x @ W_q, x @ W_k, x @ W_k
# value is the row -> values_are_rows
return x @ W_q, x @ W_k, x
# stacked -> stacked
return torch.stack([x @ W_q, x @ W_k, x @ W_v])
# concatenated -> side_by_side
return torch.cat([x @ W_q, x @ W_k, x @ W_v], dim=-1)
# one matrix then split at d_k
out = x @ torch.cat([W_q, W_k, W_v], dim=-1)
return out.chunk(3, dim=-1)
# scaled already -> queries_scaled
d_k = W_q.shape[-1]
return x @ W_q / d_k ** 0.5, x @ W_k, x @ W_v
# both scaled
d_k = W_q.shape[-1]
return x @ W_q / d_k ** 0.5, x @ W_k / d_k ** 0.5, x @ W_v
# softmaxed query
return (x @ W_q).softmax(-1), (x @ W_k).softmax(-1), x @ W_v
# keys turned already -> keys_turned
return x @ W_q, (x @ W_k).mT, x @ W_v
# forgot return
q, k, v = x @ W_q, x @ W_k, x @ W_v
"""

WRONG["attention_head"] = """
# no scale -> unscaled
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT).softmax(-1) @ v
# scale d_k -> by_d_k
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / W_q.shape[1]).softmax(-1) @ v
# scale root d -> by_root_d
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / x.shape[-1] ** 0.5).softmax(-1) @ v
# scale root d_v -> by_root_d_v
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / v.shape[-1] ** 0.5).softmax(-1) @ v
# scale root T -> by_root_t
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / q.shape[-2] ** 0.5).softmax(-1) @ v
# times root -> multiplied
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT * W_q.shape[1] ** 0.5).softmax(-1) @ v
# scale inside wrong place -> scaled_late
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5 @ v
# dim 0 -> over_axis_0
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / q.shape[-1] ** 0.5).softmax(0) @ v
# dim 1 -> over_axis_1
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / q.shape[-1] ** 0.5).softmax(1) @ v
# dim -2 -> over_the_queries
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v
# floor root
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / int(q.shape[-1] ** 0.5)).softmax(-1) @ v
# numpy function -> by_root_of_a_length
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / len(q[0]) ** 0.5).softmax(-1) @ v
# batch flattened
shape = x.shape
x = x.reshape(-1, x.shape[-1])
q, k, v = x @ W_q, x @ W_k, x @ W_v
out = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
return out.reshape(*shape[:-1], -1)
# forgot the values' matrix
q, k = x @ W_q, x @ W_k
return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ W_v
# forgot the brackets -> softmax_last
q, k, v = x @ W_q, x @ W_k, x @ W_v
return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5 @ v, -1)
"""

WRONG["match_form"] = """
# root d -> by_root_d
return x @ (W_q @ W_k.T) @ x.mT / x.shape[-1] ** 0.5
# no scale -> unscaled
return x @ W_q @ W_k.T @ x.mT
# scale d_k -> by_d_k
return x @ W_q @ W_k.T @ x.mT / W_q.shape[-1]
# matrix turned -> turned_form
return x @ (W_k @ W_q.T) @ x.mT / W_q.shape[-1] ** 0.5
# inner product of matrices -> inner_form
return x @ (W_q.T @ W_k) @ x.mT / W_q.shape[-1] ** 0.5
# symmetric -> both_ways_summed
M = W_q @ W_k.T
return x @ (M + M.T) @ x.mT / W_q.shape[-1] ** 0.5
# symmetric, halved -> symmetric
M = W_q @ W_k.T
return x @ ((M + M.T) / 2) @ x.mT / W_q.shape[-1] ** 0.5
# softmaxed -> softmaxed
return (x @ W_q @ W_k.T @ x.mT / W_q.shape[-1] ** 0.5).softmax(-1)
# .T -> all_axes_turned
return x @ (W_q @ W_k.T) @ x.T / W_q.shape[-1] ** 0.5
# the matrix only -> matrix_returned
return W_q @ W_k.T / W_q.shape[-1] ** 0.5
# x once -> one_sided
return x @ (W_q @ W_k.T) / W_q.shape[-1] ** 0.5
# x x.T between -> inside_out
return W_q.T @ x.mT @ x @ W_k / W_q.shape[-1] ** 0.5
# minus diagonal
s = x @ W_q @ W_k.T @ x.mT / W_q.shape[-1] ** 0.5
return s - torch.diag_embed(torch.diagonal(s, dim1=-2, dim2=-1))
# forgot return
M = W_q @ W_k.T
scores = x @ M @ x.mT / W_q.shape[-1] ** 0.5
# difference instead of product
return x @ (W_q - W_k) @ (W_q - W_k).T @ x.mT / W_q.shape[-1] ** 0.5
"""

WRONG["next_token_loss"] = """
# no shift -> unshifted
B, T, V = logits.shape
return F.cross_entropy(logits.reshape(-1, V), ids.reshape(-1))
# shifted the wrong way -> backwards
V = logits.shape[-1]
return F.cross_entropy(logits[:, 1:].reshape(-1, V), ids[:, :-1].reshape(-1))
# axes not moved -> classes_on_the_wrong_axis
return F.cross_entropy(logits[:, :-1], ids[:, 1:])
# reshape instead of transpose -> viewed
l = logits[:, :-1]
B, T, V = l.shape
return F.cross_entropy(l.reshape(B, V, T), ids[:, 1:])
# sum -> summed
V = logits.shape[-1]
return F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1), reduction='sum')
# none -> not_reduced_and_flat
V = logits.shape[-1]
return F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1), reduction='none')
# divided by T -> divided_by_t
V = logits.shape[-1]
total = F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1), reduction='sum')
return total / ids.numel()
# divided by B -> summed_over_a_text
V = logits.shape[-1]
total = F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1), reduction='sum')
return total / len(ids)
# sign -> sign_missing
lp = logits.log_softmax(-1)[:, :-1]
return lp.gather(-1, ids[:, 1:, None]).mean()
# bits -> base_2
lp = logits.log_softmax(-1)[:, :-1]
return -lp.gather(-1, ids[:, 1:, None]).mean() / np.log(2)
# log of softmax -> unstable
p = logits.softmax(-1)[:, :-1]
return -torch.log(p.gather(-1, ids[:, 1:, None])).mean()
# log of softmax plus eps -> tiny_eps_added
p = logits.softmax(-1)[:, :-1]
return -torch.log(p.gather(-1, ids[:, 1:, None]) + 1e-9).mean()
# chance, no log -> missing_chance
p = logits.softmax(-1)[:, :-1]
return 1 - p.gather(-1, ids[:, 1:, None]).mean()
# softmax over T -> over_all_places
lp = logits.log_softmax(1)[:, :-1]
return -lp.gather(-1, ids[:, 1:, None]).mean()
# clamped scores
V = logits.shape[-1]
return F.cross_entropy(logits.clamp(-100, 100)[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1))
"""

WRONG["causal_mask"] = """
# upper left -> aligned_upper_left
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).tril()
# turned -> future_only
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).triu(S - T)
# blocked -> true_means_blocked
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
# strict -> own_word_hidden
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)
# one ahead -> one_word_ahead
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).tril(S - T + 1)
# floats -> numbers_for_booleans
S = T if S is None else S
return torch.ones(T, S).tril(S - T)
# added -> additive
S = T if S is None else S
return torch.zeros(T, S).masked_fill(torch.ones(T, S).triu(S - T + 1).bool(), -torch.inf)
# T - S -> aligned_the_other_way
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).tril(T - S)
# S T
S = T if S is None else S
return torch.ones(S, T, dtype=torch.bool).tril()
# S ignored -> square_of_t
return torch.ones(T, T, dtype=torch.bool).tril()
# S always given -> no_shape_without_s
return torch.ones(T, S, dtype=torch.bool).tril(S - T)
# list
S = T if S is None else S
return [[j <= i + S - T for j in range(S)] for i in range(T)]
# all true -> everything
return torch.ones(T, S or T, dtype=torch.bool)
# diagonal only
S = T if S is None else S
return torch.eye(T, S, dtype=torch.bool)
# forgot return
S = T if S is None else S
mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
"""

WRONG["masked_pattern"] = """
# after -> after_the_softmax
return scores.softmax(-1) * mask
# zeros -> zeros_for_hidden
return (scores * mask).softmax(-1)
# blocked -> nan_on_empty_rows+true_means_blocked
return scores.masked_fill(mask, -torch.inf).softmax(-1)
# blocked, nan to num -> true_means_blocked
return torch.nan_to_num(scores.masked_fill(mask, -torch.inf).softmax(-1))
# NaN stays -> nan_on_empty_rows
return scores.masked_fill(~mask, -torch.inf).softmax(-1)
# finite -> mean_on_empty_rows
return scores.masked_fill(~mask, -1e9).softmax(-1)
# inf times zero -> all_set_to_zero
return torch.nan_to_num((scores + (1 - mask.to(scores.dtype)) * -torch.inf).softmax(-1))
# positive infinity
return torch.nan_to_num(scores.masked_fill(~mask, torch.inf).softmax(-1))
# dim 0
return torch.nan_to_num(scores.masked_fill(~mask, -torch.inf).softmax(0))
# dim 1 -> over_axis_1_no_nan
return torch.nan_to_num(scores.masked_fill(~mask, -torch.inf).softmax(1))
# empty rows see all -> empty_rows_unmasked
m = mask | ~mask.any(-1, keepdim=True)
return scores.masked_fill(~m, -torch.inf).softmax(-1)
# index with a 2d mask
scores = scores.clone()
scores[~mask] = -torch.inf
return torch.nan_to_num(scores.softmax(-1))
# log softmax -> logarithms_returned
return scores.masked_fill(~mask, -torch.inf).log_softmax(-1)
# returns scores -> scores_returned
return scores.masked_fill(~mask, -torch.inf)
# mask squeezed
return torch.nan_to_num(scores.masked_fill(~mask.squeeze(), -torch.inf).softmax(-1))
"""

WRONG["causal_attention"] = """
# no mask -> unmasked
return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
# flag -> aligned_upper_left
return F.scaled_dot_product_attention(q, k, v, is_causal=True)
# T T mask -> square_of_t
T = q.shape[-2]
m = torch.ones(T, T, dtype=torch.bool).tril()
return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1) @ v
# no scale -> unscaled
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT).masked_fill(~m, -torch.inf).softmax(-1) @ v
# scale d_k -> divided_by_d_k
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT / q.shape[-1]).masked_fill(~m, -torch.inf).softmax(-1) @ v
# scale d_v -> by_width_of_values
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT / v.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1) @ v
# after the softmax -> after_the_softmax
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * m) @ v
# triu -> future_only
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).triu(S - T)
return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1) @ v
# blocked read as look -> true_means_blocked
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(m, -torch.inf).softmax(-1) @ v
# blocked handed to SDPA -> blocked_handed_to_torch
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
return F.scaled_dot_product_attention(q, k, v, attn_mask=m)
# float mask handed to SDPA -> mask_added
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=q.dtype).tril(S - T)
return F.scaled_dot_product_attention(q, k, v, attn_mask=m)
# .T
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1) @ v
# shape[0]
T, S = q.shape[0], k.shape[0]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1) @ v
# masked then scaled, finite
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return ((q @ k.mT).masked_fill(~m, -10) / q.shape[-1] ** 0.5).softmax(-1) @ v
# T - S
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(T - S)
return torch.nan_to_num((q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1)) @ v
"""

WRONG["split_heads"] = """
# overlapping slices and no check -> no_check+heads_overlap
B, T, d = x.shape
return torch.stack([x[..., h : h + d // n_heads] for h in range(n_heads)], 1)
# reshape alone -> reshaped
B, T, d = x.shape
if d % n_heads:
    raise ValueError(f"{d} {n_heads}")
return x.reshape(B, n_heads, T, d // n_heads)
# no transpose -> not_turned
B, T, d = x.shape
if d % n_heads:
    raise ValueError(f"{d} {n_heads}")
return x.reshape(B, T, n_heads, d // n_heads)
# wrong cut -> interleaved
B, T, d = x.shape
if d % n_heads:
    raise ValueError(f"{d} {n_heads}")
return x.reshape(B, T, d // n_heads, n_heads).permute(0, 3, 1, 2)
# wrong cut, transpose -> width_taken_for_heads
B, T, d = x.shape
if d % n_heads:
    raise ValueError(f"{d} {n_heads}")
return x.reshape(B, T, d // n_heads, n_heads).transpose(1, 2)
# no check -> no_check
B, T, d = x.shape
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# no numbers in the message -> numbers_not_named
B, T, d = x.shape
if d % n_heads != 0:
    raise ValueError("d must be divisible by n_heads")
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# only one number in the message -> heads_not_named
B, T, d = x.shape
if d % n_heads != 0:
    raise ValueError(f"{d} cannot be divided")
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# assert -> assertion
B, T, d = x.shape
assert d % n_heads == 0, f"{d} is not divisible by {n_heads}"
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# TypeError -> type_error
B, T, d = x.shape
if d % n_heads:
    raise TypeError(f"{d} is not divisible by {n_heads}")
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# returns a ValueError
B, T, d = x.shape
if d % n_heads:
    return ValueError(f"{d} is not divisible by {n_heads}")
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# check the wrong way
B, T, d = x.shape
if n_heads % d:
    raise ValueError(f"{d} is not divisible by {n_heads}")
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# check upside down
B, T, d = x.shape
if d % n_heads == 0:
    raise ValueError(f"{d} is not divisible by {n_heads}")
return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
# true division
B, T, d = x.shape
if d % n_heads:
    raise ValueError(f"{d} is not divisible by {n_heads}")
return x.reshape(B, T, n_heads, d / n_heads).transpose(1, 2)
# cuts the rest off -> rest_thrown_away
B, T, d = x.shape
w = d // n_heads
return x[..., : w * n_heads].reshape(B, T, n_heads, w).transpose(1, 2)
# off by one slice -> heads_overlap
B, T, d = x.shape
if d % n_heads:
    raise ValueError(f"{d} is not divisible by {n_heads}")
w = d // n_heads
return torch.stack([x[..., h : h + w] for h in range(n_heads)], 1)
"""

WRONG["merge_heads"] = """
# reshape alone -> reshaped
B, H, T, w = x.shape
return x.reshape(B, T, H * w)
# view after transpose -> viewed
B, H, T, w = x.shape
return x.transpose(1, 2).view(B, T, H * w)
# no merge -> not_flattened
return x.transpose(1, 2)
# last two transposed -> interleaved
B, H, T, w = x.shape
return x.transpose(1, 2).transpose(2, 3).reshape(B, T, H * w)
# transposes wrong axes -> axes_2_and_3_swapped
B, H, T, w = x.shape
return x.transpose(2, 3).reshape(B, T, H * w)
# flattened over the words -> texts_in_one
B, H, T, w = x.shape
return x.transpose(1, 2).reshape(B * T, H * w)
# flatten 1 -> one_below_another
return x.flatten(1, 2)
# flatten after nothing
return x.flatten(2)
# mean of heads -> averaged
return x.mean(1)
# sum of heads -> summed
return x.sum(1)
# first head -> first_head_only
return x[:, 0]
# cat of batch
return torch.cat(list(x), dim=-1)
# order of sizes
B, T, H, w = x.shape
return x.transpose(1, 2).reshape(B, T, H * w)
# forgot return
B, H, T, w = x.shape
x.transpose(1, 2).reshape(B, T, H * w)
# loop that overwrites -> columns_overwritten
B, H, T, w = x.shape
out = x.new_zeros(B, T, H * w)
for h in range(H):
    out[..., :w] = x[:, h]
return out
"""

WRONG["multi_head_attention"] = """
# scale by d -> scaled_by_width
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / d ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# no scale -> unscaled
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# scale not rooted -> scaled_twice
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / w).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# scale by heads -> scaled_by_heads
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / n_heads ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# scale by T -> scaled_by_words
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / T ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# no mask -> unmasked
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / w ** 0.5).softmax(-1) @ v) @ W_o
# split before the matrices
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
h = cut(x)
Q, K, V = (W.reshape(n_heads, w, d)[:, :, :w] for W in (W_q, W_k, W_v))
q, k, v = h @ Q, h @ K, h @ V
return glue((q @ k.mT / w ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# split without transpose: heads attend to heads -> heads_look_at_heads_unmasked
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = ((x @ W).reshape(B, T, n_heads, w) for W in (W_q, W_k, W_v))
return F.scaled_dot_product_attention(q, k, v).reshape(B, T, d) @ W_o
# mask turned -> true_means_blocked
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / w ** 0.5).masked_fill(mask, -torch.inf).softmax(-1) @ v) @ W_o
# softmax over heads -> masked_over_the_heads
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / w ** 0.5).masked_fill(~mask, -torch.inf).softmax(1) @ v) @ W_o
# all heads use the first
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
out = [F.scaled_dot_product_attention(q[:, 0], k[:, 0], v[:, 0], is_causal=True) for h in range(n_heads)]
return torch.cat(out, -1) @ W_o
# heads summed
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
out = F.scaled_dot_product_attention(q, k, v, is_causal=True).sum(1)
return out @ W_o[:w]
# W_o in front
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ W_v @ W_o
# W_o in each head, only its own block -> own_block_of_w_o
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
return torch.cat([out[:, h] @ W_o[h * w : (h + 1) * w, h * w : (h + 1) * w] for h in range(n_heads)], -1)
# keys and values swapped -> k_and_v_swapped
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_v), cut(x @ W_k)
return glue(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ W_o
"""

WRONG["previous_token_score"] = """
# diagonal -> own_weight
return torch.diagonal(pattern, dim1=-2, dim2=-1).mean(-1)
# offset 1 -> next_word
return torch.diagonal(pattern, offset=1, dim1=-2, dim2=-1).mean(-1)
# first axes -> first_two_axes
return torch.diagonal(pattern, offset=-1).mean(-1)
# divided by T -> divided_by_t
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).sum(-1) / pattern.shape[-1]
# sum -> summed
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).sum(-1)
# all mean -> over_everything
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).mean()
# mean over wrong axis -> heads_averaged
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).mean(0)
# max -> largest
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).amax(-1)
# median -> median
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).median(-1).values
# loop from 0 -> starts_at_row_0
T = pattern.shape[-1]
return sum(pattern[..., t, t - 1] for t in range(T)) / (T - 1)
# loop too short -> last_row_left_out
T = pattern.shape[-1]
return sum(pattern[..., t, t - 1] for t in range(1, T - 1)) / (T - 2)
# loop too short, right divisor -> last_row_counts_as_zero
T = pattern.shape[-1]
return sum(pattern[..., t, t - 1] for t in range(1, T - 1)) / (T - 1)
# float
T = pattern.shape[-1]
return float(sum(pattern[t, t - 1] for t in range(1, T)) / (T - 1))
# relative to the row's rest
T = pattern.shape[-1]
d = torch.diagonal(pattern, -1, -2, -1)
own = torch.diagonal(pattern, 0, -2, -1)[..., 1:]
return (d / (d + own)).mean(-1)
# forgot return
score = torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).mean(-1)
"""

WRONG["equivariance_gap"] = """
# first attempt, x written -> written_into_x
return (f(x[perm]) - f(x)[perm]).abs().max().item()
# sign -> signed
y = x.clone()
return (f(x[perm]) - f(y)[perm]).max().item()
# invariance -> compared_with_the_unshuffled
return (f(x[perm]) - f(x.clone())).abs().max().item()
# perm at the wrong one -> input_not_shuffled
return (f(x.clone())[perm] - f(x.clone())).abs().max().item()
# both shuffled inside -> shuffled_twice
return (f(x[perm]) - f(x[perm])[perm]).abs().max().item()
# inverse -> inverse_on_the_result
inv = torch.argsort(perm)
return (f(x[perm]) - f(x.clone())[inv]).abs().max().item()
# columns
return (f(x[:, perm]) - f(x.clone())[:, perm]).abs().max().item()
# mean -> mean
return (f(x[perm]) - f(x.clone())[perm]).abs().mean().item()
# sum -> summed
return (f(x[perm]) - f(x.clone())[perm]).abs().sum().item()
# norm -> length
return (f(x[perm]) - f(x.clone())[perm]).norm().item()
# rounded
return round((f(x[perm]) - f(x.clone())[perm]).abs().max().item(), 3)
# forgot return
(f(x[perm]) - f(x.clone())[perm]).abs().max().item()
# reversed -> order_of_your_own
return (f(x.flip(0)) - f(x.clone()).flip(0)).abs().max().item()
# the result of f is x -> copy_used_twice
y = x.clone()
a = f(y)
b = f(y[perm])
return (b - a[perm]).abs().max().item()
# the result is overwritten
y = x.clone()
a = f(y)
y[:] = x[perm]
b = f(y)
return (b - a[perm]).abs().max().item()
"""

WRONG["sinusoidal_positions"] = """
# odd fails -> odd_width_crashes
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()
return out
# halves -> halves
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / d)
return torch.cat([angle.sin(), angle.cos()], -1)[:, :d]
# swapped -> swapped
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.cos()
out[:, 1::2] = angle.sin()[:, : d // 2]
return out
# from one -> from_1
t = torch.arange(1, T + 1)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# no doubled i -> exponent_i_over_d
t = torch.arange(T)[:, None]
i = torch.arange(0, (d + 1) // 2)
angle = t / 10000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# doubled twice -> exponent_4i_over_d
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (2 * i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# column number as exponent -> each_column_its_own
t = torch.arange(T)[:, None]
c = torch.arange(d)
angle = t / 10000 ** (c / d)
return torch.where(c % 2 == 0, angle.sin(), angle.cos())
# times
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t * 10000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# 1000 -> base_1000
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 1000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# integer division -> one_frequency
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i // d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# transposed -> turned
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out.T
# ranges to d - 2 -> last_pair_slowed_by_the_base
t = torch.arange(T)[:, None]
n = (d + 1) // 2
f = torch.logspace(0, -4, n)
angle = t * f
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# exponent over d - 1
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / (d - 1))
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# exponent by half width
t = torch.arange(T)[:, None]
i = torch.arange(0, d, 2)
angle = t / 10000 ** (i / (d // 2))
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# forgot return
t = torch.arange(T)[:, None]
angle = t / 10000 ** (torch.arange(0, d, 2) / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
"""

WRONG["add_positions"] = """
# whole table -> whole_table
if tokens.shape[1] > len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table
# by the batch -> as_many_as_sentences
if tokens.shape[1] > len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[: len(tokens)]
# batch, broadcast -> batch_axis
if tokens.shape[1] > len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[: len(tokens), None]
# the last rows -> last_rows
if tokens.shape[1] > len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[-tokens.shape[1] :]
# from one -> from_row_1
if tokens.shape[1] > len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[1 : tokens.shape[1] + 1]
# in place -> in_place
if tokens.shape[1] > len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
tokens += table[: tokens.shape[1]]
return tokens
# no check -> torchs_own_error
return tokens + table[: tokens.shape[1]]
# check greater or equal
if tokens.shape[1] >= len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[: tokens.shape[1]]
# check the wrong way -> longer_tables_refused
if tokens.shape[1] < len(table):
    raise ValueError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[: tokens.shape[1]]
# message without numbers -> numbers_not_named
if tokens.shape[1] > len(table):
    raise ValueError("too many words")
return tokens + table[: tokens.shape[1]]
# message with one number -> tokens_not_named
if tokens.shape[1] > len(table):
    raise ValueError(f"only {len(table)} positions")
return tokens + table[: tokens.shape[1]]
# IndexError -> index_error
if tokens.shape[1] > len(table):
    raise IndexError(f"{tokens.shape[1]} {len(table)}")
return tokens + table[: tokens.shape[1]]
# assert -> assertion
assert tokens.shape[1] <= len(table), f"{tokens.shape[1]} words, {len(table)} positions"
return tokens + table[: tokens.shape[1]]
# positions counted through the batch
B, T, d = tokens.shape
if T > len(table):
    raise ValueError(f"{T} {len(table)}")
return (tokens.reshape(B * T, d) + table[: B * T]).reshape(B, T, d)
# sinus computed anew -> table_made_anew
B, T, d = tokens.shape
if T > len(table):
    raise ValueError(f"{T} {len(table)}")
return tokens + sinusoidal_positions(T, d)
"""

WRONG["rotate"] = """
# neighbours -> neighbours
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1).flatten(-2)
# neighbours read, halves written -> neighbours_taken
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x[..., 0::2], x[..., 1::2]
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# halves read, neighbours written -> neighbours_given
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.stack([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1).flatten(-2)
# other direction -> other_way
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() + b * w.sin(), b * w.cos() - a * w.sin()], -1)
# both plus -> plus_twice
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() + b * w.sin(), a * w.sin() + b * w.cos()], -1)
# both minus -> minus_in_both_parts
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() - b * w.cos()], -1)
# exponent not doubled -> i_over_d_k
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# exponent doubled twice -> exponent_doubled
d = x.shape[-1]
i = torch.arange(0, d, 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# times
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] * 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# base 1000 -> base_1000_turns
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 1000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# positions ignored -> counted_anew
d = x.shape[-1]
i = torch.arange(d // 2)
w = torch.arange(x.shape[-2])[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# positions as integers -> positions_cut
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions.long()[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# added -> codes_added
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
return x + torch.cat([w.sin(), w.cos()], -1)
# one angle for all pairs -> all_pairs_alike
w = positions[:, None]
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# forgot return
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
out = torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
"""

RIGHT["project_qkv"] = """
# loop over the first axis
q = torch.stack([row @ W_q for row in x])
k = torch.stack([row @ W_k for row in x])
v = torch.stack([row @ W_v for row in x])
return q, k, v
# linear turned
F = torch.nn.functional
return F.linear(x, W_q.T), F.linear(x, W_k.T), F.linear(x, W_v.T)
# comprehension
return tuple(x @ W for W in (W_q, W_k, W_v))
# einsum
return tuple(torch.einsum('...td,de->...te', x, W) for W in (W_q, W_k, W_v))
# one product, split
a = W_q.shape[1]
return (x @ torch.cat([W_q, W_k, W_v], 1)).split([a, a, W_v.shape[1]], -1)
# matmul list
return [torch.matmul(x, W_q), torch.matmul(x, W_k), torch.matmul(x, W_v)]
"""

RIGHT["attention_head"] = """
# plain exp
q, k, v = x @ W_q, x @ W_k, x @ W_v
e = torch.exp(q @ k.mT / q.shape[-1] ** 0.5)
return e / e.sum(-1, keepdim=True) @ v
# sdpa
F = torch.nn.functional
return F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v)
# numpy root
q, k, v = x @ W_q, x @ W_k, x @ W_v
return (q @ k.mT / np.sqrt(q.shape[-1])).softmax(-1) @ v
# swapaxes
q, k, v = x @ W_q, x @ W_k, x @ W_v
return torch.softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, dim=-1) @ v
# by the single matrix
s = x @ (W_q @ W_k.T) @ x.mT / W_q.shape[1] ** 0.5
return s.softmax(-1) @ x @ W_v
# einsum
q, k, v = x @ W_q, x @ W_k, x @ W_v
s = torch.einsum('...tk,...sk->...ts', q, k) * W_k.size(1) ** -0.5
return torch.einsum('...ts,...sv->...tv', s.softmax(-1), v)
# stable by hand
q, k, v = x @ W_q, x @ W_k, x @ W_v
s = q @ k.mT / q.shape[-1] ** 0.5
e = torch.exp(s - s.amax(-1, keepdim=True))
return e / e.sum(-1, keepdim=True) @ v
"""

RIGHT["match_form"] = """
# two products
return (x @ W_q) @ (x @ W_k).mT / W_q.shape[1] ** 0.5
# one matrix
M = W_q @ W_k.T / W_k.shape[1] ** 0.5
return x @ M @ x.transpose(-1, -2)
# einsum
return torch.einsum('...td,de,...se->...ts', x, W_q @ W_k.mT, x) / np.sqrt(W_q.size(-1))
# root in both
r = W_q.shape[1] ** 0.25
return x @ (W_q / r) @ (W_k / r).T @ x.mT
"""

RIGHT["next_token_loss"] = """
# cross entropy
V = logits.shape[-1]
return F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1))
# transposed
return F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:])
# logsumexp
l = logits[:, :-1]
return (l.logsumexp(-1) - l.gather(-1, ids[:, 1:, None])[..., 0]).mean()
# nll
return F.nll_loss(logits.log_softmax(-1)[:, :-1].mT, ids[:, 1:])
# loop of texts
losses = [F.cross_entropy(l[:-1], i[1:]) for l, i in zip(logits, ids)]
return sum(losses) / len(losses)
"""

RIGHT["causal_mask"] = """
# tril
S = T if S is None else S
return torch.ones(T, S, dtype=torch.bool).tril(S - T)
# last rows
S = T if S is None else S
return torch.ones(S, S, dtype=torch.bool).tril()[S - T:]
# arange
S = S or T
return torch.arange(S) <= torch.arange(S - T, S)[:, None]
# not triu
S = T if S is None else S
return ~torch.triu(torch.ones(T, S), diagonal=S - T + 1).bool()
# comprehension
S = T if S is None else S
return torch.tensor([[j <= i + S - T for j in range(S)] for i in range(T)])
"""

RIGHT["masked_pattern"] = """
# nan to num
return torch.nan_to_num(scores.masked_fill(~mask, -torch.inf).softmax(-1))
# fill twice
return scores.masked_fill(~mask, float('-inf')).softmax(-1).masked_fill(~mask, 0)
# where
p = torch.where(mask, scores, -torch.inf).softmax(-1)
return torch.where(mask.any(-1, keepdim=True), p, 0.0)
# by hand
s = scores.masked_fill(~mask, -torch.inf)
top = s.amax(-1, keepdim=True).clamp(min=-1e300 if s.dtype == torch.float64 else -1e30)
e = torch.exp(s - top)
total = e.sum(-1, keepdim=True)
return e / torch.where(total == 0, 1.0, total)
# finfo, then times the mask
return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
# sdpa with an identity
S = scores.shape[-1]
low = scores.masked_fill(~mask, -torch.inf)
return torch.nan_to_num(low.softmax(-1), nan=0.0)
"""

RIGHT["causal_attention"] = """
# masked
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf).softmax(-1) @ v
# sdpa with a mask
T, S = q.shape[-2], k.shape[-2]
return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(T, S, dtype=torch.bool).tril(S - T))
# row by row
T, S = q.shape[-2], k.shape[-2]
rows = []
for t in range(T):
    end = S - T + t + 1
    rows.append(F.scaled_dot_product_attention(q[..., t : t + 1, :], k[..., :end, :], v[..., :end, :]))
return torch.cat(rows, -2)
# added triangle
T, S = q.shape[-2], k.shape[-2]
above = torch.full((T, S), -torch.inf, dtype=q.dtype).triu(S - T + 1)
return (q @ k.mT / np.sqrt(q.shape[-1]) + above).softmax(-1) @ v
# finite fill
T, S = q.shape[-2], k.shape[-2]
m = torch.ones(T, S, dtype=torch.bool).tril(S - T)
return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -1e30).softmax(-1) @ v
"""

RIGHT["split_heads"] = """
# view
B, T, d = x.shape
if d % n_heads != 0:
    raise ValueError(f"width {d} cannot be shared by {n_heads} heads")
return x.view(B, T, n_heads, d // n_heads).transpose(1, 2)
# unflatten
d = x.shape[-1]
if d % n_heads:
    raise ValueError(f"{n_heads} heads, {d} columns")
return x.unflatten(-1, (n_heads, -1)).movedim(2, 1)
# chunks
d = x.shape[-1]
if d % n_heads:
    raise ValueError(f"{n_heads} heads, {d} columns")
return torch.stack(x.chunk(n_heads, dim=-1), dim=1)
# loop
B, T, d = x.shape
if d // n_heads * n_heads != d:
    raise ValueError(f"{d} / {n_heads}")
w = d // n_heads
out = x.new_empty(B, n_heads, T, w)
for h in range(n_heads):
    out[:, h] = x[:, :, h * w : (h + 1) * w]
return out
# permute
B, T, d = x.shape
if d % n_heads:
    raise ValueError("d = %d, H = %d" % (d, n_heads))
return x.reshape(B, T, n_heads, -1).permute(0, 2, 1, 3)
"""

RIGHT["merge_heads"] = """
# reshape
B, H, T, w = x.shape
return x.transpose(1, 2).reshape(B, T, H * w)
# contiguous view
B, H, T, w = x.shape
return x.transpose(1, 2).contiguous().view(B, T, H * w)
# flatten
return x.movedim(1, 2).flatten(-2)
# cat
return torch.cat(x.unbind(1), dim=-1)
# loop
B, H, T, w = x.shape
out = x.new_zeros(B, T, H * w)
for h in range(H):
    out[..., h * w : (h + 1) * w] = x[:, h]
return out
"""

RIGHT["multi_head_attention"] = """
# by hand
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = cut(x @ W_q), cut(x @ W_k), cut(x @ W_v)
return glue((q @ k.mT / w ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v) @ W_o
# sdpa
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = (cut(x @ W) for W in (W_q, W_k, W_v))
return glue(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ W_o
# loop over heads
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
out = 0
for h in range(n_heads):
    s = slice(h * w, (h + 1) * w)
    one = F.scaled_dot_product_attention(x @ W_q[:, s], x @ W_k[:, s], x @ W_v[:, s], is_causal=True)
    out = out + one @ W_o[s]
return out
# einsum
B, T, d = x.shape
w = d // n_heads
def cut(y):
    return y.reshape(B, T, n_heads, w).transpose(1, 2)
def glue(y):
    return y.transpose(1, 2).reshape(B, T, d)
mask = torch.ones(T, T, dtype=torch.bool).tril()
q, k, v = ((x @ W).unflatten(-1, (n_heads, w)) for W in (W_q, W_k, W_v))
s = torch.einsum('bthw,bshw->bhts', q, k) / w ** 0.5
p = s.masked_fill(~mask, -torch.inf).softmax(-1)
return torch.einsum('bhts,bshw->bthw', p, v).flatten(2) @ W_o
"""

RIGHT["previous_token_score"] = """
# diagonal
return torch.diagonal(pattern, offset=-1, dim1=-2, dim2=-1).mean(-1)
# index
t = torch.arange(1, pattern.shape[-1])
return pattern[..., t, t - 1].mean(-1)
# loop
T = pattern.shape[-1]
return sum(pattern[..., t, t - 1] for t in range(1, T)) / (T - 1)
# shifted square
p = pattern[..., 1:, :-1]
return p.diagonal(dim1=-2, dim2=-1).mean(-1)
# multiplied by a shifted identity
T = pattern.shape[-1]
where = torch.eye(T, dtype=pattern.dtype).roll(1, 0)
where[0] = 0
return (pattern * where).sum((-1, -2)) / (T - 1)
"""

RIGHT["equivariance_gap"] = """
# clone
return (f(x[perm]) - f(x.clone())[perm]).abs().max().item()
# tensor handed back
return (f(x[perm].clone()) - f(x.clone())[perm]).abs().amax()
# undo
inverse = torch.argsort(perm)
return float((f(x[perm])[inverse] - f(x.clone())).abs().max())
# loop
before, after = f(x.clone()), f(x[perm])
return max(float((after[i] - before[p]).abs().max()) for i, p in enumerate(perm.tolist()))
# inf norm
return torch.linalg.vector_norm(f(x[perm]) - f(x.clone())[perm], ord=float('inf')).item()
"""

RIGHT["sinusoidal_positions"] = """
# cut
t = torch.arange(T)[:, None]
angle = t / 10000 ** (torch.arange(0, d, 2) / d)
out = torch.zeros(T, d)
out[:, 0::2] = angle.sin()
out[:, 1::2] = angle.cos()[:, : d // 2]
return out
# where
t = torch.arange(T)[:, None]
c = torch.arange(d)
angle = t / 10000 ** ((c - c % 2) / d)
return torch.where(c % 2 == 0, angle.sin(), angle.cos())
# stacked and cut
angle = torch.arange(T)[:, None] * torch.exp(-np.log(10000) * torch.arange(0, d, 2) / d)
return torch.stack([angle.sin(), angle.cos()], -1).reshape(T, -1)[:, :d]
# loop
out = torch.zeros(T, d, dtype=torch.float64)
for t in range(T):
    for c in range(d):
        w = t / 10000 ** (c // 2 * 2 / d)
        out[t, c] = np.sin(w) if c % 2 == 0 else np.cos(w)
return out
# shifted sine
t = torch.arange(T)[:, None]
c = torch.arange(d)
return torch.sin(t / 10000 ** (2 * (c // 2) / d) + (c % 2) * torch.pi / 2)
"""

RIGHT["add_positions"] = """
# slice
T = tokens.shape[1]
if T > len(table):
    raise ValueError(f"{T} words, {len(table)} positions")
return tokens + table[:T]
# broadcast
T = tokens.size(-2)
if T > table.size(0):
    raise ValueError(f"{table.size(0)} rows in the table are not enough for {T} words")
return tokens + table[None, :T]
# index
B, T, d = tokens.shape
if not T <= table.shape[0]:
    raise ValueError("%d > %d" % (T, table.shape[0]))
return torch.stack([tokens[b] + table[torch.arange(T)] for b in range(B)])
# clone then in place
T = tokens.shape[1]
if T > len(table):
    raise ValueError(f"{T} words, {len(table)} positions")
out = tokens.clone()
out += table[:T]
return out
# embedding
T = tokens.shape[1]
if T > len(table):
    raise ValueError(f"{T} words, {len(table)} positions")
return tokens + F.embedding(torch.arange(T), table)
"""

RIGHT["rotate"] = """
# halves
d = x.shape[-1]
i = torch.arange(d // 2)
w = positions[:, None] / 10000 ** (2 * i / d)
a, b = x.chunk(2, -1)
return torch.cat([a * w.cos() - b * w.sin(), a * w.sin() + b * w.cos()], -1)
# rotate half
d = x.shape[-1]
f = 10000.0 ** (-torch.arange(0, d, 2) / d)
w = torch.outer(positions.to(x.dtype), f.to(x.dtype)).repeat(1, 2)
a, b = x[..., : d // 2], x[..., d // 2 :]
return x * w.cos() + torch.cat((-b, a), -1) * w.sin()
# complex
d = x.shape[-1]
a, b = x.chunk(2, -1)
w = positions[:, None] / 10000 ** (torch.arange(d // 2) * 2 / d)
z = torch.complex(a, b) * torch.exp(1j * w)
return torch.cat([z.real, z.imag], -1).to(x.dtype)
# matrices
d = x.shape[-1]
out = torch.empty_like(x)
for t, p in enumerate(positions.tolist()):
    for i in range(d // 2):
        w = p / 10000 ** (2 * i / d)
        R = torch.tensor([[np.cos(w), np.sin(w)], [-np.sin(w), np.cos(w)]], dtype=x.dtype)
        out[..., t, [i, i + d // 2]] = x[..., t, [i, i + d // 2]] @ R
return out
"""
