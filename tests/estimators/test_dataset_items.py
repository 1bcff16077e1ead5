"""Items of a dataset, as the processes that read it hand them on: values, or what is wrong."""

import numpy as np
import pytest
import torch

from domindex.estimators.streaming import CheckedItems, collected


class Broken:
    def __getitem__(self, number):
        raise OSError("the file is gone")


def items_of(*items):
    checked = CheckedItems(list(items))
    return [checked[number] for number in range(len(items))]


def test_numbers_of_any_kind_become_arrays_and_plain_values():
    (first, second) = items_of(
        (torch.tensor([1.0, 2.0]), np.int64(3), np.str_("a")), (5, torch.tensor(0.5), ("b", 1))
    )
    assert first[0].tolist() == [1.0, 2.0]
    assert (first[1], type(first[1]), first[2]) == (3, int, "a")
    assert second[0].tolist() == [5]
    assert second[1:] == (0.5, ("b", 1))


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ((1.0, 2), "is a tuple of length 2"),
        (7, "is a int. Items must be"),
        (("text", 0, "a"), "no numbers"),
        (([], 0, "a"), "no numbers"),
        (([[1.0], [1.0, 2.0]], 0, "a"), "no numbers"),
        (([1.0], 0, ["a"]), "unhashable"),
        (([1.0], 0, None), "has no domain"),
        (([1.0], 0, float("nan")), "has no domain"),
    ],
)
def test_what_is_no_item_is_said_with_its_number(item, words):
    good = ([1.0], 0, "a")
    (_, told) = items_of(good, item)
    assert told.startswith("Item 1 of the dataset")
    assert words in told


def test_an_item_that_cannot_be_read_is_told_and_not_raised():
    told = CheckedItems(Broken())[4]
    assert "Item 4 of the dataset cannot be read (OSError: the file is gone)" in told


def test_items_are_stacked_or_the_first_failure_is_said():
    good = items_of(([1.0, 2.0], 0, "a"), ([3.0, 4.0], None, "b"))
    inputs, labels, names = collected(good, names_only=False)
    assert inputs.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert (labels, names) == ([0, None], ["a", "b"])
    assert collected([*good, "wrong", "too"], names_only=False) == "wrong"
    told = collected([*good, *items_of(([1.0], 0, "a"))], names_only=False)
    assert "shapes [(1,), (2,)]" in told


def test_names_alone_come_without_inputs():
    good = items_of(([1.0, 2.0], 0, "a"), ([3.0], 1, "b"))
    assert collected(good, names_only=True) == (None, [], ["a", "b"])
    assert collected([*good, "wrong"], names_only=True) == "wrong"
