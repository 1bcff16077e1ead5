"""A suite: a part of the benchmark, as a value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from domindex.datasets import DomainDataset
from domindex.datasets.files import DataHome
from domindex.inputs.domain_data import Task
from domindex_bench.figures import FigureFunction
from domindex_bench.methods import Method
from domindex_bench.settings_hash import settings_hash

if TYPE_CHECKING:
    from domindex_bench.summary import Summary

Loader = Callable[[DataHome, int], DomainDataset]
"""From the folder of the files and the seed of a cell to the rows it is measured on."""


@dataclass(frozen=True)
class SuiteDataset:
    """A dataset of a suite, known before it is loaded.

    Attributes
    ----------
    title : what tables call it
    task : what is to be predicted
    load : the rows, see `Loader`
    redraws : whether the seed draws the rows anew, so that a method without chance runs with
        every seed as well
    held_out : a source left out of the fit altogether, then predicted as a domain never seen, and
        scored instead of the targets
    seeds : how many, where not as many as the suite says
    optional : whether a run that did not ask for it by name goes on without it where its file, or
        the package that makes it, is missing
    """

    title: str
    task: Task
    load: Loader
    redraws: bool = False
    held_out: Hashable | None = None
    seeds: int | None = None
    optional: bool = False

    def rows(self, dataset: DomainDataset) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows are fitted, and which are scored, (rows,) each."""
        if self.held_out is None:
            return np.ones(len(dataset.X), dtype=bool), ~dataset.is_source
        scored = np.asarray(dataset.sample_domain == self.held_out)
        return ~scored, scored


@dataclass(frozen=True)
class Suite:
    """Datasets, methods and figures that belong together, and the document that shows them.

    Attributes
    ----------
    name : what it is asked for by; its tables are written to NAME.md
    title : heading of the document
    about : its first paragraph
    datasets : by name, in the order of the tables
    methods : by name, in the order of the tables
    seeds : how many; a method without chance runs once
    figures : what is scored, see `domindex_bench.figures`
    headline : the figure that a dataset is about, by its task
    render : the tables
    alone : whether cells run one after another, because time is what they measure
    warm_up : what to do before the clock starts, so that first-time set-up is not part of it
    """

    name: str
    title: str
    about: str
    datasets: Mapping[str, SuiteDataset]
    methods: Mapping[str, Method]
    seeds: int
    figures: Sequence[FigureFunction]
    headline: Mapping[Task, str]
    render: Callable[[Summary], str]
    alone: bool = False
    warm_up: Callable[[DomainDataset], None] | None = None

    def title_of(self, dataset: str) -> str:
        return self.datasets[dataset].title if dataset in self.datasets else dataset

    def method_title(self, method: str) -> str:
        return self.methods[method].title if method in self.methods else method

    def settings_now(self, dataset: str, method: str) -> str | None:
        """The settings' hash that a row measured now would carry; None where it knows no such row.

        No file of a dataset is needed for it: a method is built for a stand-in of the same task.
        """
        if dataset not in self.datasets or method not in self.methods:
            return None
        return _hash_for(self.methods[method], self.datasets[dataset].task)


@cache
def _hash_for(method: Method, task: Task) -> str:
    return hash_of(method, method.build(_stand_in(task), 0))


def hash_of(method: Method, model: Any) -> str:
    """The hash of a model that `method` built; what the dataset told it is no setting."""
    return settings_hash(model, without=method.told)


def _stand_in(task: Task) -> DomainDataset:
    """The least that a method can be built for: two domains of one row each."""
    return DomainDataset(
        name="stand-in",
        X=np.zeros((2, 2)),
        y=np.arange(2) if task == "classification" else np.zeros((2, 1)),
        sample_domain=np.arange(2),
        source_domains=[0],
        domains=[0, 1],
        task=task,
        true_index=np.array([[0.0], [1.0]]),
        index_names=("place",),
        graph=nx.path_graph(2),
        description="",
    )
