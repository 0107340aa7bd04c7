"""Chapter 12: packed attention against transformers, attention put into models, and what the page says of heads."""

from __future__ import annotations

import nbformat
import numpy as np
import pytest
from tests.notebooks.test_pages import COURSE

from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_12 as charts
from attention_lab.figures import picture

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
F = torch.nn.functional

from attention_lab.models import load  # noqa: E402
from attention_lab.models.swap import attention_replaced  # noqa: E402
from attention_lab.models.switches import heads_off  # noqa: E402
from attention_lab.probes.chapter_11 import Shelf, fed  # noqa: E402
from attention_lab.probes.tiny_models import tiny_gpt2, tiny_llama  # noqa: E402


def cells() -> list[str]:
    path = COURSE / "solutions" / "12_your_attention_in_a_real_model.ipynb"
    return [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]


def cell(words: str) -> str:
    (source,) = [source for source in cells() if words in source]
    return source


def solved() -> dict:
    """The notebook's own solutions."""
    names = {"torch": torch, "F": F, "exercise": lambda f: f}
    for source in cells():
        if "@exercise" in source:
            exec(source, names)
    return names


SOLVED = solved()
REFERENCE = {name: exercise.reference for name, exercise in exercises("12").items()}
BOTH = pytest.mark.parametrize("answers", [SOLVED, REFERENCE], ids=["solution", "reference"])
IDS = torch.randint(13, (2, 9), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def lab():
    return load("lab")


def layer_of(heads: int, width: int) -> tuple:
    """transformers' own attention module of a tiny model, and its weights as the exercises take them."""
    attn = tiny_gpt2(layers=1, heads=heads, width=width).transformer.h[0].attn
    return attn, (attn.c_attn.weight, attn.c_attn.bias, attn.c_proj.weight, attn.c_proj.bias, heads)


def rows(batch: int, length: int, width: int) -> torch.Tensor:
    return torch.randn(batch, length, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


# --- against transformers ---------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("heads", "width"), [(1, 5), (2, 6), (3, 12), (4, 4)])
def test_packed_attention_is_that_of_transformers_module(answers, heads, width):
    attn, weights = layer_of(heads, width)
    x = rows(2, 5, width)
    mask = torch.full((5, 5), float("-inf"), dtype=x.dtype).triu(1)[None, None]
    assert torch.allclose(answers["gpt2_attention"](x, *weights), attn(x, attention_mask=mask)[0], atol=1e-12)


@BOTH
@pytest.mark.parametrize("schedule", [(1,) * 5, (2, 2, 1), (5,), (3, 2)])
def test_cached_attention_is_the_same_however_rows_are_handed_over(answers, schedule):
    _, weights = layer_of(3, 12)
    x, cache = rows(2, 5, 12), Shelf(2, 3, 4)
    found = fed(lambda part: answers["gpt2_attention_cached"](part, *weights, cache), [x], schedule, cache.reset)
    assert torch.allclose(found, answers["gpt2_attention"](x, *weights), atol=1e-12)
    assert cache.length == 5


@BOTH
def test_a_head_that_looks_at_the_row_after_the_last_time_has_the_score_1(answers):
    pattern = torch.zeros(2, 11, 11)
    pattern[0, range(4, 11), range(1, 8)] = 1
    pattern[1, range(4, 11), range(7)] = 1
    assert answers["induction_score"](pattern, 4).tolist() == [1, 0]


# --- the catalogue ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(REFERENCE))
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def layer(x, W, b, P, c, H, cut=lambda packed, d: packed.split(d, dim=-1), d=None, causal=True):
    B, T, width = x.shape
    q, k, v = (part.view(B, T, H, -1).transpose(1, 2) for part in cut(x @ W + b, width))
    blend = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=(d or width // H) ** -0.5)
    return blend.transpose(1, 2).reshape(B, T, width) @ P + c


def cached(x, W, b, P, c, H, cache, mask=None, seen=True):
    """SDPA with its own causal flag, which begins at the upper left."""
    B, T, _ = x.shape
    q, k, v = (part.view(B, T, H, -1).transpose(1, 2) for part in (x @ W + b).chunk(3, -1))
    if seen:
        k, v = cache.append(k, v)
    blend = F.scaled_dot_product_attention(q, k, v, is_causal=mask is None and T > 1)
    return blend.transpose(1, 2).flatten(2) @ P + c


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        (
            "gpt2_attention",
            lambda *a: layer(*a, cut=lambda p, d: (p[..., d : 2 * d], p[..., :d], p[..., 2 * d :])),
            "k_q_v",
        ),
        (
            "gpt2_attention",
            lambda *a: layer(*a, cut=lambda p, d: p.view(*p.shape[:2], a[5], 3, -1).unbind(3)),
            "packed_head_by_head",
        ),
        (
            "gpt2_attention",
            lambda *a: layer(*a, cut=lambda p, d: p.view(*p.shape[:2], d, 3).unbind(-1)),
            "every_third",
        ),
        ("gpt2_attention", lambda x, W, b, P, c, H: layer(x, W, 0 * b, P, c, H), "c_attn_bias_forgotten"),
        ("gpt2_attention", lambda x, W, b, P, c, H: layer(x, W, b, P, 0 * c, H), "c_proj_bias_forgotten"),
        ("gpt2_attention", lambda x, W, b, P, c, H: layer(x, W, b, P.T, c, H), "c_proj_turned"),
        ("gpt2_attention", lambda *a: layer(*a, d=a[0].shape[-1]), "scaled_by_width"),
        ("gpt2_attention", lambda *a: layer(*a, d=a[0].shape[-1], causal=False), "scaled_by_width+unmasked"),
        (
            "gpt2_attention",
            lambda x, W, b, P, c, H: layer(x, W, 0 * b, P, 0 * c, H),
            "c_attn_bias_forgotten+c_proj_bias_forgotten",
        ),
        ("gpt2_attention", lambda x, W, b, P, c, H: F.linear(x, W, b), "taken_for_linear"),
        ("gpt2_attention_cached", lambda *a: cached(*a, seen=False), "nothing_kept"),
        ("gpt2_attention_cached", lambda *a: cached(*a, mask=False), "unmasked"),
        ("gpt2_attention_cached", lambda x, W, b, P, c, H, cache: layer(x, W, b, P, c, H), "nothing_kept"),
        ("induction_score", lambda p, n: p.diagonal(-n, -2, -1).mean(-1), "same_word"),
        ("induction_score", lambda p, n: p.diagonal(1 - n, -2, -1).mean(-1), "one_row_early"),
        ("induction_score", lambda p, n: p.diagonal(1 - n, -2, -1)[..., 2:].mean(-1), "one_row_late"),
        ("induction_score", lambda p, n: p.diagonal(-1, -2, -1).mean(-1), "previous_word"),
    ],
)
def test_answers_written_another_way_than_in_the_catalogue_get_their_names(name, answer, mistake):
    assert judge(name, answer).mistake == mistake


# --- attention put into models ----------------------------------------------------------------------------------------


def own_logits(model, ids=IDS):
    with torch.no_grad():
        return model(ids, use_cache=False).logits


@BOTH
def test_a_models_logits_are_its_own_with_your_attention_and_afterwards(answers):
    model = tiny_gpt2(layers=3, heads=3, width=12)
    before = own_logits(model)
    with attention_replaced(model, answers["gpt2_attention"]):
        assert torch.allclose(own_logits(model), before, atol=1e-10)
    with attention_replaced(model, lambda x, *weights: 0 * x):
        assert not torch.allclose(own_logits(model), before)
    assert torch.equal(own_logits(model), before)
    assert model.config.use_cache and all("forward" not in vars(block.attn) for block in model.transformer.h)


def test_every_block_hands_over_its_own_weights_and_its_own_cache():
    model, handed = tiny_gpt2(layers=3), []

    def attention(x, *given):
        handed.append(given)
        return 0 * x

    with attention_replaced(model, attention, caches=["first", "second", "third"]):
        own_logits(model)
    assert [given[-1] for given in handed] == ["first", "second", "third"]
    for given, block in zip(handed, model.transformer.h, strict=True):
        assert given[0] is block.attn.c_attn.weight and given[2] is block.attn.c_proj.weight and given[4] == 2


def test_a_models_own_attention_comes_back_when_an_exception_leaves_the_block():
    model = tiny_gpt2()
    before = own_logits(model)
    with pytest.raises(ZeroDivisionError), attention_replaced(model, lambda x, *weights: 1 / 0):
        own_logits(model)
    assert torch.equal(own_logits(model), before)


def test_a_llamas_logits_are_its_own_with_the_pages_attention():
    names = {"torch": torch, "F": F, "charts": charts, "tiny_llama": tiny_llama, "some": IDS, "print": lambda *_: None}
    exec(cell("def llama_attention"), names)
    for sizes in ({"heads": 4, "kv_heads": 2}, {"heads": 6, "kv_heads": 2, "width": 24, "layers": 3}):
        model = tiny_llama(**sizes)
        with attention_replaced(model, names["llama_attention"]):
            found = own_logits(model)
        assert torch.allclose(found, own_logits(model), atol=1e-5)


def test_what_would_be_quietly_wrong_is_refused():
    attention = REFERENCE["gpt2_attention"]
    with pytest.raises(ValueError, match=r"eval\(\)"), attention_replaced(tiny_gpt2().train(), attention):
        pass
    with (
        pytest.raises(ValueError, match="2 blocks, and there are 1"),
        attention_replaced(tiny_gpt2(), attention, [None]),
    ):
        pass
    model = tiny_gpt2()
    with pytest.raises(ValueError, match="use_cache=False"), attention_replaced(model, attention):
        model(IDS, use_cache=True)
    model.config.scale_attn_by_inverse_layer_idx = True
    with pytest.raises(ValueError, match="scores"), attention_replaced(model, attention):
        pass


@pytest.mark.parametrize("piece", [1, 4, 9])
def test_text_written_with_a_cache_is_that_of_transformers_own(piece):
    names = {"torch": torch, "F": F, "attention_replaced": attention_replaced, "exercises": exercises} | SOLVED
    source = cell("def write_cached")
    exec(source[: source.index("\n\n\nfor piece")], names)
    model = tiny_gpt2(layers=3, heads=3, width=12)
    seen = torch.ones_like(IDS)  # else every token 0 counts as padding
    theirs = model.generate(IDS, attention_mask=seen, max_new_tokens=12, do_sample=False, pad_token_id=0)
    assert torch.equal(names["write_cached"](model, IDS, 12, piece), theirs)
    assert not torch.equal(names["write_cached"](model, IDS, 12, piece, placed=False), theirs)


# --- what the page shows ----------------------------------------------------------------------------------------------


def test_the_pattern_of_the_model_tells_how_its_columns_are_packed(lab):
    ids = lab.encode("the boat left the bank", start=True)
    packed = lab.model.transformer.h[0].attn.c_attn(charts.first_rows(lab.model, ids))[0]
    own = charts.patterns_of(lab.model, ids)[0, :, 0]
    errors = {name: charts.pattern_error(packed, own, 4, order(64, 4)) for name, order in charts.PACKED.items()}
    assert errors.pop("q, then k, then v") < 1e-5 and min(errors.values()) > 0.5


def test_every_choice_of_the_first_slider_has_a_picture_and_words(lab):
    def write(model, ids, n):
        return torch.cat([ids, ids[:, :n]], dim=1)

    told = charts.openings(lab, 2, 60)
    assert told.shape == (2, 60)
    right = charts.compared(lab, told, "yours", SOLVED["gpt2_attention"], write)
    attention = SOLVED["gpt2_attention"]
    wrong = charts.compared(lab, told, "no bias", lambda x, W, b, P, c, H: attention(x, W, 0 * b, P, 0 * c, H), write)
    assert right.agree == 60 and right.same == 1 and wrong.agree < 5
    assert "60 of 60 positions agree" in picture(charts.apart_chart(60, 19.0), right).alt
    assert wrong.text in picture(charts.apart_chart(60, 19.0), wrong).alt


@pytest.mark.parametrize("period", [4, 9, 16])
def test_the_second_slider_works_over_its_range(lab, period):
    from attention_lab.widgets import PatternData

    names = SOLVED | {"charts": charts, "lab": lab, "PatternData": PatternData}
    exec(cell("def look(").split("\n\n\n")[0], names)
    for layer_number in range(3):
        for head in range(4):
            data = names["look"](period, layer_number, head)
            assert np.asarray(data.pattern).shape == (24, 24) == (len(data.queries), len(data.keys))
            assert all(0 <= bar <= 1 for bar in data.bars.values())


def test_the_layer_of_induction_heads_and_the_head_that_they_rest_on(lab):
    ids = charts.recited(lab, 16)
    assert ids.shape == (6, 33) and torch.equal(ids[:, 1:17], ids[:, 17:])
    pattern = charts.patterns_of(lab.model, ids)[..., 1:, 1:]
    scores = SOLVED["induction_score"](pattern, 16).mean(-1)
    assert scores[1].min() > 0.6 and scores[[0, 2]].max() < 0.1
    losses = {}
    for heads in ((), ((0, 3),), ((1, 3), (1, 1)), ((1, 0), (1, 2))):
        with heads_off(lab.model, heads), torch.no_grad():
            logits = lab.model(ids, use_cache=False).logits[:, 17:-1]
        losses[heads] = float(F.cross_entropy(logits.mT, ids[:, 18:]))
    none, needed, best, rest = losses.values()
    assert none < rest < best < needed and best > 10 * none


def test_the_chart_of_pairs_says_which_pair_costs_what():
    pairs = charts.pairs_without([(1, 3), (1, 1)], 3, 4)
    assert len(pairs) == 45
    losses = {pair: 11.0 + i / 100 if (0, 3) in pair else i / 100 for i, pair in enumerate(pairs)}
    data = charts.pairs_data(losses, 4.5, (0, 3), "1.3 and 1.1")
    alt = picture(charts.pairs_chart("0.3", "1.3 and 1.1"), data).alt
    assert alt.startswith(
        "Without 1.3 and 1.1 the loss is 4.50; other pairs cost at most 0.44, those with 0.3 at least 11."
    )


def test_a_real_model_is_compared_with_as_many_other_heads(lab):
    found = charts.switched_off(lab, SOLVED["induction_score"], period=8, best=2, controls=3, first=300)
    none, *sets = found
    assert none == "no head" and len(sets) == 4 and all(len(name.split()) == 2 for name in sets)
    assert set(sets[0].split()) <= {f"1.{head}" for head in range(4)} and not set(sets[0].split()) & set(
        sets[1].split()
    )
    assert all(np.isfinite(loss) for loss in found.values())
