"""What can be set about a training: as scikit-learn's parameters, with refusals that say why."""

import numpy as np
import pytest
from sklearn.base import clone

from domindex import CrossDomainClassifier, Training
from domindex.baselines import DANN
from domindex.errors import InputError
from domindex.neural.settings import TrainingSettings, find_device


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps is 0. Choose a whole number of 1 or more"),
        ({"steps": 2.5}, "steps is 2.5. Choose a whole number of 1 or more"),
        ({"steps": True}, "steps is True. Choose a whole number of 1 or more"),
        ({"index_steps": 0}, "index_steps is 0. Choose a whole number of 1 or more"),
        ({"batch_size": 0}, "batch_size is 0. Choose a whole number of 1 or more"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0. Choose a positive number"),
        ({"device": "abacus"}, "device is 'abacus', and there is no such device here. Choose"),
        ({"device": "meta"}, "device is 'meta', and there is no such device here"),
        ({"device": 3}, "device is 3, and there is no such device here. Choose one of .*'cpu'"),
        ({"learning_rate": float("nan")}, "learning_rate is nan. Choose a positive number"),
    ],
)
def test_a_training_that_cannot_be_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Training(**settings).check()


def test_what_can_be_is_taken():
    Training().check()
    Training(steps=np.int64(3), index_steps=1, batch_size=1, learning_rate=1e-9).check()


def test_a_gpu_is_taken_where_there_is_one(monkeypatch):
    monkeypatch.setattr("torch.mps.is_available", lambda: False, raising=False)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert find_device("auto").type == "cpu"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert find_device("auto").type == "cuda"


def test_what_is_not_said_is_left_to_the_method():
    assert Training().settings() == TrainingSettings()
    assert Training().settings(steps=1000) == TrainingSettings(steps=1000)
    assert Training().settings(index_steps=50).index_steps == 50


def test_what_is_said_goes_before_the_methods_own():
    settings = Training(steps=7, batch_size=5).settings(steps=1000)
    assert (settings.steps, settings.batch_size) == (7, 5)
    assert settings.learning_rate == TrainingSettings().learning_rate


@pytest.mark.parametrize("kind", [CrossDomainClassifier, DANN])
def test_settings_are_nested_parameters(kind):
    model = kind(training=Training(steps=200))
    assert model.get_params()["training__steps"] == 200
    model.set_params(training__batch_size=16)
    assert model.training.batch_size == 16
    twin = clone(model)
    assert twin.training is not model.training
    assert twin.training.get_params() == model.training.get_params()
