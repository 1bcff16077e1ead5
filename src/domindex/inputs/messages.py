"""How values and names are written in messages, and where a warning points."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any


def preview(values: Iterable[Any], limit: int = 5) -> str:
    """The first few values, with an ellipsis where there are more."""
    shown = list(islice(iter(values), limit + 1))
    text = ", ".join(shortened(value) for value in shown[:limit])
    return f"{text}, …" if len(shown) > limit else text


def shortened(value: Any, most: int = 60) -> str:
    """How a value is written, cut where that is long; some cannot be written at all."""
    try:
        text = repr(value)
    except Exception:  # a number of too many digits, or a class of the user's that fails
        text = f"a {type(value).__name__} that cannot be written"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def number_text(value: float) -> str:
    """A number as pages show it: three figures, and no exponent where it can be read without.

    Examples
    --------
    >>> from domindex.inputs.messages import number_text
    >>> number_text(4964.3), number_text(0.0786), number_text(12.04)
    ('4,964', '0.0786', '12')
    """
    size = abs(value)
    if 1000 <= size < 1e15:
        return f"{value:,.0f}"
    return f"{value:.1e}" if 0 < size < 1e-3 else f"{value:.3g}"


def frames_inside() -> int:
    """How many frames up the library was called from outside: whose line a warning should name."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("domindex"):
        frame, level = frame.f_back, level + 1
    return level


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest of the known names; empty where none is near."""
    return "" if (near := nearest_name(name, known)) is None else f"Did you mean {near!r}?"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like another; None where none is near."""
    lowered = {other.lower(): other for other in reversed(list(known))}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None


TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]")
"""Marks that turn the direction of the text after them, and characters that have no shape."""


def readable_name(name: str, most: int = 80) -> str:
    """The name without marks that turn text around; a long one is cut and ends in its own hash."""
    plain = TURNING.sub("\ufffd", name)
    if len(plain) <= most:
        return plain
    mark = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{plain[: most - len(mark) - 2]}… {mark}"


def with_readable_names(content: Any, names: Iterable[str]) -> Any:
    """Nested lists and dictionaries, in whose texts every name is as it can be shown."""
    changed = {name: readable_name(name) for name in names if readable_name(name) != name}
    return _replaced(content, sorted(changed.items(), key=lambda pair: -len(pair[0])))


def _replaced(content: Any, changed: list[tuple[str, str]]) -> Any:
    if not changed:
        return content
    if isinstance(content, str):
        for name, shown in changed:
            content = content.replace(name, shown)
        return content
    if isinstance(content, dict):
        return {_replaced(k, changed): _replaced(v, changed) for k, v in content.items()}
    if isinstance(content, list | tuple):
        return [_replaced(one, changed) for one in content]
    return content
