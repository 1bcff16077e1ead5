"""z of a held-out row comes from the network that was denied its label."""

import numpy as np
import pytest

from domindex.committee.folds import RepresentedFolds, plan_folds
from domindex.committee.network import EncodedFolds
from domindex.committee.settings import ChoiceSettings
from domindex.geometry.neighbors import PointDistances
from domindex.representations import RepresentedRows
from domindex.representations.base import Raw


class Numbered:
    """A network that encodes every row as its own number, and remembers which it saw."""

    def __init__(self, number, representation):
        self.number, self.representation, self.seen = number, representation, []

    def represent(self, rows, indices):
        self.seen.append(rows.inputs)
        return RepresentedRows.plain(np.full((len(rows.inputs), 1), float(self.number)))


@pytest.fixture
def world(line, line_geometry):
    places = line_geometry.domain_map.coordinates
    folds = plan_folds(line, PointDistances(places), None, ChoiceSettings(), 0)
    represented = RepresentedFolds.fit(Raw, line, line_geometry, False)
    networks = [Numbered(k, represented.representation) for k in range(len(folds))]
    return line, folds, represented, networks


def test_every_fold_is_encoded_by_its_own_network(world):
    data, folds, represented, networks = world
    encoded = EncodedFolds.of_networks(networks, folds, represented, None)
    for number, fold in enumerate(folds):
        train, held_out = encoded.of(fold)
        assert train.features.shape == (len(fold.train), 1)
        assert held_out.features.shape == (len(fold.held_out), 1)
        assert set(train.features.ravel()) == set(held_out.features.ravel()) == {number}
        learned, asked = networks[number].seen
        np.testing.assert_array_equal(learned, data.inputs[fold.train])
        np.testing.assert_array_equal(asked, data.inputs[fold.held_out])


def test_folds_that_differ_in_what_is_learned_from_alone_are_told_apart(world):
    _, folds, represented, networks = world
    encoded = EncodedFolds.of_networks(networks, folds, represented, None)
    assert len(encoded.encoded) == len(folds)
