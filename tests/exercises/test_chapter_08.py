"""Chapter 08: positions against transformers, the gap on functions whose gap is known, and what figures say."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from attention_lab.checking import judge
from attention_lab.exercises import chapter_08, exercises
from attention_lab.figures import chapter_08 as charts
from attention_lab.figures import picture
from attention_lab.figures.chapter_07 import recited
from attention_lab.lesson import W_K, W_Q, W_V, rows
from attention_lab.models import load
from attention_lab.probes.chapter_08 import FUNCTIONS, in_thousandths

torch = pytest.importorskip("torch")

REFERENCE = {name: exercise.reference for name, exercise in exercises("08").items()}
SEEDS = range(3)


def cases(name: str, seed: int) -> list:
    return list(exercises()[name].cases(np.random.default_rng(seed)))


def head(x, causal=False):
    q, k, v = (x @ torch.tensor(W) for W in (W_Q, W_K, W_V))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


# --- positions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_rotate_is_that_of_transformers(seed):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    for case in cases("rotate", seed):
        x, positions = (torch.from_numpy(a) for a in case.args)
        d_k, lead = x.shape[-1], x.shape[:-2]
        config = llama.LlamaConfig(hidden_size=d_k, num_attention_heads=1, head_dim=d_k)
        turns = llama.LlamaRotaryEmbedding(config)
        assert config.rope_parameters["rope_theta"] == 10000
        heads = x.reshape(1, -1, *x.shape[-2:])  # (1, heads, T, d_k)
        cos, sin = turns(heads, positions[None])
        expected, _ = llama.apply_rotary_pos_emb(heads, heads, cos, sin)
        got = REFERENCE["rotate"](x, positions)
        assert torch.allclose(got, expected.reshape(*lead, *x.shape[-2:]), atol=1e-5), case.note


@pytest.mark.parametrize(("T", "d"), [(3, 4), (9, 10), (40, 6)])
def test_the_table_is_that_of_transformers(T, d):
    xlm = pytest.importorskip("transformers.models.xlm.modeling_xlm")
    out = torch.empty(T, d)
    xlm.create_sinusoidal_embeddings(T, d, out)
    assert torch.allclose(REFERENCE["sinusoidal_positions"](T, d).float(), out, atol=1e-6)


@pytest.mark.parametrize("d", [1, 3, 7])
def test_an_odd_width_has_one_sine_more_and_its_own_frequencies(d):
    table = REFERENCE["sinusoidal_positions"](6, d)
    assert table.shape == (6, d)
    assert float(table[5, d - 1]) == pytest.approx(math.sin(5 / 10000 ** ((d - 1) / d)))


def test_a_shift_of_all_positions_leaves_the_scores_and_a_stretch_does_not():
    torch.manual_seed(0)
    q, k = torch.randn(2, 6, 8, dtype=torch.float64)
    places = torch.arange(6)

    def scores(positions):
        return REFERENCE["rotate"](q, positions) @ REFERENCE["rotate"](k, positions).T

    assert torch.allclose(scores(places), scores(places + 100))
    assert not torch.allclose(scores(places), scores(places * 2), atol=0.1)
    assert torch.allclose(scores(0 * places), q @ k.T)


def test_a_turn_keeps_every_length_and_position_0_changes_nothing():
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    turned = REFERENCE["rotate"](x, torch.tensor([0, 3, 1, 50, 7]))
    assert torch.allclose(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[:, 0], x[:, 0])


def test_more_tokens_than_positions_are_refused_in_words():
    with pytest.raises(ValueError, match=r"4 tokens.*3"):
        REFERENCE["add_positions"](torch.zeros(2, 4, 5), torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"4 tokens.*1"):
        REFERENCE["add_positions"](torch.zeros(2, 4, 5), torch.zeros(1, 5))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [("too long", "numbers_not_named"), ("{T} words", "positions_not_named"), ("only {T_max}", "tokens_not_named")],
)
def test_a_refusal_that_does_not_name_both_numbers_is_no_pass(text, mistake):
    def add_positions(tokens, table):
        if tokens.shape[1] > len(table):
            raise ValueError(text.format(T=tokens.shape[1], T_max=len(table)))
        return tokens + table[: tokens.shape[1]]

    assert judge("add_positions", add_positions).mistake == mistake


# --- rounding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_single_precision_never_decides(seed):
    """Where results are compared in thousandths, no number stands so near a border that rounding errors matter."""
    for name in ("sinusoidal_positions", "rotate"):
        for case in cases(name, seed):
            assert case.script == "in_thousandths"
            exact = REFERENCE[name](*(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in case.args))
            assert chapter_08._safe(exact.numpy()), (name, case.note)


def test_the_script_rounds_numbers_and_hands_on_everything_else():
    assert in_thousandths(lambda: torch.tensor([0.12345]), ()).tolist() == [0.123]
    with pytest.raises(TypeError, match="array of NumPy"):
        in_thousandths(lambda: np.array([0.12345]), ())
    assert in_thousandths(lambda: None, ()) is None
    assert in_thousandths(lambda: torch.tensor([3]), ()).dtype == torch.int64


# --- the gap ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(4, 2, 0, 1, 3), (1, 2, 3, 4, 0)])
def test_attention_lets_a_shuffle_through_and_a_mask_does_not(order):
    x, perm = torch.tensor(rows()), torch.tensor(order)
    assert REFERENCE["equivariance_gap"](head, x, perm) < 1e-12
    assert REFERENCE["equivariance_gap"](lambda x: head(x, causal=True), x, perm) > 0.1


def test_the_last_row_notices_words_before_it_from_the_second_causal_block_on():
    x = torch.tensor(rows())

    def last(order, n, causal):
        y = x[list(order)]
        for _ in range(n):
            y = y + head(y, causal)
        return y[4]

    for order in permutations(range(4)):
        for n in (1, 2, 3):
            assert torch.allclose(last((*order, 4), n, False), last(range(5), n, False))
        assert torch.allclose(last((*order, 4), 1, True), last(range(5), 1, True))
    assert not torch.allclose(last((1, 2, 0, 3, 4), 2, True), last(range(5), 2, True), atol=0.1)


def test_the_functions_of_the_cases_do_what_their_docstrings_say():
    x, perm = torch.randn(5, 4, dtype=torch.float64), torch.tensor([1, 2, 3, 4, 0])
    gaps = {name: REFERENCE["equivariance_gap"](f, x, perm) for name, f in FUNCTIONS.items()}
    assert {name for name, gap in gaps.items() if gap < 1e-12} == {"each_row_alone"}


@pytest.mark.parametrize("name", list(REFERENCE))
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


# --- answers written another way than in the catalogue ----------------------------------------------------------------


def test_two_mistakes_at_once_are_both_named():
    def signed_and_invariant(f, x, perm):
        return (f(x[perm]) - f(x.clone())).max()

    assert judge("equivariance_gap", signed_and_invariant).mistake == "compared_with_the_unshuffled+signed"


def _adjacent_pairs(x, positions):
    """The complex form of Llama's first release."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    slowing = 10000.0 ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = torch.outer(positions.double(), 1 / slowing.double())
    turns = torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
    return torch.view_as_real(pairs * turns).flatten(-2)


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("equivariance_gap", lambda f, x, perm: torch.dist(f(x[perm]), f(x.clone())[perm]), "length"),
        ("add_positions", lambda tokens, table: tokens + table[: tokens.shape[1]], "torchs_own_error"),
        ("rotate", _adjacent_pairs, "neighbours"),
    ],
)
def test_other_ways_to_write_a_mistake_get_its_name(name, answer, mistake):
    assert judge(name, answer).mistake == mistake


# --- figures ----------------------------------------------------------------------------------------------------------


def test_the_codes_are_drawn_and_their_products_depend_on_the_distance_only():
    table = REFERENCE["sinusoidal_positions"](32, 16)
    alt = picture(charts.codes_chart(32, 16), charts.codes_data(table)).alt
    assert "Only the distance counts" in alt
    alt = picture(charts.codes_chart(32, 16), charts.codes_data(torch.rand(32, 16))).alt
    assert "Not only the distance counts" in alt


def test_the_bars_name_what_is_blind_to_order():
    gaps = charts.gaps_data({"attention only": [0.0, 1e-16], "a causal mask": [0.0, 0.5]})
    alt = picture(charts.gaps_chart(["attention only", "a causal mask"]), gaps).alt
    assert alt.startswith("Blind to order: attention only.")


def test_all_shuffles_are_all_of_them_and_begin_with_none():
    orders = charts.all_shuffles(4)
    assert len({tuple(order.tolist()) for order in orders}) == 24 and orders[0].tolist() == [0, 1, 2, 3]


def test_a_model_with_its_own_table_of_positions_has_its_own_pattern_and_another_table_leaves_it_as_it_was():
    lab = load("lab")
    learned = lab.model.transformer.wpe.weight.detach()
    own = lab.patterns(lab.encode(recited(8), start=True))[0, 3]
    before = learned.clone()
    assert np.allclose(charts.pattern_of_head(lab, learned, 0, 3), own, atol=1e-5)
    assert not np.allclose(charts.pattern_of_head(lab, 0 * learned, 0, 3), own, atol=0.1)
    assert torch.equal(learned, before)
    assert sorted(charts.some_order(7).tolist()) == list(range(7))
