"""Your own table: columns to inputs, and a fit of it in one folder that can be asked later."""

from domindex.tables.adding import AddedDomains, add_table
from domindex.tables.configuration import read_settings
from domindex.tables.demo import run_demo
from domindex.tables.fit_request import FitRequest
from domindex.tables.fitting import fit_table, resume_table
from domindex.tables.mapping import TableIndex, index_table, write_graph
from domindex.tables.predicting import TablePredictions, predict_table
from domindex.tables.run import Run
from domindex.tables.run_report import draw_report
from domindex.tables.sampling import summarise_table
from domindex.tables.scoring import TableScores, score_table
from domindex.tables.text_format import TextFormat

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
    "write_graph",
]
