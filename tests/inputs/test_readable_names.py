"""Names as a page shows them."""

import json

from domindex.inputs.messages import readable_name, with_readable_names


def test_names_that_begin_alike_stay_apart_when_they_are_cut():
    first, second = "n" * 10_000, "n" * 10_000 + "x"
    shown = {readable_name(first), readable_name(second)}
    assert len(shown) == 2
    assert all(len(name) == 80 for name in shown)


def test_marks_that_turn_text_around_are_shown_as_such():
    assert readable_name("evil\u202egpj.exe") == "evil\ufffdgpj.exe"
    assert readable_name("шахта \u2014 12 北") == "шахта \u2014 12 北"


def test_names_are_replaced_wherever_a_text_holds_them():
    long = "site" * 100
    content = {"domains": [{"name": long}], "summary": f"The worst is {long}.", long: [1.0, None]}
    shown = with_readable_names(content, [long, "short"])
    assert long not in json.dumps(shown)
    assert shown["summary"] == f"The worst is {readable_name(long)}."
    assert shown[readable_name(long)] == [1.0, None]


def test_content_without_such_names_is_left_as_it_is():
    content = {"domains": [{"name": "a"}]}
    assert with_readable_names(content, ["a"]) is content
