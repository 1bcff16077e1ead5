"""The gate: what passes, what is hidden, and what each refusal says."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from domindex.errors import ExtremeValueWarning, InputError
from domindex.inputs import check_domain_data
from domindex.inputs.gate import tame_labels

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])
DOMAINS = ["a", "a", "b", "b", "c", "c"]


def refusal(*args, **kwargs) -> str:
    with pytest.raises(InputError) as caught:
        check_domain_data(*args, **kwargs)
    return str(caught.value)


def test_sources_are_named_and_everything_else_is_a_target():
    data = check_domain_data(X, Y, DOMAINS, source_domains=["b", "a"])
    assert data.domains == ("a", "b", "c")
    assert data.source_domains == ("a", "b")
    assert data.target_domains == ("c",)
    np.testing.assert_array_equal(data.row_domains, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(data.domain_sizes, [2, 2, 2])


def test_target_labels_never_pass_the_gate():
    data = check_domain_data(X, Y, DOMAINS, ["a", "b"])
    np.testing.assert_array_equal(data.labels, [0, 1, 0, 1, -1, -1])
    values = check_domain_data(X, Y + 0.5, DOMAINS, ["a", "b"])
    assert np.isnan(values.labels[4:]).all()
    assert np.isfinite(values.labels[:4]).all()


def test_the_content_of_target_labels_changes_nothing():
    noisy = Y.copy()
    noisy[4:] = [77, -5]
    first = check_domain_data(X, Y, DOMAINS, ["a", "b"])
    second = check_domain_data(X, noisy, DOMAINS, ["a", "b"])
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.classes, second.classes)


def test_without_source_domains_the_sign_tells_as_in_skada():
    data = check_domain_data(X, [0, 1, 1, 0, -1, -1], np.array([1, 1, 2, 2, -3, -3]))
    assert data.source_domains == (1, 2)
    assert data.target_domains == (-3,)


def test_the_domain_with_the_number_zero_is_a_source():
    data = check_domain_data(X, [0, 1, -1, -1, -1, -1], np.array([0, 0, -1, -1, -2, -2]))
    assert data.source_domains == (0,)


@pytest.mark.parametrize("wrap", [np.array, pd.Series])
def test_sources_may_be_told_by_a_truth_value_a_row(wrap):
    domains = ["c", "a", "b", "a", "c", "b"]
    mask = [name != "b" for name in domains]
    data = check_domain_data(X, Y, domains, wrap(mask))
    assert data.source_domains == ("a", "c")
    assert data.labels.tolist() == [0, 1, -1, 1, 0, -1]
    small = check_domain_data(X, Y + 0.5, ["a"] * 5 + ["b"], wrap([False] * 5 + [True]))
    assert small.source_domains == ("b",)


def test_a_domain_is_a_source_in_all_of_its_rows_or_in_none():
    told = refusal(X, Y, DOMAINS, np.array([True, True, True, False, False, False]))
    assert "True in some rows of 'b' and False in others" in told
    assert "no source domain" in refusal(X, Y, DOMAINS, np.zeros(6, dtype=bool))


def test_an_array_of_names_may_be_as_long_as_the_table():
    names = np.array(["a", "b", "a", "b", "a", "b"])
    assert check_domain_data(X, Y, DOMAINS, names).source_domains == ("a", "b")
    assert "is one text, 'a'" in refusal(X, Y, DOMAINS, np.array("a"))


def test_truth_values_are_names_where_they_are_not_one_a_row():
    data = check_domain_data(X, Y, [True, True, True, False, False, False], np.array([True]))
    assert data.source_domains == (True,)
    assert "names that are not integers" in refusal(X, Y, [True, True, False, False, 2, 2])


def test_minus_one_is_a_class_once_sources_are_named():
    data = check_domain_data(X, np.where(Y == 0, -1, 1), DOMAINS, ["a", "b"])
    np.testing.assert_array_equal(data.classes, [-1, 1])


@pytest.mark.parametrize(
    "inputs",
    [
        X,
        X.tolist(),
        X.astype(int),
        pd.DataFrame(X, columns=["p", "q"]),
        pl.DataFrame(X, schema=["p", "q"]),
        torch.tensor(X, requires_grad=True),
    ],
    ids=["numpy", "list", "integers", "pandas", "polars", "torch"],
)
def test_inputs_of_every_kind_give_the_same_numbers(inputs):
    np.testing.assert_array_equal(check_domain_data(inputs, Y, DOMAINS, ["a"]).inputs, X)


@pytest.mark.parametrize("wrap", [np.array, pd.Series, pl.Series, tuple, list, pd.Categorical])
def test_domain_names_of_every_kind_are_read(wrap):
    assert check_domain_data(X, Y, wrap(DOMAINS), ["a"]).domains == ("a", "b", "c")


@pytest.mark.parametrize("wrap", [np.array, pd.Series, pl.Series, torch.tensor, list])
def test_labels_of_every_kind_are_read(wrap):
    np.testing.assert_array_equal(check_domain_data(X, wrap(Y), DOMAINS, ["a"]).classes, [0, 1])


def test_images_keep_their_shape():
    images = np.ones((6, 1, 3, 4), dtype=np.float32)
    data = check_domain_data(images, Y, DOMAINS, ["a"])
    assert data.inputs.shape == (6, 1, 3, 4)
    assert data.inputs.dtype == np.float32


def test_domains_may_have_one_row_and_unequal_sizes():
    data = check_domain_data(X, Y, ["a", "a", "a", "a", "b", "c"], ["a"])
    np.testing.assert_array_equal(data.domain_sizes, [4, 1, 1])
    assert [len(rows) for rows in data.rows_by_domain()] == [4, 1, 1]


def test_numbers_are_ordered_as_numbers_and_names_by_their_text():
    assert check_domain_data(X, Y, [10, 10, 9, 9, 2, 2], [9]).domains == (2, 9, 10)
    mixed = check_domain_data(X, Y, [("x", 1), ("x", 1), "k", "k", "c", "c"], ["k"])
    assert set(mixed.domains) == {("x", 1), "k", "c"}
    assert list(mixed.domains) == sorted(mixed.domains, key=str)


def test_string_classes_are_numbered_in_sorted_order():
    data = check_domain_data(X, ["no", "yes", "yes", "no", "?", "?"], DOMAINS, ["a", "b"])
    assert data.classes.tolist() == ["no", "yes"]
    assert data.labels.tolist() == [0, 1, 1, 0, -1, -1]


def test_the_task_follows_the_labels_unless_said():
    assert check_domain_data(X, Y, DOMAINS, ["a"]).task == "classification"
    assert check_domain_data(X, Y + 0.5, DOMAINS, ["a"]).task == "regression"
    assert check_domain_data(X, X, DOMAINS, ["a"]).labels.shape == (6, 2)
    assert check_domain_data(X, Y, DOMAINS, ["a"], task="regression").labels.shape == (6, 1)


def test_one_column_of_values_is_told_from_plain_values():
    told = [check_domain_data(X, y, DOMAINS, ["a"]).single_output for y in (X[:, 0], X[:, :1], X)]
    assert told == [True, False, False]


def test_data_is_immutable_and_the_callers_arrays_are_left_alone():
    inputs, labels = X.copy(), Y.copy()
    data = check_domain_data(inputs, labels, DOMAINS, ["a"])
    with pytest.raises(ValueError, match="read-only"):
        data.inputs[0, 0] = 1.0
    with pytest.raises(AttributeError):
        data.task = "regression"
    inputs[0, 0] = 99.0
    assert data.inputs[0, 0] == 0.0
    assert inputs.flags.writeable
    assert labels.flags.writeable


# Refusals: each message names what is wrong, what there is, and what to do.


def test_no_source_domain():
    message = refusal(X, Y, DOMAINS, [])
    assert "no source domain" in message
    assert "'a', 'b', 'c'" in message
    assert "source_domains" in message


def test_all_domains_may_be_sources():
    assert check_domain_data(X, Y, DOMAINS, ["a", "b", "c"]).target_domains == ()


def test_unknown_source_names():
    message = refusal(X, Y, DOMAINS, ["a", "A"])
    assert "'A'" in message
    assert "'a', 'b', 'c'" in message
    assert "Spell" in message


def test_one_text_as_source_domains():
    assert "['a']" in refusal(X, Y, DOMAINS, "a")


def test_text_names_without_source_domains():
    message = refusal(X, Y, DOMAINS)
    assert "not integers" in message
    assert "source_domains=" in message


@pytest.mark.parametrize(
    ("labels", "domains", "word"),
    [(Y[:4], DOMAINS, "y has 4 entries"), (Y, DOMAINS[:5], "sample_domain has 5 entries")],
)
def test_lengths_that_differ(labels, domains, word):
    message = refusal(X, labels, domains, ["a"])
    assert word in message
    assert "6 rows" in message


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite_are_placed(value, word):
    bad = X.copy()
    bad[3, 1] = value
    message = refusal(bad, Y, DOMAINS, ["a"])
    assert word in message
    assert "row 3, column 1" in message
    assert "Impute" in message


def test_missing_values_of_data_frames_count_as_nan():
    frame = pl.DataFrame({"p": [1.0, None, 3, 4, 5, 6]})
    assert "row 1, column 0" in refusal(frame, Y, DOMAINS, ["a"])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_source_label_names_the_row(missing):
    labels = Y.astype(object)
    labels[2] = missing
    message = refusal(X, labels, DOMAINS, ["a", "b"])
    assert "first at row 2" in message
    assert "needs a label" in message


def test_a_hidden_source_label_names_the_row():
    message = refusal(X, [0, -1, 0, 1, -1, -1], [1, 1, 2, 2, -3, -3])
    assert "first at row 1" in message
    assert "if −1 is one of your classes" in message


@pytest.mark.parametrize(
    ("labels", "domains", "sources", "name"),
    [
        ([0, 1, -1, -1, -1, -1], [1, 1, 2, 2, -3, -3], None, "2"),
        ([0.5, 1.5, np.nan, np.nan, 0.0, 0.0], DOMAINS, ["a", "b"], "'b'"),
    ],
)
def test_a_source_domain_with_all_labels_hidden(labels, domains, sources, name):
    message = refusal(X, labels, domains, sources)
    assert "All labels are hidden" in message
    assert f"in {name}," in message
    assert "targets" in message


def test_one_class_only():
    message = refusal(X, ["x", "x", "y", "y", "y", "y"], DOMAINS, ["a"])
    assert "only one class" in message
    assert "'x'" in message


def test_columns_that_are_not_numbers_are_named():
    frame = pd.DataFrame({"p": [1, 2, 3, 4, 5, 6], "city": list("abcdef")})
    message = refusal(frame, Y, DOMAINS, ["a"])
    assert "city" in message
    assert "p (" not in message
    assert "one-hot" in message


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (np.array([["a", "b"]] * 6), "not numeric"),
        (np.array([[1, "b"]] * 6, dtype=object), "'b' at row 0, column 1"),
        (X + 1j, "Complex data not supported"),
        (np.zeros((0, 2)), "empty"),
        (np.zeros((6, 0)), "empty"),
        (np.zeros(6), "2D array"),
        ([[1.0], [1.0, 2.0]], "ragged"),
        (np.zeros((6, 2), dtype="datetime64[D]"), "not numeric"),
    ],
    ids=["text", "object", "complex", "no rows", "no columns", "1-D", "ragged", "dates"],
)
def test_inputs_that_are_not_tables_of_numbers(bad, word):
    assert word in refusal(bad, Y, DOMAINS, ["a"])


def test_sparse_inputs_are_refused_with_advice():
    from scipy.sparse import csr_matrix

    assert "toarray" in refusal(csr_matrix(X), Y, DOMAINS, ["a"])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_row_without_a_domain(missing):
    message = refusal(X, Y, ["a", "a", missing, "b", "c", "c"], ["a"])
    assert "row 2" in message
    assert "Name the domain" in message


def test_no_domains_at_all():
    assert "one domain name per row" in refusal(X, Y, None, ["a"])
    assert "one text" in refusal(X, Y, "abcdef", ["a"])
    assert "shape (6, 1)" in refusal(X, Y, np.array(DOMAINS)[:, None], ["a"])
    assert "int" in refusal(X, Y, 3, ["a"])


def test_names_that_read_alike_or_cannot_be_hashed():
    assert "both read '1'" in refusal(X, Y, [1, 1, "1", "1", "c", "c"], ["c"])
    assert "list at row 0" in refusal(X, Y, [["a"]] * 6, ["a"])


def test_labels_of_the_wrong_kind():
    assert "y is None" in refusal(X, None, DOMAINS, ["a"])
    assert "2 columns" in refusal(X, np.c_[Y, Y], DOMAINS, ["a"], task="classification")
    assert "continuous" in refusal(X, Y + 0.5, DOMAINS, ["a"], task="classification")
    assert "not numbers" in refusal(X, list("abcdef"), DOMAINS, ["a"], task="regression")
    assert "infinity" in refusal(X, Y + np.inf, DOMAINS, ["a"], task="regression")
    assert "shape (6, 1, 1)" in refusal(X, Y[:, None, None], DOMAINS, ["a"])
    assert "mixes the types int, str" in refusal(
        X, np.array([1, "x", 1, "x", 1, 1], dtype=object), DOMAINS, ["a"]
    )
    assert "task is 'both'" in refusal(X, Y, DOMAINS, ["a"], task="both")


def data_of(values):
    """Rows of a source in turn with those of a target, which has other values."""
    y = np.repeat(np.asarray(values, dtype=float), 2)
    names = np.where(np.arange(len(y)) % 2, "t", "s")
    y[names == "t"] = 1e30
    return check_domain_data(np.zeros((len(y), 1)), y, names, ["s"], task="regression")


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).standard_cauchy(2000),
        np.random.default_rng(0).pareto(0.7, 2000),
        np.random.default_rng(0).normal(size=50) * 1e12,
        np.r_[np.zeros(99), 1.0],
        np.r_[np.ones(99), 1e12],
        np.r_[np.zeros(50), np.full(50, 1e12)],
        np.r_[np.random.default_rng(0).normal(size=90), np.full(10, 1e12)],
    ],
    ids=["cauchy", "pareto", "large units", "rare", "constant but one", "two levels", "many"],
)
def test_values_without_a_lone_error_come_back_as_they_are(values):
    data = data_of(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtremeValueWarning)
        assert tame_labels(data) is data


def test_a_lone_error_counts_as_the_nearest_of_the_others():
    values = np.random.default_rng(0).normal(size=50)
    spoiled = values.copy()
    spoiled[7] = -2e8
    data = data_of(spoiled)
    with pytest.warns(ExtremeValueWarning, match="Output 0 of y holds .* in row 14"):
        labels = tame_labels(data).labels[:, 0]
    tamed = labels[::2]
    assert tamed[7] == np.delete(values, 7).min()
    np.testing.assert_array_equal(np.delete(tamed, 7), np.delete(values, 7))
    assert np.isnan(labels[1::2]).all(), "labels of targets are hidden"


def test_classes_have_no_proportions():
    names, y = ["s", "s", "s", "s", "t"], [0, 1, 2, 10**12, 0]
    data = check_domain_data(np.zeros((5, 1)), y, names, ["s"], task="classification")
    assert tame_labels(data) is data
