"""How predictions of held-out rows are scored."""

import numpy as np
import pytest

from domindex.committee.folds import HeldOutRows, plan_folds, smooth, temper
from domindex.geometry.neighbors import PointDistances


@pytest.fixture(scope="module")
def rows(line, line_geometry, settings):
    places = line_geometry.domain_map.coordinates
    return HeldOutRows.of(plan_folds(line, PointDistances(places), None, settings, 0), line, 0.02)


def test_weights_sum_to_one_and_near_counts_as_much_as_far(rows):
    assert rows.part_weights.sum() == pytest.approx(1.0)
    assert rows.row_weights.sum() == pytest.approx(1.0)
    assert rows.part_weights[rows.is_far].sum() == pytest.approx(0.5)


def test_every_domain_counts_alike_however_many_rows_it_has(held_out_of):
    rows = held_out_of([0, 1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 1, 1, 1], n_classes=2)
    of_domain = np.bincount(rows.domains, rows.row_weights)
    np.testing.assert_allclose(of_domain, 0.5)


def test_a_part_has_the_distance_of_its_fold(held_out_of):
    rows = held_out_of([0, 1, 0, 1], [0, 0, 1, 1], n_classes=2, kinds=["near", "far"])
    np.testing.assert_array_equal(rows.part_distances, np.where(rows.is_far, 2.0, 1.0))


def test_the_loss_of_classes_is_logarithmic(held_out_of):
    rows = held_out_of([0, 1, 1, 0], [0, 0, 1, 1], n_classes=2)
    predicted = np.array([[0.9, 0.1], [0.5, 0.5], [0.8, 0.2], [1.0, 0.0]])
    expected = -np.log([0.9, 0.5, 0.2, 1.0])
    np.testing.assert_allclose(rows.losses(predicted), expected, atol=1e-12)
    np.testing.assert_allclose(rows.by_part(expected), [expected[:2].mean(), expected[2:].mean()])
    np.testing.assert_allclose(rows.losses(np.stack([predicted] * 3))[1], expected, atol=1e-12)


def test_a_confident_mistake_costs_much_but_not_infinity(held_out_of):
    rows = held_out_of([0, 1], [0, 1], n_classes=2)
    assert 20 < rows.losses(np.array([[0.0, 1.0], [0.0, 1.0]]))[0] < 100


def test_the_loss_of_values_is_squared_in_units_of_spread(held_out_of):
    values = np.array([[0.0, 10.0], [2.0, 10.0], [4.0, 10.0], [6.0, 10.0]])
    rows = held_out_of(values, [0, 0, 1, 1])
    np.testing.assert_allclose(rows.unit, [np.sqrt(5.0), 1.0], err_msg="a constant has unit 1")
    losses = rows.losses(values + [[1.0, 2.0]])
    np.testing.assert_allclose(losses, (1.0 / 5.0 + 4.0) / 2)


def test_near_and_far_of_a_domain_are_averaged(held_out_of):
    rows = held_out_of([0, 1], [0, 1], n_classes=2, kinds=["near", "far"])
    of_parts = np.where(rows.is_far, 3.0, 1.0)
    np.testing.assert_allclose(rows.by_domain(of_parts), [2.0, 2.0])


def test_a_temperature_softens_who_is_too_sure(held_out_of):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=400)
    said = np.where(rng.random(400) < 0.7, labels, 1 - labels)
    sure = np.where(said[:, None] == np.arange(2), 0.99, 0.01)
    rows = held_out_of(labels, np.arange(400) // 100, n_classes=2)
    temperature = rows.temperature(sure)
    softer = temper(sure, temperature, rows.smoothing)
    assert temperature > 2
    assert rows.losses(softer).mean() < rows.losses(sure).mean() - 0.5
    assert softer.max(axis=1).mean() == pytest.approx(0.7, abs=0.05)
    np.testing.assert_array_equal(softer.argmax(axis=1), sure.argmax(axis=1))


def test_a_temperature_sharpens_who_is_too_shy(held_out_of):
    labels = np.arange(40) % 2
    shy = np.where(labels[:, None] == np.arange(2), 0.55, 0.45)
    rows = held_out_of(labels, np.arange(40) // 10, n_classes=2)
    assert rows.temperature(shy) < 0.6


def test_smoothing_keeps_a_sum_of_one_and_no_zero():
    probabilities = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    smoothed = smooth(probabilities, 0.03)
    np.testing.assert_allclose(smoothed.sum(axis=1), 1.0)
    assert smoothed.min() == pytest.approx(0.01)
    np.testing.assert_allclose(temper(probabilities, 1.0, 0.03), smoothed)
