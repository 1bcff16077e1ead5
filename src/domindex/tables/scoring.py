"""How good predictions of a run were, where labels of its targets turn up later."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from domindex.errors import InputError, OffMapWarning
from domindex.inputs.columns import require_roles
from domindex.inputs.messages import preview
from domindex.inputs.names import group_rows
from domindex.inputs.preparation import MIN_SHARED
from domindex.inputs.streams import text_of
from domindex.progress import Progress, show_progress
from domindex.tables.labels import as_classes, classes_as_spelled, read_labels
from domindex.tables.predicting import TableRows, as_fitted, predicted_columns, say_off_map
from domindex.tables.reading import (
    AnyPath,
    TextFormat,
    check_table_path,
    read_with_notes,
    write_table,
)
from domindex.tables.run import Run

FIGURES = ("accuracy", "auc", "brier", "error", "bias", "coverage_80", "plain")
"""What is measured of classes and of values; `plain` is the accuracy or error of a plain model."""


@dataclass(frozen=True, eq=False)
class TableScores:
    """How predictions compare with labels that the run was not given.

    Attributes
    ----------
    table : a row a domain, the worst first: its role, rows with a label, figures, and beside them
        the accuracy or error of the plain model among those that predict (plain), if one does, and
        what the run had forecast (expected, low, high) and whether that held, where its method
        forecasts. Or a row a group of rows, where one was asked for by a column: rows and figures,
        and the share of rows of which each class was said
    overall : means over domains that are no sources, or over all where there are sources only; of
        groups, means over these
    notes : what was left out

    Examples
    --------
    >>> TableScores(pd.DataFrame({"domain": ["Ahlen"]}), {"accuracy": 0.9}, ()).overall
    {'accuracy': 0.9}
    """

    table: pd.DataFrame
    overall: dict[str, float]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """The figures in a line."""
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.overall.items())
        held = self.table.get("as_forecast", pd.Series(dtype=object)).dropna()
        said = f"; {int(held.sum())} of {len(held)} domains as forecast" if len(held) else ""
        return f"{figures}{said}"


def score_table(
    run: Run | AnyPath,
    data: AnyPath,
    *,
    by: str | None = None,
    out: AnyPath | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> TableScores:
    """Compare a run's predictions with the labels of a table, domain by domain.

    Parameters
    ----------
    run : a run, or its folder
    data : a file with the domain, the inputs and the target; rows without a label are left out
    by : a column, such as sex, by whose values rows are compared instead, in domains that are no
        sources: whether predictions are as good for one group of people as for another
    out : a CSV or Parquet file to write the table of scores to as well
    force : replace a file that is there
    progress : draw bars on standard error
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> score_table(run, "later.csv").table.columns[:7].tolist()
    ['domain', 'role', 'rows', 'accuracy', 'auc', 'brier', 'plain']
    """
    check_table_path(out, overwrite=force)
    run = Run.open(run)
    model, said = run.predictor(), TextFormat(**form).over(run.form)
    with show_progress(progress) as shown:
        spelled = classes_as_spelled(run.targets, run.about["task"])
        how: dict[str, Any] = {"labels": spelled, "open_file": shown.open_file}
        how["texts"] = [run.domain]
        table, read = read_with_notes(data, said, **how)
        table = as_fitted(table, model)
        groups = [] if by is None else [by]
        roles = {"target": run.targets, "domain": [run.domain], "groups": groups}
        require_roles(table.columns, roles)
        labels = read_labels(table, run.targets, run.about["task"])
        if not labels.known.any():
            raise InputError(
                f"No row of {data} has a target, so there is nothing to compare with. Fill in "
                f"{', '.join(run.targets)}."
            )
        known = table[labels.known].reset_index(drop=True)
        rows = TableRows.of(run, model, known, known[[]], read)
        given, notes = labels.values[labels.known], list(rows.notes)
        if not labels.known.all():
            notes.append(f"Left out {int((~labels.known).sum())} rows without a label.")
        if model.task_ == "classification":  # classes as texts, like the model's own
            texts, spelled = as_classes([text_of(one) for one in given.tolist()], _classes(model))
            given, notes = np.array(texts), [*notes, *spelled]
        forecasts = by is None and model._forecast_column is not None
        if set(rows.domains) <= set(model.source_domains_):
            notes.append(
                "All of these domains are sources: the model has learned from their labels, so the "
                "figures say little of how well it predicts elsewhere."
                + (" The forecast is what to go by." if forecasts else "")
            )
        notes += _learned_from(model, rows.domains)
        if model._forecast_column is None:
            notes.append(f"{type(model).__name__} makes no forecasts, so none stand beside these.")
        if by is None:
            scored = _by_domain(run, model, rows, given, shown)
        else:
            scored = _by_group(run, model, rows, given, known[by])
        few = scored["rows"] < MIN_SHARED
        figures = [name for name in scored if name in FIGURES or name.startswith("said(")]
        if run.is_shared and few.any():
            held = ["as_forecast"] if forecasts else []
            scored = scored.astype({"rows": "Int64", **dict.fromkeys(held, object)})
            scored.loc[few, ["rows", *figures, *held]] = None
            what = "domain" if by is None else "group"
            domains = f"1 {what}" if few.sum() == 1 else f"{few.sum()} {what}s"
            notes.append(
                f"Hid the figures of {domains} with fewer than {MIN_SHARED} labels: the run is "
                "shared."
            )
        for note in notes:
            shown.say(f"note: {note}")
    if out is not None:
        write_table(scored, out, overwrite=force)
    others = scored[scored["role"] != "source"] if by is None else scored
    means = (others if len(others) else scored)[[n for n in figures if n in FIGURES]]
    means = means.drop(columns="bias", errors="ignore")
    return TableScores(scored, {name: float(means[name].mean()) for name in means}, tuple(notes))


def _learned_from(model: Any, domains: Sequence[str]) -> list[str]:
    """That the model knows labels of some rows of these targets, where it does."""
    labels = getattr(getattr(model, "_committee", None), "target_labels", None)
    known = sorted(set(domains) & set(getattr(labels, "by_name", ())))
    if not known:
        return []
    return [
        f"The model has learned from labels of some rows of {preview(known)}: if they are among "
        "these, figures there are too good."
    ]


def _classes(model: Any) -> list[str]:
    return [text_of(one) for one in model.classes_.tolist()]


def _by_domain(
    run: Run, model: Any, rows: TableRows, labels: NDArray, progress: Progress
) -> pd.DataFrame:
    """A row a domain, the worst first, with what was forecast for its place."""
    places = model.place_domains(rows.inputs, sample_domain=rows.domains)
    say_off_map(places, progress)
    forecasts = None
    if model._forecast_column is not None:
        forecasts = places.set_index("domain")[[model._forecast_column, "low", "high"]]
    sources, known, records = set(model.source_domains_), set(model.domains_), []
    plain = _plain_model(model)
    best = "accuracy" if model.task_ == "classification" else "error"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)  # it is said above
        for name, members in group_rows(rows.domains, len(rows.domains)):
            domain = [name] * len(members)
            predicted = predicted_columns(model, rows.some(members), domain, run.targets)
            figures = _figures(model, predicted, labels[members], run.targets)
            if plain is not None:
                compared = predicted_columns(plain, rows.some(members), domain, run.targets)
                figures["plain"] = _figures(plain, compared, labels[members], run.targets)[best]
            role = "source" if name in sources else "target" if name in known else "new"
            record = {"domain": name, "role": role, "rows": len(members), **figures}
            if forecasts is not None:
                expected, low, high = map(float, forecasts.loc[name])
                held = None if role == "source" else bool(low <= figures[best] <= high)
                record |= {"expected": expected, "low": low, "high": high, "as_forecast": held}
            records.append(record)
    return _worst_first(records)


def _by_group(
    run: Run, model: Any, rows: TableRows, labels: NDArray, values: pd.Series
) -> pd.DataFrame:
    """A row a value of a column, the worst first; of domains that are no sources, if there are."""
    predicted = predicted_columns(model, rows.inputs, rows.domains, run.targets)
    is_source = np.isin(np.array(rows.domains, dtype=object), model.source_domains_)
    counts = is_source.all() | ~is_source
    of_rows, records = [text_of(one) for one in values.tolist()], []
    for value, members in group_rows(of_rows, len(of_rows)):
        own = members[counts[members]]
        if not len(own):
            continue
        figures = _figures(model, predicted.iloc[own], labels[own], run.targets)
        if model.task_ == "classification":
            said = predicted.iloc[own, 0]
            figures |= {f"said({name})": float((said == name).mean()) for name in model.classes_}
        records.append({str(values.name): value, "rows": len(own), **figures})
    return _worst_first(records)


def _worst_first(records: list[dict[str, Any]]) -> pd.DataFrame:
    """A row a record, by accuracy or by error."""
    table = pd.DataFrame(records)
    is_class = "accuracy" in table
    order = {"by": "accuracy" if is_class else "error", "ascending": is_class}
    return table.sort_values(**order, kind="stable", ignore_index=True)


def _plain_model(model: Any) -> Any | None:
    """The model with its plain member alone, on rows as they are; None where none predicts."""
    committee = getattr(model, "_committee", None)
    kept = None if committee is None else committee.plain()
    if kept is None:
        return None
    plain = copy(model)
    plain._committee = kept
    return plain


def _figures(
    model: Any, predicted: pd.DataFrame, labels: NDArray, targets: tuple[str, ...]
) -> dict[str, float]:
    """The AUC is a mean over classes that some rows have and others have not; NaN without any."""
    if model.task_ == "classification":
        chances = predicted.iloc[:, 1:].to_numpy(dtype=np.float64)
        hits = labels[:, None] == np.array(_classes(model))
        said = np.array([text_of(one) for one in predicted.iloc[:, 0].tolist()])
        areas = [
            roc_auc_score(hit, chance)
            for hit, chance in zip(hits.T, chances.T)
            if hit.any() and not hit.all()
        ]
        brier = float(((chances - hits) ** 2).sum(axis=1).mean())
        return {
            "accuracy": float((said == labels).mean()),
            "auc": float(np.mean(areas)) if areas else float("nan"),
            "brier": brier / (1 + (hits.shape[1] == 2)),
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
