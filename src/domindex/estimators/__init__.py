"""Estimators with scikit-learn's interface."""

from domindex.estimators.classifier import VDIClassifier
from domindex.estimators.regressor import VDIRegressor

__all__ = ["VDIClassifier", "VDIRegressor"]
