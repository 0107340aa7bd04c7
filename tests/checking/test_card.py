"""A card says the same in HTML and in plain text, without colour, and nothing in it can become markup."""

from __future__ import annotations

from html.parser import HTMLParser

from attention_lab.checking import Verdict
from attention_lab.checking.card import card_of

VERDICT = Verdict(
    "pattern",
    "wrong",
    "unscaled",
    "Not <b>divided</b>.",
    "How do they grow?",
    "pattern(q, k)",
    "[1.]",
    "[2.]",
    notes=("It also printed: <script>alert(1)</script>",),
)


class Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] != "style":
            self.words += data.split()


def test_both_forms_hold_the_same_words() -> None:
    card = card_of(VERDICT)
    page = Words()
    page.feed(card.html())
    text = card.text().replace(":", " ").split()
    assert sorted(w.strip(":") for w in page.words if w.strip(":")) == sorted(text)


def test_a_learners_text_never_becomes_markup() -> None:
    page = Words()
    page.feed(card_of(VERDICT).html())
    assert set(page.tags) == {"style", "div", "p", "pre", "strong"}


def test_the_status_is_in_words_and_in_the_label() -> None:
    html = card_of(VERDICT).html()
    assert 'aria-label="✗ pattern: not yet"' in html and 'role="group"' in html
    assert 'data-status="wrong"' in html and 'data-exercise="pattern"' in html


def test_the_bundle_has_both_forms() -> None:
    bundle = card_of(VERDICT)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"].startswith("✗ pattern: not yet")
