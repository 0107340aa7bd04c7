"""Submissions to marks: `course.py grade FOLDER --out OUT`.

The learner's code never meets the expected values. `marker` (trusted) judges; `sandboxed` (not) runs learners' code
and reports what calls gave; `workers` starts, times and kills; `submissions` finds files; `report` writes.
"""
