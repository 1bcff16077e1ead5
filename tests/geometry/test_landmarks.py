"""A map of many domains is drawn from some of them, and what that costs is measured."""

import numpy as np
import pytest

from domindex.datasets import make_drift
from domindex.geometry import DomainMap, classical_scaling
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.domain_map import LandmarkError, choose_landmarks, rank_correlation
from domindex.geometry.scaling import place
from domindex.inputs import check_domain_data

CLOUD = np.random.default_rng(0).normal(size=(20, 2))


def along_an_arc(n_domains=60, turn=np.pi):
    angles = np.linspace(0.0, turn, n_domains)
    return [CLOUD + 10.0 * np.array([np.cos(a), np.sin(a)]) for a in angles]


def similarity(points, goal):
    """R² after the best turn and scale."""
    points, goal = points - points.mean(axis=0), goal - goal.mean(axis=0)
    values = np.linalg.svd(points.T @ goal, compute_uv=False)
    return float(values.sum() ** 2 / ((points**2).sum() * (goal**2).sum()))


def test_few_domains_are_all_landmarks():
    assert choose_landmarks([CLOUD] * 5, most=5).tolist() == [0, 1, 2, 3, 4]


def test_landmarks_rise_are_different_and_do_not_change():
    clouds = along_an_arc()
    chosen = choose_landmarks(clouds, most=20)
    assert len(chosen) == 20
    assert (np.diff(chosen) > 0).all()
    assert (chosen == choose_landmarks(clouds, most=20)).all()


def test_what_is_rare_is_among_the_landmarks():
    rng = np.random.default_rng(1)
    clouds = [CLOUD + rng.normal(size=2) for _ in range(200)] + [CLOUD + 100.0]
    assert 200 in choose_landmarks(clouds, most=10)


def test_of_identical_domains_some_are_chosen_once():
    assert len(np.unique(choose_landmarks([CLOUD] * 40, most=10))) == 10


@pytest.mark.parametrize("n_sources", [1, 3, 30, 59])
def test_sources_have_their_share_of_the_landmarks(n_sources):
    is_source = np.arange(60) < n_sources
    chosen = choose_landmarks(along_an_arc(), is_source, most=20)
    assert len(chosen) == 20
    assert is_source[chosen].sum() >= max(1, min(n_sources, 2, round(20 * n_sources / 60)))


def test_landmark_scaling_is_classical_scaling_where_every_domain_is_a_landmark():
    points = np.random.default_rng(0).normal(size=(30, 4))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    classical = classical_scaling(distances, 2)
    np.testing.assert_allclose(place(distances, classical, distances), classical, atol=1e-9)
    clouds = along_an_arc(30)
    whole = DomainMap.fit(range(30), clouds, 2, neighbors=(2, 3))
    landmarks = DomainMap.fit(range(30), clouds, 2, neighbors=(2, 3), landmarks=np.arange(30))
    np.testing.assert_array_equal(landmarks.coordinates, whole.coordinates)
    np.testing.assert_array_equal(landmarks.index.distances, whole.index.distances)


@pytest.mark.parametrize("neighbors", [(), (2,), (3, 4)])
def test_half_of_the_domains_draw_the_map_of_all(neighbors):
    clouds = along_an_arc()
    whole = DomainMap.fit(range(60), clouds, 2, neighbors=neighbors)
    half = DomainMap.fit(range(60), clouds, 2, neighbors=neighbors, most_drawn=30)
    assert len(half.drawn) == 30
    assert half.index.distances.shape == (60, 30)
    assert similarity(half.coordinates, whole.coordinates) > 0.99
    assert half.index.stress == pytest.approx(whole.index.stress, abs=0.05)


def test_a_domain_that_is_no_landmark_lies_where_it_would_be_placed():
    clouds = along_an_arc()
    half = DomainMap.fit(range(60), clouds, 2, neighbors=(3,), most_drawn=30, method="sliced")
    np.testing.assert_allclose(half.locate_all(clouds)[::7], half.coordinates[::7], atol=0.05)
    others = np.setdiff1d(np.arange(60), half.drawn)
    placed = half.locate_all([clouds[number] for number in others])
    np.testing.assert_allclose(placed, half.coordinates[others], atol=1e-6)


def test_a_map_of_landmarks_comes_back_from_its_state_and_grows():
    clouds = along_an_arc()
    saved = DomainMap.fit(range(60), clouds, 2, neighbors=(3,), most_drawn=30)
    again = DomainMap.from_state(saved.state())
    np.testing.assert_array_equal(again.drawn, saved.drawn)
    new = [CLOUD + [0.0, 9.0], CLOUD[:1]]
    np.testing.assert_array_equal(again.locate_all(new), saved.locate_all(new))
    grown = saved.with_domains(["new", "one row"], new)
    assert (grown.n_fitted, grown.n_added) == (60, 2)
    assert grown.index.distances.shape == (62, 30)
    assert grown.all_transport.shape == (62, 30)
    np.testing.assert_array_equal(grown.coordinates[:60], saved.coordinates)
    np.testing.assert_allclose(grown.coordinates[60:], saved.locate_all(new), atol=1e-9)
    assert DomainMap.from_state(grown.state()).n_added == 2


@pytest.mark.parametrize("damage", [[3, 2, 1], [0, 90], [0.5, 2], []])
def test_damaged_landmarks_are_refused(damage):
    state = DomainMap.fit(range(60), along_an_arc(), 2, most_drawn=30).state()
    state["index"]["landmarks"] = damage
    with pytest.raises((ValueError, TypeError)):
        DomainMap.from_state(state)


def test_a_ring_has_an_angle_for_every_domain():
    clouds = along_an_arc(60, turn=2 * np.pi * 59 / 60)
    closed = DomainMap.fit(range(60), clouds, 2, most_drawn=30).closed(clouds)
    assert closed.loop is not None
    assert len(closed.loop.angles) == 30
    steps = np.diff(np.unwrap(closed.index.angles))
    np.testing.assert_allclose(np.abs(steps), 2 * np.pi / 60, atol=0.05)


def test_the_error_tells_a_good_map_from_a_shuffled_one():
    clouds = along_an_arc(turn=1.0)
    half = DomainMap.fit(range(60), clouds, 2, most_drawn=30)
    error = half.landmark_error
    assert (error.n_landmarks, error.n_domains) == (30, 60)
    assert error.spearman > 0.99
    assert error.stress < 0.05
    shuffled = np.random.default_rng(0).permutation(half.coordinates)
    worse = LandmarkError.measure(clouds, shuffled, half.drawn)
    assert worse.spearman < 0.5
    assert worse.stress > 0.2
    assert "30 of 60" in str(error)
    assert DomainMap.fit(range(60), clouds, 2).landmark_error is None


def test_ranks_of_equal_distances_miss_nothing():
    assert rank_correlation(np.zeros(5), np.arange(5.0)) == 1.0
    assert rank_correlation(np.arange(5.0), np.zeros(5)) == 1.0


def test_ranks_turned_round_are_missed_whatever_the_unit():
    assert rank_correlation(np.array([0.0, 1.0]), np.array([7.0, 3.0])) == pytest.approx(-1.0)
    assert rank_correlation(np.array([3.0, 7.0]), np.array([1.0, 0.0])) == pytest.approx(-1.0)


def family(n_domains=120, rows=20, **settings):
    made = make_drift(n_domains=n_domains, samples_per_domain=rows, random_state=0, **settings)
    data = check_domain_data(
        made.X, made.y, made.sample_domain, made.source_domains, task="classification"
    )
    return data, made.true_index[:, 0]


@pytest.mark.full
def test_the_geometry_of_many_domains_is_that_of_landmarks():
    data, hidden = family()
    many = DomainGeometry.fit(data, most_drawn=60)
    whole = DomainGeometry.fit(data)
    assert similarity(many.domain_map.coordinates, whole.domain_map.coordinates) > 0.95
    assert rank_correlation(many.domain_map.coordinates[:, 0], hidden) ** 2 > 0.98
    assert len(many.domain_map.coordinates) == 120
    again = many.on_map(many.domain_map, data)
    assert again.domain_map.coordinates.shape == (120, 2)


@pytest.mark.parametrize("index_dim", [1, 5])
def test_one_row_domains_and_identical_domains_have_a_map(index_dim):
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(40, 3)), np.ones((40, 3)), np.repeat(rng.normal(size=(8, 3)), 5, 0)):
        data = check_domain_data(
            X, np.arange(40) % 2, np.arange(40), list(range(10)), task="classification"
        )
        geometry = DomainGeometry.fit(data, index_dim, most_drawn=4)
        assert geometry.domain_map.coordinates.shape == (40, index_dim)
        assert np.isfinite(geometry.domain_map.coordinates).all()
        assert np.isfinite(geometry.domain_map.landmark_error.spearman)


def test_identical_domains_share_a_place():
    clouds = [*along_an_arc(40), *along_an_arc(40)]
    half = DomainMap.fit(range(80), clouds, 2, neighbors=(3,), most_drawn=30, method="sliced")
    np.testing.assert_allclose(half.coordinates[:40], half.coordinates[40:], atol=0.1)
