"""Things known by name, to which users may add."""

import pytest

from domindex.errors import InputError
from domindex.inputs.parameters import Registry


@pytest.fixture
def fruit() -> Registry[type]:
    registry: Registry[type] = Registry("fruit")
    registry.add("apple", int)
    registry.add("pear", float)
    return registry


def test_what_was_added_is_found_by_its_name(fruit):
    assert fruit["apple"] is int
    assert "pear" in fruit
    assert "plum" not in fruit


def test_names_come_in_the_order_in_which_they_were_added(fruit):
    fruit.add("banana", str)
    assert fruit.names() == ["apple", "pear", "banana"]


def test_the_list_of_names_is_a_copy(fruit):
    fruit.names().clear()
    assert fruit.names() == ["apple", "pear"]


def test_adding_returns_what_was_added_and_the_last_of_a_name_counts(fruit):
    assert fruit.add("apple", str) is str
    assert fruit["apple"] is str
    assert fruit.names() == ["apple", "pear"]


def test_two_registries_do_not_share_their_names(fruit):
    assert "apple" not in Registry("vegetable")


def test_an_unknown_name_is_refused_with_those_there_are(fruit):
    message = r"There is no fruit 'xyz'; there are apple, pear\. Choose one of these, or register"
    with pytest.raises(InputError, match=message):
        fruit["xyz"]


def test_a_slip_of_the_pen_is_answered_with_what_was_meant(fruit):
    with pytest.raises(InputError, match=r"there are apple, pear\. Did you mean 'apple'\?"):
        fruit["aple"]


@pytest.mark.parametrize("name", [3, None, ("apple",)])
def test_what_is_no_text_is_refused_like_an_unknown_name(fruit, name):
    with pytest.raises(InputError, match="there are apple, pear"):
        fruit[name]


@pytest.mark.parametrize("name", ["", "auto", 3, None])
def test_a_name_that_could_not_be_asked_for_is_refused(fruit, name):
    with pytest.raises(InputError, match=r"A fruit cannot be named .* a text of its own, not"):
        fruit.add(name, str)
    assert fruit.names() == ["apple", "pear"]


def test_a_name_can_be_forgotten_once(fruit):
    fruit.remove("apple")
    assert fruit.names() == ["pear"]
    with pytest.raises(InputError, match="There is no fruit 'apple'; there are pear"):
        fruit.remove("apple")
