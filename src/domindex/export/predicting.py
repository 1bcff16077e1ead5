"""Predictors as modules: represented rows (n, p) to probabilities (n, classes) or values."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from domindex.committee.learners.base import Predictor
from domindex.committee.learners.boosted_linear import BoostedLinearPredictor
from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.committee.learners.linear import LinearPredictor
from domindex.export.tables import NotExportableError, constant
from domindex.export.trees import boosting_module, forest_module

FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


class _Linear(nn.Module):
    """(x − centre) · slopes + intercept, through a softmax where these are log-odds."""

    centre: Tensor
    slopes: Tensor
    intercept: Tensor

    def __init__(self, centre: Any, slopes: Any, intercept: Any, is_class: bool) -> None:
        super().__init__()
        self.is_class = is_class
        self.register_buffer("centre", constant(centre))
        self.register_buffer("slopes", constant(slopes))
        self.register_buffer("intercept", constant(intercept))

    def forward(self, x: Tensor) -> Tensor:
        raw = (x - self.centre) @ self.slopes + self.intercept
        return torch.softmax(raw, dim=1) if self.is_class else raw


class _Standardised(nn.Module):
    mean: Tensor
    scale: Tensor

    def __init__(self, given: StandardScaler) -> None:
        super().__init__()
        self.register_buffer("mean", constant(0.0 if given.mean_ is None else given.mean_))
        self.register_buffer("scale", constant(1.0 if given.scale_ is None else given.scale_))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


class _Landmarks(nn.Module):
    """exp(−γ |x − landmark|²), normalised."""

    landmarks: Tensor
    normalization: Tensor

    def __init__(self, given: Nystroem) -> None:
        super().__init__()
        if given.kernel != "rbf":
            raise NotExportableError(f"the kernel {given.kernel!r:.40} has no form in torch")
        self.gamma = float(given.gamma or 1.0 / given.components_.shape[1])
        self.register_buffer("landmarks", constant(given.components_))
        self.register_buffer("normalization", constant(given.normalization_.T))

    def forward(self, x: Tensor) -> Tensor:
        products = x @ self.landmarks.T
        sizes = (x**2).sum(dim=1, keepdim=True) + (self.landmarks**2).sum(dim=1)
        distances = (sizes - 2.0 * products).clamp_min(0.0)
        return torch.exp(-self.gamma * distances) @ self.normalization


class _Estimators(nn.Module):
    """What `EstimatorPredictor` does with its estimators' answers."""

    present: Tensor

    def __init__(self, given: EstimatorPredictor) -> None:
        super().__init__()
        is_class = given.present is not None
        self.parts = nn.ModuleList(_estimator(one, is_class) for one in given.estimators)
        self.is_class, self.n_outputs = is_class, given.n_outputs
        if given.present is not None:
            present = torch.zeros(len(given.present), given.n_outputs, dtype=torch.float64)
            present[torch.arange(len(given.present)), torch.tensor(given.present)] = 1.0
            self.register_buffer("present", present)

    def forward(self, x: Tensor) -> Tensor:
        if not self.is_class:
            return torch.cat([part(x) for part in self.parts], dim=1)
        if not len(self.parts):
            return torch.ones_like(x[:, :1]) @ self.present
        raw = self.parts[0](x)
        return (raw / raw.sum(dim=1, keepdim=True)) @ self.present


class _Sum(nn.Module):
    """What several modules say, added up."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([part(x) for part in self.parts]).sum(dim=0)


def predictor_module(given: Predictor) -> nn.Module:
    """The predictor; `NotExportableError` where torch has no form of it."""
    if type(given) is LinearPredictor:
        return _Linear(given.centre, given.slopes, given.intercept, given.is_class)
    if type(given) is EstimatorPredictor:
        return _Estimators(given)
    if type(given) is BoostedLinearPredictor:
        return _Sum(predictor_module(given.linear), predictor_module(given.rest))
    raise NotExportableError(f"the predictor {given.name!r} has no form in torch")


def _estimator(fitted: Any, is_class: bool) -> nn.Module:
    if type(fitted) is Pipeline:
        *before, last = (step for _, step in fitted.steps)
        return nn.Sequential(*(_transformer(step) for step in before), _estimator(last, is_class))
    if type(fitted) in FORESTS:
        return forest_module(fitted, is_class)
    if type(fitted) in BOOSTING:
        return boosting_module(fitted, is_class)
    if type(fitted) in (Ridge, LinearRegression):
        slopes = fitted.coef_.reshape(-1, fitted.n_features_in_).T
        return _Linear(0.0, slopes, fitted.intercept_, is_class=False)
    if type(fitted) is LogisticRegression:
        slopes, intercept = fitted.coef_.T, fitted.intercept_
        if len(fitted.classes_) == 2:  # one column of log-odds
            slopes = torch.cat([constant(-slopes), constant(slopes)], dim=1) / 2
            intercept = torch.cat([constant(-intercept), constant(intercept)]) / 2
        return _Linear(0.0, slopes, intercept, is_class=True)
    raise NotExportableError(f"a {type(fitted).__name__} has no form in torch")


def _transformer(step: Any) -> nn.Module:
    kinds = {StandardScaler: _Standardised, Nystroem: _Landmarks}
    if type(step) not in kinds:
        raise NotExportableError(f"a {type(step).__name__} has no form in torch")
    return kinds[type(step)](step)
