"""The audit of stand-ins whose index is right or wrong on purpose, and of a real fit."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from domindex import CrossDomainClassifier, Training
from domindex.datasets import make_domain_graph
from domindex.errors import InputError
from domindex.evaluation import IndexAudit, audit_index

DOMAINS = list("abcdef")
SOURCES = ["a", "b"]
PER_DOMAIN = 60


def rows_of(names, seed=0):
    """Inputs (signal, place): the label is in the signal, the domain in the place."""
    rng = np.random.default_rng(seed)
    place = np.array([DOMAINS.index(name) for name in names], dtype=float)
    signal = rng.normal(size=len(names))
    return np.column_stack([signal, place + 0.3 * rng.normal(size=len(names))])


NAMES = np.repeat(DOMAINS, PER_DOMAIN)
INPUTS = rows_of(NAMES)
CLASSES = np.where(INPUTS[:, 0] > 0, "up", "down")
OUTPUTS = np.column_stack([INPUTS[:, 0], INPUTS[:, 0] ** 2])


def placed(places):
    """Coordinates by name as a table."""
    axes = np.stack(list(places.values())).T
    table = {"domain": list(places), **{f"index_{n}": a for n, a in enumerate(axes, start=1)}}
    return pd.DataFrame(table)


class StandIn(BaseEstimator):
    """A fitted model by rule: u is x, β the mean place, z the signal."""

    source_domains_ = SOURCES

    def transform(self, X):
        return X

    def encode(self, X, *, sample_domain):
        return X[:, :1]

    def place_domains(self, X, *, sample_domain):
        names = np.asarray(sample_domain)
        places = {name: X[names == name, 1:].mean(axis=0) for name in np.unique(names).tolist()}
        return placed(places)


class Honest(ClassifierMixin, StandIn):
    pass


class HonestRegressor(RegressorMixin, StandIn):
    pass


class Leaking(Honest):
    def encode(self, X, *, sample_domain):
        return X


class Deaf(Honest):
    def encode(self, X, *, sample_domain):
        return np.random.default_rng(1).normal(size=(len(X), 1))


class DeafRegressor(HonestRegressor):
    encode = Deaf.encode


class Forgetful(Honest):
    def transform(self, X):
        return np.zeros((len(X), 1))


class Flat(Honest):
    def place_domains(self, X, *, sample_domain):
        return placed({name: np.zeros(1) for name in np.unique(sample_domain).tolist()})


@pytest.fixture(scope="module")
def honest() -> IndexAudit:
    return audit_index(Honest(), INPUTS, CLASSES, NAMES)


@pytest.fixture(scope="module")
def leaking() -> IndexAudit:
    return audit_index(Leaking(), INPUTS, CLASSES, NAMES)


def test_an_index_that_is_one_by_construction_passes(honest):
    assert honest.holds
    assert honest.leak < 0.02
    assert honest.domain_from_inputs.accuracy > 0.8
    assert honest.index_from_inputs.r2 > 0.9
    assert honest.inputs_from_latents.r2 > 0.99
    assert honest.labels_from_encoding.accuracy > 0.95
    assert (honest.n_rows, honest.n_domains, honest.n_source_rows) == (360, 6, 120)


def verdicts(audit):
    return audit.independent, audit.preserves_inputs, audit.label_sensitive


def test_an_encoding_that_is_the_input_itself_leaks_all_of_the_domain(leaking):
    assert verdicts(leaking) == (False, True, True)
    assert leaking.leak > 0.95
    assert not leaking.holds


def test_an_encoding_of_noise_knows_no_label():
    audit = audit_index(Deaf(), INPUTS, CLASSES, NAMES)
    assert verdicts(audit) == (True, True, False)
    assert audit.labels_kept < 0.1


@pytest.mark.full
def test_without_local_indices_what_moves_within_a_domain_is_lost_beside_the_signal():
    audit = audit_index(Forgetful(), INPUTS, CLASSES, NAMES)
    spread = 0.3**2 / INPUTS[:, 1].var()
    assert audit.inputs_from_latents.r2 == pytest.approx(1 - spread / 2, abs=0.01)
    noisy = INPUTS + [0.0, 3.0] * np.random.default_rng(2).normal(size=INPUTS.shape)
    assert not audit_index(Forgetful(), noisy, CLASSES, NAMES).preserves_inputs


@pytest.mark.slow
def test_a_regressor_is_audited_alike():
    audit = audit_index(HonestRegressor(), INPUTS, OUTPUTS, NAMES)
    assert audit.holds
    assert audit.labels_from_encoding.r2 > 0.98
    deaf = audit_index(DeafRegressor(), INPUTS, 1000 * OUTPUTS[:, 0], NAMES)
    assert not deaf.label_sensitive
    assert deaf.labels_from_encoding.r2 < 0.02


def test_an_index_that_is_the_same_everywhere_tells_nothing():
    audit = audit_index(Flat(), INPUTS, CLASSES, NAMES)
    assert audit.index_from_inputs.information == 0.0
    assert audit.domain_from_inputs.information > 1.0


def test_target_labels_and_the_order_in_memory_change_nothing_and_nothing_is_written_to(honest):
    inputs, names = np.asfortranarray(INPUTS), NAMES.copy()
    labels = np.where(np.isin(NAMES, SOURCES), CLASSES.astype(object), None)
    before = labels.copy()
    for array in (inputs, names, labels):
        array.setflags(write=False)
    assert audit_index(Honest(), inputs, labels, names) == honest
    np.testing.assert_array_equal(labels, before)


def test_conditions_are_verdicts_by_name(leaking):
    names = ["independent", "preserves_inputs", "label_sensitive"]
    assert leaking.conditions == dict(zip(names, verdicts(leaking)))
    assert leaking.leak > leaking.max_leak
    assert min(leaking.inputs_kept, leaking.labels_kept) >= leaking.min_kept


def test_it_is_printed_as_facts(leaking):
    assert repr(leaking).startswith(
        "IndexAudit(independent=False, preserves_inputs=True, label_sensitive=True, leak="
    )
    assert repr(leaking).endswith("n_rows=360, n_domains=6)")


def test_its_figures_survive_json(honest):
    figures = json.loads(json.dumps(honest.to_dict()))
    assert figures["holds"] is True
    assert figures["domain_from_encoding"]["accuracy"] == honest.domain_from_encoding.accuracy
    assert figures["leak"] == honest.leak


def test_small_domains_and_rare_classes_are_left_out():
    few = [*NAMES, "c", *["f"] * 3]
    names = ["tiny" if row >= len(NAMES) else name for row, name in enumerate(few)]
    inputs = np.vstack([INPUTS, rows_of(few[len(NAMES) :], seed=5)])
    labels = np.concatenate([CLASSES, ["up"] * 4])
    labels[:3] = "rare"
    audit = audit_index(Honest(), inputs, labels, names)
    assert (audit.n_domains, audit.n_source_rows) == (6, 117)


def test_of_large_data_a_part_is_read_and_small_domains_give_all_they_have():
    names = ["a"] * 400 + ["b"] * 400 + ["c"] * 20
    inputs = rows_of(names)
    audit = audit_index(Honest(), inputs, inputs[:, 0] > 0, names, max_rows=300)
    assert (audit.n_rows, audit.n_domains, audit.n_source_rows) == (300, 3, 300)
    assert audit.domain_from_inputs.chance == 140 / 300


def test_of_many_domains_some_are_read():
    audit = audit_index(Honest(), INPUTS, CLASSES, NAMES, max_domains=4)
    assert (audit.n_rows, audit.n_domains, audit.n_source_rows) == (240, 4, 120)


@pytest.mark.full
def test_a_fitted_classifier_is_audited_with_a_domain_it_never_saw():
    family = make_domain_graph(n_domains=10, samples_per_domain=40, random_state=1)
    unseen = family.target_domains[0]
    seen = family.sample_domain != unseen
    model = CrossDomainClassifier(
        predictor="network",
        effort="quick",
        training=Training(index_steps=20, steps=60),
        random_state=0,
    ).fit(
        family.X[seen],
        family.y[seen],
        sample_domain=family.sample_domain[seen],
        source_domains=family.source_domains,
    )
    audit = audit_index(model, family.X, family.y, family.sample_domain)
    assert unseen not in model.domains_
    assert audit.n_domains == 10
    assert audit.domain_from_encoding.information < audit.domain_from_inputs.information / 2
    assert audit.preserves_inputs
    assert audit.label_sensitive


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": object()}, "lacks 'encode', 'transform', 'place_domains'"),
        (
            {"model": CrossDomainClassifier},
            "is the class CrossDomainClassifier. Pass a fitted object",
        ),
        ({"model": StandIn()}, "neither classifier nor regressor"),
        ({"model": CrossDomainClassifier()}, "CrossDomainClassifier is not fitted. Call fit"),
        ({"y": CLASSES[:-1]}, "y has 359 entries, but X has 360 rows"),
        ({"y": np.full(360, None)}, "y is missing in 120 rows of source domains"),
        ({"y": np.full(360, "up")}, "only one class, 'up'"),
        ({"y": np.array(["up"] * 357 + ["down"] * 3)[::-1]}, "117 have a class that 6 rows share"),
        ({"sample_domain": NAMES[:-1]}, "359 entries, but X has 360 rows"),
        ({"sample_domain": ["z"] * 360}, "none of the model's source domains"),
        ({"sample_domain": ["a"] * 360}, "has 1 domains of 6 rows or more"),
        ({"X": np.full_like(INPUTS, np.nan)}, "X contains NaN"),
        ({"random_state": "chance"}, "random_state is 'chance'"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_a_reason(change, message):
    arguments = {"model": Honest(), "X": INPUTS, "y": CLASSES, "sample_domain": NAMES} | change
    with pytest.raises(InputError, match=message):
        audit_index(**arguments)
