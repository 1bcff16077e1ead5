"""Fits that are killed and resumed, and disks that are full or read-only: is anything lost?

Every fit runs in a process of its own, with a checkpoint, and saves its model. It is killed
(SIGKILL) one to three times, at random moments of its CPU time, from the first import to the end of
saving. Then it is begun again until it ends. What it predicts, encodes, places, forecasts and
records must be, bit for bit, that of a fit that nobody killed and that had no checkpoint. Needs a
system with fork; the disks need the right to mount a tmpfs.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import domindex
from domindex import CrossDomainClassifier, Training
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex_bench.measuring import Found, Measurement

DATA = make_circle(n_domains=8, n_sources=4, samples_per_domain=40, random_state=0)
ROLES = {"sample_domain": DATA.sample_domain, "source_domains": DATA.source_domains}


def model(steps: int = 60, index_steps: int = 40) -> CrossDomainClassifier:
    return CrossDomainClassifier(
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


def fit_and_save(folder: Path, saved: Path) -> Found:
    start = time.process_time()
    fitted = model().fit(DATA.X, DATA.y, checkpoint=folder, **ROLES)
    fitted.save(saved, overwrite=True)
    seconds = time.process_time() - start
    return {"seconds": seconds, "same": digest(fitted), "loaded": digest(domindex.load(saved))}


def plain_fit() -> str:
    return digest(model().fit(DATA.X, DATA.y, **ROLES))


def result_of(work: Callable[[], Any], out: Path) -> Any:
    """What `work` returns in a process that nobody kills; None where it fails."""
    return json.loads(out.read_text()) if wait(in_child(work, out)) == "done" else None


def kill_fits(n_fits: int = 50) -> Found:
    """Kill fits, resume each until it ends, and count those that end as if nothing had been."""
    model(1, 1).fit(DATA.X, DATA.y, **ROLES)  # whatever is imported late, once for all children
    fits = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        reference = result_of(plain_fit, home / "plain.json")
        whole = result_of(partial(fit_and_save, home / "c", home / "m"), home / "whole.json")
        for number in range(n_fits):
            place, rng = home / str(number), np.random.default_rng([1, number])
            place.mkdir()
            folder, saved, out = place / "checkpoint", place / "model", place / "result.json"
            work, kills = partial(fit_and_save, folder, saved), 0
            for _ in range(int(rng.integers(1, 4))):
                kills += wait(in_child(work, out), rng.uniform(0, whole["seconds"])) == "killed"
                if saved.is_dir():
                    domindex.load(saved)  # complete or not there
            ended = result_of(work, out) or {}
            same = ended.get("same") == ended.get("loaded") == reference
            fits.append({"kills": kills, "same": same})
            print(number, fits[-1], flush=True)
    counts = {"kills": sum(fit["kills"] for fit in fits), "same": sum(fit["same"] for fit in fits)}
    return {"fits": n_fits, **counts, "fit_seconds": whole["seconds"]}


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


def disks() -> Found:
    """A checkpoint that fills its disk; a save to a full disk, and to one that is read-only."""
    found: Found = {}
    reference = plain_fit()
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


MEASUREMENT = Measurement({"kills": kill_fits, "disks": disks})
