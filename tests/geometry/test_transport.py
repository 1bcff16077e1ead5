"""Transport distances against closed forms, POT and their own symmetries."""

import warnings

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from domindex.errors import InputError
from domindex.geometry import transport_distances
from domindex.geometry.transport import column_quantiles, moment_bounds, transport_to_known

METHODS = ["exact", "sinkhorn", "sliced"]


def clouds(seed: int, sizes=(20, 20, 20, 20), n_features: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, n_features)) + rng.normal(size=n_features) for n in sizes]


def test_moving_a_cloud_costs_exactly_the_shift():
    cloud = np.random.default_rng(0).normal(size=(50, 2))
    distances = transport_distances([cloud, cloud + [3.0, 4.0]])
    np.testing.assert_allclose(distances, [[0, 5], [5, 0]], atol=1e-6)


def test_slices_see_a_shift_at_about_its_length():
    cloud = np.random.default_rng(0).normal(size=(50, 2))
    distances = transport_distances([cloud, cloud + [3.0, 4.0]], method="sliced")
    assert distances[0, 1] == pytest.approx(5.0, rel=0.1)


def test_entropy_hardly_changes_the_cost_of_a_shift():
    cloud = np.random.default_rng(0).normal(size=(50, 2))
    distances = transport_distances([cloud, cloud + [3.0, 4.0]], method="sinkhorn")
    assert distances[0, 1] == pytest.approx(5.0, rel=1e-4)


def test_far_outliers_do_not_underflow_the_entropic_kernel():
    first, second = clouds(6, (30, 30), 2)
    second[0] += 1e4
    distances = transport_distances([first, second], method="sinkhorn")
    exact = transport_distances([first, second])
    assert distances[0, 1] == pytest.approx(exact[0, 1], rel=0.05)


def test_stretching_a_white_cloud_costs_the_bures_distance():
    cloud = np.random.default_rng(1).normal(size=(200, 2))
    cloud -= cloud.mean(axis=0)
    white = cloud @ np.linalg.inv(np.linalg.cholesky(np.cov(cloud.T, bias=True))).T
    stretched = white * [3.0, 1.0] + [1.0, 0.0]
    truth = np.sqrt(1.0**2 + (3.0 - 1.0) ** 2)
    assert transport_distances([white, stretched])[0, 1] == pytest.approx(truth, rel=1e-9)


def test_on_a_line_the_sorted_order_is_optimal():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(40, 1)), rng.exponential(size=(40, 1))
    truth = np.sqrt(np.mean((np.sort(first[:, 0]) - np.sort(second[:, 0])) ** 2))
    for method in ("exact", "sliced"):
        distances = transport_distances([first, second], method=method)
        assert distances[0, 1] == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("sizes", [(7, 12), (1, 9), (30, 30), (150, 150)])
@pytest.mark.parametrize("n_features", [1, 3])
def test_exact_distances_agree_with_the_linear_programme(sizes, n_features):
    first, second = clouds(3, sizes, n_features)
    truth = np.sqrt(ot.emd2([], [], cdist(first, second, "sqeuclidean")))
    assert transport_distances([first, second])[0, 1] == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_distances_are_symmetric_deterministic_and_silent(method):
    samples = clouds(4, sizes=(10, 10, 6, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = transport_distances(samples, method=method)
        second = transport_distances(samples, method=method)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, first.T)
    np.testing.assert_array_equal(np.diag(first), 0.0)
    assert np.isfinite(first).all()


@pytest.mark.parametrize("method", METHODS)
def test_identical_clouds_are_at_distance_zero(method):
    cloud = clouds(5)[0]
    assert transport_distances([cloud, cloud], method=method)[0, 1] == pytest.approx(0.0, abs=1e-6)
    constant = np.ones((4, 2))
    np.testing.assert_array_equal(transport_distances([constant, constant], method=method), 0.0)


@pytest.mark.full
def test_the_number_of_processes_does_not_change_the_result():
    samples = clouds(7, sizes=(12, 8, 12, 5))
    np.testing.assert_array_equal(
        transport_distances(samples, n_jobs=1), transport_distances(samples, n_jobs=2)
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), method=st.sampled_from(["exact", "sliced"]))
def test_permuting_rows_or_domains_permutes_the_result(seed, method):
    rng = np.random.default_rng(seed)
    samples = clouds(seed, sizes=rng.integers(1, 12, size=4))
    before = transport_distances(samples, method=method)
    shuffled = [rng.permutation(cloud) for cloud in samples]
    np.testing.assert_allclose(transport_distances(shuffled, method=method), before, atol=1e-9)
    order = rng.permutation(4)
    permuted = transport_distances([samples[i] for i in order], method=method)
    np.testing.assert_allclose(permuted, before[np.ix_(order, order)], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_exact_distances_obey_the_triangle_inequality(seed):
    d = transport_distances(clouds(seed, sizes=(5, 9, 5)))
    assert d[0, 1] <= d[0, 2] + d[2, 1] + 1e-9


@pytest.mark.parametrize(
    ("samples", "word"),
    [
        ([], "samples is empty"),
        ([np.zeros((3, 2)), np.zeros((0, 2))], r"samples\[1\] has shape \(0, 2\)"),
        ([np.zeros((3, 2)), np.zeros((3, 4))], r"samples\[1\] has 4 features"),
        ([np.full((3, 2), np.nan)], r"samples\[0\] holds NaN"),
    ],
)
def test_clouds_that_cannot_be_compared_are_refused(samples, word):
    with pytest.raises(InputError, match=word):
        transport_distances(samples)


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(InputError, match="'emd'"):
        transport_distances(clouds(0), method="emd")


@pytest.mark.parametrize("n_rows", [1, 2, 3, 100, 128, 129, 500])
def test_quantiles_are_numpys_to_the_bit(n_rows):
    values = np.random.default_rng(0).normal(size=(n_rows, 7)).round(2)
    levels = (np.arange(128) + 0.5) / 128
    expected = np.quantile(values, levels, axis=0, method="hazen")
    np.testing.assert_array_equal(column_quantiles(values, levels), expected)


def to_each(cloud, known, method="exact"):
    """(known,) distances of a cloud alone."""
    return transport_distances([*known, cloud], method=method)[:-1, -1]


def drawn(n_domains, n_features=2, seed=0, sizes=(20, 35)):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(rng.integers(*sizes), n_features)) * rng.uniform(0.5, 2.0, n_features)
        + rng.normal(size=n_features) * 3.0
        for _ in range(n_domains)
    ]


@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_the_nearest_are_found_exactly_and_far_ones_are_not_measured(n_features):
    known, new = (drawn(25, n_features), drawn(6, n_features, seed=1))
    found = transport_to_known(new, known, "exact", n_nearest=3)
    full = np.stack([to_each(cloud, known) for cloud in new])
    for pruned, exact in zip(found, full):
        nearest = np.argsort(exact)[:3]
        np.testing.assert_array_equal(pruned[nearest], exact[nearest])
    assert np.isinf(found).mean() > 0.5


@pytest.mark.parametrize("method", ["exact", "sliced"])
def test_without_a_number_all_are_measured_each_as_if_alone(method):
    known, new = (drawn(5), [*drawn(3, seed=1), drawn(1, sizes=(1, 2))[0]])
    found = transport_to_known(new, known, method)
    alone = [to_each(cloud, known, method=method) for cloud in new]
    np.testing.assert_allclose(found, alone, rtol=1e-9)


def test_sliced_distances_between_clouds_of_one_size_are_of_their_order_statistics():
    known, new = (drawn(4, sizes=(20, 21)), [*drawn(2, seed=1, sizes=(20, 21)), *drawn(1, seed=2)])
    alone = [to_each(cloud, known, method="sliced") for cloud in new]
    np.testing.assert_allclose(transport_to_known(new, known, "sliced"), alone, rtol=1e-9)


def test_moments_bound_transport_from_below_and_a_shift_exactly():
    known, new = drawn(12, 3), drawn(5, 3, seed=1)
    exact = np.stack([to_each(cloud, known) for cloud in new])
    assert (moment_bounds(new, known) <= exact).all()
    shifted = known[0] + [1.0, 2.0, 2.0]
    assert moment_bounds([shifted], known[:1])[0, 0] == pytest.approx(3.0, rel=1e-5)


def test_what_lies_within_reach_is_measured_too():
    known, new = drawn(25), drawn(3, seed=1)
    reach = np.full(25, 4.0)
    found = transport_to_known(new, known, "exact", n_nearest=1, reach=reach)
    full = np.stack([to_each(cloud, known) for cloud in new])
    np.testing.assert_array_equal(found[full <= 4.0], full[full <= 4.0])


@pytest.mark.parametrize("n_features", [1, 3])
def test_slices_of_many_clouds_at_once_are_those_of_each(n_features):
    known, new = (drawn(6, n_features), drawn(4, n_features, seed=1))
    each, at_once = (
        transport_to_known(new, known, "sliced", at_once=together) for together in (False, True)
    )
    np.testing.assert_allclose(at_once, each, rtol=1e-6)
