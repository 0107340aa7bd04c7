"""Judge an answer: compare, name the mistake, find the smallest counterexample, show a card, record progress."""

from attention_lab.checking.check_cells import must_pass
from attention_lab.checking.judging import Verdict, judge

__all__ = ["Verdict", "judge", "must_pass"]
