"""Contributions of columns to the prediction of a row."""

import numpy as np
import pandas as pd
import pytest

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.errors import InputError
from domindex.estimators.contributions import shapley_values

QUICK = {"candidates": [("raw", "linear")], "training": Training(index_steps=2), "random_state": 0}
NAMES = np.repeat(["a", "b", "c", "d"], 30)
SOURCES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(120, 3))


def test_of_a_sum_each_column_adds_its_own_term():
    rng = np.random.default_rng(1)
    rows, background = rng.normal(size=(5, 3)), np.zeros((1, 3))
    groups = [np.array([0]), np.array([1, 2])]
    found, start = shapley_values(
        lambda x: x @ [2.0, -1.0, 3.0] + 7.0, rows, background, groups, 3, rng
    )
    np.testing.assert_allclose(found, np.stack([2 * rows[:, 0], 3 * rows[:, 2] - rows[:, 1]], 1))
    np.testing.assert_allclose(start, 7.0)


def test_what_two_columns_do_together_is_halved():
    rng = np.random.default_rng(1)
    rows = np.array([[2.0, 3.0]])
    groups = [np.array([0]), np.array([1])]
    found, _ = shapley_values(lambda x: x[:, 0] * x[:, 1], rows, np.zeros((1, 2)), groups, 2, rng)
    np.testing.assert_allclose(found, [[3.0, 3.0]])


def test_contributions_add_up_to_the_prediction_and_follow_the_rule(rows):
    y = 3.0 * rows[:, 0] - rows[:, 1]
    roles = {"sample_domain": NAMES, "source_domains": SOURCES}
    model = CrossDomainRegressor(**QUICK).fit(rows, y, **roles)
    found = model.explain(rows[:20], sample_domain=NAMES[:20], n_draws=4)
    assert list(found.columns) == ["input 1", "input 2", "input 3", "baseline", "prediction"]
    expected = model.predict(rows[:20], sample_domain=NAMES[:20])
    np.testing.assert_allclose(found["prediction"], expected, atol=1e-8)
    sums = found.drop(columns="prediction").sum(axis=1)
    np.testing.assert_allclose(sums, expected, atol=1e-8)
    assert np.corrcoef(found["input 1"], rows[:20, 0])[0, 1] > 0.6
    assert found["input 3"].abs().mean() < 0.1 * found["input 1"].abs().mean()
    new = model.explain(rows[:5], sample_domain=["new"] * 5, background=rows, n_draws=2)
    assert np.isfinite(new.to_numpy()).all()
    again = model.explain(rows[:20], sample_domain=NAMES[:20], n_draws=4)
    pd.testing.assert_frame_equal(found, again)


def test_columns_of_a_frame_are_named_and_categories_are_one(rows):
    frame = pd.DataFrame({"x": rows[:, 0], "site": NAMES})
    frame["kind"] = np.where(rows[:, 1] > 0, "red", "blue")
    frame["y"] = np.where(rows[:, 1] > 0, "yes", "no")
    frame.loc[frame["site"] == "d", "y"] = None
    with pytest.warns(UserWarning, match="One-hot encoded"):
        model = CrossDomainClassifier(**QUICK).fit(frame, "y", sample_domain="site")
    found = model.explain(frame.head(30), n_draws=2)
    assert list(found.columns) == ["x", "kind", "baseline", "prediction"]
    assert found["kind"].abs().mean() > 3 * found["x"].abs().mean()
    yes = model.explain(frame.head(30), output="yes", n_draws=2)
    pd.testing.assert_frame_equal(found, yes)
    no = model.explain(frame.head(30), output="no", n_draws=2)
    np.testing.assert_allclose(no["kind"], -found["kind"], atol=1e-8)
    for wrong, message in (
        ({"output": "maybe"}, "the classes are 'no', 'yes'"),
        ({"n_draws": 0}, "Choose a whole number"),
        ({"n_draws": 1.5}, "Choose a whole number"),
        ({"background": frame[["x"]]}, "no column 'kind'"),
    ):
        with pytest.raises(InputError, match=message):
            model.explain(frame.head(3), **wrong)
