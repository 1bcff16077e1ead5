"""What can be set about a training, apart from the model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSettings:
    """One configuration for every dataset.

    Attributes
    ----------
    index_steps, steps : steps of the indices' block and of the encoding's
    batch_size : rows of each domain in a step
    max_domains : domains in a step; where there are more, each step draws that many
    learning_rate : of the encoding's block and its adversary
    index_learning_rate : of the indices' block
    flow_learning_rate : share of the learning rate at which a flow's coefficients move
    map_learning_rate : multiple of the learning rate at which an affine map of β moves
    predictor_learning_rate : multiple of the learning rate at which the predictor moves
    index_refreshes : how often the map is drawn anew from the local indices while they learn
    average : decay of the moving average of weights that predicts
    clip : largest norm of a gradient
    link_quantile : share of the closest pairs that the inferred domain graph joins
    admission : share of the encoding's steps over which targets are admitted, nearest first; 0
        admits all at once
    starts : how often the encoding's block starts afresh; the start that predicts the sources
        best and most smoothly along the map is kept
    warm_up : steps over which the learning rate rises at the start of each block
    """

    index_steps: int = 200
    steps: int = 500
    batch_size: int = 32
    max_domains: int = 128
    learning_rate: float = 3e-3
    index_learning_rate: float = 1e-3
    flow_learning_rate: float = 0.1
    map_learning_rate: float = 2.0
    predictor_learning_rate: float = 5.0
    index_refreshes: int = 4
    average: float = 0.99
    clip: float = 5.0
    link_quantile: float = 0.2
    admission: float = 0.0
    starts: int = 1
    warm_up: int = 50
