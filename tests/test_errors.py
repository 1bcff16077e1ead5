"""Every error and warning of the library is documented, and some test sees it raised."""

import inspect
import re
from pathlib import Path

import pytest

from domindex import errors

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__
]
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    if path.name != Path(__file__).name
)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_has_a_line_in_the_table(kind):
    assert re.search(rf"^\| `{kind.__name__}` \| \S.* \| \S.* \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_is_seen_raised_by_a_test(kind):
    if kind is errors.DomindexError:  # the base of the others, never raised itself
        return
    assert re.search(rf"(raises|warns)\([^)]*\b{kind.__name__}\b", TESTS)


def test_the_table_names_no_class_that_is_not_there():
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert named == {kind.__name__ for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_all_of_them_can_be_caught_at_once(kind):
    assert issubclass(kind, errors.DomindexError) or issubclass(kind, UserWarning)
