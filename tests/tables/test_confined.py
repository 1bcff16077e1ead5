"""Tables read in a process of their own: the same as here, and nothing beyond the limits."""

import datetime
import io
import tempfile
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import psutil
import pytest
from typer.testing import CliRunner

from domindex.cli import app
from domindex.errors import InputError
from domindex.tables import ReadLimits, TextFormat, confined, predict_table, untrusted_tables
from domindex.tables.confined import ConfinedReader
from domindex.tables.reading import read_with_notes

DAYS = ["2020-01-01", None, "2021-06-01"]


@pytest.fixture(scope="module")
def reader():
    with ConfinedReader() as reader:
        yield reader


@pytest.fixture(scope="module")
def mixed():
    dates = pd.to_datetime(DAYS)
    return pd.DataFrame(
        {
            "text": ["x", "é\u202e", None],
            "whole": [1, 2, 3],
            "float": [1.5, np.nan, -0.0],
            "small": np.array([1, 2, 3], dtype="f4"),
            "bool": [True, False, True],
            "day": dates,
            "zone": dates.tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta([1, 2, 3], unit="D"),
            "date": [datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)],
            "decimal": [Decimal("1.50"), None, Decimal("2.00")],
            "category": pd.Categorical(["u", "v", None]),
            "Int64": pd.array([1, None, 3], dtype="Int64"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "string": pd.array(["a", None, "b"], dtype="string"),
        }
    )


def read(reader, content, name, limits=None, form=None, texts=()):
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return reader.read(file, name, form or TextFormat(), texts, limits=limits)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_a_table_comes_back_as_it_would_have_been_read_here(reader, mixed, tmp_path, suffix):
    path, goal = tmp_path / f"a{suffix}", io.BytesIO()
    if suffix == ".csv":
        mixed.to_csv(path, index=False)
    elif suffix == ".parquet":
        pytest.importorskip("pyarrow")
        mixed.to_parquet(path)
    else:
        pytest.importorskip("openpyxl")
        mixed.drop(columns=["zone", "span"]).to_excel(goal, index=False)
        path.write_bytes(goal.getvalue())
    expected, notes = read_with_notes(path, TextFormat(), texts=["text", "whole"])
    got, said = read(reader, path.read_bytes(), path.name, texts=["text", "whole"])
    pd.testing.assert_frame_equal(got, expected)
    assert said == notes


def test_notes_and_errors_are_those_of_reading_here(reader):
    _, notes = read(reader, b"a;b\n1,5;2\n", "day.csv")
    assert any("day.csv with a semicolon" in note for note in notes)
    latin, notes = read(reader, "a,b\né,2\n".encode("cp1252"), "day.csv")
    assert latin["a"].tolist() == ["é"]
    assert any("not UTF-8" in note for note in notes)
    with pytest.raises(InputError, match=r"day\.csv is empty"):
        read(reader, b"", "day.csv")
    with pytest.raises(InputError, match=r"day\.parquet is not a whole Parquet file"):
        read(reader, b"PAR1", "day.parquet")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"memory": 20_000_000}, "takes too much memory"),
        ({"seconds": 1}, "takes over 1 seconds"),
        ({"answer": 1_000_000}, "MB, more than 1"),
        ({"columns": 2}, "has 3 columns, more than 2"),
    ],
)
def test_a_limit_that_is_passed_is_said_and_the_next_table_is_read(reader, limits, words):
    large = b"a,b,c\n" + b"1,2.25,some words\n" * 1_000_000
    start = time.monotonic()
    with pytest.raises(InputError, match=words):
        read(reader, large, "large.csv", ReadLimits(**limits))
    assert time.monotonic() - start < 60
    assert len(read(reader, b"a,b\n1,2\n", "small.csv")[0]) == 1


def test_a_reader_that_is_lost_is_begun_again():
    with ConfinedReader() as reader:
        assert len(read(reader, b"a,b\n1,2\n", "a.csv")[0]) == 1
        psutil.Process(reader._process.pid).kill()
        reader._process.wait()
        assert len(read(reader, b"a,b\n1,2\n", "a.csv")[0]) == 1
        last = reader._process
    assert last.poll() is not None, "nothing is left running"


def test_what_is_no_plain_value_is_refused(reader):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    goal = io.BytesIO()
    parquet.write_table(pa.table({"a": [[1, 2], [3]], "b": [1, 2]}), goal)
    with pytest.raises(InputError, match="'a' holds a ndarray"):
        read(reader, goal.getvalue(), "lists.parquet")


def test_predictions_of_an_untrusted_table_are_the_same(classes, data, monkeypatch):
    expected = predict_table(classes, data).table
    asked = []
    real = ConfinedReader.read
    watched = lambda self, *given, **how: asked.append(given[1]) or real(self, *given, **how)  # noqa: E731
    monkeypatch.setattr(ConfinedReader, "read", watched)
    with untrusted_tables():
        pd.testing.assert_frame_equal(predict_table(classes, data).table, expected)
    assert asked == [str(data)]
    narrow = ReadLimits(columns=1)
    with pytest.raises(InputError, match="columns, more than 1"), untrusted_tables(narrow):
        predict_table(classes, data)
    predict_table(classes, data)
    assert len(asked) == 2, "only within the block"


def test_a_system_without_fork_says_so(monkeypatch):
    monkeypatch.delattr(confined.os, "fork")
    with pytest.raises(InputError, match="bounded memory"):
        ConfinedReader()


def test_the_command_line_reads_untrusted_tables_so(classes, tmp_path, monkeypatch):
    (tmp_path / "bad.csv").write_text("site\n")
    given = ["index", str(classes.folder), str(tmp_path / "bad.csv"), "--untrusted"]
    asked = []
    monkeypatch.setattr(
        ConfinedReader, "_ask", lambda self, job, file: asked.append(job) or (b"", 9)
    )
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2
    assert "takes over 600 seconds" in result.stderr
    assert asked[0]["name"].endswith("bad.csv")
