"""Names that a user may ask for, and a helpful word about those that there are not."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from domindex.errors import InputError
from domindex.inputs.messages import preview


def choose_names(what: str, names: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The wanted names, each once, in the order given; all where none are."""
    wanted = list(known) if names is None else list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        near = difflib.get_close_matches(str(unknown[0]).lower(), known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "Choose from these."
        raise InputError(
            f"There is no {what} {preview(unknown)}; there are {', '.join(known)}. {hint}"
        )
    if not wanted:
        raise InputError(f"No {what} is named; there are {', '.join(known)}. Leave out for all.")
    return wanted
