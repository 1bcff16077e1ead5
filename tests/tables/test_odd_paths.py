"""Whatever is named as a file or a folder of a table or a run: found, or an error that says so."""

import pytest

from domindex.errors import InputError
from domindex.tables import (
    Run,
    TextFormat,
    add_table,
    draw_report,
    fit_table,
    index_table,
    predict_table,
    read_settings,
    resume_table,
    score_table,
    summarise_table,
)
from domindex.tables.reading import read_with_notes

ODD = {
    "long": "x" * 5000 + ".csv",
    "deep": "x/" * 3000 + "y.csv",
    "zero byte": "a\0b.csv",
    "number": 3,
    "bytes": b"x.csv",
    "list": ["x.csv"],
}

CALLS = {
    "open a run": lambda path, run, data: Run.open(path),
    "read": lambda path, run, data: read_with_notes(path, TextFormat()),
    "read settings": lambda path, run, data: read_settings(path),
    "fit": lambda path, run, data: fit_table(path, target=["y"], domain="site", out="run"),
    "fit into": lambda path, run, data: fit_table(
        data, target=["outcome"], domain="site", out=path, checkpoint=True
    ),
    "resume": lambda path, run, data: resume_table(path),
    "predict": lambda path, run, data: predict_table(run, path),
    "predict with": lambda path, run, data: predict_table(path, data),
    "predict into": lambda path, run, data: predict_table(run, data, out=path),
    "score": lambda path, run, data: score_table(run, path),
    "score into": lambda path, run, data: score_table(run, data, out=path),
    "index": lambda path, run, data: index_table(run, path),
    "index into": lambda path, run, data: index_table(run, out=path),
    "graph into": lambda path, run, data: index_table(run, graph=path),
    "add": lambda path, run, data: add_table(run, path, out="grown"),
    "add into": lambda path, run, data: add_table(run, data, out=path),
    "report": lambda path, run, data: draw_report(path),
    "summarise": lambda path, run, data: summarise_table(path, domain="site"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("call", CALLS)
def test_a_path_that_is_none_is_an_input_error(call, odd, values, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        CALLS[call](ODD[odd], values, data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("nameless", ["", ".", "/"])
def test_there_is_nothing_to_resume_of_a_folder_without_a_name(nameless, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"nothing to resume|cannot be the folder of a run"):
        resume_table(nameless)
