"""What all tests share."""

from __future__ import annotations

import os

# One thread, set before anything imports torch: with more, a busy machine of two cores spends its time spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")
