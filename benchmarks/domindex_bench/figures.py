"""Which scores a suite wants. Target labels are read here, after the fit, and nowhere else.

The scores themselves are in `domindex.evaluation` and `domindex_bench.metrics`; a suite chooses
among the functions below, each from an `Outcome` to figures by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, r2_score, roc_auc_score, silhouette_score

from domindex.datasets import DomainDataset
from domindex.evaluation import accuracy, scores_by_domain, squared_error
from domindex_bench.metrics import (
    interval_coverage,
    map_agreement,
    neighbour_agreement,
    scores_by_level,
)

LOWER_IS_BETTER = frozenset({"error", "relative_error", "log_loss", "fit_seconds"})
LABELS = {
    "domain_accuracy": "accuracy, %",
    "relative_error": "error over variance",
    "accuracy": "accuracy, %",
    "error": "error",
    "r2": "R²",
    "coverage": "coverage of 90 % intervals",
    "fit_seconds": "fit, s",
}
"""What tables call a headline figure."""


@dataclass(frozen=True)
class Outcome:
    """A fitted model, and what it predicts.

    Attributes
    ----------
    dataset : all rows, with all labels
    model : fitted
    rows : (rows,) True for those that are scored, the targets'
    predicted : the predictions of these, in their order
    """

    dataset: DomainDataset
    model: Any
    rows: NDArray[np.bool_]
    predicted: NDArray

    @property
    def truth(self) -> NDArray:
        return self.dataset.y[self.rows]

    @property
    def names(self) -> NDArray:
        return self.dataset.sample_domain[self.rows]


FigureFunction = Callable[[Outcome], Mapping[str, float | str]]


def prediction_figures(outcome: Outcome) -> dict[str, float | str]:
    """`accuracy` in % or the paper's `error`, by the task; and the domain that fares worst."""
    if outcome.dataset.task == "classification":
        return _accuracies(outcome)
    return _errors(outcome)


def _accuracies(outcome: Outcome) -> dict[str, float | str]:
    by_domain = scores_by_domain(outcome.truth, outcome.predicted, outcome.names, accuracy)
    worst = min(by_domain, key=by_domain.__getitem__)
    return {
        "accuracy": 100 * accuracy(outcome.truth, outcome.predicted),
        "worst_domain": str(worst),
        "worst": 100 * by_domain[worst],
    }


def _errors(outcome: Outcome) -> dict[str, float | str]:
    """Squared errors summed over outputs, averaged over a domain's rows, then over domains."""
    by_domain = scores_by_domain(outcome.truth, outcome.predicted, outcome.names, squared_error)
    levels = outcome.dataset.levels
    by_level = scores_by_level(by_domain, levels) if levels else {}
    worst = max(by_domain, key=by_domain.__getitem__)
    return {
        "error": float(np.mean(list(by_domain.values()))),
        **{f"error_level_{level}": error for level, error in by_level.items()},
        "worst_domain": str(worst),
        "worst": by_domain[worst],
    }


def domain_figures(outcome: Outcome) -> dict[str, float | str]:
    """Means over target domains: `domain_accuracy` in %, or `relative_error`.

    The latter is the squared error of a domain over the variance of all scored values, so that
    predicting their mean gives about 1.
    """
    if outcome.dataset.task == "classification":
        by_domain = scores_by_domain(outcome.truth, outcome.predicted, outcome.names, accuracy)
        return {"domain_accuracy": 100 * float(np.mean(list(by_domain.values())))}
    by_domain = scores_by_domain(outcome.truth, outcome.predicted, outcome.names, squared_error)
    spread = float(outcome.truth.var(axis=0).sum())
    return {"relative_error": float(np.mean(list(by_domain.values()))) / spread}


def probability_figures(outcome: Outcome) -> dict[str, float | str]:
    """`log_loss`, and `auc` for two classes, of classifiers that give probabilities."""
    if outcome.dataset.task != "classification" or not hasattr(outcome.model, "predict_proba"):
        return {}
    inputs, classes = outcome.dataset.X[outcome.rows], outcome.model.classes_
    known = np.isin(outcome.truth, classes)  # a class that no source had cannot be scored
    predicted = outcome.model.predict_proba(inputs, sample_domain=outcome.names)[known]
    truth = outcome.truth[known]
    found: dict[str, float | str] = {"log_loss": log_loss(truth, predicted, labels=classes)}
    if len(classes) == 2 and len(np.unique(truth)) == 2:
        found["auc"] = roc_auc_score(truth == classes[1], predicted[:, 1])
    return found


def forecast_figures(outcome: Outcome) -> dict[str, float | str]:
    """How far forecasts of quality are off, of models that give them: means over target domains.

    `forecast_off` in points of accuracy, or as the mean |log| of the ratio of expected to true
    root mean squared error; `forecast_mean_off` and `forecast_threshold_off` of the mean over
    held-out domains and of average thresholded confidence; `forecast_holds`, the share of 80 %
    intervals that hold the truth, in %.
    """
    table = getattr(outcome.model, "forecast_", None)
    if table is None or not len(table):
        return {}
    names = table["domain"].tolist()
    if outcome.dataset.task == "classification":
        truth = scores_by_domain(outcome.truth, outcome.predicted, outcome.names, accuracy)
        true = np.array([truth[name] for name in names])
        expected = ["expected_accuracy", "held_out_mean", "thresholded_confidence"]
        off = [100 * float(np.mean(np.abs(table[name] - true))) for name in expected]
    else:
        truth = scores_by_domain(outcome.truth, outcome.predicted, outcome.names, squared_error)
        true = np.sqrt([truth[name] for name in names]) / _output_unit(outcome)
        expected = ["expected_error", "held_out_mean"]
        off = [float(np.mean(np.abs(np.log(table[name] / true)))) for name in expected]
    holds = (table["low"] <= true) & (true <= table["high"])
    figures = dict(zip(("forecast_off", "forecast_mean_off", "forecast_threshold_off"), off))
    return {**figures, "forecast_holds": 100 * float(holds.mean())}


def _output_unit(outcome: Outcome) -> float:
    """What an expected error of 1 means: 1 for one output, their common spread for several."""
    values = outcome.dataset.y[~outcome.rows]
    values = values.reshape(len(values), -1)
    return 1.0 if values.shape[1] == 1 else float(np.sqrt((values.std(axis=0) ** 2).sum()))


def explained_figures(outcome: Outcome) -> dict[str, float | str]:
    """`r2` over all scored rows together."""
    return {"r2": float(r2_score(outcome.truth, outcome.predicted))}


def coverage_figures(outcome: Outcome) -> dict[str, float | str]:
    """`coverage` of 90 % intervals, of models that give deviations."""
    predict = outcome.model.predict
    if "return_std" not in inspect.signature(predict).parameters:
        return {}
    inputs = outcome.dataset.X[outcome.rows]
    mean, deviation = predict(inputs, sample_domain=outcome.names, return_std=True)
    return {"coverage": interval_coverage(outcome.truth, mean, deviation)}


def map_figures(outcome: Outcome) -> dict[str, float | str]:
    """How well the model's map agrees with the truth, where it draws one and one is known."""
    if not hasattr(outcome.model, "domain_indices_"):
        return {}
    model = outcome.model
    angles = getattr(model, "domain_angles_", None)
    return {**map_agreement(outcome.dataset, model.domains_, model.domain_indices_, angles)}


def group_figures(name: str, outcome: Outcome) -> dict[str, float | str]:
    """Whether the map keeps domains together that are alike in the true index's column `name`.

    `<name>_neighbours` is the share of domains whose nearest on the map has the same value, in %;
    `<name>_silhouette` the mean silhouette of the groups on the map, 1 where they are far apart.
    """
    model, dataset = outcome.model, outcome.dataset
    if not hasattr(model, "domain_indices_") or dataset.true_index is None:
        return {}
    column = dataset.true_index[:, dataset.index_names.index(name)]
    groups = column[[dataset.domains.index(domain) for domain in model.domains_]]
    points = np.asarray(model.domain_indices_)
    found = {f"{name}_neighbours": 100 * neighbour_agreement(points, groups)}
    if 1 < len(np.unique(groups)) < len(groups):
        found[f"{name}_silhouette"] = float(silhouette_score(points, groups))
    return {**found}


def chosen_figures(outcome: Outcome) -> dict[str, float | str]:
    """`chosen`: in which terms the model decided to compare rows, where it says."""
    chosen = getattr(outcome.model, "representation_", None)
    return {} if chosen is None else {"chosen": str(chosen)}
