"""Alignments start where they are told, stay in their family, and can be built from their sizes."""

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group

from domindex.committee.alignments import ALIGNMENTS, FlowAlignment, IdentityAlignment
from domindex.geometry.domain_geometry import Subspace
from domindex.geometry.flow import AffineFlow, family_basis
from domindex.vdi.alignments import AffineAlignment, Alignment


def planted_flow(family, n_features=2, n_components=1, seed=0) -> AffineFlow:
    rng = np.random.default_rng(seed)
    basis = family_basis(family, n_features, rng.normal(size=n_features))
    coefficients = rng.normal(size=(n_components, basis.shape[1]))
    return AffineFlow(coefficients, basis, family, 0.0)


def alignment_along(flow, matrix=None, n_moving=2) -> FlowAlignment:
    matrix = np.eye(n_moving) if matrix is None else matrix
    return FlowAlignment.along(flow, Subspace(matrix, n_moving), width=16)


@pytest.fixture(params=["flow", "identity", "settled identity", "affine", "wide affine"])
def alignment(request) -> Alignment:
    """One of each, for rows of 5 features, or 20, and an index of 2 components."""
    projection = ortho_group.rvs(5, random_state=0)
    makers = {
        "flow": lambda: alignment_along(planted_flow("affine"), projection),
        "identity": lambda: IdentityAlignment.onto(projection[:, :3], 8, may_bend=True),
        "settled identity": lambda: IdentityAlignment.onto(projection, 8, may_bend=False),
        "affine": lambda: AffineAlignment(5, 2, width=8),
        "wide affine": lambda: AffineAlignment(20, 2, width=8),
    }
    return makers[request.param]()


def rows_for(alignment, n_domains=3, n_rows=7) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(n_domains, n_rows, alignment.sizes["n_features"])
    return x, torch.randn(n_domains, 2)


def test_every_alignment_gives_two_points_of_its_size(alignment):
    straight, bent = alignment(*rows_for(alignment))
    assert straight.shape == bent.shape == (3, 7, alignment.latent_dim)


def test_every_alignment_is_built_from_its_name_and_sizes(alignment):
    twin = ALIGNMENTS[alignment.name](**alignment.sizes)
    twin.load_state_dict(alignment.state_dict())
    assert twin.latent_dim == alignment.latent_dim
    assert twin.sizes == alignment.sizes
    x, beta = rows_for(alignment)
    for ours, theirs in zip(alignment.eval()(x, beta), twin.eval()(x, beta)):
        assert torch.equal(ours, theirs)


def test_every_alignment_trains_what_is_not_frozen_and_each_once(alignment):
    grouped = [id(p) for group in alignment.parameter_groups() for p in group.parameters]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {id(p) for p in alignment.parameters() if p.requires_grad}


def test_what_is_redrawn_shares_nothing_with_the_first(alignment):
    x, beta = rows_for(alignment)
    before = alignment.eval()(x, beta)[1].clone()
    twin = alignment.redrawn()
    assert type(twin) is type(alignment)
    assert twin.sizes == alignment.sizes
    assert twin.is_settled == alignment.is_settled
    with torch.no_grad():
        for tensor in (*twin.parameters(), *twin.buffers()):
            tensor.add_(1.0)
    assert torch.equal(alignment(x, beta)[1], before)


def test_a_redrawn_flow_starts_at_the_same_flow_and_a_redrawn_affine_map_elsewhere():
    flow, affine = alignment_along(planted_flow("spin")), AffineAlignment(5, 2, width=8)
    assert torch.equal(flow.redrawn().coefficients, flow.coefficients)
    assert not torch.equal(affine.redrawn().network[0].weight, affine.network[0].weight)


def test_only_stretching_has_a_price(alignment):
    penalty = alignment.penalty(torch.randn(4, 2))
    assert penalty.shape == ()
    assert (penalty > 0) == isinstance(alignment, AffineAlignment)


def test_only_alignments_with_something_to_learn_are_unsettled(alignment):
    frozen = not any(parameter.requires_grad for parameter in alignment.parameters())
    assert alignment.is_settled == frozen
    assert not alignment.requires_grad_(True).is_settled
    assert alignment.requires_grad_(False).is_settled


def test_what_does_not_follow_the_index_does_not_see_it(alignment):
    x, beta = rows_for(alignment)
    alignment.eval()
    moved = not torch.equal(alignment(x, beta)[0], alignment(x, beta + 1.0)[0])
    assert moved == alignment.follows_index


def test_solved_coefficients_move_slowly_and_the_network_of_the_index_fast():
    flow, affine = alignment_along(planted_flow("spin")), AffineAlignment(20, 2, width=8)
    rates = {id(p): rate for group, rate, _ in flow.parameter_groups() for p in group}
    assert rates[id(flow.coefficients)] == 0.1
    assert {rates[id(p)] for p in flow.bend.parameters()} == {1.0}
    rates = {id(p): rate for group, rate, _ in affine.parameter_groups() for p in group}
    assert {rates[id(p)] for p in affine.network.parameters()} == {2.0}
    assert {rates[id(p)] for p in affine.projection.parameters()} == {1.0}


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("family", ["shift", "spin", "affine"])
def test_an_alignment_starts_at_the_flow_it_was_given(family, n_components):
    flow = planted_flow(family, n_components=n_components)
    alignment = alignment_along(flow)
    rng = np.random.default_rng(1)
    x, beta = rng.normal(size=(4, 9, 2)), rng.normal(size=(4, 2))
    truth = np.stack(flow.align_all(list(x), beta))
    points, index = torch.tensor(x).float(), torch.tensor(beta).float()
    straight, bent = alignment(points, index)
    np.testing.assert_allclose(straight.detach(), truth, atol=1e-4)
    np.testing.assert_allclose(alignment.align(points, index).detach(), truth, atol=1e-4)
    assert (bent - straight).abs().max() < 0.05


def test_a_flow_without_movement_aligns_nothing():
    still = AffineFlow(np.zeros((1, 0)), np.zeros((6, 0)), "none", 0.0)
    x = torch.randn(3, 5, 2)
    straight, _ = alignment_along(still)(x, torch.randn(3, 2))
    torch.testing.assert_close(straight, x)


def test_the_warp_starts_at_zero_and_does_not_learn_unless_told():
    alignment = alignment_along(planted_flow("spin"))
    assert torch.equal(alignment.warp(torch.randn(7, 2)), torch.zeros(7, 2))
    assert not any(parameter.requires_grad for parameter in alignment.warp.parameters())
    assert all(parameter.requires_grad for parameter in alignment.bend.parameters())


@pytest.mark.parametrize("part", ["weight", "bias"])
def test_a_flow_is_straightened_once_its_warp_does_something(part):
    alignment = alignment_along(planted_flow("spin"))
    assert not alignment.is_straightened
    with torch.no_grad():
        getattr(alignment.warp[-1], part).flatten()[0] = -0.1
    assert alignment.is_straightened


def test_the_bend_starts_nearly_at_zero_but_can_learn():
    alignment = alignment_along(planted_flow("spin"))
    bend = alignment.bend(torch.randn(50, 2))
    assert 0 < bend.abs().max() < 0.05


def test_aligned_points_are_centred_and_whitened_as_told():
    alignment = alignment_along(planted_flow("affine"))
    x, beta = torch.randn(3, 5, 2), torch.randn(3, 1)
    centre, whitening = np.array([1.0, -2.0]), np.array([[2.0, 1.0], [0.0, 0.5]])
    aligned = alignment.align(x, beta)
    alignment.use_spread(centre, whitening)
    straight, _ = alignment(x, beta)
    expected = (aligned - torch.tensor(centre).float()) @ torch.tensor(whitening).float()
    torch.testing.assert_close(straight, expected)
    torch.testing.assert_close(alignment.align(x, beta), aligned)


def test_still_coordinates_pass_by_and_can_be_dropped():
    projection = ortho_group.rvs(5, random_state=0)
    alignment = alignment_along(planted_flow("spin"), projection)
    x, beta = torch.randn(3, 4, 5), torch.randn(3, 1)
    before, _ = alignment(x, beta)
    assert before.shape == (3, 4, 5)
    still = x @ torch.tensor(projection[:, 2:]).float()
    torch.testing.assert_close(before[..., 2:], still)
    alignment.drop_still()
    after, bent = alignment(x, beta)
    assert alignment.latent_dim == alignment.sizes["latent_dim"] == 2
    assert bent.shape == (3, 4, 2)
    torch.testing.assert_close(after, before[..., :2])
    FlowAlignment(**alignment.sizes).load_state_dict(alignment.state_dict())


def test_an_identity_projects_and_bends_only_if_it_may():
    x, beta = torch.randn(3, 5, 4), torch.randn(3, 2)
    projection = np.eye(4)[:, :2]
    straight, bent = IdentityAlignment.onto(projection, 8, may_bend=False)(x, beta)
    torch.testing.assert_close(straight, x[..., :2])
    torch.testing.assert_close(bent, straight)
    free = IdentityAlignment.onto(projection, 8, may_bend=True)
    assert not torch.equal(*free(x, beta))
    assert free.latent_dim == 2
    assert free.penalty(beta) == 0.0


def test_columns_in_reverse_are_taken():
    alignment = IdentityAlignment.onto(np.eye(3)[:, ::-1], 8, may_bend=False)
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(alignment(x, torch.zeros(2, 1))[0], x.flip(-1))
