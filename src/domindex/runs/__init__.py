"""A table fitted, and everything that can be asked of it later, in one folder."""

from domindex.runs.fitting import fit_table
from domindex.runs.mapping import TableIndex, index_table, write_graph
from domindex.runs.predicting import TablePredictions, predict_table
from domindex.runs.run import Run
from domindex.runs.settings import read_settings

__all__ = [
    "Run",
    "TableIndex",
    "TablePredictions",
    "fit_table",
    "index_table",
    "predict_table",
    "read_settings",
    "write_graph",
]
