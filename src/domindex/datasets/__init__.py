"""Datasets made of many domains: the paper's own, cars, turning digits, seeded generators."""

from domindex.datasets.compcars import CompCars
from domindex.datasets.compcars_generated import write_generated_compcars
from domindex.datasets.dataset import DomainDataset
from domindex.datasets.real import list_real_datasets, load_real_dataset
from domindex.datasets.registry import list_datasets, load_dataset
from domindex.datasets.synthetic import make_circle, make_domain_graph, make_drift

__all__ = [
    "CompCars",
    "DomainDataset",
    "list_datasets",
    "list_real_datasets",
    "load_dataset",
    "load_real_dataset",
    "make_circle",
    "make_domain_graph",
    "make_drift",
    "write_generated_compcars",
]
