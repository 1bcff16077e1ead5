"""A flow is found from the clouds it moved, and explains no more than it must."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry.flow import AffineFlow, Moments, _code_length, solve_flow, still_flow
from domindex.geometry.flow_families import FAMILIES, family_basis
from domindex.geometry.misfit import misalignment
from domindex.geometry.neighbors import nearest_links

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
SHIFT = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, -1.0]])
AFFINE = np.array([[0.2, -0.5, 1.0], [0.4, -0.1, 0.3]])


def moved(cloud, generators, index) -> list[np.ndarray]:
    """x = exp(Σ βᵢ G̃ᵢ) x₀ for every row β of `index`."""
    n_features = cloud.shape[1]
    clouds = []
    for place in np.atleast_2d(index):
        exponent = np.zeros((n_features + 1, n_features + 1))
        exponent[:-1] = np.tensordot(place, generators, axes=1)
        matrix = expm(exponent)
        clouds.append(cloud @ matrix[:-1, :-1].T + matrix[:-1, -1])
    return clouds


def long_cloud(n_rows=80, n_features=2, seed=0) -> np.ndarray:
    """A cloud without symmetry, away from the origin: its turns can be told apart."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_features)) * np.arange(1, n_features + 1) + 2.0


def line(n_domains=9) -> np.ndarray:
    return np.linspace(-1.5, 1.5, n_domains)[:, None]


def solved(clouds, index, family="affine", origin=None):
    links = nearest_links(squareform(pdist(index)), 2)
    return solve_flow(index, links, Moments.of(clouds), family, origin)


@pytest.mark.parametrize(
    ("generator", "family"),
    [(TURN, "spin"), (TURN, "rigid"), (TURN, "affine"), (SHIFT, "shift"), (AFFINE, "affine")],
)
def test_a_planted_generator_is_recovered(generator, family):
    index = line()
    clouds = moved(long_cloud(), generator[None], index)
    flow = solved(clouds, index, family)
    np.testing.assert_allclose(flow.generators[0], generator, atol=0.05)
    aligned = flow.align_all(clouds, index)
    assert misalignment(aligned) < 0.05 * misalignment(clouds)


def test_two_commuting_movements_are_told_apart():
    first, second = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 4))
    index = np.column_stack([first.ravel(), second.ravel()])
    generators = np.stack([SHIFT, [[0.0, 0.0, 0.5], [0.0, 0.0, 3.0]]])
    clouds = moved(long_cloud(), generators, index)
    np.testing.assert_allclose(solved(clouds, index, "shift").generators, generators, atol=0.05)


def test_a_rotation_about_a_given_origin_is_recovered_in_three_dimensions():
    origin = np.array([1.0, -2.0, 0.5])
    skew = np.array([[0.0, -1.0, 0.3], [1.0, 0.0, -0.2], [-0.3, 0.2, 0.0]])
    generator = np.column_stack([skew, -skew @ origin])
    clouds = moved(long_cloud(n_features=3), generator[None], line())
    flow = solved(clouds, line(), "spin", origin)
    np.testing.assert_allclose(flow.generators[0], generator, atol=0.05)


def test_aligning_inverts_the_movement():
    cloud, index = long_cloud(), line()
    clouds = moved(cloud, AFFINE[None], index)
    flow = AffineFlow(AFFINE.reshape(1, -1), np.eye(6), "affine", 0.0)
    for aligned in flow.align_all(clouds, index):
        np.testing.assert_allclose(aligned, cloud, atol=1e-9)
    np.testing.assert_allclose(flow.align(clouds[2], index[2]), cloud, atol=1e-9)


def test_components_beyond_those_of_the_flow_are_ignored():
    index = line()
    clouds = moved(long_cloud(), TURN[None], index)
    flow = solved(clouds, index, "spin")
    longer = np.column_stack([index, np.full(len(index), 9.0)])
    for first, second in zip(flow.align_all(clouds, index), flow.align_all(clouds, longer)):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("n_features", [2, 3])
@pytest.mark.parametrize("family", ["affine", "spin", "linear"])
def test_the_gradient_of_the_description_length_is_right(family, n_features, n_components):
    rng = np.random.default_rng(n_features)
    clouds = [rng.normal(size=(n, n_features)) + rng.normal(size=n_features) for n in (9, 5, 7, 6)]
    index = rng.normal(size=(4, n_components)) * 0.7
    basis = family_basis(family, n_features, rng.normal(size=n_features))
    moments = Moments.of(clouds)
    parameters = rng.normal(size=n_components * basis.shape[1]) * 0.5
    value, gradient = _code_length(parameters, basis, index, moments)
    numeric = approx_fprime(parameters, lambda p: _code_length(p, basis, index, moments)[0], 1e-6)
    assert np.isfinite(value)
    np.testing.assert_allclose(gradient, numeric, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_families_have_as_many_parameters_as_they_should(p):
    turns = p * (p - 1) // 2
    counts = {
        "shift": p,
        "spin": turns,
        "rigid": turns + p,
        "linear": p * p,
        "affine": p * (p + 1),
    }
    assert set(counts) == set(FAMILIES)
    for family, count in counts.items():
        basis = family_basis(family, p, np.ones(p))
        assert basis.shape == (p * (p + 1), count)
        assert np.linalg.matrix_rank(basis) == count
        np.testing.assert_allclose(np.linalg.norm(basis, axis=0), 1.0)


@pytest.mark.parametrize("family", ["spin", "linear"])
@pytest.mark.parametrize("origin", [None, np.array([3.0, -1.0, 2.0])])
def test_turning_about_an_origin_leaves_it_at_rest(family, origin):
    basis = family_basis(family, 3, origin)
    point = np.append(np.zeros(3) if origin is None else origin, 1.0)
    generator = (basis @ np.random.default_rng(0).normal(size=basis.shape[1])).reshape(3, 4)
    np.testing.assert_allclose(generator @ point, 0.0, atol=1e-12)


def test_an_unknown_family_is_refused_by_name():
    with pytest.raises(InputError, match="'twist'"):
        family_basis("twist", 2)


def test_a_still_flow_moves_nothing():
    clouds = moved(long_cloud(), SHIFT[None], line())
    flow = still_flow(Moments.of(clouds))
    assert flow.family == "none"
    np.testing.assert_array_equal(flow.align(clouds[0], np.array([2.0, 1.0])), clouds[0])


def test_movement_that_is_there_shortens_the_description():
    clouds = moved(long_cloud(), SHIFT[None], line())
    flow = solved(clouds, line(), "shift")
    assert flow.description_length < still_flow(Moments.of(clouds)).description_length - 100.0


def test_domains_of_one_row_show_a_shift():
    index = line(20)
    noise = np.random.default_rng(0).normal(size=(20, 1, 2)) * 0.01
    clouds = list(index[:, :, None] * SHIFT[:, 2] + noise)
    flow = solved(clouds, index, "shift")
    np.testing.assert_allclose(flow.generators[0], SHIFT, atol=0.05)


def test_domains_without_any_spread_do_not_break_the_solution():
    clouds = [np.ones((1, 2)) for _ in range(4)]
    flow = solved(clouds, line(4))
    assert np.isfinite(flow.coefficients).all()
    assert np.isfinite(flow.description_length)


@pytest.mark.parametrize("family", ["affine", "spin", "shift"])
def test_a_flow_comes_back_from_its_state_and_aligns_to_the_bit(family):
    index = line()
    clouds = moved(long_cloud(), TURN[None], index)
    flow = solved(clouds, index, family, np.ones(2))
    again = AffineFlow.from_state(flow.state())
    assert again.family == family
    np.testing.assert_array_equal(again.generators, flow.generators)
    for first, second in zip(flow.align_all(clouds, index), again.align_all(clouds, index)):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_a_still_flow_comes_back_still(n_features):
    cloud = long_cloud(n_features=n_features)
    again = AffineFlow.from_state(still_flow(Moments.of([cloud, cloud])).state())
    assert again.family == "none"
    np.testing.assert_array_equal(again.align(cloud, np.array([2.0])), cloud)


@pytest.mark.parametrize(
    "damage",
    [
        {"coefficients": np.zeros((1, 5))},
        {"coefficients": np.zeros(6)},
        {"basis": np.eye(6)[:, :5]},
        {"basis": np.zeros((5, 6))},
        {"basis": np.zeros(6), "coefficients": np.zeros(3)},
    ],
)
def test_a_damaged_flow_is_refused(damage):
    state = AffineFlow(AFFINE.reshape(1, -1), np.eye(6), "affine", 0.0).state()
    with pytest.raises(ValueError, match="do not fit its basis"):
        AffineFlow.from_state({**state, **damage})
