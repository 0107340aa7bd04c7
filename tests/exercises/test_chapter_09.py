"""Chapter 09: the last row, attention off, greedy text and loops, against transformers and against the definition."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest

from attention_lab.checking import judge
from attention_lab.exercises import chapter_09, exercises
from attention_lab.figures import chapter_09 as charts
from attention_lab.figures import picture
from attention_lab.models import load
from attention_lab.probes.tiny_models import tiny_gpt2, tiny_llama

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

REFERENCE = {name: exercise.reference for name, exercise in exercises("09").items()}
MODELS = {"gpt2": tiny_gpt2, "llama": tiny_llama}
IDS = torch.tensor([[3, 1, 4, 10, 5]])

both = pytest.mark.parametrize("kind", MODELS)


def rows(model, ids=IDS):
    return model.base_model(ids).last_hidden_state[0]


# --- the experiment ---------------------------------------------------------------------------------------------------


@both
def test_with_attention_off_a_swapped_token_moves_its_own_row_only(kind):
    model = MODELS[kind]()
    for place in range(IDS.shape[1]):
        other = IDS.clone()
        other[0, place] = 7
        moved = (rows(model) != rows(model, other)).any(-1).tolist()
        assert moved == [False] * place + [True] * (IDS.shape[1] - place)
        with REFERENCE["attention_off"](model):
            assert (rows(model) != rows(model, other)).any(-1).tolist() == [t == place for t in range(IDS.shape[1])]


@both
def test_after_attention_was_off_everything_is_as_before(kind):
    model = MODELS[kind]()
    before = rows(model)
    with pytest.raises(KeyError), REFERENCE["attention_off"](model):
        raise KeyError
    assert torch.equal(rows(model), before)
    assert not any(module._forward_hooks for module in model.modules())


@both
def test_the_last_row_gives_the_last_logits(kind):
    model = MODELS[kind]()
    row = REFERENCE["last_row"](model, IDS)
    assert torch.allclose(model.lm_head(row), model(IDS).logits[0, -1])


@both
@pytest.mark.parametrize("seed", range(3))
def test_greedy_text_is_that_of_generate(kind, seed):
    model = MODELS[kind](seed=seed)
    theirs = model.generate(IDS, attention_mask=torch.ones_like(IDS), max_new_tokens=9, do_sample=False, pad_token_id=0)
    assert torch.equal(REFERENCE["greedy_decode"](model, IDS, 9), theirs)


@pytest.mark.parametrize(("kind", "n"), [("gpt2", 4), ("llama", 5)])
def test_in_the_texts_of_the_cases_it_counts_what_is_read_and_whose_logits(kind, n):
    for seed, ids in chapter_09.LIVELY[kind]:
        model, T = MODELS[kind](seed=seed, layers=1, vocabulary=11), len(ids)
        ways = [{"row": row} for row in chapter_09._ROWS]
        ways += [{"given": given} for given in chapter_09._GIVEN if T > 2 and given != "right"]
        texts = [chapter_09._greedy_template(model, torch.tensor([ids]), n, **way)[0].tolist() for way in ways]
        assert len({tuple(text) for text in texts}) == len(texts)
        assert len(set(texts[0][T:])) >= 3 and len(set(texts[0][:-1])) < T + n - 1


# --- loops ------------------------------------------------------------------------------------------------------------


def by_definition(tokens):
    """The smallest period of which two turns stand at the end, and the first index from which it holds."""
    T = len(tokens)

    def holds(start, period):
        return all(tokens[i] == tokens[i + period] for i in range(start, T - period))

    for period in range(1, T):
        starts = [s for s in range(T - 2 * period + 1) if holds(s, period)]
        if starts:
            return starts[0], period
    return None


@pytest.mark.parametrize("T", range(9))
def test_loops_of_all_short_texts(T):
    for tokens in product(range(3), repeat=T):
        assert REFERENCE["find_cycle"](torch.tensor(tokens, dtype=torch.int64)) == by_definition(tokens)


@pytest.mark.parametrize("seed", range(20))
def test_a_map_is_walked_into_its_loops(seed):
    rng = np.random.default_rng(seed)
    V = int(rng.integers(1, 40))
    following = rng.integers(V, size=V)
    found, steps = charts.loops(following), charts.steps_to_loop(following)
    assert sum(loop.basin for loop in found) == V
    for start in range(V):
        walk = charts.path(following, start, 3 * V + 2)
        first, period = REFERENCE["find_cycle"](torch.tensor(walk)) or (None, None)
        loop = next(loop for loop in found if walk[-1] in loop.tokens)
        assert (first, period) == (steps[start], len(loop.tokens))
    assert charts.walked(following, V).tolist() == sorted(token for loop in found for token in loop.tokens)


@both
def test_with_attention_off_a_llamas_text_follows_its_map_and_a_gpt2s_need_not(kind):
    model = MODELS[kind](vocabulary=13)
    with REFERENCE["attention_off"](model):
        following = model(torch.arange(13)[:, None]).logits[:, -1].argmax(-1)
        texts = [REFERENCE["greedy_decode"](model, torch.tensor([[t]]), 20)[0].tolist() for t in range(13)]
    follow = [text == charts.path(following, text[0], 20) for text in texts]
    assert all(follow) == (kind == "llama")


# --- how it is judged -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(REFERENCE))
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def test_two_mistakes_at_once_are_both_named():
    @contextmanager
    def first_block_and_never_restored(model):
        module = next(m for n, m in model.named_modules() if n.endswith(("attn.c_proj", "attn.o_proj")))
        module.register_forward_hook(lambda module, inputs, output: output * 0)
        yield

    assert judge("attention_off", first_block_and_never_restored).mistake == "first_block_only+never_restored"


def test_a_class_that_was_written_into_is_as_before():
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    forward = GPT2Attention.forward

    @contextmanager
    def for_ever(model):
        for module in model.modules():
            if type(module).__name__.endswith("Attention"):
                type(module).forward = lambda self, hidden_states, *args, **kwargs: (0 * hidden_states, None)
        yield

    assert judge("attention_off", for_ever).status != "passed"
    assert GPT2Attention.forward is forward


def test_a_card_writes_the_with_block():
    verdict = judge(
        "attention_off", next(m.answer for m in exercises()["attention_off"].mistakes if m.id == "no_llama")
    )
    assert verdict.call.startswith("# a Llama\nwith attention_off(model):\n    rows of model")


# --- data and figures -------------------------------------------------------------------------------------------------


@both
def test_a_block_adds_to_its_rows(kind):
    for added in charts.stream(MODELS[kind](), IDS):
        assert torch.equal(added.after, added.before + added.attention + added.mlp)


@pytest.fixture(scope="module")
def lab():
    return load("lab")


def test_the_pieces_of_a_row_add_up_and_the_chart_says_which_one_decides(lab):
    ids = lab.encode("the boat left the bank", start=True)
    parts = charts.pieces(lab, ids)
    with torch.no_grad():
        assert torch.allclose(
            lab.parts.final_norm(sum(parts.values())), REFERENCE["last_row"](lab.model, ids), atol=1e-5
        )
        data = charts.said_so_far(lab, ids, ("muddy", "closed"))
    alt = picture(charts.said_chart(list(parts), ("muddy", "closed")), data).alt
    assert alt.startswith("muddy comes with attention 2: from 0.07 to 1.00")


def test_the_map_of_swaps_is_a_diagonal_with_all_blocks_off(lab):
    ids, others = lab.encode("the boat left the bank"), lab.encode("two clerk found two light")
    with charts.blocks_off(lab.model, range(3)):
        seen = charts.swaps(lab, ids, others, (ids, others), ("muddy", "closed"))
    assert ((seen.moved > 0) == np.eye(5, dtype=bool)).all()
    chart = charts.swap_chart(lab.tokens(ids), lab.tokens(others), 1, ("boat", "clerk"), ("muddy", "closed"))
    assert picture(chart, seen).alt.startswith("boat → clerk moves the row of boat only.")


def test_the_map_says_its_loops_and_the_walk():
    following = np.array([1, 2, 1, 0, 4])
    alt = picture(charts.map_chart(following, list("abcde")), (3, 3)).alt
    assert alt == (
        "After 3 steps 3 of 5 tokens are possible. The walk: d → a → b → c. "
        "2 loops: b → c (4 of 5 tokens end there); e (1 of 5 tokens end there)."
    )
