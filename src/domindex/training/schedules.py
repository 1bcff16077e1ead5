"""How weights and learning rates move over a training."""

from __future__ import annotations

import math


def adversary_ramp(progress: float) -> float:
    """2 / (1 + exp(−10 p)) − 1: an adversary at full weight from the start collapses z."""
    return 2.0 / (1.0 + math.exp(-10.0 * progress)) - 1.0


def warm_up_and_decay(step: int, n_steps: int, warm_up: int, floor: float = 0.05) -> float:
    """Linear warm-up, a plateau for the first half, then a cosine down to `floor`."""
    rise = min(1.0, (step + 1) / max(warm_up, 1))
    late = max(0.0, 2.0 * step / max(n_steps, 1) - 1.0)
    fall = floor + (1.0 - floor) * 0.5 * (1.0 + math.cos(math.pi * late))
    return rise * fall
