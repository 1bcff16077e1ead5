"""Your own table: columns to inputs, and a fit of it in one folder that can be asked later."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domindex.tables.confined import ReadLimits, untrusted_tables
    from domindex.tables.fitting import draw_report, fit_table, resume_table, run_demo
    from domindex.tables.large import summarise_table
    from domindex.tables.predicting import (
        AddedDomains,
        TableIndex,
        TablePredictions,
        add_table,
        index_table,
        label_table,
        predict_table,
    )
    from domindex.tables.reading import TextFormat
    from domindex.tables.request import FitRequest, read_settings
    from domindex.tables.run import Run
    from domindex.tables.scoring import TableScores, score_table

_HOMES = {
    "confined": "ReadLimits untrusted_tables",
    "fitting": "draw_report fit_table resume_table run_demo",
    "large": "summarise_table",
    "predicting": "AddedDomains TableIndex TablePredictions add_table index_table label_table "
    "predict_table",
    "reading": "TextFormat",
    "request": "FitRequest read_settings",
    "run": "Run",
    "scoring": "TableScores score_table",
}

__all__ = [
    "AddedDomains",
    "FitRequest",
    "ReadLimits",
    "Run",
    "TableIndex",
    "TablePredictions",
    "TableScores",
    "TextFormat",
    "add_table",
    "draw_report",
    "fit_table",
    "index_table",
    "label_table",
    "predict_table",
    "read_settings",
    "resume_table",
    "run_demo",
    "score_table",
    "summarise_table",
    "untrusted_tables",
]


def __getattr__(name: str) -> Any:
    """Import on first use: what reads a stranger's table starts without torch."""
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"domindex.tables.{home}"), name)
    raise AttributeError(f"module 'domindex.tables' has no attribute {name!r}")
