"""Distances to known clouds: no more than are needed, and those as if each had come alone."""

import numpy as np
import pytest

from domindex.geometry.nearest_transport import moment_bounds, transport_to_known
from domindex.geometry.transport import transport_distances_to


def clouds(n_domains, n_features=2, seed=0, sizes=(20, 35)):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(rng.integers(*sizes), n_features)) * rng.uniform(0.5, 2.0, n_features)
        + rng.normal(size=n_features) * 3.0
        for _ in range(n_domains)
    ]


@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_the_nearest_are_found_exactly_and_far_ones_are_not_measured(n_features):
    known, new = clouds(25, n_features), clouds(6, n_features, seed=1)
    found = transport_to_known(new, known, "exact", n_nearest=3)
    full = np.stack([transport_distances_to(cloud, known) for cloud in new])
    for pruned, exact in zip(found, full):
        nearest = np.argsort(exact)[:3]
        np.testing.assert_array_equal(pruned[nearest], exact[nearest])
    assert np.isinf(found).mean() > 0.5


@pytest.mark.parametrize("method", ["exact", "sinkhorn", "sliced"])
def test_without_a_number_all_are_measured_each_as_if_alone(method):
    known, new = clouds(5), [*clouds(3, seed=1), clouds(1, sizes=(1, 2))[0]]
    found = transport_to_known(new, known, method)
    alone = [transport_distances_to(cloud, known, method=method) for cloud in new]
    np.testing.assert_allclose(found, alone, rtol=1e-9)


def test_sliced_distances_between_clouds_of_one_size_are_of_their_order_statistics():
    known, new = clouds(4, sizes=(20, 21)), [*clouds(2, seed=1, sizes=(20, 21)), *clouds(1, seed=2)]
    alone = [transport_distances_to(cloud, known, method="sliced") for cloud in new]
    np.testing.assert_allclose(transport_to_known(new, known, "sliced"), alone, rtol=1e-9)


def test_moments_bound_transport_from_below_and_a_shift_exactly():
    known, new = clouds(12, 3), clouds(5, 3, seed=1)
    exact = np.stack([transport_distances_to(cloud, known) for cloud in new])
    assert (moment_bounds(new, known) <= exact).all()
    shifted = known[0] + [1.0, 2.0, 2.0]
    assert moment_bounds([shifted], known[:1])[0, 0] == pytest.approx(3.0, rel=1e-5)


def test_what_lies_within_reach_is_measured_too():
    known, new = clouds(25), clouds(3, seed=1)
    reach = np.full(25, 4.0)
    found = transport_to_known(new, known, "exact", n_nearest=1, reach=reach)
    full = np.stack([transport_distances_to(cloud, known) for cloud in new])
    np.testing.assert_array_equal(found[full <= 4.0], full[full <= 4.0])


@pytest.mark.parametrize("n_features", [1, 3])
def test_slices_of_many_clouds_at_once_are_those_of_each(n_features):
    known, new = clouds(6, n_features), clouds(4, n_features, seed=1)
    each, at_once = (
        transport_to_known(new, known, "sliced", at_once=together) for together in (False, True)
    )
    np.testing.assert_allclose(at_once, each, rtol=1e-6)
