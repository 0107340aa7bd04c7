"""Chapter 11: caches against transformers' own, pieces against one reading, bytes against torch's count."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.checking import judge
from attention_lab.checking.describe import call_text
from attention_lab.checking.judging import implementation
from attention_lab.exercises import chapter_11, exercises
from attention_lab.figures import chapter_11 as charts
from attention_lab.figures import picture
from attention_lab.probes.chapter_11 import SCRIPTS, Shelf, fed, pieces

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from attention_lab.models import load  # noqa: E402
from attention_lab.probes.tiny_models import tiny_gpt2, tiny_llama  # noqa: E402

REFERENCE = {name: exercise.reference for name, exercise in exercises("11").items()}
SCHEDULES = [(1, 1, 1, 1, 1), (2, 2, 1), (5,), (1, 4), (3, 2)]


@pytest.fixture(scope="module")
def lab():
    torch.set_num_threads(1)
    return load("lab")


def read_again(model, ids, n):
    for _ in range(n):
        with torch.no_grad():
            ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    return ids


# --- against the library ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_cache_gives_what_a_layer_of_transformers_own_gives(schedule):
    from transformers.cache_utils import DynamicLayer

    ours, theirs = REFERENCE["KVCache"](), DynamicLayer()
    k, v = torch.randn(2, 2, 3, 5, 4)
    for _ in range(2):
        for piece in pieces(schedule):
            got, expected = ours.append(k[:, :, piece], v[:, :, piece]), theirs.update(k[:, :, piece], v[:, :, piece])
            assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
            assert ours.length == theirs.get_seq_length()
        ours.reset()
        theirs.reset()
        assert ours.length == 0


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("make", [REFERENCE["KVCache"], lambda: Shelf(2, 3, 4)], ids=["ours", "the shelf of cases"])
def test_pieces_of_any_size_give_the_blends_of_full_attention(schedule, make):
    q, k, v = torch.randn(3, 2, 3, 5, 4, dtype=torch.float64)
    full = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    cache = make()
    got = fed(lambda *piece: REFERENCE["cached_attention"](*piece, cache), (q, k, v), schedule, cache.reset)
    assert torch.allclose(got, full)


@pytest.mark.parametrize("make", [tiny_gpt2, tiny_llama])
def test_greedy_text_is_that_of_full_reading_and_of_generate(make):
    model = make(layers=2, vocabulary=50)
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    got = REFERENCE["cached_greedy"](model, ids, 8)
    assert torch.equal(got, read_again(model, ids, 8))
    assert torch.equal(got, model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0))


def test_the_formula_is_what_torch_counts_and_what_was_published():
    for model, kv_heads in ((tiny_gpt2(heads=4, width=16), 4), (tiny_llama(heads=4, kv_heads=1, width=16), 1)):
        cache = model(torch.ones(3, 5, dtype=torch.long), use_cache=True).cache
        assert REFERENCE["cache_bytes"](2, kv_heads, 4, 5, 3, 8) == charts.kept_bytes(cache)
        assert charts.shape_of(model.config) == charts.Shape(2, 4, kv_heads, 4)
    assert REFERENCE["cache_bytes"](30, 3, 64, 1, 1, 4) == 46_080  # SmolLM2-135M, float32
    assert REFERENCE["cache_bytes"](32, 32, 128, 1, 1, 2) == 512 * 1024  # Llama 2 7B, half precision


def test_shared_heads_are_repeated_as_in_llama():
    from transformers.models.llama.modeling_llama import repeat_kv

    x = torch.randn(2, 3, 5, 4)
    for times in (1, 2, 4):
        assert torch.equal(REFERENCE["repeat_kv"](x, times), repeat_kv(x, times))


# --- bugs that single rows do not show --------------------------------------------------------------------------------

UNSEEN = """mask_top_left_for_several unmasked mask_for_prompts_only cache_hidden_from_several only_itself_of_the_new
emptied_by_several""".split()


@pytest.mark.parametrize("name", UNSEEN)
def test_a_bug_that_shows_with_two_new_rows_only_is_named_and_shown_with_two(name):
    exercise = exercises()["cached_attention"]
    (mistake,) = [m for m in exercise.mistakes if m.id == name]
    wrong = implementation(exercise, mistake)
    q, k, v = torch.randn(3, 1, 2, 5, 4, dtype=torch.float64)
    args = (q, k, v, (1, 1, 1, 1, 1))
    assert torch.allclose(
        SCRIPTS["cached_in_pieces"](wrong, args), SCRIPTS["cached_in_pieces"](exercise.reference, args)
    )
    verdict = judge("cached_attention", wrong)
    assert verdict.mistake == name
    assert "1:3, :]" in verdict.call or "0:2, :]" in verdict.call or "[:, :, 1:3]" in verdict.call


def test_every_stateful_exercise_is_judged_under_the_schedules_of_the_course():
    for name in ("KVCache", "cached_attention"):
        cases = exercises()[name].cases(np.random.default_rng(0))
        seen = {case.args[-1] for case in cases}
        assert {(1, 1, 1, 1, 1), (2, 2, 1), (5,), (2, 2, 1, 0, 1, 2)} <= seen, name


def test_reading_all_again_has_right_tokens_and_a_name():
    verdict = judge("cached_greedy", read_again)
    assert verdict.mistake == "recomputed"
    assert verdict.got.startswith(verdict.expected.rpartition(",")[0])


def test_what_cases_hand_over_answers_no_exercise():
    assert not judge("KVCache", Shelf).passed
    with pytest.raises(ValueError, match=r"\(1, 2, t, 4\), not \(1, 3, 2, 4\)"):
        Shelf(1, 2, 4).append(*torch.zeros(2, 1, 3, 2, 4))


# --- what a card says -------------------------------------------------------------------------------------------------


def test_a_card_writes_the_calls_of_a_schedule():
    exercise = exercises()["KVCache"]
    case = next(c for c in exercise.cases(np.random.default_rng(0)) if c.args[-1] == (2, 0, 1))
    lines = call_text(exercise, case).splitlines()
    assert lines[:2] == ["# two rows, a reset, one row", "cache = KVCache()"]
    assert lines[2:5] == ["cache.append(k[:, :, 0:2], v[:, :, 0:2])", "cache.reset()", "cache.append(k[:, :, 2:3], v[:, :, 2:3])"]  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("name", list(REFERENCE))
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def test_two_mistakes_at_once_are_both_named():
    class KVCache:
        def __init__(self):
            self.keys, self.values = [], []

        def append(self, k, v):
            self.keys.append(k)
            self.values.append(v)
            return torch.cat(self.keys, 2), torch.cat(self.values, 2)

        @property
        def length(self):
            return len(self.keys)

        def reset(self):
            self.__init__()

    assert judge("KVCache", KVCache).mistake == "caller_s_tensors_listed+counts_calls"


def _one_for_all(rows=[]):  # noqa: B006
    """A class whose caches share a list, as a default value does."""

    class KVCache:
        kept = rows

        def append(self, k, v):
            self.kept.append((k, v))
            return tuple(torch.cat(parts, 2) for parts in zip(*self.kept, strict=True))

        @property
        def length(self):
            return sum(k.shape[2] for k, _ in self.kept)

        def reset(self):
            self.kept.clear()

    return KVCache


def test_caches_that_share_their_rows_are_told_from_caches_that_keep_too_much():
    assert judge("KVCache", _one_for_all()).mistake == "one_for_all"


# --- counts and figures -----------------------------------------------------------------------------------------------


def test_the_steps_of_the_figure_are_those_that_are_counted(lab):
    ids = lab.encode("the boat left the bank", start=True)
    for way, cache in ((read_again, False), (REFERENCE["cached_greedy"], True)):
        with charts.rows_counted(lab) as counted:
            way(lab.model, ids, 7)
        steps = [charts.step_data(13, 6, number, cache) for number in range(1, 8)]
        assert [step.now for step in steps] == counted
        assert steps[-1].rows[not cache] == sum(counted)
        assert [step.read for step in steps] == ([0, 6, 7, 8, 9, 10, 11] if cache else [0] * 7)


def test_a_step_is_drawn_and_told():
    tokens = list("abcdefgh")
    alt = picture(charts.step_chart(tokens), charts.step_data(8, 3, 4, True)).alt
    assert alt.startswith("Step 4: 1 row is computed, 5 kept keys are read. So far 6 rows, without 18.")
    assert "Queries: 1 new. Keys: 5 kept, 1 new." in alt
    alt = picture(charts.step_chart(tokens), charts.step_data(8, 3, 4, False)).alt
    assert "So far 18 rows, with a cache 6. Queries: 5 computed again, 1 new." in alt


def test_the_sizes_of_models_are_theirs(lab):
    d, shape = 768, charts.SHAPES["GPT-2 small"]
    block = 12 * d * d + 13 * d  # four matrices and an MLP of two, their biases, two norms
    assert shape.weights == pytest.approx(50257 * d + 1024 * d + 12 * block + 2 * d, rel=0.01)
    assert shape.heads * shape.head_dim == d
    assert charts.shape_of(lab.model.config) == charts.Shape(3, 4, 4, 16)


@pytest.mark.parametrize(
    ("count", "text"), [(999, "999 bytes"), (1536, "1.54 kB"), (17.18e9, "17.2 GB"), (2.5e15, "2,500 TB")]
)
def test_bytes_are_told_in_a_readable_unit(count, text):
    assert charts.size_text(count) == text


def test_the_bytes_of_every_state_of_the_sliders_are_drawn():
    chart = charts.bytes_chart()
    for shape in charts.SHAPES.values():
        for tokens, texts in ((1000, 1), (128_000, 64)):
            sizes = [2 * shape.layers * kv * shape.head_dim * tokens * texts * 4 for kv in shape.kv_choices]
            alt = picture(chart, dict(zip(charts.BARS, [*sizes, shape.weights * 4], strict=True))).alt
            assert alt.startswith("The cache holds ") and "As it is: " in alt


def test_keys_of_earlier_rows_stay_with_the_mask_and_not_without(lab):
    x = torch.randn(4, 64)
    moved = torch.cat([x[:3], x[3:] + 1])
    for layer in (0, 1, 2):
        masked, free = charts.keys_of(lab, layer), charts.keys_of(lab, layer, causal=False)
        assert torch.equal(masked(x)[:3], masked(moved)[:3])
        assert torch.equal(free(x)[:3], free(moved)[:3]) == (layer == 0)


def test_the_rounding_is_small_and_drawn(lab):
    ids = lab.encode("the boat left the bank", start=True)
    data = charts.rounding_data(ids)
    assert data["float64"] < 1e-10 and data["float32"] < 1e-3
    assert picture(charts.rounding_chart(), data).alt.startswith("Read at once and in pieces")


def test_the_work_of_a_step_is_counted_exactly(lab):
    ids = torch.ones(1, 40, dtype=torch.long)
    last, whole = charts.step_work(lab, ids, 39), charts.step_work(lab, ids, 0)
    assert last[0] * 40 == whole[0] and last[1] * 40 == whole[1]
    assert last[1] == 3 * 2 * 64 * 40  # layers, scores and blends, width, keys


def test_dropping_the_oldest_rows_is_another_computation(lab):
    ids = torch.arange(1, 21)[None]
    cache = charts.without_the_oldest(lab.model(ids[:, :-1], use_cache=True).cache, 10)
    assert cache.get_seq_length() == 9
    dropped, anew = lab.model(ids[:, -1:], cache=cache).logits[0, -1], lab.model(ids[:, 10:]).logits[0, -1]
    assert (dropped - anew).abs().max() > 0.1


def test_the_module_of_the_cases_keeps_heads_and_widths_alike():
    (gpt2, _), (llama, _) = (chapter_11._TELLING[name] for name in ("tiny_gpt2", "tiny_llama"))
    assert gpt2["heads"] == llama["kv_heads"] and gpt2["width"] // gpt2["heads"] == llama["width"] // llama["heads"]
