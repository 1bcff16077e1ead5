"""Which rows of a table are fitted, and what is said of the others."""

import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.tables.labels import label_rows

TABLE = pd.DataFrame(
    {
        "site": ["a", "a", "b", "b", "c"],
        "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        "y": ["up", None, "down", "up", None],
    }
)


def label(table=TABLE, sources=None):
    return label_rows(table, domain="site", targets=["y"], sources=sources, task="auto")


def test_rows_of_a_source_without_a_label_are_left_out():
    rows = label()
    assert rows.domains == ["a", "b", "b", "c"]
    assert rows.table["x"].tolist() == [1.0, 3.0, 4.0, 5.0]
    assert rows.sources == ["a", "b"]
    assert rows.is_source.tolist() == [True, True, True, False]
    assert rows.notes == (
        "Left out 1 rows of source domains that have no label; they can be predicted.",
    )


def test_labels_of_domains_that_are_not_sources_are_noted():
    rows = label(sources=["a"])
    assert set(rows.domains) == {"a", "b", "c"}
    assert "Ignored the labels of 2 rows" in rows.notes[0]


def test_a_source_without_any_label_is_refused():
    with pytest.raises(InputError, match=r"\['c'\] have no labels at all"):
        label(sources=["a", "c"])


def test_a_complete_table_is_kept_as_it_is():
    whole = TABLE.dropna()
    rows = label(pd.concat([whole, TABLE.iloc[4:]]))
    assert len(rows.table) == 4
    assert rows.notes == ()
