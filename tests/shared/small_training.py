"""Fixtures of tests that train networks: small modules, one batch, domains along a line."""

import math

import numpy as np
import pytest
import torch

from domindex.committee.context import one_thread
from domindex.inputs import DomainData
from domindex.neural.batches import Batch, DomainFacts, TrainingRows
from domindex.neural.settings import TrainingSettings
from domindex.vdi.adversary import Adversary
from domindex.vdi.module import IndexModule

N_DOMAINS, ROWS, N_FEATURES = 4, 6, 2


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def _one_thread():
    """As a fit has it: small steps take many times longer where threads compete for cores."""
    with one_thread():
        yield


@pytest.fixture
def cpu() -> torch.device:
    return torch.device("cpu")


@pytest.fixture
def line() -> np.ndarray:
    """A map of index_dim 2 with five domains in order along its first axis, at unit scale."""
    return np.column_stack([np.linspace(-1.4, 1.4, 5), np.zeros(5)])


@pytest.fixture
def rows(line) -> TrainingRows:
    """Five domains that move along the first feature; two classes, known in the first two."""
    rng = np.random.default_rng(0)
    of_row = np.repeat(np.arange(5), 20)
    classes = np.arange(100) % 2
    inputs = 0.3 * rng.normal(size=(100, 2)) + line[of_row]
    inputs[:, 1] += 2.0 * classes - 1.0
    is_source = np.array([True, True, False, False, False])
    labels = np.where(is_source[of_row], classes, -1)
    domains = ("a", "b", "c", "d", "e")
    data = DomainData(
        inputs, labels, of_row, domains, is_source, "classification", classes=np.array([0, 1])
    )
    return TrainingRows.of(data, inputs.copy(), torch.device("cpu"))


@pytest.fixture
def settings() -> TrainingSettings:
    return TrainingSettings(steps=20, index_steps=12, batch_size=8, warm_up=2)


@pytest.fixture
def indices() -> IndexModule:
    module = IndexModule((N_FEATURES,), local_dim=3, index_dim=2, width=8)
    module.local_encoder.start_at(np.random.default_rng(0).normal(size=(N_FEATURES, 3)))
    return module


@pytest.fixture
def adversary() -> Adversary:
    return Adversary(("graph", "domain", "index"), N_FEATURES, N_DOMAINS, 2, 8)


@pytest.fixture
def batch() -> Batch:
    """Four domains in a chain, of which the first and the third have labels."""
    raw_index = torch.randn(N_DOMAINS, 2)
    links = torch.ones(N_DOMAINS, N_DOMAINS).tril(1).triu(-1).bool()
    return Batch(
        x=torch.randn(N_DOMAINS, ROWS, N_FEATURES),
        represented=torch.randn(N_DOMAINS, ROWS, N_FEATURES),
        labels=torch.randint(3, (2, ROWS)),
        sources=torch.tensor([0, 2]),
        domain_sizes=torch.full((N_DOMAINS,), ROWS),
        raw_index=raw_index,
        neighbor_index=raw_index.roll(1, dims=0),
        facts=DomainFacts(torch.arange(N_DOMAINS), raw_index, links),
    )


@pytest.fixture
def touched():
    """Whether a network has a gradient anywhere."""

    def check(network) -> bool:
        return any(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())

    return check


@pytest.fixture
def assert_within():
    """Deviations lie between those of the two ends of a log variance."""

    def check(scale, log_variance):
        low, high = (math.exp(end / 2) for end in log_variance)
        assert low * (1 - 1e-5) <= scale.min()
        assert scale.max() <= high * (1 + 1e-5)

    return check
