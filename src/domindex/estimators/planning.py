"""What a training is given: rows, labels, a structure to start from and a predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import nn

from domindex.data.standardizing import InputScaler
from domindex.estimators.representation import RowRepresentation
from domindex.estimators.settings import ModelSettings
from domindex.estimators.structure import Structure
from domindex.training.problem import Problem
from domindex.training.progress import Progress


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that is settled before training.

    Attributes
    ----------
    problem : rows and labels as the training sees them
    structure : the map and the carrier to start from
    make_predictor : a fresh network of p(y|z)
    representation : how rows are normalised for the encoder; None where they are only scaled
    """

    problem: Problem
    structure: Structure
    make_predictor: Callable[[], nn.Module]
    representation: RowRepresentation | None = None


Planner = Callable[[Problem, InputScaler, ModelSettings, np.random.Generator, Progress], Plan]
