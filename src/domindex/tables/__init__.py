"""Your own table: columns to inputs, and a fit of it in one folder that can be asked later."""

from domindex.tables.fitting import draw_report, fit_table, resume_table, run_demo
from domindex.tables.large import summarise_table
from domindex.tables.predicting import (
    AddedDomains,
    TableIndex,
    TablePredictions,
    add_table,
    index_table,
    predict_table,
)
from domindex.tables.reading import TextFormat
from domindex.tables.request import FitRequest, read_settings
from domindex.tables.run import Run
from domindex.tables.scoring import TableScores, score_table

__all__ = [
    "AddedDomains",
    "FitRequest",
    "Run",
    "TableIndex",
    "TablePredictions",
    "TableScores",
    "TextFormat",
    "add_table",
    "draw_report",
    "fit_table",
    "index_table",
    "predict_table",
    "read_settings",
    "resume_table",
    "run_demo",
    "score_table",
    "summarise_table",
]
