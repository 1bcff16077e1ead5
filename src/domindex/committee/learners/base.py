"""Two ideas: a learner, which is given rows and labels, and the predictor it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self


class Predictor(ABC):
    """What was learned on the source rows of a representation; predicts anywhere.

    Everything must come back through `state` and `from_state`: plain values, float arrays and bytes
    as arrays of uint8, nested in dictionaries at will. One of your own that has a class method
    `fit` like a `Learner`'s is its own learner: give it a `name` and call `register_predictor`.

    Examples
    --------
    >>> import numpy as np
    >>> from domindex import Predictor
    >>> class Mean(Predictor):
    ...     name = "mean"
    ...
    ...     def __init__(self, mean):
    ...         self.mean = mean
    ...
    ...     @classmethod
    ...     def fit(cls, features, labels, n_classes, seed, weights=None):
    ...         return cls(labels.mean(axis=0))
    ...
    ...     def predict(self, features):
    ...         return np.repeat(self.mean[None], len(features), axis=0)
    ...
    ...     def state(self):
    ...         return {"mean": self.mean}
    ...
    ...     @classmethod
    ...     def from_state(cls, state):
    ...         return cls(state["mean"])
    >>> Mean.fit(np.eye(2), np.array([[1.0], [3.0]]), None, 0).predict(np.eye(2)).tolist()
    [[2.0], [2.0]]

    `register_predictor(Mean)` makes it known.
    """

    kind: ClassVar[str] = ""
    """Of those that come with the library; others are found again by their `name`."""

    name: str

    @abstractmethod
    def predict(self, features: Floats) -> Floats:
        """Probabilities (rows, n_classes), or values (rows, outputs)."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `from_state` needs."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `state` described; ValueError where that is damaged."""


@runtime_checkable
class Learner(Protocol):
    """What can be fitted; a plain value, which fitting does not change."""

    @property
    def name(self) -> str:
        """What it is called in reports and errors."""

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> Predictor:
        """Learn from features (rows, p) and labels.

        Labels are class numbers (rows,) from 0 to `n_classes` − 1, not necessarily all present, or
        values (rows, outputs) where `n_classes` is None. Weights (rows,) say how much a row counts;
        a row that counts for nothing might as well not be there.
        """


def weighted_rows(
    features: Floats, labels: NDArray, weights: Floats | None
) -> tuple[Floats, NDArray, Floats | None]:
    """Rows that count for something, with their labels and weights; all where weights are None."""
    if weights is None:
        return features, labels, None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(features),):
        raise InputError(
            f"The weights have shape {weights.shape} for {len(features)} rows. Pass one a row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            f"The weights lie between {weights.min()} and {weights.max()}. "
            "Pass finite numbers, none negative and not all of them 0."
        )
    used = weights > 0
    return features[used], labels[used], weights[used]
