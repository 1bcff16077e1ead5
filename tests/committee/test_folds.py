"""Sources held out in turn: who is held out, and who is learned from."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee.folds import plan_folds
from domindex.committee.settings import ChoiceSettings
from domindex.geometry.neighbors import PointDistances
from domindex.inputs import check_domain_data


def plan(data, geometry, target_rows=None, settings=None):
    places = geometry.domain_map.coordinates
    return plan_folds(data, PointDistances(places), target_rows, settings or ChoiceSettings(), 0)


def with_sources(data, sources):
    """The same rows, with other roles; distances of the map stay as they are."""
    is_source = np.array([name in sources for name in data.domains])
    return replace(data, is_source=is_source)


def test_near_folds_hold_every_source_out_once(line, line_geometry):
    near = [fold for fold in plan(line, line_geometry) if fold.kind == "near"]
    held_out = np.concatenate([fold.held_out for fold in near])
    np.testing.assert_array_equal(np.sort(held_out), np.flatnonzero(line.row_is_source))
    for fold in near:
        together = np.sort(np.concatenate([fold.train, fold.held_out]))
        np.testing.assert_array_equal(together, np.flatnonzero(line.row_is_source))


def test_no_fold_has_a_row_of_a_target(line, line_geometry):
    for fold in plan(line, line_geometry):
        assert line.row_is_source[np.concatenate([fold.train, fold.held_out])].all()


def test_far_folds_learn_from_the_farther_half_only(line, line_geometry):
    distances = line_geometry.domain_map.index.map_distances
    far = [fold for fold in plan(line, line_geometry) if fold.kind == "far"]
    assert sorted(int(fold.domains[0]) for fold in far) == [0, 1, 2, 3, 4]
    for fold in far:
        (held_out,) = fold.domains
        used = np.unique(line.row_domains[fold.train])
        left = np.setdiff1d(np.arange(5), [*used, held_out])
        assert len(used) == 2
        assert distances[held_out, used].min() >= distances[held_out, left].max()
        assert fold.distance == pytest.approx(distances[held_out, used].min())


def test_two_sources_have_near_folds_only(line, line_geometry):
    folds = plan(with_sources(line, ["d0", "d3"]), line_geometry)
    assert [fold.kind for fold in folds] == ["near", "near"]


def test_rows_of_a_single_source_are_held_out(line, line_geometry):
    folds = plan(with_sources(line, ["d2"]), line_geometry)
    assert {fold.kind for fold in folds} == {"rows"}
    held_out = np.sort(np.concatenate([fold.held_out for fold in folds]))
    np.testing.assert_array_equal(held_out, np.flatnonzero(line.row_domains == 2))
    for fold in folds:
        assert not set(fold.train) & set(fold.held_out)


def test_a_single_row_is_held_out_of_itself(line_geometry):
    data = check_domain_data([[0.0], [1.0], [2.0]], [1.5, 0.0, 0.0], ["s", "t", "t"], ["s"])
    (fold,) = plan(data, line_geometry)
    assert fold.train.tolist() == fold.held_out.tolist() == [0]


def test_a_held_out_domain_has_the_rows_that_resemble_targets(line, line_geometry):
    cut = [np.arange(3) if k < 5 else np.arange(20) for k in range(8)]
    by_domain = line.rows_by_domain()
    for fold in plan(line, line_geometry, target_rows=cut):
        for k in fold.domains:
            found = fold.held_out[line.row_domains[fold.held_out] == k]
            np.testing.assert_array_equal(found, by_domain[k][:3])
        used = np.unique(line.row_domains[fold.train])
        assert len(fold.train) == 20 * len(used), "what is learned from is not cut"


def test_large_domains_are_held_out_in_part(line, line_geometry):
    few = ChoiceSettings(max_held_out_rows=7, max_train_rows=30)
    for fold in plan(line, line_geometry, settings=few):
        assert len(fold.held_out) <= 7
        assert len(fold.train) <= 30
        assert set(line.row_domains[fold.held_out]) == set(fold.domains)


def test_rows_that_count_for_nothing_are_in_no_fold(line, line_geometry):
    weights = np.ones(line.n_rows)
    weights[line.row_domains == 1] = 0.0
    weights[:4] = 0.0
    folds = plan(replace(line, weights=weights), line_geometry)
    seen = np.concatenate([np.concatenate([fold.train, fold.held_out]) for fold in folds])
    assert (weights[seen] > 0).all()
    assert {int(k) for fold in folds for k in fold.domains} == {0, 2, 3, 4}
