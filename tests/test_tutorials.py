"""Every tutorial runs as it stands, and what is kept of the last run may be shown to anybody."""

import json
import os
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
MOST_BYTES = 500_000
ABSOLUTE = re.compile(r"(?<![\w.<:/])/(?:tmp|home|work|root|usr|Users|var|private)/|[A-Z]:\\\\")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def kinds(notebook):
    """For every cell of code what its outputs are, such as a stream of text or a picture."""
    return [
        [sorted(output.get("data", {"text": ""})) for output in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def data_folder():
    """Where the table of California is, or None."""
    home = Path(os.environ.get("DOMINDEX_DATA", SHARED_DATA))
    places = [home / "california_housing.csv", home / "tables" / "california_housing.csv"]
    return home if any(place.exists() for place in places) else None


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["hospitals", "housing", "pictures", "sensors"]


@each_notebook
def test_what_is_kept_is_small_and_tells_of_no_machine(path):
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert path.stat().st_size < MOST_BYTES
    assert not ABSOLUTE.search(re.sub(r'"image/png": "[^"]*"', "", text))
    assert any(kinds(notebook)), "a notebook without outputs teaches nothing on the site"
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr"


@pytest.mark.full
@each_notebook
def test_a_tutorial_runs_and_shows_what_it_showed(path, tmp_path, monkeypatch):
    pytest.importorskip("nbclient")
    if path.stem == "housing":
        home = data_folder()
        if home is None:
            pytest.skip("california_housing.csv is not here; set DOMINDEX_DATA to its folder")
        monkeypatch.setenv("DOMINDEX_DATA", str(home.resolve()))
    runner = runpy.run_path(str(ROOT / "examples" / "run_tutorials.py"))
    notebook = runner["run_notebook"](path, tmp_path)
    assert kinds(notebook) == kinds(json.loads(path.read_text(encoding="utf-8")))
