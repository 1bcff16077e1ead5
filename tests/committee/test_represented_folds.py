"""What a representation knows of a domain that is held out."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee.folds import RepresentedFolds, plan_folds
from domindex.committee.settings import ChoiceSettings
from domindex.geometry.neighbors import PointDistances
from domindex.representations import representation_named
from domindex.representations.normalised import Coral, DomainStandardised


@pytest.fixture(scope="module")
def folds(line, line_geometry):
    places = line_geometry.domain_map.coordinates
    return plan_folds(line, PointDistances(places), None, ChoiceSettings(), 0)


def represented(kind, line, line_geometry, is_cut=False):
    return RepresentedFolds.fit(kind, line, line_geometry, is_cut)


@pytest.mark.parametrize("name", ["raw", "with_index", "domain_standardised", "coral", "flow"])
def test_rows_come_in_the_order_of_the_fold(line, line_geometry, folds, name):
    whole = represented(representation_named(name), line, line_geometry)
    for fold in folds:
        train, held_out = whole.of(fold)
        assert len(train.features) == len(fold.train)
        assert len(held_out.features) == len(fold.held_out)
        if not whole.representation.uses_roles:
            np.testing.assert_array_equal(train.features, whole.rows.features[fold.train])
            np.testing.assert_array_equal(held_out.features, whole.rows.features[fold.held_out])


def test_coral_takes_the_held_out_domain_for_the_target(line, line_geometry, folds):
    whole = represented(Coral, line, line_geometry)
    fold = next(one for one in folds if one.kind == "far")
    train, held_out = whole.of(fold)
    plain = line_geometry.scaler.apply_flat(line.inputs)
    np.testing.assert_allclose(held_out.features, plain[fold.held_out])
    np.testing.assert_allclose(train.features.mean(axis=0), held_out.features.mean(axis=0))
    assert not np.allclose(train.features.mean(axis=0), plain[fold.train].mean(axis=0))


def test_a_fold_fits_coral_without_the_held_out_labels(line, line_geometry, folds, monkeypatch):
    whole, seen = represented(Coral, line, line_geometry), []
    fit = Coral.fit.__func__

    def watch(cls, data, geometry):
        seen.append(data)
        return fit(cls, data, geometry)

    monkeypatch.setattr(Coral, "fit", classmethod(watch))
    fold = folds[0]
    whole.of(fold)
    (data,) = seen
    names = {line.domains[k] for k in fold.domains}
    assert set(data.target_domains) == names
    assert (data.labels[~data.row_is_source] == -1).all()
    assert not set(data.domains) & {"d5", "d6", "d7"}, "targets have no part in a fold"


def test_a_cut_domain_is_measured_by_its_cut_rows_alone(line, line_geometry):
    cut = [np.arange(6)] * 5 + [np.arange(20)] * 3
    places = line_geometry.domain_map.coordinates
    fold = plan_folds(line, PointDistances(places), cut, ChoiceSettings(), 0)[0]
    whole = represented(DomainStandardised, line, line_geometry, is_cut=True)
    _, held_out = whole.of(fold)
    of_first = line.row_domains[fold.held_out] == fold.domains[0]
    assert of_first.sum() == 6
    np.testing.assert_allclose(held_out.features[of_first].mean(axis=0), 0.0, atol=1e-9)
    known = whole.rows.features[fold.held_out][of_first]
    assert not np.allclose(known.mean(axis=0), 0.0, atol=1e-3)


def test_a_cut_domain_keeps_its_place_on_the_map(line, line_geometry, folds):
    whole = represented(DomainStandardised, line, line_geometry, is_cut=True)
    fold = folds[0]
    for domain, number in zip(whole.placed(fold.held_out, as_new=True).domains, fold.domains):
        assert domain.name not in line.domains
        np.testing.assert_array_equal(domain.place, line_geometry.domain_map.coordinates[number])


def test_weights_are_balanced_once_for_a_fold_and_anew_for_another(line, line_geometry, folds):
    whole = represented(representation_named("raw"), line, line_geometry)
    first, second = folds[0], folds[1]
    found = [whole.balancing(fold) for fold in (first, second, first)]
    assert found[0] is found[2]
    assert not np.array_equal(found[0], found[1])
    # Two far folds may learn from the same domain, for different ones.
    other = whole.balancing(replace(second, train=first.train))
    assert not np.array_equal(found[0], other)
