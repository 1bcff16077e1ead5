"""The suites that can be asked for by name, one file each.

A new one is a module of this folder with a `SUITE`, and its name below, a hyphen for each
underscore. Modules are imported when
a suite is asked for, so that a cell's process holds what it needs and no more.
"""

from __future__ import annotations

from importlib import import_module

from domindex_bench.cells import Cell
from domindex_bench.choosing import choose_names
from domindex_bench.suite import Suite

SUITES = (
    "paper",
    "real",
    "two-domains",
    "pictures",
    "compcars",
    "ablation",
    "generality",
    "regression",
    "disturbed",
    "coverage",
    "time",
)


def list_suites() -> list[str]:
    """The names that `find_suite` knows."""
    return list(SUITES)


def find_suite(name: str) -> Suite:
    """The suite of that name."""
    (known,) = choose_names("suite", [name], SUITES)
    suite: Suite = import_module(f"{__name__}.{known.replace('-', '_')}").SUITE
    return suite


def settings_now(cell: Cell) -> str:
    """The settings' hash that `cell` would have if it were measured now; empty if it cannot be."""
    return find_suite(cell.suite).settings_now(cell.dataset, cell.method) or ""
