"""Tables from files: what is read, and a word of advice on everything that is wrong."""

import builtins
import gc
import gzip
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.inputs.columns import require_roles
from domindex.tables.reading import TextFormat, escape_formulas, read_with_notes, write_table

TABLE = pd.DataFrame({"site": ["01", "NA", "b,c"], "x": [0.1, 0.2, np.nan], "n": [1, 2, 3]})


def read(path, form=TextFormat(), **how):  # noqa: B008
    return read_with_notes(path, form, **how)[0]


def write(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.parquet.gz", "A.CSV"]
)
def test_what_is_written_is_read(tmp_path, name):
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    write_table(TABLE, tmp_path / name, overwrite=False)
    again = read(tmp_path / name, texts=["site"])
    pd.testing.assert_frame_equal(again, TABLE, check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_numbers_of_any_size_come_back(tmp_path):
    values = np.random.default_rng(0).normal(size=600) * 10.0 ** np.arange(-300, 300)
    write_table(pd.DataFrame({"x": values, "y": 1}), tmp_path / "a.csv", overwrite=False)
    np.testing.assert_array_equal(read(tmp_path / "a.csv")["x"], values)


def test_columns_asked_for_as_texts_keep_their_spelling(tmp_path):
    path = write(tmp_path, "site,x\n01,1\n1.0,2\n NA,3\n")
    assert read(path, texts=["site"])["site"].tolist() == ["01", "1.0", " NA"]


def test_words_are_left_as_texts_and_empty_fields_are_missing(tmp_path):
    table = read(write(tmp_path, "a,b\nNA,\nx,2\n"))
    assert table["a"].tolist() == ["NA", "x"]
    assert np.isnan(table["b"][0])


def test_a_mark_of_byte_order_is_no_part_of_the_first_name(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufeffsite,x\na,1\n".encode())
    assert list(read(tmp_path / "a.csv").columns) == ["site", "x"]


def test_another_delimiter_can_be_named(tmp_path):
    path = write(tmp_path, "a;b\n1;2\n")
    assert list(read(path, form=TextFormat(delimiter=";")).columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b\n1,2\n3,4,5\n", "same columns in every row"),
        ("a,b\n1,2,3\n4,5,6\n", "same columns in every row"),
        ('a,b\n1,"2\n3,4\n', "same columns in every row"),
        ("a,b\n1,\0\n", "not a text file"),
    ],
)
def test_a_bad_text_is_explained(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, text))


def test_a_missing_file_is_named_with_the_nearest(tmp_path):
    write(tmp_path, "a,b\n1,2\n", "patients.csv")
    with pytest.raises(InputError, match=r"no file .*patient\.csv\. Did you mean 'patients\.csv'"):
        read(tmp_path / "patient.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path / "folder.csv")


def test_a_name_that_says_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"names end in \.csv"):
        read(write(tmp_path, "a,b\n1,2\n", "data.ods"))


def test_text_in_another_encoding_is_read_with_a_note(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\nü,1\n".encode("latin-1"))
    table, notes = read_with_notes(path, TextFormat())
    assert table["a"].tolist() == ["ü"]
    assert notes == (
        "a.csv is not UTF-8 in 1 line, the first is line 2: byte 0xfc is read as 'ü', as cp1252 "
        "has it. Pass --encoding if names look wrong.",
    )
    path.write_bytes("a;b\nŁódź;1\n".encode("utf-16"))
    assert read(path)["a"].tolist() == ["Łódź"]
    path.write_bytes("a,b\nŁódź,1\n".encode("cp1250"))
    assert read(path, form=TextFormat(encoding="cp1250"))["a"].tolist() == ["Łódź"]
    with pytest.raises(InputError, match=r"not utf-8 text .*0xa3.*--encoding"):
        read(path, form=TextFormat(encoding="utf-8"))
    with pytest.raises(InputError, match="Python does not know"):
        TextFormat(encoding="klingon")


@pytest.mark.parametrize(("mark", "name"), [(";", "a semicolon"), ("\t", "a tab"), ("|", "a bar")])
def test_another_delimiter_is_found_in_the_header(tmp_path, mark, name):
    path = write(tmp_path, mark.join("abc") + "\n" + mark.join("123") + "\n")
    table, notes = read_with_notes(path, TextFormat())
    assert list(table.columns) == ["a", "b", "c"]
    assert notes == (f"Read data.csv with {name} between its columns.",)


def test_decimal_commas_are_numbers(tmp_path):
    path = write(tmp_path, "site;x;n;day\n01;1,45;1;01.02.2020\n02;-1.000,5;2;02.02.2020\n03;;3;\n")
    table, notes = read_with_notes(path, TextFormat(), texts=["site"])
    np.testing.assert_array_equal(table["x"], [1.45, -1000.5, np.nan])
    assert table["day"].tolist()[0] == "01.02.2020"
    assert notes[-1] == "Read decimal commas as numbers: 'x'."
    unclear = write(tmp_path, "a;b\n1,234;x\n2,345;y\n")
    with pytest.raises(InputError, match=r"'a' holds numbers such as '1,234'.*--decimal"):
        read(unclear)
    assert read(unclear, form=TextFormat(decimal=","))["a"].tolist() == [1.234, 2.345]
    assert read(unclear, form=TextFormat(decimal="."))["a"].tolist() == [1234.0, 2345.0]
    listed = write(tmp_path, 'a,b\n"1,5 mg",2\n"2,5 mg",3\n')
    assert read(listed)["a"].tolist() == ["1,5 mg", "2,5 mg"]


def test_blanks_after_commas_and_columns_and_rows_of_nothing_are_dropped(tmp_path):
    path = write(tmp_path, "a, b, c\n1, x y, -200\n2, z, 3\n")
    table = read(path, form=TextFormat(na=["-200"]))
    assert table["b"].tolist() == ["x y", "z"]
    assert np.isnan(table["c"][0])
    table, notes = read_with_notes(write(tmp_path, "a,b,,\n1,2,,\n,,,\n3,4,,\n"), TextFormat())
    assert table.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert notes == (
        "Dropped 2 columns without a name or a value.",
        "Dropped 1 rows without a value.",
    )


def test_a_file_put_together_of_two_is_read_as_one(tmp_path):
    part = "site,x\na,1.5\nb,2\n"
    text = part + "=======,\n" + part
    table, notes = read_with_notes(write(tmp_path, text), TextFormat(), texts=["site"])
    assert table["x"].tolist() == [1.5, 2.0, 1.5, 2.0]
    assert notes == (
        "Dropped 1 lines of marks such as '======='.",
        "Dropped 1 rows that say the header again.",
        "2 of 4 rows are exact copies of rows before them. Remove them if they are not "
        "observations of their own.",
    )


def test_a_workbook_is_read(tmp_path):
    pytest.importorskip("openpyxl")
    TABLE.to_excel(tmp_path / "a.xlsx", index=False)
    pd.testing.assert_frame_equal(read(tmp_path / "a.xlsx"), TABLE, check_dtype=False)
    (tmp_path / "b.xlsx").write_bytes(b"no workbook")
    with pytest.raises(InputError, match="not a whole workbook"):
        read(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match="only read"):
        write_table(TABLE, tmp_path / "c.xlsx", overwrite=False)


def test_a_workbook_is_looked_at_as_a_text_file_is(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": ["1,45", "2,5"], "b": ["x", "y"]}).to_excel(tmp_path / "a.xlsx", index=False)
    table, notes = read_with_notes(tmp_path / "a.xlsx", TextFormat())
    assert table["a"].tolist() == [1.45, 2.5]
    assert notes == ("Read decimal commas as numbers: 'a'.",)
    twice = pd.DataFrame([["x", "x"], [1, 2]])
    twice.to_excel(tmp_path / "b.xlsx", index=False, header=False)
    assert list(read(tmp_path / "b.xlsx").columns) == ["x", "x (2)"]
    pd.DataFrame().to_excel(tmp_path / "c.xlsx", index=False)
    with pytest.raises(InputError, match="its first sheet holds nothing"):
        read(tmp_path / "c.xlsx")


@pytest.mark.parametrize("field", ["version", "method"])
def test_a_workbook_packed_in_a_way_that_nobody_knows_is_refused(tmp_path, field):
    path = tmp_path / "book.xlsx"
    pd.DataFrame({"a": [1], "b": [2]}).to_excel(path, index=False)
    content = bytearray(path.read_bytes())
    at = {"version": 6, "method": 10}[field]
    for entry in re.finditer(b"PK\x01\x02", bytes(content)):  # of the list of parts
        content[entry.start() + at] = 174
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a whole workbook"):
        read(path)


def test_a_truncated_gzip_is_refused(tmp_path):
    content = gzip.compress(("a,b\n" + "1,2\n" * 10_000).encode())
    (tmp_path / "a.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="not a whole gzip file"):
        read(tmp_path / "a.csv.gz")
    (tmp_path / "b.csv.gz").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError, match="not a whole gzip file"):
        read(tmp_path / "b.csv.gz")


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_truncated_parquet_is_refused(tmp_path, share):
    pytest.importorskip("pyarrow")
    write_table(TABLE, tmp_path / "a.parquet", overwrite=False)
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"not a whole Parquet file|is empty"):
        read(tmp_path / "a.parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"domindex\[tables\]"):
        read(tmp_path / "a.parquet")


def test_an_existing_file_is_replaced_only_when_asked(tmp_path):
    path = write(tmp_path, "precious", "out.csv")
    with pytest.raises(InputError, match="--force"):
        write_table(TABLE, path, overwrite=False)
    assert path.read_text() == "precious"
    write_table(TABLE, path, overwrite=True)
    assert path.read_text().startswith("site,x,n")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    write(tmp_path, "", "file")
    with pytest.raises(InputError, match="cannot be written to"):
        write_table(TABLE, tmp_path / "file" / "out.csv", overwrite=True)


def test_an_unknown_column_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"no column 'sit' for the domain.*Did you mean 'site'"):
        require_roles(TABLE, {"domain": ["sit"]})


def test_decimal_commas_that_are_to_be_texts_are_said(tmp_path):
    path = write(tmp_path, "a;b\n1,5;x\n2,25;y\n")
    _, notes = read_with_notes(path, TextFormat(decimal="."))
    assert any("Took numbers with a comma for texts" in note and "'a'" in note for note in notes)


def test_one_column_where_more_are_wanted_asks_for_the_delimiter(tmp_path):
    table = read(write(tmp_path, "a,b\n1,2\n"), form=TextFormat(delimiter=";"))
    with pytest.raises(InputError, match=r"read as one column.*--sep"):
        require_roles(table.columns, {"domain": ["hospital"]})


def test_what_stands_between_columns_is_said_once(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("Ort;x\nKöln;1,5\nBonn;2,5\n".encode("cp1252"))
    _, notes = read_with_notes(path, TextFormat())
    assert [note for note in notes if "semicolon" in note] == [
        "Read a.csv with a semicolon between its columns."
    ]
    assert sum("not UTF-8" in note for note in notes) == 1


def test_commas_between_thousands_are_read_where_a_point_shows_what_they_are(tmp_path):
    path = write(tmp_path, 'a,b\n"1,303.50",x\n346.25,y\n"-2,000",z\nNA,u\n')
    table, notes = read_with_notes(path, TextFormat())
    np.testing.assert_array_equal(table["a"], [1303.5, 346.25, -2000.0, np.nan])
    assert "Read commas between thousands: 'a'." in notes
    other = write(tmp_path, 'a,b\n"1,303.50",x\n"13,03",y\n')
    assert read(other)["a"].tolist() == ["1,303.50", "13,03"]  # neither way of writing


def test_a_file_is_left_to_whoever_opened_it(tmp_path):
    """A reader that is thrown away while the file is open warns of it."""
    path = write(tmp_path, "a,b\n1,2\n")
    gc.collect()  # what other tests left behind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.MonkeyPatch.context() as patch:
            caught = []
            patch.setattr("sys.unraisablehook", lambda args: caught.append(args))
            read(path)
            gc.collect()
    assert not caught


def test_texts_that_begin_like_formulas_are_escaped_and_nothing_else():
    table = pd.DataFrame(
        {
            "=site": ["=1+1", "+4", "-x", "@cmd", "\tx", "north", None],
            "x": [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
            "n": pd.array([-1, 2, None, 4, 5, 6, 7], dtype="Int64"),
        }
    )
    before = table.copy(deep=True)
    escaped = escape_formulas(table)
    assert escaped["'=site"].tolist()[:6] == ["'=1+1", "'+4", "'-x", "'@cmd", "'\tx", "north"]
    assert escaped["x"].tolist() == table["x"].tolist()
    assert escaped["n"].tolist()[0] == -1
    pd.testing.assert_frame_equal(table, before)
