"""The constants of the committee: a first round that is weighed again, and the tables of it."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from domindex import CrossDomainRegressor, Training
from domindex.committee.settings import ChoiceSettings
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex_bench.constants import (
    GRID,
    Replay,
    Scored,
    choose,
    choose_without,
    default_of,
    known_datasets,
    main,
    page_with,
    report_on,
    score_grid,
    scored_of,
    text,
    write_page,
)

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "constants.json"
PAGE = ROOT / "benchmarks" / "results" / "constants.md"
CANDIDATES = [("raw", "linear"), ("flow", "linear")]
TRAINING = Training(steps=5, index_steps=5)


@pytest.fixture(scope="module")
def circle():
    return make_circle(n_domains=8, n_sources=4, samples_per_domain=20, random_state=0)


@pytest.fixture(scope="module")
def values(circle):
    return replace(circle, y=circle.X[:, :1] * 2.0 + 1.0, task="regression")


@pytest.fixture(scope="module")
def replay(circle):
    return Replay.record(circle, candidates=CANDIDATES, training=TRAINING)


def scored(name, base, task="classification", **changed):
    """A dataset where everything scores `base`, but for the constants named."""
    scores = {
        constant: {text(v): changed.get(constant, {}).get(v, base) for v in grid}
        for constant, grid in GRID.items()
    }
    return Scored(
        name, name.title(), task, {"linear on raw": 80.0, "boosting on raw": 90.0}, scores
    )


def test_every_grid_has_the_default_in_it():
    for constant, grid in GRID.items():
        assert default_of(constant) in grid


def test_a_replay_under_the_defaults_is_the_model_where_there_is_no_second_round(values):
    replay = Replay.record(values, candidates=CANDIDATES, training=TRAINING)
    model = CrossDomainRegressor(candidates=CANDIDATES, training=TRAINING, random_state=0)
    model.fit(
        values.X,
        values.y,
        sample_domain=values.sample_domain,
        source_domains=values.source_domains,
    )
    rows = ~values.is_source
    predicted = model.predict(values.X[rows], sample_domain=values.sample_domain[rows])
    replayed = np.einsum("m,mnc->nc", replay.weights(ChoiceSettings()), replay.predicted)
    np.testing.assert_allclose(replayed.ravel(), predicted.ravel())


def test_a_risk_margin_without_end_leaves_the_plain_rule(replay):
    names = [trial.candidate.name for trial in replay.trials]
    assert replay.weights(ChoiceSettings(risk_margin=0.0))[names.index("linear on flow")] > 0.5
    insured = replay.weights(ChoiceSettings(risk_margin=1e6))
    assert insured[names.index("linear on raw")] == pytest.approx(1.0)


def test_target_labels_only_score(circle, replay):
    hidden = replace(circle, y=np.where(circle.is_source, circle.y, 1 - circle.y))
    other = Replay.record(hidden, candidates=CANDIDATES, training=TRAINING)
    settings = ChoiceSettings()
    np.testing.assert_array_equal(other.weights(settings), replay.weights(settings))
    assert other.score(settings) == pytest.approx(100 - replay.score(settings))


def test_a_grid_is_scored_and_nobody_pays_for_reach_among_classes(replay):
    found = score_grid("circle", "Circle", replay)
    assert {name: list(by_value) for name, by_value in found.scores.items()} == {
        name: [text(value) for value in grid] for name, grid in GRID.items()
    }
    assert set(found.scores["range_penalty"].values()) == {found.default}
    assert list(found.plain) == ["linear on raw"]


def test_gains_are_points_and_three_per_cent_of_an_error_are_one():
    classes, values = scored("a", 92.0), scored("b", 80.0, task="regression")
    assert classes.gain(92.0) == 2.0
    assert classes.gain(50.0) == -10.0
    assert values.best_plain == 80.0
    assert values.gain(80.0 * 1.03) == pytest.approx(-1.0, abs=0.03)


def test_a_constant_is_chosen_by_the_others_and_ties_keep_the_default():
    loud = scored("loud", 90.0, risk_margin={0.0: 99.0})
    mild = scored("mild", 90.0, risk_margin={1.0: 91.0})
    still = scored("still", 90.0)
    every = [loud, mild, still]
    assert choose("risk_margin", every) == 0.0
    assert choose("steps", every) == default_of("steps")
    assert choose_without("loud", every)["risk_margin"] == 1.0
    assert choose_without("mild", every)["risk_margin"] == 0.0


@pytest.fixture
def report(replay):
    one = score_grid("circle", "Circle", replay)
    rows = report_on([one, replace(one, name="again")], lambda name: replay)
    return {"commit": "0123456789abcdef", "date": "2026-01-02T03:04:05Z", "datasets": rows}


def test_tables_go_between_the_marks_of_a_page(report, tmp_path):
    page, results = tmp_path / "page.md", tmp_path / "constants.json"
    page.write_text("before\n<!-- sensitivity -->\nbygone\n<!-- end of sensitivity -->\nafter\n")
    results.write_text(json.dumps(report))
    write_page(page, results)
    written = page.read_text(encoding="utf-8")
    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert "bygone" not in written
    assert written.count("| Circle |") == 2, "a row for each dataset left out"
    assert "commit 0123456789, 2026-01-02" in written
    for constant in GRID:
        assert f"| `{constant}` |" in written
    with pytest.raises(InputError, match="lacks"):
        write_page(results, results)


def test_a_report_is_read_as_it_was_written(report):
    back = scored_of(json.loads(json.dumps(report)))
    assert [asdict(one) for one in back] == [asdict(one) for one in scored_of(report)]


def test_an_unknown_dataset_is_refused(tmp_path):
    with pytest.raises(InputError, match="no dataset 'moon'"):
        main(["moon", "--out", str(tmp_path)])


@pytest.fixture(scope="module")
def committed():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_says_what_the_committed_file_says(committed):
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with(PAGE, committed), "run make bench-constants"


def test_the_committed_file_is_of_the_present_defaults_and_says_where_it_comes_from(committed):
    assert committed["defaults"] == {constant: default_of(constant) for constant in GRID}
    assert committed["commit"]
    assert committed["date"]
    assert {"python", "domindex", "numpy", "scikit-learn"} <= set(committed["versions"])


def test_the_committed_choices_are_those_of_the_other_datasets(committed):
    datasets = scored_of(committed)
    assert [one.name for one in datasets] == list(known_datasets())
    for row in committed["datasets"]:
        assert row["chosen"] == choose_without(row["name"], datasets)
