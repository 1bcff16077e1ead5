"""The two modules: what they infer, what they train, and their way through a state."""

import numpy as np
import pytest
import torch

from domindex.vdi.alignments import FlowAlignment
from domindex.vdi.module import EncodingModule, IndexModule, Indices
from domindex.vdi.networks import ClassPredictor, ValuePredictor


def test_without_a_draw_the_indices_are_their_means(indices, batch):
    latents = indices.infer(batch.x, batch.raw_index, sample=False)
    assert torch.equal(latents.u, latents.u_posterior.mean)
    assert torch.equal(latents.beta, batch.raw_index)
    drawn = indices.infer(batch.x, batch.raw_index)
    assert not torch.equal(drawn.u, latents.u)
    assert not torch.equal(drawn.beta, latents.beta)


def test_a_local_index_needs_no_domain(indices, batch):
    grouped = indices.local_posterior(batch.x).mean
    torch.testing.assert_close(
        indices.local_posterior(batch.x.flatten(0, 1)).mean, grouped.flatten(0, 1)
    )
    torch.testing.assert_close(indices.local_posterior(batch.x[1, 2]).mean, grouped[1, 2])


def test_pictures_are_taken_as_they_are():
    module = IndexModule((4, 5), local_dim=3, index_dim=2, width=8)
    latents = module.infer(torch.randn(2, 6, 4, 5), torch.randn(2, 2))
    assert latents.u.shape == (2, 6, 3)


def test_the_prior_of_the_index_has_unit_scale(indices):
    assert torch.equal(indices.index_prior.mean, torch.zeros(2))
    assert torch.equal(indices.index_prior.stddev, torch.ones(2))


def test_the_encoding_keeps_the_indices_it_was_given(module, indices, batch):
    given = indices.infer(batch.x, batch.raw_index)
    latents = module.infer(batch.represented, given)
    assert isinstance(latents, Indices)
    assert latents.u is given.u
    assert latents.beta is given.beta
    still = module.eval().infer(batch.represented, given, sample=False)
    assert torch.equal(still.z, still.z_posterior.mean)
    assert module.predict(still.z).probs.shape == (4, 6, 3)


def test_every_parameter_is_trained_once_and_the_predictor_fast(module):
    groups = module.parameter_groups()
    ids = [id(p) for group in groups for p in group.parameters]
    assert len(ids) == len(set(ids))
    assert set(ids) == {id(p) for p in module.parameters() if p.requires_grad}
    rates = {id(p): group.rate for group in groups for p in group.parameters}
    assert {rates[id(p)] for p in module.predictor.parameters()} == {module.predictor_rate}


def test_a_redrawn_module_shares_nothing_and_predicts_otherwise(module, indices, batch):
    given = indices.infer(batch.x, batch.raw_index)
    fresh = module.redrawn()
    assert fresh.state()["sizes"] == module.state()["sizes"]
    assert not {id(p) for p in fresh.parameters()} & {id(p) for p in module.parameters()}
    z = module.infer(batch.represented, given).z
    assert not torch.equal(fresh.predict(z).logits, module.predict(z).logits)


def test_indices_come_back_from_their_state(indices, batch):
    indices.double()
    twin = IndexModule.from_state(indices.state())
    x, raw_index = batch.x.double(), batch.raw_index.double()
    ours, theirs = (m.infer(x, raw_index, sample=False) for m in (indices, twin))
    assert torch.equal(ours.u, theirs.u)
    assert torch.equal(ours.beta_posterior.stddev, theirs.beta_posterior.stddev)
    assert (twin.local_dim, twin.index_dim, twin.width) == (3, 2, 8)
    assert not twin.training


def test_pictures_come_back_from_their_state():
    module = IndexModule((4, 5), local_dim=3, index_dim=2, width=8).double()
    twin = IndexModule.from_state(module.state())
    x = torch.randn(7, 4, 5).double()
    assert torch.equal(twin.local_posterior(x).mean, module.local_posterior(x).mean)


def test_encodings_come_back_from_their_state(module, indices, batch):
    indices.double()
    module.double().eval()
    given = indices.infer(batch.x.double(), batch.raw_index.double(), sample=False)
    twin = EncodingModule.from_state(module.state())
    ours, theirs = (
        m.predict(m.infer(batch.represented.double(), given, sample=False).z)
        for m in (module, twin)
    )
    assert torch.equal(ours.logits, theirs.logits)
    assert type(twin.alignment) is type(module.alignment)
    assert twin.state()["sizes"] == module.state()["sizes"]


def test_an_encoding_of_values_and_of_a_flow_that_stands_still_comes_back(indices, batch):
    alignment = FlowAlignment(2, 2, 2, 1, n_coefficients=0, width=8)
    predictor = ValuePredictor(2, 1).follow(np.ones((2, 1)), np.zeros(1), may_bend=False)
    module = EncodingModule(alignment, predictor, 3, 2, width=8).double().eval()
    twin = EncodingModule.from_state(module.state())
    z = torch.randn(4, 5, 2).double()
    assert torch.equal(twin.predict(z).mean, module.predict(z).mean)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"local_dim": 0}, "local_dim is 0"),
        ({"index_dim": 2.0}, "index_dim is 2.0"),
        ({"width": True}, "width is True"),
        ({"input_shape": [2, -1]}, "input_shape is -1"),
        ({"width": 10**9}, "do not fit the sizes"),
        ({"input_shape": [3]}, "do not fit the sizes"),
    ],
)
def test_sizes_of_indices_that_cannot_be_are_refused(indices, change, message):
    state = indices.double().state()
    state["sizes"] |= change
    with pytest.raises(ValueError, match=message):
        IndexModule.from_state(state)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("alignment_sizes", {"width": 0}, "width is 0"),
        ("alignment_sizes", {"width": 9}, "do not fit the sizes"),
        ("predictor_sizes", {"n_classes": -3}, "n_classes is -3"),
        ("predictor_sizes", {"n_classes": 4}, "do not fit the sizes"),
    ],
)
def test_sizes_of_encodings_that_cannot_be_are_refused(module, part, change, message):
    state = module.double().state()
    state["sizes"][part] = {**state["sizes"][part], **change}
    with pytest.raises(ValueError, match=message):
        EncodingModule.from_state(state)


def test_a_network_that_the_library_does_not_know_is_not_built(module):
    state = module.double().state()
    state["sizes"]["alignment"] = "os.system"
    with pytest.raises((KeyError, ValueError)):
        EncodingModule.from_state(state)


def test_a_state_can_be_read_without_the_module_it_came_from():
    sizes = EncodingModule(
        FlowAlignment(2, 2, 2, 1, 3, 8), ClassPredictor(2, 3), 3, 2, width=8
    ).state()["sizes"]
    assert sizes["alignment"] == "flow"
    assert sizes["predictor"] == "classes"
    assert sizes["predictor_sizes"] == {"latent_dim": 2, "n_classes": 3, "width": 32}
