"""Measurements that are no suite: kept part by part, and shown from what is kept."""

import json
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from domindex.errors import InputError
from domindex_bench import measuring, source_tree
from domindex_bench.measuring import MEASUREMENTS, Measurement, measure_parts, read_results

HERE = [name for name in MEASUREMENTS if name != "skada" or find_spec("skada")]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A measurement of two parts, and the folder of its results and its page."""
    (tmp_path / "page.md").write_text("before\n<!-- mark -->\nold\n<!-- end of mark -->\nafter\n")
    known = Measurement(
        parts={"one": lambda: {"value": 1}, "two": lambda: {"value": 2}},
        page="page.md",
        tables={"mark": lambda content: [f"sum {sum(one['value'] for one in content.values())}"]},
    )
    monkeypatch.setattr(measuring, "RESULTS", tmp_path)
    monkeypatch.setattr(measuring, "DOCS", tmp_path)
    monkeypatch.setattr(measuring, "import_module", lambda name: SimpleNamespace(MEASUREMENT=known))
    return tmp_path


def test_a_part_is_kept_with_its_origin_and_others_stay(kept):
    measure_parts("speed", ["one"])
    measure_parts("speed", ["two"])
    content = json.loads((kept / "speed.json").read_text())
    assert {part: row["value"] for part, row in content.items()} == {"one": 1, "two": 2}
    assert all(row["tree"] == source_tree() and row["commit"] for row in content.values())
    assert (kept / "page.md").read_text() == (
        "before\n<!-- mark -->\nsum 3\n<!-- end of mark -->\nafter\n"
    )


def test_unknown_names_are_answered_with_those_there_are(kept):
    with pytest.raises(InputError, match=r"no measurement 'sped'; .*Did you mean 'speed'"):
        measure_parts("sped")
    with pytest.raises(InputError, match="no part 'three'; there are one, two"):
        measure_parts("speed", ["three"])


@pytest.mark.parametrize("name", HERE)
def test_what_is_kept_is_of_parts_that_can_be_measured_again_and_can_be_shown(name):
    known = import_module(f"domindex_bench.scripts.{name}").MEASUREMENT
    content = read_results(name)
    assert set(content) <= set(known.parts)
    for mark, table in known.tables.items():
        page = (measuring.DOCS / known.page).read_text(encoding="utf-8")
        assert f"<!-- {mark} -->" in page
        assert len(table(content)) > 3


def test_every_file_of_results_is_of_a_measurement():
    files = {path.stem for path in measuring.RESULTS.glob("*.json")}
    assert files - {"constants", "house"} == set(MEASUREMENTS)
