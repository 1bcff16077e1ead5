"""What the project says of itself in several files is the same in all of them."""

import re
import sys
from pathlib import Path

import pytest
import yaml

import domindex

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SETTINGS = sorted([*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml"])


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(read("pyproject.toml"))


@pytest.fixture(scope="module")
def jobs():
    return yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]


def commands(jobs):
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.name)
def test_settings_of_the_forge_are_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_every_promised_python_is_tested(project, jobs):
    name = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    found = map(name.fullmatch, project["project"]["classifiers"])
    promised = [match[1] for match in found if match]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == promised
    assert project["project"]["requires-python"] == f">={promised[0]}"
    assert project["tool"]["mypy"]["python_version"] == promised[0]


def test_the_workflow_runs_targets_that_exist(jobs):
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    wanted = {command.removeprefix("make ") for command in commands(jobs)}
    assert wanted == {"lint", "pytest", "docs", "audit"}
    assert wanted <= targets


def test_the_workflow_can_only_read_and_names_versions_of_its_actions(jobs):
    workflow = yaml.safe_load(read(".github/workflows/ci.yml"))
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in jobs.values())
    assert used
    assert all(re.fullmatch(r"[\w/-]+@v\d+", name) for name in used)


def test_the_version_stands_in_one_place(project):
    place = project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{domindex.__version__}"' in read(place)
    assert project["project"]["dynamic"] == ["version"]
    assert "version" not in project["project"]
    assert "version" not in yaml.safe_load(read("CITATION.cff"))


def test_the_newest_release_in_the_changelog_is_this_version():
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", read("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    version, date = headings[1]
    assert version == domindex.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def test_full_tests_run_in_test_all_only():
    recipes = dict(re.findall(r"^([\w-]+):.*\n((?:\t.*\n)*)", read("Makefile"), re.MULTILINE))
    assert '-m "not full"' in recipes["pytest"]
    everything, older_instructions = recipes["pytest-all"].splitlines()
    assert "not full" not in everything
    assert older_instructions.startswith("\tOPENBLAS_CORETYPE=")
    assert older_instructions.endswith('-m "not full"')
