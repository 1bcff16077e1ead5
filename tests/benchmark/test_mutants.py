"""Faults on purpose: what is changed, and that a fault is really put where it is said to be."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "bench_mutants.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("bench_mutants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_mutants"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bench_mutants"]


@pytest.mark.parametrize(
    ("code", "faulty"),
    [
        ("a < b", ["a <= b"]),
        ("a is None", ["a is not None"]),
        ("a + b * c", ["a - b * c", "a + b / c"]),
        ("a and not b", ["a or not b", "a and b"]),
        ("-a", ["a"]),
        ("x = 0.5 if a else True", ["x = 0.5 if not a else True", "1.0", "False"]),
        ("x: int = 3", ["x: int = 4"]),
        ("raise ValueError(f'{a + 1} of 2')", []),
    ],
)
def test_a_module_has_every_fault_once_and_none_in_its_words(
    script, tmp_path, monkeypatch, code, faulty
):
    monkeypatch.setattr(script, "SOURCES", tmp_path)
    (tmp_path / "some.py").write_text(code)
    found = script.mutants_of(tmp_path / "some.py", "room")
    texts = [ast.unparse(script.mutated(mutant)[0]) for mutant in found]
    assert len(texts) == len(faulty)
    assert len(set(texts) | {ast.unparse(ast.parse(code))}) == len(texts) + 1
    for one in faulty:
        assert any(one in text for text in texts), one


def test_a_faulty_module_is_the_one_that_is_imported(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SOURCES", tmp_path)
    (tmp_path / "faulty_once.py").write_text("def half(x):\n    return x / 2\n")
    faults = script.mutants_of(tmp_path / "faulty_once.py", "room")
    (times,) = (fault for fault in faults if fault.after == "x * 2")
    monkeypatch.setattr(sys, "meta_path", [script.FaultyModule(times), *sys.meta_path])
    assert importlib.import_module("faulty_once").half(3.0) == 6.0
    del sys.modules["faulty_once"]


def test_the_tests_of_a_line_are_taken_the_fastest_first(script):
    at = {"some.py": {1: {""}, 3: {"slow", "fast"}, 4: {"other"}}}
    baseline = script.Baseline(at, {"slow": 15.0, "fast": 0.1, "other": 10.0})
    fault = script.Mutant("room", "some.py", 0, 3, "a", "b")
    assert baseline.chosen(fault, range(3, 4)) == ["fast", "slow"]
    assert baseline.chosen(fault, range(3, 5)) == ["fast", "other"], "as many as there is time for"
    assert baseline.chosen(fault, range(1, 2)) == ["fast", "other"], "run at import: all it has"
    assert baseline.chosen(fault, range(8, 9)) == []
