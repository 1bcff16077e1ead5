"""The settings of the paper's authors for each of their datasets, beside our one default.

They are facts of the authors' release: dimensions, weights, rates and the kind of discriminator.
Epochs become steps: an epoch there sees every row of a domain once.
"""

from __future__ import annotations

from typing import Any

from domindex.errors import InputError

_SHARED = {
    "index_dim": 2,
    "width": 512,
    "latent_dim": 512,
    "prior": "network",
    "admission": 0.0,
    "index_rate": 1.0,
    "motion_decay": 0.0,
}


def _preset(
    local_dim: int,
    aggregation: str,
    adversary: str,
    weights: tuple[float, float, float, float, float],
    learning_rate: float,
    steps: int,
    batch_size: int,
    pretraining_steps: int = 0,
) -> dict[str, Any]:
    """`weights`: adversary, reconstruction of x, contrastive, u from β, prior of β."""
    names = ("adversary", "input", "contrastive", "local", "prior")
    return {
        **_SHARED,
        "local_dim": local_dim,
        "aggregation": aggregation,
        "adversary": adversary,
        **{f"{name}_weight": weight for name, weight in zip(names, weights)},
        "learning_rate": learning_rate,
        "steps": steps,
        "batch_size": batch_size,
        "pretraining_steps": pretraining_steps,
    }


PRESETS = {
    "circle": _preset(2, "mean", "domain", (0.2, 300, 0.1, 0.1, 0.1), 1.1e-4, 5000, 16),
    "dg-15": _preset(4, "exact", "graph", (0.6, 10, 1.0, 0.8, 0.1), 3.2e-4, 1500, 32, 1500),
    "dg-60": _preset(4, "exact", "graph", (0.35, 7, 0.4, 0.8, 0.1), 1e-4, 1500, 32, 1500),
    "tpt-48-w-e": _preset(8, "sinkhorn", "domain", (0.4, 500, 0.8, 0.8, 0.6), 3e-5, 4500, 16),
    "tpt-48-n-s": _preset(8, "sinkhorn", "domain", (0.3, 10, 0.8, 0.8, 0.6), 3e-5, 4500, 16, 4500),
}


def find_preset(name: str) -> dict[str, Any]:
    """The authors' settings for a dataset; InputError where they have none."""
    if name not in PRESETS:
        raise InputError(f"preset is {name!r}. Choose one of {sorted(PRESETS)}.")
    return dict(PRESETS[name])
