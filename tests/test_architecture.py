"""docs/architecture.md says where a row goes; here a real fit and a real prediction are watched."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from domindex import CrossDomainClassifier, Training
from domindex.datasets import make_circle

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
DEPTH = 3
"""Every function of the estimators and the committee that a fit goes through, up to so many calls
of the package below each other, is on the page."""


def hops(part: str) -> list[str]:
    """The dotted names of the steps, in their order."""
    text = re.search(rf"<!-- {part} -->(.*)<!-- end of {part} -->", PAGE.read_text(), re.DOTALL)
    return re.findall(r"`(domindex[\w.]+)`", text.group(1))


def code_of(dotted: str):
    """The code object behind a dotted name of a function or method."""
    parts = dotted.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        found = getattr(found, "__func__", getattr(found, "fget", found))
        return getattr(found, "__wrapped__", found).__code__
    raise AssertionError(f"there is no {dotted}")


def watched(names: list[str], act) -> tuple[list[str], set[str]]:
    """The names in the order of their first calls while `act` ran, and those that are missing."""
    wanted = {code_of(name): name for name in names}
    seen: list[str] = []
    missing: set[str] = set()
    depth = 0

    def watch(frame, event, argument):
        nonlocal depth
        home = frame.f_globals.get("__name__", "")
        if not home.startswith("domindex") or event not in ("call", "return"):
            return
        depth += 1 if event == "call" else -1
        if event == "return":
            return
        name = wanted.get(frame.f_code)
        if name is not None and name not in seen:
            seen.append(name)
        called = frame.f_code.co_name
        ours = home.startswith(("domindex.estimators", "domindex.committee"))
        if depth <= DEPTH and ours and name is None and not called.startswith(("__", "<")):
            missing.add(f"{home}: {called}")

    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(None)
    return seen, missing


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=5, n_sources=3, samples_per_domain=10, random_state=0)


def test_a_row_goes_through_fit_and_predict_as_the_page_says(family):
    model = CrossDomainClassifier(
        candidates=[("raw", "linear"), ("with_index", "linear"), ("raw", "trees")],
        training=Training(index_steps=2),
        n_jobs=1,
        random_state=0,
    )
    rows = {"sample_domain": family.sample_domain}
    steps = {
        "fit": lambda: model.fit(family.X, family.y, source_domains=family.source_domains, **rows),
        "predict": lambda: model.predict(family.X, **rows),
    }
    for part, act in steps.items():
        named = hops(part)
        seen, missing = watched(named, act)
        assert seen == named
        assert part == "predict" or not missing


def test_every_room_of_the_page_is_there_and_every_room_is_on_the_page():
    rooms = {
        path.name for path in (PAGE.parents[1] / "src" / "domindex").iterdir() if path.is_dir()
    }
    named = set(re.findall(r"`(\w+)/`", PAGE.read_text()))
    assert rooms - {"__pycache__"} <= named
