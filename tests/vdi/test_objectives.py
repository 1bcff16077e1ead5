"""The loss of the indices trains their networks; predictions disagree by a symmetric divergence."""

from dataclasses import replace

import pytest
import torch
from torch.distributions import Bernoulli, Categorical, Normal, kl_divergence

from domindex.vdi.objectives import IndexObjective, disagreement
from domindex.vdi.settings import Weights


def test_the_indices_train_every_network_of_theirs(indices, batch, touched):
    objective = IndexObjective(indices, Weights())
    loss, terms = objective(batch, objective.infer(batch), 1.0)
    loss.backward()
    assert touched(indices.local_encoder)
    assert touched(indices.index_encoder)
    assert touched(indices.input_decoder)
    assert touched(indices.local_decoder)
    assert touched(indices.contrast)
    assert all(torch.isfinite(term) for term in terms.values())


def test_the_indices_are_learned_from_draws_of_themselves(indices, batch):
    objective = IndexObjective(indices, Weights())
    first, second = objective.infer(batch), objective.infer(batch)
    assert not torch.equal(first.u, second.u)
    torch.testing.assert_close(first.u_posterior.mean, second.u_posterior.mean)


def test_the_indices_are_learned_from_all_inputs_and_no_label(indices, batch):
    objective = IndexObjective(indices, Weights())
    latents = objective.infer(batch)
    blind = replace(
        batch,
        labels=torch.full_like(batch.labels, -1),
        sources=batch.sources[:0],
        represented=torch.full_like(batch.represented, torch.nan),
    )
    loss, terms = objective(batch, latents, 1.0)
    assert objective(blind, latents, 1.0)[0] == loss
    assert set(terms) == {
        "input_reconstruction",
        "local_index_reconstruction",
        "local_index_entropy",
        "global_index_divergence",
        "contrastive",
    }
    weights = Weights()
    by_hand = (
        weights.contrastive * terms["contrastive"]
        - weights.input_reconstruction * terms["input_reconstruction"]
        - weights.local_index
        * (
            terms["local_index_reconstruction"]
            + terms["local_index_entropy"]
            + terms["global_index_divergence"]
        )
    )
    torch.testing.assert_close(loss, by_hand)


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


def test_classes_and_values_cannot_be_compared():
    classes, values = Categorical(logits=torch.randn(2, 3, 4)), Normal(torch.randn(2, 3, 4), 0.5)
    for pair in ((classes, values), (values, classes)):
        with pytest.raises(TypeError, match="no disagreement"):
            disagreement(*pair)
