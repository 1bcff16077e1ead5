"""Each block of the objective trains its own networks, and no others."""

import numpy as np
import pytest
import torch
from domindex.networks.carriers import FlowCarrier, IndexedAffine
from torch.distributions import Bernoulli, Categorical, Normal, kl_divergence

from domindex.model.adversary import Adversary, DomainFacts
from domindex.model.module import VDIModule
from domindex.model.objectives import (
    Batch,
    EncodingObjective,
    IndexObjective,
    Weights,
    disagreement,
)
from domindex.networks.decoders import ClassPredictor

N_DOMAINS, ROWS, N_FEATURES = 4, 6, 2


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(params=["flow", "indexed"])
def module(request) -> VDIModule:
    carrier = (
        FlowCarrier(np.ones((1, 6)) * 0.3, np.eye(6), np.eye(2), 2, width=8)
        if request.param == "flow"
        else IndexedAffine(N_FEATURES, 2, width=8)
    )
    predictor = ClassPredictor(carrier.n_outputs, 3)
    return VDIModule(N_FEATURES, 3, 2, carrier, predictor, width=8)


@pytest.fixture
def batch() -> Batch:
    raw_index = torch.randn(N_DOMAINS, 2)
    links = torch.ones(N_DOMAINS, N_DOMAINS).tril(1).triu(-1).bool()
    return Batch(
        x=torch.randn(N_DOMAINS, ROWS, N_FEATURES),
        normalized=torch.randn(N_DOMAINS, ROWS, N_FEATURES),
        labels=torch.randint(3, (2, ROWS)),
        sources=torch.tensor([0, 2]),
        domain_sizes=torch.full((N_DOMAINS,), ROWS),
        raw_index=raw_index,
        neighbor_index=raw_index.roll(1, dims=0),
        facts=DomainFacts(torch.arange(N_DOMAINS), raw_index, links),
    )


def opponent_of(module) -> Adversary:
    return Adversary(("graph", "domain", "index"), module.data_encoder.latent_dim, N_DOMAINS, 2, 8)


def touched(network) -> bool:
    return any(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_the_encoding_trains_the_encoder_and_the_predictor_only(module, batch):
    opponent = opponent_of(module)
    objective = EncodingObjective(module, opponent, Weights())
    loss, _ = objective(batch, objective.infer(batch), 1.0)
    loss.backward()
    assert touched(module.data_encoder)
    assert touched(module.predictor)
    assert not touched(opponent)
    assert not touched(module.local_encoder)
    assert not touched(module.index_encoder)
    assert not touched(module.input_decoder)
    assert not touched(module.local_decoder)


def test_the_encoding_is_trained_against_the_adversary(module, batch):
    weights = Weights(adversary=1.0, encoding=0.0, smoothness=0.0, strain=0.0)
    objective = EncodingObjective(module, opponent_of(module), weights)
    latents = objective.infer(batch)
    loss, terms = objective(batch, latents, 1.0)
    torch.testing.assert_close(loss, -terms["label_prediction"] - terms["adversary"])
    off, _ = objective(batch, latents, 0.0)
    torch.testing.assert_close(off, -terms["label_prediction"])


def test_the_adversary_is_no_part_of_what_the_encoding_optimises(module):
    opponent = opponent_of(module)
    own = {id(p) for p in EncodingObjective(module, opponent, Weights()).parameters()}
    assert not own & {id(p) for p in opponent.parameters()}


def test_the_encoding_sees_what_the_adversary_has_learned_since(module, batch):
    opponent = opponent_of(module)
    objective = EncodingObjective(module, opponent, Weights())
    latents = objective.infer(batch)
    before = objective(batch, latents, 1.0)[1]["adversary"]
    with torch.no_grad():
        for parameter in opponent.parameters():
            parameter.mul_(3.0)
    torch.testing.assert_close(
        objective(batch, latents, 1.0)[1]["adversary"], opponent(latents.z, batch.facts)
    )
    assert before != opponent(latents.z, batch.facts)


def test_the_indices_train_neither_the_encoder_nor_the_predictor(module, batch):
    loss, terms = IndexObjective(module, Weights())(batch)
    loss.backward()
    assert touched(module.local_encoder)
    assert touched(module.index_encoder)
    assert touched(module.input_decoder)
    assert touched(module.local_decoder)
    assert touched(module.contrast)
    assert not touched(module.data_encoder)
    assert not touched(module.predictor)
    assert all(torch.isfinite(term) for term in terms.values())


def test_a_neighbour_with_the_same_index_makes_no_roughness(module, batch):
    module.eval()
    batch = Batch(**{**vars(batch), "neighbor_index": batch.raw_index})
    objective = EncodingObjective(module, opponent_of(module), Weights())
    _, terms = objective(batch, objective.infer(batch), 1.0)
    assert terms["smoothness"].item() == pytest.approx(0.0, abs=1e-9)


def test_a_neighbour_with_another_index_does(module, batch):
    objective = EncodingObjective(module, opponent_of(module), Weights())
    _, terms = objective(batch, objective.infer(batch), 1.0)
    assert terms["smoothness"] > 0


def test_equal_predictions_do_not_disagree():
    classes, values = Categorical(logits=torch.randn(2, 3, 4)), Normal(torch.randn(2, 3, 1), 0.5)
    assert disagreement(classes, classes).item() == 0.0
    assert disagreement(values, values).item() == 0.0


def test_disagreement_is_the_symmetric_divergence():
    first, second = (Categorical(logits=torch.randn(2, 3, 4)) for _ in range(2))
    both = kl_divergence(first, second) + kl_divergence(second, first)
    assert both.mean() > 0
    torch.testing.assert_close(disagreement(first, second), both.mean())


def test_values_of_one_scale_disagree_by_the_symmetric_divergence():
    first, second = (Normal(torch.randn(2, 3, 2), torch.tensor(0.7)) for _ in range(2))
    both = (kl_divergence(first, second) + kl_divergence(second, first)).sum(dim=-1)
    assert both.mean() > 0
    torch.testing.assert_close(disagreement(first, second), both.mean())


def test_predictions_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match="Bernoulli"):
        disagreement(Bernoulli(0.5), Bernoulli(0.5))
