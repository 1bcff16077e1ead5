"""Scaling brings inputs to one scale and leaves their geometry as it can."""

import numpy as np
import pytest

from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler, OutputScaler


def data_of(inputs, row_domains) -> DomainData:
    inputs, of_row = np.array(inputs, dtype=float), np.array(row_domains)
    n_domains = of_row.max() + 1
    return DomainData(
        inputs=inputs,
        labels=np.zeros(len(inputs), dtype=np.int64),
        row_domains=of_row,
        domains=tuple(range(n_domains)),
        is_source=np.ones(n_domains, dtype=bool),
        task="classification",
        classes=np.array([0, 1]),
    )


def drifting(scales, n_domains=5, n_rows=60, seed=0) -> DomainData:
    """Round clouds along a line, each feature then measured in its own unit."""
    rng = np.random.default_rng(seed)
    of_row = np.repeat(np.arange(n_domains), n_rows)
    inputs = rng.normal(size=(len(of_row), len(scales))) + 0.3 * of_row[:, None]
    return data_of(inputs * scales, of_row)


def scaled(data: DomainData) -> np.ndarray:
    return InputScaler.fit(data).apply(data.inputs)


@pytest.mark.parametrize("scales", [[1.0, 2.0, 1.5], [1e-6, 1e6], [1e-3, 1.0, 1.0]])
def test_scaled_inputs_are_centred_and_of_unit_variance_overall(scales):
    result = scaled(drifting(scales))
    np.testing.assert_allclose(result.mean(axis=0), 0.0, atol=1e-9)
    assert (result**2).mean() == pytest.approx(1.0)


def test_features_in_the_same_units_keep_their_proportions():
    data = drifting([1.0, 2.5, 1.0])
    scaler = InputScaler.fit(data)
    assert len(set(scaler.scale)) == 1
    lengths = np.linalg.norm(data.inputs[1:] - data.inputs[:-1], axis=1)
    ratio = np.linalg.norm(np.diff(scaler.apply(data.inputs), axis=0), axis=1) / lengths
    np.testing.assert_allclose(ratio, ratio[0])


def test_features_in_different_units_count_alike():
    result = scaled(drifting([1e-6, 1e6]))
    deviations = result.std(axis=0)
    assert deviations.max() < 1.2 * deviations.min()


def test_the_unit_of_a_feature_does_not_matter_once_units_differ():
    plain, other = drifting([1.0, 100.0]), drifting([1.0, 1e5])
    np.testing.assert_allclose(scaled(plain), scaled(other))


def test_a_feature_is_measured_by_its_deviation_within_domains():
    rng = np.random.default_rng(0)
    of_row = np.repeat([0, 1], 500)
    inputs = rng.normal(size=(1000, 2)) * [1.0, 100.0]
    inputs[:, 0] += 8.0 * of_row
    result = scaled(data_of(inputs, of_row))
    assert result[:, 0].std() > 3 * result[:, 1].std()


def test_a_constant_feature_becomes_zero_and_does_not_disturb_the_others():
    data = drifting([1.0, 2.0])
    with_constant = np.column_stack([data.inputs, np.full(data.n_rows, 7.0)])
    result = scaled(data_of(with_constant, data.row_domains))
    np.testing.assert_array_equal(result[:, 2], 0.0)
    plain = scaled(data)
    np.testing.assert_allclose(result[:, 0] / result[:, 1], plain[:, 0] / plain[:, 1])


@pytest.mark.parametrize("jitter", [0.0, 1e-9])
def test_a_feature_constant_within_domains_does_not_drown_the_others(jitter):
    data = drifting([1.0, 1.0])
    step = 1e6 * (data.row_domains + jitter * data.inputs[:, 0])
    result = scaled(data_of(np.column_stack([data.inputs, step]), data.row_domains))
    assert np.isfinite(result).all()
    deviations = result.std(axis=0)
    assert deviations.max() < 11 * deviations.min()


def test_domains_of_one_row_will_do():
    data = data_of([[0.0, 1e6], [1.0, -1e6], [5.0, 0.0]], [0, 1, 2])
    result = scaled(data)
    assert np.isfinite(result).all()
    assert (result**2).mean() == pytest.approx(1.0)


def test_inputs_that_are_all_the_same_become_zero():
    np.testing.assert_array_equal(scaled(data_of(np.full((6, 2), 3.0), [0, 0, 0, 1, 1, 1])), 0.0)


@pytest.mark.parametrize(("how", "shape"), [("apply", (8, 2, 3)), ("apply_flat", (8, 6))])
def test_applying_leaves_its_argument_alone_and_keeps_the_shape_or_flattens(how, shape):
    images = np.random.default_rng(0).normal(size=(8, 2, 3))
    scaler = InputScaler.fit(data_of(images, [0, 0, 0, 0, 1, 1, 1, 1]))
    before = images.copy()
    result = getattr(scaler, how)(images)
    np.testing.assert_array_equal(images, before)
    assert result.shape == shape
    assert not np.shares_memory(result, images)


def test_a_picture_has_the_same_values_in_its_shape_and_flat():
    images = np.random.default_rng(0).normal(size=(8, 2, 3)) * [1, 5, 100]
    scaler = InputScaler.fit(data_of(images, [0, 0, 0, 0, 1, 1, 1, 1]))
    np.testing.assert_array_equal(scaler.apply(images).reshape(8, 6), scaler.apply_flat(images))


def test_the_origin_is_where_a_row_of_zeros_lands():
    scaler = InputScaler.fit(drifting([1.0, 50.0]))
    np.testing.assert_array_equal(scaler.apply(np.zeros((1, 2)))[0], scaler.origin)


def test_new_rows_are_scaled_like_the_old_ones():
    data = drifting([1.0, 50.0])
    scaler = InputScaler.fit(data)
    np.testing.assert_array_equal(scaler.apply(data.inputs[:3]), scaler.apply(data.inputs)[:3])


def test_outputs_are_scaled_by_their_weighted_moments_and_restored():
    values = np.random.default_rng(0).normal(size=(50, 2)) * [1e6, 1e-6] + 3
    weights = np.random.default_rng(1).uniform(size=50)
    scaler = OutputScaler.fit(values, weights)
    scaled = scaler.apply(values)
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weights), 0.0, atol=1e-6)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=weights), 1.0)
    np.testing.assert_allclose(scaler.restore(scaled), values)


def test_a_constant_output_keeps_its_unit():
    scaler = OutputScaler.fit(np.full((9, 1), 0.1))
    np.testing.assert_allclose(scaler.scale, 1.0)
    np.testing.assert_allclose(scaler.restore(scaler.apply(np.full((2, 1), 0.3))), 0.3)


@pytest.mark.parametrize(
    "scaler",
    [
        InputScaler.fit(drifting([1.0, 50.0])),
        OutputScaler.fit(np.random.default_rng(0).normal(size=(50, 2)) * 3 + 7),
    ],
)
def test_a_scaler_comes_back_from_its_state_to_the_bit(scaler):
    again = type(scaler).from_state(scaler.state())
    values = np.random.default_rng(1).normal(size=(5, 2))
    np.testing.assert_array_equal(again.apply(values), scaler.apply(values))


@pytest.mark.parametrize("kind", [InputScaler, OutputScaler])
@pytest.mark.parametrize(
    "damage",
    [
        {"offset": np.zeros(3)},
        {"scale": np.array([1.0, 0.0])},
        {"scale": np.array([1.0, -1.0])},
        {"scale": np.array([1.0, np.nan])},
        {"offset": np.zeros((2, 1)), "scale": np.ones((2, 1))},
    ],
)
def test_a_damaged_scaler_is_refused(kind, damage):
    state = {"offset": np.zeros(2), "scale": np.ones(2)}
    with pytest.raises(ValueError, match="an offset does not fit its scale"):
        kind.from_state({**state, **damage})
