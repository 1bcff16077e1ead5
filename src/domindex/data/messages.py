"""Small helpers that keep error messages short."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any


def preview(values: Iterable[Any], limit: int = 5) -> str:
    """The first few values, with an ellipsis where there are more."""
    shown = list(islice(iter(values), limit + 1))
    text = ", ".join(repr(value) for value in shown[:limit])
    return f"{text}, …" if len(shown) > limit else text
