"""Pictures brought to one place along a motion of their grid."""

import json

import numpy as np
import pytest
from scipy import ndimage

from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data
from domindex.persistence.codec import decode, encode
from domindex.representations import PlacedRows
from domindex.representations.flow import GridFlowAligned

N_DOMAINS, N_ROWS = 6, 40


def shifting(still=False):
    """Colour pictures (rows, 10, 10, 2) whose spot moves from domain to domain."""
    rng = np.random.default_rng(0)
    cells = (np.arange(10) + 0.5) / 5 - 1
    y, x = np.meshgrid(cells, cells, indexing="ij")
    parts = []
    for step in np.linspace(-1, 1, N_DOMAINS):
        at = 0.1 * rng.normal(size=(N_ROWS, 2, 1, 1))
        spot = np.exp(-((y - at[:, 0]) ** 2 + (x - 0.2 - at[:, 1]) ** 2) / 0.1)
        moved = spot if still else ndimage.shift(spot, (0, 1.5 * step, 0), order=1)
        parts.append(np.stack([moved, 0.5 * moved + 0.02 * rng.normal(size=moved.shape)], axis=-1))
    names = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    X = np.concatenate(parts)
    return check_domain_data(X, rng.integers(2, size=len(X)), names, [0, 1, 2], kind="auto")


@pytest.fixture(scope="module")
def data():
    return shifting()


@pytest.fixture(scope="module")
def geometry(data):
    return DomainGeometry.fit(data, 2)


@pytest.fixture(scope="module")
def fitted(data, geometry):
    return GridFlowAligned.fit(data, geometry)


def test_it_serves_where_pictures_move(data, geometry):
    assert GridFlowAligned.serves(data, geometry)


@pytest.mark.full
def test_it_does_not_serve_where_nothing_moves():
    still = shifting(still=True)
    assert not GridFlowAligned.serves(still, DomainGeometry.fit(still, 2))


def test_domains_coincide_once_they_are_carried(data, geometry, fitted):
    placed = PlacedRows.of_data(data, geometry.domain_map.coordinates)
    carried = fitted.apply(placed).features
    raw = data.inputs.reshape(data.n_rows, -1)
    raw = (raw - raw.mean()) / raw.std()

    def apart(rows):
        return np.std([rows[part].mean(axis=0) for part in data.rows_by_domain()], axis=0).mean()

    assert apart(carried) < 0.6 * apart(raw)


def test_a_domain_never_seen_is_carried_by_its_place(data, geometry, fitted):
    placed = PlacedRows.of_data(data, geometry.domain_map.coordinates)
    rows, place = placed.domains[1].rows, placed.domains[1].place
    new = PlacedRows.of(data.inputs[rows], ["new"] * len(rows), {"new": place})
    assert np.allclose(fitted.apply(new).features, fitted.apply(placed).features[rows])


def test_it_comes_back_from_its_state(data, geometry, fitted):
    tree, arrays = encode(fitted.state())
    state = decode(json.loads(json.dumps(tree)), arrays)
    again = GridFlowAligned.from_state(state)
    placed = PlacedRows.of_data(data, geometry.domain_map.coordinates)
    assert np.array_equal(again.apply(placed).features, fitted.apply(placed).features)
    with pytest.raises(ValueError, match="does not fit"):
        GridFlowAligned.from_state({**state, "layout": {**state["layout"], "shape": [10, 9, 2]}})


def test_a_table_is_refused(data, geometry):
    table = check_domain_data(data.inputs, data.labels, data.row_names, [0, 1, 2])
    assert not GridFlowAligned.serves(table, geometry)
    with pytest.raises(InputError, match="for pictures and signals"):
        GridFlowAligned.fit(table, geometry)
