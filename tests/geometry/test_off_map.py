"""The flag for domains off the map: rare in the family, certain outside it, and never by size."""

import json

import numpy as np
import pytest

from domindex.datasets import make_domain_graph
from domindex.geometry.off_map import OffMapTest, Views, alarm_threshold
from domindex.geometry.settings import OFF_MAP
from domindex.persistence.codec import decode, encode

N_KNOWN = 50


def along_a_curve(n_domains, n_rows=60, n_features=5, seed=0):
    """Clouds at random places of a curve in two of the features; the rest is noise."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0.0, 3.0, n_domains)
    centres = np.zeros((n_domains, n_features))
    centres[:, 0], centres[:, 1] = 3.0 * np.cos(places), 3.0 * np.sin(places)
    return [centre + rng.normal(size=(n_rows, n_features)) for centre in centres]


def fitted(clouds):
    return OffMapTest.fit(range(len(clouds)), clouds, np.eye(clouds[0].shape[1])[:, :2])


@pytest.fixture(scope="module")
def curve():
    return fitted(along_a_curve(N_KNOWN))


def test_few_domains_of_the_family_are_flagged(curve):
    new = along_a_curve(300, seed=1)
    assert (curve.ratios(new) > 1).mean() < 3 * OFF_MAP.false_alarms


def test_a_domain_that_differs_where_known_ones_do_not_is_flagged(curve):
    """The curve lies in two features; the local index would never see a third."""
    strangers = along_a_curve(20, seed=2)
    for cloud in strangers:
        cloud[:, 4] += 1.0
    assert (curve.ratios(strangers) > 1).all()


def test_a_domain_far_out_along_the_curve_is_flagged(curve):
    far = [np.array([-20.0, 0, 0, 0, 0]) + cloud for cloud in along_a_curve(5, seed=3)]
    assert (curve.ratios(far) > 1).all()


def test_a_domain_with_the_right_moments_and_another_shape_is_flagged():
    dataset = make_domain_graph(n_domains=40, random_state=0)
    clouds = [dataset.X[dataset.sample_domain == name] for name in dataset.domains]
    rng = np.random.default_rng(0)
    normal = [
        cloud.mean(axis=0) + rng.normal(size=cloud.shape) @ np.linalg.cholesky(np.cov(cloud.T)).T
        for cloud in clouds[:20]
    ]
    assert (fitted(clouds).ratios(normal) > 1).mean() > 0.95


@pytest.mark.parametrize("n_rows", [1, 2, 7, 30, 500])
def test_the_number_of_rows_alone_flags_nobody(curve, n_rows):
    new = along_a_curve(150, n_rows=n_rows, seed=4)
    assert (curve.ratios(new) > 1).mean() < 3 * OFF_MAP.false_alarms


def test_a_known_domain_is_held_against_the_others(curve):
    known = along_a_curve(N_KNOWN)
    as_new = curve.ratios(known)
    left_out = curve.ratios(known, range(N_KNOWN))
    assert (left_out > as_new).all()
    assert (left_out > 1).mean() <= 2 * OFF_MAP.false_alarms


def test_each_domain_is_judged_alone(curve):
    new = along_a_curve(5, n_rows=1500, seed=5)
    alone = np.concatenate([curve.ratios([cloud]) for cloud in new])
    np.testing.assert_allclose(curve.ratios(new), alone, rtol=1e-12)


def test_many_features_are_seen_also_outside_their_principal_components():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(60, 3)))[0]

    def rows(place):
        return (rng.normal(size=(40, 3)) + [3.0 * place, 0, 0]) @ basis.T * 5.0

    test = fitted([rows(place) for place in np.linspace(0, 5, 30)])
    assert test.views.basis.shape == (60, 32)
    noisy = rows(2.2) + rng.normal(size=(40, 60))
    assert test.ratios([noisy]).item() > 10.0
    assert (test.ratios([rows(place) for place in np.linspace(0.1, 4.9, 20)]) > 1).mean() < 0.2


@pytest.mark.parametrize("n_domains", [1, 2, OFF_MAP.min_domains - 1])
def test_too_few_domains_say_nothing(n_domains):
    test = fitted(along_a_curve(n_domains))
    assert np.isnan(test.ratios(along_a_curve(2, seed=1))).all()


def test_identical_and_constant_domains_are_one_family():
    cloud = along_a_curve(1)[0]
    same = fitted([cloud] * 8)
    assert (same.ratios([cloud, cloud + 1.0]) > 1).tolist() == [False, True]
    constant = fitted([np.zeros((5, 3))] * 8)
    assert (constant.ratios([np.zeros((5, 3)), np.ones((5, 3))]) > 1).tolist() == [False, True]


def test_thresholds_are_the_conformal_rank_and_a_prediction_bound_below_it():
    values = np.arange(1.0, 41.0)
    assert alarm_threshold(values) == 39.0
    few = np.exp(np.random.default_rng(0).normal(size=(1500, 8)))
    beyond = [one[-1] > alarm_threshold(one[:-1]) for one in few]
    assert 0.02 < np.mean(beyond) < 0.07
    assert alarm_threshold(np.zeros(5)) > 0.0


def test_it_comes_back_from_its_state(curve):
    tree, arrays = encode(curve.state())
    twin = OffMapTest.from_state(decode(json.loads(json.dumps(tree)), arrays))
    new = along_a_curve(3, seed=6)
    np.testing.assert_array_equal(twin.ratios(new), curve.ratios(new))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"signatures": np.zeros((3, 2, 16))}, "signatures do not fit"),
        ({"thresholds": np.zeros(7)}, "thresholds of the flag"),
        ({"spreads": np.zeros((1, 1))}, "spreads of the residuals"),
    ],
)
def test_a_damaged_state_is_refused(curve, part, message):
    with pytest.raises(ValueError, match=message):
        OffMapTest.from_state(curve.state() | part)


def test_views_do_not_depend_on_the_unit_of_the_local_index():
    clouds, local = along_a_curve(6), np.eye(5)[:, :2]
    first, second = (Views.fit(clouds, factor * local).directions for factor in (1.0, 1e-3))
    np.testing.assert_allclose(first, second)


def test_what_lies_outside_the_components_is_measured_from_the_middle():
    rng = np.random.default_rng(0)
    clouds, local = [rng.normal(size=(30, 60)) for _ in range(5)], np.eye(60)[:, :2]
    here = Views.fit(clouds, local)
    there = Views.fit([cloud + 50.0 for cloud in clouds], local)
    assert here.basis.shape[1]
    assert there.unit == pytest.approx(here.unit)
