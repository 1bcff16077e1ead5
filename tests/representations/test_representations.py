"""What holds of every representation, and what each does to rows."""

import json

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData, check_domain_data
from domindex.persistence.codec import decode, encode
from domindex.representations import (
    PlacedRows,
    Representation,
    list_representations,
    register_representation,
    representation_named,
)
from domindex.representations.base import REPRESENTATIONS, Raw, WithIndex, WithoutConstants
from domindex.representations.flow import FlowAligned
from domindex.representations.normalised import (
    Coral,
    DomainCentred,
    DomainScaled,
    DomainStandardised,
    DomainWhitened,
    RowCentred,
    RowStandardised,
    WithMeans,
)

BUILT_IN = (
    Raw,
    WithIndex,
    WithMeans,
    WithoutConstants,
    RowCentred,
    RowStandardised,
    DomainScaled,
    DomainCentred,
    DomainStandardised,
    DomainWhitened,
    Coral,
    FlowAligned,
)
"""Of rows that are a table; grid_flow has tests of its own."""

EVERY = pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def data() -> DomainData:
    """Six domains that shift and widen along a line, and noise beside."""
    rng = np.random.default_rng(0)
    numbers = rng.permutation(np.repeat(np.arange(6), 30))
    X = rng.normal(size=(180, 4)) * 3 + 20
    X[:, 0] += 6 * numbers
    X[:, 1] *= 1 + 0.1 * numbers
    names = [f"site {number}" for number in numbers]
    return check_domain_data(X, X[:, 1], names, ["site 0", "site 1", "site 2"], task="regression")


@pytest.fixture(scope="module")
def geometry(data) -> DomainGeometry:
    return DomainGeometry.fit(data, 2)


@pytest.fixture(scope="module")
def rows(data, geometry) -> PlacedRows:
    return PlacedRows.of_data(data, geometry.domain_map.coordinates)


@pytest.fixture(scope="module")
def newcomers(geometry) -> PlacedRows:
    """A known domain, a named new one, and their rows in turns."""
    inputs = np.random.default_rng(1).normal(size=(12, 4)) * 3 + 25
    places = {"site 2": geometry.domain_map.index.find("site 2"), "new": np.array([0.3, -0.1])}
    return PlacedRows.of(inputs, ["site 2", "new"] * 6, places)


def kept(state: dict) -> dict:
    """A state as it comes back from a file."""
    tree, arrays = encode(state)
    return decode(json.loads(json.dumps(tree)), arrays)


@EVERY
def test_known_rows_are_represented_row_by_row_whatever_their_company(kind, data, geometry, rows):
    fitted = kind.fit(data, geometry)
    whole = fitted.apply(rows)
    assert whole.features.shape[0] == data.n_rows
    assert whole.level.shape == whole.spread.shape == (data.n_rows, 1)
    some = np.array([3, 70, 11])
    places = dict(zip(data.domains, geometry.domain_map.coordinates))
    few = PlacedRows.of(data.inputs[some], [data.row_names[row] for row in some], places)
    np.testing.assert_allclose(fitted.apply(few).features, whole.features[some], atol=1e-9)
    np.testing.assert_allclose(fitted.apply(few).level, whole.level[some], atol=1e-9)


@EVERY
def test_rows_of_new_domains_are_represented_too(kind, data, geometry, newcomers):
    result = kind.fit(data, geometry).apply(newcomers)
    assert np.isfinite(result.features).all()
    assert (result.spread > 0).all()
    np.testing.assert_allclose(result.restore(result.normalize(newcomers.inputs)), newcomers.inputs)


@EVERY
def test_one_row_of_a_domain_without_a_name_is_represented(kind, data, geometry):
    alone = PlacedRows.of(data.inputs[:1], None, {None: np.zeros(2)})
    result = kind.fit(data, geometry).apply(alone)
    assert np.isfinite(result.features).all()
    assert (result.spread > 0).all()


@EVERY
def test_a_representation_comes_back_from_its_state_to_the_bit(
    kind, data, geometry, rows, newcomers
):
    fitted = kind.fit(data, geometry)
    again = kind.from_state(kept(fitted.state()))
    assert type(again) is kind
    for placed in (rows, newcomers):
        first, second = fitted.apply(placed), again.apply(placed)
        np.testing.assert_array_equal(first.features, second.features)
        np.testing.assert_array_equal(first.level, second.level)
        np.testing.assert_array_equal(first.spread, second.spread)


@EVERY
def test_a_state_with_a_damaged_scaler_is_refused(kind, data, geometry):
    state = kind.fit(data, geometry).state()
    state["scaler"] = {**state["scaler"], "scale": -state["scaler"]["scale"]}
    with pytest.raises(ValueError, match="an offset does not fit its scale"):
        kind.from_state(state)


@EVERY
def test_a_state_with_a_part_missing_is_refused(kind, data, geometry):
    state = kind.fit(data, geometry).state()
    for name in state:
        rest = {key: value for key, value in state.items() if key != name}
        with pytest.raises(KeyError, match=name):
            kind.from_state(rest)


@EVERY
def test_labels_are_not_looked_at(kind, data, geometry, rows):
    other = check_domain_data(
        data.inputs, -np.arange(180.0), data.row_names, data.source_domains, task="regression"
    )
    first, second = kind.fit(data, geometry), kind.fit(other, geometry)
    np.testing.assert_array_equal(first.apply(rows).features, second.apply(rows).features)


@EVERY
def test_pictures_are_represented_like_their_pixels_in_a_row(kind, data, geometry, rows):
    fitted = kind.fit(data, geometry)
    pictures = PlacedRows(data.inputs.reshape(-1, 2, 2), rows.domains)
    np.testing.assert_array_equal(fitted.apply(pictures).features, fitted.apply(rows).features)


def test_raw_rows_are_the_scaled_inputs_and_outputs_stay_as_they_are(data, geometry, rows):
    result = Raw.fit(data, geometry).apply(rows)
    np.testing.assert_array_equal(result.features, geometry.scaler.apply(data.inputs))
    np.testing.assert_array_equal(result.level, 0.0)
    np.testing.assert_array_equal(result.spread, 1.0)


def test_the_index_stands_beside_the_inputs(data, geometry, rows, newcomers):
    fitted = WithIndex.fit(data, geometry)
    features = fitted.apply(rows).features
    assert features.shape == (180, 6)
    np.testing.assert_array_equal(features[:, :4], geometry.scaler.apply(data.inputs))
    places = geometry.domain_map.coordinates[data.row_domains]
    np.testing.assert_array_equal(features[:, 4:], places)
    np.testing.assert_array_equal(fitted.apply(newcomers).features[1::2, 4:], [[0.3, -0.1]] * 6)


def means_and_deviations(features, data) -> tuple[np.ndarray, np.ndarray]:
    clouds = [features[members] for members in data.rows_by_domain()]
    return np.stack([c.mean(axis=0) for c in clouds]), np.stack([c.std(axis=0) for c in clouds])


def test_centred_domains_have_the_same_mean_and_keep_their_deviations(data, geometry, rows):
    features = DomainCentred.fit(data, geometry).apply(rows).features
    means, deviations = means_and_deviations(features, data)
    np.testing.assert_allclose(means, 0.0, atol=1e-9)
    scaled = means_and_deviations(geometry.scaler.apply(data.inputs), data)[1]
    np.testing.assert_allclose(deviations, scaled)


def test_standardised_domains_have_the_same_mean_and_deviation(data, geometry, rows):
    features = DomainStandardised.fit(data, geometry).apply(rows).features
    means, deviations = means_and_deviations(features, data)
    np.testing.assert_allclose(means, 0.0, atol=1e-9)
    np.testing.assert_allclose(deviations, 1.0)


@pytest.mark.parametrize("kind", [DomainCentred, DomainStandardised])
def test_a_known_domain_keeps_the_offset_that_fit_saw_and_a_new_one_has_its_own(
    kind, data, geometry, newcomers
):
    fitted = kind.fit(data, geometry)
    features = fitted.apply(newcomers).features
    scaled = geometry.scaler.apply(newcomers.inputs)
    offset, scale = fitted.known["site 2"]
    known = (scaled[0::2] - offset) / scale
    np.testing.assert_allclose(features[0::2], known)
    np.testing.assert_allclose(features[1::2].mean(axis=0), 0.0, atol=1e-9)


def test_a_feature_that_does_not_vary_within_a_domain_is_only_centred():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[:20, 1] = 3.0
    flat = check_domain_data(X, X[:, 0], np.repeat([1, -2], 20))
    fitted = DomainStandardised.of(flat, DomainGeometry.fit(flat, 1).scaler)
    features = fitted.apply(PlacedRows.of_data(flat)).features
    np.testing.assert_allclose(features[:20, 1], 0.0, atol=1e-9)
    assert np.isfinite(features).all()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"names": ("a", "b")}, "offsets do not fit the domains"),
        ({"offsets": np.zeros((6, 3))}, "offsets do not fit the domains"),
        ({"scales": np.ones((6, 3))}, "scales do not fit the domains"),
        ({"scales": np.zeros((6, 4))}, "scales do not fit the domains"),
    ],
)
@pytest.mark.parametrize("kind", [DomainCentred, DomainStandardised])
def test_damaged_domains_are_refused(kind, damage, message, data, geometry):
    state = kind.fit(data, geometry).state()
    with pytest.raises(ValueError, match=message):
        kind.from_state({**state, **damage})


@pytest.mark.parametrize(
    "damage", [{"names": ("a", "b")}, {"levels": np.ones((6, 3))}, {"levels": np.ones((5, 2))}]
)
def test_damaged_levels_of_domains_are_refused(damage, data, geometry):
    state = DomainScaled.fit(data, geometry).state()
    with pytest.raises(ValueError, match="levels do not fit"):
        DomainScaled.from_state({**state, **damage})


def test_the_flow_brings_the_domains_together(data, geometry, rows):
    result = FlowAligned.fit(data, geometry).apply(rows)
    assert result.features.shape == (180, 4)
    np.testing.assert_allclose(result.features.mean(axis=0), 0.0, atol=1e-9)
    assert result.features.var(axis=0).mean() == pytest.approx(1.0)
    before, _ = means_and_deviations(geometry.scaler.apply(data.inputs), data)
    after, _ = means_and_deviations(result.features, data)
    assert after.std(axis=0).max() < 0.3 < 0.5 < before.std(axis=0).max()


def test_a_new_domain_goes_along_the_flow_from_its_place(data, geometry):
    fitted = FlowAligned.fit(data, geometry)
    assert geometry.selected.flow.family != "none"
    cloud = data.inputs[data.rows_by_domain()[4]]
    own = geometry.domain_map.coordinates[4]
    new = PlacedRows.of(cloud, None, {None: own})
    known = PlacedRows.of(cloud, [data.domains[4]] * len(cloud), {data.domains[4]: own})
    np.testing.assert_array_equal(fitted.apply(new).features, fitted.apply(known).features)
    elsewhere = PlacedRows.of(cloud, None, {None: own + 1.0})
    assert np.abs(fitted.apply(elsewhere).features - fitted.apply(new).features).max() > 0.1


@pytest.mark.parametrize(
    ("part", "damage", "message"),
    [
        ("subspace", {"n_moving": 9}, "directions move"),
        ("flow", {"coefficients": np.zeros((1, 50))}, "do not fit its basis"),
        ("outputs", {"scale": np.zeros(4)}, "an offset does not fit its scale"),
    ],
)
def test_a_damaged_flow_is_refused(part, damage, message, data, geometry):
    state = FlowAligned.fit(data, geometry).state()
    state[part] = {**state[part], **damage}
    with pytest.raises(ValueError, match=message):
        FlowAligned.from_state(state)


@pytest.mark.parametrize("kind", [RowCentred, RowStandardised])
def test_rows_too_short_to_have_a_shape_are_refused_at_fit(kind):
    X = np.random.default_rng(0).normal(size=(20, kind.min_features - 1))
    narrow = check_domain_data(X, X[:, 0], np.repeat([1, -2], 10))
    least = kind.min_features
    message = f"'{kind.name}' needs {least} features or more, but X has {least - 1}. Choose 'raw'."
    with pytest.raises(InputError, match=message):
        kind.fit(narrow, DomainGeometry.fit(narrow, 1))


def test_only_what_moves_whole_domains_says_so():
    moving = {kind.name for kind in BUILT_IN if kind.moves_domains}
    assert moving == {
        "domain_scaled",
        "domain_centred",
        "domain_standardised",
        "domain_whitened",
        "coral",
        "flow",
    }


def test_every_representation_is_known_by_its_name():
    names = [kind.name for kind in BUILT_IN]
    assert list_representations()[: len(names)] == names
    assert [representation_named(name) for name in names] == list(BUILT_IN)


def test_an_unknown_name_is_refused_with_those_there_are():
    message = (
        "There is no representation 'xyz'; there are raw, with_index, with_means, "
        "without_constants, row_centred, row_standardised, domain_scaled, domain_centred, "
        "domain_standardised, domain_whitened, coral, flow"
    )
    with pytest.raises(InputError, match=message):
        representation_named("xyz")
    with pytest.raises(InputError, match="Did you mean 'row_centred'"):
        representation_named("row_centered")


def test_a_representation_of_ones_own_is_known_once_registered():
    @register_representation
    class Doubled(Raw):
        name = "doubled"

    try:
        assert representation_named("doubled") is Doubled
        assert list_representations()[-1] == "doubled"
    finally:
        REPRESENTATIONS.remove("doubled")
    assert "doubled" not in list_representations()


def test_auto_is_no_name_for_a_representation():
    class Auto(Raw):
        name = "auto"

    with pytest.raises(InputError, match="A representation cannot be named 'auto'"):
        register_representation(Auto)


def test_a_representation_must_say_how_rows_are_told():
    class Nothing(Representation):
        name = "nothing"

    with pytest.raises(TypeError, match="abstract"):
        Nothing()


def test_placed_rows_know_their_domains_and_places():
    inputs = np.arange(8).reshape(4, 2)
    places = {"a": np.array([1.0]), "b": np.array([2.0]), "c": np.array([3.0])}
    rows = PlacedRows.of(inputs, ["b", "a", "b", "b"], places)
    assert [(domain.name, domain.rows.tolist()) for domain in rows.domains] == [
        ("a", [1]),
        ("b", [0, 2, 3]),
    ]
    np.testing.assert_array_equal(rows.index, [[2], [1], [2], [2]])
    assert rows.features.dtype == np.float64


def test_rows_without_names_are_of_one_new_domain():
    rows = PlacedRows.of(np.zeros((3, 2)), None, {None: np.array([0.5, 1.0])})
    assert [domain.name for domain in rows.domains] == [None]
    np.testing.assert_array_equal(rows.index, [[0.5, 1.0]] * 3)


@EVERY
def test_an_added_domain_is_represented_by_what_it_was_added_with(kind, data, geometry):
    fitted = kind.fit(data, geometry)
    inputs = np.random.default_rng(5).normal(size=(12, data.inputs.shape[1])) + 1.5
    new = PlacedRows.of(inputs, ["new"] * 12, {"new": geometry.domain_map.coordinates[2]})
    known = PlacedRows.of_data(data, geometry.domain_map.coordinates)
    before = fitted.apply(known).features.copy()
    grown = fitted.with_domains(new)
    whole = fitted.apply(new).features
    np.testing.assert_array_equal(grown.apply(new).features, whole)
    one = PlacedRows.of(inputs[:1], ["new"], {"new": geometry.domain_map.coordinates[2]})
    np.testing.assert_allclose(grown.apply(one).features, whole[:1], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(grown.apply(known).features, before)
    tree, arrays = encode(grown.state())
    twin = kind.from_state(decode(json.loads(json.dumps(tree)), arrays))
    np.testing.assert_array_equal(twin.apply(one).features, grown.apply(one).features)
