"""From a data frame to numbers, learned once and repeated later: what a table and an estimator
that is given a frame with texts and gaps have in common."""

from domindex.preparation.requests import InputRequest, Missing
from domindex.preparation.table_preparation import (
    PreparedInputs,
    TablePreparation,
    input_names,
)

__all__ = ["InputRequest", "Missing", "PreparedInputs", "TablePreparation", "input_names"]
