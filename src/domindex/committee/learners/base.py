"""Two ideas: a learner, which is given rows and labels, and the predictor it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.inputs.domain_data import InputLayout, Task
from domindex.inputs.parameters import Registry

if TYPE_CHECKING:
    from torch import nn
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
    ...     def __init__(self, mean):
    ...         self.mean = mean
    ...     @classmethod
    ...     def fit(cls, features, labels, n_classes, seed, weights=None):
    ...         return cls(labels.mean(axis=0))
    ...     def predict(self, features):
    ...         return np.repeat(self.mean[None], len(features), axis=0)
    ...     def state(self):
    ...         return {"mean": self.mean}
    ...     @classmethod
    ...     def from_state(cls, state):
    ...         return cls(state["mean"])
    >>> Mean.fit(np.eye(2), np.array([[1.0], [3.0]]), None, 0).predict(np.eye(2)).tolist()
    [[2.0], [2.0]]

    `register_predictor(Mean)` makes it known.
    """

    kind: ClassVar[str] = ""  # of the library's; others are found again by their `name`
    kinds: ClassVar[dict[str, type[Predictor]]] = {}
    name: str

    def __init_subclass__(cls) -> None:
        if cls.kind:
            Predictor.kinds[cls.kind] = cls

    @abstractmethod
    def predict(self, features: Floats) -> Floats:
        """Probabilities (rows, n_classes), or values (rows, outputs)."""

    def summands(self) -> tuple[Predictor, ...]:
        """The predictors whose sum it is, for export: itself alone, where it is none."""
        return (self,)

    def torch_module(self) -> nn.Module | None:
        """What `predict` does as a module, for export; None where it has no form in torch."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `from_state` needs."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `state` described; ValueError where that is damaged."""

    def entry(self) -> dict[str, Any]:
        """Its state, with what it takes to find its class again."""
        return {"kind": self.kind, "name": self.name, "state": self.state()}

    @staticmethod
    def from_entry(entry: dict[str, Any]) -> Predictor:
        """What `entry` described; a class of the user's must be registered."""
        known: Any = Predictor.kinds[entry["kind"]] if entry["kind"] else PREDICTORS[entry["name"]]
        predictor: Predictor = known.from_state(entry["state"])
        return predictor


class Round(NamedTuple):
    """When the default tries a learner, and on which representations besides raw inputs."""

    number: int  # learners of one round are tried together, slower ones later
    representations: int | None = None  # on so many with the least losses so far; None: on all
    only_best: bool = False  # on the first of these alone


class LabelledRows(NamedTuple):
    """Rows to learn from that all count for something; see `Learner.fit`."""

    features: Floats
    labels: NDArray
    n_classes: int | None
    seed: int
    weights: Floats | None


class Learner(ABC):
    """What can be fitted; a plain value, which fitting does not change."""

    name: str
    task: ClassVar[Task | None] = None  # the only one that it serves; None for both
    extrapolates: ClassVar[bool] = False  # along a straight line, beyond what it has learned from
    in_threads: ClassVar[bool] = False  # whether several gain by it: compiled code, nothing shared
    rounds: ClassVar[Mapping[str, Round]] = {}  # by effort, when the default tries it; empty: never
    grids: ClassVar[str] = "all"  # pictures and signals: "all", "small" ones, or "only" on them
    needs_grid: ClassVar[bool] = False  # whether it reads features as a picture or a signal
    on_encoding: ClassVar[bool] = False  # also tried on what the network encodes
    may_balance: ClassVar[bool] = False  # also tried on source rows weighted to look like targets'
    is_family: ClassVar[bool] = False  # on raw inputs a part of the equal mean of plain families
    may_self_train: ClassVar[bool] = True  # also tried with its own labels of targets
    package: ClassVar[str | None] = None  # an extra that it needs

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is there."""
        return self.package is None or find_spec(self.package) is not None

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
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != (len(features),):
                raise InputError(
                    f"The weights have shape {weights.shape} for {len(features)} rows. "
                    "Pass one a row."
                )
            if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
                raise InputError(
                    f"The weights lie between {weights.min()} and {weights.max()}. "
                    "Pass finite numbers, none negative and not all of them 0."
                )
            used = weights > 0
            features, labels, weights = features[used], labels[used], weights[used]
        return self.fit_rows(LabelledRows(features, labels, n_classes, seed, weights))

    @abstractmethod
    def fit_rows(self, rows: LabelledRows) -> Predictor:
        """What `fit` does, behind the check of weights."""

    def for_layout(self, layout: InputLayout) -> Learner:
        """Itself, set for rows of some shape: cells of a picture share their units."""
        return self

    def with_map_coordinates(self, count: int) -> Learner:
        """Itself, knowing that the last so many features are one point of the map."""
        return self

    def variants(self, penalties: tuple[float, ...]) -> list[Learner]:
        """What is tried of it: one for each penalty where it has one, to be mixed by the folds."""
        return [self]


class OwnLearner(Learner):
    """What a user registered: anything with a name and `fit`."""

    def __init__(self, given: Any) -> None:
        self.name, self._given = given.name, given

    def fit_rows(self, rows: LabelledRows) -> Predictor:
        given = {} if rows.weights is None else {"weights": rows.weights}
        fitted: Predictor = self._given.fit(*rows[:4], **given)
        return fitted


PREDICTORS: Registry[Any] = Registry("predictor")

Kind = TypeVar("Kind")


def register_predictor(learner: Kind) -> Kind:
    """Make a learner known by its `name`; usable as a decorator on a class that is its own.

    Where models are to be saved it also needs `from_state`; see `Predictor`.

    Examples
    --------
    >>> from domindex import register_predictor
    >>> register_predictor("mean")
    Traceback (most recent call last):
    domindex.errors.InputError: A predictor cannot be registered ...
    """
    name = getattr(learner, "name", None)
    if not isinstance(name, str) or not callable(getattr(learner, "fit", None)):
        raise InputError(
            f"A predictor cannot be registered as {learner!r:.80}: it needs a text `name` and "
            "`fit(features, labels, n_classes, seed)`. Estimators of scikit-learn need no "
            "registration: pass them as predictor=."
        )
    PREDICTORS.add(name, learner)
    return learner


def list_predictors() -> list[str]:
    """The names that can be asked for, beside the variational network itself.

    Examples
    --------
    >>> from domindex import list_predictors
    >>> {"linear", "trees", "boosting"} <= set(list_predictors())
    True
    """
    return PREDICTORS.names()
