"""Datasets made of many domains: the paper's own, digits that move, seeded generators."""

from domindex.datasets.dataset import DomainDataset
from domindex.datasets.digits import make_moving_digits
from domindex.datasets.hospitals import make_hospitals
from domindex.datasets.paper import list_datasets, load_dataset
from domindex.datasets.synthetic import make_circle, make_domain_graph, make_drift, make_seasonal

__all__ = [
    "DomainDataset",
    "list_datasets",
    "load_dataset",
    "make_circle",
    "make_domain_graph",
    "make_drift",
    "make_hospitals",
    "make_moving_digits",
    "make_seasonal",
]
