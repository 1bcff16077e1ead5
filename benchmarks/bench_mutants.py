"""Mutation testing: faults are put into the code one at a time, and the tests should notice.

A fault is a changed comparison, operator, number, truth value, condition or result. From every
module a seeded sample is drawn. Each fault is tried in a fork of a process that has numpy, torch
and the others loaded, by the tests that run the faulty line (found with coverage), fastest first,
up to the first failure. What no test notices survives and is listed; `--again` tries only those,
after tests were added.

    python benchmarks/bench_mutants.py --rooms geometry bound validation weights --most 14
    python benchmarks/bench_mutants.py --again

Needs a system that forks; from the repository's root. Writes benchmarks/results/mutants.json.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"

ROOMS = {
    "geometry": (["domindex/geometry/*.py"], ["tests/geometry"]),
    "bound": (
        ["domindex/model/bound.py", "domindex/model/objectives.py"],
        ["tests/model/test_bound.py", "tests/model/test_objectives.py"],
    ),
    "validation": (["domindex/data/validation.py"], ["tests/data/test_validation.py"]),
    "weights": (
        [f"domindex/committee/{name}.py" for name in ("weighing", "stacking", "reach")],
        [f"tests/committee/test_{name}.py" for name in ("weighing", "stacking", "reach")],
    ),
}
"""What is mutated, and which tests should notice: those that stand beside it, nothing wider."""

MOST_SECONDS = 20.0
"""Of tests for one fault, by what they took without it: the fastest ones are taken."""

NOTICED = ("killed", "timed out")
"""Outcomes of a fault that a test noticed."""

LOADED_BEFORE = (
    *(
        "coverage",
        "hypothesis",
        "pytest",
        "pytest_cov",
        "pytest_timeout",
        "torch",
        "lightning_fabric",
    ),
    *(
        "pandas",
        "polars",
        "pyarrow",
        "networkx",
        "ot",
        "scipy.stats",
        "sklearn.ensemble",
        "skops.io",
    ),
)

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault, where it stands, and what came of it."""

    room: str
    path: str
    number: int
    line: int
    before: str
    after: str
    outcome: str = ""

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = deepcopy(node)
        other.ops[0] = COMPARISONS[type(node.ops[0])]()
        yield other
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other = deepcopy(node)
        other.op = OPERATORS[type(node.op)]()
        yield other
    elif isinstance(node, ast.BoolOp):
        other = deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield ast.copy_location(ast.Constant(_other_value(node.value)), node)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        other = deepcopy(node)
        other.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        yield other
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.copy_location(ast.Return(ast.Constant(None)), node)


def _other_value(value: float) -> float:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else (2.0 * value or 1.0)


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.stmt | None]]:
    """(parent, field, position in a list, statement around) of every node that may be changed.

    Annotations, decorators and the words of errors are left alone: they are not behaviour, or tests
    that read them would only repeat them.
    """
    waiting: list[tuple[ast.AST, ast.stmt | None]] = [(tree, None)]
    while waiting:
        parent, around = waiting.pop()
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list", "exc"):
                continue
            nodes = value if isinstance(value, list) else [value]
            for position, node in enumerate(nodes):
                if not isinstance(node, ast.AST):
                    continue
                statement = node if isinstance(node, ast.stmt) else around
                yield parent, field, position if isinstance(value, list) else None, statement
                waiting.append((node, statement))


def _at(parent: ast.AST, field: str, position: int | None) -> ast.AST:
    value = getattr(parent, field)
    return value if position is None else value[position]


def _put(parent: ast.AST, field: str, position: int | None, node: ast.AST) -> None:
    if position is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[position] = node


def _shown(node: ast.AST) -> str:
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return ast.unparse(node)


def mutants_of(path: Path, room: str) -> list[Mutant]:
    """All faults of a module, numbered in the order in which they are found."""
    found: list[Mutant] = []
    for parent, field, position, _ in places(ast.parse(path.read_text())):
        node = _at(parent, field, position)
        for other in changes(node):
            name = path.relative_to(SOURCES).as_posix()
            shown = _shown(node), _shown(other)
            found.append(Mutant(room, name, len(found), node.lineno, *shown))  # type: ignore[attr-defined]
    return found


def mutated(mutant: Mutant) -> tuple[ast.Module, range]:
    """The module with the fault, and the lines of the statement that it is in."""
    tree = ast.parse((SOURCES / mutant.path).read_text())
    number = 0
    for parent, field, position, statement in places(tree):
        for other in changes(_at(parent, field, position)):
            if number == mutant.number:
                lines = _lines(statement)
                _put(parent, field, position, other)
                return ast.fix_missing_locations(tree), lines
            number += 1
    raise LookupError(f"{mutant.path} has no fault number {mutant.number}; measure it anew.")


def _lines(statement: ast.stmt | None) -> range:
    """Of a statement, without what stands inside it."""
    assert statement is not None
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(last, statement.lineno) + 1)


class FaultyModule(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports one module with its fault, and leaves all others to those who come after."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(SOURCES / mutant.path))
        self.tree = mutated(mutant)[0]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, name: str) -> Any:
        return compile(self.tree, self.path, "exec")


class Seconds:
    """A plugin: how long every test took, with its fixtures."""

    def __init__(self) -> None:
        self.of: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.of[report.nodeid] += report.duration


def in_child(work: Any, seconds: float) -> int | None:
    """The exit code of `work()` in a fork of this process; None where it had to be ended."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            os._exit(int(work()))
        except BaseException:
            os._exit(99)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@dataclass(frozen=True)
class Baseline:
    """What the tests of a room do without a fault: which lines each runs, and for how long."""

    tests_at: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def chosen(self, mutant: Mutant, lines: range) -> list[str]:
        """The tests that run a line, fastest first; of what runs at import, all of the module's."""
        at = self.tests_at.get(mutant.path, {})
        names = set().union(*(at.get(line, set()) for line in lines))
        if "" in names:
            names = set().union(*at.values())
        taken, spent = [], 0.0
        for name in sorted(names - {""}, key=lambda name: (self.seconds.get(name, 0.0), name)):
            spent += self.seconds.get(name, 0.0)
            if taken and spent > MOST_SECONDS:
                break
            taken.append(name)
        return taken


def measure_baseline(room: str, folder: Path) -> Baseline:
    """Run the room's tests once under coverage, each line with the tests that ran it.

    What stands in the folder already is taken: tests that were added since are not known to it.
    """
    files = folder / f"{room}.coverage", folder / f"{room}.json"
    if all(file.exists() for file in files):
        return read_baseline(*files, paths_of(room))

    def work() -> int:
        import pytest

        os.environ["COVERAGE_FILE"] = str(files[0])
        seconds = Seconds()
        options = ["--cov=domindex", "--cov-context=test", "--cov-report="]
        code = pytest.main([*OPTIONS, *options, *ROOMS[room][1]], plugins=[seconds])
        files[1].write_text(json.dumps(seconds.of))
        return code

    code = in_child(work, 1800.0)
    if code != 0:
        raise SystemExit(f"The tests of {room} end with {code} without any fault. Mend them first.")
    return read_baseline(*files, paths_of(room))


def read_baseline(covered: Path, durations: Path, paths: list[Path]) -> Baseline:
    """Tests by line; what a fixture of many tests ran counts for every test of its file."""
    from coverage import CoverageData

    seconds = json.loads(durations.read_text())
    in_file: dict[str, set[str]] = defaultdict(set)
    for name in seconds:
        in_file[name.split("::")[0]].add(name)
    data = CoverageData(str(covered))
    data.read()
    tests_at: dict[str, dict[int, set[str]]] = {}
    for path in paths:
        lines: dict[int, set[str]] = {}
        for line, contexts in data.contexts_by_lineno(str(path)).items():
            names: set[str] = set()
            for context in contexts:
                name, _, phase = context.partition("|")
                names |= in_file[name.split("::")[0]] if phase == "setup" else {name}
            lines[line] = names
        tests_at[path.relative_to(SOURCES).as_posix()] = lines
    return Baseline(tests_at, seconds)


OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(ROOT)]


def tried(mutant: Mutant, baseline: Baseline) -> Mutant:
    """The mutant with its outcome: killed, timed out, survived, or run by no test."""
    lines = mutated(mutant)[1]
    tests = baseline.chosen(mutant, lines)
    if not tests:
        return replace(mutant, outcome="not run")

    def work() -> int:
        import pytest

        sys.meta_path.insert(0, FaultyModule(mutant))
        return pytest.main([*OPTIONS, "-p", "no:cov", *tests])

    usual = sum(baseline.seconds.get(name, 0.0) for name in tests)
    code = in_child(work, 20.0 + 4.0 * usual)
    outcome = {0: "survived", None: "timed out"}.get(code, "killed")
    return replace(mutant, outcome=outcome)


def preload(folder: Path) -> None:
    """Load everything heavy once; the package itself is forgotten, so that each child reads it."""
    for name in LOADED_BEFORE:
        importlib.import_module(name)
    sys.pycache_prefix, sys.dont_write_bytecode = str(folder / "pyc"), False
    sys.path.insert(0, str(SOURCES))
    for room in ("geometry", "committee.building", "model.module", "data"):
        importlib.import_module(f"domindex.{room}")
    for name in [name for name in sys.modules if name.split(".")[0] == "domindex"]:
        del sys.modules[name]


def paths_of(room: str) -> list[Path]:
    """The modules of a room that are mutated."""
    return sorted(file for glob in ROOMS[room][0] for file in SOURCES.glob(glob))


def sample(rooms: list[str], most: int, seed: int) -> list[Mutant]:
    """At most `most` faults a module, drawn with a seed; no module's draw depends on others."""
    drawn: list[Mutant] = []
    for room in rooms:
        for path in paths_of(room):
            found = mutants_of(path, room)
            rng = random.Random(f"{seed} {path.relative_to(SOURCES).as_posix()}")
            # A room of one or two modules is tried as thoroughly as one of thirty.
            share = most if room == "geometry" else 5 * most
            drawn += sorted(rng.sample(found, min(share, len(found))), key=lambda m: m.number)
    return drawn


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()


def written(mutants: list[Mutant], seed: int, most: int) -> dict[str, Any]:
    """What is kept: counts a room and a module, and every fault that no test noticed."""
    rooms: dict[str, dict[str, int]] = defaultdict(lambda: {"mutants": 0, "killed": 0})
    for mutant in mutants:
        rooms[mutant.room]["mutants"] += 1
        rooms[mutant.room]["killed"] += mutant.outcome in NOTICED
    alive = [asdict(m) for m in mutants if m.outcome not in NOTICED]
    return {"commit": commit(), "seed": seed, "most": most, "rooms": rooms, "survivors": alive}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--most", type=int, default=14, help="faults a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="only what survived last time")
    parser.add_argument("--baseline", type=Path, help="a folder to keep which test runs what in")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    os.chdir(ROOT)
    folder = asked.baseline or Path(tempfile.mkdtemp(prefix="mutants-"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    kept = (
        json.loads(asked.out.read_text()) if asked.out.exists() else {"rooms": {}, "survivors": []}
    )
    if asked.again:
        trials = [Mutant(**m) for m in kept["survivors"] if m["room"] in asked.rooms]
    else:
        trials = sample(asked.rooms, asked.most, asked.seed)
    preload(folder)
    done: list[Mutant] = []
    for room in dict.fromkeys(mutant.room for mutant in trials):
        begin = time.monotonic()
        baseline = measure_baseline(room, folder)
        print(f"{room}: {time.monotonic() - begin:.0f} s without a fault", flush=True)
        for mutant in (m for m in trials if m.room == room):
            if done and done[-1].path != mutant.path:
                keep(merged(kept, done, asked), asked.out)
            done.append(tried(mutant, baseline))
            if done[-1].outcome not in NOTICED:
                m = done[-1]
                print(f"{m.path}:{m.line} {m.outcome}: {m.before}  →  {m.after}", flush=True)
    now = merged(kept, done, asked)
    keep(now, asked.out)
    for room, counts in now["rooms"].items():
        print(f"{room}: {counts['killed']} of {counts['mutants']} killed")


def keep(now: dict[str, Any], path: Path) -> None:
    """Write down what is known so far: a run that is cut off has its figures up to there."""
    path.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")


def merged(kept: dict[str, Any], done: list[Mutant], asked: argparse.Namespace) -> dict[str, Any]:
    """What was measured now in place of what was known of the same rooms."""
    if asked.again:
        now = written(done, kept["seed"], kept["most"])
        fixed = {room: counts["killed"] for room, counts in now["rooms"].items()}
        now["rooms"] = {
            room: {**counts, "killed": counts["killed"] + fixed.get(room, 0)}
            for room, counts in kept["rooms"].items()
        }
    else:
        now = written(done, asked.seed, asked.most)
        now["rooms"] = {**kept["rooms"], **now["rooms"]}
    tried_now = {(mutant.path, mutant.number) for mutant in done}
    rooms = {mutant.room for mutant in done}
    now["survivors"] += [
        one
        for one in kept["survivors"]
        if one["room"] not in rooms
        or (asked.again and (one["path"], one["number"]) not in tried_now)
    ]
    return now


if __name__ == "__main__":
    main()
