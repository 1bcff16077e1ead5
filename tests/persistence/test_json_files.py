"""JSON that this library wrote is read again; anything else is refused with a word on why."""

import json

import pytest

from domindex.errors import InputError
from domindex.persistence.json_files import read_json, write_json

STAMP = {"format": "a thing", "format_version": 1}


def read(path):
    return read_json(path, form="a thing", newest=1)


def test_what_is_written_is_read(tmp_path):
    write_json(tmp_path / "a.json", STAMP | {"x": [1, 2.5, None, "ü"]})
    assert read(tmp_path / "a.json")["x"] == [1, 2.5, None, "ü"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged: it is not JSON"),
        ("[]", "is not a thing"),
        (json.dumps(STAMP | {"format": "another"}), "is not a thing"),
        (json.dumps(STAMP | {"format_version": True}), "its format_version is True"),
        (json.dumps(STAMP | {"format_version": 2}), "Install a newer domindex"),
        (json.dumps(STAMP | {"x": float("nan")}), "damaged: it is not JSON .NaN is no number"),
        (json.dumps(STAMP | {"x": [-float("inf")]}), "-Infinity is no number"),
        (json.dumps(STAMP).replace("}", ', "x": 1e400}'), "1e400 is no number"),
    ],
)
def test_other_content_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.json")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"There is no .*a\.json"):
        read(tmp_path / "a.json")
