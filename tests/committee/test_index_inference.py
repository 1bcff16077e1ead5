"""Whether what was learned of u helps the map."""

import numpy as np
import pytest

from domindex.committee.index_inference import _describes_better
from domindex.datasets import make_circle
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=12, n_sources=4, samples_per_domain=40, random_state=0)


@pytest.fixture(scope="module")
def data(family):
    return check_domain_data(family.X, family.y, family.sample_domain, family.source_domains)


def places(values, data):
    """Local indices that lie at one value a domain, give or take."""
    noise = np.random.default_rng(0).normal(size=(40, 2)) * 1e-3
    return [noise + [value, 0.0] for value in values]


def test_a_map_that_shows_the_same_in_more_words_does_not_count(data, family):
    geometry = DomainGeometry.fit(data)
    assert not _describes_better(places(family.true_index[:, 0], data), geometry, data)


def test_a_map_that_shows_what_was_hidden_counts(data, family):
    """Where u starts along one direction, half a circle folds onto itself; the angle does not."""
    folded = DomainGeometry.fit(data, local_dim=1)
    assert _describes_better(places(family.true_index[:, 0], data), folded, data)


def test_a_map_of_nothing_does_not(data):
    shuffled = np.random.default_rng(1).permutation(12).astype(float)
    assert not _describes_better(places(shuffled, data), DomainGeometry.fit(data), data)
