"""Small modules, one batch and one chance for every test of the model."""

import numpy as np
import pytest
import torch

from domindex.geometry.flow import AffineFlow
from domindex.geometry.subspace import Subspace
from domindex.model.adversary import Adversary, DomainFacts
from domindex.model.batch import Batch
from domindex.model.module import EncodingModule, IndexModule
from domindex.networks.alignments import AffineAlignment, FlowAlignment, IdentityAlignment
from domindex.networks.decoders import ClassPredictor

N_DOMAINS, ROWS, N_FEATURES = 4, 6, 2


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def indices() -> IndexModule:
    module = IndexModule((N_FEATURES,), local_dim=3, index_dim=2, width=8)
    module.local_encoder.start_at(np.random.default_rng(0).normal(size=(N_FEATURES, 3)))
    return module


def encoding_of(alignment) -> EncodingModule:
    return EncodingModule(alignment, ClassPredictor(alignment.latent_dim, 3), 3, 2, width=8)


@pytest.fixture(params=["flow", "affine"])
def module(request) -> EncodingModule:
    """Of alignments that follow the index."""
    flow = AffineFlow(np.full((1, 6), 0.3), np.eye(6), "affine", 0.0)
    return encoding_of(
        FlowAlignment.along(flow, Subspace(np.eye(2), 2), width=8)
        if request.param == "flow"
        else AffineAlignment(N_FEATURES, 2, width=8)
    )


@pytest.fixture
def still_module() -> EncodingModule:
    return encoding_of(IdentityAlignment.onto(np.eye(N_FEATURES), 8, may_bend=True))


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
