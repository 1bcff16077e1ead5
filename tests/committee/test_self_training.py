"""Unlabelled domains join, the nearest first, with labels that the candidate gives them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from domindex.committee.candidates import Candidate, arrival_groups, learn
from domindex.committee.folds import Fold, RepresentedFolds
from domindex.committee.learners.estimators import LinearLearner
from domindex.geometry.neighbors import PointDistances
from domindex.representations.base import Raw


@dataclass(frozen=True)
class Watched:
    """A linear rule that remembers what it was told."""

    told: list
    name: str = "watched"

    def fit(self, features, labels, n_classes, seed, weights=None):
        self.told.append((features, labels, weights))
        return LinearLearner(1e-3).fit(features, labels, n_classes, seed, weights)


def on_a_line(*places):
    return PointDistances(np.array(places, dtype=float)[:, None])


def test_the_nearest_arrive_first_and_are_known_to_those_after_them():
    distances = on_a_line(0, 10, 3, -4, 5)
    known = np.array([True, False, False, False, False])
    groups = arrival_groups(distances, known, np.array([1, 2, 3, 4]))
    assert [group.tolist() for group in groups] == [[2], [4], [3], [1]]


def test_many_domains_arrive_in_few_groups():
    distances = on_a_line(*range(21))
    groups = arrival_groups(distances, np.arange(21) == 0, np.arange(1, 21))
    assert len(groups) == 4
    assert np.concatenate(groups).tolist() == list(range(1, 21))


def test_nobody_arrives_where_nobody_is_unlabelled():
    assert (
        arrival_groups(
            on_a_line(0, 1),
            np.array([True, True]),
            np.array([], dtype=int),
        )
        == []
    )


def train(data, geometry, held_out):
    represented = RepresentedFolds.fit(Raw, data, geometry, False)
    held_out = np.asarray(held_out, dtype=np.int64)
    known = np.flatnonzero(data.row_is_source & ~np.isin(data.row_domains, held_out))
    watched = Watched([])
    fold = Fold("rows", known, known[:0], held_out, np.zeros(len(held_out)))
    predictor = learn(Candidate("raw", watched, self_trained=True), represented, fold, 0)
    return predictor, watched.told, represented


def test_every_stage_adds_rows_with_labels_of_its_own(line, line_geometry):
    predictor, told, represented = train(line, line_geometry, [])
    sizes = [len(features) for features, _, _ in told]
    assert sizes == sorted(sizes)
    assert sizes[-1] == line.n_rows
    assert all((labels >= 0).all() for _, labels, _ in told), "no placeholder is learned"
    accuracy = predictor.predict(represented.rows.features).argmax(axis=1) == (
        line.inputs[:, 1] > 0
    )
    assert accuracy[~line.row_is_source].mean() > 0.9


def test_labels_that_are_held_out_are_never_read(line, line_geometry):
    labels = np.array(line.labels)
    labels[line.row_domains == 4] = 1 - labels[line.row_domains == 4]
    other = replace(line, labels=labels)
    (first, _, rows), (second, _, _) = (train(data, line_geometry, [4]) for data in (line, other))
    np.testing.assert_array_equal(
        first.predict(rows.rows.features), second.predict(rows.rows.features)
    )


def test_own_labels_count_as_much_as_a_known_row_on_average(line, line_geometry):
    weighted = replace(line, weights=np.linspace(0.5, 1.5, line.n_rows))
    _, told, _ = train(weighted, line_geometry, [])
    _, _, last = told[-1]
    assert len(last) == line.n_rows
    assert last.mean() == pytest.approx(weighted.weights[line.row_is_source].mean())
