"""What the library is built on: locked by hash, with licences that are known."""

import re
import sys
from email.message import Message
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from domindex_bench.measuring import read_results
from domindex_bench.scripts import licences, lock, minimums

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((lock.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def locked():
    lines = lock.LOCK.read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" --hash=") for line in lines if not line.startswith("#")]
    return {pinned.split("==")[0]: (pinned.split("==")[1], digest) for pinned, digest in pairs}


def test_every_line_of_the_lock_has_a_version_and_a_hash_and_names_no_host(locked):
    text = lock.LOCK.read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    assert len(locked) > 100
    for number, digest in locked.values():
        assert re.fullmatch(r"[\w.!+]+", number)
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest)


def test_the_lock_holds_what_the_project_asks_for(locked):
    tools = PROJECT["optional-dependencies"]
    names = Requirement(tools["dev"][0]).extras
    asked = [*PROJECT["dependencies"], *tools["dev"][1:], *(one for n in names for one in tools[n])]
    for text in asked:
        needed = Requirement(text)
        name = lock.canonical(needed.name)
        is_for_lock = not needed.marker or needed.marker.evaluate({"python_version": "3.11"})
        if name in lock.WITHOUT_HASH or not is_for_lock:
            continue
        assert needed.specifier.contains(locked[name][0]), name
    pinned = Path(lock.ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert all(f"{name}==" in pinned for name in lock.WITHOUT_HASH)
    assert not set(lock.WITHOUT_HASH) & set(locked)


def test_a_lock_is_written_of_what_pip_reports():
    def package(name):
        hashes = {"sha256": "0" * 64}
        about = {"name": name, "version": "1.0"}
        return {"metadata": about, "download_info": {"archive_info": {"hashes": hashes}}}

    written = lock.lock_text([package("Some_Name"), package("torch"), package("domindex")])
    assert written.splitlines()[2:] == [f"some-name==1.0 --hash=sha256:{'0' * 64}"]


def test_the_licence_of_every_dependency_is_known():
    found = licences.dependencies()
    assert [one.name for one in found if not one.licence] == []
    by_name = {licences.canonical(one.name): one for one in found}
    assert by_name["numpy"].needed_by == "the library"
    assert by_name["pytest"].needed_by == "[dev]"
    for text in PROJECT["dependencies"]:
        needed = Requirement(text)
        if not needed.marker or needed.marker.evaluate():
            assert licences.canonical(needed.name) in by_name


def test_a_package_that_says_no_licence_is_not_passed_over():
    class Silent:
        name = "silent"
        metadata = Message()

    assert licences.licence_of(Silent()) == ""


def test_the_lowest_versions_that_were_tried_are_those_that_are_declared():
    tried = read_results("minimums")["lowest"]
    assert tried["story"] == "told"
    assert tried["tests"]["passed"] > 1000
    assert "error" not in tried["tests"]
    # one test of flows asked an old NumPy for the rank of an empty matrix; it asks no more
    assert tried["tests"].get("failed", 0) <= 1
    declared = minimums.lowest_of(
        [*PROJECT["dependencies"], *(o for e in minimums.EXTRAS for o in extra(e))]
    )
    for name, number in tried["lowest"].items():
        assert declared[name] == number, name


def extra(name):
    return PROJECT["optional-dependencies"][name]


def test_what_is_installed_is_no_older_than_what_is_declared():
    for text in PROJECT["dependencies"]:
        needed = Requirement(text)
        try:
            assert needed.specifier.contains(version(needed.name), prereleases=True), text
        except PackageNotFoundError:
            assert needed.marker
