"""Labels in a table: the task, the classes, and which domains are sources."""

import numpy as np
import pandas as pd
import pytest

from domindex.errors import InputError
from domindex.tables.labels import as_classes, choose_sources, label_rows, read_labels


def labels(*columns, task="auto"):
    table = pd.DataFrame({f"y{n}": list(column) for n, column in enumerate(columns)})
    return read_labels(table, list(table.columns), task)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["no", "yes", None, "no"], "classification"),
        ([0, 1, 1, None], "classification"),
        ([True, False, True, True], "classification"),
        ([0.5, 1.0, None, 2.0], "regression"),
        (list(range(21)), "regression"),
        (list(range(20)), "classification"),
        (["1.5", "NA", "2", ""], "regression"),
    ],
)
def test_the_task_follows_from_the_labels(values, task):
    assert labels(values).task == task


def test_several_targets_are_values_and_a_row_needs_them_all():
    read = labels([1, 2, None], [4.0, None, 6.0])
    assert read.task == "regression"
    assert read.known.tolist() == [True, False, False]
    assert read.values.shape == (3, 2)


def test_classes_are_whole_numbers_or_texts_even_beside_empty_fields():
    assert labels([0, 1, None]).values.dtype == np.int64
    assert labels(["a", None, "b"]).values.tolist() == ["a", "", "b"]


def test_the_user_may_say_what_the_task_is():
    assert labels([0, 1, 1], task="regression").task == "regression"
    with pytest.raises(InputError, match=r"fractions such as 0\.5"):
        labels([0.5, 1.0], task="classification")
    with pytest.raises(InputError, match="holds texts, and regression needs numbers"):
        labels(["a", "b"], task="regression")
    with pytest.raises(InputError, match="predicts one column, and 2 are named"):
        labels([1, 2], [3, 4], task="classification")
    with pytest.raises(InputError, match="Choose auto"):
        labels([1, 2], task="ranking")


def test_text_among_several_targets_is_refused():
    with pytest.raises(InputError, match="'y1' holds texts"):
        labels([1, 2], ["a", "b"])


def test_sources_are_the_domains_with_any_label():
    domains, known = ["b", "a", "b", "c"], np.array([True, False, False, False])
    assert choose_sources(domains, known, None) == ["b"]
    assert choose_sources(domains, known, ["c", "a", "c"]) == ["c", "a"]
    with pytest.raises(InputError, match=r"no domain 'B'.*Did you mean 'b'"):
        choose_sources(domains, known, ["B"])
    assert choose_sources(domains, ~known | known, None) == ["b", "a", "c"]
    with pytest.raises(InputError, match="nothing to learn from"):
        choose_sources(domains, known & ~known, None)


def test_later_labels_are_taken_for_the_class_they_read_like():
    found, notes = as_classes(["Yes", "yes ", "no", "maybe"], ["Yes", "no"])
    assert found == ["Yes", "Yes", "no", "maybe"]
    assert notes[0] == "Took the label 'yes ' (1 rows) for 'Yes'."
    assert "no class of the run" in notes[1]
    assert "maybe (1 rows)" in notes[1]
    exact = ["Yes", "yes "]
    assert as_classes(exact, exact) == (exact, [])


def test_one_domain_and_no_source_are_refused():
    known = np.ones(3, dtype=bool)
    with pytest.raises(InputError, match="All rows are of one domain, 'a'"):
        choose_sources(["a"] * 3, known, None)
    with pytest.raises(InputError, match=r"No domain is named as a source; there are 'a', 'b'"):
        choose_sources(["a", "b", "b"], known, [])


def test_a_target_of_dates_is_not_to_be_left_out():
    with pytest.raises(InputError, match="name another target"):
        labels(["2020-01-01", "2020-01-02"])


def test_a_target_of_numbers_and_texts_says_what_can_be_done_about_a_target():
    table = pd.DataFrame({"y": ["1", "no", "1", None]})
    with pytest.raises(InputError) as caught:
        read_labels(table, ["y"], "auto")
    assert "'y' mixes numbers and texts" in str(caught.value)
    assert "--task classification" in str(caught.value)
    assert "--exclude" not in str(caught.value)
    labels = read_labels(table, ["y"], "classification")
    assert labels.values[:3].tolist() == ["1", "no", "1"]


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
