"""An objective and its adversary: each learns without touching the other."""

import pytest
import torch
from torch import nn

from domindex.baselines.networks import Adaptation, Encoding, PlainEncoder, PlainModule, is_target
from domindex.neural.training import Objective
from domindex.vdi.adversary import Adversary
from domindex.vdi.networks import ClassPredictor


@pytest.fixture
def plain() -> PlainModule:
    return PlainModule(PlainEncoder(2, 2, latent_dim=5, width=8), ClassPredictor(5, 3))


@pytest.fixture
def reader() -> Adversary:
    return Adversary(("domain",), latent_dim=5, n_domains=4, index_dim=2, width=8)


def test_an_adversary_held_fixed_gives_its_loss_and_takes_no_gradient(
    plain, reader, batch, touched
):
    objective = Objective(plain, reader)
    z = torch.randn(4, 6, 5, requires_grad=True)
    loss = objective.fixed_adversary(z, batch.facts)
    torch.testing.assert_close(loss, reader(z, batch.facts))
    loss.backward()
    assert z.grad.abs().sum() > 0
    assert not touched(reader)


def test_an_adversary_is_no_submodule(plain, reader):
    objective = Objective(plain, reader)
    assert objective.adversary is reader
    assert {id(p) for p in objective.parameters()} == {id(p) for p in plain.parameters()}
    assert not any("adversary" in name for name in objective.state_dict())
    assert Objective(plain).adversary is None


def test_what_is_kept_beside_the_module_is_trained_with_it(plain):
    class WithHelper(Objective):
        def __init__(self, module, helper):
            super().__init__(module)
            self.helper = helper

    helper = nn.Linear(2, 2)
    own = {id(p) for p in WithHelper(plain, helper).parameters()}
    assert own == {id(p) for p in (*plain.parameters(), *helper.parameters())}


def test_the_adversary_reads_z_and_the_facts_of_the_batch(plain, reader, batch):
    objective = Adaptation(plain, reader, weight=1.0)
    latents = objective.infer(batch)
    z, facts = objective.adversary_inputs(batch, latents)
    assert z is latents.z
    assert facts is batch.facts


def test_adaptation_without_an_adversary_is_prediction_of_the_sources(plain, batch):
    objective = Adaptation(plain, None, weight=3.0)
    latents = objective.infer(batch)
    loss, terms = objective(batch, latents, 1.0)
    assert set(terms) == {"label_prediction"}
    predicted = plain.predict(latents.z[batch.sources])
    torch.testing.assert_close(loss, -predicted.log_prob(batch.labels).mean())


def test_adaptation_counts_by_its_weight_and_the_ramp(plain, reader, batch, touched):
    objective = Adaptation(plain, reader, weight=3.0)
    latents = objective.infer(batch)
    loss, terms = objective(batch, latents, 0.5)
    torch.testing.assert_close(terms["adaptation"], -reader(latents.z, batch.facts))
    torch.testing.assert_close(loss, 1.5 * terms["adaptation"] - terms["label_prediction"])
    loss.backward()
    assert touched(plain.encoder)
    assert touched(plain.predictor)
    assert not touched(reader)


def test_targets_are_the_domains_without_labels(batch):
    assert is_target(batch).tolist() == [False, True, False, True]


def test_an_encoding_is_of_x_and_what_is_given_of_the_domain(plain, batch):
    latents = Adaptation(plain).infer(batch)
    assert isinstance(latents, Encoding)
    torch.testing.assert_close(latents.z, plain.encode(batch.x, batch.raw_index))
