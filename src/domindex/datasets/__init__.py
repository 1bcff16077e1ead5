"""Datasets made of many domains: the paper's own, turning digits, and seeded generators."""

from domindex.datasets.dataset import DomainDataset
from domindex.datasets.registry import list_datasets, load_dataset
from domindex.datasets.synthetic import make_circle, make_domain_graph, make_drift

__all__ = [
    "DomainDataset",
    "list_datasets",
    "load_dataset",
    "make_circle",
    "make_domain_graph",
    "make_drift",
]
