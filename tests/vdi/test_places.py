"""How many processes there are to be, from what was asked for and what a launcher says."""

import pytest
import torch

from domindex import Training, VDIClassifier
from domindex.baselines import DANN
from domindex.errors import InputError
from domindex.vdi.launching import is_leading
from domindex.vdi.places import Places

LAUNCHER = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch):
    for name in (*LAUNCHER, "LOCAL_RANK", "LOCAL_WORLD_SIZE", "LT_CLI_USED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def _launched(monkeypatch):
    for name, value in LAUNCHER.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("devices", "n"), [(1, 1), (2, 2), ("3", 3), ("auto", 1), (-1, 1), ([0, 1], 2), ("0,2", 2)]
)
def test_a_process_a_device(devices, n):
    places = Places.of(Training(devices=devices))
    assert (places.n_processes, places.is_launched, places.are_shared) == (n, False, n > 1)


@pytest.mark.parametrize("devices", [0, -2, True, [], "two", 1.5, "0"])
def test_devices_that_are_none_are_refused(devices):
    with pytest.raises(InputError, match="devices is"):
        Places.of(Training(devices=devices))


def test_processes_share_batches_and_nothing_else():
    with pytest.raises(InputError, match="strategy is 'fsdp', for 2 devices"):
        Places.of(Training(devices=2, strategy="fsdp"))


def test_ddp_with_one_device_is_one_process():
    places = Places.of(Training(strategy="ddp"))
    assert not places.are_shared
    assert places.fabric().device == torch.device("cpu")


@pytest.mark.usefixtures("_launched")
def test_a_launchers_processes_share_where_that_was_asked_for(monkeypatch):
    assert not Places.of(Training()).are_shared
    for asked in ({"devices": 2}, {"strategy": "ddp"}):
        places = Places.of(Training(**asked))
        assert (places.n_processes, places.is_launched) == (2, True)
    monkeypatch.setenv("LT_CLI_USED", "1")
    assert Places.of(Training()).is_launched


@pytest.mark.usefixtures("_launched")
def test_more_devices_than_the_launcher_started_are_refused():
    with pytest.raises(InputError, match="the launcher started 2 processes"):
        Places.of(Training(devices=3))


@pytest.mark.usefixtures("_launched")
def test_on_several_machines_devices_are_those_of_one(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert Places.of(Training(devices=2)).n_processes == 2


def test_the_first_process_leads(monkeypatch):
    assert is_leading()
    monkeypatch.setenv("RANK", "1")
    assert not is_leading()


def test_the_estimators_own_word_stands_before_the_trainings():
    model = VDIClassifier(training=Training(devices=4, steps=7), strategy="ddp")
    asked = model._training()
    assert (asked.devices, asked.strategy, asked.steps) == (4, "ddp", 7)
    asked = model.set_params(devices=2)._training()
    assert (asked.devices, model.training.devices) == (2, 4)


@pytest.mark.parametrize("given", [{"devices": 0}, {"devices": 2, "strategy": "dp"}])
def test_estimators_refuse_before_any_work(given):
    with pytest.raises(InputError, match="Choose"):
        VDIClassifier(**given).fit([[0.0]], [0], sample_domain=["a"], source_domains=["a"])


def test_baselines_train_in_one_process():
    model = DANN(training=Training(devices=2))
    with pytest.raises(InputError, match="Baselines train in one process"):
        model.fit([[0.0]], [0], sample_domain=["a"], source_domains=["a"])
