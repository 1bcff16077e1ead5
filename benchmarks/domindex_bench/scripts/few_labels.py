"""What some labels in every target are worth: of 1, 5, 20 and 100 rows, and of rows chosen.

Datasets of the suite `real2`, `effort="quick"`. Half of the rows of every target are scored and
never labelled. Beside the model stand itself without labels of targets, and boosting on all source
rows together with the labelled ones. Of 20 rows a target, those drawn at random are compared with
as many that `suggest_labels` chooses from the same half.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from domindex import CrossDomainClassifier, CrossDomainRegressor
from domindex.datasets import DomainDataset
from domindex_bench.data.real import load_real_dataset
from domindex_bench.measuring import Found, Measurement, origin_line

COUNTS = (1, 5, 20, 100)
ASKED = 20  # labels a target, at which chosen rows are compared with random ones
SEEDS = range(2)
DATASETS = ("heart", "concrete", "penguins", "garments", "ukcars", "steel", "german", "compas")


class Rows:
    """A dataset whose targets' rows come in an order of their own by seed."""

    def __init__(self, name: str, seed: int) -> None:
        data: DomainDataset = load_real_dataset(name)
        self.is_class = data.task == "classification"
        self.X, self.y = data.X, np.asarray(data.y).reshape(len(data.y))
        self.domain, self.seed = np.asarray(data.sample_domain), seed
        self.is_source = np.isin(self.domain, data.source_domains)
        rng = np.random.default_rng(seed)
        targets = np.unique(self.domain[~self.is_source])
        mixed = {n: rng.permutation(np.flatnonzero(self.domain == n)) for n in targets}
        self.open = {n: rows[: (len(rows) - 1) // 2] for n, rows in mixed.items()}
        self.scored = {n: rows[(len(rows) - 1) // 2 :] for n, rows in mixed.items()}

    def first(self, count: int) -> NDArray[np.bool_]:
        """(rows,) of every target so many at random."""
        some = [rows[:count] for rows in self.open.values()]
        return np.isin(np.arange(len(self.y)), np.concatenate(some))

    def suggested(self, model: Any, n: int) -> NDArray[np.bool_]:
        """(rows,) so many that a model asks for, in all targets together."""
        some = np.concatenate(list(self.open.values()))
        found = model.suggest_labels(self.X[some], n, sample_domain=self.domain[some])
        return np.isin(np.arange(len(self.y)), some[found["row"].to_numpy()])

    def fit(self, labelled: NDArray[np.bool_]) -> Any:
        """The default in haste, with labels of sources and of these rows."""
        known = self.is_source | labelled
        kind = CrossDomainClassifier if self.is_class else CrossDomainRegressor
        y = np.where(known, self.y.astype(object if self.is_class else float), None)
        y = y if self.is_class else y.astype(float)
        sources = np.unique(self.domain[self.is_source]).tolist()
        model = kind(effort="quick", random_state=self.seed)
        return model.fit(self.X, y, sample_domain=self.domain, source_domains=sources)

    def boosting(self, labelled: NDArray[np.bool_]) -> float:
        """The error of boosting on source rows and these."""
        known = self.is_source | labelled
        kind = HistGradientBoostingClassifier if self.is_class else HistGradientBoostingRegressor
        flat = self.X.reshape(len(self.X), -1)
        said = kind(random_state=0).fit(flat[known], self.y[known]).predict(flat)
        return round(float(np.mean(list(self.errors(said).values()))), 4)

    def errors(self, predicted: NDArray[Any]) -> dict[Any, float]:
        """By target: share of mistakes, or squared error over the variance, of rows that count."""
        wrong = predicted != self.y if self.is_class else (predicted - self.y) ** 2
        unit = 1.0 if self.is_class else float(self.y[~self.is_source].var())
        return {name: float(wrong[rows].mean()) / unit for name, rows in self.scored.items()}

    def figures(self, model: Any) -> Found:
        errors = self.errors(model.predict(self.X, sample_domain=self.domain))
        said = model.forecast_.set_index("domain").loc[list(errors)]
        true = np.array(list(errors.values()))
        low, high = said["low"].to_numpy(), said["high"].to_numpy()
        expected = said.iloc[:, 3].to_numpy()
        if self.is_class:
            true = 1.0 - true
        else:
            unit = float(self.y[~self.is_source].std())
            true, low, high, expected = np.sqrt(true), low / unit, high / unit, expected / unit
        return {
            "error": round(float(np.mean(list(errors.values()))), 4),
            "forecast_off": round(float(np.abs(expected - true).mean()), 4),
            "forecast_width": round(float((high - low).mean()), 4),
            "forecast_holds": round(float(((low <= true) & (true <= high)).mean()), 3),
        }


def few_labels(name: str, seed: int) -> Found:
    """Errors in targets by the number of labels: of the model, and of boosting with the same."""
    rows = Rows(name, seed)
    found: Found = {"task": "classes" if rows.is_class else "values"}
    without = rows.fit(rows.first(0))
    for count in (0, *COUNTS):
        labelled = rows.first(count)
        model = rows.fit(labelled) if count else without
        found[str(count)] = {**rows.figures(model), "boosting": rows.boosting(labelled)}
        if count == ASKED:
            chosen = rows.suggested(without, int(labelled.sum()))
            found["suggested"] = rows.figures(rows.fit(chosen)) | {
                "boosting": rows.boosting(chosen)
            }
    return found


PARTS: dict[str, Callable[[], Found]] = {
    f"{name}, seed {seed}": partial(few_labels, name, seed) for seed in SEEDS for name in DATASETS
}


def table(content: Found) -> list[str]:
    """Errors in targets, means over seeds, a row a dataset."""
    counts = ["0", *map(str, COUNTS[:3]), "suggested", str(COUNTS[-1])]
    columns = [(count, "error") for count in counts]
    columns += [(count, "boosting") for count in (str(ASKED), str(COUNTS[-1]))]
    heads = ["none", *(f"{count} at random" for count in COUNTS[:3])]
    heads += [
        f"{ASKED} suggested",
        f"{COUNTS[-1]}",
        f"boosting, {ASKED}",
        f"boosting, {COUNTS[-1]}",
    ]
    lines = ["| error in targets, by labels a target | " + " | ".join(heads) + " |"]
    lines.append("|---" * (len(heads) + 1) + "|")
    for name in DATASETS:
        parts = [part for key, part in content.items() if key.startswith(f"{name}, ")]
        if parts:
            means = [np.mean([part[count][what] for part in parts]) for count, what in columns]
            figures = " | ".join(f"{mean:.3f}" for mean in means)
            lines.append(f"| {name}, {parts[0]['task']} | {figures} |")
    part = next(iter(content.values()))
    return [*lines, "", origin_line("few_labels", part)]


MEASUREMENT = Measurement(parts=PARTS, page="labels.md", tables={"few_labels": table})
