"""A suite, a part of the benchmark, as a value; and what suites make their datasets from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome
from domindex.errors import InputError
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import preview
from domindex_bench.figures import FigureFunction
from domindex_bench.methods import Method

if TYPE_CHECKING:
    from domindex_bench.tables import Summary

SUITES = (
    "paper",
    "real",
    "real2",
    "two-domains",
    "pictures",
    "compcars",
    "ablation",
    "generality",
    "regression",
)
"""Each is a module of `domindex_bench.suites` with a `SUITE`."""

TITLES: dict[str, tuple[str, Task]] = {
    "circle": ("Circle", "classification"),
    "dg-15": ("DG-15", "classification"),
    "dg-60": ("DG-60", "classification"),
    "tpt-48-w-e": ("TPT-48, W (6) → E (42)", "regression"),
    "tpt-48-n-s": ("TPT-48, N (24) → S (24)", "regression"),
    "rotating-digits": ("Rotating digits", "classification"),
}

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
    optional : whether a run that did not ask for it by name goes on without it where its file, or
        the package that makes it, is missing
    """

    title: str
    task: Task
    load: Loader
    redraws: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Suite:
    """Datasets, methods and figures that belong together, and the document that shows them.

    Attributes
    ----------
    name : what it is asked for by; its tables are written to NAME.md
    title, about : heading and first paragraph of the document
    datasets, methods : by name, in the order of the tables
    seeds : how many; a method without chance runs once
    figures : what is scored, see `domindex_bench.figures`
    headline : the figure that a dataset is about, by its task
    render : the tables
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

    def title_of(self, dataset: str) -> str:
        return self.datasets[dataset].title if dataset in self.datasets else dataset

    def method_title(self, method: str) -> str:
        return self.methods[method].title if method in self.methods else method


def list_suites() -> list[str]:
    """The names that `find_suite` knows."""
    return list(SUITES)


def find_suite(name: str) -> Suite:
    """The suite of that name; its module is imported when it is asked for."""
    (known,) = choose_names("suite", [name], SUITES)
    suite: Suite = import_module(f"domindex_bench.suites.{known.replace('-', '_')}").SUITE
    return suite


def choose_names(what: str, names: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The wanted names, each once, in the order given; all where none are."""
    wanted = list(known) if names is None else list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        near = difflib.get_close_matches(str(unknown[0]).lower(), known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "Choose from these."
        raise InputError(
            f"There is no {what} {preview(unknown)}; there are {', '.join(known)}. {hint}"
        )
    if not wanted:
        raise InputError(f"No {what} is named; there are {', '.join(known)}. Leave out for all.")
    return wanted


def slug(title: str) -> str:
    """A title as a name that a command line takes: small letters, digits, hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def library_dataset(name: str, **changes: Any) -> SuiteDataset:
    """A dataset of `load_dataset`."""
    title, task = TITLES[name]
    known = SuiteDataset(title, task, lambda data_home, seed: load_dataset(name, data_home))
    return replace(known, **changes)


def library_datasets(*names: str) -> dict[str, SuiteDataset]:
    return {name: library_dataset(name) for name in names}
