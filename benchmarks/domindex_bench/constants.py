"""How much the committee's constants matter, and whether they were fitted to the data.

Every dataset's first round is run once, seed 0, and weighed again with one constant changed at a
time. The second round, self-training and the network, is not replayed. Run as a module, this
measures all and writes the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import joblib
import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.committee.candidates import Trial
from domindex.committee.committee import Member
from domindex.committee.folds import HeldOutRows, temper
from domindex.committee.separability import Separability
from domindex.committee.settings import ChoiceSettings
from domindex.committee.weighing import OutputRange, weigh
from domindex.datasets import DomainDataset
from domindex.datasets.files import DataHome
from domindex.errors import DatasetError, InputError
from domindex.estimators import CrossDomainClassifier, CrossDomainRegressor
from domindex.estimators.cross_domain import CrossDomainModel
from domindex.inputs import DomainData
from domindex.inputs.domain_data import Task
from domindex.neural.settings import Training
from domindex_bench.data.real import MORE, load_real_dataset
from domindex_bench.figures import Outcome, domain_figures
from domindex_bench.record import origin, short_commit
from domindex_bench.rendering import between_marks
from domindex_bench.suite import SuiteDataset, find_suite
from domindex_bench.tables import markdown

SEED = 0

GRID: dict[str, tuple[float, ...]] = {
    "risk_margin": (0.0, 0.25, 0.5, 1.0),
    "move_margin": (0.0, 0.05, 0.1, 0.25),
    "prior_domains": (0.0, 1.5, 3.0, 4.5),
    "separability_penalty": (0.0, 0.5, 1.0, 2.0),
    "range_penalty": (0.0, 0.5, 1.0, 2.0),
    "move_tolerance": (0.0, 0.03, 1.0),
    "bootstrap": (1, 40),
    "steps": (30, 300),
}
"""What each constant is set to, its default among them; 0, or 1 for the tolerance and the draws, is
without the rule."""

LEFT_OUT = ("rotating-digits", "rotating-mnist")
"""Of the datasets: images, for time."""

MAX_ROWS = 1500
"""Of a table of `real` and `real2` in a recorded round, for time; of the others all."""

Choice = Mapping[str, float]
Report = dict[str, Any]


@dataclass(frozen=True, eq=False)
class FirstRound:
    """What is known before anything is weighed: enough to weigh it again under other settings.

    Attributes
    ----------
    trials : what every candidate but the network predicted in the folds
    rows : the held-out rows
    separability : of every representation, where there is a choice between them
    outside : (trials,) how far targets are predicted out of range
    members : the trials' candidates, fitted on all sources
    output_range : of believable values, (trials, outputs); None for classes
    """

    trials: list[Trial]
    rows: HeldOutRows
    separability: dict[str, Separability]
    outside: Floats
    members: list[Member]
    output_range: OutputRange | None


@dataclass(frozen=True, eq=False)
class Replay:
    """Enough of a first round to weigh it under any settings, and to score what follows.

    Attributes
    ----------
    dataset : all rows, with all labels: those of targets score, and do nothing else
    classes : in the order of the predictions' columns; None for values
    trials, rows, separability, outside : what `weigh` is given
    plain : (trials, targets, columns) what every candidate predicts for the target rows
    predicted : the same as a committee takes it, calibrated, or cut to the range
    seed : of the draws
    """

    dataset: DomainDataset
    classes: NDArray | None
    trials: list[Trial]
    rows: HeldOutRows
    separability: dict[str, Separability]
    outside: Floats
    plain: Floats
    predicted: Floats
    seed: int

    @classmethod
    def record(
        cls,
        dataset: DomainDataset,
        seed: int = 0,
        *,
        candidates: Sequence[tuple[str, Any]] | None = None,
        training: Training | None = None,
    ) -> Replay:
        """Run the first round of the default model, or with some candidates only."""
        kind = _Classifier if dataset.task == "classification" else _Regressor
        model = kind(candidates=candidates, training=training, n_jobs=1, random_state=seed)
        model.fit(
            dataset.X,
            dataset.y,
            sample_domain=dataset.sample_domain,
            source_domains=dataset.source_domains,
        )
        first = model.first_round
        targets = ~dataset.is_source
        plain = model.predict_members(dataset.X[targets], dataset.sample_domain[targets])
        return cls(
            dataset,
            getattr(model, "classes_", None),
            first.trials,
            first.rows,
            first.separability,
            first.outside,
            plain,
            _calibrated(plain, first),
            model._seed(),
        )

    def weights(self, settings: ChoiceSettings) -> Floats:
        """(trials,) under these settings."""
        found = weigh(self.trials, self.rows, self.separability, self.outside, settings, self.seed)
        return found.weights

    def score(self, settings: ChoiceSettings) -> float:
        """Of the committee under these settings, on targets: accuracy in %, or relative error."""
        return self._figure(np.einsum("m,mnc->nc", self.weights(settings), self.predicted))

    def plain_scores(self) -> dict[str, float]:
        """Of plain candidates alone, those that were tried, by name."""
        names = [trial.candidate.name for trial in self.trials]
        plain = [n for n in ("linear on raw", "boosting on raw") if n in names]
        return {n: self._figure(self.plain[names.index(n)]) for n in plain}

    def without_idle(self, settings: ChoiceSettings) -> ChoiceSettings:
        """The same, with a price at 0 that nobody pays here: equal settings weigh alike."""
        return settings if self.outside.any() else replace(settings, range_penalty=0.0)

    def _figure(self, predicted: Floats) -> float:
        """Mean over target domains, see `domain_figures`."""
        targets = ~self.dataset.is_source
        if self.classes is not None:
            labels = self.classes[predicted.argmax(axis=1)]
        else:
            labels = predicted.reshape(self.dataset.y[targets].shape)
        (figure,) = domain_figures(Outcome(self.dataset, None, targets, labels)).values()
        return float(figure)


def _calibrated(plain: Floats, first: FirstRound) -> Floats:
    """As the members' predictions are before a committee mixes them."""
    if first.output_range is not None:
        return first.output_range.clip(plain)
    smoothing = first.rows.smoothing
    temperatures = [trial.temperature for trial in first.trials]
    return np.stack([temper(p, t, smoothing) for p, t in zip(plain, temperatures)])


class _FirstRoundOnly(CrossDomainModel):
    """The model, stopped before anything is weighed: every candidate is tried, and fitted."""

    first_round: FirstRound

    def _fit_data(self, data: DomainData) -> None:
        with self._fit_context(data) as context:
            self._indices, geometry = self._map_domains(data, context)
            builder = self._committee_builder(data, geometry, self._indices, context)
            trials = builder._validate([one for one in builder.candidates if not one.needs_network])
            self.first_round = FirstRound(
                trials,
                builder.rows,
                builder.separability,
                builder._out_of_range(trials),
                [builder._member(trial.candidate) for trial in trials],
                builder._output_ranges(trials),
            )

    def _put_in_order(self, names: tuple[Hashable, ...]) -> None:
        """Nothing is shown of it, so domains stay as they were fitted."""

    def predict_members(self, X: NDArray, sample_domain: NDArray) -> Floats:
        """(trials, rows, columns) what every candidate says of these rows."""
        placed = self._indices.placed(*self._check_query(X, sample_domain))
        return np.stack([m.predict(placed, self._indices) for m in self.first_round.members])


class _Classifier(_FirstRoundOnly, CrossDomainClassifier):
    pass


class _Regressor(_FirstRoundOnly, CrossDomainRegressor):
    pass


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
        """By which a score is better than another; 3 % of a squared error are one."""
        if self.task == "classification":
            return score - than
        return 33.0 * float(np.log(than / score))

    def gain(self, score: float) -> float:
        """Points by which a score is better than the best plain candidate's, at most 10."""
        return float(np.clip(self.points(score, self.best_plain), -10.0, 10.0))

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
    for name, known in MORE.items():
        found[name] = SuiteDataset(known.title, known.task, partial(_load_more, name))
    return {name: one for name, one in found.items() if name not in LEFT_OUT}


def _load_more(name: str, data_home: DataHome, seed: int) -> DomainDataset:
    return load_real_dataset(name, data_home)


def _cut(dataset: DomainDataset) -> DomainDataset:
    """With so many of its rows at most, drawn at random."""
    n = len(dataset.X)
    if n <= MAX_ROWS or dataset.name in find_suite("paper").datasets:
        return dataset
    kept = np.sort(np.random.default_rng(SEED).permutation(n)[:MAX_ROWS])
    parts = {part: getattr(dataset, part)[kept] for part in ("X", "y", "sample_domain")}
    return replace(dataset, **parts)


def measure(names: Sequence[str], data_home: DataHome, cache: Path) -> Report:
    """Run and replay; first rounds are kept in the folder `cache`, and found there."""
    start, here = time.perf_counter(), origin()
    known = known_datasets()
    scored, seconds = [], {}
    for name in names:
        began = time.perf_counter()
        path = cache / f"{name}.joblib"
        if not path.exists():
            joblib.dump(Replay.record(_cut(known[name].load(data_home, SEED)), SEED), path)
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
        **here,
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


SENSITIVITY_NOTE = (
    "The first round, run once on each dataset of the suites `paper` and `real` and on sixteen "
    "more (but images; tables cut to 1,500 rows), seed 0, and weighed again "
    "with one constant changed. The second round, self-training and the "
    "network, is left out here, so scores are not those of the model. A *gain* is counted from the "
    "better of linear and boosting on `raw`, chosen in hindsight: in points of accuracy, mean over "
    "target domains, or as 33 times the logarithm of the ratio of squared errors, so that 3 % is a "
    "point; at most 10 either way, and some datasets lie beyond that with any value: *moves most* "
    "is the dataset whose own score changes most against the defaults, without a bound. *Worse* "
    "are datasets more than a point below plain. Defaults are bold. One seed: how far chance moves "
    "these figures was not measured."
)
LEFT_OUT_NOTE = (
    "Each constant chosen by the mean gain on all other datasets, alone and then all together, and "
    "scored on the one left out; the chosen value in brackets where it is not the default. "
    "Accuracy in %, or squared error over the variance of the targets' values. The defaults were "
    "found with some of these scores in view, and each constant is chosen with the others at their "
    "defaults: only the choice itself has not seen the dataset."
)


def render(report: dict[str, Any]) -> str:
    """Both tables, and where they come from."""
    datasets = scored_of(report)
    origin = f"Measured at commit {short_commit(report['commit'])}, {report['date'][:10]}."
    parts = [SENSITIVITY_NOTE, *([report["rounds"]] if "rounds" in report else [])]
    parts.append(sensitivity_table(datasets))
    if len(datasets) > 1:
        parts += ["**Leaving a dataset out.** " + LEFT_OUT_NOTE, left_out_table(report)]
    return "\n\n".join([*parts, origin])


def sensitivity_table(datasets: Sequence[Scored]) -> str:
    """A row per constant and value."""
    rows = []
    for constant, values in GRID.items():
        for value in values:
            bold = "**" if value == default_of(constant) else ""
            gains = [one.gain_with(constant, value) for one in datasets]
            worst = int(np.argmin(gains))
            rows.append(
                [
                    f"`{constant}`" if value == values[0] else "",
                    f"{bold}{text(value)}{bold}",
                    f"{np.mean(gains):+.2f}",
                    f"{gains[worst]:+.2f} ({datasets[worst].title})",
                    str(sum(gain < -1.0 for gain in gains)),
                    _moves_most(datasets, constant, value),
                ]
            )
    worse = f"worse, of {len(datasets)}"
    heads = ["constant", "value", "mean gain", "worst dataset", worse, "moves most"]
    return markdown(heads, rows)


def _moves_most(datasets: Sequence[Scored], constant: str, value: float) -> str:
    """The dataset that is farthest from its score under the defaults, and both scores."""

    def distance(one: Scored) -> float:
        return abs(one.points(one.scores[constant][text(value)], one.default))

    one = max(datasets, key=distance)
    if not distance(one):
        return ""
    then = _shown(one, one.scores[constant][text(value)])
    return f"{one.title}: {_shown(one, one.default)} to {then}"


def left_out_table(report: dict[str, Any]) -> str:
    """A row per dataset, a column per constant, and the mean gains below."""
    datasets = scored_of(report)
    together = {row["name"]: row["together"] for row in report["datasets"]}
    choices = {one.name: choose_without(one.name, datasets) for one in datasets}

    def cell(one: Scored, constant: str) -> str:
        value = choices[one.name][constant]
        shown = _shown(one, one.scores[constant][text(value)])
        return shown if value == default_of(constant) else f"{shown} ({text(value)})"

    rows = [
        [
            one.title,
            _shown(one, one.best_plain),
            _shown(one, one.default),
            *(cell(one, constant) for constant in GRID),
            _shown(one, together[one.name]),
        ]
        for one in datasets
    ]

    def mean_gain(score: Callable[[Scored], float]) -> str:
        return f"{np.mean([one.gain(score(one)) for one in datasets]):+.2f}"

    means = [
        mean_gain(lambda one, c=constant: one.scores[c][text(choices[one.name][c])])  # type: ignore[misc]
        for constant in GRID
    ]
    last = mean_gain(lambda one: together[one.name])
    rows.append(["mean gain", "", mean_gain(lambda one: one.default), *means, last])
    heads = ["", "best plain", "defaults", *(f"`{name}`" for name in GRID), "all together"]
    return markdown(heads, rows)


def _shown(one: Scored, score: float) -> str:
    return f"{score:.1f}" if one.task == "classification" else f"{score:#.3g}"


def write_page(page: Path, results: Path) -> None:
    """Write the tables of a file of results between the marks of a page."""
    page.write_text(page_with(page, json.loads(results.read_text("utf-8"))), encoding="utf-8")


def page_with(page: Path, report: Report) -> str:
    return between_marks(
        page, render(report), "<!-- sensitivity -->", "<!-- end of sensitivity -->"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write OUT/constants.json, and the tables into a page."""
    parser = argparse.ArgumentParser(prog="domindex_bench.constants", description=__doc__)
    parser.add_argument("datasets", nargs="*", help="names; all where none is given")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--page", type=Path, help="Markdown with the marks of the tables")
    parser.add_argument("--cache", type=Path, help="keeps first rounds, of this code only")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args(arguments)
    path = asked.out / "constants.json"
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
