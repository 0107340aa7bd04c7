"""What runs in the worker, beside learners' code. It holds no reference, no mistake, no solution.

Nothing here imports more of the course than `checking.caller`, `checking.outcome`, `checking.facts`,
`exercises.model`, `probes`, `lesson` and `sentences`; `server.py` takes care of that.
"""
