"""A run and its answers as plain values: for JSON, and for the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from domindex.estimators import VDIClassifier
from domindex.inputs.messages import readable_name
from domindex.serving.asking import Answer, AskedRun

FIRST_ROWS = 20
"""Rows of the predictions that the page shows; the file holds all."""

MOST_DRAWN = 3_000
"""Known domains that the page draws; of more, every so many, and all sources up to as many."""

MOST_LISTED = 1_000
"""Domains of an upload that the page lists; new ones come first."""


def run_values(asked: AskedRun) -> dict[str, Any]:
    """What the page says of the run."""
    preparation = asked.preparation
    sources = asked.map["role"].eq("source")
    return {
        "title": readable_name(f"{_file_name(asked)}: {', '.join(preparation.targets)}"),
        "task": "classification" if isinstance(asked.model, VDIClassifier) else "regression",
        "targets": list(preparation.targets),
        "domain": preparation.domain,
        "key": asked.key,
        "inputs": [column.name for column in preparation.columns],
        "domains": len(asked.map),
        "sources": int(sources.sum()),
        "report": asked.run.report is not None,
        "max_upload": asked.settings.max_upload,
        "max_rows": asked.settings.max_rows,
    }


def map_values(asked: AskedRun) -> list[dict[str, Any]]:
    """The known domains, as the page draws them."""
    return [_shown(record) for record in plain_records(_drawn(asked.map))]


def page_values(answer: Answer, name: str) -> dict[str, Any]:
    """An answer as the page shows it: its first rows, its domains, and all of it as CSV."""
    domains = answer.domains
    first = answer.predictions.head(FIRST_ROWS)
    return {
        "file": name,
        "rows": len(answer.predictions),
        "columns": [_text(column) for column in first.columns],
        "first": [[_text(value) for value in row] for row in plain_rows(first)],
        "csv": answer.predictions.to_csv(index=False),
        "n_domains": len(domains),
        "n_new": int(domains["role"].eq("new").sum()),
        "n_off_map": int(domains["off_map"].sum()),
        "domains": [_shown(record) for record in plain_records(domains.head(MOST_LISTED))],
        "notes": list(map(_text, answer.notes)),
    }


def json_values(answer: Answer) -> dict[str, Any]:
    """An answer for a program: everything, and names as they are."""
    domains = answer.domains
    return {
        "rows": len(answer.predictions),
        "predictions": plain_records(answer.predictions),
        "domains": plain_records(domains),
        "new_domains": domains.loc[domains["role"] == "new", "domain"].tolist(),
        "off_map": domains.loc[domains["off_map"], "domain"].tolist(),
        "notes": list(answer.notes),
    }


def plain_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A dictionary a row, of what JSON can hold."""
    names = [str(name) for name in table.columns]
    return [dict(zip(names, row)) for row in plain_rows(table)]


def plain_rows(table: pd.DataFrame) -> list[list[Any]]:
    """A list a row, of what JSON can hold: what is missing or no finite number is None."""
    columns = [[_plain(value) for value in table.iloc[:, n]] for n in range(table.shape[1])]
    return [list(row) for row in zip(*columns)]


def _file_name(asked: AskedRun) -> str:
    data = asked.run.about.get("data")
    name = data.get("file") if isinstance(data, dict) else None
    return name if isinstance(name, str) else asked.run.folder.name


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)


def _text(value: Any) -> Any:
    return readable_name(value) if isinstance(value, str) else value


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    return {name: _text(value) for name, value in record.items()}


def _drawn(table: pd.DataFrame) -> pd.DataFrame:
    """All domains, or of very many a part that is spread evenly over their order."""
    if len(table) <= MOST_DRAWN:
        return table
    return table.iloc[np.unique(np.linspace(0, len(table) - 1, MOST_DRAWN).astype(int))]
