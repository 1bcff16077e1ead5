"""The indices: what they infer, and their way through a state."""

import pytest
import torch

from domindex.vdi.module import IndexModule


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
