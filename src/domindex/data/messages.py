"""Small helpers that keep error messages short."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any

MOST_SHOWN = 60
"""Characters of a value that a message repeats."""


def preview(values: Iterable[Any], limit: int = 5) -> str:
    """The first few values, with an ellipsis where there are more."""
    shown = list(islice(iter(values), limit + 1))
    text = ", ".join(shortened(value) for value in shown[:limit])
    return f"{text}, …" if len(shown) > limit else text


def shortened(value: Any, most: int = MOST_SHOWN) -> str:
    """How a value is written, cut where that is long; some cannot be written at all.

    Examples
    --------
    >>> from domindex.data.messages import shortened
    >>> shortened("x" * 1000, most=10)
    "'xxxxxxxx…"
    """
    try:
        text = repr(value)
    except Exception:  # a number of too many digits, or a class of the user's that fails
        text = f"a {type(value).__name__} that cannot be written"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def frames_inside() -> int:
    """How many frames up the library was called from outside: whose line a warning should name."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("domindex"):
        frame, level = frame.f_back, level + 1
    return level


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest of the known names; empty where none is near."""
    near = nearest_name(name, known)
    return "" if near is None else f"Did you mean {near!r}?"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like another; None where none is near."""
    lowered = {other.lower(): other for other in reversed(list(known))}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None
