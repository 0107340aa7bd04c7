"""Submissions to marks: `course.py grade FOLDER --out OUT`.

The learner's code never meets the expected values. `marker` (trusted) judges; `sandboxed` (not trusted once learners'
code has run in it) runs learners' cells and reports what calls gave; `workers` starts, times and kills; `submissions`
finds files; `report` writes; `store` keeps results; `run` and `cluster` go through a folder.

What the protection is worth. A worker can change what it reports, and nothing else: it holds no reference, the inputs
come from a secret seed, and arrays are compared in the marker. So a forged report has to hold right numbers, which is
what the exercise asks for; that an input was left unchanged is its own word. It may ask for right values of exercises
that were judged already and come before those that were not, with small inputs. On Linux with Landlock and seccomp a
worker reads libraries only, writes nowhere, has no network, and starts, signals and traces nothing; memory, time and
output are bounded; a kill cannot be outlived.

What it is not worth. It is no virtual machine: a hole in the kernel, or in one of the system calls that are left, is a
hole in it. A worker can find out whether a path exists. Where something is missing (macOS, Windows, an old kernel) the
report names it; then a learner's code can read the course's answers from the disk, so mark on Linux, or with
`--require-sandbox`. Somebody who copies a right answer from the course's files by hand gets the points for it, here as
anywhere: marks say that code is right, not whose it is.
"""
