"""Which code a row was measured with."""

import subprocess

import pytest

from domindex._version import __version__
from domindex_bench.provenance import OPTIONAL, Provenance, current_commit


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A folder under version control with a package in it, and an installed copy below."""
    git(tmp_path, "init")
    for folder in ("src", "venv"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / ".gitignore").write_text("venv\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    current_commit.cache_clear()
    yield tmp_path
    current_commit.cache_clear()


def test_a_clean_checkout_is_its_commit(checkout):
    (checkout / "notes.txt").write_text("outside the package")
    assert current_commit(checkout / "src") == git(checkout, "rev-parse", "HEAD")


def test_changed_code_is_called_dirty(checkout):
    (checkout / "src" / "__init__.py").write_text("changed = True")
    assert current_commit(checkout / "src") == git(checkout, "rev-parse", "HEAD") + "-dirty"


def test_an_installed_copy_does_not_take_the_commit_of_the_folder_it_lies_in(checkout):
    assert current_commit(checkout / "venv") == f"unknown, version {__version__}"


def test_every_row_says_where_it_comes_from():
    origin = Provenance.here_and_now()
    assert origin.commit
    assert origin.cores >= 1
    assert origin.date.endswith("Z")
    always = {"python", "domindex", "numpy", "scipy", "scikit-learn", "torch"}
    assert set(origin.versions) - set(OPTIONAL) == always
