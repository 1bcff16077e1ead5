"""skada's pipelines, splitters, scorers and searches take our estimators as they are."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NAMES = (
    "make_da_pipeline, CrossDomainClassifier",
    "make_da_pipeline, CrossDomainRegressor",
    "make_da_pipeline, MomentFlow",
    "SourceTargetShuffleSplit",
    "DomainShuffleSplit",
    "StratifiedDomainShuffleSplit",
    "LeaveOneDomainOut",
    "ImportanceWeightedScorer",
    "SupervisedScorer",
    "SoftNeighborhoodDensity",
    "DeepEmbeddedValidation",
    "CircularValidation",
    "MixValScorer",
    "GridSearchCV",
)


@pytest.fixture(scope="module")
def outcomes():
    """Of all checks, in one process beside this one, whose settings skada would change."""
    if find_spec("skada") is None:
        pytest.skip("skada is not installed: pip install 'domindex[skada]'")
    script = Path(__file__).with_name("skada_checks.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=280,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_skada_takes_it(outcomes, name):
    assert outcomes[name] == "ok", outcomes[name]


@pytest.mark.full
def test_every_check_is_asked_for(outcomes):
    assert set(outcomes) == set(NAMES)
