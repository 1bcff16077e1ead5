"""Names of domains as a page can show them: not too long, and in the order of their letters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

MOST_CHARACTERS = 80
"""Of a name in a report: a line of the table holds about as many."""

TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]")
"""Marks that turn the direction of the text after them, and characters that have no shape."""

SHOWN_FOR_THEM = "\ufffd"


def readable_name(name: str) -> str:
    """The name, without marks that turn text around, and cut where it is long.

    What is cut ends in a few characters that are the name's own, so that two names that begin alike
    stay two.

    Examples
    --------
    >>> from domindex.data.readable_names import readable_name
    >>> readable_name("north")
    'north'
    >>> len(readable_name("n" * 10_000))
    80
    """
    plain = TURNING.sub(SHOWN_FOR_THEM, name)
    if len(plain) <= MOST_CHARACTERS:
        return plain
    mark = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{plain[: MOST_CHARACTERS - len(mark) - 2]}… {mark}"


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
