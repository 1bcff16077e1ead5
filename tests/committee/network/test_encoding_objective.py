"""The loss of the encoding trains its own networks, and no others."""

from dataclasses import replace

import pytest
import torch

from domindex.committee.encoding import EncodingObjective
from domindex.vdi.objectives import disagreement
from domindex.vdi.settings import Weights


def test_the_encoding_trains_the_encoder_and_the_predictor_only(
    module, indices, adversary, batch, touched
):
    objective = EncodingObjective(module, indices, adversary, Weights())
    loss, _ = objective(batch, objective.infer(batch), 1.0)
    loss.backward()
    assert touched(module.data_encoder)
    assert touched(module.predictor)
    assert not touched(adversary)
    assert not touched(indices)


def test_the_encoding_is_trained_against_the_adversary(module, indices, adversary, batch):
    weights = Weights(adversary=1.0, encoding=0.0, smoothness=0.0, strain=0.0)
    objective = EncodingObjective(module, indices, adversary, weights)
    latents = objective.infer(batch)
    loss, terms = objective(batch, latents, 1.0)
    torch.testing.assert_close(loss, -terms["label_prediction"] - terms["adversary"])
    off, _ = objective(batch, latents, 0.0)
    torch.testing.assert_close(off, -terms["label_prediction"])


def test_neither_the_adversary_nor_the_indices_are_part_of_what_the_encoding_optimises(
    module, indices, adversary
):
    objective = EncodingObjective(module, indices, adversary, Weights())
    own = {id(p) for p in objective.parameters()}
    assert own == {id(p) for p in module.parameters()}
    assert not own & {id(p) for p in adversary.parameters()}
    assert not own & {id(p) for p in indices.parameters()}


def test_the_encoding_sees_what_the_adversary_has_learned_since(module, indices, adversary, batch):
    objective = EncodingObjective(module, indices, adversary, Weights())
    latents = objective.infer(batch)
    before = objective(batch, latents, 1.0)[1]["adversary"]
    with torch.no_grad():
        for parameter in adversary.parameters():
            parameter.mul_(3.0)
    torch.testing.assert_close(
        objective(batch, latents, 1.0)[1]["adversary"], adversary(latents.z, batch.facts)
    )
    assert before != adversary(latents.z, batch.facts)


def test_the_indices_stand_at_their_means_while_the_encoding_is_drawn(module, indices, batch):
    objective = EncodingObjective(module, indices, None, Weights())
    first, second = objective.infer(batch), objective.infer(batch)
    assert torch.equal(first.u, indices.local_posterior(batch.x).mean)
    assert torch.equal(first.beta, batch.raw_index)
    assert not torch.equal(first.z, second.z)
    torch.testing.assert_close(first.z_posterior.mean, second.z_posterior.mean)


def test_without_an_adversary_nothing_is_hidden(module, indices, batch):
    objective = EncodingObjective(module, indices, None, Weights())
    latents = objective.infer(batch)
    early, terms = objective(batch, latents, 0.0)
    late, _ = objective(batch, latents, 1.0)
    assert terms["adversary"].item() == 0.0
    assert early == late


def test_every_term_counts_by_its_weight(module, indices, adversary, batch):
    weights = Weights(adversary=2.0, encoding=3.0, smoothness=5.0, strain=7.0)
    objective = EncodingObjective(module, indices, adversary, weights)
    loss, terms = objective(batch, objective.infer(batch), 0.5)
    by_hand = (
        -terms["label_prediction"]
        - 3.0 * terms["encoding_divergence"]
        - 2.0 * 0.5 * terms["adversary"]
        + 5.0 * terms["smoothness"]
        + 7.0 * terms["strain"]
    )
    torch.testing.assert_close(loss, by_hand)
    assert terms["strain"] == module.alignment.penalty(batch.raw_index)


def test_a_neighbour_with_the_same_index_makes_no_roughness(module, indices, adversary, batch):
    module.eval()
    batch = replace(batch, neighbor_index=batch.raw_index)
    objective = EncodingObjective(module, indices, adversary, Weights())
    _, terms = objective(batch, objective.infer(batch), 1.0)
    assert terms["smoothness"].item() == pytest.approx(0.0, abs=1e-9)


def test_a_neighbour_with_another_index_does(module, indices, adversary, batch):
    objective = EncodingObjective(module, indices, adversary, Weights())
    _, terms = objective(batch, objective.infer(batch), 1.0)
    assert terms["smoothness"] > 0


def test_what_is_borrowed_is_the_neighbours_own_index(module, indices, batch):
    module.eval()
    objective = EncodingObjective(module, indices, None, Weights())
    latents = objective.infer(batch)
    own = module.predict(latents.z_posterior.mean)
    _, borrowed = module.alignment(batch.represented, batch.neighbor_index)
    _, terms = objective(batch, latents, 1.0)
    torch.testing.assert_close(terms["smoothness"], disagreement(own, module.predict(borrowed)))


def test_what_does_not_follow_the_index_has_no_roughness(still_module, indices, batch):
    objective = EncodingObjective(still_module, indices, None, Weights())
    _, terms = objective(batch, objective.infer(batch), 1.0)
    assert terms["smoothness"].item() == 0.0
    assert terms["strain"].item() == 0.0
