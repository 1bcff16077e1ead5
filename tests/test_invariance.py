"""Order, names, units, memory and workers leave every prediction as it is."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from threadpoolctl import threadpool_limits

import domindex
from domindex import (
    CrossDomainClassifier,
    CrossDomainRegressor,
    DomainIndexer,
    MomentFlow,
    VDIClassifier,
)
from domindex.baselines import DANN
from domindex.inputs.canonical import canonical_order
from domindex.neural.settings import Training

pytestmark = pytest.mark.filterwarnings("ignore")

CANDIDATES = [
    ("raw", "trees"),
    ("flow", "linear"),
    ("domain_standardised", "boosting"),
    ("flow", "network"),
]
SHORT = {"candidates": CANDIDATES, "training": Training(steps=20, index_steps=20)}
ROUNDING = {"rtol": 0.0, "atol": 1e-6}


@dataclass(frozen=True)
class Case:
    """A table, where its columns and domains are known by the names that they began with."""

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    sources: tuple
    columns: tuple  # names of the columns, as they stand
    alias: dict  # what each domain is called here

    @classmethod
    def drawn(cls, seed, *, n_columns=5, n_domains=6):
        """Columns of several kinds and units, domains of several sizes, rows that occur twice."""
        rng = np.random.default_rng(seed)
        sizes = rng.integers(12, 30, size=n_domains)
        place = np.repeat(np.linspace(0.0, 2.0, n_domains), sizes)
        plain = rng.normal(size=(len(place), n_columns))
        plain[:, 0] += place
        plain[:, 1] = np.round(plain[:, 1])
        plain[:, 2] = plain[:, 2] > 0.3
        y = plain[:, 0] - place + plain[:, 2] + 0.3 * rng.normal(size=len(place))
        units = 10.0 ** rng.permutation(np.linspace(-2.0, 3.0, n_columns))
        names = np.repeat([f"d{number}" for number in range(n_domains)], sizes)
        twice = np.concatenate([np.arange(len(place)), rng.integers(len(place), size=5)])
        columns = tuple(f"c{number}" for number in range(n_columns))
        alias = {name: name for name in np.unique(names)}
        sources = tuple(np.unique(names)[: n_domains - 2])
        X = plain * units
        return cls(X[twice], y[twice], names[twice], sources, columns, alias)

    def with_rows(self, order):
        return replace(self, X=self.X[order], y=self.y[order], names=self.names[order])

    def with_columns(self, order):
        return replace(
            self, X=self.X[:, order], columns=tuple(self.columns[number] for number in order)
        )

    def renamed(self, seed):
        known = sorted(self.alias)
        words = np.random.default_rng(seed).permutation([f"w{n}" for n in range(len(known))])
        alias = dict(zip(known, words.tolist()))
        names = np.array([alias[name] for name in self.names])
        return replace(
            self, names=names, sources=tuple(alias[one] for one in self.sources), alias=alias
        )

    def in_other_units(self, seed):
        rng, n = np.random.default_rng(seed), len(self.columns)
        scale, shift = 10.0 ** rng.uniform(-0.2, 0.2, n), rng.normal(size=n) * self.X.std(axis=0)
        return replace(self, X=self.X * scale + shift)

    def changed(self, seed):
        """Everything at once."""
        rng = np.random.default_rng(seed)
        turned = self.with_rows(rng.permutation(len(self.X)))
        return turned.with_columns(rng.permutation(len(self.columns))).renamed(seed)

    def fitted(self, model, y=None, X=None):
        roles = {"sample_domain": self.names}
        if not isinstance(model, DomainIndexer):
            roles["source_domains"] = list(self.sources)
        model.fit(self.X if X is None else X, self.y if y is None else y, **roles)
        return model

    def asked(self, original):
        """The rows of the case that this one was made of, as they look here."""
        of = {name: number for number, name in enumerate(original.columns)}
        X = original.X[:, [of[name] for name in self.columns]]
        return X, np.array([self.alias[name] for name in original.names])


def classes(case):
    return np.where(case.y > 1.0, "yes", "no")


def said(model, case, original):
    X, names = case.asked(original)
    what = "predict_proba" if hasattr(model, "classes_") else "predict"
    return getattr(model, what)(X, sample_domain=names)


@pytest.fixture(scope="module")
def case():
    return Case.drawn(0)


@pytest.fixture(scope="module")
def classifier(case):
    return case.fitted(CrossDomainClassifier(**SHORT, random_state=0), classes(case))


CHANGES = {
    "rows": lambda case: case.with_rows(np.random.default_rng(1).permutation(len(case.X))),
    "columns": lambda case: case.with_columns([3, 0, 4, 2, 1]),
    "names": lambda case: case.renamed(2),
    "all": lambda case: case.changed(3),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_order_or_other_names_leave_every_prediction(what, case, classifier):
    other = CHANGES[what](case)
    model = other.fitted(CrossDomainClassifier(**SHORT, random_state=0), classes(other))
    np.testing.assert_allclose(
        said(model, other, case), said(classifier, case, case), rtol=0.0, atol=1e-9
    )


@pytest.fixture(scope="module")
def other(case):
    return case.changed(3)


@pytest.fixture(scope="module")
def turned(other):
    return other.fitted(CrossDomainClassifier(**SHORT, random_state=0), classes(other))


def test_what_a_user_reads_comes_back_in_their_order_and_by_their_names(
    case, classifier, other, turned
):
    assert turned.domains_ == sorted(other.alias.values())
    assert turned.source_domains_ == sorted(other.sources)
    for name, alias in other.alias.items():
        first = classifier.domain_indices_[classifier.domains_.index(name)]
        second = turned.domain_indices_[turned.domains_.index(alias)]
        np.testing.assert_allclose(second, first, atol=1e-9)
        distances = zip(other.alias, classifier.domain_distances_[classifier.domains_.index(name)])
        of_alias = turned.domain_distances_[turned.domains_.index(alias)]
        for one, away in distances:
            place = turned.domains_.index(other.alias[one])
            assert of_alias[place] == pytest.approx(away, abs=1e-9)
    assert turned.forecast_["domain"].tolist() == sorted(set(turned.domains_) - set(other.sources))
    for table in ("forecast_", "held_out_", "map_"):
        first, second = (getattr(one, table).set_index("domain") for one in (classifier, turned))
        second = second.loc[[other.alias[name] for name in first.index]]
        for column in first.select_dtypes("number"):
            np.testing.assert_allclose(second[column], first[column], atol=1e-9, err_msg=column)
    counts = dict(zip(turned.domains_, turned._record.rows))
    assert counts == dict(zip(*np.unique(other.names, return_counts=True)))


def test_columns_are_shown_where_the_user_has_them(other, turned):
    profiles = {one.name: one for one in turned._record.profiles}
    for number in range(len(other.columns)):
        edges = profiles[f"input {number + 1}"].edges
        values = other.X[:, number]
        assert values.min() <= edges.min()
        assert edges.max() <= values.max()
    some = other.X[:4]
    explained = turned.explain(some, sample_domain=other.names[:4], n_draws=2)
    assert explained.columns[:5].tolist() == [f"input {n}" for n in range(1, 6)]
    bare = CrossDomainClassifier(candidates=[("raw", "linear")], random_state=0)
    X = np.random.default_rng(0).normal(size=(120, 4))
    names = np.repeat(["a", "b", "c", "d"], 30)
    bare.fit(X, X[:, 1] > 0, sample_domain=names, source_domains=["a", "b", "c"])
    felt = bare.explain(X[:20], sample_domain=names[:20]).iloc[:, :4].abs().mean()
    assert felt.idxmax() == "input 2"
    assert bare._record.importance["column"].iloc[0] == "input 2"


def test_a_saved_an_exported_and_a_grown_model_know_the_columns(tmp_path, other, turned):
    model = turned
    asked = {"sample_domain": other.names}
    expected = model.predict_proba(other.X, **asked)
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(other.X, **asked), expected)
    model.export(tmp_path / "exported")
    exported = domindex.load_exported(tmp_path / "exported")
    np.testing.assert_allclose(exported.predict_proba(other.X, **asked), expected, atol=1e-6)
    new = other.X[other.names == other.names[0]]
    grown = again.add_domains(new, sample_domain=["new"] * len(new))
    assert grown.domains_ == [*model.domains_, "new"]
    place = grown.place_domains(new)[["index_1", "index_2"]].to_numpy()
    known = model.place_domains(new)[["index_1", "index_2"]].to_numpy()
    np.testing.assert_allclose(place, known, atol=1e-9)


MODELS = {
    "regressor": lambda: CrossDomainRegressor(
        candidates=[("flow", "linear"), ("raw", "trees")], random_state=0
    ),
    "paper": lambda: VDIClassifier(pretraining_steps=20, steps=20, random_state=0),
    "flow": lambda: MomentFlow(n_jobs=1),
    "map": lambda: DomainIndexer(effort="quick", random_state=0),
    "dann": lambda: DANN(training=Training(steps=20), random_state=0),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_method_is_so(kind, case, other):
    found = []
    for one in (case, other):
        y = one.y if kind == "regressor" else classes(one)
        model = one.fitted(MODELS[kind](), y)
        X, names = one.asked(case)
        if kind == "map":
            found.append(model.transform(X))
        elif kind == "flow":  # what it gives has the user's columns
            back = [one.columns.index(name) for name in case.columns]
            found.append(model.transform(X, sample_domain=names)[:, back])
        else:
            found.append(said(model, one, case))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)


def test_units_of_columns_leave_predictions(case, classifier):
    """Where columns have units of their own: those that share one are measured by one scale."""
    other = case.in_other_units(4)
    model = other.fitted(CrossDomainClassifier(**SHORT, random_state=0), classes(other))
    found = model.predict_proba(other.X, sample_domain=other.names)
    np.testing.assert_allclose(found, said(classifier, case, case), **ROUNDING)


KINDS = {
    "by column": np.asfortranarray,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "list": np.ndarray.tolist,
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{n}" for n in range(X.shape[1])]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_memory_and_kind_of_table_leave_predictions(kind, case):
    how = {"candidates": CANDIDATES[:2], "effort": "quick", "random_state": 0}
    plain = case.fitted(CrossDomainClassifier(**how), classes(case))
    X = KINDS[kind](case.X)
    model = case.fitted(CrossDomainClassifier(**how), classes(case), X=X)
    found = model.predict_proba(X, sample_domain=case.names)
    np.testing.assert_allclose(found, said(plain, case, case), rtol=0.0, atol=1e-12)


def test_workers_and_threads_leave_predictions(case):
    how = {"candidates": CANDIDATES[:1], "effort": "quick", "random_state": 0}
    plain = case.fitted(CrossDomainClassifier(**how), classes(case))
    with threadpool_limits(2):
        model = case.fitted(CrossDomainClassifier(**how, n_jobs=2), classes(case))
    np.testing.assert_allclose(said(model, case, case), said(plain, case, case), **ROUNDING)


class Second:
    """A classifier of the user's that goes by where a column stands."""

    def get_params(self, deep=False):
        return {}

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        is_last = (X[:, 1] > 0.0).astype(float)
        return np.stack([1.0 - is_last, is_last], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_what_is_the_users_own_sees_columns_where_they_stand():
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(80, 3)), np.repeat(["a", "b", "c", "d"], 20)
    model = CrossDomainClassifier(candidates=[("raw", Second())], random_state=0)
    model.fit(X, X[:, 1] > 0, sample_domain=names, source_domains=["a", "b", "c"])
    assert (model.predict(X, sample_domain=names) == (X[:, 1] > 0)).mean() > 0.9


def test_cells_of_signals_stay_where_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 16)).cumsum(axis=1)
    names = np.repeat(["a", "b", "c"], 20)
    model = CrossDomainClassifier(inputs="signals", candidates=[("raw", "linear")], random_state=0)
    model.fit(X, X[:, -1] > 0, sample_domain=names, source_domains=["a", "b"])
    assert model._columns is None


def test_rows_that_only_a_label_parts_have_one_order():
    rng = np.random.default_rng(0)
    X, domains = np.repeat(rng.normal(size=(4, 2)), 3, axis=0), np.arange(12) % 2
    beside = rng.integers(3, size=(12, 1)).astype(float)
    order = rng.permutation(12)
    first = canonical_order(X, domains, 2, beside, may_move_columns=True)
    given = X[order], domains[order], 2, beside[order]
    second = canonical_order(*given, may_move_columns=True)
    table = np.column_stack([X, beside, domains])
    np.testing.assert_array_equal(table[first.rows], table[order][second.rows])


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_two_hundred_tables_are_predicted_alike_however_they_come():
    apart = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sizes = {"n_columns": int(rng.integers(3, 7)), "n_domains": int(rng.integers(4, 8))}
        case = Case.drawn(seed, **sizes)
        learner = ("linear", "trees", "boosting", "kernel", "neighbours")[seed % 5]
        how = {
            "candidates": [("raw", learner), ("flow", "linear"), ("domain_whitened", "trees")],
            "effort": "quick",
            "random_state": seed,
        }
        found = []
        for one in (case, case.changed(seed)):
            if seed % 2:
                model = one.fitted(CrossDomainRegressor(**how))
            else:
                model = one.fitted(CrossDomainClassifier(**how), classes(one))
            found.append(said(model, one, case))
        apart.append(np.abs(found[1] - found[0]).max())
        warnings.resetwarnings()
    assert max(apart) < 1e-6, np.argsort(apart)[-5:]
