"""Whatever comes in: an answer in finite numbers, or an error that says what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Network, Training
from domindex.baselines import DANN
from domindex.errors import DomainNameWarning, ExtremeValueWarning, InputError

SHORT = Training(steps=2, index_steps=2)
PLAIN = {"candidates": [("raw", "linear")], "training": SHORT, "random_state": 0}
DOMAINS = np.repeat(["a", "b", "c", "d"], 12)
SOURCES = ["a", "b"]
N = len(DOMAINS)


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)) + np.repeat(np.arange(4.0), 12)[:, None]
    return X, (X[:, 1] > X[:, 2]).astype(int), X @ [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=N)


X, Y, VALUES = rows()


def fit(model, inputs=X, y=Y, domains=DOMAINS, sources=SOURCES, **more):
    return model.fit(inputs, y, sample_domain=domains, source_domains=sources, **more)


@pytest.fixture(scope="module")
def classifier():
    return fit(CrossDomainClassifier(**PLAIN))


@pytest.fixture(scope="module")
def regressor():
    return fit(CrossDomainRegressor(**PLAIN), y=VALUES)


def finite_or_said(call) -> None:
    """Finite numbers, or `InputError`: nothing else, and no NaN."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except domindex.errors.DomindexError:
        return
    for part in result if isinstance(result, tuple) else (result,):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("factor", [1e20, 1e70, 1e100, 1e154, 1e300])
@pytest.mark.parametrize("method", ["predict_proba", "encode", "transform"])
def test_rows_of_any_size_have_finite_answers_or_an_error(classifier, method, factor):
    given = {} if method == "transform" else {"sample_domain": DOMAINS}
    finite_or_said(lambda: getattr(classifier, method)(X * factor, **given))


@pytest.mark.parametrize("factor", [1e20, 1e70, 1e154])
def test_values_and_places_of_rows_of_any_size_too(regressor, factor):
    finite_or_said(lambda: regressor.predict(X * factor, sample_domain=DOMAINS, return_std=True))
    finite_or_said(
        lambda: (
            regressor.place_domains(X * factor, sample_domain=["new"] * N)
            .filter(regex="index|std|expected")
            .to_numpy()
        )
    )


@pytest.mark.parametrize("factor", [1e154, 1e300, 1e-300])
def test_outputs_whose_squares_are_no_numbers_are_refused(factor):
    with pytest.raises(InputError, match="units"):
        fit(CrossDomainRegressor(**PLAIN), y=VALUES * factor)


def test_a_prediction_that_is_nan_is_an_error_that_names_the_row(classifier, monkeypatch):
    def spoiled(self, inputs, names):
        result = np.full((len(inputs), 2), 0.5)
        result[3] = np.nan
        return result

    monkeypatch.setattr(CrossDomainClassifier, "_predict_mean", spoiled)
    with pytest.raises(InputError, match="NaN or infinity in 1 of 48 rows, the first is row 3"):
        classifier.predict_proba(X, sample_domain=DOMAINS)


def test_nearly_constant_inputs_and_then_an_ordinary_row():
    nearly = 1.0 + 1e-15 * np.random.default_rng(1).normal(size=X.shape)
    model = fit(CrossDomainClassifier(**PLAIN), nearly)
    finite_or_said(lambda: model.predict_proba(X, sample_domain=DOMAINS))


def large_whole_number(values):
    spoiled = np.array(values, dtype=object)
    spoiled.flat[0] = 10**400
    return spoiled


HOSTILE = {
    "whole number beyond floats": {"inputs": large_whole_number(X)},
    "columns with one name": {"inputs": pd.DataFrame(X, columns=["p", "p", "q"])},
    "names of two types": {"inputs": pd.DataFrame(X, columns=["p", 1, "q"])},
    "tensor without values": {"inputs": torch.empty(N, 3, device="meta")},
    "sparse tensor": {"inputs": torch.tensor(X).to_sparse()},
    "sources as a number": {"sources": 3},
    "sources in lists": {"sources": [["a"]]},
    "sources as one text": {"sources": np.array("a")},
    "infinite class": {"y": np.where(np.arange(N) == 0, np.inf, Y)},
    "ragged y": {"y": [[1], [1, 2]] + [[1]] * (N - 2)},
    "dictionaries as classes": {"y": [{}] * N},
    "times as classes": {"y": np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")[Y]},
    "masked inputs": {"inputs": np.ma.masked_array(X, mask=np.isin(X, X[0]))},
    "masked labels of sources": {"y": np.ma.masked_array(Y, mask=np.arange(N) == 0)},
    "masked domains": {"domains": np.ma.masked_array(DOMAINS, mask=np.arange(N) == 0)},
    "weights as a text": {"sample_weight": "a"},
    "weights beyond floats": {"sample_weight": [10**400] * N},
    "weights without a sum": {"sample_weight": [1e308] * N},
    "masked weights": {"sample_weight": np.ma.masked_array(np.ones(N), np.arange(N) == 0)},
}


@pytest.mark.parametrize("what", list(HOSTILE))
def test_data_that_cannot_be_used_are_an_input_error(what):
    with pytest.raises(InputError):
        fit(CrossDomainClassifier(**PLAIN), **HOSTILE[what])


@pytest.mark.parametrize(
    "y",
    [
        np.array(["2020-01-01"] * N, dtype="M8[D]") + np.arange(N),
        np.arange(N).astype("m8[s]"),
        pd.Series(pd.date_range("2020", periods=N)),
        large_whole_number(VALUES),
        np.empty((N, 0)),
        pd.DataFrame(np.column_stack([VALUES, VALUES]), columns=["p", "p"]),
    ],
    ids=["times", "durations", "series of times", "beyond floats", "no column", "one name"],
)
def test_outputs_that_cannot_be_used_are_an_input_error(y):
    with pytest.raises(InputError):
        fit(CrossDomainRegressor(**PLAIN), y=y)


SETTINGS = [
    *[{"training": Training(learning_rate=v)} for v in ("a", None, np.nan, np.inf, True, [1], -1)],
    {"training": Training(learning_rate=10**400)},
    *[{"training": Training(steps=v)} for v in ("a", True, 2.5, 0)],
    *[{"training": Training(device=v)} for v in (3, None, "abacus", "meta", ["cpu"], np.ones(2))],
    *[{"network": Network(adversary=v)} for v in ("graph", 3, None, [["a"]], ())],
    *[{"network": Network(adversary_weight=v)} for v in ("a", None, np.nan, np.inf, True)],
    *[{"n_jobs": v} for v in ("x", 0, 2.5, True, [1], 10**400)],
    *[{"verbose": v} for v in (None, "a", [1], np.nan)],
    *[{"random_state": v} for v in ("a", -1, 2.5, 2**40, [1, 2])],
    *[{"inputs": v} for v in (3, None, "x", ["a"])],
    *[{"effort": v} for v in (3, None, ["a"], pd.NA)],
    *[{"representation": v} for v in (3, None, ["a"], pd.NA, np.ones(2))],
    *[{"flow": v} for v in (3, ["a"], pd.NA, np.ones(2))],
    *[{"index_dim": v} for v in (True, "a", None, 10**400, 10**8)],
    *[{"candidates": v} for v in ("x", 3, [], [("raw",)], [(1, 2)], {"a": 1})],
    *[{"class_weight": v} for v in ("x", 3, {"z": 1}, {0: "a"}, {0: np.nan})],
    *[{"backbone": v} for v in (3, "x", [1])],
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: str(one)[:60])
def test_settings_that_cannot_be_used_are_an_input_error_before_any_work(setting):
    with pytest.raises(InputError):
        fit(CrossDomainClassifier(**{**PLAIN, **setting}))


@pytest.mark.parametrize(
    "model",
    [
        *[DANN(adaptation_weight=v, training=SHORT) for v in ("a", np.nan, np.inf, [1])],
        DANN(verbose=None, training=SHORT),
        DANN(random_state="a", training=SHORT),
        *[MomentFlow(index_dim=v) for v in ("a", True, 0)],
        *[MomentFlow(n_jobs=v) for v in ("x", 0)],
        *[MomentFlow(v) for v in (3, "x")],
    ],
    ids=lambda one: str(one)[:60],
)
def test_settings_of_other_estimators_too(model):
    with pytest.raises(InputError):
        fit(model)


def test_types_that_numpy_does_not_have_are_read_in_single_precision():
    coarse = torch.tensor(X, dtype=torch.bfloat16)
    model = fit(CrossDomainClassifier(**PLAIN), coarse)
    same = fit(CrossDomainClassifier(**PLAIN), coarse.float().numpy())
    np.testing.assert_array_equal(
        model.predict_proba(coarse, sample_domain=DOMAINS),
        same.predict_proba(coarse.float().numpy(), sample_domain=DOMAINS),
    )


def test_a_mask_over_labels_of_targets_hides_nothing_that_would_be_read(classifier):
    hidden = fit(CrossDomainClassifier(**PLAIN), y=np.ma.masked_array(Y, mask=DOMAINS == "d"))
    np.testing.assert_array_equal(
        hidden.predict(X, sample_domain=DOMAINS), classifier.predict(X, sample_domain=DOMAINS)
    )


def test_a_domain_that_reads_like_a_known_one_is_new_with_a_warning():
    numbers = np.repeat([1, 2, 3, 4], 12)
    model = fit(CrossDomainClassifier(**PLAIN), domains=numbers.astype(str), sources=["1", "2"])
    with pytest.warns(DomainNameWarning, match="1, which is not '1'"):
        model.predict(X, sample_domain=numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DomainNameWarning)
        model.predict(X, sample_domain=numbers.astype(str))


def test_one_value_out_of_all_proportion_is_named_and_changes_little(classifier):
    spoiled = pd.DataFrame(X, columns=["dose", "age", "weight"])
    spoiled.loc[40, "age"] = 1e12
    with pytest.warns(ExtremeValueWarning, match="'age' holds 1e.12 in row 40"):
        model = fit(CrossDomainClassifier(**PLAIN), spoiled)
    assert spoiled.loc[40, "age"] == 1e12
    found = model.predict(pd.DataFrame(X, columns=spoiled.columns), sample_domain=DOMAINS)
    assert (found == classifier.predict(X, sample_domain=DOMAINS)).mean() > 0.9


def test_one_output_out_of_all_proportion_is_named_and_changes_little(regressor):
    spoiled = VALUES.copy()
    spoiled[3] = 1e12
    with pytest.warns(ExtremeValueWarning, match="Output 0 of y holds 1e.12 in row 3"):
        model = fit(CrossDomainRegressor(**PLAIN), y=spoiled)
    found, deviation = model.predict(X, sample_domain=DOMAINS, return_std=True)
    expected = regressor.predict(X, sample_domain=DOMAINS)
    assert np.abs(found - expected).max() < np.ptp(VALUES)
    assert deviation.max() < 10 * np.ptp(VALUES)


def test_a_summary_shows_long_and_turning_names_shortly():
    odd = {"c": "c" * 10_000, "d": "\u202ed"}
    names = np.array([odd.get(name, name) for name in DOMAINS], dtype=object)
    summary = fit(CrossDomainClassifier(**PLAIN), domains=names).summary()
    assert max(map(len, summary.splitlines())) < 400
    assert "\u202e" not in summary
    assert "cccc" in summary
