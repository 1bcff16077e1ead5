"""Fitted indices: known domains keep their place, new ones are placed by their rows alone."""

import numpy as np
import pytest

from domindex.committee.fitted_indices import FittedIndices
from domindex.geometry import DomainMap
from domindex.inputs.standardizing import InputScaler
from domindex.vdi.module import IndexModule

NAMES = ("north", "east", "south", "west")


@pytest.fixture
def clouds() -> list[np.ndarray]:
    """Four domains along a line, 20 rows each, in units of their own."""
    rng = np.random.default_rng(0)
    return [10.0 * (rng.normal(size=(20, 3)) + [2.0 * k, 0.0, 0.0]) for k in range(4)]


@pytest.fixture
def fitted(clouds) -> FittedIndices:
    scaler = InputScaler(np.array([30.0, 0.0, 0.0]), np.full(3, 20.0))
    module = IndexModule((3,), local_dim=2, index_dim=2, width=8).double().eval()
    module.local_encoder.start_at(np.eye(3)[:, :2])
    bare = FittedIndices(scaler, module, None)
    local = [bare.local_indices(cloud) for cloud in clouds]
    return FittedIndices(scaler, module, DomainMap.fit(NAMES, local, 2))


def test_a_local_index_does_not_depend_on_the_rows_beside_it(fitted, clouds):
    together = fitted.local_indices(np.concatenate(clouds))
    assert together.shape == (80, 2)
    alone = np.concatenate([fitted.local_indices(row[None]) for cloud in clouds for row in cloud])
    np.testing.assert_allclose(alone, together, atol=1e-12)


def test_local_indices_are_the_scaled_inputs_projected_once_nothing_is_refined(fitted, clouds):
    fitted.module.local_encoder.drop_refinement()
    expected = fitted.scaler.apply(clouds[1])[:, :2]
    np.testing.assert_allclose(fitted.local_indices(clouds[1]), expected)


def test_the_map_is_centred_where_the_raw_index_is_and_deviates_as_its_posterior_says(fitted):
    index, deviations = fitted.index()
    assert index.domains == NAMES
    np.testing.assert_array_equal(index.coordinates, fitted.domain_map.coordinates)
    np.testing.assert_array_equal(index.distances, fitted.domain_map.index.distances)
    assert deviations.shape == (4, 2)
    assert (deviations > 0).all()
    np.testing.assert_allclose(fitted.deviations(index.coordinates), deviations)


def test_a_known_domain_keeps_its_place_whatever_its_rows(fitted, clouds):
    places = fitted.place(clouds[3][:2], ["north", "west"])
    np.testing.assert_array_equal(places["north"], fitted.domain_map.index.find("north"))
    np.testing.assert_array_equal(places["west"], fitted.domain_map.index.find("west"))


def test_a_new_domain_is_placed_by_its_rows(fitted, clouds):
    places = fitted.place(clouds[2], ["new"] * 20)
    np.testing.assert_allclose(places["new"], fitted.domain_map.index.find("south"), atol=1e-6)
    unnamed = fitted.place(clouds[2], None)
    assert list(unnamed) == [None]
    np.testing.assert_array_equal(unnamed[None], places["new"])


def test_an_added_domain_is_known_whatever_its_rows(fitted, clouds):
    grown = fitted.with_domains(np.concatenate([clouds[2], clouds[1]]), [*["b"] * 20, *["a"] * 20])
    assert grown.domain_map.index.domains == (*NAMES, "a", "b")
    placed = fitted.place(clouds[2], ["b"] * 20)["b"]
    np.testing.assert_allclose(grown.place(clouds[0][:1], ["b"])["b"], placed, atol=1e-12)
    index, deviations = grown.index()
    assert index.coordinates.shape == deviations.shape == (6, 2)
    assert fitted.domain_map.index.domains == NAMES


def test_a_place_is_a_copy(fitted, clouds):
    before = fitted.domain_map.coordinates.copy()
    fitted.place(clouds[0], ["north"] * 20)["north"][:] = 99.0
    np.testing.assert_array_equal(fitted.domain_map.coordinates, before)


def test_placed_rows_carry_the_place_of_their_domain(fitted, clouds):
    inputs = np.concatenate([clouds[1][:3], clouds[0][:2]])
    rows = fitted.placed(inputs, ["east"] * 3 + ["north"] * 2)
    east, north = (fitted.domain_map.index.find(name) for name in ("east", "north"))
    np.testing.assert_array_equal(rows.index, [east] * 3 + [north] * 2)
    assert rows.inputs is inputs


def test_means_are_a_batch_of_one_domain(fitted, clouds):
    place = np.array([0.5, -1.0])
    indices = fitted.means(clouds[0], place)
    np.testing.assert_array_equal(indices.u[0], fitted.local_indices(clouds[0]))
    np.testing.assert_array_equal(indices.beta, [place])


def test_fitted_indices_come_back_from_their_state(fitted, clouds):
    twin = FittedIndices.from_state(fitted.state())
    np.testing.assert_array_equal(twin.local_indices(clouds[0]), fitted.local_indices(clouds[0]))
    ours, theirs = (f.place(clouds[1], None)[None] for f in (fitted, twin))
    np.testing.assert_array_equal(ours, theirs)
    for one, other in zip(fitted.index(), twin.index()):
        one, other = (getattr(value, "coordinates", value) for value in (one, other))
        np.testing.assert_array_equal(one, other)


def narrow_scale(state):
    state["scaler"] = {"offset": np.zeros(2), "scale": np.ones(2)}


def other_map(state):
    points = np.random.default_rng(0).normal(size=(4, 5, 2))
    state["domain_map"] = DomainMap.fit(NAMES, list(points), 1).state()


def wide_clouds(state):
    points = np.random.default_rng(0).normal(size=(4, 5, 3))
    state["domain_map"] = DomainMap.fit(NAMES, list(points), 2).state()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (narrow_scale, "the scale does not fit the networks"),
        (other_map, "the map does not fit the networks"),
        (wide_clouds, "the clouds do not fit the networks"),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(fitted, damage, message):
    state = fitted.state()
    damage(state)
    with pytest.raises(ValueError, match=message):
        FittedIndices.from_state(state)
