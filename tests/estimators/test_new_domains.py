"""Domains that come after the fit: placed, flagged, added, and predicted like the known ones."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.errors import InputError, OffMapWarning

N_DOMAINS, N_ROWS, N_FITTED = 28, 30, 24
QUICK = {"effort": "quick", "training": Training(index_steps=2, steps=2), "random_state": 0}
EVERY_STATISTIC = [
    ("raw", "linear"),
    ("with_index", "linear"),
    ("with_means", "linear"),
    ("domain_centred", "linear"),
    ("domain_standardised", "linear"),
    ("domain_whitened", "linear"),
    ("coral", "linear"),
]


def family(seed=0):
    """Clouds that drift along a line; the class lies across it."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    X = rng.normal(size=(len(place), 3))
    label = (X[:, 1] > 0).astype(int)
    X[:, 0] += 0.7 * place
    return X, label, np.array([f"d{k:02}" for k in place])


def quietly(act, *given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)
        return act(*given, **named)


class Case:
    """A model of the even-handed first domains, and the rows of all of them."""

    def __init__(self, kind, candidates):
        self.X, label, self.names = family()
        y = label if kind is CrossDomainClassifier else self.X[:, 1] + 0.1 * self.X[:, 0]
        last = [f"d{k:02}" for k in (5, 11, 17, 22)]
        self.is_new = np.isin(self.names, last)
        self.model = kind(candidates=candidates, **QUICK).fit(
            self.X[~self.is_new],
            y[~self.is_new],
            sample_domain=self.names[~self.is_new],
            source_domains=[f"d{k:02}" for k in (0, 4, 8, 12, 16)],
        )
        self.new = self.X[self.is_new]
        self.new_names = self.names[self.is_new]

    def grown(self):
        return quietly(self.model.add_domains, self.new, sample_domain=self.new_names)


@pytest.fixture(scope="module")
def classes():
    return Case(CrossDomainClassifier, EVERY_STATISTIC)


@pytest.fixture(scope="module")
def values():
    return Case(CrossDomainRegressor, [("raw", "linear"), ("domain_scaled", "linear")])


def stranger(case, seed=0):
    """Rows of another generator, with the mean and deviation of the known ones."""
    rng = np.random.default_rng(seed)
    unit = rng.uniform(-1.7, 1.7, size=(40, 3))
    unit[:, 2] = unit[:, 1]
    return case.X.mean(axis=0) + case.X.std(axis=0) * unit


def test_the_table_says_where_new_domains_lie_and_what_to_expect(classes):
    table = classes.model.place_domains(classes.new, sample_domain=classes.new_names)
    assert table.columns.tolist() == [
        *("domain", "rows", "index_1", "index_2", "std_1", "std_2"),
        *("nearest_1", "distance_1", "nearest_2", "distance_2", "nearest_3", "distance_3"),
        *("off_map", "off_map_score", "expected_accuracy", "low", "high"),
    ]
    assert table["domain"].tolist() == ["d05", "d11", "d17", "d22"]
    assert (table["rows"] == N_ROWS).all()
    assert set(table.loc[0, ["nearest_1", "nearest_2"]]) == {"d04", "d06"}
    assert (table["distance_1"] <= table["distance_2"]).all()
    assert (table[["std_1", "std_2"]].to_numpy() > 0).all()
    assert (table["low"] <= table["expected_accuracy"]).all()
    bare = classes.model.place_domains(classes.new, sample_domain=classes.new_names, forecast=False)
    pd.testing.assert_frame_equal(bare, table.iloc[:, :-3])


def test_known_domains_keep_their_place_and_are_not_their_own_neighbours(classes):
    model, rows = classes.model, classes.names == "d06"
    table = model.place_domains(classes.X[rows], sample_domain=classes.names[rows])
    known = model.domain_indices_[model.domains_.index("d06")]
    np.testing.assert_array_equal(table[["index_1", "index_2"]].to_numpy()[0], known)
    assert table["nearest_1"].tolist() in (["d07"], ["d04"])
    assert not table["off_map"].any()


def test_added_domains_are_known_and_the_old_model_stays_as_it_was(classes):
    before = pickle.dumps(classes.model.state())
    grown = classes.grown()
    assert pickle.dumps(classes.model.state()) == before
    assert grown.domains_ == [*classes.model.domains_, "d05", "d11", "d17", "d22"]
    assert grown.added_domains_ == ["d05", "d11", "d17", "d22"]
    assert classes.model.added_domains_ == []
    assert grown.source_domains_ == classes.model.source_domains_
    assert grown.domain_indices_.shape == grown.domain_index_std_.shape == (N_DOMAINS, 2)
    assert grown.domain_distances_.shape == (N_DOMAINS, N_DOMAINS)
    assert grown.domain_index_.domains == tuple(grown.domains_)
    assert grown.forecast_["domain"].tolist()[-4:] == ["d05", "d11", "d17", "d22"]
    assert len(grown.forecast_) == len(classes.model.forecast_) + 4
    assert set(grown.domain_graph(quantile=0.2).nodes) == set(grown.domains_)
    placed = classes.model.place_domains(classes.new, sample_domain=classes.new_names)
    np.testing.assert_allclose(grown.domain_indices_[-4:], placed[["index_1", "index_2"]])


@pytest.mark.parametrize("which", ["classes", "values"])
def test_added_domains_are_predicted_as_when_they_were_new(which, request):
    case = request.getfixturevalue(which)
    grown = case.grown()
    asked = {"sample_domain": case.new_names}
    ours = quietly(grown.predict, case.new, **asked)
    theirs = quietly(case.model.predict, case.new, **asked)
    if which == "classes":
        assert (ours == theirs).mean() == 1.0
    else:
        np.testing.assert_allclose(ours, theirs)


def test_an_added_domain_keeps_its_statistics_when_few_rows_are_asked():
    """Where domains are standardised, a row by itself tells nothing of its domain."""
    case = Case(CrossDomainClassifier, [("domain_standardised", "linear")])
    grown = case.grown()
    together = quietly(grown.predict_proba, case.new, sample_domain=case.new_names)
    alone = quietly(grown.predict_proba, case.new[:1], sample_domain=case.new_names[:1])
    np.testing.assert_allclose(alone, together[:1], rtol=1e-9)
    as_new = quietly(case.model.predict_proba, case.new[:1], sample_domain=["d05"])
    assert np.abs(as_new - together[:1]).max() > 1e-6


def test_adding_in_turn_is_adding_at_once(classes):
    at_once = classes.grown()
    first = np.isin(classes.new_names, ["d05", "d11"])
    in_turn = classes.model
    for part in (first, ~first):
        in_turn = quietly(
            in_turn.add_domains, classes.new[part], sample_domain=classes.new_names[part]
        )
    assert in_turn.domains_ == at_once.domains_
    np.testing.assert_allclose(in_turn.domain_indices_, at_once.domain_indices_)
    pd.testing.assert_frame_equal(in_turn.forecast_, at_once.forecast_)
    ours, theirs = (
        quietly(m.predict_proba, classes.X, sample_domain=classes.names) for m in (in_turn, at_once)
    )
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("which", ["classes", "values"])
def test_a_grown_model_comes_back_from_disk(which, request, tmp_path):
    case = request.getfixturevalue(which)
    grown = quietly(case.grown().add_domains, stranger(case), sample_domain=["stranger"] * 40)
    grown.save(tmp_path / "model")
    twin = domindex.load(tmp_path / "model")
    assert (twin.domains_, twin.off_map_domains_) == (grown.domains_, ["stranger"])
    assert twin.added_domains_ == grown.added_domains_
    pd.testing.assert_frame_equal(twin.timings_, grown.timings_)
    pd.testing.assert_frame_equal(twin.forecast_, grown.forecast_)
    asked = (case.X, case.names)
    ours, theirs = (quietly(m.predict, asked[0], sample_domain=asked[1]) for m in (grown, twin))
    np.testing.assert_array_equal(ours, theirs)
    again = quietly(twin.add_domains, case.new[:9], sample_domain=["more"] * 9)
    assert again.domains_[-1] == "more"


def test_a_stranger_is_flagged_wherever_it_is_asked_for(classes):
    rows, names = stranger(classes), ["stranger"] * 40
    model = classes.model
    table = model.place_domains(rows, sample_domain=names)
    assert table["off_map"].tolist() == [True]
    assert table["off_map_score"].item() > 1
    for act in (model.predict, model.predict_proba, model.add_domains):
        with pytest.warns(OffMapWarning, match="The domain 'stranger' lies off the map"):
            act(rows, sample_domain=names)
    assert model.forecast(rows, sample_domain=names)["off_map"].tolist() == [True]
    with pytest.warns(OffMapWarning, match="come without sample_domain"):
        model.predict(rows)
    grown = quietly(model.add_domains, rows, sample_domain=names)
    assert grown.off_map_domains_ == ["stranger"]
    assert grown.forecast_["off_map"].tolist() == [*[False] * len(model.forecast_), True]
    with pytest.warns(OffMapWarning, match="'stranger'") as told:
        grown.predict(rows[:1], sample_domain=["stranger"])
    assert told[0].filename == __file__


def test_domains_of_the_family_and_of_the_fit_warn_of_nothing(classes):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OffMapWarning)
        classes.model.predict(
            classes.X[~classes.is_new], sample_domain=classes.names[~classes.is_new]
        )
        part = classes.new_names == "d11"
        classes.model.predict(classes.new[part], sample_domain=classes.new_names[part])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (None, "a domain needs a name to be added"),
        (["d03"] * 40, r"'d03' is already among the 24 known domains"),
        ([*["new"] * 39, "d03"], "'d03' is already among"),
        ([*["1"] * 20, *[1] * 20], "both read '1'"),
        (["new"] * 39, "39 entries, but X has 40 rows"),
        ([*["new"] * 39, None], "empty"),
    ],
)
def test_names_that_cannot_be_added_are_refused(classes, names, message):
    with pytest.raises(InputError, match=message):
        classes.model.add_domains(stranger(classes), sample_domain=names)


def test_a_name_that_reads_like_a_known_one_is_refused():
    X, y, names = family()
    chosen = names < "d06"
    numbers = np.array([int(name[1:]) for name in names[chosen]])
    model = CrossDomainClassifier(candidates=[("raw", "linear")], **QUICK)
    model.fit(X[chosen], y[chosen], sample_domain=numbers, source_domains=[0, 1, 2])
    with pytest.raises(InputError, match="both read '3'"):
        model.add_domains(X[:5], sample_domain=["3"] * 5)


def test_rows_that_cannot_be_added_are_refused(classes):
    for rows, message in ((np.ones((2, 4)), "4 features"), (np.full((2, 3), np.nan), "NaN")):
        with pytest.raises(InputError, match=message):
            classes.model.add_domains(rows, sample_domain=["a", "b"])


def test_a_domain_of_one_row_and_identical_domains_can_be_added(classes):
    one = np.tile(classes.new[:1], (2, 1))
    grown = quietly(classes.model.add_domains, one, sample_domain=["first", "second"])
    np.testing.assert_array_equal(*grown.domain_indices_[-2:])
    assert np.isfinite(grown.domain_indices_).all()
    assert np.isfinite(quietly(grown.predict_proba, one, sample_domain=["first", "second"])).all()
    assert np.isfinite(grown.forecast_["expected_accuracy"]).all()


@pytest.mark.parametrize(("n_domains", "index_dim"), [(2, 2), (3, 4)])
def test_fewer_domains_than_axes_can_grow_and_say_that_they_cannot_tell(n_domains, index_dim):
    X, y, names = family()
    chosen = names < f"d{n_domains:02}"
    model = CrossDomainClassifier(candidates=[("raw", "linear")], index_dim=index_dim, **QUICK)
    model.fit(X[chosen], y[chosen], sample_domain=names[chosen], source_domains=["d00"])
    rows = names == "d09"
    table = model.place_domains(X[rows], sample_domain=names[rows])
    assert "off_map_score" not in table, "nothing can be said, and no NaN says it"
    assert not table["off_map"].any()
    assert f"nearest_{n_domains - 1}" in table
    grown = model.add_domains(X[rows], sample_domain=names[rows])
    assert grown.domain_indices_.shape == (n_domains + 1, index_dim)
    assert np.isfinite(grown.domain_indices_).all()


def test_domains_that_are_all_the_same_can_be_fitted_and_grow():
    X, y, _ = family()
    part = slice(0, N_ROWS)
    names = np.repeat(list("abcdef"), N_ROWS)
    model = CrossDomainClassifier(candidates=[("raw", "linear")], **QUICK)
    model.fit(
        np.tile(X[part], (6, 1)),
        np.tile(y[part], 6),
        sample_domain=names,
        source_domains=["a", "b"],
    )
    np.testing.assert_allclose(model.domain_indices_, 0.0, atol=1e-6)
    grown = model.add_domains(X[part], sample_domain=["g"] * N_ROWS)
    np.testing.assert_allclose(grown.domain_indices_, 0.0, atol=1e-6)


def test_timings_tell_where_the_time_of_a_fit_went(classes):
    table = classes.model.timings_
    assert table["stage"].tolist() == [
        *("mapping", "representing", "validating", "weighing", "fitting", "forecasting"),
        "explaining",
    ]
    assert (table["seconds"] > 0).all()
