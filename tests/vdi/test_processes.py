"""Two real processes on the CPU: the result of one, in both, and an end where one is lost."""

import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch.distributed as dist

from domindex import Training, VDIClassifier, VDIRegressor, load
from domindex.errors import TrainingError

SCRIPT = Path(__file__).with_name("launched_fit.py")
SAME = 1e-4
"""How far losses of the first 20 steps may be apart."""

IN_TIME = 30.0
"""Seconds in which the others end when one process was killed."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def of_script():
    spec = importlib.util.spec_from_file_location("launched_fit", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return of_script()


@pytest.fixture(scope="module")
def alone(script):
    return script.fitted(script.family())


def require_same_losses(history, expected, n_steps=20):
    """Every term of the objective, in the first steps of every phase."""
    assert list(history.columns) == list(expected.columns)
    for phase, record in expected.groupby("phase"):
        mine = history[history["phase"] == phase]
        first, second = (part.drop(columns="phase")[:n_steps] for part in (record, mine))
        assert len(first) == n_steps
        np.testing.assert_allclose(second, first, atol=SAME, rtol=0)


def environment():
    """For a script in a process of its own: this package, one thread."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "LT_CLI_USED")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    """What each of two processes under torchrun wrote down, and the folder they wrote to."""
    folder = tmp_path_factory.mktemp("launched")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ran = subprocess.run(
        [*command, SCRIPT, folder],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)], folder


def test_two_launched_processes_learn_what_one_does(launched, alone, script):
    (first, _), _ = launched
    require_same_losses(pd.read_json(io.StringIO(first["history"])), alone.history_)
    data = script.family()
    expected = alone.predict_proba(data.X, sample_domain=data.sample_domain)
    np.testing.assert_allclose(first["predicted"], expected, atol=1e-3)
    np.testing.assert_allclose(first["map"], alone.domain_indices_, atol=1e-4)


def test_both_processes_return_the_same_model(launched):
    (first, second), _ = launched
    assert first == second
    assert first["n_processes"] == 2


def test_one_process_writes_the_model(launched, script):
    (first, _), folder = launched
    data, model = script.family(), load(folder / "model")
    predicted = model.predict_proba(data.X, sample_domain=data.sample_domain)
    np.testing.assert_array_equal(predicted, first["predicted"])


def test_processes_with_different_data_are_told_so(launched):
    for told in launched[0]:
        assert "gave fit different data" in told["refused"]


def curve(**where):
    """A fit of values along the flow: the closed form, the folds, one member. Odd batches."""
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(6), 17)
    X = rng.normal(size=(102, 2)) + np.column_stack([domain, np.zeros(102)])
    model = VDIRegressor(
        representation="flow",
        predictor="network",
        training=Training(steps=20, index_steps=20, batch_size=17),
        random_state=0,
        **where,
    )
    model.fit(X, X[:, 1] - domain, sample_domain=domain, source_domains=[0, 1, 2, 3])
    return model, model.predict(X, sample_domain=domain)


def test_helpers_take_their_share_and_are_gone_after_the_fit():
    hook = sys.excepthook
    (model, predicted), (expected_model, expected) = curve(devices=2), curve()
    require_same_losses(model.history_, expected_model.history_)
    np.testing.assert_allclose(predicted, expected, atol=1e-3)
    assert (model.n_processes_, expected_model.n_processes_) == (2, 1)
    assert not helpers()
    assert not dist.is_initialized()
    assert sys.excepthook is hook


def helpers():
    """Processes that help this one to train."""
    return [
        one
        for one in psutil.Process().children(recursive=True)
        if "domindex.vdi.helper" in " ".join(one.cmdline())
    ]


def test_a_killed_helper_ends_the_fit_with_a_word_of_why(script):
    killed_at = []

    def kill_while_training():
        while not dist.is_initialized():
            time.sleep(0.05)
        time.sleep(0.5)
        killed_at.append(time.monotonic())
        helpers()[0].kill()

    threading.Thread(target=kill_while_training, daemon=True).start()
    data = script.family()
    model = VDIClassifier(
        flow=None, training=Training(index_steps=10**6, batch_size=16), devices=2, random_state=0
    )
    with pytest.raises(TrainingError, match="Process 1 of the training was ended by SIGKILL"):
        model.fit(
            data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
        )
    assert time.monotonic() - killed_at[0] < IN_TIME
    assert not helpers()
    assert not dist.is_initialized()


LEADER = """
import time
from domindex import Training
from domindex.vdi.helpers import Helpers
from domindex.vdi.places import Places

with Helpers(Places.of(Training(devices=2))) as helpers:
    helpers.processes.connection
    print(helpers._helpers[0].process.pid, flush=True)
    time.sleep(1000)
"""


def test_a_helper_ends_where_the_process_that_leads_was_killed():
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER], env=environment(), stdout=subprocess.PIPE, text=True
    )
    helper = psutil.Process(int(leader.stdout.readline()))
    leader.send_signal(signal.SIGKILL)
    leader.wait()
    leader.stdout.close()
    try:
        helper.wait(IN_TIME)
    finally:
        if helper.is_running():
            helper.kill()
    assert not psutil.pid_exists(helper.pid)
