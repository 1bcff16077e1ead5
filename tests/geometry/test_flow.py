"""Exponentials of stacks of matrices against closed forms and SciPy's."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist, squareform

from domindex.errors import InputError
from domindex.geometry import DomainMap
from domindex.geometry.flow import (
    AROUND,
    FAMILIES,
    AffineFlow,
    Moments,
    _code_length,
    description_length,
    exponentials,
    family_basis,
    maps_along_neighborhoods,
    select_flow,
    shows_ring,
    solve_flow,
    still_flow,
)
from domindex.geometry.scaling import nearest_links
from domindex.geometry.transport import misalignment


def test_a_quarter_turn_is_the_exponential_of_its_angle():
    angles = np.linspace(0.0, 20.0, 7)
    turns = exponentials(angles[:, None, None] * np.array([[0.0, -1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(turns[:, 0, 0], np.cos(angles), atol=1e-12)
    np.testing.assert_allclose(turns[:, 1, 0], np.sin(angles), atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 14])
@pytest.mark.parametrize("scale", [1e-6, 0.1, 3.0])
def test_scipy_agrees(size, scale):
    matrices = scale * np.random.default_rng(size).normal(size=(20, size, size))
    expected = expm(matrices)
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(exponentials(matrices) / largest, expected / largest, atol=1e-12)


def test_small_and_large_matrices_share_a_stack():
    matrices = np.stack([np.zeros((4, 4)), 1e-3 * np.ones((4, 4)), 5.0 * np.eye(4)])
    np.testing.assert_allclose(exponentials(matrices), expm(matrices), rtol=1e-12, atol=1e-15)


def test_what_is_not_finite_has_no_exponential_and_raises_nothing():
    assert np.isnan(exponentials(np.full((2, 3, 3), np.inf))).all()


def test_no_matrices_have_no_exponentials():
    assert exponentials(np.empty((0, 3, 3))).shape == (0, 3, 3)


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
    counts = {"shift": p, "spin": turns, "rigid": turns + p, "linear": p * p, "affine": p * (p + 1)}
    assert set(counts) == set(FAMILIES)
    for family, count in counts.items():
        basis = family_basis(family, p, np.ones(p))
        assert basis.shape == (p * (p + 1), count)
        assert (np.linalg.matrix_rank(basis) if count else 0) == count  # none: NumPy 1 refuses
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
    np.testing.assert_array_equal(flow.align_all(clouds[:1], np.array([[2.0, 1.0]]))[0], clouds[0])


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
    np.testing.assert_array_equal(again.align_all([cloud], np.array([[2.0]]))[0], cloud)


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


def oval(n_rows=80, seed=0) -> np.ndarray:
    """A cloud without symmetry, away from the origin: its turns can be told apart."""
    return np.random.default_rng(seed).normal(size=(n_rows, 2)) * [1, 2] + 2.0


def sampled(generator, n_domains=10, n_rows=50, reach=1.0) -> list[np.ndarray]:
    """Domains that share a law, not their points, moved along a line."""
    clouds = []
    for number, place in enumerate(np.linspace(-reach, reach, n_domains)):
        matrix = expm(place * np.vstack([generator, np.zeros(3)]))
        clouds.append(oval(n_rows, number) @ matrix[:2, :2].T + matrix[:2, 2])
    return clouds


def map_of(clouds, index_dim=2) -> DomainMap:
    return DomainMap.fit(range(len(clouds)), clouds, index_dim)


def selected_for(clouds, origin=None):
    return select_flow(clouds, maps_along_neighborhoods(map_of(clouds)), origin)


def test_a_rotation_about_the_origin_is_called_a_spin():
    selected = selected_for(sampled(TURN), np.zeros(2))
    assert selected.flow.family == "spin"
    assert selected.flow.n_components == 1
    assert selected.misfit < 1.15


def test_a_shift_is_called_a_shift():
    selected = selected_for(sampled(3 * SHIFT), np.zeros(2))
    assert selected.flow.family == "shift"
    assert selected.misfit < 1.15


def test_domains_that_are_all_alike_need_no_flow():
    selected = selected_for([oval()] * 6, np.zeros(2))
    assert selected.flow.family == "none"
    assert selected.misfit == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_domains_of_one_law_need_no_flow(seed):
    rng = np.random.default_rng(seed)
    selected = selected_for([rng.normal(size=(50, 2)) for _ in range(10)], np.zeros(2))
    assert selected.flow.family == "none"


def test_the_chosen_flow_has_the_shortest_description_and_affine_stands_by():
    selected = selected_for(sampled(TURN), np.zeros(2))
    settled = {
        k: v for k, v in selected.candidates.items() if k[1] == selected.domain_map.neighbors
    }
    assert selected.flow.description_length == min(settled.values())
    assert {family for family, _, _ in settled} == {"none", *FAMILIES}
    assert selected.freest.family == "affine"


@pytest.mark.parametrize("n_domains", [2, 3, 4])
def test_a_few_domains_are_enough_to_choose(n_domains):
    selected = selected_for(sampled(3 * SHIFT, n_domains))
    assert np.isfinite(selected.misfit)
    assert max(selected.domain_map.neighbors) < n_domains


def test_the_order_of_the_domains_does_not_matter():
    clouds = sampled(TURN)
    order = np.random.default_rng(3).permutation(len(clouds))
    first, second = selected_for(clouds), selected_for([clouds[i] for i in order])
    assert first.flow.family == second.flow.family
    assert first.domain_map.neighbors == second.domain_map.neighbors
    assert first.flow.description_length == pytest.approx(second.flow.description_length, rel=1e-6)
    assert first.misfit == pytest.approx(second.misfit, rel=0.1)


FEW = [(2,), (3,), (4,), (5,)]


@pytest.mark.parametrize(
    ("n_domains", "neighbors"),
    [
        (2, [(1,)]),
        (3, [(1,)]),
        (4, [(2,)]),
        (6, [(2,), (3,), (4,)]),
        (9, FEW),
        (24, [*FEW, (3, 4)]),
        (60, [*FEW, (3, 4, 5, 6, 7, 8)]),
    ],
)
def test_many_domains_are_also_seen_through_an_average_over_neighbours(n_domains, neighbors):
    maps = maps_along_neighborhoods(map_of(sampled(SHIFT, n_domains)))
    assert [seen.neighbors for seen in maps] == list(neighbors)


def test_the_averaged_neighbourhood_is_a_map_of_its_own():
    maps = maps_along_neighborhoods(map_of(sampled(TURN, reach=2.5)))
    averaged = maps[-1]
    assert all(
        np.abs(np.abs(averaged.coordinates) - np.abs(single.coordinates)).max() > 1e-6
        for single in maps[:-1]
    )


def test_a_flow_is_described_along_every_map_that_was_offered():
    clouds = sampled(TURN)
    maps = maps_along_neighborhoods(map_of(clouds))
    tried = select_flow(clouds, maps).candidates
    affine = {neighbors for family, neighbors, _ in tried if family == "affine"}
    assert affine == {seen.neighbors for seen in maps}


def test_the_selected_map_is_the_one_that_the_freest_flow_describes_shortest():
    clouds = sampled(TURN, reach=2.0)
    maps = maps_along_neighborhoods(map_of(clouds))
    lengths = [description_length(clouds, [seen]) for seen in maps]
    assert select_flow(clouds, maps).domain_map is maps[int(np.argmin(lengths))]


def test_a_single_map_is_kept_and_its_length_is_the_freest_flows():
    clouds, seen = sampled(TURN), map_of(sampled(TURN)).along((2,))
    selected = select_flow(clouds, [seen])
    assert selected.domain_map is seen
    tried = selected.candidates
    expected = min(tried["affine", (2,), q] for q in (1, 2))
    assert description_length(clouds, [seen]) == pytest.approx(expected)


def test_a_map_with_the_domains_in_their_places_is_described_shorter_than_a_shuffled_one():
    clouds = sampled(TURN)
    order = np.random.default_rng(0).permutation(len(clouds))
    shuffled = map_of([clouds[number] for number in order]).along((2,))
    right = map_of(clouds).along((2,))
    assert description_length(clouds, [right]) < description_length(clouds, [shuffled]) - 100.0


def test_a_long_turn_is_described_shorter_along_geodesics_than_along_chords():
    clouds = sampled(TURN, n_domains=20, reach=2.5)
    plain = map_of(clouds, index_dim=1)
    assert (
        description_length(clouds, [plain.along((2,))]) < description_length(clouds, [plain]) - 10.0
    )


def test_one_feature_has_no_turns_to_try():
    clouds = [cloud[:, :1] for cloud in sampled(5 * SHIFT)]
    selected = selected_for(clouds)
    assert selected.flow.family == "shift"
    assert "spin" not in {family for family, _, _ in selected.candidates}


def around_a_ring(n_domains=16) -> list[np.ndarray]:
    """Domains that share a law, turned once around a point beside them."""
    clouds = []
    for number in range(n_domains):
        turn = 2 * np.pi * number / n_domains
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        clouds.append((oval(50, number) + [4.0, 0.0]) @ matrix.T)
    return clouds


def test_on_a_map_that_closes_the_flow_may_run_around_it():
    clouds = around_a_ring()
    maps = maps_along_neighborhoods(map_of(clouds).closed())
    selected = select_flow(clouds, maps, np.zeros(2), np.arange(16) < 4)
    assert selected.around is not None
    assert selected.around.flow.family == "spin"
    assert selected.around.flow.n_components == 1
    assert selected.around.misfit < 1.15
    best = min(length for key, length in selected.candidates.items() if key[1] != AROUND)
    assert selected.around.flow.description_length < best


def test_a_flow_around_the_ring_must_be_the_shorter_description():
    shifts = 3 * np.stack([np.cos(2 * np.pi * np.arange(16) / 16)] * 2, axis=1)
    shifts[:, 1] = 3 * np.sin(2 * np.pi * np.arange(16) / 16)
    clouds = [oval(50, number) + shift for number, shift in enumerate(shifts)]
    plain = map_of(clouds).closed()
    assert plain.loop is not None
    selected = select_flow(clouds, [plain.along((3,))], np.zeros(2), np.arange(16) < 4)
    assert selected.flow.family == "shift"
    assert selected.around is None


def test_without_sources_or_a_ring_nothing_runs_around():
    clouds = around_a_ring()
    closed = maps_along_neighborhoods(map_of(clouds).closed())
    assert select_flow(clouds, closed, np.zeros(2)).around is None
    line = sampled(TURN)
    maps = maps_along_neighborhoods(map_of(line).closed())
    assert select_flow(line, maps, np.zeros(2), np.arange(10) < 3).around is None


def test_maps_that_break_a_ring_are_not_tried():
    """With two domains at every place, the two nearest of each lead nowhere else."""
    clouds = [cloud for cloud in around_a_ring(10) for _ in range(2)]
    noise = np.random.default_rng(0)
    clouds = [cloud + 0.05 * noise.normal(size=cloud.shape) for cloud in clouds]
    closed = map_of(clouds).closed()
    assert closed.loop is not None
    assert all(shows_ring(one) for one in maps_along_neighborhoods(closed))
    assert not shows_ring(closed.along((1,)))
    assert shows_ring(map_of(sampled(TURN)).along((2,)))


@pytest.mark.parametrize("n_domains", [2, 3, 9])
def test_around_the_ring_is_no_number_of_neighbours(n_domains):
    maps = maps_along_neighborhoods(map_of(sampled(SHIFT, n_domains)))
    assert AROUND not in [seen.neighbors for seen in maps]
