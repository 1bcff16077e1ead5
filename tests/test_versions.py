"""What something was made with."""

import shutil
import subprocess
from pathlib import Path

import pytest

import domindex
from domindex.versions import source_hash

PACKAGE = Path(domindex.__file__).parent


@pytest.fixture
def copy(tmp_path):
    return Path(
        shutil.copytree(
            PACKAGE, tmp_path / "domindex", ignore=shutil.ignore_patterns("__pycache__")
        )
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_hash_of_the_code_is_gits_own(copy):
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=copy, check=True)
    tree = subprocess.run(["git", "write-tree"], cwd=copy, check=True, capture_output=True)
    assert source_hash(copy) == tree.stdout.decode().strip()


def test_any_change_of_the_code_changes_the_hash_and_compiled_files_do_not(copy):
    assert source_hash(copy) == source_hash()
    (copy / "geometry" / "__pycache__").mkdir()
    (copy / "geometry" / "__pycache__" / "flow.pyc").write_bytes(b"\0")
    source_hash.cache_clear()
    assert source_hash(copy) == source_hash()
    with (copy / "geometry" / "flow.py").open("a") as file:
        file.write("FURTHER = 2\n")
    source_hash.cache_clear()
    assert source_hash(copy) != source_hash()
