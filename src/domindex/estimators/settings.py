"""What can be set about the model."""

from __future__ import annotations

from dataclasses import dataclass, field

from domindex.model.objectives import Weights
from domindex.training.settings import TrainingSettings


@dataclass(frozen=True)
class ModelSettings:
    """The shape of the model, and how it is trained."""

    index_dim: int = 2
    local_dim: int = 4
    adversary_kinds: tuple[str, ...] = ("graph", "domain")
    width: int = 64
    training: TrainingSettings = field(default_factory=TrainingSettings)
    weights: Weights = field(default_factory=Weights)
    n_jobs: int | None = None
