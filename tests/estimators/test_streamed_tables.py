"""Estimators on tables that are read in parts: columns by name, the same model as ever."""

import gc
import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from sklearn.linear_model import LogisticRegression

from domindex import CrossDomainClassifier, MomentFlow, Training
from domindex.baselines import PlainBaseline
from domindex.datasets import make_circle
from domindex.errors import InputError, NoDomainWarning
from domindex.estimators.frames import FitArguments
from domindex.estimators.streaming import sample_table
from domindex.inputs import sampling
from domindex.inputs.sampling import Limits

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
    first, second = (CrossDomainClassifier(**SHORT).fit(table, "y", **how) for table in tables)
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
    rows = sample_table(FitArguments(pl.from_pandas(signed).lazy(), "y", "site", None, None), 0)
    assert set(rows.sample_domain) == {0, 1, 2, -3, -4, -5}
    assert len(rows.y) == len(rows.X) == len(frame)


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
    lazy = pl.from_pandas(frame.assign(**change)).lazy()
    with pytest.raises(InputError, match=message):
        sample_table(FitArguments(lazy, *arguments, None, None), seed=0)


def test_weights_and_lazy_queries_are_refused(family, frame):
    lazy = pl.from_pandas(frame).lazy()
    model = CrossDomainClassifier(**SHORT)
    with pytest.raises(InputError, match="sample_weight is given, and X is read in parts"):
        model.fit(lazy, "y", sample_domain="site", source_domains=[0], sample_weight=[1.0])
    model.fit(family.X, family.y, sample_domain=family.sample_domain, source_domains=[0, 1, 2])
    with pytest.raises(InputError, match="X is a LazyFrame, which is read in parts"):
        model.predict(lazy)


@pytest.fixture(scope="module")
def model(family, frame):
    table = ds.dataset(pa.Table.from_pandas(frame))
    how = {"sample_domain": "site", "source_domains": family.source_domains}
    return CrossDomainClassifier(**SHORT).fit(table, "y", **how)


def held_in_any_way(frame):
    """The same rows as everything that is read in parts."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return [
        ds.dataset(table),
        pl.from_pandas(frame).lazy(),
        pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3, sort=False),
        table.to_reader(max_chunksize=50),
    ]


def test_whatever_can_be_fitted_can_be_predicted(frame, model, monkeypatch):
    expected = model.predict_proba(frame[["a", "b"]], sample_domain=frame["site"])
    monkeypatch.setattr(sampling, "LIMITS", Limits(part_rows=17))
    sizes, predict = [], CrossDomainClassifier._predict_mean
    monkeypatch.setattr(
        CrossDomainClassifier,
        "_predict_mean",
        lambda self, inputs, names: sizes.append(len(inputs)) or predict(self, inputs, names),
    )
    for table in held_in_any_way(frame):
        np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-10)
    assert max(sizes) <= 17
    names = model.place_domains(pl.from_pandas(frame).lazy(), sample_domain="site")["domain"]
    assert list(names) == model.domains_
    assert model.transform(pl.from_pandas(frame).lazy()).shape[0] == len(frame)


@pytest.mark.parametrize("kind", [CrossDomainClassifier, MomentFlow, PlainBaseline])
def test_new_domains_of_a_table_are_measured_once(frame, kind, monkeypatch):
    how = {"sample_domain": "site", "source_domains": [0, 1, 2]}
    settings = {"estimator": LogisticRegression()} if kind is not CrossDomainClassifier else SHORT
    model = kind(**settings).fit(ds.dataset(pa.Table.from_pandas(frame)), "y", **how)
    new = frame.assign(site=frame["site"] + 100)
    expected = model.predict_proba(new[["a", "b"]], sample_domain=new["site"])
    monkeypatch.setattr(sampling, "LIMITS", Limits(part_rows=17))
    for table in held_in_any_way(new):
        told = model.predict_proba(table, sample_domain="site")
        np.testing.assert_allclose(told, expected, rtol=1e-6)


def test_rows_without_a_domain_are_one_new_domain(frame, model, monkeypatch):
    inputs = frame[["a", "b"]]
    with pytest.warns(NoDomainWarning):
        expected = model.predict_proba(inputs)
    monkeypatch.setattr(sampling, "LIMITS", Limits(part_rows=50))
    with pytest.warns(NoDomainWarning):
        told = model.predict_proba(pl.from_pandas(inputs).lazy())
    assert np.abs(told - expected).mean() < 0.05


def test_a_reader_is_fitted_though_it_can_be_read_once_only(
    family, frame, model, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    how = {"sample_domain": "site", "source_domains": family.source_domains}
    reader = pa.Table.from_pandas(frame).to_reader()
    fitted = CrossDomainClassifier(**SHORT).fit(reader, "y", **how)
    np.testing.assert_array_equal(fitted.domain_indices_, model.domain_indices_)
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_query_without_a_column_of_the_fit_is_refused(frame, model):
    with pytest.raises(InputError, match="no column 'b' in the lazy frame"):
        model.predict(pl.from_pandas(frame.drop(columns="b")).lazy())
    with pytest.raises(InputError, match="must name its columns, but a list was given"):
        model.predict(pl.from_pandas(frame).lazy(), sample_domain=frame["site"].tolist())
