"""What can be set about a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from sklearn.base import BaseEstimator

from domindex.errors import InputError
from domindex.inputs.parameters import require_counts, require_numbers


class Training(BaseEstimator):
    """How long and where networks are trained.

    Parameters
    ----------
    steps : training steps of the encoding; None is 500
    index_steps : training steps of the indices: they teach how sure the map is, and u itself where
        that helps the map; None is 200, and 50 with effort="quick"
    batch_size : rows of each domain in a step
    learning_rate : its peak
    device : where networks are trained: "cpu", "cuda", "mps", any other name that torch knows, such
        as "cuda:1", or "auto" for a GPU where there is one

    Examples
    --------
    >>> from domindex import Training, CrossDomainClassifier
    >>> model = CrossDomainClassifier(training=Training(steps=200))
    >>> model.set_params(training__batch_size=16).training.batch_size
    16
    """

    def __init__(
        self,
        *,
        steps: int | None = None,
        index_steps: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        device: str = "cpu",
    ) -> None:
        self.steps = steps
        self.index_steps = index_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device

    def check(self) -> None:
        """Refuse what cannot be used."""
        optional = ("steps", "index_steps")
        require_counts(self, "batch_size", *(n for n in optional if getattr(self, n) is not None))
        require_numbers(self, "learning_rate", above_zero=True)
        find_device(self.device)

    def settings(self, **defaults: Any) -> TrainingSettings:
        """Every number of a training; `defaults` stand for what is None here."""
        own = {
            name: getattr(self, name)
            for name in ("steps", "index_steps", "batch_size", "learning_rate")
            if getattr(self, name) is not None
        }
        return TrainingSettings(**{**defaults, **own})


def find_device(name: str) -> torch.device:
    """The device of that name, tried; InputError where it is not there.

    Examples
    --------
    >>> from domindex.neural.settings import find_device
    >>> find_device("cpu")
    device(type='cpu')
    """
    there = [kind for kind in ("cuda", "mps") if getattr(torch, kind).is_available()]
    if isinstance(name, str) and name == "auto":
        return torch.device([*there, "cpu"][0])
    try:
        if not isinstance(name, str):
            raise TypeError("the name of a device is a text")
        torch.zeros(1, device=name).item()
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise InputError(
            f"device is {name!r:.60}, and there is no such device here. Choose one of "
            f"{['cpu', *there]}, or 'auto'."
        ) from error


@dataclass(frozen=True)
class TrainingSettings:
    """Every number of a training: one configuration for every dataset.

    Attributes
    ----------
    index_steps, steps : steps of the indices' block and of the encoding's
    batch_size : rows of each domain in a step
    max_domains : domains in a step; where there are more, each step draws that many
    learning_rate : of the encoding's block and its adversary
    index_learning_rate : of the indices' block
    average : decay of the moving average of weights that predicts
    clip : largest norm of a gradient
    link_quantile : share of the closest pairs that the inferred domain graph joins
    warm_up : steps over which the learning rate rises at the start of each block
    norm_batches, backbone_norm_batches : batches over which the spread of z is measured for good,
        once training is over; fewer where a backbone has to see them, for time
    fold_steps, backbone_fold_steps : share of `steps` that a network takes in a fold, for time: its
        losses are a little too high, so that it has to be clearly better to be believed
    backbone_rows, backbone_domain_rows : rows that a backbone is given in a step, all domains
        together, and at least of each: it takes nearly all of the time. Not tuned
    straighten_steps, straighten_rate, warp_penalty : of a warp that straightens inputs; the penalty
        is against squared distances between whitened domains. Set on bent Circle and DG-15
    """

    index_steps: int = 200
    steps: int = 500
    batch_size: int = 32
    max_domains: int = 128
    learning_rate: float = 3e-3
    index_learning_rate: float = 1e-3
    average: float = 0.99
    clip: float = 5.0
    link_quantile: float = 0.2
    warm_up: int = 50
    norm_batches: int = 50
    backbone_norm_batches: int = 10
    fold_steps: float = 0.5
    backbone_fold_steps: float = 0.2
    backbone_rows: int = 256
    backbone_domain_rows: int = 4
    straighten_steps: int = 400
    straighten_rate: float = 5e-3
    warp_penalty: float = 0.01
