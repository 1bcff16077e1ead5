"""Estimators with scikit-learn's interface."""

from domindex.estimators.classifier import VDIClassifier

__all__ = ["VDIClassifier"]
