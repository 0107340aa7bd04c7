"""Controls check what comes back from the browser."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.widgets import Choice, Slider, Toggle

TEMPERATURE = Slider("temperature", 0.05, 5.0, 1.0, step=0.05, unit="nats")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_slider_gives_a_step_between_its_ends(sent):
    value = TEMPERATURE.to_python(sent)
    assert 0.05 <= value <= 5.0
    assert math.isclose((value - 0.05) / 0.05, round((value - 0.05) / 0.05), abs_tol=1e-6)


def test_a_slider_of_whole_numbers_gives_whole_numbers():
    value = Slider("n", 2, 64, 8).to_python(9.0)
    assert (value, type(value)) == (9, int)


def test_a_slider_gives_the_number_that_it_shows():
    assert TEMPERATURE.to_python(0.1 + 0.05 + 0.15) == 0.3


@pytest.mark.parametrize("sent", [math.nan, math.inf, "3", None, True, [1]])
def test_a_slider_refuses_what_is_no_number(sent):
    with pytest.raises(ValueError, match="temperature is"):
        TEMPERATURE.to_python(sent)


def test_a_slider_says_how_it_is_drawn():
    spec = TEMPERATURE.spec()
    assert spec["label"] == "temperature"
    assert spec["decimals"] == 2
    assert Slider("d_k", 1, 4, 1).spec()["label"] == "d k"
    assert Slider("x", -1.0, 1.0, 0.0, step=0.125).spec()["decimals"] == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"low": 2, "high": 1}, "not below"),
        ({"value": 9}, "the start 9"),
        ({"step": 0}, "no step"),
        ({"step": 7}, "no step"),
    ],
)
def test_an_impossible_slider_is_refused_when_it_is_made(wrong, said):
    with pytest.raises(ValueError, match=said):
        Slider(**({"name": "n", "low": 0, "high": 4, "value": 2} | wrong))


def test_a_choice_gives_the_option_of_that_number():
    choice = Choice("mask", ["none", 0.5], "none")
    assert [choice.to_python(i) for i in (0, 1)] == ["none", 0.5]
    assert choice.to_browser(0.5) == 1
    for sent in (2, -1, "none", True, None):
        with pytest.raises(ValueError, match="no option"):
            choice.to_python(sent)
    with pytest.raises(ValueError, match="not one of"):
        Choice("mask", ["a"], "b")


def test_a_toggle_is_on_or_off():
    assert Toggle("mask").to_python(True) is True
    with pytest.raises(ValueError, match="neither"):
        Toggle("mask").to_python(1)
