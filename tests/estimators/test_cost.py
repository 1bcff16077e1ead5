"""The estimate before a fit: it grows with everything, knows the machine, and is said in words."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from domindex import CrossDomainClassifier, Training
from domindex.datasets import make_drift
from domindex.estimators.cost import (
    COEFFICIENTS,
    FitSize,
    estimate_seconds,
    in_words,
    machine_speed,
)
from domindex.inputs import check_domain_data
from domindex.progress import show_progress

SIZE = FitSize(rows=3000, source_rows=600, features=8, domains=30)

MEASURED = [
    ("quick", FitSize(600, 100, 4, 12), 3.9),
    ("full", FitSize(600, 100, 4, 12), 6.0),
    ("quick", FitSize(3000, 600, 16, 30), 9.4),
    ("full", FitSize(3000, 600, 16, 30), 23.0),
]
"""Seconds of CPU of default fits of `make_drift`, means of classes and values, as measured when the
coefficients were; a fit within a test would depend on who else uses the machine."""


@pytest.mark.parametrize(("effort", "size", "seconds"), MEASURED)
def test_it_is_within_a_factor_of_three_of_what_was_measured(effort, size, seconds):
    assert 1 / 3 < estimate_seconds(size, effort) / seconds < 3


@pytest.mark.parametrize("effort", ["full", "quick"])
@pytest.mark.parametrize("what", ["rows", "source_rows", "features", "domains"])
def test_it_grows_with_everything(effort, what):
    sizes = [replace(SIZE, **{what: getattr(SIZE, what) * factor}) for factor in (1, 2, 4)]
    seconds = [estimate_seconds(size, effort) for size in sizes]
    assert all(first <= second for first, second in pairwise(seconds))


def test_every_term_has_a_coefficient_that_is_no_less_than_zero():
    for coefficients in COEFFICIENTS.values():
        assert len(coefficients) == len(SIZE.terms())
        assert min(coefficients) >= 0.0


def test_a_slower_machine_takes_longer():
    ticks = np.cumsum([0.0, 0.06, 1.0, 0.06, 1.0, 0.06]).tolist()
    left = iter(ticks)
    speed = machine_speed(clock=lambda: next(left))
    assert speed == pytest.approx(0.06 / 0.02)
    assert estimate_seconds(SIZE, "full", speed) == pytest.approx(
        speed * estimate_seconds(SIZE, "full")
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3.0, "about 10 seconds"),
        (52.0, "about 50 seconds"),
        (56.0, "about a minute"),
        (89.0, "about a minute"),
        (130.0, "about 2 minutes"),
        (3500.0, "about an hour"),
        (20000.0, "about 6 hours"),
    ],
)
def test_seconds_in_words(seconds, words):
    assert in_words(seconds) == words


def test_a_long_fit_says_so_before_it_starts(monkeypatch, capsys):
    data = make_drift(n_domains=5, n_sources=2, samples_per_domain=8, n_features=2)
    monkeypatch.setattr("domindex.estimators.cross_domain.estimate_seconds", lambda *_: 250.0)
    model = CrossDomainClassifier(
        effort="quick", training=Training(index_steps=1), verbose=1, random_state=0
    )
    model.fit(data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    told = capsys.readouterr().err
    assert told.startswith("This will take about 4 minutes or so.")
    monkeypatch.setattr("domindex.estimators.cross_domain.estimate_seconds", lambda *_: 5.0)
    with show_progress(1) as progress:
        checked = check_domain_data(data.X, data.y, data.sample_domain, data.source_domains)
        model._announce_cost(checked, progress)
    assert capsys.readouterr().err == ""


def test_a_size_is_plain_numbers():
    assert json.loads(json.dumps(SIZE.terms())) == SIZE.terms()
