"""Fits that are killed and resumed, and disks that are full or read-only: is anything lost?

Every fit runs in a process of its own, with a checkpoint, and saves its model. It is killed
(SIGKILL) one to three times: at a random moment of its CPU time, in the middle of writing a stage
of the checkpoint, or while the model is saved; the stage that it was in is written down. Then it is
begun again until it ends. What it predicts, encodes, places, forecasts and records must be, bit for
bit, that of a fit that nobody killed and that had no checkpoint. Writes results/kills.json and
results/kills.md; fits that stand there and ended with the same result are not run again, so that a
run that is cut off goes on.

    python -m domindex_bench.scripts.kills              # 50 fits
    python -m domindex_bench.scripts.kills --fits 5     # a quick look

Needs a system with fork. The disks need the right to mount a tmpfs, and are left out without.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import domindex
from domindex import Training, VDIClassifier
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex.persistence import atomic, model_folder, stage_cache
from domindex.timings import Timings
from domindex_bench.record import origin

RESULTS = Path(__file__).parents[2] / "results"
MOST_KILLS = 3
KINDS = ("any moment", "any moment", "any moment", "writing a stage", "saving")
SAVING = ("write_json", "write_manifest", "_sync", "_swap", "_sync_folder")

STAGE = mmap.mmap(-1, 32)
"""What a fit is doing, written by its process and read by the one that kills it."""

DATA = make_circle(n_domains=8, n_sources=4, samples_per_domain=40, random_state=0)
ROLES = {"sample_domain": DATA.sample_domain, "source_domains": DATA.source_domains}


def model(steps: int = 60, index_steps: int = 40) -> VDIClassifier:
    return VDIClassifier(
        candidates=[("flow", "network"), ("encoded", "linear"), ("flow", "linear")],
        training=Training(steps=steps, index_steps=index_steps),
        random_state=0,
    )


def digest(fitted: Any) -> str:
    """Of everything that a user may ask of a model."""
    new = ["never seen"] * len(DATA.X)
    tables = (fitted.forecast_, fitted.candidates_, fitted.history_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [
            fitted.predict_proba(DATA.X, sample_domain=DATA.sample_domain),
            fitted.predict_proba(DATA.X, sample_domain=new),
            fitted.encode(DATA.X, sample_domain=DATA.sample_domain),
            fitted.transform(DATA.X),
            fitted.domain_indices_,
            fitted.domain_distances_,
            *(table.select_dtypes("number").to_numpy(dtype=float) for table in tables),
        ]
    whole = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    return hashlib.sha256(whole).hexdigest()


def in_child(work: Callable[[], Any], out: Path) -> int:
    """Start `work` in a forked process; its result goes to a file, as JSON."""
    number = os.fork()
    if number:
        return number
    try:
        out.write_text(json.dumps(work()))
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)


def cpu_seconds(process: int) -> float:
    """Of another process, by its own clock."""
    return time.clock_gettime((~process << 3) | 2)


def wait(process: int, kill_at: float = np.inf) -> str:
    """How a process ended: "done", "killed" or "failed"."""
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            return "killed" if killed else "done" if status == 0 else "failed"
        if np.isfinite(kill_at) and cpu_seconds(process) >= kill_at:
            os.kill(process, signal.SIGKILL)
            kill_at = np.inf
        time.sleep(0.002)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_store(number: int) -> None:
    """From now on: the process ends in the middle of writing that stage of the checkpoint."""
    left, write = [number], stage_cache.replace_file

    def replaced(path: Path, parts: list[bytes]) -> None:
        left[0] -= 1
        if left[0] < 0:
            whole = b"".join(parts)
            draft = path.with_name(f".{path.name}{atomic.DRAFT}")
            draft.write_bytes(whole[: len(whole) // 2])
            die()
        write(path, parts)

    stage_cache.replace_file = replaced


def die_in_save(rng: np.random.Generator) -> None:
    """From now on: before or after one of the steps by which a folder is written."""
    name, before = str(rng.choice(SAVING)), bool(rng.integers(2))
    home = model_folder if hasattr(model_folder, name) else atomic
    step = getattr(home, name)

    def dying(*given: Any, **options: Any) -> Any:
        if before:
            die()
        step(*given, **options)
        die()

    setattr(home, name, dying)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say, for as long as the block lasts, what the process is doing."""
    before = STAGE[:]
    STAGE[:] = name.encode().ljust(len(STAGE))
    try:
        yield
    finally:
        STAGE[:] = before


def tell_stages() -> None:
    """From now on: stages of a fit, and writes to a checkpoint, are said as they begin and end."""
    count, store = Timings.stage, stage_cache.StageCache.store

    @contextmanager
    def told(timings: Timings, name: str) -> Iterator[None]:
        with stage(name), count(timings, name):
            yield

    def stored(cache: stage_cache.StageCache, name: str, value: Any) -> None:
        with stage("checkpointing"):
            store(cache, name, value)

    Timings.stage, stage_cache.StageCache.store = told, stored


def fit_and_save(folder: Path, saved: Path, kind: str | None, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    tell_stages()
    if kind == "writing a stage":
        die_in_store(int(rng.integers(0, 20)))
    start = time.process_time()
    with stage("beginning"):
        fitted = model().fit(DATA.X, DATA.y, checkpoint=folder, **ROLES)
    fit_seconds = time.process_time() - start
    if kind == "saving":
        die_in_save(rng)
    with stage("saving"):
        fitted.save(saved, overwrite=True)
    found = {"fit_seconds": fit_seconds, "saved_seconds": time.process_time() - start}
    with stage("saved"):
        return found | {"digest": digest(fitted), "loaded": digest(domindex.load(saved))}


def plain() -> dict[str, Any]:
    start = time.process_time()
    fitted = model().fit(DATA.X, DATA.y, **ROLES)
    return {"fit_seconds": time.process_time() - start, "digest": digest(fitted)}


def n_stages(folder: Path) -> int:
    return len(list(folder.glob("*.stage"))) if folder.is_dir() else 0


def one_fit(number: int, home: Path, whole: float) -> dict[str, Any]:
    """Kill a fit, resume it until it ends, and say what came of it."""
    rng = np.random.default_rng([1, number])
    folder, saved, out = home / "checkpoint", home / "model", home / "result.json"
    kills: list[dict[str, Any]] = []
    wanted = int(rng.integers(1, MOST_KILLS + 1))
    while len(kills) < wanted:
        kind, seed = KINDS[(number + len(kills)) % len(KINDS)], int(rng.integers(2**31))
        STAGE[:] = b"before the fit".ljust(len(STAGE))
        process = in_child(partial(fit_and_save, folder, saved, kind, seed), out)
        how = wait(process, rng.uniform(0, whole) if kind == "any moment" else np.inf)
        if how == "done" and not kills:  # quicker than its killer: from the beginning
            for one in (folder, saved):
                shutil.rmtree(one, ignore_errors=True)
            continue
        if how != "killed":
            break
        kills.append(
            {
                "kind": kind,
                "stage": STAGE[:].decode().strip(),
                "stages": n_stages(folder),
                "saved": saved.is_dir(),
            }
        )
        if saved.is_dir():
            domindex.load(saved)  # complete or not there
    process = in_child(lambda: fit_and_save(folder, saved, None, 0), out)
    result = {"ended": wait(process), "kills": kills}
    return result | (json.loads(out.read_text()) if result["ended"] == "done" else {})


@contextmanager
def small_disk(size: str, options: str = "") -> Iterator[Path]:
    """A tmpfs of that size; OSError where it cannot be mounted."""
    place = Path(tempfile.mkdtemp())
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        raise OSError("a tmpfs cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=False)
        place.rmdir()


def refused(act: Callable[[], Any]) -> str:
    """The words of an InputError; empty where there was none."""
    try:
        act()
    except InputError as error:
        return str(error)
    return ""


def disks(reference: str) -> dict[str, Any]:
    """A checkpoint that fills its disk; a save to a full disk, and to one that is read-only."""
    found: dict[str, Any] = {}
    with small_disk("96k") as place, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted = model().fit(DATA.X, DATA.y, checkpoint=place / "checkpoint", **ROLES)
        found["checkpoint fills the disk"] = {
            "warned": any("nothing is kept" in str(one.message) for one in said),
            "fit as without": digest(fitted) == reference,
        }
    with small_disk("600k") as place:
        fitted.save(place / "model")
        fill(place)
        words = refused(lambda: fitted.save(place / "model", overwrite=True))
        found["save to a full disk"] = {
            "refused": words.replace(str(place), "DISK"),
            "model before intact": digest(domindex.load(place / "model")) == reference,
            "fit kept in memory": digest(fitted) == reference,
            "nothing left behind": {one.name for one in place.iterdir()} <= {"fill", "model"},
        }
    with small_disk("400k", ",ro") as place:
        words = refused(lambda: fitted.save(place / "model"))
        start = time.process_time()
        early = refused(lambda: model().fit(DATA.X, DATA.y, checkpoint=place / "c", **ROLES))
        found["read-only"] = {
            "save refused": words.replace(str(place), "DISK"),
            "checkpoint refused": early.replace(str(place), "DISK"),
            "before any work": time.process_time() - start < 0.5,
            "fit kept in memory": digest(fitted) == reference,
        }
    return found


def fill(place: Path) -> None:
    """Until there is no room."""
    with suppress(OSError), (place / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(b"0" * 4096)


def summary(record: dict[str, Any]) -> str:
    fits = record["fits"]
    kills = [kill for fit in fits for kill in fit["kills"]]
    counts = Counter(kill["kind"] for kill in kills)
    stages = Counter(kill["stage"] for kill in kills if kill["kind"] == "any moment")
    same = sum(fit["same"] for fit in fits)
    lines = [
        "# Kills",
        "",
        f"{len(fits)} fits, killed {sum(counts.values())} times by SIGKILL and resumed: "
        f"**{same} of {len(fits)}** ended with the uninterrupted result bit for bit.",
        "",
        "| killed | times |",
        "|---|---|",
        *(f"| {kind} | {counts[kind]} |" for kind in dict.fromkeys(KINDS)),
        "",
        "At any moment, the fit was "
        + ", ".join(f"{name} ({times})" for name, times in stages.most_common())
        + ". The network is trained while validating and fitting, those of the indices while "
        "mapping.",
        "",
        f"Seconds of CPU of a fit without a checkpoint, and with one, medians of "
        f"{record['n_measured']}: {record['plain_seconds']:.2f} and {record['kept_seconds']:.2f}.",
        "",
    ]
    for name, facts in record.get("disks", {}).items():
        lines += [f"**{name}**", ""]
        lines += [f"- {fact}: {'yes' if one is True else one}" for fact, one in facts.items()]
        lines.append("")
    return "\n".join(lines)


def write(record: dict[str, Any], out: Path) -> None:
    """After every fit: a benchmark of kills may be killed."""
    record |= origin()
    (out / "kills.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / "kills.md").write_text(summary(record))


def measured(home: Path, n_measured: int) -> dict[str, Any]:
    """Fits without and with a checkpoint, in turns."""
    plains, kept, out = [], [], home / "measured.json"
    for number in range(n_measured):
        for way, taken in ((plain, plains), (None, kept)):
            folder = home / f"measured{number}"
            work = way or (lambda folder=folder: fit_and_save(folder, home / "m", None, 0))
            if wait(in_child(work, out)) != "done":
                sys.exit("the fit itself fails")
            taken.append(json.loads(out.read_text()))
    seconds = [[one["fit_seconds"] for one in taken] for taken in (plains, kept)]
    return {
        "n_measured": n_measured,
        "plain_seconds": float(np.median(seconds[0])),
        "kept_seconds": float(np.median(seconds[1])),
        "reference": plains[0]["digest"],
        "whole": kept[0]["saved_seconds"],
    }


def earlier_fits(out: Path, reference: str) -> list[dict[str, Any]]:
    """Of an earlier run of the same fit, by what it must end with."""
    try:
        record = json.loads((out / "kills.json").read_text())
    except FileNotFoundError:
        return []
    return record["fits"] if record.get("reference") == reference else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=50)
    parser.add_argument("--measured", type=int, default=3, help="fits with and without")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    model(1, 1).fit(DATA.X, DATA.y, **ROLES)  # whatever is imported late, once for all children
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        record: dict[str, Any] = measured(home, asked.measured)
        record["fits"] = earlier_fits(asked.out, record["reference"])
        for number in range(len(record["fits"]), asked.fits):
            place = home / str(number)
            place.mkdir()
            fit = one_fit(number, place, record["whole"])
            reference = record["reference"]
            fit["same"] = fit.get("digest") == fit.get("loaded") == reference
            record["fits"].append(fit)
            print(number, fit["same"], fit["kills"], flush=True)
            shutil.rmtree(place)
            write(record, asked.out)
        try:
            out = home / "disks.json"
            if wait(in_child(lambda: disks(record["reference"]), out)) == "done":
                record["disks"] = json.loads(out.read_text())
        except OSError as error:
            print(error)
    write(record, asked.out)
    print(summary(record))
    sys.exit(any(not fit["same"] for fit in record["fits"]))


if __name__ == "__main__":
    main()
