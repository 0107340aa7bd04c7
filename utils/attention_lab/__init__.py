"""Attention Lab: what a notebook needs. Heavy libraries load when they are first used."""

from attention_lab.checking.session import answer, exercise, hint, progress

__all__ = ["answer", "exercise", "hint", "progress"]
__version__ = "0.1.0"
