"""The indices' block: the bound rises along a map that stays."""

import numpy as np
import pytest
import torch

from domindex.geometry import DomainMap
from domindex.neural.settings import TrainingSettings
from domindex.neural.training import Callback, History, Trainer
from domindex.vdi.fitting import local_indices, train_indices
from domindex.vdi.module import IndexModule
from domindex.vdi.settings import Weights

pytestmark = pytest.mark.usefixtures("_one_thread")


@pytest.fixture
def module() -> IndexModule:
    module = IndexModule((2,), local_dim=2, index_dim=2, width=8)
    module.local_encoder.start_at(np.eye(2))
    return module


@pytest.fixture
def domain_map(module, rows) -> DomainMap:
    return DomainMap.fit(rows.data.domains, local_indices(module, rows), 2, method="sliced")


class Maps(Callback):
    """Notes the sampler of every step."""

    def __init__(self):
        self.seen = []

    def on_terms(self, phase, step, terms):
        self.seen.append(phase.batches)


def train(module, rows, domain_map, cpu, settings, *callbacks):
    trainer = Trainer(cpu, settings, callbacks)
    rng = np.random.default_rng(0)
    train_indices(module, rows, domain_map, Weights(), trainer, rng)


def test_local_indices_are_grouped_by_domain(module, rows):
    groups = local_indices(module, rows)
    assert [group.shape for group in groups] == [(20, 2)] * 5
    means = module.local_posterior(rows.inputs).mean.detach().numpy()
    np.testing.assert_array_equal(np.concatenate(groups), means.astype(float))
    assert groups[0].dtype == np.float64


def test_the_map_stays(module, rows, domain_map, cpu, settings):
    maps, history = Maps(), History(1)
    train(module, rows, domain_map, cpu, settings, maps, history)
    (sampler,) = set(maps.seen)
    expected = domain_map.coordinates.astype(np.float32)
    np.testing.assert_array_equal(sampler.draw().raw_index, expected)
    assert set(history.to_frame()["phase"]) == {"indices"}
    assert len(history.rows) == settings.index_steps


def test_the_indices_learn_to_tell_their_rows(module, rows, domain_map, cpu):
    settings = TrainingSettings(index_steps=150, batch_size=16, index_learning_rate=3e-3)
    history = History(10)
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    train(module, rows, domain_map, cpu, settings, history)
    told = history.to_frame()["input_reconstruction"]
    assert told.iloc[-1] > told.iloc[0] + 1.0
    assert all(not torch.equal(p, before[name]) for name, p in module.named_parameters())


def test_a_seed_fixes_the_indices(rows, cpu, settings, domain_map):
    def trained(seed):
        torch.manual_seed(seed)
        module = IndexModule((2,), local_dim=2, index_dim=2, width=8)
        train(module, rows, domain_map, cpu, settings)
        return np.concatenate(local_indices(module, rows))

    np.testing.assert_array_equal(trained(1), trained(1))
    assert not np.array_equal(trained(1), trained(2))
