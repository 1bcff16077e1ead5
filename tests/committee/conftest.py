"""Small worlds in which candidates are tried: no network, a map in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

from domindex.committee.folds import Fold, HeldOutRows
from domindex.committee.settings import ChoiceSettings
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data

SOURCES = ["d0", "d1", "d2", "d3", "d4"]


def line_of_domains(n_rows=20, task="classification"):
    """Eight domains that move along one axis; the label lies across it. The first five are sources.

    What stands in the targets' labels is wrong on purpose.
    """
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(8), n_rows)
    across = rng.normal(size=len(place))
    X = np.column_stack([2.0 * place + rng.normal(size=len(place)), across])
    y = (across > 0).astype(int) if task == "classification" else 3.0 * across + 10.0
    y = np.where(place < 5, y, 1 - y if task == "classification" else -1e6)
    names = [f"d{number}" for number in place]
    return check_domain_data(X, y, names, SOURCES, task=task)


@pytest.fixture(scope="session")
def settings():
    return ChoiceSettings()


@pytest.fixture(scope="session")
def line():
    return line_of_domains()


@pytest.fixture(scope="session")
def line_geometry(line):
    return DomainGeometry.fit(line, 2)


@pytest.fixture(scope="session")
def values_on_a_line():
    return line_of_domains(task="regression")


def hand_made(labels, domains, *, n_classes=None, kinds=None):
    """Held-out rows with these labels, a near fold a domain; `kinds` names others.

    Rows come domain by domain, as folds have them.
    """
    labels, domains = np.asarray(labels), np.asarray(domains)
    assert (np.diff(domains) >= 0).all()
    numbers = np.unique(domains)
    kinds = kinds or ["near"]
    folds = [
        Fold(kind, np.flatnonzero(domains != k), np.flatnonzero(domains == k), np.array([k]), one)
        for kind, one in zip(kinds, [np.ones(1), np.full(1, 2.0)])
        for k in numbers
    ]
    data = SimpleNamespace(
        row_domains=domains,
        labels=labels if n_classes else labels.reshape(len(labels), -1).astype(float),
        classes=None if n_classes is None else np.arange(n_classes),
        row_counts=np.ones(len(labels), dtype=bool),
    )
    return HeldOutRows.of(folds, data, ChoiceSettings().smoothing)


@pytest.fixture(scope="session")
def held_out_of():
    return hand_made
