"""What is released: a wheel and an sdist that work where nothing of the checkout can help them."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import domindex

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    for needed in ("build", "hatchling"):
        pytest.importorskip(needed)
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def test_both_hold_the_package_its_pages_and_nothing_of_the_benchmark(built):
    sdist, wheel = built
    assert wheel.name.startswith(f"domindex-{domindex.__version__}-")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    assert "domindex/reporting/templates/report.html" in names
    assert all(name.startswith(("domindex/", "domindex-")) for name in names)
    with tarfile.open(sdist) as opened:
        inside = [name.partition("/")[2] for name in opened.getnames()]
    assert {"README.md", "LICENSE", "pyproject.toml", "src/domindex/cli.py"} <= set(inside)


@pytest.fixture
def python(tmp_path):
    """A Python that has what domindex needs, and not domindex."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    found = tmp_path / "env" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    home = subprocess.run([found, "-c", where], capture_output=True, text=True, check=True)
    packages = sysconfig.get_path("purelib")  # its own .pth files are not followed from there
    (Path(home.stdout.strip()) / "needed.pth").write_text(packages)
    return found


@pytest.mark.parametrize("kind", [0, 1], ids=["sdist", "wheel"])
def test_it_installs_into_an_empty_environment_and_predicts_there(built, kind, python, tmp_path):
    without = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    how = {"capture_output": True, "text": True, "cwd": tmp_path, "env": without}

    def run(*arguments):
        done = subprocess.run([str(python), "-m", *map(str, arguments)], **how)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "install", "--no-deps", "--no-build-isolation", "--no-index", built[kind])
    assert run("domindex", "--version").strip() == f"domindex {domindex.__version__}"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 2))
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(site=np.repeat(list("klmn"), 40))
    table["y"] = np.where(table["site"] < "m", np.where(rows[:, 0] > 0, "yes", "no"), None)
    table.to_csv(tmp_path / "table.csv")
    asked = ["--target", "y", "--domain", "site", "--effort", "quick", "--json"]
    about = json.loads(run("domindex", "fit", "table.csv", *asked))
    assert about["report"].endswith("report.html")
    here = subprocess.run([python, "-c", "import domindex; print(domindex.__file__)"], **how)
    assert here.stdout.startswith(str(tmp_path / "env"))
    run("domindex", "predict", "run", "table.csv")
    predicted = pd.read_csv(tmp_path / "predictions.csv")
    assert (predicted["y"] == np.where(rows[:, 0] > 0, "yes", "no")).mean() > 0.9
