"""How good predictions of a run were, where labels of its targets turn up later."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from domindex.errors import InputError, OffMapWarning
from domindex.estimators import VDIClassifier
from domindex.inputs.columns import require_roles
from domindex.inputs.names import group_rows
from domindex.inputs.preparation import MIN_SHARED
from domindex.inputs.streams import text_of
from domindex.progress import show_progress
from domindex.tables.labels import as_classes, read_labels
from domindex.tables.large import predicted_columns
from domindex.tables.predicting import TableRows, model_rows, names_off_map, say_off_map
from domindex.tables.reading import check_table_path, read_with_notes, write_table
from domindex.tables.run import Run, opened
from domindex.tables.text_format import TextFormat

FIGURES = ("accuracy", "auc", "brier", "error", "bias", "coverage_80")
"""What is measured of classes and of values."""


@dataclass(frozen=True, eq=False)
class TableScores:
    """How predictions compare with labels that the run was not given.

    Attributes
    ----------
    table : a row a domain, the worst first: its role, rows with a label, figures, and beside them
        what the run had forecast (expected, low, high) and whether that held
    overall : means of these figures over domains that are no sources, or over all domains where
        the table holds sources only
    notes : what was left out

    Examples
    --------
    >>> import pandas as pd
    >>> from domindex.tables import TableScores
    >>> TableScores(pd.DataFrame({"domain": ["Ahlen"]}), {"accuracy": 0.9}, ()).overall
    {'accuracy': 0.9}
    """

    table: pd.DataFrame
    overall: dict[str, float]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """The figures in a line."""
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.overall.items())
        held = self.table["as_forecast"].dropna()
        said = f"; {int(held.sum())} of {len(held)} domains as forecast" if len(held) else ""
        return f"{figures}{said}"


def score_table(
    run: Run | str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> TableScores:
    """Compare a run's predictions with the labels of a table, domain by domain.

    Parameters
    ----------
    run : a run, or its folder
    data : a file with the domain, the inputs and the target; rows without a label are left out
    out : a CSV or Parquet file to write the table of scores to as well
    force : replace a file that is there
    progress : draw bars on standard error
    **form : delimiter, decimal, encoding or na of a text file, see `TextFormat`; as in the fit
        where nothing is said

    Examples
    --------
    >>> from domindex.tables import score_table
    >>> score_table(run, "later.csv").table.columns.tolist()
    ['domain', 'role', 'rows', 'accuracy', 'auc', 'brier', 'expected', 'low', 'high', 'as_forecast']
    """
    if out is not None:
        check_table_path(out, overwrite=force)
    run = opened(run)
    model = run.model()
    said = TextFormat(**form).over(run.form)
    with show_progress(progress) as shown:
        table, read = read_with_notes(data, said, texts=[run.domain], open_file=shown.open_file)
        named = {"target": run.targets, "domain": [run.domain]}
        require_roles(table.columns, named)
        labels = read_labels(table, run.targets, run.about["task"])
        if not labels.known.any():
            raise InputError(
                f"No row of {data} has a target, so there is nothing to compare with. Fill in "
                f"{', '.join(run.targets)}."
            )
        rows = model_rows(run, model, table[labels.known].reset_index(drop=True))
        given, spelled = _as_fitted(model, labels.values[labels.known])
        notes = [*read, *rows.notes]
        lost = int((~labels.known).sum())
        if lost:
            notes.append(f"Left out {lost} rows without a label.")
        notes += spelled
        if set(rows.domains) <= set(model.source_domains_):
            notes.append(
                "All of these domains are sources: the model has learned from their labels, so the "
                "figures say little of how well it predicts elsewhere. The forecast is what to go "
                "by."
            )
        places = model.place_domains(rows.inputs, sample_domain=rows.domains)
        say_off_map(names_off_map(places), len(places), shown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffMapWarning)  # it is said above
            scored = _by_domain(model, rows, given, run.targets, places)
        if run.is_shared:
            scored = _without_few(scored, notes)
        for note in notes:
            shown.say(f"note: {note}")
    if out is not None:
        write_table(scored, out, overwrite=force)
    return TableScores(scored, _overall(scored), tuple(notes))


def _as_fitted(model: Any, labels: NDArray) -> tuple[NDArray, list[str]]:
    """Values as they are, classes as texts that the model's own are compared with."""
    if not isinstance(model, VDIClassifier):
        return labels, []
    classes = [text_of(one) for one in model.classes_.tolist()]
    texts, notes = as_classes([text_of(one) for one in labels.tolist()], classes)
    return np.array(texts), notes


def _by_domain(
    model: Any,
    rows: TableRows,
    labels: NDArray,
    targets: tuple[str, ...],
    places: pd.DataFrame,
) -> pd.DataFrame:
    """A row a domain, with what was forecast for its place."""
    forecasts = places.set_index("domain")
    sources, known = set(model.source_domains_), set(model.domains_)
    records = []
    for name, members in group_rows(rows.domains, len(rows.domains)):
        part, domain = rows.inputs.iloc[members], [name] * len(members)
        predicted = predicted_columns(model, part, domain, targets)
        figures = _figures(model, predicted, labels[members], targets)
        expected = forecasts.loc[name]
        role = "source" if name in sources else "target" if name in known else "new"
        measured = figures["accuracy" if "accuracy" in figures else "error"]
        low, high = float(expected["low"]), float(expected["high"])
        records.append(
            {"domain": name, "role": role, "rows": len(members), **figures}
            | {
                "expected": float(expected[model._forecast_column]),
                "low": low,
                "high": high,
                "as_forecast": None if role == "source" else bool(low <= measured <= high),
            }
        )
    found = pd.DataFrame(records)
    better = "accuracy" in found
    worst_first = {"by": "accuracy" if better else "error", "ascending": better}
    return found.sort_values(**worst_first, kind="stable", ignore_index=True)


def _without_few(scored: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without counts and figures that rest on few rows, for runs that are shared, with a note.

    The error of a domain of one row is that row's, and beside its prediction the row's label.
    """
    few = scored["rows"] < MIN_SHARED
    if not few.any():
        return scored
    shown = scored.astype({"rows": "Int64", "as_forecast": object})
    figures = [name for name in FIGURES if name in shown]
    shown.loc[few, ["rows", *figures, "as_forecast"]] = None
    domains = "1 domain" if few.sum() == 1 else f"{few.sum()} domains"
    notes.append(
        f"Hid the figures of {domains} with fewer than {MIN_SHARED} labels: the run is shared."
    )
    return shown


def _figures(
    model: Any, predicted: pd.DataFrame, labels: NDArray, targets: tuple[str, ...]
) -> dict[str, float]:
    if isinstance(model, VDIClassifier):
        given = labels
        classes = np.array([text_of(one) for one in model.classes_.tolist()])
        chances = predicted.iloc[:, 1:].to_numpy(dtype=np.float64)
        hits = given[:, None] == classes
        said = np.array([text_of(one) for one in predicted.iloc[:, 0].tolist()])
        return {
            "accuracy": float((said == given).mean()),
            "auc": _auc(hits, chances),
            "brier": float(((chances - hits) ** 2).sum(axis=1).mean()) / (1 + (len(classes) == 2)),
        }
    values = labels.reshape(len(labels), -1)
    mean = predicted[list(targets)].to_numpy(dtype=np.float64)
    deviation = predicted[[f"std({name})" for name in targets]].to_numpy(dtype=np.float64)
    gaps = np.abs(mean - values)
    return {
        "error": float(np.sqrt((gaps**2).mean())),
        "bias": float((mean - values).mean()),
        "coverage_80": float((gaps <= norm.ppf(0.9) * deviation).mean()),
    }


def _auc(hits: NDArray[np.bool_], chances: NDArray[np.float64]) -> float:
    """The mean over classes that some rows have and others have not; NaN where there is none."""
    areas = [
        roc_auc_score(hit, chance)
        for hit, chance in zip(hits.T, chances.T)
        if hit.any() and not hit.all()
    ]
    return float(np.mean(areas)) if areas else float("nan")


def _overall(scored: pd.DataFrame) -> dict[str, float]:
    """Means over domains, of which the sources are left out where there are others."""
    others = scored[scored["role"] != "source"]
    chosen = others if len(others) else scored
    names = [name for name in FIGURES if name in scored and name != "bias"]
    return {name: float(chosen[name].mean()) for name in names}
