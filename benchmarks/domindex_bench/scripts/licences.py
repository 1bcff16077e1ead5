"""Which licences the dependencies of the library have: of each package that is installed for it.

    python -m domindex_bench.scripts.licences    # name, version, licence, and what needs it

The runtime dependencies, then those of the extras, then those of the tools, each once, with all
that they need in turn. A package that does not say its licence in a way that can be read, and does
not stand in `KNOWN`, is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

KNOWN = {"skops": "MIT"}
"""Of packages whose metadata say nothing, as the text that comes with them says."""

TOOLS = ("dev", "docs")
SHORT = 60
"""Characters of a field that still names a licence, and does not quote one."""

CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True)
class Dependency:
    """A package that is installed."""

    name: str
    version: str
    licence: str  # "" where nothing says it
    needed_by: str  # the library itself, one of its extras, or the tools


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(package: Distribution) -> str:
    """As SPDX or in the words of its classifiers; the short text of the field where that is all."""
    metadata = package.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return str(expression)
    classes = [
        one.removeprefix(CLASSIFIER)
        for one in metadata.get_all("Classifier") or ()
        if one.startswith(CLASSIFIER)
    ]
    if classes:
        return " and ".join(classes)
    lines = str(metadata.get("License") or "").strip().splitlines()
    short = lines[0] if lines and len(lines[0]) <= SHORT else ""
    return short or KNOWN.get(canonical(package.name), "")


def dependencies(root: str = "domindex") -> list[Dependency]:
    """Of the installed library, extras that are not installed left out."""
    groups = [("the library", "")]
    extras = distribution(root).metadata.get_all("Provides-Extra") or []
    groups += [(f"[{one}]", one) for one in sorted(extras, key=lambda one: one in TOOLS)]
    seen, found = {canonical(root)}, []
    for group, extra in groups:
        for name in _closure(root, frozenset({extra}), seen):
            package = distribution(name)
            found.append(Dependency(package.name, package.version, licence_of(package), group))
    return found


def _closure(root: str, extras: frozenset[str], seen: set[str]) -> Iterator[str]:
    """Names of what `root` needs with these extras and nobody needed before."""
    for text in distribution(root).requires or ():
        needed = Requirement(text)
        name = canonical(needed.name)
        if needed.marker and not any(needed.marker.evaluate({"extra": one}) for one in extras):
            continue
        if name == canonical("domindex"):  # extras of its own, which come by themselves
            continue
        if name in seen:
            continue
        try:
            distribution(name)
        except PackageNotFoundError:
            continue
        seen.add(name)
        yield name
        yield from _closure(name, frozenset({"", *needed.extras}), seen)


def main() -> int:
    found = dependencies()
    for one in found:
        print(f"{one.name:28} {one.version:16} {one.licence or 'UNKNOWN':46} {one.needed_by}")
    unknown = [one.name for one in found if not one.licence]
    if unknown:
        print(f"Nothing says the licence of {', '.join(unknown)}. Read it, and add it to KNOWN.")
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
