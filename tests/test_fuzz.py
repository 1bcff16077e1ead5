"""Hostile values, drawn: finite numbers, or an error of our own. `domindex_bench` has more."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.errors import DomindexError
from domindex.inputs import check_domain_data

BOUNDED = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NAMES = np.repeat(["a", "b", "c"], 8)
X = np.random.default_rng(0).normal(size=(24, 3)) + np.repeat(np.arange(3.0), 8)[:, None]
QUICK = {
    "candidates": [("raw", "linear")],
    "training": Training(steps=1, index_steps=1),
    "random_state": 0,
}

numbers = st.floats(width=64) | st.sampled_from([1e20, 1e74, 1e76, 1e154, -1e308, 5e-324])
things = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    numbers,
    st.text(max_size=3),
    st.binary(max_size=2),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.integers(), st.integers(), max_size=1),
    st.complex_numbers(),
    st.datetimes(),
    st.integers(400, 420).map(lambda power: 10**power),
)


@pytest.fixture(scope="module")
def models():
    told = {"sample_domain": NAMES, "source_domains": ["a", "b"]}
    y = (X[:, 0] > X[:, 1]).astype(int)
    return {
        "classifier": CrossDomainClassifier(**QUICK).fit(X, y, **told),
        "regressor": CrossDomainRegressor(**QUICK).fit(X, X.sum(axis=1), **told),
        "flow": MomentFlow().fit(X, y, **told),
    }


def quietly(call):
    """The result, or None where the library refused with an error of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except DomindexError:
            return None


@BOUNDED
@given(
    which=st.sampled_from(["classifier", "regressor", "flow"]),
    cells=st.lists(
        st.tuples(st.integers(0, 23), st.integers(0, 2), numbers), min_size=1, max_size=4
    ),
    factor=st.sampled_from([1.0, 1.0, 1e-300, 1e15, 1e60]),
    names=st.sampled_from(["known", "new", "none"]),
)
def test_whatever_the_numbers_an_answer_is_finite_and_inputs_stay(
    models, which, cells, factor, names
):
    rows = X * factor
    for row, column, value in cells:
        rows[row, column] = value
    before = rows.tobytes()
    told = {"known": NAMES, "new": ["new"] * 24, "none": None}[names]
    method = {"classifier": "predict_proba", "regressor": "predict", "flow": "transform"}[which]
    found = quietly(lambda: getattr(models[which], method)(rows, sample_domain=told))
    assert found is None or np.isfinite(found).all()
    assert rows.tobytes() == before


@BOUNDED
@given(
    things_in_x=st.lists(st.tuples(st.integers(0, 23), st.integers(0, 2), things), max_size=2),
    things_in_y=st.lists(st.tuples(st.integers(0, 23), things), max_size=2),
    things_in_names=st.lists(st.tuples(st.integers(0, 23), things), max_size=2),
    sources=st.none() | things | st.lists(things, max_size=2) | st.just(["a", "b"]),
    task=st.sampled_from([None, "classification", "regression"]),
)
def test_the_gate_lets_through_what_is_finite_and_refuses_the_rest(
    things_in_x, things_in_y, things_in_names, sources, task
):
    inputs, names = X.astype(object), NAMES.astype(object)
    y = np.tile([0, 1], 12).astype(object)
    for row, column, value in things_in_x:
        inputs[row, column] = value
    for row, value in things_in_y:
        y[row] = value
    for row, value in things_in_names:
        names[row] = value
    data = quietly(lambda: check_domain_data(inputs, y, names, sources, task=task))
    if data is not None:
        assert np.isfinite(data.inputs).all()
        assert data.is_source.any()
        assert not data.is_source.all()
        if data.task == "regression":
            assert np.isfinite(data.labels[data.row_is_source]).all()
