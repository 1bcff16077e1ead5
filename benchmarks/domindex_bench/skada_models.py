"""What skada has for one source and one target, on many: an optional part of the benchmark.

skada is imported when a model is fitted, so that methods are listed, and their settings hashed,
where it is not installed.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.preprocessing import StandardScaler

from domindex.arrays import Floats
from domindex.datasets import DomainDataset
from domindex.errors import InputError
from domindex.estimators.base import Names
from domindex.estimators.wrapping import WrappingEstimator
from domindex.inputs import DomainData
from domindex.representations import RepresentedRows
from domindex_bench.methods import Method, classes_only

PACKAGE = "skada"
SOURCE, TARGET = 1, -2
"""skada tells sources from targets by the sign; 0 is neither."""

REGULARIZATION = 1e-3
"""Of both adapters, and not skada's default: see docs/figures.md, what was tuned on what."""


def import_skada(module: str = PACKAGE) -> Any:
    """skada, or a module of it, with the settings of scikit-learn as they were before.

    Its import turns metadata routing on for everything in the process.
    """
    try:
        with config_context():
            return import_module(module)
    except ImportError:
        raise InputError(
            f"This part of the benchmark needs {PACKAGE}, which is not installed. "
            f"Install it with: pip install 'domindex[{PACKAGE}]'"
        ) from None


class SkadaAdapted(WrappingEstimator):
    """A scikit-learn model on source rows that an adapter of skada moved to the targets.

    All sources together are one side and all targets together the other. Inputs are standardised
    over all rows first.

    Parameters
    ----------
    estimator : any scikit-learn classifier
    adapter : name of the class in skada
    reg : its regularisation, in its own terms: CORAL shrinks covariances by that share, linear
        optimal transport adds it to their diagonals

    Attributes
    ----------
    estimator_ : the fitted estimator
    adapter_ : the fitted adapter
    """

    def __init__(
        self, estimator: Any, *, adapter: str = "CORALAdapter", reg: float = REGULARIZATION
    ) -> None:
        self.estimator = estimator
        self.adapter = adapter
        self.reg = reg

    def _fit_representation(self, data: DomainData) -> None:
        self._sources = frozenset(data.source_domains)
        adapter = getattr(import_skada(), self.adapter)(reg=self.reg)
        flat = _flat(data.inputs)
        self._scaler = StandardScaler().fit(flat)
        sides = self._sides(data.row_names, len(flat))
        self.adapter_ = adapter.fit(self._scaler.transform(flat), sample_domain=sides)

    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        """Source rows are moved; those of other domains, never seen ones included, are targets."""
        moved = self.adapter_.transform(
            self._scaler.transform(_flat(inputs)),
            sample_domain=self._sides(names, len(inputs)),
            allow_source=True,
        )
        return RepresentedRows.plain(moved)

    def _sides(self, names: Names, n_rows: int) -> NDArray[np.int64]:
        """(rows,) which side each row is on, as skada numbers them."""
        if names is None:
            return np.full(n_rows, TARGET)
        return np.array([SOURCE if name in self._sources else TARGET for name in names])


def _flat(inputs: NDArray) -> Floats:
    flat: Floats = inputs.reshape(len(inputs), -1).astype(np.float64)
    return flat


def _logistic_after(adapter: str, dataset: DomainDataset, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return SkadaAdapted(LogisticRegression(max_iter=5000), adapter=adapter)


def skada_methods() -> dict[str, Method]:
    """Logistic regression after each of skada's two linear adapters, by name."""
    after = {
        "coral": ("Logistic regression, after skada's CORAL", "CORALAdapter"),
        "linear-ot": ("Logistic regression, after skada's linear OT", "LinearOTMappingAdapter"),
    }
    return {
        name: Method(
            name,
            title,
            "skada",
            build=partial(_logistic_after, adapter),
            seeded=False,
            objection=classes_only,
            package=PACKAGE,
        )
        for name, (title, adapter) in after.items()
    }
