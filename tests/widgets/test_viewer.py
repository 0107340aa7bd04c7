"""`Head`, the attention viewer and the step-through without a browser: what is sent, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import Head, PatternView, Slider, attention_viewer, explore, step_through

COLUMNS = ("a", "b", "c", "d")
Q, K, V = rows() @ W_Q, rows() @ W_K, rows() @ W_V
TOKENS = "the boat left the bank again".split()


def some_patterns(layers: int = 2, heads: int = 3, t: int = 6) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(t), size=(layers, heads, t))


# -- Head ---------------------------------------------------------------------------------------------------------


def test_a_head_is_sdpa() -> None:
    q, k, v = (torch.from_numpy(x) for x in (Q[2:], K, V))
    for mask in (False, True):
        allowed = torch.ones(3, 5, dtype=torch.bool).tril(2) if mask else None
        blend = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        for asking in (1, 3):
            data = Head(Q[2:], K, V, WORDS, columns=COLUMNS, mask=mask)(asking=asking)
            assert np.allclose(list(data.bars.values()), blend[asking - 1], atol=1e-12)


def test_a_head_is_sent_once_and_tells_its_names() -> None:
    explorer = explore(Head(Q, K, V, WORDS, columns=COLUMNS), [Slider("asking", 1, 5, 5)], PatternView(WORDS, WORDS))
    spec = explorer._widget.spec
    assert np.frombuffer(spec["head"]["q"]).reshape(5, 2).tolist() == Q.tolist()
    assert (spec["head"]["T"], spec["head"]["S"], spec["head"]["width"]) == (5, 5, 4)
    assert explorer.text == "bank looks at boat 0.64, left 0.11, the 0.08."


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Head(Q, K[:, :1], None, WORDS), r"k has shape \(5, 1\)"),
        (lambda: Head(Q, K, V, WORDS, columns=("a",)), "1 column names"),
        (lambda: Head(Q, K, None, WORDS, queries=("a",)), "5 rows, and there are 1 names"),
        (lambda: Head(Q * np.nan, K, None, WORDS), "q must be a table of finite numbers"),
        (lambda: Head(Q, K, None, WORDS)(temperature=0), "must be above zero"),
        (lambda: Head(Q, K, None, WORDS)(heat=1), "a Head knows temperature, mask, scale, asking, and not heat"),
    ],
)
def test_what_a_head_refuses(make, said) -> None:
    with pytest.raises(ValueError, match=said):
        make()


# -- the viewer ---------------------------------------------------------------------------------------------------


def test_the_viewer_sends_every_head_once() -> None:
    patterns = some_patterns()
    viewer = attention_viewer(patterns, TOKENS, sizes=np.ones((2, 3, 6)), layer=1, head=2)
    widget = viewer._widget
    assert np.allclose(np.frombuffer(widget.content["patterns"], "<f4").reshape(2, 3, 6, 6), patterns)
    assert (widget.spec["layers"], widget.spec["heads"], widget.spec["keys"]) == (2, 3, TOKENS)
    best = TOKENS[int(patterns[1, 2, -1].argmax())]
    assert viewer.text.startswith(f"again looks at {best} {patterns[1, 2, -1].max():.2f}")
    assert "Run this cell to walk through heads and rows." in repr(viewer)


@pytest.mark.parametrize("shape", [(6, 6), (3, 6, 6), (2, 3, 6, 6)])
def test_fewer_axes_are_one_layer_and_one_head(shape) -> None:
    sent = attention_viewer(some_patterns()[(0,) * (4 - len(shape))], TOKENS)._widget.spec
    assert (sent["layers"], sent["heads"]) == ((1, 1, *shape[:-2]))[-2:]


def test_rows_that_ask_are_the_last_tokens() -> None:
    sent = attention_viewer(np.full((2, 6), 1 / 6), TOKENS)._widget.spec
    assert (sent["queries"], sent["T"], sent["S"]) == (["bank", "again"], 2, 6)


@pytest.mark.parametrize(
    ("what", "options", "said"),
    [
        (some_patterns(), {"layer": 2}, r"no head \(2, 0\): 2 layers, 3 heads"),
        (some_patterns(t=5), {}, "the patterns are 5 x 5, and there are 5 and 6 names"),
        (np.ones(6), {}, r"\(6,\)"),
        (np.ones((6, 6), dtype=complex), {}, "patterns are numbers"),
        (some_patterns(), {"sizes": -np.ones((2, 3, 6))}, "sizes are lengths"),
        (np.broadcast_to(np.float32(0), (400, 300, 6, 6)), {}, "4,320,000 weights are too many"),
    ],
)
def test_what_the_viewer_refuses(what, options, said) -> None:
    with pytest.raises(ValueError, match=said):
        attention_viewer(what, TOKENS, **options)


def test_a_model_is_shown_with_its_tokens_and_the_sizes_of_its_values() -> None:
    from attention_lab.models import load

    lab = load("lab")
    viewer = attention_viewer(lab, "the boat left the bank")
    ids = lab.encode("the boat left the bank")
    sent = viewer._widget
    assert sent.spec["keys"] == lab.tokens(ids)
    shape = (sent.spec["layers"], sent.spec["heads"], ids.shape[1])
    sizes = np.frombuffer(sent.content["sizes"], "<f4").reshape(shape)
    attention = lab.model.transformer.h[1].attn
    with torch.no_grad():
        hidden = lab.model(ids, output_hidden_states=True).hidden_states[1]
        values = attention.c_attn(lab.model.transformer.h[1].ln_1(hidden))[0].chunk(3, dim=-1)[2]
    expected = values.reshape(shape[2], shape[1], -1).norm(dim=-1).T
    assert np.allclose(sizes[1], expected, atol=1e-5)


# -- the step-through ---------------------------------------------------------------------------------------------


def test_the_steps_send_the_learners_own_numbers() -> None:
    steps = step_through(torch.from_numpy(Q), K, V, WORDS, rows=rows(), columns=COLUMNS, asking=2)
    sent = steps._widget.spec
    assert sent["q"] == Q.tolist() and sent["rows"] == rows().tolist()
    assert (sent["asking"], sent["choices"][1], sent["mask"]) == (1, "2 boat", False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rows": rows()[:4]}, r"rows has shape \(4, 4\)"),
        ({"asking": 9}, "no asking word number 9"),
        ({"columns": ("a",)}, "1 column names"),
    ],
)
def test_what_the_steps_refuse(options, said) -> None:
    with pytest.raises(ValueError, match=said):
        step_through(Q, K, V, WORDS, **options)


def test_more_than_a_page_holds_is_refused() -> None:
    many = np.ones((17, 2))
    with pytest.raises(ValueError, match="17 words"):
        step_through(many, many, many, [str(i) for i in range(17)])
