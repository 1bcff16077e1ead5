"""Programs say what the committee says, whatever its members are."""

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.committee.committee import Committee, LabelShift, PredictorMember
from domindex.committee.learners.estimators import EstimatorLearner, learner_for
from domindex.export.onnx_files import _After
from domindex.export.program import ask, build_program, known_places
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data
from domindex.representations import representation_named

SHORT = Training(steps=4, index_steps=4, batch_size=8)
SOURCES = ["site 0", "site 1", "site 2"]
REPRESENTATIONS = (
    "raw",
    "with_index",
    "with_means",
    "without_constants",
    "row_centred",
    "row_standardised",
    "domain_scaled",
    "domain_centred",
    "domain_standardised",
    "domain_whitened",
    "coral",
    "flow",
)


class World:
    """Six domains that shift and widen along a line: rows, a fitted map and a fitted committee."""

    def __init__(self, is_class):
        rng = np.random.default_rng(0)
        numbers = rng.permutation(np.repeat(np.arange(6), 25))
        self.X = rng.normal(size=(150, 4)) * 3 + 20
        self.X[:, 0] += 6 * numbers
        self.names = [f"site {number}" for number in numbers]
        y = np.digitize(self.X[:, 1], [19, 22]) if is_class else self.X[:, 1:3] + rng.normal()
        kind = CrossDomainClassifier if is_class else CrossDomainRegressor
        self.model = kind(predictor="linear", representation="raw", training=SHORT, random_state=0)
        self.model.fit(self.X, y, sample_domain=self.names, source_domains=SOURCES)
        task = "classification" if is_class else "regression"
        self.data = check_domain_data(self.X, y, self.names, SOURCES, task=task)
        self.geometry = DomainGeometry.fit(self.data, 2)
        self.n_classes = 3 if is_class else None

    @property
    def indices(self):
        return self.model._indices

    @property
    def rows(self):
        return self.indices.placed(self.X, self.names)

    def member(self, representation, learner):
        known = representation_named(representation).fit(self.data, self.geometry)
        represented = known.apply(self.rows).part(self.data.row_is_source)
        labels = self.data.labels[self.data.row_is_source]
        if self.n_classes is None:
            labels = represented.normalize(labels)
        predictor = learner.fit(represented.features, labels, self.n_classes, 0)
        return PredictorMember(known, predictor, self.n_classes is not None)

    def committee(self, *members):
        share = np.full(len(members), 1 / len(members))
        temperatures = np.linspace(1.0, 2.0, len(members))
        return replace(
            self.model._committee, members=members, weights=share, temperatures=temperatures
        )

    def outputs(self, committee):
        """By the program, and by the committee itself."""
        program = build_program(committee, self.indices, None)
        numbers = [known.index(name) for known in [self.model.domains_] for name in self.names]
        given = program.before(torch.tensor(self.X), torch.tensor(numbers))
        context = given[: len(given) - len(program.estimators)]
        answers = ask(program.estimators, given[len(context) :])
        said = program.after(*context, *answers)
        expected = committee.predict(self.rows, self.indices)
        wanted = [expected.mean, expected.deviation][: len(said)]
        return [one.numpy() for one in said], wanted

    def require_same(self, committee):
        for one, other in zip(*self.outputs(committee), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module", params=[True, False], ids=["classes", "values"])
def world(request):
    return made(request.param)


@cache
def made(is_class):
    """Fitted once."""
    return World(is_class)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_every_representation_of_a_table(world, representation):
    learner = learner_for("linear", world.data.task)
    world.require_same(world.committee(world.member(representation, learner)))


@pytest.mark.parametrize("predictor", ["linear", "kernel", "trees", "boosting"])
def test_every_predictor_of_a_table(world, predictor):
    learner = learner_for(predictor, world.data.task)
    world.require_same(world.committee(world.member("raw", learner)))


def test_a_linear_rule_with_boosting_of_what_it_leaves_over():
    world = World(is_class=False)
    learner = learner_for("boosted_linear", world.data.task)
    world.require_same(world.committee(world.member("raw", learner)))


def test_estimators_of_the_users_that_have_a_form(world):
    kind = RandomForestRegressor if world.n_classes is None else RandomForestClassifier
    members = [world.member("raw", EstimatorLearner("mine", kind(n_estimators=5)))]
    if world.n_classes is None:
        members.append(world.member("flow", EstimatorLearner("line", LinearRegression())))
    world.require_same(world.committee(*members))


def test_two_classes_and_a_class_that_was_not_there():
    world = copy(made(True))
    boosting = learner_for("boosting", "classification")
    two = world.data.labels > 0
    world.data = replace(world.data, labels=np.where(two, 2, 0))
    for learner in (boosting, learner_for("kernel", "classification")):
        member = world.member("raw", learner)
        assert len(member.predictor.present) == 2
        world.require_same(world.committee(member))


@pytest.mark.parametrize("labels", [[0, 2, 2], [0, 0, 2], [1, 1, 1]], ids=str)
def test_raw_answers_of_estimators_become_probabilities_of_all_classes(labels):
    """As ONNX joins them: one class may not have been there, and one may have been alone."""
    world = copy(made(True))
    world.data = replace(world.data, labels=np.array(labels)[world.data.labels])
    committee = world.committee(world.member("raw", learner_for("trees", "classification")))
    program = build_program(committee, world.indices, None)
    numbers = torch.tensor([world.model.domains_.index(name) for name in world.names])
    *context, features = program.before(torch.tensor(world.X), numbers)
    (predictor,) = program.estimators
    raw = [torch.tensor(one.predict_proba(features.numpy())) for one in predictor.estimators]
    said = _After(program)(*context, *raw)[0].numpy()
    expected = committee.predict(world.rows, world.indices).mean
    np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12)


def test_members_are_weighed_and_tempered(world):
    linear, trees = (learner_for(name, world.data.task) for name in ("linear", "trees"))
    members = [world.member("raw", linear), world.member("row_standardised", trees)]
    committee = replace(world.committee(*members), weights=np.array([0.8, 0.2]))
    world.require_same(committee)
    alone = world.outputs(world.committee(members[0]))[0][0]
    assert not np.allclose(alone, world.outputs(committee)[0][0])


def test_shares_of_classes_are_those_of_the_target():
    world = made(True)
    member = world.member("raw", learner_for("linear", "classification"))
    sources = np.full(3, 1 / 3)
    targets = {f"site {k}": np.array([0.6, 0.3, 0.1]) for k in (3, 4, 5)}
    committee = replace(world.committee(member), label_shift=LabelShift(sources, targets))
    one, other = (parts[0] for parts in world.outputs(committee))
    in_target = np.array([name in targets for name in world.names])
    np.testing.assert_allclose(one[in_target], other[in_target], rtol=1e-9)
    plain = world.outputs(world.committee(member))[0][0]
    np.testing.assert_allclose(one[~in_target], plain[~in_target], rtol=1e-9)


@pytest.mark.parametrize("representation", ["flow", "raw"])
def test_the_variational_network(world, representation):
    model = type(world.model)(
        candidates=[(representation, "network")], training=SHORT, random_state=0
    )
    model.fit(world.X, world.data.labels, sample_domain=world.names, source_domains=SOURCES)
    indices, committee = model._indices, model._committee
    program = build_program(committee, indices, None)
    numbers = torch.tensor([model.domains_.index(name) for name in world.names])
    said = program(torch.tensor(world.X), numbers)
    expected = committee.predict(indices.placed(world.X, world.names), indices)
    np.testing.assert_allclose(said[0].numpy(), expected.mean, rtol=1e-9, atol=1e-12)


def test_a_program_shares_nothing_with_the_model(world):
    committee: Committee = world.model._committee
    program = build_program(committee, world.indices, None)
    held = {id(part) for part in program.buffers()} | {id(part) for part in program.parameters()}
    theirs = world.indices.module
    assert not held & {id(part) for part in theirs.parameters()}
    assert all(part.requires_grad is False for part in program.parameters())


def test_domains_that_were_added_have_numbers_too(world):
    rng = np.random.default_rng(1)
    new = rng.normal(size=(20, 4)) * 3 + 20
    grown = world.model.add_domains(new, sample_domain=["a new one"] * 20)
    places = known_places(grown._indices)
    assert [domain.name for domain in places.domains] == grown.domains_
    program = build_program(grown._committee, grown._indices, None)
    said = program(torch.tensor(new), torch.full((20,), len(grown.domains_) - 1))[0].numpy()
    rows = grown._indices.placed(new, ["a new one"] * 20)
    expected = grown._committee.predict(rows, grown._indices).mean
    np.testing.assert_allclose(said, expected, rtol=1e-9)
