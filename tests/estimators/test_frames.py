"""Data frames in Python as tables on the shell: texts, gaps, columns by name, labels left empty."""

import warnings

import numpy as np
import pandas as pd
import pytest

import domindex
from domindex import CrossDomainClassifier, Training
from domindex.errors import (
    ClassNameWarning,
    InputError,
    NoDomainWarning,
    PreparationWarning,
)
from domindex.inputs.preparation import TablePreparation

N_ROWS = 30


@pytest.fixture(scope="module")
def table():
    """Six sites that drift, three of them with labels."""
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(6), N_ROWS)
    rows = rng.normal(size=(len(place), 2))
    return pd.DataFrame(
        {
            "site": [f"s{number}" for number in place],
            "x": rows[:, 0] + place,
            "z": np.where(rng.random(len(place)) < 0.1, np.nan, rows[:, 1]),
            "color": np.where(rng.random(len(place)) < 0.5, "red", "blue"),
            "outcome": np.where(rows[:, 0] > 0, "well", "ill"),
        }
    )


SOURCES = ["s0", "s1", "s2"]
INPUTS = ["x", "z", "color"]


def make():
    return CrossDomainClassifier(
        candidates=[("raw", "linear")], training=Training(index_steps=2), random_state=0
    )


@pytest.fixture(scope="module")
def model(table):
    with pytest.warns(PreparationWarning, match=r"One-hot encoded.*Filled in missing"):
        return make().fit(
            table[INPUTS],
            table["outcome"],
            sample_domain=table["site"],
            source_domains=SOURCES,
        )


def test_texts_and_gaps_are_prepared_as_of_a_table(model, table):
    preparation, _ = TablePreparation.fit(
        table[INPUTS],
        domains=table["site"].tolist(),
        is_source=table["site"].isin(SOURCES).to_numpy(),
    )
    prepared = pd.DataFrame(preparation.apply(table).values, columns=preparation.features)
    plain = make().fit(
        prepared, table["outcome"], sample_domain=table["site"], source_domains=SOURCES
    )
    found = model.predict_proba(table[INPUTS], sample_domain=table["site"])
    expected = plain.predict_proba(prepared, sample_domain=table["site"])
    np.testing.assert_array_equal(found, expected)
    assert model.feature_names_in_.tolist() == INPUTS
    with pytest.raises(InputError, match="Pass a data frame with the columns 'x', 'z', 'color'"):
        model.predict(prepared.to_numpy()[:, :3], sample_domain=table["site"])


def test_a_saved_model_prepares_frames_as_before(model, table, tmp_path):
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    rows = {"sample_domain": table["site"]}
    np.testing.assert_array_equal(
        again.predict_proba(table[INPUTS], **rows), model.predict_proba(table[INPUTS], **rows)
    )


def test_columns_may_be_named_and_labels_left_empty_mark_targets(model, table):
    late = table.copy()
    late.loc[~late["site"].isin(SOURCES), "outcome"] = None
    with pytest.warns(PreparationWarning):
        named = make().fit(late, "outcome", sample_domain="site")
    assert set(named.source_domains_) == set(SOURCES)
    rows = table.drop(columns="outcome")
    found = named.predict_proba(rows, sample_domain="site")
    np.testing.assert_array_equal(found, named.predict_proba(rows))
    expected = model.predict_proba(table[INPUTS], sample_domain=table["site"])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(InputError, match=r"no such column.*Did you mean 'site'"):
        make().fit(late, "outcome", sample_domain="sight")


def test_rows_of_sources_without_a_label_are_left_out(table):
    late = table.assign(z=0.0)[["site", "x", "outcome"]].copy()
    late.loc[~late["site"].isin(SOURCES), "outcome"] = None
    late.loc[[0, 1], "outcome"] = None
    with pytest.warns(PreparationWarning, match="Left out 2 rows of source domains"):
        fitted = make().fit(late[["x"]], late["outcome"], sample_domain=late["site"])
    kept = late.drop(index=[0, 1])
    expected = make().fit(
        kept[["x"]], kept["outcome"], sample_domain=kept["site"], source_domains=SOURCES
    )
    rows = {"sample_domain": late["site"]}
    np.testing.assert_array_equal(
        fitted.predict_proba(late[["x"]], **rows), expected.predict_proba(late[["x"]], **rows)
    )


def test_numbers_without_gaps_are_left_as_they_are(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = make().fit(
            table[["x"]], table["outcome"], sample_domain=table["site"], source_domains=SOURCES
        )
    assert fitted._preparation is None


def test_predictions_without_a_domain_are_warned_about(model, table):
    for act in (model.predict, model.predict_proba):
        with pytest.warns(NoDomainWarning, match="all rows count as one new domain"):
            act(table[INPUTS])
    with pytest.warns(NoDomainWarning):
        model.score(table[INPUTS], table["outcome"])


def test_minus_one_among_sources_is_refused_where_it_marks_targets(table):
    y = np.where(table["site"].isin(SOURCES), (table["outcome"] == "well").astype(int), -1)
    y[3] = -1
    rows = {"sample_domain": table["site"], "source_domains": SOURCES}
    with pytest.raises(InputError, match=r"−1 in all rows of targets.*in 1 rows of sources"):
        make().fit(table[["x"]], y, **rows)


def test_the_map_is_a_table(model):
    found = model.map_
    assert found["domain"].tolist() == model.domains_
    assert found["role"].tolist() == ["source"] * 3 + ["target"] * 3
    np.testing.assert_array_equal(found[["index_1", "index_2"]], model.domain_indices_)
    np.testing.assert_array_equal(found[["std_1", "std_2"]], model.domain_index_std_)


def test_local_indices_come_as_a_frame_where_asked_for(model, table):
    told = make().set_output(transform="pandas")
    told.__dict__.update({k: v for k, v in model.__dict__.items() if k not in told.__dict__})
    assert list(told.transform(table[INPUTS]).columns) == list(model.get_feature_names_out())


def test_the_package_lists_what_it_offers():
    assert {"CrossDomainClassifier", "load", "tables", "reporting", "errors"} <= set(dir(domindex))
    assert domindex.tables.fit_table is not None


@pytest.fixture(scope="module")
def named(table):
    """Fitted on a frame whose columns are named, with a date and a code that are no inputs."""
    late = table.assign(
        seen=[f"2020-01-{1 + row % 28:02}" for row in range(len(table))],
        code=table["site"].str.upper(),
    )
    late.loc[~late["site"].isin(SOURCES), "outcome"] = None
    with pytest.warns(
        PreparationWarning, match=r"code.*'keep_columns'.*seen.*'dates': True"
    ) as said:
        model = make().fit(late, "outcome", sample_domain="site")
    assert not any("--" in str(one.message) for one in said)  # no options of the command line
    return model


def test_columns_are_kept_left_out_and_taken_apart_as_on_the_shell(table, named):
    late = table.assign(seen=pd.Timestamp("2020-01-01"), code=table["site"].str.upper())
    late["seen"] += pd.to_timedelta(np.arange(len(late)) % 90, unit="D")
    late.loc[~late["site"].isin(SOURCES), "outcome"] = None
    how = {"keep_columns": ["code"], "dates": True, "exclude": ["color"]}
    with pytest.warns(PreparationWarning):
        model = make().fit(late, "outcome", sample_domain="site", columns=how)
    names = model._preparation.names
    assert "seen" in names
    assert "color" not in names
    assert len(model.predict(late)) == len(late)
    assert any("One-hot encoded" in note for note in named.preparation_)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"keep_column": ["x"]}, "Did you mean 'keep_columns'"),
        ({"exclude": "x"}, "exclude is 'x'. Pass a list"),
        ({"dates": "yes"}, "Pass True or False"),
        ({"exclude": ["w"]}, "no column 'w' for the columns to leave out"),
        (["x"], "Pass a dictionary"),
    ],
)
def test_wrong_wishes_about_columns_are_refused(table, columns, message):
    with pytest.raises(InputError, match=message):
        make().fit(table, "outcome", sample_domain="site", columns=columns)
    roles = {"sample_domain": table["site"].tolist(), "source_domains": SOURCES}
    with pytest.raises(InputError, match="for data frames"):
        make().fit(table[["x"]].to_numpy(), table["outcome"], **roles, columns={})


def test_labels_of_another_length_are_what_is_said_of_a_frame_with_texts(table):
    with pytest.raises(InputError, match=r"y has 3 entries, but X has"):
        make().fit(table[INPUTS], ["ill", "well", "ill"], sample_domain=table["site"])


def test_a_long_list_of_what_was_done_is_cut_and_kept(table):
    more = {f"c{k}": 1 for k in range(2)}
    late = table.assign(**more, code=table["site"].str.upper(), note=[f"n{k}" for k in table.index])
    late["seen"] = "2020-01-01"
    late.loc[~late["site"].isin(SOURCES), "outcome"] = None
    with pytest.warns(PreparationWarning, match=r"And \d more, in model.preparation_") as said:
        model = make().fit(late, "outcome", sample_domain="site")
    assert len(model.preparation_) > 4
    assert model.preparation_[-1] not in str(said[0].message)


def test_a_later_frame_may_have_more_columns_in_another_order(named, table):
    expected = named.predict(table[["site", *INPUTS]])
    for later in (
        table,  # the labels, too
        table[["outcome", "color", "z", "site", "x"]],
        table.assign(another="text"),
    ):
        np.testing.assert_array_equal(named.predict(later), expected)
    np.testing.assert_array_equal(named.transform(table), named.transform(table[INPUTS]))
    with pytest.raises(InputError, match="There is no column 'z' for the inputs"):
        named.predict(table.drop(columns="z"))


def test_labels_by_name_are_scored_and_those_left_empty_are_not(named, table):
    expected = float(np.mean(named.predict(table) == table["outcome"]))
    assert named.score(table, "outcome") == expected
    assert named.score(table[["site", *INPUTS]], table["outcome"]) == expected
    late = table.copy()
    late.loc[late.index[:20], "outcome"] = None
    rest = float(np.mean(named.predict(table)[20:] == table["outcome"][20:]))
    with pytest.warns(PreparationWarning, match="Left out 20 rows without a label"):
        assert named.score(late, "outcome") == rest
    with pytest.raises(InputError, match="y holds no label in 180 rows"):
        named.score(late.assign(outcome=None), "outcome")


def test_a_domain_of_a_prepared_frame_is_explained_by_its_columns(named):
    found = named.explain_domain("s5")
    assert found["column"].iloc[0] == "x"  # it drifts
    assert set(found["column"]) <= {"x", "z", "color"}


def test_a_prepared_frame_is_reported_with_an_audit(named, table, tmp_path):
    pytest.importorskip("plotly")
    from domindex.reporting import report_data

    content = report_data(named, table, budget=60)
    assert content.audit is not None
    assert [one.name for one in content.profiles] == INPUTS  # as the user knows them
    assert named.report(tmp_path / "report.html", table).exists()


def test_a_column_of_categories_says_so_itself(table):
    numbers = table.assign(color=np.where(table["color"] == "red", 7, 3))
    frame = numbers[INPUTS].astype({"color": "category"})
    with pytest.warns(PreparationWarning, match="One-hot encoded 1 column: 'color'"):
        fitted = make().fit(
            frame, table["outcome"], sample_domain=table["site"], source_domains=SOURCES
        )
    named = ["x", "z", "z (missing)", "color=3", "color=7"]
    assert fitted._preparation.features == named


def test_classes_that_read_alike_are_warned_about(table):
    spelled = table["outcome"].where(table.index % 7 > 0, "Well ")
    with pytest.warns(ClassNameWarning, match="'Well ' and 'well'"):
        make().fit(table[["x"]], spelled, sample_domain=table["site"], source_domains=SOURCES)


@pytest.mark.parametrize(
    ("X", "message"),
    [("patients.csv", "X is a text, 'patients.csv'.*read the file first"), (None, "X is None")],
)
def test_what_is_no_table_at_all_is_told(X, message):
    with pytest.raises(InputError, match=message):
        make().fit(X, [0, 1], sample_domain=["a", "b"], source_domains=["a"])


def test_a_source_spelled_otherwise_is_answered_with_the_nearest(table):
    with pytest.raises(InputError, match="Did you mean 's1'"):
        make().fit(
            table[["x"]], table["outcome"], sample_domain=table["site"], source_domains=["S1"]
        )


def test_sources_that_are_filled_with_minus_one_are_refused(table):
    """Here some targets have labels, so that −1 is not in all of their rows."""
    numbers = table[["x"]]
    sites = table["site"].to_numpy()
    names = list(dict.fromkeys(sites))
    y = np.arange(len(table)) % 2
    y[np.isin(sites, names[2:4])] = -1
    with pytest.raises(InputError, match=f"in all rows of '{names[2]}', and source_domains names"):
        make().fit(numbers, y, sample_domain=sites, source_domains=names[:3])


@pytest.mark.parametrize("name", [("a", "b"), np.nan, 0, None], ids=str)
def test_a_name_that_is_no_text_beside_texts_is_an_input_error(table, name):
    renamed = table.fillna({"z": 0.0}).rename(columns={"z": name})
    for columns in (["site", "x", name, "outcome"], list(renamed.columns)):
        with pytest.raises(InputError, match="Rename the columns of X"):
            make().fit(renamed[columns], "outcome", sample_domain="site", source_domains=SOURCES)


@pytest.mark.parametrize("label", [3, ["well"]], ids=["numbers", "a list"])
def test_a_score_against_labels_of_another_kind_is_an_input_error(model, table, label):
    y = pd.Series([label] * len(table), dtype=object)
    with pytest.raises(InputError, match="y "):
        model.score(table[INPUTS], y, sample_domain=table["site"])


def test_no_rows_and_numbers_beyond_floats_are_an_input_error(model, table):
    with pytest.raises(InputError, match="X is empty"):
        model.predict(table[INPUTS].iloc[:0], sample_domain=[])
    large = table[INPUTS].astype({"x": object})
    large.at[3, "x"] = 10**400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreparationWarning)
        with pytest.raises(InputError, match="infinit"):
            model.predict(large, sample_domain=table["site"])
