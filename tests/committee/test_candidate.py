"""Tests of what is tried: which learners know what their features are."""

from domindex.committee.candidates import list_candidates
from domindex.committee.learners.estimators import BoostedLinearLearner, LinearLearner
from domindex.geometry.domain_geometry import DomainGeometry


def listed(data, settings, **asked):
    geometry = DomainGeometry.fit(data, 2)
    chosen = {"requested": None, "representation": "auto", "predictor": "auto"} | asked
    return list_candidates(**chosen, data=data, geometry=geometry, settings=settings)


def test_linear_rules_beside_the_map_are_told_which_features_are_a_place(
    values_on_a_line, settings
):
    rules = [
        (one.representation, rule.together)
        for one in listed(values_on_a_line, settings)
        for rule in (one.learner, getattr(one.learner, "linear", None))
        if isinstance(rule, LinearLearner)
    ]
    assert {together for name, together in rules if name == "with_index"} == {2}
    assert {together for name, together in rules if name != "with_index"} == {0}
    kinds = {type(one.learner) for one in listed(values_on_a_line, settings)}
    assert BoostedLinearLearner in kinds


def test_asked_for_by_name_they_are_told_too(line, settings):
    asked = listed(line, settings, requested=[("with_index", "linear"), ("raw", "linear")])
    assert {(one.representation, one.learner.together) for one in asked} == {
        ("with_index", 2),
        ("raw", 0),
    }
