"""Level, spread and shape of rows."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.inputs import check_domain_data
from domindex.inputs.standardizing import InputScaler
from domindex.representations import PlacedRows
from domindex.representations.normalised import (
    DomainCentred,
    DomainScaled,
    DomainStandardised,
    RowCentred,
    RowStandardised,
    Shapes,
    inputs_share_units,
    outputs_share_units,
)

NOWHERE = np.empty(0)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * 3 + 10
    return check_domain_data(X, X[:, :2], np.resize(["a", "b", "c"], 30), ["a", "b"])


def placed(inputs, name=None) -> PlacedRows:
    """Rows of one domain, wherever that lies."""
    return PlacedRows.of(inputs, [name] * len(inputs), {name: NOWHERE})


def shapes_of(representation: Shapes, rows: PlacedRows) -> np.ndarray:
    """The shapes before they are brought to one scale."""
    scaler = representation.scaler
    return representation.apply(rows).features * scaler.scale + scaler.offset


@pytest.mark.parametrize("kind", [RowCentred, RowStandardised, DomainScaled])
def test_what_is_normalized_is_restored(data, kind):
    fitted = kind.of(data)
    rows = placed(data.inputs, "a")
    split = fitted.apply(rows)
    np.testing.assert_allclose(split.restore(shapes_of(fitted, rows)), data.inputs)
    np.testing.assert_allclose(split.restore(split.normalize(data.inputs)), data.inputs)


@pytest.mark.parametrize("kind", [RowCentred, RowStandardised, DomainScaled])
def test_shapes_of_the_fit_have_zero_mean_and_unit_variance_in_one_unit(data, kind):
    fitted = kind.of(data)
    features = fitted.apply(PlacedRows.of_data(data)).features
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-9)
    assert features.var(axis=0).mean() == pytest.approx(1.0)
    assert len(set(fitted.scaler.scale)) == 1


def test_shapes_of_rows_do_not_change_when_a_row_is_shifted_and_stretched(data):
    fitted = RowStandardised.of(data)
    np.testing.assert_allclose(
        fitted.apply(placed(data.inputs)).features,
        fitted.apply(placed(7 * data.inputs - 100)).features,
    )


def test_row_means_keep_the_spread(data):
    fitted, rows = RowCentred.of(data), placed(data.inputs)
    shapes = shapes_of(fitted, rows)
    np.testing.assert_allclose(shapes.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(fitted.apply(rows).spread, 1.0)


def test_a_domain_keeps_the_level_that_fit_saw_and_a_new_one_is_measured(data):
    fitted = DomainScaled.of(data)
    alone = fitted.apply(placed(data.inputs[:1], "a"))
    cloud = data.inputs[data.rows_by_domain()[0]]
    assert alone.level[0, 0] == pytest.approx(cloud.mean())
    assert alone.spread[0, 0] == pytest.approx(cloud.std())
    new = fitted.apply(placed(data.inputs[:5] + 50, "new"))
    np.testing.assert_allclose(new.level, (data.inputs[:5] + 50).mean())
    np.testing.assert_allclose(new.spread, data.inputs[:5].std())


def test_a_known_and_a_new_domain_in_one_table_are_each_measured_by_themselves(data):
    fitted = DomainScaled.of(data)
    inputs = np.vstack([data.inputs[:2], data.inputs[:3] + 50])
    places = {"a": NOWHERE, "new": NOWHERE}
    rows = PlacedRows.of(inputs[[0, 2, 1, 3, 4]], ["a", "new", "a", "new", "new"], places)
    level = fitted.apply(rows).level[:, 0]
    known, new = data.inputs[data.rows_by_domain()[0]].mean(), (data.inputs[:3] + 50).mean()
    np.testing.assert_allclose(level, [known, new, known, new, new])


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_a_flat_row_has_a_finite_shape_at_any_scale(data, scale):
    inputs = data.inputs * scale
    flat = np.full((1, 4), inputs.mean())
    whole = check_domain_data(inputs, inputs[:, 0], np.resize([1, -2], 30))
    split = RowStandardised.of(whole).apply(placed(flat))
    assert np.isfinite(split.features).all()
    assert split.spread[0, 0] > 0


@pytest.mark.parametrize("kind", [RowCentred, RowStandardised, DomainScaled])
def test_inputs_that_are_all_the_same_have_finite_shapes(kind):
    same = check_domain_data(np.full((8, 3), 7.0), np.arange(8.0), np.resize([1, -2], 8))
    assert np.isfinite(kind.of(same).apply(PlacedRows.of_data(same)).features).all()


@pytest.mark.parametrize(
    ("kind", "n_features", "message"),
    [
        (RowCentred, 1, r"'row_centred' needs 2 features or more, but X has 1\. Choose 'raw'"),
        (RowStandardised, 2, r"'row_standardised' needs 3 features or more, but X has 2\. Choose"),
    ],
)
def test_refuses_a_kind_without_shapes(data, kind, n_features, message):
    X = data.inputs[:, :n_features]
    narrow = check_domain_data(X, data.inputs[:, 0], np.resize([1, -2], 30))
    with pytest.raises(InputError, match=message):
        kind.of(narrow)


@pytest.mark.parametrize(
    ("kind", "n_features"), [(RowCentred, 2), (RowStandardised, 3), (DomainScaled, 1)]
)
def test_as_many_features_as_needed_will_do(data, kind, n_features):
    X = data.inputs[:, :n_features]
    narrow = check_domain_data(X, data.inputs[:, 0], np.resize([1, -2], 30))
    assert np.isfinite(kind.of(narrow).apply(PlacedRows.of_data(narrow)).features).all()


def test_some_rows_are_represented_like_all(data):
    split = RowStandardised.of(data).apply(placed(data.inputs))
    part = split.part(np.array([4, 1]))
    np.testing.assert_array_equal(part.features, split.features[[4, 1]])
    np.testing.assert_array_equal(part.level, split.level[[4, 1]])
    restored = split.restore(np.ones((30, 1)))
    np.testing.assert_array_equal(part.restore(np.ones((2, 1))), restored[[4, 1]])


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
    assert outputs_share_units(check_domain_data(X, y, np.resize([1, 2, -3], 60))) is shared


@pytest.mark.parametrize(
    ("scale", "shared"), [(1.0, True), (1e-6, True), ([1, 2, 1, 2], True), ([1, 1, 1, 0], False)]
)
def test_inputs_share_units_where_their_deviations_are_of_one_size(scale, shared):
    X = np.random.default_rng(0).normal(size=(60, 4)) * scale
    assert inputs_share_units(check_domain_data(X, X[:, 0], np.resize([1, -3], 60))) is shared


@pytest.mark.parametrize("kind", [DomainCentred, DomainStandardised])
def test_what_never_varies_in_a_domain_leaves_no_crumbs(kind):
    """Seventy times 0.1 have no exact mean: what is left over is not to be taken for a feature."""
    still = np.repeat([0.1, 0.7], 70)
    X = np.column_stack([still, np.random.default_rng(0).normal(size=140)])
    assert X[:70, 0].mean() != 0.1
    data = check_domain_data(X, np.zeros(140), np.repeat(["a", "b"], 70), ["a"], task="regression")
    represented = kind.of(data, InputScaler(np.zeros(2), np.ones(2)))
    assert (represented.apply(PlacedRows.of_data(data)).features[:, 0] == 0.0).all()
