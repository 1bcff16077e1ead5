"""Dataclasses are written and read by their fields."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest

from domindex.arrays import Floats, Ints
from domindex.persistence.codec import DAMAGE, decode, encode
from domindex.persistence.saved import Saved


@dataclass(frozen=True)
class Part(Saved):
    width: float

    def _check_state(self) -> None:
        if self.width <= 0:
            raise ValueError("a part has no width")


@dataclass(frozen=True, eq=False)
class Whole(Saved):
    name: str
    kind: Literal["open", "closed"]
    count: int
    names: tuple[Hashable, ...]
    sides: tuple[int, ...]
    parts: tuple[Part, ...]
    shares: Mapping[str, float]
    matrix: Floats
    numbers: Ints
    part: Part | None
    ring: Part | None = field(default=None, metadata={"key": "around", "omitted": True})
    closes: bool = field(default=False, metadata={"omitted": True})


WHOLE = Whole(
    "a", "open", 2, ("x", 3), (4, 5), (Part(1.0), Part(2.0)), {"s": 0.5},
    np.asfortranarray(np.eye(2, 3)), np.array([1, 2]), None,
)  # fmt: skip


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    tree, arrays = encode(state)
    return decode(json.loads(json.dumps(tree)), arrays)


def test_the_state_has_the_fields_as_their_types_are_written():
    state = WHOLE.state()
    assert state["names"] == ("x", 3)
    assert state["sides"] == [4, 5]
    assert state["numbers"] == [1, 2]
    assert state["parts"] == {"0": {"width": 1.0}, "1": {"width": 2.0}}
    assert state["part"] is None
    assert not {"around", "ring", "closes"} & state.keys()


@pytest.mark.parametrize("change", [{}, {"ring": Part(3.0), "closes": True, "part": Part(4.0)}])
def test_a_value_comes_back_from_its_state(change):
    whole = replace(WHOLE, **change)
    again = Whole.from_state(through_a_file(whole.state()))
    for name, value in vars(whole).items():
        np.testing.assert_equal(getattr(again, name), value)
    assert again.numbers.dtype == np.int64
    assert again.matrix.flags.f_contiguous


@pytest.mark.parametrize(
    "damage",
    [
        {"name": 1}, {"kind": "film"}, {"count": 2.0}, {"count": True}, {"names": "xy"},
        {"sides": [1.5]}, {"sides": None}, {"parts": {"1": {"width": 1.0}}}, {"parts": {"0": {}}},
        {"shares": {"s": "t"}}, {"shares": [1]}, {"matrix": [[1.0]]}, {"matrix": np.array(["a"])},
        {"matrix": None}, {"numbers": [0.5]}, {"numbers": None}, {"part": {"width": -1.0}},
        {"part": 5}, {"closes": 1}, {"unknown": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_of_its_type_is_refused(damage):
    with pytest.raises(DAMAGE):
        Whole.from_state(WHOLE.state() | damage)


def test_what_is_missing_is_named_unless_it_may_be_omitted():
    state = WHOLE.state()
    for key in state:
        with pytest.raises(KeyError, match=key):
            Whole.from_state({name: part for name, part in state.items() if name != key})
