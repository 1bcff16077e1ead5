"""The reference: one entry a parameter, as the signature has them, with defaults that are true."""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(
    r"^(?P<names>\*{0,2}\w+(?:, *\*{0,2}\w+)*) : ?(?P<text>.*(?:\n(?: +.*)?)*)", re.M
)
DEFAULT = re.compile(r"by default (?P<value>`?[\w.\"'-]+`?)(?=[\s,.;:)]|$)")


def offered():
    """Dotted names of the page, and the public methods of its classes."""
    for name in re.findall(r"^::: ([\w.]+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        yield name
        found = find(name)
        if inspect.isclass(found):
            for method, value in inspect.getmembers(found, inspect.isfunction):
                own = value.__module__.startswith("domindex.")
                if own and not method.startswith("_"):
                    yield f"{name}.{method}"


def find(dotted):
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"there is no {dotted}")


def sections(text):
    """Title to text of a docstring in NumPy's form."""
    marks = list(SECTION.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1].strip(): text[mark.end() : end] for mark, end in zip(marks, ends)}


def described(found):
    """Names to texts of the entries on parameters; of a plain value, those of its fields."""
    parts = sections(inspect.getdoc(found) or "")
    plain = dataclasses.is_dataclass(found) and "Parameters" not in parts
    text = parts.get("Attributes" if plain else "Parameters")
    if text is None:
        return None
    return [(entry["names"], entry["text"]) for entry in ENTRY.finditer(text)]


def parameters(found):
    return {
        name: one
        for name, one in inspect.signature(found).parameters.items()
        if name not in ("self", "cls")
    }


@pytest.mark.parametrize("dotted", list(offered()))
def test_every_parameter_has_an_entry_of_its_own(dotted):
    found = find(dotted)
    entries = described(found)
    if entries is None:
        return
    names = [names for names, _ in entries]
    assert not [name for name in names if "," in name], "entries that share a text"
    missing = set(parameters(found)) - {name.lstrip("*") for name in names}
    assert not missing, f"{dotted} does not say what {sorted(missing)} are"
    if not dataclasses.is_dataclass(found):
        unknown = {name.lstrip("*") for name in names} - set(parameters(found))
        assert not unknown, f"{dotted} describes {sorted(unknown)}, which it does not take"


@pytest.mark.parametrize("dotted", list(offered()))
def test_defaults_that_are_stated_are_those_of_the_signature(dotted):
    found = find(dotted)
    for names, text in described(found) or ():
        stated = DEFAULT.search(" ".join(text.split()))
        if stated is None or names not in parameters(found):
            continue
        default = parameters(found)[names].default
        assert stated["value"].strip("`\"'") in (str(default), repr(default)), f"{dotted}: {names}"


def test_an_entry_for_several_and_a_wrong_default_are_found():
    def wrong(first=1, second=2):
        """Add.

        Parameters
        ----------
        first, second : numbers, by default 3
        """

    (entry,) = described(wrong)
    assert entry[0] == "first, second"
    assert DEFAULT.search(entry[1])["value"] == "3"
