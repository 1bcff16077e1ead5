"""The shortest description settles the map, the family and the number of components."""

import numpy as np
import pytest
from scipy.linalg import expm

from domindex.geometry import DomainMap
from domindex.geometry.flow_families import FAMILIES
from domindex.geometry.flow_selection import (
    AROUND,
    description_length,
    maps_along_neighborhoods,
    select_flow,
    shows_ring,
)

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
SHIFT = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, -1.0]])


def long_cloud(n_rows=80, seed=0) -> np.ndarray:
    """A cloud without symmetry, away from the origin: its turns can be told apart."""
    return np.random.default_rng(seed).normal(size=(n_rows, 2)) * [1, 2] + 2.0


def sampled(generator, n_domains=10, n_rows=50, reach=1.0) -> list[np.ndarray]:
    """Domains that share a law, not their points, moved along a line."""
    clouds = []
    for number, place in enumerate(np.linspace(-reach, reach, n_domains)):
        matrix = expm(place * np.vstack([generator, np.zeros(3)]))
        clouds.append(long_cloud(n_rows, number) @ matrix[:2, :2].T + matrix[:2, 2])
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
    selected = selected_for([long_cloud()] * 6, np.zeros(2))
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
        clouds.append((long_cloud(50, number) + [4.0, 0.0]) @ matrix.T)
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
    clouds = [long_cloud(50, number) + shift for number, shift in enumerate(shifts)]
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
