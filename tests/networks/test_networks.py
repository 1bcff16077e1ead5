"""Networks give distributions of the right shape, within bounds, and start where they should."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group
from torch import nn
from torch.distributions import Categorical, Normal

from domindex.geometry.flow import AffineFlow
from domindex.geometry.flow_families import family_basis
from domindex.networks.blocks import GaussianHead, Whitening, bounded_scale, mlp, start_small
from domindex.networks.carriers import FlowCarrier, IndexedAffine, StillCarrier
from domindex.networks.decoders import (
    INPUT_SCALE,
    VALUE_LOG_VARIANCE,
    ClassPredictor,
    InputDecoder,
    LocalIndexDecoder,
    ValuePredictor,
)
from domindex.networks.discriminators import DomainClassifier, GraphEmbedder, IndexRegressor
from domindex.networks.encoders import (
    ENCODING_LOG_VARIANCE,
    ENCODING_SCALE,
    INDEX_LOG_VARIANCE,
    LOCAL_LOG_VARIANCE,
    DataEncoder,
    GlobalIndexEncoder,
    LocalIndexEncoder,
)


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def assert_within(scale, log_variance):
    low, high = (math.exp(end / 2) for end in log_variance)
    assert low * (1 - 1e-5) <= scale.min()
    assert scale.max() <= high * (1 + 1e-5)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_network_has_as_many_hidden_layers_as_asked(depth):
    network = mlp(3, 5, 7, depth)
    assert sum(isinstance(layer, nn.Linear) for layer in network) == depth + 1
    assert network(torch.zeros(2, 4, 3)).shape == (2, 4, 5)


def test_a_network_started_at_nothing_gives_nothing():
    network = mlp(3, 5, 7, depth=2)
    start_small(network, 0.0)
    assert torch.equal(network(torch.randn(10, 3)), torch.zeros(10, 5))


def test_a_scale_stays_within_its_bounds_whatever_comes():
    raw = torch.tensor([-1e9, -3.0, 0.0, 3.0, 1e9])
    scale = bounded_scale(raw, -6.0, 2.0)
    expected = torch.tensor([math.exp(-3.0), math.exp(-1.0), math.exp(1.0)])
    torch.testing.assert_close(scale[[0, 2, 4]], expected)
    assert (scale.diff() > 0).all()


@pytest.mark.parametrize("shape", [(4,), (2, 4), (3, 2, 4)])
def test_a_gaussian_head_takes_any_leading_shape(shape):
    head = GaussianHead(4, 3, 8, depth=1, log_variance=(-4.0, 1.0))
    normal = head(torch.randn(shape) * 1e4)
    assert normal.mean.shape == (*shape[:-1], 3)
    assert_within(normal.stddev, (-4.0, 1.0))


@pytest.mark.parametrize(("n_features", "local_dim"), [(2, 4), (3, 3), (1, 8)])
def test_local_indices_start_as_nearly_an_isometry(n_features, local_dim):
    encoder = LocalIndexEncoder(n_features, local_dim, width=32)
    x = torch.randn(40, n_features)
    ratio = torch.pdist(encoder(x).mean) / torch.pdist(x)
    assert (ratio - 1).abs().max() < 0.15


def test_local_indices_have_bounded_scales():
    normal = LocalIndexEncoder(3, 2, width=8)(torch.randn(2, 5, 3) * 1e4)
    assert normal.mean.shape == (2, 5, 2)
    assert_within(normal.stddev, LOCAL_LOG_VARIANCE)


def test_the_mean_of_the_global_index_is_the_raw_index():
    raw_index = torch.randn(6, 2)
    normal = GlobalIndexEncoder(2, width=8)(raw_index)
    assert torch.equal(normal.mean, raw_index)
    assert_within(normal.stddev, INDEX_LOG_VARIANCE)


def planted_flow(family, n_features=2, n_components=1, seed=0) -> AffineFlow:
    rng = np.random.default_rng(seed)
    basis = family_basis(family, n_features, rng.normal(size=n_features))
    coefficients = rng.normal(size=(n_components, basis.shape[1]))
    return AffineFlow(coefficients, basis, family, 0.0)


def carrier_of(flow, projection=None, n_moving=2) -> FlowCarrier:
    matrix = np.eye(n_moving) if projection is None else projection
    return FlowCarrier(flow.coefficients, flow.basis, matrix, n_moving, width=16)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("family", ["shift", "spin", "affine"])
def test_a_carrier_starts_at_the_flow_it_was_given(family, n_components):
    flow = planted_flow(family, n_components=n_components)
    carrier = carrier_of(flow)
    rng = np.random.default_rng(1)
    x, beta = rng.normal(size=(4, 9, 2)), rng.normal(size=(4, 2))
    truth = np.stack([flow.carry(cloud, place) for cloud, place in zip(x, beta)])
    points, index = torch.tensor(x).float(), torch.tensor(beta).float()
    straight, bent = carrier(points, index)
    np.testing.assert_allclose(straight.detach(), truth, atol=1e-4)
    np.testing.assert_allclose(carrier.carry(points, index).detach(), truth, atol=1e-4)
    assert (bent - straight).abs().max() < 0.05


def test_a_flow_without_movement_carries_nothing():
    still = AffineFlow(np.zeros((1, 0)), np.zeros((6, 0)), "none", 0.0)
    x = torch.randn(3, 5, 2)
    straight, _ = carrier_of(still)(x, torch.randn(3, 2))
    torch.testing.assert_close(straight, x)


def test_the_warp_starts_at_zero_and_does_not_learn_unless_told():
    carrier = carrier_of(planted_flow("spin"))
    assert torch.equal(carrier.warp(torch.randn(7, 2)), torch.zeros(7, 2))
    assert not any(parameter.requires_grad for parameter in carrier.warp.parameters())
    assert all(parameter.requires_grad for parameter in carrier.bend.parameters())


def test_the_bend_starts_nearly_at_zero_but_can_learn():
    carrier = carrier_of(planted_flow("spin"))
    bend = carrier.bend(torch.randn(50, 2))
    assert 0 < bend.abs().max() < 0.05


def test_carried_points_are_centred_and_whitened_as_told():
    carrier = carrier_of(planted_flow("affine"))
    x, beta = torch.randn(3, 5, 2), torch.randn(3, 1)
    centre, whitening = np.array([1.0, -2.0]), np.array([[2.0, 1.0], [0.0, 0.5]])
    carried = carrier.carry(x, beta)
    carrier.use_spread(centre, whitening)
    straight, _ = carrier(x, beta)
    expected = (carried - torch.tensor(centre).float()) @ torch.tensor(whitening).float()
    torch.testing.assert_close(straight, expected)
    torch.testing.assert_close(carrier.carry(x, beta), carried)


def test_still_coordinates_pass_by_and_can_be_dropped():
    projection = ortho_group.rvs(5, random_state=0)
    carrier = carrier_of(planted_flow("spin"), projection)
    x, beta = torch.randn(3, 4, 5), torch.randn(3, 1)
    before, _ = carrier(x, beta)
    assert before.shape == (3, 4, 5)
    still = x @ torch.tensor(projection[:, 2:]).float()
    torch.testing.assert_close(before[..., 2:], still)
    carrier.drop_still()
    after, bent = carrier(x, beta)
    assert carrier.n_outputs == 2
    assert bent.shape == (3, 4, 2)
    torch.testing.assert_close(after, before[..., :2])


@pytest.mark.parametrize("n_features", [1, 3, 16, 40])
def test_an_indexed_map_takes_few_features_and_many(n_features):
    carrier = IndexedAffine(n_features, 2, width=8)
    straight, bent = carrier(torch.randn(3, 6, n_features), torch.randn(3, 2))
    assert straight.shape == bent.shape == (3, 6, min(n_features, 16))
    assert carrier.n_outputs == min(n_features, 16)


def test_an_indexed_map_has_unit_spread_while_training():
    straight, _ = IndexedAffine(3, 2, width=8)(torch.randn(4, 50, 3) * 20 + 5, torch.randn(4, 2))
    flat = straight.flatten(0, 1)
    torch.testing.assert_close(flat.mean(dim=0), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(flat.T.cov(correction=0), torch.eye(3), atol=1e-2, rtol=0)


def bare_maps(carrier, beta) -> torch.Tensor:
    """The linear parts (domains, size, size) of an indexed map; unmeasured, it does not whiten."""
    carrier.eval()
    with torch.no_grad():
        corners = torch.cat([torch.zeros(1, carrier.n_outputs), torch.eye(carrier.n_outputs)])
        straight, _ = carrier(corners.expand(len(beta), -1, -1), beta)
    return straight[:, 1:] - straight[:, :1]


def test_an_indexed_map_starts_near_the_identity():
    maps = bare_maps(IndexedAffine(3, 2, width=8), torch.randn(5, 2))
    assert (maps - torch.eye(3)).abs().max() < 0.5


def test_an_indexed_map_is_invertible_for_every_index():
    carrier = IndexedAffine(3, 2, width=8)
    start_small(carrier.network, 10.0)
    beta = 3 * torch.randn(50, 2)
    maps = bare_maps(carrier, beta)
    assert (maps - torch.eye(3)).abs().max() > 1.0
    assert (torch.linalg.det(maps.double()) > 0).all()


def test_turning_is_free_and_stretching_is_priced():
    carrier = IndexedAffine(2, 1, width=4)
    start_small(carrier.network, 0.0)
    beta = torch.ones(3, 1)
    with torch.no_grad():
        carrier.network[-1].bias.copy_(torch.tensor([0.0, 0.7, -0.7, 0.0, 9.0, 9.0]))
        assert carrier.strain(beta) == 0.0
        carrier.network[-1].bias.copy_(torch.tensor([0.7, 0.0, 0.0, 0.0, 0.0, 0.0]))
        assert carrier.strain(beta) > 1.0


def test_whitening_predicts_with_what_it_measured():
    layer = Whitening(2)
    rows = torch.randn(500, 2) @ torch.tensor([[3.0, 0.0], [2.0, 0.1]]) + 7.0
    layer.measure_anew()
    white = layer(rows)
    torch.testing.assert_close(white.T.cov(correction=0), torch.eye(2), atol=1e-2, rtol=0)
    torch.testing.assert_close(layer.eval()(rows), white, atol=1e-3, rtol=1e-3)
    assert torch.isfinite(Whitening(2)(torch.ones(9, 2))).all()


def test_prior_and_posterior_of_the_encoding_start_almost_together():
    encoder = DataEncoder(carrier_of(planted_flow("spin")), local_dim=4, index_dim=2, width=16)
    posterior, prior = encoder(torch.randn(3, 7, 2), torch.randn(3, 7, 4), torch.randn(3, 2))
    assert posterior.mean.shape == prior.mean.shape == (3, 7, 2)
    assert (posterior.mean - prior.mean).abs().max() < 0.5 * ENCODING_SCALE
    assert (prior.stddev == ENCODING_SCALE).all()
    assert_within(posterior.stddev, ENCODING_LOG_VARIANCE)


def test_decoders_give_distributions_of_the_right_shape():
    x = InputDecoder(4, 3, width=8)(torch.randn(2, 5, 4))
    assert isinstance(x, Normal)
    assert x.mean.shape == (2, 5, 3)
    assert x.stddev.unique().item() == pytest.approx(INPUT_SCALE)
    u = LocalIndexDecoder(2, 4, width=8)(torch.randn(6, 2))
    assert u.mean.shape == (6, 1, 4)
    assert_within(u.stddev, (-6.0, 2.0))
    y = ClassPredictor(4, 3)(torch.randn(2, 5, 4))
    assert isinstance(y, Categorical)
    assert y.probs.shape == (2, 5, 3)


def test_discriminators_give_scores_of_the_right_shape():
    z = torch.randn(2, 5, 4)
    assert DomainClassifier(4, 9, width=8)(z).shape == (2, 5, 9)
    assert IndexRegressor(4, 2, width=8)(z).shape == (2, 5, 2)
    assert GraphEmbedder(4, width=8)(z).shape == (2, 5, 16)


def test_a_still_carrier_projects_and_bends_only_if_it_may():
    x, beta = torch.randn(3, 5, 4), torch.randn(3, 2)
    projection = np.eye(4)[:, :2]
    straight, bent = StillCarrier(projection, 8, may_bend=False)(x, beta)
    torch.testing.assert_close(straight, x[..., :2])
    torch.testing.assert_close(bent, straight)
    free = StillCarrier(projection, 8)
    assert not torch.equal(*free(x, beta))
    assert free.n_outputs == 2
    assert free.strain(beta) == 0.0


def test_values_follow_a_given_path_to_the_letter_unless_they_may_bend():
    z = torch.randn(7, 3)
    slopes, intercept = np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0])
    expected = z @ torch.tensor(slopes, dtype=torch.float32) + torch.tensor([1.0, -1.0])
    strict = ValuePredictor(3, 2).follow(slopes, intercept, may_bend=False)
    torch.testing.assert_close(strict(z).mean, expected)
    names = {name.split(".")[0] for name, p in strict.named_parameters() if p.requires_grad}
    assert names == {"spread"}
    free = ValuePredictor(3, 2).follow(slopes, intercept, may_bend=True)
    torch.testing.assert_close(free(z).mean, expected)
    assert all(parameter.requires_grad for parameter in free.parameters())


def test_deviations_of_values_stay_within_bounds():
    deviation = ValuePredictor(3, 2)(1e6 * torch.randn(50, 3)).stddev
    low, high = (math.exp(bound / 2) for bound in VALUE_LOG_VARIANCE)
    assert (deviation >= low * 0.999).all()
    assert (deviation <= high * 1.001).all()
