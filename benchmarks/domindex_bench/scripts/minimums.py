"""The library with the oldest dependencies that it says it takes: does it still work?

An environment of its own holds the lower bound of every requirement of the library and of the
extras that tests need. torch alone is the one that is installed here, by links, as older ones take
gigabytes. In it one story is told from end to end (fit, predict, save, open, report, export), and
test files are run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from domindex_bench.measuring import Found, Measurement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
LINKED = ("torch", "torchgen", "functorch")
EXTRAS = ("excel", "pictures", "plots", "report", "serve", "tables")
TOOLS = ("hypothesis", "httpx", "pytest", "pytest-timeout", "polars", "PyYAML")
TESTS = (
    "tests/test_errors.py",
    "tests/test_fuzz.py",
    "tests/persistence",
    "tests/inputs",
    "tests/geometry",
    "tests/representations",
    "tests/vdi",
    "tests/neural",
    "tests/estimators/test_classifier.py",
    "tests/estimators/test_regressor.py",
    "tests/estimators/test_frames.py",
    "tests/estimators/test_formats.py",
    "tests/estimators/test_moment_flow.py",
    "tests/export/test_program.py",
    "tests/tables/test_reading.py",
    "tests/tables/test_fitting.py",
    "tests/serving/test_app.py",
)
STORY = """
import tempfile, domindex
from domindex.datasets import make_circle

family = make_circle(n_domains=8, n_sources=4, samples_per_domain=40, random_state=0)
roles = {"sample_domain": family.sample_domain, "source_domains": family.source_domains}
place = tempfile.mkdtemp()
model = domindex.CrossDomainClassifier(effort="quick", random_state=0)
model.fit(family.X, family.y, **roles).save(f"{place}/model")
asked = {"sample_domain": family.sample_domain}
again = domindex.load(f"{place}/model").predict_proba(family.X, **asked)
assert (again == model.predict_proba(family.X, **asked)).all()
domindex.CrossDomainRegressor(effort="quick", random_state=0).fit(family.X, family.X[:, 0], **roles)
model.report(f"{place}/report.html", family.X, family.y, **asked)
model.export(f"{place}/exported")
"""


def lowest() -> dict[str, str]:
    """The lower bound of each requirement of the library and of `EXTRAS`, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return lowest_of([*project["dependencies"], *(one for name in EXTRAS for one in extras[name])])


def lowest_of(requirements: Iterable[str]) -> dict[str, str]:
    """Of those that hold here and that are not linked."""
    needs = [Requirement(text) for text in requirements]
    return {
        one.name: bound.version
        for one in needs
        if one.name not in LINKED and (not one.marker or one.marker.evaluate())
        for bound in one.specifier
        if bound.operator == ">="
    }


def link_torch(site: Path) -> None:
    """The torch that is installed here, and by name what it needs."""
    package = find_spec("torch")
    assert package is not None
    assert package.origin is not None
    here = Path(package.origin).parents[1]
    known = [*(here / name for name in LINKED), *here.glob("torch-*.dist-info")]
    for one in known:
        if one.exists():
            (site / one.name).symlink_to(one)


def needs_of_torch() -> list[str]:
    """Requirements of torch that have no lower bound of ours."""
    needs = [Requirement(text) for text in distribution("torch").requires or ()]
    plain = [one for one in needs if not one.marker or one.marker.evaluate({"extra": ""})]
    ours = {name.lower() for name in lowest()}
    return [f"{one.name}{one.specifier}" for one in plain if one.name.lower() not in ours]


def try_lowest() -> Found:
    """Versions, and what became of the story and of the tests."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True, symlinks=True)
        python = Path(place) / "bin" / "python"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        asked = [f"{name}=={number}" for name, number in lowest().items()]
        asked += [one for one in (*TOOLS, *needs_of_torch()) if one not in lowest()]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *asked], check=True)
        link_torch(Path(place) / "lib" / version / "site-packages")
        settings = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        how: Any = {"cwd": ROOT, "env": {**os.environ, **settings}, "check": False}
        result = subprocess.run([python, "-c", STORY], **how)
        command = [python, "-m", "pytest", "-q", "-m", "not full", "-p", "no:cacheprovider"]
        tests = subprocess.run([*command, *TESTS], capture_output=True, text=True, **how)
    print(tests.stdout[-3000:], flush=True)
    ends = re.findall(r"(\d+) (passed|failed|error|skipped)", tests.stdout[-300:])
    counts = {kind: int(number) for number, kind in ends}
    return {
        "lowest": lowest(),
        "torch": distribution("torch").version,
        "story": "told" if result.returncode == 0 else "failed",
        "tests": counts,
        "files": list(TESTS),
    }


MEASUREMENT = Measurement(parts={"lowest": try_lowest})
