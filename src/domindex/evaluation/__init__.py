"""How good a map and its predictions are."""

from domindex.evaluation.audit import Condition, IndexAudit, audit_index
from domindex.evaluation.cross_validation import DomainKFold, cross_validate_domains
from domindex.evaluation.metrics import (
    MapStability,
    circular_correlation,
    distance_rank_correlation,
    graph_auc,
    index_correlation,
    linear_r2,
    map_agreement,
    map_stability,
    neighbour_agreement,
    procrustes_agreement,
)
from domindex.evaluation.probes import ClassProbe, ValueProbe, probe_classes, probe_values
from domindex.evaluation.scores import (
    accuracy,
    interval_coverage,
    paper_error,
    r2,
    scores_by_domain,
    scores_by_level,
    squared_error,
    target_accuracy,
)

__all__ = [
    "cross_validate_domains",
    "ClassProbe",
    "Condition",
    "DomainKFold",
    "IndexAudit",
    "MapStability",
    "ValueProbe",
    "accuracy",
    "audit_index",
    "circular_correlation",
    "distance_rank_correlation",
    "graph_auc",
    "index_correlation",
    "interval_coverage",
    "linear_r2",
    "map_agreement",
    "map_stability",
    "neighbour_agreement",
    "paper_error",
    "probe_classes",
    "probe_values",
    "procrustes_agreement",
    "r2",
    "scores_by_domain",
    "scores_by_level",
    "squared_error",
    "target_accuracy",
]
