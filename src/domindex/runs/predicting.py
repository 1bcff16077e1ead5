"""Predict a table with a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from domindex.data import group_rows
from domindex.data.columns import check_domain_column
from domindex.data.preparation import TablePreparation
from domindex.data.tables import read_table, require_columns
from domindex.estimators import VDIClassifier
from domindex.reporting.distances import distances_to_sources
from domindex.runs.run import Run
from domindex.runs.showing import Display


@dataclass(frozen=True, eq=False)
class TablePredictions:
    """A row of `table` for every row of the data.

    Attributes
    ----------
    table : the domain; the class and the probability of each, or values and their deviations; and
        `distance`, from the row's domain to the nearest source in units of the map's median spacing
    new_domains : names that were not on the map, and were placed
    notes : what was done to the inputs
    """

    table: pd.DataFrame
    new_domains: list[str]
    notes: tuple[str, ...]


def predict_table(
    run: Run | str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    progress: bool = False,
) -> TablePredictions:
    """Predict every row of the table in a file; domains never seen are placed on the map first."""
    run = run if isinstance(run, Run) else Run.open(run)
    display = Display(progress)
    model, preparation = run.model(), run.preparation()
    rows = read_rows(data, preparation, delimiter, display)
    frame = rows.frame
    parts, gaps = [], np.empty(len(frame))
    groups = list(group_rows(rows.domains, len(frame)))
    for name, members in display.track(groups, "predicting"):
        part, domain = frame.iloc[members], [name] * len(members)
        parts.append((members, _predict(model, part, domain, preparation.targets)))
        place = model.place_domains(part, sample_domain=domain)[name]
        gaps[members] = distances_to_sources(
            model.domain_index_, model.source_domains_, place[None]
        )
    order = np.concatenate([members for members, _ in parts])
    predicted = pd.concat([part for _, part in parts]).iloc[np.argsort(order)]
    predicted.index = frame.index
    predicted.insert(0, preparation.domain, rows.domains)
    predicted[_free("distance", predicted)] = gaps
    known = set(model.domains_)
    new = [str(name) for name, _ in groups if name not in known]
    return TablePredictions(predicted, new, rows.notes)


@dataclass(frozen=True, eq=False)
class TableRows:
    """Prepared inputs and the domain of every row."""

    frame: pd.DataFrame
    domains: list[str]
    notes: tuple[str, ...]


def read_rows(
    data: str | os.PathLike[str],
    preparation: TablePreparation,
    delimiter: str | None,
    display: Display,
) -> TableRows:
    """The rows of a file as the model wants them."""
    table = read_table(
        data, delimiter=delimiter, texts=[preparation.domain], open_file=display.open_file
    )
    require_columns(table, [preparation.domain], "domain")
    domains = check_domain_column(table[preparation.domain])
    inputs = preparation.apply(table)
    for note in inputs.notes:
        display.say(f"note: {note}")
    return TableRows(
        pd.DataFrame(inputs.values, columns=preparation.features), domains, inputs.notes
    )


def _free(name: str, table: pd.DataFrame) -> str:
    """A name for a column that no target has taken."""
    return name if name not in table else _free(f"{name}_on_map", table)


def _predict(
    model: Any, frame: pd.DataFrame, domain: list[Any], targets: tuple[str, ...]
) -> pd.DataFrame:
    if isinstance(model, VDIClassifier):
        chances = model.predict_proba(frame, sample_domain=domain)
        columns = {targets[0]: model.classes_[chances.argmax(axis=1)]}
        columns |= {f"p({name})": column for name, column in zip(model.classes_, chances.T)}
        return pd.DataFrame(columns)
    mean, deviation = model.predict(frame, sample_domain=domain, return_std=True)
    mean, deviation = mean.reshape(len(frame), -1), deviation.reshape(len(frame), -1)
    columns = dict(zip(targets, mean.T))
    return pd.DataFrame(columns | {f"std({name})": s for name, s in zip(targets, deviation.T)})
