"""What held-out sources never showed is said, with a reason."""

import numpy as np
import pytest

from domindex import CrossDomainClassifier
from domindex.committee.experience import Experience
from domindex.committee.words import describe_beyond
from domindex.errors import BeyondExperienceWarning

PLAIN = [("raw", "linear"), ("raw", "trees")]


def hospitals(shift: float, column: int = 1, n: int = 60):
    """Five sources alike, a target like them, and one moved by `shift` in one column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7 * n, 3))
    d = np.repeat([f"h{k}" for k in range(7)], n)
    X[d == "h6", column] += shift
    y = (X[:, 0] > 0).astype(int)
    return X, y, d, [f"h{k}" for k in range(5)]


def fitted(shift: float) -> CrossDomainClassifier:
    X, y, d, sources = hospitals(shift)
    model = CrossDomainClassifier(candidates=PLAIN, effort="quick", random_state=0)
    return model.fit(X, y, sample_domain=d, source_domains=sources)


@pytest.fixture(scope="module")
def far():
    return fitted(30.0)


def test_a_domain_out_of_the_sources_range_is_flagged_with_the_column(far):
    forecast = far.forecast_.set_index("domain")
    assert forecast["beyond_experience"].tolist() == [False, True]
    assert forecast.loc["h6", "support"] == 0.0
    assert forecast.loc["h5", "support"] > 0.9
    assert forecast.loc["h6", "reason"].startswith("input 2 is ")
    assert "no source exceeds" in forecast.loc["h6", "reason"]
    assert forecast.loc["h5", "reason"] == ""


def test_summary_and_predict_say_so_and_a_domain_like_the_sources_is_silent(far, recwarn):
    X, _, d, _ = hospitals(30.0)
    assert "Beyond experience, 1 of 2 target domains: h6 (input 2 is " in far.summary()
    far.predict(X[d == "h5"], sample_domain=d[d == "h5"])
    assert not recwarn.list
    with pytest.warns(BeyondExperienceWarning, match="'h6' is beyond .* input 2 is .* at least"):
        far.predict(X[d == "h6"], sample_domain=d[d == "h6"])


def test_domains_alike_are_within_experience():
    model = fitted(0.0)
    assert not model.forecast_["beyond_experience"].any()
    assert describe_beyond(model.forecast_) == []


def test_of_a_single_row_no_classifier_says_that_it_is_separated():
    X, y, d, sources = hospitals(0.0)
    for number in range(10):
        kept = np.append(np.flatnonzero(d != "h6"), np.flatnonzero(d == "h6")[number])
        given = {"sample_domain": d[kept], "source_domains": sources}
        model = CrossDomainClassifier(candidates=PLAIN, effort="quick", random_state=0)
        reasons = model.fit(X[kept], y[kept], **given).forecast_["reason"]
        assert not reasons.str.contains("AUC").any()


def test_a_new_domain_is_judged_by_its_rows(far):
    X, _, _, _ = hospitals(30.0)
    new = X[:60] - [0.0, 0.0, 40.0]
    (row,) = far.forecast(new, sample_domain=["new"] * 60).to_dict("records")
    assert row["beyond_experience"]
    assert "input 3 is " in row["reason"]
    assert "no source goes below" in row["reason"]


def test_what_was_seen_is_saved(far):
    experience = far._forecaster.experience
    again = Experience.from_state(experience.state())
    assert again.columns == experience.columns
    assert sorted(again.columns) == ["input 1", "input 2", "input 3"]
    np.testing.assert_array_equal(again.held_out_outside, experience.held_out_outside)
    with pytest.raises(ValueError, match="range"):
        Experience.from_state(experience.state() | {"low": np.zeros(2)})
