"""Which rows the map is drawn from: those that sources share with targets."""

import numpy as np
import pytest

from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData, check_domain_data
from domindex.representations.map_rows import rows_for_map

SUMMER = np.array([6.0, -6.0, 6.0, -6.0, 6.0, -6.0])


def seasons(
    n_domains=16, n_rows=12, n_sources=6, seed=0, shared=True, units=1.0
) -> tuple[DomainData, list[np.ndarray]]:
    """Targets hold winters; sources also summers, which differ in level and shape.

    The winters of all domains share their pattern, up to a shift and some noise. Also returned:
    which rows of each source are winters.
    """
    rng = np.random.default_rng(seed)
    pattern = rng.exponential(size=(n_rows, 6))
    clouds, winters = [], []
    for number in range(n_domains):
        if not shared:
            pattern = rng.normal(size=(n_rows, 6))
        winter = pattern + 0.3 * rng.normal(size=6) + 0.05 * rng.normal(size=(n_rows, 6))
        if number >= n_sources:
            clouds.append(winter)
            continue
        summer = rng.normal(size=(3 * n_rows, 6)) + SUMMER
        order = rng.permutation(4 * n_rows)
        clouds.append(np.vstack([winter, summer])[order])
        winters.append(np.flatnonzero(order < n_rows))
    X = np.concatenate(clouds) * units
    names = np.repeat(np.arange(n_domains), [len(cloud) for cloud in clouds])
    return check_domain_data(X, X[:, 0], names, range(n_sources), task="regression"), winters


@pytest.mark.parametrize("units", [1.0, 1e-6, [1.0, 1e2, 1e4] * 2])
def test_the_rows_that_sources_share_with_targets_are_found(units):
    data, winters = seasons(units=units)
    kept = rows_for_map(data)
    for rows, winter in zip(kept, winters):
        assert len(rows) == 12
        assert len(np.intersect1d(rows, winter)) >= 11
    for rows in kept[6:]:
        np.testing.assert_array_equal(rows, np.arange(12))


def test_rows_are_numbered_within_their_domain_wherever_they_stand_in_the_table():
    data, _ = seasons()
    order = np.random.default_rng(1).permutation(data.n_rows)
    names = [data.row_names[row] for row in order]
    mixed = check_domain_data(
        data.inputs[order], data.labels[order, 0], names, data.source_domains, task="regression"
    )
    for first, second, one, other in zip(
        rows_for_map(data), rows_for_map(mixed), data.rows_by_domain(), mixed.rows_by_domain()
    ):
        chosen = {tuple(row) for row in data.inputs[one[first]]}
        assert chosen == {tuple(row) for row in mixed.inputs[other[second]]}


def test_all_rows_serve_where_no_source_is_larger_than_the_targets():
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    assert rows_for_map(check_domain_data(X, X[:, 0], names, [0, 1], task="regression")) is None


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_cut_where_no_pattern_is_shared(seed):
    data, _ = seasons(shared=False, seed=seed)
    kept = rows_for_map(data)
    assert [len(rows) for rows in kept] == data.domain_sizes.tolist()


@pytest.mark.parametrize("n_features", [1, 2])
def test_rows_too_short_to_have_a_shape_are_matched_as_they_are(n_features):
    data, _ = seasons()
    narrow = check_domain_data(
        data.inputs[:, :n_features], data.labels[:, 0], data.row_names, range(6), task="regression"
    )
    kept = rows_for_map(narrow)
    assert all(len(rows) in (12, 48) for rows in kept)


@pytest.mark.full
def test_the_rows_that_were_found_draw_sources_and_targets_together():
    data, _ = seasons()
    cut = DomainGeometry.fit(data, 2, map_rows=rows_for_map(data)).domain_map.transport
    whole = DomainGeometry.fit(data, 2).domain_map.transport
    for distances, least, most in ((cut, 0.0, 2.0), (whole, 2.0, np.inf)):
        between, among = distances[:6, 6:].mean(), distances[6:, 6:].mean()
        assert least < between / among < most
