"""What every training needs: a device, and rows of domains along a line."""

import numpy as np
import pytest
import torch

from domindex.data import DomainData
from domindex.training.batches import TrainingRows
from domindex.training.settings import TrainingSettings
from domindex.training.threads import one_thread


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def _one_thread():
    """As a fit has it: small steps take many times longer where threads compete for cores."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def fabric():
    from lightning_fabric import Fabric

    return Fabric(accelerator="cpu", devices=1)


@pytest.fixture
def line() -> np.ndarray:
    """A map of index_dim 2 with five domains in order along its first axis, at unit scale."""
    return np.column_stack([np.linspace(-1.4, 1.4, 5), np.zeros(5)])


@pytest.fixture
def rows(line) -> TrainingRows:
    """Five domains that move along the first feature; two classes, known in the first two."""
    rng = np.random.default_rng(0)
    of_row = np.repeat(np.arange(5), 20)
    classes = np.arange(100) % 2
    inputs = 0.3 * rng.normal(size=(100, 2)) + line[of_row]
    inputs[:, 1] += 2.0 * classes - 1.0
    is_source = np.array([True, True, False, False, False])
    labels = np.where(is_source[of_row], classes, -1)
    domains = ("a", "b", "c", "d", "e")
    data = DomainData(
        inputs, labels, of_row, domains, is_source, "classification", classes=np.array([0, 1])
    )
    return TrainingRows.of(data, inputs.copy(), torch.device("cpu"))


@pytest.fixture
def settings() -> TrainingSettings:
    return TrainingSettings(steps=20, index_steps=12, batch_size=8, warm_up=2)
