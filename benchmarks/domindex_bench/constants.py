"""How much the committee's constants matter, and whether they were fitted to the data.

Every dataset's first round is run once, seed 0, and weighed again with one constant changed at a
time (`domindex_bench.replaying`). The second round, self-training and the network, is not
replayed. Run as a module, this measures all and writes the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import joblib
import numpy as np

from domindex.committee.settings import ChoiceSettings
from domindex.datasets.files import DataHome
from domindex.errors import DatasetError, InputError
from domindex.inputs.domain_data import Task
from domindex_bench.provenance import Provenance
from domindex_bench.replaying import Replay
from domindex_bench.suite import SuiteDataset
from domindex_bench.suites import find_suite

RESULTS_NAME = "constants.json"
SEED = 0

GRID: dict[str, tuple[float, ...]] = {
    "insurance": (0.0, 0.5, 1.0, 2.0),
    "shape_price": (0.0, 0.5, 1.0, 2.0),
    "reach_price": (0.0, 1.0, 2.0, 4.0),
    "move_tolerance": (0.0, 0.03, 0.06, 1.0),
    "softness": (0.025, 0.05, 0.1),
    "steps": (60, 600),
}
"""What each constant is set to, its default among them."""

LEFT_OUT = ("rotating-digits", "rotating-mnist")
"""Of the two suites' datasets: images, for time."""

POINTS = 33.0
"""Of a logarithm of errors: with it 3 % of the squared error are a point."""

MOST_GAIN = 10.0
"""Points, either way, that a dataset counts at most in a mean."""

Choice = Mapping[str, float]
Report = dict[str, Any]


@dataclass(frozen=True)
class Scored:
    """What a dataset says of the constants.

    Attributes
    ----------
    name, title, task : of the dataset
    plain : scores of plain candidates, by name
    scores : by constant, then by value: of the committee, with that constant changed alone
    """

    name: str
    title: str
    task: Task
    plain: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float]]

    @property
    def best_plain(self) -> float:
        return (max if self.task == "classification" else min)(self.plain.values())

    @property
    def default(self) -> float:
        """The score under the defaults."""
        name = next(iter(GRID))
        return self.scores[name][text(default_of(name))]

    def points(self, score: float, than: float) -> float:
        """By which a score is better than another."""
        if self.task == "classification":
            return score - than
        return POINTS * float(np.log(than / score))

    def gain(self, score: float) -> float:
        """Points by which a score is better than the best plain candidate's, within bounds."""
        return float(np.clip(self.points(score, self.best_plain), -MOST_GAIN, MOST_GAIN))

    def gain_with(self, constant: str, value: float) -> float:
        return self.gain(self.scores[constant][text(value)])


def text(value: float) -> str:
    """A value as the file and the tables have it."""
    return f"{value:g}"


def default_of(constant: str) -> float:
    return cast(float, getattr(ChoiceSettings(), constant))


def settings_with(choice: Choice) -> ChoiceSettings:
    return replace(ChoiceSettings(), **cast(Any, dict(choice)))


def choose(constant: str, datasets: Sequence[Scored]) -> float:
    """The value with the largest mean gain on these datasets; the default where it ties."""

    def merit(value: float) -> tuple[float, bool]:
        mean = np.mean([one.gain_with(constant, value) for one in datasets])
        return round(float(mean), 9), value == default_of(constant)

    return max(GRID[constant], key=merit)


def choose_without(name: str, datasets: Sequence[Scored]) -> dict[str, float]:
    """Every constant, chosen by all datasets but one."""
    others = [one for one in datasets if one.name != name]
    return {constant: choose(constant, others) for constant in GRID}


def score_grid(name: str, title: str, replay: Replay) -> Scored:
    """A dataset under every value of every constant, one changed at a time."""
    known: dict[ChoiceSettings, float] = {}

    def score(choice: Choice) -> float:
        settings = replay.without_idle(settings_with(choice))
        if settings not in known:
            known[settings] = round(replay.score(settings), 6)
        return known[settings]

    scores = {
        constant: {text(value): score({constant: value}) for value in values}
        for constant, values in GRID.items()
    }
    plain = {name: round(value, 6) for name, value in replay.plain_scores().items()}
    return Scored(name, title, replay.dataset.task, plain, scores)


def report_on(datasets: Sequence[Scored], replay_of: Callable[[str], Replay]) -> list[Report]:
    """Each dataset's scores, and its score with what all others chose together."""
    result = []
    for one in datasets:
        row: Report = asdict(one)
        if len(datasets) > 1:
            chosen = choose_without(one.name, datasets)
            row["chosen"] = chosen
            row["together"] = round(replay_of(one.name).score(settings_with(chosen)), 6)
        result.append(row)
    return result


def scored_of(report: Report) -> list[Scored]:
    """The datasets of a report."""
    fields = ("name", "title", "task", "plain", "scores")
    return [Scored(**{field: row[field] for field in fields}) for row in report["datasets"]]


def known_datasets() -> dict[str, SuiteDataset]:
    """Of the suites `paper` and `real`, by name."""
    found = {**find_suite("paper").datasets, **find_suite("real").datasets}
    return {name: one for name, one in found.items() if name not in LEFT_OUT}


def measure(names: Sequence[str], data_home: DataHome, cache: Path) -> Report:
    """Run and replay; first rounds are kept in the folder `cache`, and found there."""
    start, origin = time.perf_counter(), Provenance.here_and_now()
    known = known_datasets()
    scored, seconds = [], {}
    for name in names:
        began = time.perf_counter()
        path = cache / f"{name}.joblib"
        if not path.exists():
            joblib.dump(Replay.record(known[name].load(data_home, SEED), SEED), path)
        recorded = time.perf_counter()
        scored.append(score_grid(name, known[name].title, joblib.load(path)))
        seconds[name] = round(time.perf_counter() - began, 1)
        _say(
            f"{name}: {recorded - began:.0f} s and {time.perf_counter() - recorded:.0f} s, "
            f"{scored[-1].default:.5g} against {scored[-1].best_plain:.5g}"
        )
    scored.sort(key=lambda one: list(known).index(one.name))
    rows = report_on(scored, lambda name: joblib.load(cache / f"{name}.joblib"))
    for row in rows:
        row["seconds"] = seconds[row["name"]]
    _say(f"{time.perf_counter() - start:.0f} s in all")
    return {
        **asdict(origin),
        "seed": SEED,
        "defaults": {constant: default_of(constant) for constant in GRID},
        "datasets": rows,
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _available(names: Sequence[str] | None, data_home: DataHome) -> Iterator[str]:
    """Those asked for, or all whose files are there."""
    known = known_datasets()
    for name in names or known:
        if name not in known:
            raise InputError(f"There is no dataset {name!r} here; there are {', '.join(known)}.")
        try:
            known[name].load(data_home, SEED)
        except DatasetError as error:
            if names:
                raise
            _say(f"goes on without {name}: {error}")
            continue
        yield name


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write OUT/constants.json, and the tables into a page."""
    from domindex_bench.constants_tables import write_page

    parser = argparse.ArgumentParser(prog="domindex_bench.constants", description=__doc__)
    parser.add_argument("datasets", nargs="*", help="names; all where none is given")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--page", type=Path, help="Markdown with the marks of the tables")
    parser.add_argument("--cache", type=Path, help="keeps first rounds, of this code only")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args(arguments)
    path = asked.out / RESULTS_NAME
    if not asked.render:
        names = list(_available(asked.datasets or None, None))
        with tempfile.TemporaryDirectory() as temporary:
            cache = asked.cache or Path(temporary)
            cache.mkdir(parents=True, exist_ok=True)
            report = measure(names, None, cache)
        asked.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if asked.page is not None:
        write_page(asked.page, path)


if __name__ == "__main__":
    main()
