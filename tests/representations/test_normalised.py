"""Level, spread and shape of rows."""

import numpy as np
import pytest
from domindex.data.normalizing import NORMALIZATIONS, RowNormalizer, share_units

from domindex.data import check_domain_data
from domindex.errors import InputError


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * 3 + 10
    return check_domain_data(X, X[:, :2], np.resize(["a", "b", "c"], 30), ["a", "b"])


@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_what_is_normalized_is_restored(data, kind):
    split = RowNormalizer.fit(kind, data).split(data.inputs, ["a"] * 30)
    np.testing.assert_allclose(split.restore(split.shapes), data.inputs)
    np.testing.assert_allclose(split.restore(split.normalize(data.inputs)), data.inputs)


def test_shapes_of_rows_do_not_change_when_a_row_is_shifted_and_stretched(data):
    normalizer = RowNormalizer.fit("rows", data)
    np.testing.assert_allclose(
        normalizer.split(data.inputs).shapes, normalizer.split(7 * data.inputs - 100).shapes
    )


def test_row_means_keep_the_spread(data):
    split = RowNormalizer.fit("row_means", data).split(data.inputs)
    np.testing.assert_allclose(split.shapes.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(split.spread, 1.0)


def test_a_domain_keeps_the_level_that_fit_saw_and_a_new_one_is_measured(data):
    normalizer = RowNormalizer.fit("domains", data)
    alone = normalizer.split(data.inputs[:1], ["a"])
    cloud = data.inputs_by_domain()[0]
    assert alone.level[0, 0] == pytest.approx(cloud.mean())
    new = normalizer.split(data.inputs[:5] + 50, ["new"] * 5)
    np.testing.assert_allclose(new.level, (data.inputs[:5] + 50).mean())


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_a_flat_row_has_a_finite_shape_at_any_scale(data, scale):
    inputs = data.inputs * scale
    flat = np.full((1, 4), inputs.mean())
    whole = check_domain_data(inputs, inputs[:, 0], np.resize([1, -2], 30))
    split = RowNormalizer.fit("rows", whole).split(flat)
    assert np.isfinite(split.shapes).all()
    assert split.spread[0, 0] > 0


def test_refuses_an_unknown_kind_and_one_without_shapes(data):
    with pytest.raises(InputError, match=r"normalize is 'row'\. Choose one of none, row_means"):
        RowNormalizer.fit("row", data)
    narrow = check_domain_data(data.inputs[:, :2], data.inputs[:, 0], np.resize([1, -2], 30))
    with pytest.raises(InputError, match="needs 3 features or more, but X has 2"):
        RowNormalizer.fit("rows", narrow)


@pytest.mark.parametrize(
    ("scale_x", "scale_y", "shift_y", "shared"),
    [
        (1.0, 1.0, 0.0, True),
        (1e-6, 1e-6, 0.0, True),
        ([1.0, 1.0, 1.0, 100.0], 1.0, 0.0, False),
        (1.0, 1e3, 0.0, False),
        (1.0, 1.0, 500.0, False),
        ([1.0, 1.0, 1.0, 0.0], 1.0, 0.0, False),
    ],
)
def test_units_are_shared_by_values_of_one_size_in_one_place(scale_x, scale_y, shift_y, shared):
    values = np.random.default_rng(0).normal(size=(60, 5)) + 2
    X, y = values[:, :4] * scale_x, values[:, 4] * scale_y + shift_y
    assert share_units(check_domain_data(X, y, np.resize([1, 2, -3], 60))) is shared
