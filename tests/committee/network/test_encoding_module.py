"""The encoding: what it infers, what it trains, and its way through a state."""

import numpy as np
import pytest
import torch

from domindex.committee.alignments import FlowAlignment, IdentityAlignment
from domindex.committee.encoding import EncodingModule
from domindex.geometry.domain_geometry import Subspace
from domindex.geometry.flow import AffineFlow, family_basis
from domindex.vdi.module import Indices
from domindex.vdi.networks import ClassPredictor, DataEncoder, ValuePredictor


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


def turning() -> FlowAlignment:
    basis = family_basis("spin", 2, np.array([0.3, -0.5]))
    flow = AffineFlow(np.full((1, basis.shape[1]), 0.8), basis, "spin", 0.0)
    return FlowAlignment.along(flow, Subspace(np.eye(2), 2), width=16)


def staying() -> IdentityAlignment:
    return IdentityAlignment.onto(np.eye(2), 16, may_bend=True)


@pytest.mark.parametrize("start", [turning, staying])
def test_prior_and_posterior_of_the_encoding_start_almost_together(start, assert_within):
    alignment = start()
    encoder = DataEncoder(alignment, local_dim=4, index_dim=2, width=16)
    posterior, prior = encoder(torch.randn(3, 7, 2), torch.randn(3, 7, 4), torch.randn(3, 2))
    assert posterior.mean.shape == prior.mean.shape == (3, 7, 2)
    assert (posterior.mean - prior.mean).abs().max() < 0.05
    assert (prior.stddev == encoder.prior_scale).all()
    assert_within(posterior.stddev, (-8.0, 0.0))
