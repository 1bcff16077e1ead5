"""How good a map and its predictions are."""

from domindex.evaluation.audit import (
    ClassProbe,
    IndexAudit,
    ValueProbe,
    audit_index,
    probe_classes,
    probe_values,
)
from domindex.evaluation.cross_validation import DomainKFold, cross_validate_domains
from domindex.evaluation.metrics import (
    accuracy,
    circular_correlation,
    graph_auc,
    index_correlation,
    linear_r2,
    procrustes_agreement,
    scores_by_domain,
    squared_error,
)
from domindex.evaluation.transfer import transfer_correlation, transfer_losses

__all__ = [
    "cross_validate_domains",
    "ClassProbe",
    "DomainKFold",
    "IndexAudit",
    "ValueProbe",
    "accuracy",
    "audit_index",
    "circular_correlation",
    "graph_auc",
    "index_correlation",
    "linear_r2",
    "probe_classes",
    "probe_values",
    "procrustes_agreement",
    "scores_by_domain",
    "squared_error",
    "transfer_correlation",
    "transfer_losses",
]
