"""The datasets that can be asked for by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial

from domindex.datasets import digits, paper, synthetic
from domindex.datasets.dataset import DomainDataset
from domindex.datasets.files import DataHome
from domindex.errors import DatasetError

_LOADERS: dict[str, Callable[[DataHome], DomainDataset]] = {
    "circle": paper.load_circle,
    "dg-15": partial(paper.load_domain_graph, "dg-15"),
    "dg-60": partial(paper.load_domain_graph, "dg-60"),
    "tpt-48-w-e": partial(paper.load_temperatures, "tpt-48-w-e"),
    "tpt-48-n-s": partial(paper.load_temperatures, "tpt-48-n-s"),
    "rotating-digits": lambda data_home: digits.load_rotating_digits(),
    "seasonal": lambda data_home: synthetic.make_seasonal(),
    "compcars-features": paper.load_compcars_features,
}


def list_datasets() -> list[str]:
    """The names that `load_dataset` knows.

    Examples
    --------
    >>> list_datasets()[:6]
    ['circle', 'dg-15', 'dg-60', 'tpt-48-w-e', 'tpt-48-n-s', 'rotating-digits']
    """
    return list(_LOADERS)


def load_dataset(name: str, data_home: DataHome = None) -> DomainDataset:
    """Load a dataset by name, downloading its files the first time.

    Files are looked for in `data_home`, else in the folder named by the environment variable
    DOMINDEX_DATA, else in the user's cache folder. "rotating-digits" and "seasonal" need no file.

    Examples
    --------
    >>> dataset = load_dataset("rotating-digits")
    >>> dataset.X.shape, dataset.source_domains
    ((1797, 1, 8, 8), [0, 10, 20, 30, 40])
    """
    if name not in _LOADERS:
        near = difflib.get_close_matches(str(name).lower(), _LOADERS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "Choose one of these."
        raise DatasetError(f"There is no dataset {name!r}; there are {', '.join(_LOADERS)}. {hint}")
    return _LOADERS[name](data_home)
