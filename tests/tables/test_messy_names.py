"""Files as they come: headers, stray bytes and classes that used to be refused or rewritten."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from domindex.cli import app
from domindex.errors import InputError
from domindex.inputs.names import look_alikes
from domindex.inputs.preparation import InputRequest, TablePreparation
from domindex.tables import FitRequest, Run, fit_table, predict_table, score_table
from domindex.tables.labels import read_labels
from domindex.tables.reading import TextFormat, read_with_notes
from domindex_bench.data.messy import messy_files

SHORT = {"candidates": [["raw", "linear"]], "training": {"index_steps": 1}}
FILES = messy_files()


def read(folder, content, **how):
    path = folder / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_with_notes(path, TextFormat(), **how)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_same_seed_draws_the_same_files():
    again = messy_files(0)
    assert all(FILES[name].content == again[name].content for name in FILES)
    assert FILES["heart"].content != messy_files(1)["heart"].content


@pytest.mark.parametrize("name", FILES)
def test_a_messy_file_goes_through_with_one_command(tmp_path, name):
    file = FILES[name]
    (tmp_path / file.name).write_bytes(file.content)
    settings = 'candidates = [["raw", "linear"]]\n[training]\nindex_steps = 1\n'
    (tmp_path / "short.toml").write_text(settings)
    asked = [*shlex.split(file.arguments), "--out", tmp_path / "run", "--no-report"]
    result = run("fit", tmp_path / file.name, *asked, "--config", tmp_path / "short.toml")
    assert result.exit_code == 0, result.stderr
    predicted = predict_table(tmp_path / "run", tmp_path / file.name).table
    target = Run.open(tmp_path / "run").targets[0]
    assert len(predicted) == len(file.labels)
    if predicted[target].dtype.kind in "f":
        gaps = predicted[target] - file.labels.astype(float)
        assert gaps.abs().median() < file.labels.astype(float).std()
    else:  # classes as they are spelled in the file
        assert set(predicted[target]) <= set(map(str, file.labels))
        assert (predicted[target] == [str(one) for one in file.labels]).mean() > 0.6


def test_names_lose_the_blanks_around_them(tmp_path):
    table, _ = read(tmp_path, "site , a b \nx,1\ny,2\n", texts=["site"])
    assert list(table.columns) == ["site", "a b"]
    table, _ = read(tmp_path, '"a ", b\nx,1\ny,2\n')
    assert list(table.columns) == ["a", "b"]


@pytest.mark.parametrize(
    "text", [",a,b\n0,1,x\n1,2,y\n", "Unnamed: 0,a,b\n7,1,x\n3,2,y\n", "a,b,\n1,x,5\n2,y,4\n"]
)
def test_a_column_that_numbers_the_rows_is_dropped(tmp_path, text):
    table, notes = read(tmp_path, text)
    assert list(table.columns) == ["a", "b"]
    assert notes == ("Dropped 1 column without a name: row numbers.",)


def test_a_column_without_a_name_is_called_by_its_place(tmp_path):
    table, notes = read(tmp_path, ",a,\np,1,2\nq,2,2\np,3,4\n")
    assert list(table.columns) == ["column 1", "a", "column 3"]
    assert notes == ("Columns without a name are called by their place: 'column 1', 'column 3'.",)


def test_columns_of_one_name_are_numbered_and_copies_dropped(tmp_path):
    table, notes = read(tmp_path, "a,b,a,b ,a (2)\n1,5,2,5,3\n2,6,3,6,3\n")
    assert list(table.columns) == ["a", "b", "a (3)", "a (2)"]
    assert table["a (3)"].tolist() == [2, 3]
    assert notes == (
        "Dropped copies of columns of the same name: 'b (2)'.",
        "Numbered columns that have the name of another: 'a (3)'.",
    )


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
def test_other_files_have_the_same_names(tmp_path, suffix):
    pytest.importorskip("pyarrow" if suffix == "parquet" else "openpyxl")
    frame = pd.DataFrame([[0, 1, "x", 2], [1, 2, "y", 5]], columns=["", "a ", "b", "a"])
    path = tmp_path / f"data.{suffix}"
    if suffix == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        columns = [pa.array(frame.iloc[:, number].tolist()) for number in range(4)]
        parquet.write_table(pa.Table.from_arrays(columns, names=list(frame.columns)), path)
    else:
        frame.to_excel(path, index=False)
    table, _ = read_with_notes(path, TextFormat())
    assert list(table.columns) == ["a", "b", "a (2)"]


def test_names_may_be_given_with_their_blanks_or_with_commas_in_them():
    columns = ["Age, in years", "site", "Life expectancy", "b", "b (2)"]
    asked = FitRequest(data="x.csv", target=["Life expectancy "], domain=" site", exclude=["b"])
    found = asked.resolved(columns)
    assert (found.target, found.domain, found.exclude) == (
        ["Life expectancy"], "site", ["b", "b (2)"],
    )  # fmt: skip
    split = FitRequest(data="x.csv", target=["b"], domain="site", exclude=["Age", "in years"])
    assert split.resolved(columns).exclude == ["Age, in years"]


def test_options_of_names_may_be_repeated(tmp_path, data):
    asked = ["fit", data, "--target", "outcome", "--domain", "site", "--no-report"]
    (tmp_path / "short.toml").write_text('candidates = [["raw", "linear"]]')
    more = [
        "--exclude",
        "dose",
        "--exclude",
        "latitude,version",
        "--config",
        tmp_path / "short.toml",
    ]
    result = run(*asked, *more, "--effort", "quick", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["data"]["columns"] == ["site", "x", "z", "color", "outcome"]
    assert about["settings"]["effort"] == "quick"
    wrong = run(*asked, "--effort", "much", "--out", tmp_path / "run-2")
    assert wrong.exit_code == 2
    assert "effort is 'much'" in wrong.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("spelled", "classes"),
    [
        (["True", "False"], ["False", "True"]),
        (["TRUE", "FALSE"], ["FALSE", "TRUE"]),
        (["01", "10"], ["01", "10"]),
        (["1", "0"], [0, 1]),
        (["1.0", "0.0"], [0, 1]),
    ],
)
def test_classes_come_back_as_they_are_spelled(tmp_path, spelled, classes):
    lines = [f"{'ab'[row % 2]},{spelled[row % 2]}" for row in range(6)]
    table, _ = read(tmp_path, "\n".join(["site,y", *lines, "c,"]), labels=["y"])
    labels = read_labels(table, ["y"], "auto")
    assert sorted(set(labels.values[labels.known].tolist())) == classes
    assert labels.known.tolist() == [True] * 6 + [False]


def test_true_and_false_of_a_frame_are_classes_too():
    labels = read_labels(pd.DataFrame({"y": [True, None, False]}), ["y"], "auto")
    assert labels.values[labels.known].tolist() == ["True", "False"]


def test_later_labels_match_classes_that_were_true_and_false(tmp_path):
    file = FILES["churn"]
    (tmp_path / "churn.csv").write_bytes(file.content)
    how = {"target": ["churn"], "domain": "State", "settings": SHORT, "report": False}
    run = fit_table(tmp_path / "churn.csv", out=tmp_path / "run", **how)
    later, _ = read_with_notes(tmp_path / "churn.csv", TextFormat())
    later.assign(churn=file.labels).to_csv(tmp_path / "later.csv", index=False)
    scores = score_table(run, tmp_path / "later.csv")
    assert scores.overall["accuracy"] > 0.7
    assert not any("no class" in note for note in scores.notes)


def test_one_stray_byte_leaves_all_other_letters_alone(tmp_path):
    content = "site,x\nÉtienne,1\nŁódź,2\n".encode() + b"caf\xe9,3\n"
    table, notes = read(tmp_path, content, texts=["site"])
    assert table["site"].tolist() == ["Étienne", "Łódź", "café"]
    assert "1 line, the first is line 4: byte 0xe9 is read as 'é'" in notes[0]


def test_known_names_that_come_in_another_spelling_are_pointed_out(tmp_path, classes, table):
    rows = table[table["site"].isin(["s0", "s1"])]
    rows.assign(site=rows["site"].str.upper()).to_csv(tmp_path / "later.csv", index=False)
    notes = predict_table(classes, tmp_path / "later.csv").notes
    assert any("2 domains count as new and read" in n or "'S0 for s0'" in n for n in notes)
    known = ["Étienne", "Bonn", 3]
    read_wrongly = "Étienne".encode().decode("cp1252", "replace")
    assert look_alikes([read_wrongly, "Ulm"], known) == {read_wrongly: "Étienne"}
    assert look_alikes(["E\u0301tienne", "bonn "], known) == {
        "E\u0301tienne": "Étienne", "bonn ": "Bonn",
    }  # fmt: skip
    assert look_alikes(["bonn", "Bonn"], known) == {}


def prepared(columns, domains, sources, **request):
    table = pd.DataFrame(columns)
    is_source = np.isin(domains, sources)
    how = {"domains": list(domains), "is_source": is_source, "request": InputRequest(**request)}
    preparation, notes = TablePreparation.fit(table, **how)
    return preparation, notes, preparation.apply(table)


def test_no_answer_is_an_answer_of_its_own():
    rng = np.random.default_rng(0)
    domains = np.repeat(["a", "b", "c"], 60)
    color = pd.Series(rng.choice(["red", "blue"], 180)).mask(rng.random(180) < 0.6)
    size = pd.Series(rng.normal(size=180)).mask(rng.random(180) < 0.2)
    columns = {"color": color, "size": size}
    preparation, notes, inputs = prepared(columns, domains, ["a", "b"])
    assert preparation.features == [
        "color=blue", "color=red", "color=(missing)", "size", "size (missing)",
    ]  # fmt: skip
    np.testing.assert_array_equal(inputs.values[:, 2], color.isna())
    np.testing.assert_array_equal(inputs.values[:, 4], size.isna())
    np.testing.assert_array_equal(inputs.values[:, :3].sum(axis=1), 1.0)
    assert "Missing values are a category of their own in 1 column: 'color'." in notes
    assert "A column of its own says where a value is missing, for 1 column: 'size'." in notes
    assert inputs.changes.filled == {"size": int(size.isna().sum())}
    again = TablePreparation.from_dict(json.loads(json.dumps(preparation.to_dict())))
    assert again == preparation
    with pytest.raises(InputError, match="inputs are missing"):
        prepared(columns, domains, ["a", "b"], missing="error")


def test_rare_gaps_and_gaps_of_one_domain_are_no_inputs():
    rng = np.random.default_rng(1)
    domains = np.repeat(["a", "b", "c"], 60)
    columns = {"x": rng.normal(size=180), "z": rng.normal(size=180)}
    columns["x"][[3, 70]] = np.nan
    columns["z"][domains == "c"] = np.nan
    preparation, notes, _ = prepared(columns, domains, ["a", "b"])
    assert preparation.features == ["x", "z"]
    assert any(note.startswith("Column 'z' is missing in much more of 'c'") for note in notes)


def test_columns_that_are_missing_alike_are_one_note():
    rng = np.random.default_rng(2)
    domains = np.repeat(["a", "b", "c", "d"], 60)
    columns = {f"q{k}": rng.normal(size=240) for k in range(18)}
    for values in columns.values():
        values[np.isin(domains, ["c", "d"])] = np.nan
    _, notes, _ = prepared({"x": rng.normal(size=240), **columns}, domains, ["a", "b"])
    listed = [note for note in notes if "missing" in note]
    assert len(listed) == 1
    assert listed[0].startswith("18 columns ('q0', 'q1', 'q2', 'q3', 'q4', …) are missing in much")


def test_a_column_that_one_domain_alone_has_is_said_to_be_that():
    file = FILES["heart"]
    table = pd.read_csv(pd.io.common.BytesIO(file.content), index_col=0)
    inputs = table[["age", "pain", "rate", "chol", "vessels", "slope"]]
    how = {"domains": table["hospital"].tolist(), "is_source": table["disease"].notna().to_numpy()}
    preparation, notes = TablePreparation.fit(inputs, **how)
    assert "vessels" not in preparation.features
    assert any("missing nearly everywhere but in 'Cleveland': 'vessels'" in note for note in notes)
    assert not any("codes and postcodes" in note for note in notes)
    assert any("'chol' is 0 in all rows of 'Zürich'" in note for note in notes)
    kept, _ = TablePreparation.fit(inputs, **how, request=InputRequest(keep_columns=["vessels"]))
    assert "vessels" in kept.features


def test_an_excluded_column_is_in_no_note_though_it_has_the_name_of_another(tmp_path):
    file = FILES["survey"]
    (tmp_path / "survey.csv").write_bytes(file.content)
    how = {"exclude": ["Comments"], "settings": SHORT, "report": False, "domain": "Country"}
    asked = {"target": ["Have you sought help, or would you?"]}
    run = fit_table(tmp_path / "survey.csv", out=tmp_path / "run", **asked, **how)
    for path in run.folder.glob("*.json"):
        assert "Comments" not in path.read_text()
