"""No hostile submission gains an undeserved point, or harms another exercise, another learner, or the marker."""

from __future__ import annotations

import pytest
from tests.grading.books import made, saved
from tests.grading.hostile import HOSTILE, KILLING, Hostile

from attention_lab.grading.marker import Marked, Marker
from attention_lab.grading.report import Report, Row

EVERYTHING = {"hard_lookup", "softmax", "soft_lookup"}


def right(marked: Marked) -> set[str]:
    return {v["name"] for v in marked.verdicts if v["status"] == "passed"} & EVERYTHING


def test_there_are_at_least_sixty_and_their_names_differ() -> None:
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE) >= 60


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda h: h.name)
def test_it_gains_nothing_and_harms_nobody(hostile: Hostile, marker: Marker, protected: bool) -> None:
    if hostile.linux and not protected:
        pytest.skip("this machine lacks the protection")
    cells = {"softmax": hostile.softmax} | ({"soft_lookup": hostile.later} if hostile.later else {})
    content = saved(made("03", cells, hostile.before, hostile.after))
    marked = marker.mark(content)
    assert marked.status == "marked"
    assert right(marked) == hostile.right, [(v["name"], v["status"], v["message"]) for v in marked.verdicts[:3]]
    page = Report([Row("l", "f", "marked", "", "03", marked.verdicts, marked.notes)], {"softmax": 1.0}, "").pages()
    assert "<b>" not in "".join(page.values())
    if hostile in KILLING:
        assert right(marker.mark(saved(made("03")))) == EVERYTHING
