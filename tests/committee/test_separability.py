"""Whether two groups of rows can be told apart."""

import numpy as np
import pytest

from domindex.committee.folds import RepresentedFolds, plan_folds
from domindex.committee.separability import (
    Separability,
    discriminability,
    measure_separability,
    strictest_auc,
    two_sample_auc,
)
from domindex.committee.settings import ChoiceSettings
from domindex.geometry.neighbors import PointDistances
from domindex.representations import representation_named


def test_equal_samples_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(400, 3)), rng.normal(size=(400, 3))
    assert two_sample_auc(first, second) == pytest.approx(0.5, abs=0.06)


def test_shifted_samples_are_told_apart_the_more_the_further():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
    aucs = [two_sample_auc(first, second + shift) for shift in (0.0, 1.0, 4.0)]
    assert aucs[0] < 0.6 < aucs[1] < 0.95 < aucs[2]


def test_a_shape_is_seen_though_means_agree():
    rng = np.random.default_rng(0)
    assert two_sample_auc(rng.normal(size=(300, 2)), 4 * rng.normal(size=(300, 2))) > 0.8


def test_the_strictest_of_several_classifiers_is_found_whichever_they_are():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 1.0
    assert strictest_auc(first, second) >= two_sample_auc(first, second, n_parts=10)


def test_few_rows_tell_nothing():
    assert two_sample_auc(np.zeros((5, 2)), np.full((200, 2), 9.0)) == 0.5


@pytest.mark.timeout(60)
def test_of_very_many_features_some_are_looked_at():
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=(30, 30_000)) for _ in range(2))
    assert two_sample_auc(first, second + 3.0) > 0.9  # all of them took most of a minute


def test_discriminability_grows_with_the_auc_and_stays_finite():
    found = [discriminability(auc) for auc in (0.0, 0.5, 0.6, 0.8, 0.95, 0.999, 1.0)]
    assert found[0] == found[1] == 0.0
    assert found[1] < found[2] < found[3] < found[4] < found[5] == found[6] < 10
    assert discriminability(0.7602) == pytest.approx(1.0, abs=0.01), "unit normals, one apart"


def test_a_gap_is_what_targets_have_beyond_held_out_sources():
    assert Separability(0.9, 0.9).gap == 0.0
    assert Separability(0.6, 0.9).gap == 0.0
    assert Separability(0.9, 0.6).gap > Separability(0.7, 0.6).gap > 0.0


def test_a_two_sample_test_passes_within_the_noise():
    assert Separability(0.52, 0.5, noise=0.02).passes
    assert not Separability(0.58, 0.5, noise=0.02).passes


def test_domains_that_move_coincide_once_their_place_is_taken_out(line, line_geometry):
    places = line_geometry.domain_map.coordinates
    folds = tuple(plan_folds(line, PointDistances(places), None, ChoiceSettings(), 0))
    raw, centred = (
        measure_separability(
            RepresentedFolds.fit(representation_named(name), line, line_geometry, False),
            folds,
            2,
            0,
        )
        for name in ("raw", "domain_standardised")
    )
    assert raw.targets > 0.9
    assert raw.held_out > 0.8
    assert centred.targets < 0.65
    assert centred.held_out < 0.65
