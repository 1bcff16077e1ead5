"""How good a map and its predictions are."""

from domindex.evaluation.metrics import graph_auc, index_correlation, linear_r2

__all__ = ["graph_auc", "index_correlation", "linear_r2"]
