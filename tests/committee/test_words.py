"""What was chosen, in words."""

import pandas as pd
import pytest

from domindex.committee.words import (
    describe_committee,
    describe_left_out,
    describe_loop,
    describe_two_ways,
)
from domindex.representations import list_representations, representation_label


def table(*rows):
    names = ["candidate", "representation", "near_loss", "far_loss", "loss", "weight", "left_out"]
    return pd.DataFrame(rows, columns=names)


def test_members_are_named_with_their_weights():
    told = describe_committee(
        table(
            ("linear on raw", "raw", 0.3, 0.4, 0.35, 0.6, ""),
            ("balanced linear on raw", "raw", 0.3, 0.4, 0.35, 0.4, ""),
            ("trees on flow", "flow", 0.5, 0.6, 0.55, 0.0, ""),
        )
    )
    assert told == "linear on raw inputs 60 %; balanced linear on raw inputs 40 %"


def test_the_rest_of_a_large_committee_is_counted():
    rows = [(f"m{n} on raw", "raw", 0.3, 0.4, 0.35, 0.1667, "") for n in range(6)]
    assert describe_committee(table(*rows)).endswith("; 2 others 33 %")


@pytest.mark.parametrize(
    ("left_out", "word"),
    [
        (("linear on flow", "flow", 0.3, 0.4, 0.35, 0.0, "it leaves targets"), "it leaves targets"),
        (("linear on flow", "flow", 0.3, 0.9, 0.6, 0.0, ""), "far sources are predicted worse"),
        (("linear on flow", "flow", 0.9, 0.4, 0.6, 0.0, ""), "held-out sources are predicted"),
        (("linear on flow", "flow", 0.3, 0.4, 0.35, 0.0, ""), "it is as good, and not better by"),
    ],
)
def test_a_representation_that_nobody_uses_has_a_reason(left_out, word):
    used = ("linear on raw", "raw", 0.3, 0.4, 0.35, 1.0, "")
    (sentence,) = describe_left_out(table(used, left_out))
    assert sentence.startswith("Tried and left out: inputs aligned by the flow")
    assert word in sentence


def test_what_was_left_out_for_one_reason_is_one_sentence():
    used = ("linear on raw", "raw", 0.3, 0.4, 0.35, 1.0, "")
    others = [
        (f"linear on {name}", name, 0.3, 0.4, 0.35, 0.0, "it harms") for name in ("flow", "x")
    ]
    told = describe_left_out(table(used, *others))
    assert told == ["Tried and left out: inputs aligned by the flow, x; it harms."]
    worse = [("linear on x", "x", 0.3, 4000.0, 0.6, 0.0, "")]
    assert describe_left_out(table(used, *worse)) == [
        "Tried and left out: x (4,000); far sources are predicted worse than with a loss of 0.4."
    ]


def test_one_that_is_used_is_not_said_to_be_left_out():
    used = ("linear on raw", "raw", 0.3, 0.4, 0.35, 1.0, "")
    again = ("trees on raw", "raw", 0.5, 0.6, 0.55, 0.0, "")
    assert describe_left_out(table(used, again)) == []


def test_every_representation_of_the_library_has_plain_words():
    assert all(representation_label(name) != name for name in list_representations())
    assert representation_label("nobody knows it") == "nobody knows it"


def test_a_map_that_closes_is_named_once_around():
    told = describe_loop(2.51, [2, 0, 1], ["a", "b", "c"])
    assert "ring (c, a, b and back to c)" in told
    assert "2.5 times as wide" in told
    assert "(0, 1, 2, 3 … and back to 0)" in describe_loop(3.0, range(9), range(9))


def test_ways_that_differ_are_named_and_others_are_not():
    forecast = pd.DataFrame({"domain": list("abc"), "two_ways": [1.0, 0.25, 0.98]})
    (told,) = describe_two_ways(forecast)
    assert "different answers in b (agreement 0.25): inputs cannot say" in told
    (told,) = describe_two_ways(forecast.iloc[[0, 2]])
    assert "both give the same answers" in told
    assert describe_two_ways(forecast[["domain"]]) == []
