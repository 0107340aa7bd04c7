"""From `solutions/NN_topic.py` to the two notebooks of a chapter."""

from attention_lab.authoring.build import COMPARED, Chapter, build, chapters, drift, learners_copy, solved_copy

__all__ = ["COMPARED", "Chapter", "build", "chapters", "drift", "learners_copy", "solved_copy"]
