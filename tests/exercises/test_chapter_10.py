"""Chapter 10: counts against real layers, what is held against what is made, and what figures say."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_10 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.models.door import CHECKPOINTS
from attention_lab.probes.chapter_10 import TooMuchAtOnce, held, in_blocks

torch = pytest.importorskip("torch")
F = torch.nn.functional

REFERENCE = {name: exercise.reference for name, exercise in exercises("10").items()}
T, S, BLOCK = 55, 75, 6


def some(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def blocks(q, k, v, block):
    return exercises()["blockwise_attention"].template(q, k, v, block)


# --- counts -----------------------------------------------------------------------------------------------------------


def test_a_layer_counts_as_that_of_transformers_does():
    gpt2 = pytest.importorskip("transformers.models.gpt2.modeling_gpt2")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    shape = charts.SHAPES["GPT-2 small"]
    config = gpt2.GPT2Config(n_embd=shape.width, n_head=shape.n_heads, attn_implementation="eager")
    with torch.device("meta"):
        block = gpt2.GPT2Block(config, layer_idx=0).eval()
    assert charts.counted(block, (1, 300, shape.width)) == sum(charts.layer_operations(shape, 300))

    shape = charts.SHAPES["SmolLM2"]
    config = llama.LlamaConfig(
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_attention_heads=shape.n_heads,
        num_key_value_heads=shape.kv_heads,
        attn_implementation="eager",
    )
    with torch.device("meta"):
        layer = llama.LlamaDecoderLayer(config, layer_idx=0).eval()
        turns = tuple(torch.empty(1, 300, 64) for _ in range(2))
    found = charts.counted(lambda x: layer(x, position_embeddings=turns), (1, 300, shape.width))
    assert found == sum(charts.layer_operations(shape, 300))


def test_the_lab_models_shape_is_that_of_its_checkpoint():
    config = json.loads((CHECKPOINTS / "lab" / "config.json").read_text(encoding="utf-8"))
    shape = charts.SHAPES["lab model"]
    assert (shape.width, shape.n_heads, shape.context) == (config["n_embd"], config["n_head"], config["n_positions"])
    assert config["n_inner"] is None and shape.inner == 4 * shape.width


@pytest.mark.parametrize("name", list(charts.SHAPES))
def test_attention_counts_by_the_formula_and_the_rest_grows_with_the_text(name):
    shape = charts.SHAPES[name]
    for n in (1, 17, 300):
        attention, rest = charts.layer_operations(shape, n)
        assert attention == REFERENCE["attention_flops"](n, shape.width, shape.n_heads)
        assert rest == n * charts.layer_operations(shape, 1)[1]


def test_half_is_reached_at_six_widths_and_behind_a_mask_at_twelve():
    shape = charts.SHAPES["GPT-2 small"]
    rest = charts.layer_operations(shape, 1)[1]
    assert charts.first_at(lambda n: charts.share(shape, n) >= 0.5) == 6 * 768
    causal = charts.first_at(lambda n: 4 * 768 * REFERENCE["comparisons"](n, True) >= rest * n)
    assert causal == 12 * 768 - 1


@pytest.mark.parametrize("limit", range(1, 40))
def test_first_at_finds_the_least_number(limit):
    assert charts.first_at(lambda n: n >= limit) == limit


def test_the_exponent_of_a_sum_is_one_plus_the_share_of_its_quadratic_part():
    shape = charts.SHAPES["GPT-2 small"]
    for n in (64, 1024, 4608, 30000):
        near = torch.tensor([n * 0.999, n * 1.001], dtype=torch.float64)
        cost = 24 * near * 768**2 + 4 * near**2 * 768
        assert REFERENCE["growth_exponent"](near, cost) == pytest.approx(1 + charts.share(shape, n), abs=1e-4)


# --- what is held -----------------------------------------------------------------------------------------------------


def test_each_tensor_that_is_made_is_seen_and_views_are_not():
    x = some(5, 7)
    assert held(lambda x: x.T[1:].reshape(30), x)[1].largest == 30
    assert held(lambda x: x.T[1:], x)[1].made == 0
    for product in (lambda x: x @ x.T, lambda x: torch.einsum("ad,bd->ab", x, x), lambda x: torch.cdist(x, x)):
        seen = held(product, x)[1]
        assert seen.largest == math.prod(seen.shape) == 25
    buffer = torch.empty(5, 5, dtype=torch.float64)
    assert held(lambda x, out: torch.matmul(x, x.T, out=out), x, buffer)[1].made == 0


def test_what_has_gone_is_not_alive():
    def one_after_the_other(x):
        for _ in range(10):
            y = x + 1
        return y

    seen = held(one_after_the_other, some(8))[1]
    assert seen.made == 80 and seen.peak == 16
    assert held(lambda x: [x + 1 for _ in range(10)], some(8))[1].peak == 80


def test_a_kernel_that_hides_its_scores_is_told():
    x = some(1, 2, 9, 4)
    seen = held(F.scaled_dot_product_attention, x, x, x)[1]
    assert seen.hidden == 2 * 9 * 9 and seen.largest == x.numel()


def test_the_instrument_does_without_torchs_compiler():
    """Which would take seconds to import, and cannot be imported at all where marks are given."""
    from attention_lab.probes.chapter_10 import _recorder

    assert not _recorder()._should_skip_dynamo()


def _swallows(q, k, v, block):
    try:
        return charts.by_hand(q, k, v)
    except RuntimeError:
        return blocks(q, k, v, block)


def _numpy_whole(q, k, v, block):
    a, b = q.numpy(), k.numpy()
    scores = a @ b.T / math.sqrt(a.shape[1])
    risen = np.exp(scores - scores.max(axis=1, keepdims=True))
    return risen / risen.sum(axis=1, keepdims=True) @ v.numpy()


def _python_whole(q, k, v, block):
    a, b = q.tolist(), k.tolist()
    scores = [[math.exp(sum(x * y for x, y in zip(row, key, strict=True)) / len(row) ** 0.5) for key in b] for row in a]
    pattern = torch.tensor([[score / sum(row) for score in row] for row in scores], dtype=v.dtype)
    return pattern @ v


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (lambda q, k, v, block: charts.by_hand(q, k, v), "all T × S = 4125 scores"),
        (lambda q, k, v, block: F.scaled_dot_product_attention(q, k, v), "all T × S = 4125 scores"),
        (lambda q, k, v, block: torch.einsum("td,sd->ts", q, k).softmax(-1) @ v, "all T × S = 4125 scores"),
        (lambda q, k, v, block: torch.bmm(q[None], k[None].mT)[0].softmax(-1) @ v, "all T × S = 4125 scores"),
        (lambda q, k, v, block: F.scaled_dot_product_attention(*(t[None, None] for t in (q, k, v))), "one call"),
        (lambda q, k, v, block: torch.cat([charts.by_hand(a, k, v) for a in q.split(block)]), r"\(6, 75\) has 450"),
        (lambda q, k, v, block: torch.cat([q @ keys.T for keys in k.split(block)], 1), "no block is let go"),
        (lambda q, k, v, block: blocks(q, k, v, 2 * block), r"\(55, 12\) has 660"),
        (_swallows, "all T × S = 4125 scores"),
        (_numpy_whole, "all T × S = 4125 scores"),
        (_python_whole, "all T × S = 4125 scores"),
    ],
)
def test_more_than_a_block_is_told_whichever_way_it_is_made(candidate, said):
    with pytest.raises(TooMuchAtOnce, match=said):
        in_blocks(candidate, (some(T, 2), some(S, 2, seed=1), some(S, 2, seed=2), BLOCK))


@pytest.mark.parametrize("name", list(exercises()["blockwise_attention"].accepted))
def test_right_ways_hold_no_more_than_a_block(name):
    q, k, v = some(T, 2), some(S, 2, seed=1), some(S, 2, seed=2)
    for out in in_blocks(exercises()["blockwise_attention"].accepted[name], (q, k, v, BLOCK)):
        assert torch.allclose(torch.as_tensor(out), charts.by_hand(q, k, v))


def test_a_whole_matrix_is_not_passed_by_another_result_in_one_block():
    def cunning(q, k, v, block):
        return charts.by_hand(q, k, v) + (1.0 if block == len(k) else 0.0)

    assert not judge("blockwise_attention", cunning).passed


def test_the_card_shows_the_line_that_makes_too_much():
    def blockwise_attention(q, k, v, block):
        scores = q @ k.T / q.shape[1] ** 0.5
        return scores.softmax(-1) @ v

    verdict = judge("blockwise_attention", blockwise_attention)
    assert verdict.mistake == "whole_matrix" and "q @ k.T" in verdict.line


# --- references and mistakes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 2, 3, 7, 8, 50])
def test_blocks_give_what_torchs_attention_gives(block):
    q, k, v = some(5, 3), some(8, 3, seed=1), some(8, 4, seed=2)
    expected = F.scaled_dot_product_attention(q, k, v)
    for f in (REFERENCE["blockwise_attention"], blocks):
        assert torch.allclose(f(q, k, v, block), expected)


@pytest.mark.parametrize("name", ["attention_flops", "score_matrix_bytes", "growth_exponent", "blockwise_attention"])
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def _average_of_blocks(q, k, v, block):
    outs = [F.scaled_dot_product_attention(q, a, b) for a, b in zip(k.split(block), v.split(block), strict=True)]
    return torch.stack(outs).mean(0)


def _plain_exp(q, k, v, block):
    total = blend = 0
    for start in range(0, len(k), block):
        risen = torch.exp(q @ k[start : start + block].T / q.shape[1] ** 0.5)
        total, blend = total + risen.sum(1, keepdim=True), blend + risen @ v[start : start + block]
    return blend / total


def _two_at_once(q, k, v, block):
    return (q @ k.T).softmax(-1) @ v


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("comparisons", lambda T, causal: sum(range(T)) if causal else T * T, "itself_left_out"),
        ("attention_flops", lambda T, d, n_heads: T * T * d + T * T * d, "half"),
        ("attention_flops", lambda T, d, n_heads: 2 * T * T * d * n_heads, "half+heads_multiplied"),
        ("score_matrix_bytes", lambda B, H, T, b: B * H * T * T * b * 8, "bits"),
        ("score_matrix_bytes", lambda B, H, T, b: B * T * T * 8 * b, "bits+heads_missing"),
        ("growth_exponent", lambda x, y: float((y[-1] / y[0]).log() / (x[-1] / x[0]).log()), "first_and_last"),
        ("growth_exponent", lambda x, y: float(np.polyfit(x.log(), y.log(), 1)[1]), "intercept"),
        (
            "growth_exponent",
            lambda x, y: float(np.cov(x.log(), y.log())[0, 1] / np.var(x.log().numpy())),
            "two_kinds_of_n",
        ),
        ("blockwise_attention", _average_of_blocks, "averaged"),
        ("blockwise_attention", _plain_exp, "no_maximum"),
        ("blockwise_attention", _two_at_once, "whole_matrix+unscaled"),
    ],
)
def test_other_ways_to_write_a_mistake_get_its_name(name, answer, mistake):
    assert judge(name, answer).mistake == mistake


# --- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "said"), [(7, "7 bytes"), (33_554_432, "33.6 MB"), (48e12, "48 TB"), (3.2e15, "3,200 TB")]
)
def test_bytes_are_said_in_the_unit_that_people_use(n, said):
    assert charts.size_text(n) == said


def test_large_numbers_are_said_as_powers_of_ten():
    assert charts.power_text(13_400_000_000_000) == "1.3 · 10¹³"


@pytest.mark.parametrize(("free", "said"), [(10**12, "which fits"), (10**6, "would be refused")])
def test_the_estimate_says_whether_it_fits_and_makes_nothing(free, said, monkeypatch):
    monkeypatch.setattr(charts, "free_bytes", lambda: free)
    costs, seen = held(lambda: charts.costs(65536, 32, 2048, 4 * 32 * 65536**2, 4 * 65536**2 * 2048))
    assert seen.made == 0
    assert said in picture(charts.cost_chart(), costs, size=(9.6, 3.8)).alt


def test_the_last_moment_knows_the_sums_of_the_whole_softmax():
    x = torch.tensor(rows())
    q, k, _ = (x @ torch.tensor(W) for W in (W_Q, W_K, W_V))
    scores = (q @ k.T / 2**0.5).numpy()
    for block in range(1, 6):
        last = charts.moment(scores, block, 5)
        assert np.allclose(np.log(last.total) + last.top, np.log(np.exp(scores).sum(axis=1)))
        assert last.last == 5
    alt = picture(charts.moment_chart(WORDS), charts.moment(scores, 2, 1)).alt
    assert alt.startswith("Block 1 of 3: 10 of 25 scores exist at this moment. They are of the keys the, boat. 0 are")


def test_clocked_gives_one_time_for_each_length():
    assert len(charts.clocked(lambda x: x, lambda n: [torch.zeros(n)], [1, 2, 3])) == 3


# --- what the judge says of numbers -----------------------------------------------------------------------------------


def test_a_number_that_lost_precision_is_told_so_and_a_count_by_how_much_it_is_off():
    def single(sizes, costs):
        return float(np.polyfit(np.log(sizes.float().numpy()), np.log(costs.float().numpy()), 1)[0])

    assert "precision is lost" in judge("growth_exponent", single).message
    off = judge("attention_flops", lambda T, d, n_heads: 4 * T * T * d + (1 if T > 100 else 0))
    assert off.message.startswith("The result is 1 too large.")


def test_an_array_is_held_against_a_mistake_that_hands_back_something_foreign():
    assert not judge("growth_exponent", lambda sizes, costs: sizes).passed
