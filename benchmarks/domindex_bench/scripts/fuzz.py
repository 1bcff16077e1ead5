"""Hostile inputs by the thousand: no foreign exception, NaN, hang or change of the caller's data.

Two things are counted. Calls with inputs that were spoiled in one of many ways, by entry point:
`fit` and its settings; `predict`, `predict_proba`, `transform`, `encode`; `place_domains`,
`forecast`, `add_domains`; `load` of models with a valid manifest around a damaged inside; tables
that are read, fitted and predicted; run folders. And saved models of which some bytes, one number,
one text or the end of a file was changed, which must be refused or predict exactly what they did.
What is found is printed with its entry point and seed; one call again, or other seeds:

    python -m domindex_bench.scripts.fuzz load 40 1      # entry point, first seed, how many
    DOMINDEX_FUZZ_SEED=100000 domindex-bench measure fuzz

Calls are made in child processes, so that one that ends its process is counted as a crash and the
next is made in another. `hypothesis` draws hostile values in place of our generators: it shrinks
what it finds. Needs a system with fork.
"""

from __future__ import annotations

import copy
import faulthandler
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as drawn_from
from hypothesis import strategies as st

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.errors import DomindexError
from domindex.persistence.model_folder import write_manifest
from domindex.tables import (
    Run,
    TextFormat,
    add_table,
    draw_report,
    fit_table,
    index_table,
    predict_table,
    score_table,
)
from domindex.tables.reading import read_with_notes
from domindex_bench.measuring import Found, Measurement, origin_line
from domindex_bench.scripts.hostile import (
    OBJECTS,
    one_of,
    spoil_bytes,
    spoil_frame,
    spoil_json,
    spoil_names,
    spoil_numbers,
    spoil_text,
)

SECONDS = 120
"""After which a call counts as hanging."""

N_ROWS = 40
NAMES = np.repeat(["a", "b", "c", "d", "e"], N_ROWS // 5)
SOURCES = ["a", "b", "c"]
SHORT = Training(steps=1, index_steps=1)
QUICK = {"candidates": [("raw", "linear")], "training": SHORT, "random_state": 0}
MANY = {
    "candidates": [
        ("raw", "linear"),
        ("raw", "trees"),
        ("raw", "kernel"),
        ("domain_standardised", "boosting"),
        ("raw", "boosted_linear"),
        ("flow", "network"),
    ],
    "training": SHORT,
    "random_state": 0,
}
"""A committee of which every kind of member is saved."""

FIRST_SEED = int(os.environ.get("DOMINDEX_FUZZ_SEED", "0"))
CALLS_A_CHILD = 400
"""Then a fresh one goes on, so that nothing adds up."""

FAULTS = ("foreign", "nan", "hang", "changed", "crash")
ODD_PATHS = [*OBJECTS, *("x" * 5000 + ".csv", "a\0b.csv", "", 3, b"\xff", "~x", "/", "x/" * 3000)]
DEAD_END = "/dev/zero"


def family() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3)) + np.repeat(np.arange(5.0), N_ROWS // 5)[:, None]
    return X, (X[:, 0] > X[:, 1]).astype(int), X.sum(axis=1)


X, Y, VALUES = family()
FRAME = pd.DataFrame(
    {
        "p": X[:, 0],
        "q": X[:, 1],
        "kind": np.resize(["u", "v", "w"], N_ROWS),
        "when": pd.date_range("2020", periods=N_ROWS),
        "flag": np.resize([True, False], N_ROWS),
        "site": NAMES,
        "y": Y,
    }
)
NAMED = {"sample_domain": "site", "source_domains": SOURCES}
ROLES = {"sample_domain": NAMES, "source_domains": SOURCES}


@dataclass(frozen=True)
class Attack:
    """A call, its name, and what of the caller's it must not change."""

    name: str
    call: Callable[[], Any]
    held: list[Any] = field(default_factory=list)


class Targets:
    """Models, files and folders to be asked and spoiled, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fitted = {
            "classifier": CrossDomainClassifier(**QUICK).fit(X, Y, **ROLES),
            "regressor": CrossDomainRegressor(**MANY).fit(X, VALUES, **ROLES),
            "flow": MomentFlow().fit(X, Y, **ROLES),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.of_frame = CrossDomainClassifier(**QUICK).fit(FRAME, "y", **NAMED)
        for name in ("classifier", "regressor"):
            self.fitted[name].save(folder / name)
        self.table = pd.DataFrame(X, columns=["p", "q", "r"]).assign(
            site=NAMES, kind=np.resize(["u", "v"], N_ROWS)
        )
        labelled = np.isin(NAMES, SOURCES)
        self.table["outcome"] = np.where(labelled, np.where(Y == 1, "yes", "no"), "")
        self.table.to_csv(folder / "table.csv", index=False)
        self.table.to_csv(folder / "table.csv.gz", index=False)
        self.table.to_parquet(folder / "table.parquet", index=False)
        self.table.to_excel(folder / "table.xlsx", index=False)
        self.table.assign(site="new " + self.table["site"]).to_csv(folder / "new.csv", index=False)
        self.fit(folder / "table.csv", "run", report=True)

    def fit(self, table: Any, out: str, *, report: bool = False) -> Run:
        """A run of a table in the folder, replaced where it is there."""
        return fit_table(
            table,
            target=["outcome"],
            domain="site",
            out=self.folder / out,
            settings={"candidates": [["raw", "linear"]], "training": {"index_steps": 1}},
            report=report,
            force=True,
        )

    def copied(self, name: str) -> Path:
        """A copy of a folder, to be spoiled."""
        copy_of = self.folder / f"spoiled-{name}"
        shutil.rmtree(copy_of, ignore_errors=True)
        shutil.copytree(self.folder / name, copy_of)
        return copy_of


def attack_fit(rng: np.random.Generator, targets: Targets) -> Attack:
    """What is given to `fit`, or one of the settings, is spoiled."""
    if rng.random() < 0.3:
        return attack_settings(rng)
    if rng.random() < 0.3:
        frame, kind = (
            spoil_frame(FRAME, rng),
            one_of([CrossDomainClassifier, CrossDomainRegressor], rng),
        )
        target = "y" if kind is CrossDomainClassifier else "p"
        return Attack(
            f"{kind.__name__} frame",
            lambda: kind(**QUICK).fit(frame, target, **NAMED).predict(FRAME),
            [frame],
        )
    model = one_of(
        [CrossDomainClassifier(**QUICK), CrossDomainRegressor(**QUICK), MomentFlow()], rng
    )
    given = {"X": X, "y": VALUES if isinstance(model, CrossDomainRegressor) else Y, **ROLES}
    spoiled = one_of(["X", "y", "sample_domain", "source_domains", "sample_weight"], rng)
    if spoiled in ("X", "y"):
        given[spoiled] = spoil_numbers(given[spoiled], rng)
    elif spoiled == "sample_domain":
        given[spoiled] = spoil_names(NAMES, rng)
    elif spoiled == "source_domains":
        others = [["a", "x"], [["a"]], 3, NAMES == "a", {"a": 1}, iter("ab"), "a"]
        given[spoiled] = one_of([*OBJECTS, *others], rng)
    elif not isinstance(model, MomentFlow):
        given[spoiled] = spoil_numbers(np.ones(N_ROWS), rng)

    def call() -> Any:
        fitted = model.fit(given["X"], given["y"], **_but(given, "X", "y"))
        return fitted.predict(X, sample_domain=NAMES) if hasattr(fitted, "predict") else None

    held = [one for name, one in given.items() if not hasattr(one, "__next__")]
    return Attack(f"{type(model).__name__} {spoiled}", call, held)


def _but(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one for name, one in given.items() if name not in names}


def attack_settings(rng: np.random.Generator) -> Attack:
    kind = one_of([CrossDomainClassifier, CrossDomainRegressor], rng)
    names = sorted(set(kind().get_params(deep=False)))
    if rng.random() < 0.3:
        names = [f"training__{name}" for name in sorted(SHORT.get_params())]
    name, value = one_of(names, rng), one_of([*OBJECTS, -7.5, 0, 2.5, "auto", np.nan, 1e308], rng)
    y = Y if kind is CrossDomainClassifier else VALUES

    def call() -> Any:
        model = kind(**{**QUICK, "training": Training(steps=1, index_steps=1)})
        return model.set_params(**{name: value}).fit(X, y, **ROLES).predict(X, sample_domain=NAMES)

    return Attack(f"{kind.__name__} {name}={value!r:.20}", call, [X, y])


def attack_predict(rng: np.random.Generator, targets: Targets) -> Attack:
    if rng.random() < 0.3:
        frame, model = spoil_frame(FRAME, rng), targets.of_frame
        calls = [
            lambda: model.predict_proba(frame),
            lambda: model.place_domains(frame),
            lambda: np.array(model.score(frame, "y", sample_domain="site")),
        ]
        return Attack("frame", one_of(calls, rng), [frame])
    return _ask(rng, targets, ["predict", "predict_proba", "encode", "transform", "std"])


def attack_place(rng: np.random.Generator, targets: Targets) -> Attack:
    return _ask(rng, targets, ["place_domains", "forecast", "add_domains"])


def _ask(rng: np.random.Generator, targets: Targets, methods: list[str]) -> Attack:
    """A method of a fitted model with spoiled rows, or spoiled names, or both."""
    can = [
        (name, method)
        for name, model in targets.fitted.items()
        for method in methods
        if hasattr(model, method) or (method == "std" and name == "regressor")
    ]
    name, method = one_of(can, rng)
    model = targets.fitted[name]
    rows = spoil_numbers(X, rng) if rng.random() < 0.8 else X
    given: dict[str, Any] = {}
    if method != "transform" or name == "flow":
        given["sample_domain"] = NAMES if rng.random() < 0.5 else spoil_names(NAMES, rng)
    if method == "add_domains" and given["sample_domain"] is NAMES:
        given["sample_domain"] = np.char.add("new ", NAMES)

    def call() -> Any:
        if method == "std":
            return model.predict(rows, return_std=True, **given)
        found = getattr(model, method)(rows, **given)
        if method == "add_domains":
            return found.domain_indices_, found.forecast_
        return found

    return Attack(f"{method} {name}", call, [rows, *given.values()])


def attack_load(rng: np.random.Generator, targets: Targets) -> Attack:
    """A path that is none, or a folder with a valid manifest in which something is wrong."""
    kind = one_of(["path", "bytes", "json", "json", "json", "array", "array", "file"], rng)
    if kind == "path":
        path = one_of([*ODD_PATHS, targets.folder, targets.folder / "table.csv"], rng)
        return Attack(f"path {path!r:.20}", lambda: domindex.load(path).domain_indices_)
    name = one_of(["classifier", "regressor"], rng)
    spoiled = targets.copied(name)
    files = sorted(spoiled.iterdir())
    file = one_of(files, rng)
    if kind == "bytes":
        file.write_bytes(spoil_bytes(file.read_bytes(), rng))
    elif kind == "json":
        path = spoiled / "model.json"
        path.write_bytes(spoil_json(path.read_bytes(), rng))
    elif kind == "array":
        spoil_array(spoiled / "weights.safetensors", rng)
    else:
        file.unlink()
        instead = one_of(["nothing", "link", "folder", "pipe"], rng)
        if instead == "link":
            file.symlink_to(one_of([DEAD_END, "nowhere", file.name], rng))
        elif instead == "folder":
            file.mkdir()
        elif instead == "pipe":
            os.mkfifo(file)
    if kind not in ("file",) and file.name != "manifest.sha256":
        write_manifest(spoiled)

    def call() -> Any:
        model = domindex.load(spoiled)
        places = model.place_domains(X, sample_domain=NAMES)
        predicted = model.predict(X, sample_domain=NAMES)
        return predicted, model.encode(X, sample_domain=NAMES), places

    return Attack(f"{kind} of {name}", call)


def spoil_array(path: Path, rng: np.random.Generator) -> None:
    """One number of the weights, or all of an array's."""
    from safetensors.numpy import load_file, save_file

    arrays = load_file(path)
    name = one_of(sorted(arrays), rng)
    array = arrays[name].copy()
    value = one_of([np.nan, np.inf, 0.0, -1.0, 1e308, 1e20, 1e-320], rng)
    if array.dtype.kind == "u":
        value = int(rng.integers(256))
    if array.size:
        with np.errstate(over="ignore"):
            if rng.random() < 0.5:
                array[...] = value
            else:
                array.flat[rng.integers(array.size)] = value
    arrays[name] = array
    save_file(arrays, path)


def attack_table(rng: np.random.Generator, targets: Targets) -> Attack:
    """A file of a table in which something is wrong: read, fitted, predicted, scored or added."""
    folder = targets.folder
    source = folder / one_of(["table.csv", "table.csv.gz", "table.parquet", "table.xlsx"], rng)
    path = folder / source.name.replace("table", "spoiled")
    if source.name == "table.csv" and rng.random() < 0.8:
        path.write_bytes(spoil_text(source.read_bytes(), rng))
    else:
        path.write_bytes(spoil_bytes(source.read_bytes(), rng))
    if rng.random() < 0.1:
        path = one_of(ODD_PATHS, rng)
    does = one_of(["read", "read", "fit", "predict", "predict", "score", "add", "index"], rng)
    calls: dict[str, Callable[[], Any]] = {
        "read": lambda: read_with_notes(path, TextFormat()) is None,
        "fit": lambda: targets.fit(path, "run-of-spoiled").model().domain_indices_,
        "predict": lambda: predict_table(folder / "run", path).table,
        "score": lambda: score_table(folder / "run", path) is None,
        "add": lambda: add_table(folder / "run", path, out=folder / "grown", force=True).table,
        "index": lambda: index_table(folder / "run", path).table,
    }
    return Attack(f"{does} {path!r:.40}", calls[does])


def attack_run(rng: np.random.Generator, targets: Targets) -> Attack:
    """A run folder in which a file is spoiled or gone, and its model's manifest right again."""
    spoiled = targets.copied("run")
    if rng.random() < 0.1:
        odd = one_of(ODD_PATHS, rng)
        return Attack(f"path {odd!r:.20}", lambda: predict_table(odd, targets.folder / "table.csv"))
    names = ["run.json", "run.json", "model/model.json", "model/model.json", "report.json"]
    name = one_of(names, rng)
    file = spoiled / name
    content = file.read_bytes()
    kind = rng.integers(8)
    if kind == 0:
        file.unlink()
    elif kind == 1:
        file.unlink()
        file.symlink_to(DEAD_END)
    elif kind == 2:
        file.write_bytes(spoil_bytes(content, rng))
    else:
        file.write_bytes(spoil_json(content, rng))
    if name.startswith("model/") and kind > 1:
        write_manifest(spoiled / "model")
    does = one_of(["predict", "predict", "score", "index", "open", "add"], rng)
    if name == "report.json":
        does = "report"
    table = targets.folder / "table.csv"

    def open_all() -> bool:
        run = Run.open(spoiled)
        return (run.rule, run.notes, run.domain, run.form, run.model()) is None

    calls: dict[str, Callable[[], Any]] = {
        "predict": lambda: predict_table(spoiled, table).table,
        "score": lambda: score_table(spoiled, table) is None,
        "index": lambda: index_table(spoiled, table).table,
        "open": open_all,
        "add": lambda: add_table(spoiled, targets.folder / "new.csv", force=True).table,
        "report": lambda: draw_report(spoiled) is None,
    }
    return Attack(f"{does} {name}", calls[does])


def attack_checkpoint(rng: np.random.Generator, targets: Targets) -> Attack:
    """A fit that goes on from a checkpoint in which a file is spoiled: as without, or refused."""
    folder = targets.folder / "checkpoint"
    if not folder.exists():
        whole = CrossDomainClassifier(**MANY).fit(X, Y, checkpoint=folder, **ROLES)
        targets.fitted["checkpoint"] = whole
    expected = targets.fitted["checkpoint"].predict_proba(X, sample_domain=NAMES)
    spoiled = targets.copied("checkpoint")
    files = sorted(one for one in spoiled.rglob("*") if one.is_file() and one.stat().st_size > 1)
    file = one_of(files, rng)
    content = file.read_bytes()
    as_json = file.suffix == ".json" and rng.random() < 0.5
    file.write_bytes(spoil_json(content, rng) if as_json else spoil_bytes(content, rng))

    def call() -> Any:
        model = CrossDomainClassifier(**MANY).fit(X, Y, checkpoint=spoiled, **ROLES)
        found = model.predict_proba(X, sample_domain=NAMES)
        if not np.array_equal(found, expected):
            raise AssertionError("another model than without damage")
        return found

    return Attack(f"checkpoint {file.name}", call)


def attack_export(rng: np.random.Generator, targets: Targets) -> Attack:
    """An exported model of which a text or some bytes are changed, its manifest right again for
    what is no program: a program is code, and its own manifest guards it."""
    if not (targets.folder / "exported").exists():
        targets.fitted["classifier"].export(targets.folder / "exported")
    spoiled = targets.copied("exported")
    files = sorted(path for path in spoiled.rglob("*") if path.is_file())
    file = one_of(files, rng)
    content = file.read_bytes()
    if file.suffix == ".json":
        file.write_bytes(spoil_json(content, rng))
        write_manifest(spoiled)
    else:
        file.write_bytes(spoil_bytes(content, rng))

    def call() -> Any:
        return domindex.load_exported(spoiled).predict_proba(X, sample_domain=NAMES)

    return Attack(f"exported {file.name}", call)


ENTRY_POINTS = {
    "fit": (attack_fit, 2500),
    "predict": (attack_predict, 4000),
    "place": (attack_place, 1500),
    "load": (attack_load, 2000),
    "tables": (attack_table, 1000),
    "run folders": (attack_run, 1000),
    "checkpoints": (attack_checkpoint, 150),
    "exports": (attack_export, 200),
}
"""What is attacked, and how often."""


class Hang(BaseException):
    """A call that took too long; no `Exception`, which something might catch."""


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    """What became of a call: "fine", "refused" or a fault, and words on that."""

    def give_up(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(5 * SECONDS, exit=True)  # where Python is not asked
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except DomindexError:
        return "refused", ""
    except Hang:
        return "hang", traceback.format_exc(limit=-3)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return "foreign", f"{type(error).__name__}: {str(error)[:120]} ({where})"
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
    return ("fine", "") if is_finite(result) else ("nan", "")


def is_finite(result: Any) -> bool:
    """Whether arrays and tables hold no NaN and no infinity, wherever they hold numbers."""
    if isinstance(result, tuple):
        return all(is_finite(one) for one in result)
    if isinstance(result, pd.DataFrame):
        numbers = result.select_dtypes("number").to_numpy(dtype=float)
        return bool(np.isfinite(numbers).all())
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        return bool(np.isfinite(result).all())
    return True


def same(first: Any, second: Any) -> bool:
    """Whether two values of a caller's are alike, bit for bit where they are arrays."""
    if isinstance(first, np.ma.MaskedArray):
        return same(first.data, second.data) and same(first.mask, second.mask)
    if isinstance(first, np.ndarray) and first.dtype != object:
        return first.tobytes() == second.tobytes() and first.dtype == second.dtype
    if isinstance(first, pd.DataFrame):
        return first.equals(second) and list(first.columns) == list(second.columns)
    return _written(first) == _written(second)


def _written(value: Any) -> str:
    """How a value is written, without the addresses of objects in it."""
    return re.sub("0x[0-9a-f]+", "", repr(value))


def tried(attack: Attack) -> tuple[str, str]:
    """The outcome of a call, or that it changed what was given."""
    try:
        before = copy.deepcopy(attack.held)
    except Exception:
        before = None
    found, words = outcome(attack.call)
    if before is not None and not all(same(a, b) for a, b in zip(before, attack.held)):
        return "changed", f"after {found}"
    return found, words


def fuzz(entry: str, first: int = 0, n_calls: int | None = None) -> dict[str, int]:
    """Counts of outcomes of an entry point; every call has a seed of its own."""
    attack_with, usual = ENTRY_POINTS[entry]
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        targets = Targets(Path(place))

        def one(seed: int) -> tuple[str, str]:
            attack = attack_with(np.random.default_rng([seed]), targets)
            kind, words = tried(attack)
            return kind, f"{attack.name}: {words}"

        attack_with(np.random.default_rng([first]), targets)  # what it makes once, it makes here
        for seed, kind, words in in_children(one, range(first, first + (n_calls or usual))):
            found["calls"] += 1
            found[kind] += 1
            if kind in FAULTS:
                print(f"{entry}, seed {seed}: {kind} {words}", flush=True)
    counts = {key: found[key] for key in ("calls", "fine", "refused", *FAULTS)}
    return {**counts, "first seed": first}


def in_children(
    one: Callable[[int], tuple[str, str]], seeds: range
) -> Iterator[tuple[int, str, str]]:
    """Seeds with what became of each; one during which its process ended is a crash."""
    rest = list(seeds)
    while rest:
        part = rest[:CALLS_A_CHILD]
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(reading)
                with os.fdopen(writing, "w", buffering=1) as lines:
                    for seed in part:
                        lines.write(json.dumps([seed, *one(seed)]) + "\n")
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            done = [json.loads(line) for line in lines if line.endswith("\n")]
        _, status = os.waitpid(child, 0)
        for seed, kind, words in done:
            yield seed, kind, words
        if len(done) < len(part):
            yield part[len(done)], "crash", f"the process ended with {status}"
            done.append([])
        rest = rest[len(done) :]


def drawn_values(n_calls: int = 2000) -> dict[str, int]:
    """What hypothesis draws, given to fitted models and to the gate."""
    found = Counter[str]()
    roles = {"sample_domain": NAMES, "source_domains": SOURCES}
    models = [
        CrossDomainClassifier(**QUICK).fit(X, Y, **roles),
        CrossDomainRegressor(**QUICK).fit(X, VALUES, **roles),
        MomentFlow().fit(X, Y, **roles),
    ]
    number = st.floats(width=64) | st.sampled_from([1e20, 1e76, 1e154, -1e308, 5e-324])
    thing = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        number,
        st.text(max_size=3),
        st.binary(max_size=2),
        st.lists(st.integers(), max_size=2),
        st.complex_numbers(),
        st.datetimes(),
        st.integers(400, 420).map(lambda power: 10**power),
    )
    table = st.lists(st.lists(number | thing, min_size=3, max_size=3), min_size=1, max_size=6)
    names = st.lists(st.sampled_from([*"abcde", "new"]) | thing, min_size=1, max_size=6)

    @drawn_from(FIRST_SEED)
    @settings(
        max_examples=n_calls, deadline=None, database=None, suppress_health_check=[*HealthCheck]
    )
    @given(table, names, st.integers(0, 2), st.sampled_from(["predict", "place_domains", "fit"]))
    def ask(rows: Any, given_names: Any, which: int, method: str) -> None:
        model = models[which]
        spoiled = {"sample_domain": (given_names * len(rows))[: len(rows)]}

        def call() -> Any:
            if method == "fit":
                cells = np.array(X, dtype=object)
                cells[: len(rows)] = rows
                y = VALUES if which == 1 else Y
                fresh: Any = MomentFlow() if which == 2 else type(model)(**QUICK)
                return fresh.fit(cells, y, **roles).domain_indices_
            return getattr(model, method if hasattr(model, method) else "transform")(
                rows, **spoiled
            )

        kind, words = outcome(call)
        found["calls"] += 1
        found[kind] += 1
        if kind in FAULTS:
            print(f"drawn: {method}: {kind} {words}", flush=True)

    def all_of_them(_: int) -> tuple[str, str]:
        ask()
        return "fine", json.dumps(dict(found))

    ((_, ended, words),) = in_children(all_of_them, range(1))
    counted: dict[str, int] = json.loads(words) if ended == "fine" else {"crash": 1}
    return {key: counted.get(key, 0) for key in ("calls", "fine", "refused", *FAULTS)}


def mutate(n_mutations: int = 3000) -> dict[str, int]:
    """Saved models in which something was changed: refused, or the same predictions."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        expected, files = {}, []
        for number, settings in enumerate((QUICK, MANY)):
            model = CrossDomainClassifier(**settings).fit(X, Y, **ROLES)
            expected[f"{number}"] = model.predict_proba(X, sample_domain=NAMES)
            saved = Path(place) / str(number)
            model.save(saved)
            files += sorted(saved.iterdir())
        spoiled, seed = Path(place) / "spoiled", FIRST_SEED - 1
        while counts["mutations"] < n_mutations:
            seed += 1
            rng = np.random.default_rng([seed])
            file = one_of(files, rng)
            content = file.read_bytes()
            as_json = file.suffix == ".json" and rng.random() < 0.5
            changed = spoil_json(content, rng) if as_json else spoil_bytes(content, rng)
            if changed == content:
                continue
            shutil.rmtree(spoiled, ignore_errors=True)
            shutil.copytree(file.parent, spoiled)
            (spoiled / file.name).write_bytes(changed)
            counts["mutations"] += 1
            answers: list[Any] = []
            found, words = outcome(lambda answers=answers: answers.append(_answer(spoiled)))
            if found == "fine":
                found = (
                    "same" if np.array_equal(answers[0], expected[file.parent.name]) else "silent"
                )
            counts[found] += 1
            if found not in ("same", "refused"):
                print(f"mutation, seed {seed}: {file.name}: {found} {words}", flush=True)
    kinds = ("mutations", "refused", "same", "silent", "foreign", "nan", "hang")
    return {kind: counts[kind] for kind in kinds}


def _answer(folder: Path) -> np.ndarray:
    return domindex.load(folder).predict_proba(X, sample_domain=NAMES)


def table(content: Found) -> list[str]:
    head = (
        "| given to | calls | answered | refused with an error of ours | foreign exceptions | NaN"
    )
    lines = [f"{head} | hangs | changes of the caller's data | crashes |", "|---" * 9 + "|"]
    kinds = ("calls", "fine", "refused", *FAULTS)
    rows = {entry: content[entry] for entry in (*ENTRY_POINTS, "hypothesis") if entry in content}
    rows["all"] = {kind: sum(row.get(kind, 0) for row in rows.values()) for kind in kinds}
    for name, counts in rows.items():
        lines.append(f"| {name} | {' | '.join(f'{counts.get(kind, 0):,}' for kind in kinds)} |")
    changed = content["changed models"]
    newest = max(content.values(), key=lambda part: part["date"])
    earlier = [name for name, part in content.items() if part["tree"] != newest["tree"]]
    return [
        *lines,
        "",
        f"Of {changed['mutations']:,} changes of a saved model, {changed['refused']:,} were "
        f"refused, {changed['same']:,} opened with the very same predictions, and "
        f"{changed['silent']:,} changed them silently.",
        "",
        origin_line("fuzz", newest)
        + (f" Of an earlier tree: {', '.join(earlier)}." if earlier else ""),
    ]


MEASUREMENT = Measurement(
    parts={
        **{entry: partial(fuzz, entry, FIRST_SEED) for entry in ENTRY_POINTS},
        "hypothesis": drawn_values,
        "changed models": mutate,
    },
    page="threats.md",
    tables={"fuzz": table},
)

if __name__ == "__main__":
    counts = fuzz(sys.argv[1], *map(int, sys.argv[2:4]))
    print(counts)
    sys.exit(any(counts[fault] for fault in FAULTS))
