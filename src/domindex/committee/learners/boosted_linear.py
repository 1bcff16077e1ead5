"""A linear rule plus gradient boosting of its residuals, for values.

Trees predict nothing beyond the values that they have seen, and a linear rule does not bend. Where
domains are bands of an input, or drift along one, targets lie beyond the sources: the sum of both
extrapolates there, and bends where there are rows to bend on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.committee.learners.base import Learner, Predictor, Round
from domindex.committee.learners.estimators import BoostingLearner, EstimatorPredictor
from domindex.committee.learners.linear import LinearLearner, LinearPredictor
from domindex.errors import PredictorError
from domindex.inputs.domain_data import Task

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class BoostedLinearPredictor(Predictor):
    """The sum of what the rule and the boosting of its residuals predict."""

    kind: ClassVar[str] = "boosted_linear"
    name: ClassVar[str] = "boosted_linear"  # type: ignore[misc]
    linear: LinearPredictor
    rest: EstimatorPredictor

    def predict(self, features: Floats) -> Floats:
        return self.linear.predict(features) + self.rest.predict(features)

    def summands(self) -> tuple[Predictor, ...]:
        return self.linear, self.rest

    def state(self) -> dict[str, Any]:
        return {"linear": self.linear.state(), "rest": self.rest.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        linear = LinearPredictor.from_state(state["linear"])
        rest = EstimatorPredictor.from_state(state["rest"])
        if linear.slopes.shape != (rest.n_features, rest.n_outputs):
            raise ValueError("the linear rule does not fit the trees that are added to it")
        if linear.is_class or rest.present is not None:
            raise ValueError("a sum of predictions is for values, not for classes")
        return cls(linear, rest)


@dataclass(frozen=True)
class BoostedLinearLearner(Learner):
    """For values only: probabilities have no residuals that could be added up."""

    task: ClassVar[Task | None] = "regression"
    extrapolates: ClassVar[bool] = True
    in_threads: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(3, 1)}
    grids: ClassVar[str] = "small"

    name: str = "boosted_linear"
    linear: LinearLearner = field(default_factory=LinearLearner)
    boosting: BoostingLearner = field(default_factory=BoostingLearner)

    def with_map_coordinates(self, count: int) -> BoostedLinearLearner:
        return replace(self, linear=self.linear.with_map_coordinates(count))

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> BoostedLinearPredictor:
        if n_classes is not None:
            raise PredictorError(
                f"The predictor {self.name!r} is for values, and there are {n_classes} classes. "
                "Choose 'boosting' or 'linear' for classes."
            )
        linear = self.linear.fit(features, labels, None, seed, weights)
        residuals = labels - linear.predict(features)
        rest = self.boosting.fit(features, residuals, None, seed, weights)
        return BoostedLinearPredictor(linear, rest)
