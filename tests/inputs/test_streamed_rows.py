"""Estimators on tables that are read in parts: columns by name, the same model as ever."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from domindex import Training, VDIClassifier
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex.inputs.stream_summary import sample_rows

SHORT = {
    "candidates": [("raw", "linear")],
    "training": Training(index_steps=5, steps=5),
    "random_state": 0,
}


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=6, n_sources=3, samples_per_domain=30, random_state=0)


@pytest.fixture(scope="module")
def frame(family):
    inputs = pd.DataFrame(family.X, columns=["a", "b"])
    return inputs.assign(site=family.sample_domain, y=family.y)


def test_a_model_is_the_same_from_any_kind_of_table(family, frame):
    how = {"sample_domain": "site", "source_domains": family.source_domains}
    hidden = frame["y"].mask(~np.isin(frame["site"], family.source_domains), 1 - frame["y"])
    tables = [
        ds.dataset(pa.Table.from_pandas(frame)),
        pl.from_pandas(frame.assign(y=hidden).sample(frac=1.0, random_state=0)).lazy(),
    ]
    first, second = (VDIClassifier(**SHORT).fit(table, "y", **how) for table in tables)
    query = {"sample_domain": frame["site"]}
    inputs = frame[["a", "b"]]
    assert first.domains_ == list(range(6))
    assert first.classes_.tolist() == [0, 1]
    assert first.classes_.dtype.kind == "i"
    assert list(first.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(
        first.predict_proba(inputs, **query), second.predict_proba(inputs, **query)
    )


def test_domains_are_sources_by_their_sign_where_none_are_named(frame):
    signed = frame.assign(site=np.where(frame["site"] < 3, frame["site"], -frame["site"]))
    rows = sample_rows(pl.from_pandas(signed).lazy(), "y", "site", None, seed=0)
    assert set(rows.domains) == {0, 1, 2, -3, -4, -5}
    assert len(rows.labels) == len(rows.inputs) == len(frame)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, ("Y", "site"), "no column 'Y' in the lazy frame.*Did you mean 'y'"),
        ({}, (np.ones(3), "site"), "must name its columns, but a ndarray was given"),
        ({}, ("y", None), "must name its columns, but a NoneType was given"),
        ({"a": "text"}, ("y", "site"), "Columns 'a' of the lazy frame are no numbers"),
        ({"a": np.inf}, ("y", "site"), r"infinity in 'a \(180\)'"),
    ],
)
def test_what_cannot_be_used_is_explained(frame, change, arguments, message):
    with pytest.raises(InputError, match=message):
        sample_rows(pl.from_pandas(frame.assign(**change)).lazy(), *arguments, None, seed=0)


def test_weights_and_lazy_queries_are_refused(family, frame):
    lazy = pl.from_pandas(frame).lazy()
    model = VDIClassifier(**SHORT)
    with pytest.raises(InputError, match="sample_weight is given, and X is read in parts"):
        model.fit(lazy, "y", sample_domain="site", source_domains=[0], sample_weight=[1.0])
    model.fit(family.X, family.y, sample_domain=family.sample_domain, source_domains=[0, 1, 2])
    with pytest.raises(InputError, match="X is a LazyFrame, which is read in parts"):
        model.predict(lazy)
