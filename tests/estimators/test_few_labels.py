"""Labels of some rows of targets: what they correct, what they say, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, VDIClassifier
from domindex.errors import InputError, PreparationWarning
from domindex.tables import Run, fit_table, score_table

QUICK = {"effort": "quick", "candidates": [("raw", "linear")], "random_state": 0}
N_DOMAINS, N_ROWS, N_SOURCES = 12, 40, 8


class World:
    """Twelve domains of forty rows, the first eight with labels; each is off by a level of its own,
    which its inputs do not show."""

    def __init__(self, spread=2.0, seed=0):
        rng = np.random.default_rng(seed)
        levels = spread * rng.permutation(np.linspace(-1.0, 1.0, N_DOMAINS))
        self.domain = np.repeat(np.arange(N_DOMAINS), N_ROWS)
        self.X = rng.normal(size=(len(self.domain), 3)) + 0.1 * self.domain[:, None]
        noise = 0.3 * rng.normal(size=len(self.domain))
        self.values = self.X[:, 0] + levels[self.domain] + noise
        self.classes = np.where(self.values > 0.6, "high", "low").astype(object)
        self.names = np.array([f"d{number:02}" for number in self.domain], dtype=object)
        self.is_target = self.domain >= N_SOURCES

    def labels(self, y, count):
        """`y` with labels of so many rows of each target, the first, and none of the others."""
        place = np.tile(np.arange(N_ROWS), N_DOMAINS)
        hidden = self.is_target & (place >= count)
        if y.dtype == object:
            return np.where(hidden, None, y)
        return np.where(hidden, np.nan, y)

    def others(self, count):
        return self.is_target & (np.tile(np.arange(N_ROWS), N_DOMAINS) >= count)


@pytest.fixture(scope="module")
def world():
    return World()


def fitted(world, kind, y, **how):
    return kind(**QUICK).fit(world.X, y, sample_domain=world.names, **how)


@pytest.fixture(scope="module")
def values(world):
    """Models of values, by the number of labels in each target."""
    y = world.values
    return {n: fitted(world, CrossDomainRegressor, world.labels(y, n)) for n in (0, 1, 15)}


@pytest.fixture(scope="module")
def classes(world):
    y = world.classes
    return {n: fitted(world, CrossDomainClassifier, world.labels(y, n)) for n in (0, 15)}


def test_a_domain_with_few_labels_is_a_target(values):
    for model in values.values():
        assert model.source_domains_ == [f"d{number:02}" for number in range(N_SOURCES)]


def test_labels_correct_values_where_domains_differ(world, values):
    rest = world.others(15)
    errors = {
        n: np.abs(model.predict(world.X, sample_domain=world.names) - world.values)[rest].mean()
        for n, model in values.items()
    }
    assert errors[15] < 0.4 * errors[0]
    assert errors[1] < errors[0]
    assert "correct predictions there" in values[15].summary()


def test_labels_correct_classes_where_domains_differ(world, classes):
    rest = world.others(15)
    shares = {
        n: (model.predict(world.X, sample_domain=world.names) == world.classes)[rest].mean()
        for n, model in classes.items()
    }
    assert shares[15] > shares[0] + 0.05


def test_sources_and_domains_without_labels_are_predicted_as_before(world, values):
    y = world.labels(world.values, 0)
    only = (world.names == "d09") & (np.arange(len(y)) % N_ROWS < 15)
    y[only] = world.values[only]
    model = fitted(world, CrossDomainRegressor, y)
    elsewhere = world.names != "d09"
    given = world.X[elsewhere], world.names[elsewhere]
    found, before = (m.predict(given[0], sample_domain=given[1]) for m in (model, values[0]))
    np.testing.assert_array_equal(found, before)
    assert model.forecast_["labels"].tolist() == [0, 15, 0, 0]


def test_forecasts_tighten_about_what_is_true(world, values):
    widths = {n: (m.forecast_["high"] - m.forecast_["low"]).mean() for n, m in values.items()}
    assert widths[15] < 0.6 * widths[0]
    model, rest = values[15], world.others(15)
    off = (model.predict(world.X, sample_domain=world.names) - world.values) ** 2
    true = [np.sqrt(off[rest & (world.names == n)].mean()) for n in model.forecast_["domain"]]
    assert 0.7 < model.forecast_["expected_error"].mean() / np.mean(true) < 1.4


def test_forecasts_of_classes_tighten(classes):
    before, after = (classes[n].forecast_ for n in (0, 15))
    assert ((after["high"] - after["low"]) < (before["high"] - before["low"])).all()


def test_deviations_of_values_tighten(world, values):
    rows = world.X[world.is_target], world.names[world.is_target]
    before, after = (
        values[n].predict(rows[0], sample_domain=rows[1], return_std=True)[1] for n in (0, 15)
    )
    assert (after < before).all()


def test_nothing_is_corrected_where_domains_do_not_differ():
    world = World(spread=0.0)
    y = world.values
    plain, given = (fitted(world, CrossDomainRegressor, world.labels(y, n)) for n in (0, 5))
    assert "no sure gain" in given.summary()
    rows = {"sample_domain": world.names}
    np.testing.assert_array_equal(given.predict(world.X, **rows), plain.predict(world.X, **rows))


def test_labels_of_whole_targets_are_never_read(world, values):
    sources = sorted(set(world.names[~world.is_target]))
    model = fitted(world, CrossDomainRegressor, world.values, source_domains=sources)
    assert "labels" not in model.forecast_
    np.testing.assert_array_equal(
        model.predict(world.X, sample_domain=world.names),
        values[0].predict(world.X, sample_domain=world.names),
    )


def test_half_the_labels_make_a_source_unless_others_are_named(world):
    y = world.labels(world.values, N_ROWS // 2)
    with pytest.warns(PreparationWarning, match="Left out 80 rows of source domains"):
        model = fitted(world, CrossDomainRegressor, y)
    assert len(model.source_domains_) == N_DOMAINS
    sources = sorted(set(world.names[~world.is_target]))
    with pytest.warns(PreparationWarning, match="half of their rows or more have one"):
        model = fitted(world, CrossDomainRegressor, y, source_domains=sources)
    assert "labels" not in model.forecast_


def test_where_no_domain_has_many_labels_all_are_sources_as_before(world):
    place = np.tile(np.arange(N_ROWS), N_DOMAINS)
    y = np.where(place < 10, world.values, np.nan)
    with pytest.warns(PreparationWarning, match="Left out 360 rows"):
        assert len(fitted(world, CrossDomainRegressor, y).source_domains_) == N_DOMAINS


def test_a_class_that_no_source_has_is_refused(world):
    y = world.labels(world.classes, 3)
    y[-N_ROWS] = "unheard of"
    with pytest.raises(InputError, match=r"'unheard of' in the target 'd11'.*'high', 'low'"):
        fitted(world, CrossDomainClassifier, y)


def test_an_infinite_label_in_a_target_is_refused(world):
    y = world.labels(world.values, 3)
    y[-N_ROWS] = np.inf
    with pytest.raises(InputError, match="infinity in rows of targets"):
        fitted(world, CrossDomainRegressor, y)


def test_labels_of_one_class_may_be_all_that_a_target_has(world):
    y = world.labels(world.classes, 0)
    first = np.flatnonzero((world.names == "d10") & (world.classes == "high"))[:3]
    y[first] = "high"
    model = fitted(world, CrossDomainClassifier, y)
    chances = model.predict_proba(world.X, sample_domain=world.names)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert model.forecast_["labels"].sum() == 3


def test_frames_with_nullable_integers_mark_what_is_not_labelled(world):
    number = pd.array((world.values > 0.6).astype(int), dtype="Int64")
    frame = pd.DataFrame(world.X, columns=["a", "b", "c"]).assign(site=world.names, y=number)
    frame.loc[world.others(5), "y"] = pd.NA
    model = CrossDomainClassifier(**QUICK).fit(frame, "y", sample_domain="site")
    assert model.forecast_["labels"].tolist() == [5] * 4


def test_several_outputs_are_corrected(world):
    y = np.column_stack([world.labels(world.values, 10), world.labels(-world.values, 10)])
    model = fitted(world, CrossDomainRegressor, y)
    off = model.predict(world.X, sample_domain=world.names)[:, 1] + world.values
    assert np.abs(off[world.others(10)]).mean() < 0.6


def test_a_single_source_is_helped_by_the_labels_alone(world):
    two = np.isin(world.names, ["d00", "d11"])
    y = np.where((world.names == "d11") & world.others(18), np.nan, world.values)[two]
    model = CrossDomainRegressor(**QUICK).fit(world.X[two], y, sample_domain=world.names[two])
    assert model.source_domains_ == ["d00"]
    rest = np.isnan(y)
    off = np.abs(model.predict(world.X[two], sample_domain=world.names[two]) - world.values[two])
    y[rest | (world.names[two] == "d11")] = np.nan
    plain = CrossDomainRegressor(**QUICK).fit(world.X[two], y, sample_domain=world.names[two])
    before = plain.predict(world.X[two], sample_domain=world.names[two]) - world.values[two]
    assert off[rest].mean() < 0.7 * np.abs(before)[rest].mean()
    widths = [(m.forecast_["high"] - m.forecast_["low"])[0] for m in (model, plain)]
    assert widths[0] < widths[1]


def test_a_saved_model_knows_the_labels(world, values, classes, tmp_path):
    for number, model in enumerate((values[15], classes[15])):
        model.save(tmp_path / str(number))
        again = domindex.load(tmp_path / str(number))
        rows = {"sample_domain": world.names}
        np.testing.assert_array_equal(
            again.predict(world.X, **rows), model.predict(world.X, **rows)
        )
        assert again.summary() == model.summary()


def test_a_program_refuses_what_labels_correct(values, tmp_path):
    with pytest.raises(InputError, match="labels of targets correct its predictions"):
        values[15].export(tmp_path / "program")


def test_other_methods_say_that_they_do_not_read_them(world):
    sources = sorted(set(world.names[~world.is_target]))
    model = VDIClassifier(pretraining_steps=2, steps=2, random_state=0)
    with pytest.warns(PreparationWarning, match="which VDIClassifier does not read"):
        model.fit(
            world.X,
            world.labels(world.classes, 5),
            sample_domain=world.names,
            source_domains=sources,
        )


@pytest.mark.parametrize("column", ["values", "classes"])
def test_a_table_with_blank_labels_goes_the_same_way(world, values, classes, column, tmp_path):
    frame = pd.DataFrame(world.X, columns=["a", "b", "c"])
    frame = frame.assign(site=world.names, y=world.labels(getattr(world, column), 15))
    frame.to_csv(tmp_path / "table.csv", index=False)
    settings = {name: QUICK[name] for name in ("effort", "candidates")}
    how = {"target": ["y"], "domain": "site", "settings": settings, "report": False}
    run = fit_table(tmp_path / "table.csv", out=tmp_path / "run", **how)
    assert any("Read the labels of 60 rows in 4 targets" in note for note in run.notes)
    direct, found = {"values": values, "classes": classes}[column][15], Run.open(run.folder).model()
    if column == "values":
        said = direct.predict(world.X, sample_domain=world.names)
        np.testing.assert_allclose(found.predict(frame, sample_domain="site"), said, rtol=1e-9)
    else:
        said = direct.predict_proba(world.X, sample_domain=world.names)
        np.testing.assert_allclose(found.predict_proba(frame, sample_domain="site"), said)
    notes = score_table(run, tmp_path / "table.csv").notes
    assert any("has learned from labels of some rows of 'd08'" in note for note in notes)
