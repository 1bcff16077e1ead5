"""Datasets made of many domains: the paper's own, cars, turning digits, seeded generators."""

from domindex.datasets.compcars import CompCars
from domindex.datasets.compcars_generated import write_generated_compcars
from domindex.datasets.dataset import DomainDataset
from domindex.datasets.hospitals import make_hospitals
from domindex.datasets.motions import (
    load_moving_mnist,
    make_moving_digits,
    make_moving_waves,
)
from domindex.datasets.real import list_real_datasets, load_real_dataset
from domindex.datasets.registry import list_datasets, load_dataset
from domindex.datasets.synthetic import (
    make_circle,
    make_domain_graph,
    make_drift,
    make_seasonal,
)

__all__ = [
    "CompCars",
    "DomainDataset",
    "list_datasets",
    "list_real_datasets",
    "load_dataset",
    "load_moving_mnist",
    "load_real_dataset",
    "make_circle",
    "make_domain_graph",
    "make_drift",
    "make_hospitals",
    "make_moving_digits",
    "make_moving_waves",
    "make_seasonal",
    "write_generated_compcars",
]
