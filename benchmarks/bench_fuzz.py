"""Hostile inputs by the thousand: no foreign exception, NaN, hang or change of the caller's data.

    python benchmarks/bench_fuzz.py --inputs 5000 --mutations 2000

Two things are counted. Calls of `fit`, `predict`, `predict_proba`, `transform`, `encode`,
`place_domains`, `forecast`, tables and run folders with inputs that were spoiled in one of many
ways; and saved models of which some bytes, one number, one text or the end of a file was changed,
which must be refused or predict exactly what they did. What is found is printed with its seed, so
that one call can be repeated with `--only SEED`. Writes results/fuzz.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import domindex
from domindex import MomentFlow, Training, VDIClassifier, VDIRegressor
from domindex.benchmark.provenance import Provenance
from domindex.errors import DomindexError

RESULTS = Path(__file__).parent / "results" / "fuzz.json"
SECONDS = 60
"""After which a call counts as hanging."""

N_ROWS = 24
NAMES = np.repeat(["a", "b", "c"], N_ROWS // 3)
SOURCES = ["a", "b"]
QUICK = {
    "candidates": [("raw", "linear")],
    "training": Training(steps=1, index_steps=1),
    "random_state": 0,
}


def family(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.normal(size=(N_ROWS, 3)) + np.repeat(np.arange(3.0), N_ROWS // 3)[:, None]
    return X, (X[:, 0] > X[:, 1]).astype(int), X.sum(axis=1)


NUMBERS = [
    0.0,
    -0.0,
    1e-320,
    1e-154,
    1e20,
    1e38,
    1e74,
    1e76,
    1e154,
    1e308,
    np.inf,
    -np.inf,
    np.nan,
    2**63,
    -1e12,
]
OBJECTS = [
    None,
    "x",
    "",
    "=1+1",
    10**400,
    1j,
    [],
    {},
    object(),
    b"x",
    True,
    pd.NA,
    pd.NaT,
    np.datetime64("2020"),
    lambda: 0,
]


def spoil_numbers(values: np.ndarray, rng: np.random.Generator) -> Any:
    """An array of numbers, spoiled in one way."""
    values = np.array(values, dtype=float)
    kind = rng.integers(14)
    cell = tuple(rng.integers(size) for size in values.shape)
    if kind == 0:
        values[cell] = NUMBERS[rng.integers(len(NUMBERS))]
        return values
    if kind == 1:
        return values * NUMBERS[rng.integers(len(NUMBERS))]
    if kind == 2:
        odd = values.astype(object)
        odd[cell] = OBJECTS[rng.integers(len(OBJECTS))]
        return odd
    if kind == 3:
        return values[: rng.integers(len(values))]
    if kind == 4:
        return np.ma.masked_array(values, mask=rng.random(values.shape) < 0.1)
    if kind == 5:
        return pd.DataFrame(values.reshape(len(values), -1)).add_prefix("p" * rng.integers(1, 3))
    if kind == 6:
        return values.astype([np.float16, np.float32, np.int8, bool, str, complex][rng.integers(6)])
    if kind == 7:
        return values.tolist()[:-1] + [values.tolist()[0:1]]
    if kind == 8:
        import torch

        return torch.tensor(values).to(
            [torch.bfloat16, torch.float16, torch.int64][rng.integers(3)]
        )
    if kind == 9:
        return values[:, None] if rng.random() < 0.5 else values.ravel()
    if kind == 10:
        return np.full_like(values, values.flat[0]) + 1e-15 * values
    if kind == 11:
        return OBJECTS[rng.integers(len(OBJECTS))]
    if kind == 12:
        return np.asfortranarray(values)[::-1]
    return np.repeat(values[:1], len(values), axis=0)


def spoil_names(rng: np.random.Generator) -> Any:
    names = NAMES.astype(object).copy()
    kind = rng.integers(9)
    if kind == 0:
        names[rng.integers(N_ROWS)] = OBJECTS[rng.integers(len(OBJECTS))]
        return names
    if kind == 1:
        return names[:-1]
    if kind == 2:
        return OBJECTS[rng.integers(len(OBJECTS))]
    if kind == 3:
        return np.repeat(["x" * 10_000, "\u202ey", "z"], N_ROWS // 3)
    if kind == 4:
        return np.arange(N_ROWS) - N_ROWS // 2
    if kind == 5:
        return rng.choice(NAMES, N_ROWS)
    if kind == 6:
        return pd.Categorical(NAMES)
    if kind == 7:
        return NAMES[:, None]
    return np.repeat(1.5, N_ROWS)


def attack(
    rng: np.random.Generator, fitted: dict[str, Any], folder: Path
) -> tuple[str, Callable[[], Any], list[Any]]:
    """The name of a call, the call, and what of the caller's it must not change."""
    X, y, values = family(np.random.default_rng(0))
    what = ["fit", "predict", "place", "files", "settings"][
        rng.choice(5, p=[0.25, 0.4, 0.15, 0.1, 0.1])
    ]
    if what == "fit":
        model = [VDIClassifier(**QUICK), VDIRegressor(**QUICK), MomentFlow()][rng.integers(3)]
        given: dict[str, Any] = {"X": X, "y": values if isinstance(model, VDIRegressor) else y}
        given |= {"sample_domain": NAMES, "source_domains": SOURCES}
        spoiled = ["X", "y", "sample_domain", "source_domains"][rng.integers(4)]
        if spoiled in ("X", "y"):
            given[spoiled] = spoil_numbers(given[spoiled], rng)
        elif spoiled == "sample_domain":
            given[spoiled] = spoil_names(rng)
        else:
            given[spoiled] = [
                OBJECTS[rng.integers(len(OBJECTS))],
                ["a", "x"],
                [["a"]],
                3,
                NAMES == "a",
            ][rng.integers(5)]
        return (
            f"fit {type(model).__name__} {spoiled}",
            lambda: _fit(model, given),
            list(given.values()),
        )
    if what in ("predict", "place"):
        name = list(fitted)[rng.integers(len(fitted))]
        model = fitted[name]
        methods = (
            ["predict", "predict_proba", "encode", "transform"]
            if what == "predict"
            else ["place_domains", "forecast"]
        )
        methods = [one for one in methods if hasattr(model, one)] or ["transform"]
        method = methods[rng.integers(len(methods))]
        spoiled_X = spoil_numbers(X, rng) if rng.random() < 0.8 else X
        told = (
            {}
            if method == "transform" and name != "flow"
            else {"sample_domain": NAMES if rng.random() < 0.5 else spoil_names(rng)}
        )
        return (
            f"{method} {name}",
            lambda: getattr(model, method)(spoiled_X, **told),
            [spoiled_X, *told.values()],
        )
    if what == "files":
        return _files(rng, folder)
    key = [
        "n_jobs",
        "verbose",
        "random_state",
        "index_dim",
        "effort",
        "predictor",
        "representation",
        "candidates",
        "training",
        "network",
        "backbone",
        "class_weight",
        "inputs",
        "flow",
    ][rng.integers(14)]
    value = [*OBJECTS, -7.5, 0, 2.5, "auto"][rng.integers(len(OBJECTS) + 4)]
    model = VDIClassifier(**{**QUICK, key: value})
    given = {"X": X, "y": y, "sample_domain": NAMES, "source_domains": SOURCES}
    return f"settings {key}", lambda: _fit(model, given), [X, y]


def _fit(model: Any, given: dict[str, Any]) -> Any:
    model.fit(
        given["X"],
        given["y"],
        sample_domain=given["sample_domain"],
        source_domains=given["source_domains"],
    )
    return model.predict(family(np.random.default_rng(0))[0]) if hasattr(model, "predict") else None


def _files(rng: np.random.Generator, folder: Path) -> tuple[str, Callable[[], Any], list[Any]]:
    """A table, or a run folder, in which some bytes are wrong."""
    from domindex.tables import Run
    from domindex.tables.reading import read_table

    if rng.random() < 0.6:
        source = folder / ["table.csv", "table.parquet"][rng.integers(2)]
        path = folder / f"spoiled{source.suffix}"
        path.write_bytes(_spoiled_bytes(source.read_bytes(), rng))
        return f"table {source.suffix}", lambda: read_table(path) is None, []
    run = folder / "run"
    name = ["run.json", "preparation.json"][rng.integers(2)]
    spoiled_run = folder / "spoiled-run"
    shutil.rmtree(spoiled_run, ignore_errors=True)
    shutil.copytree(run, spoiled_run)
    (spoiled_run / name).write_bytes(_spoiled_json((run / name).read_bytes(), rng))
    return f"run {name}", lambda: Run.open(spoiled_run).preparation() is None, []


def _spoiled_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data[: rng.integers(1, len(data))] if rng.random() < 0.2 else data)


def _spoiled_json(content: bytes, rng: np.random.Generator) -> bytes:
    """One value of a JSON file replaced by another that JSON can hold."""
    parsed = json.loads(content)
    places: list[tuple[Any, Any]] = []

    def walk(part: Any) -> None:
        items = (
            part.items()
            if isinstance(part, dict)
            else enumerate(part)
            if isinstance(part, list)
            else ()
        )
        for key, value in items:
            places.append((part, key))
            walk(value)

    walk(parsed)
    part, key = places[rng.integers(len(places))]
    part[key] = [None, -1, 1e308, "x", [], {}, True, "\u0000"][rng.integers(8)]
    return json.dumps(parsed).encode()


class Hang(BaseException):
    """A call that took too long; no `Exception`, which something might catch."""


def outcome(call: Callable[[], Any]) -> str:
    """What became of a call: "fine", "refused", or what is wrong."""

    def give_up(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except DomindexError:
        return "refused"
    except Hang:
        return "HANG"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return f"FOREIGN {type(error).__name__}: {str(error)[:120]} ({where})"
    finally:
        signal.alarm(0)
    if (
        isinstance(result, np.ndarray)
        and result.dtype.kind == "f"
        and not np.isfinite(result).all()
    ):
        return "NAN"
    return "fine"


def same(first: Any, second: Any) -> bool:
    """Whether two values of a caller's are alike, bit for bit where they are arrays."""
    if isinstance(first, np.ndarray) and first.dtype != object:
        return first.tobytes() == second.tobytes()
    return _told(first) == _told(second)


def _told(value: Any) -> str:
    """How a value is written, without the addresses of objects in it."""
    return re.sub("0x[0-9a-f]+", "", repr(value))


def fuzz(seeds: Sequence[int], seconds: float) -> Counter[str]:
    X, y, values = family(np.random.default_rng(0))
    told = {"sample_domain": NAMES, "source_domains": SOURCES}
    fitted = {
        "classifier": VDIClassifier(**QUICK).fit(X, y, **told),
        "regressor": VDIRegressor(**QUICK).fit(X, values, **told),
        "flow": MomentFlow().fit(X, y, **told),
    }
    counts: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write_tables(folder, X, y)
        for seed in seeds:
            if time.monotonic() > deadline:
                break
            rng = np.random.default_rng(seed)
            name, call, held = attack(rng, fitted, folder)
            try:
                before = copy.deepcopy(held)
            except Exception:
                before = None
            found = outcome(call)
            if before is not None and not all(same(a, b) for a, b in zip(before, held)):
                found = f"CHANGED after {found}"
            counts["calls"] += 1
            counts[found.split(" ")[0]] += 1
            if found not in ("fine", "refused"):
                print(f"seed {seed}: {name}: {found}", flush=True)
    return counts


def _write_tables(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    from domindex.tables import fit_table

    table = pd.DataFrame(X, columns=["p", "q", "r"]).assign(
        site=NAMES, kind=np.resize(["u", "v"], N_ROWS)
    )
    table["outcome"] = np.where(NAMES == "c", "", np.where(y == 1, "yes", "no"))
    table.to_csv(folder / "table.csv", index=False)
    table.to_parquet(folder / "table.parquet", index=False)
    fit_table(
        folder / "table.csv",
        target=["outcome"],
        domain="site",
        out=folder / "run",
        sources=SOURCES,
        settings={"effort": "quick"},
        report=False,
    )


def mutate(n_mutations: int, seconds: float) -> Counter[str]:
    """Saved models in which something was changed: refused, or the same predictions."""
    X, y, _ = family(np.random.default_rng(0))
    model = VDIClassifier(**QUICK).fit(X, y, sample_domain=NAMES, source_domains=SOURCES)
    expected = model.predict_proba(X, sample_domain=NAMES)
    counts: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        saved, spoiled = Path(place) / "model", Path(place) / "spoiled"
        model.save(saved)
        files = sorted(path.relative_to(saved) for path in saved.rglob("*") if path.is_file())
        for seed in range(n_mutations):
            if time.monotonic() > deadline:
                break
            rng = np.random.default_rng(seed)
            shutil.rmtree(spoiled, ignore_errors=True)
            shutil.copytree(saved, spoiled)
            name = files[rng.integers(len(files))]
            content = (saved / name).read_bytes()
            as_json = name.suffix == ".json" and rng.random() < 0.5
            changed = _spoiled_json(content, rng) if as_json else _spoiled_bytes(content, rng)
            if changed == content:
                continue
            (spoiled / name).write_bytes(changed)
            counts["mutations"] += 1
            found = outcome(lambda: domindex.load(spoiled).predict_proba(X, sample_domain=NAMES))
            if found == "fine":
                same_answer = np.array_equal(
                    domindex.load(spoiled).predict_proba(X, sample_domain=NAMES), expected
                )
                found = "same" if same_answer else "SILENT"
            counts[found.split(" ")[0]] += 1
            if found not in ("same", "refused"):
                print(f"seed {seed}: {name}: {found}", flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=5000)
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=1e9, help="for each of the two, at most")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", type=int, help="repeat the call of this seed")
    asked = parser.parse_args()
    started = time.process_time()
    seeds = range(asked.first, asked.inputs) if asked.only is None else [asked.only]
    calls = dict(fuzz(seeds, asked.seconds))
    print(calls, flush=True)
    if asked.only is not None:
        return
    mutations = dict(mutate(asked.mutations, asked.seconds))
    spent = time.process_time() - started
    print(mutations, f"{spent:.0f} s of CPU")
    record = {"first_seed": asked.first, "calls": calls, "mutations": mutations}
    record |= {"cpu_seconds": spent, **asdict(Provenance.here_and_now())}
    asked.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
