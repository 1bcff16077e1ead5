"""Texts that a spreadsheet would run, and everything else."""

import pandas as pd

from domindex.tables.reading import escape_formulas


def test_texts_that_begin_like_formulas_are_escaped_and_nothing_else():
    table = pd.DataFrame(
        {
            "=site": ["=1+1", "+4", "-x", "@cmd", "\tx", "north", None],
            "x": [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
            "n": pd.array([-1, 2, None, 4, 5, 6, 7], dtype="Int64"),
        }
    )
    before = table.copy(deep=True)
    escaped = escape_formulas(table)
    assert escaped["'=site"].tolist()[:6] == ["'=1+1", "'+4", "'-x", "'@cmd", "'\tx", "north"]
    assert escaped["x"].tolist() == table["x"].tolist()
    assert escaped["n"].tolist()[0] == -1
    pd.testing.assert_frame_equal(table, before)
