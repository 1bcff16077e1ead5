"""Fits and predictions in several threads at once are those of one thread."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.baselines import CIDA, D2V, DANN, GRDA, SENTRY
from domindex.committee import context as fit_context
from domindex.datasets import make_circle

SHORT = Training(index_steps=2, steps=3, batch_size=8)


class Dropping(nn.Sequential):
    """A backbone that draws by itself in every step."""

    def __init__(self):
        super().__init__(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)


MODELS = {
    "network": lambda seed: CrossDomainClassifier(
        predictor="network", training=SHORT, random_state=seed
    ),
    "backbone": lambda seed: CrossDomainClassifier(
        predictor="network",
        representation="raw",
        backbone=Dropping,
        training=SHORT,
        random_state=seed,
    ),
    "dann": lambda seed: DANN(training=SHORT, random_state=seed),
    "d2v": lambda seed: D2V(training=SHORT, random_state=seed),
    "sentry": lambda seed: SENTRY(training=SHORT, random_state=seed),
}


def predicted(model, family) -> np.ndarray:
    model.fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    return model.predict_proba(family.X, sample_domain=family.sample_domain)


@pytest.fixture(scope="module")
def alone(family):
    """A kind and a seed to the model and what it predicts, fitted once, in one thread."""

    def of(kind, seed):
        model = MODELS[kind](seed)
        return model, predicted(model, family)

    return cache(of)


@pytest.mark.parametrize(
    "kind", ["network", pytest.param("backbone", marks=pytest.mark.full), "d2v", "sentry"]
)
def test_two_fits_at_once_are_those_one_after_the_other(family, alone, kind):
    serial = [alone(kind, seed)[1] for seed in (0, 1)]
    with ThreadPoolExecutor(2) as threads:
        at_once = list(threads.map(lambda seed: predicted(MODELS[kind](seed), family), (0, 1)))
    np.testing.assert_array_equal(serial, at_once)
    assert not np.array_equal(serial[0], serial[1])


@pytest.mark.full
def test_eight_threads_fit_while_a_hundred_predict(family, alone):
    tasks = [(kind, seed) for seed in (0, 1) for kind in ("network", "dann", "sentry")]
    models, serial = zip(*(alone(*task) for task in tasks))
    known = {"sample_domain": family.sample_domain}
    with ThreadPoolExecutor(8) as fitting, ThreadPoolExecutor(100) as predicting:
        fits = [fitting.submit(predicted, MODELS[kind](seed), family) for kind, seed in tasks]
        asked = [number % len(models) for number in range(200)]
        said = [predicting.submit(models[n].predict_proba, family.X, **known) for n in asked]
        for task, one, fit in zip(tasks, serial, fits):
            np.testing.assert_array_equal(fit.result(), one, err_msg=str(task))
        for number, answer in zip(asked, said):
            np.testing.assert_array_equal(answer.result(), serial[number])


def test_many_threads_predict_as_one(family):
    model = CrossDomainRegressor(random_state=0, training=SHORT, predictor="network")
    model.fit(
        family.X,
        family.X.sum(axis=1),
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    expected = model.predict(family.X, sample_domain=family.sample_domain)
    with ThreadPoolExecutor(20) as threads:
        tasks = [
            threads.submit(model.predict, family.X, sample_domain=family.sample_domain)
            for _ in range(40)
        ]
        for task in tasks:
            np.testing.assert_array_equal(task.result(), expected)


@pytest.mark.parametrize("kind", list(MODELS))
def test_a_fit_draws_nothing_from_the_generator_of_the_process(family, kind, monkeypatch):
    monkeypatch.setattr(fit_context, "preserve_generators", lambda seed, devices: nullcontext())
    before = torch.get_rng_state()
    predicted(MODELS[kind](0), family)
    assert torch.equal(before, torch.get_rng_state())


def test_baselines_that_are_told_of_domains_draw_from_their_own_too(family, monkeypatch):
    monkeypatch.setattr(fit_context, "preserve_generators", lambda seed, devices: nullcontext())
    names = sorted(set(family.sample_domain))
    graph = nx.relabel_nodes(nx.path_graph(len(names)), dict(enumerate(names)))
    index = {name: float(number) for number, name in enumerate(names)}
    before = torch.get_rng_state()
    predicted(GRDA(graph, training=SHORT, random_state=0), family)
    predicted(CIDA(index, training=SHORT, random_state=0), family)
    assert torch.equal(before, torch.get_rng_state())
