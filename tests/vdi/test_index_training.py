"""The indices' block: the bound rises, and the map is redrawn only where asked."""

import numpy as np
import pytest
import torch

from domindex.geometry import DomainMap
from domindex.vdi.batches import BatchSampler
from domindex.vdi.fitting import MapRefresh, local_indices, train_indices
from domindex.vdi.module import IndexModule
from domindex.vdi.settings import TrainingSettings, Weights
from domindex.vdi.training import Callback, History, Trainer

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


def train(module, rows, domain_map, cpu, settings, *callbacks, redraw):
    trainer = Trainer(cpu, settings, callbacks)
    rng = np.random.default_rng(0)
    return train_indices(module, rows, domain_map, Weights(), trainer, rng, redraw=redraw)


def test_local_indices_are_grouped_by_domain(module, rows):
    groups = local_indices(module, rows)
    assert [group.shape for group in groups] == [(20, 2)] * 5
    means = module.local_posterior(rows.inputs).mean.detach().numpy()
    np.testing.assert_array_equal(np.concatenate(groups), means.astype(float))
    assert groups[0].dtype == np.float64


def test_a_map_that_is_not_redrawn_stays(module, rows, domain_map, cpu, settings):
    maps, history = Maps(), History(1)
    last = train(module, rows, domain_map, cpu, settings, maps, history, redraw=False)
    np.testing.assert_array_equal(last, domain_map.coordinates)
    assert len(set(map(id, maps.seen))) == 1
    assert set(history.to_frame()["phase"]) == {"indices"}
    assert len(history.rows) == settings.index_steps


@pytest.mark.parametrize(("refreshes", "n_maps"), [(4, 4), (2, 2), (1, 1), (0, 1), (12, 12)])
def test_a_map_is_redrawn_as_often_as_asked(module, rows, domain_map, cpu, refreshes, n_maps):
    settings = TrainingSettings(index_steps=12, batch_size=8, index_refreshes=refreshes)
    maps = Maps()
    last = train(module, rows, domain_map, cpu, settings, maps, redraw=True)
    counts = [maps.seen.count(sampler) for sampler in dict.fromkeys(maps.seen)]
    assert counts == [12 // n_maps] * n_maps
    np.testing.assert_array_equal(maps.seen[-1].draw().raw_index, last.astype(np.float32))


def test_a_redrawn_map_is_that_of_the_local_indices_turned_onto_the_one_before(
    module, rows, domain_map, cpu, settings, line
):
    class Standing:
        """A phase whose indices stand still."""

        objective = torch.nn.Module()
        batches = BatchSampler(rows, settings, np.random.default_rng(0), line)

    Standing.objective.module = module
    turned = DomainMap.fit(
        rows.data.domains,
        local_indices(module, rows),
        2,
        method="sliced",
        reference=-domain_map.coordinates,
    )
    refresh = MapRefresh(rows, turned, every=3)
    for step in (0, 1, 2):
        refresh.before_step(Standing, step)
    assert refresh.coordinates is turned.coordinates
    refresh.before_step(Standing, 3)
    assert refresh.coordinates is not turned.coordinates
    np.testing.assert_allclose(refresh.coordinates, turned.coordinates, atol=1e-6)


def test_the_indices_learn_to_tell_their_rows(module, rows, domain_map, cpu):
    settings = TrainingSettings(index_steps=150, batch_size=16, index_learning_rate=3e-3)
    history = History(10)
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    train(module, rows, domain_map, cpu, settings, history, redraw=False)
    told = history.to_frame()["input_reconstruction"]
    assert told.iloc[-1] > told.iloc[0] + 1.0
    assert all(not torch.equal(p, before[name]) for name, p in module.named_parameters())


def test_a_seed_fixes_the_indices(rows, cpu, settings, domain_map):
    def trained(seed):
        torch.manual_seed(seed)
        module = IndexModule((2,), local_dim=2, index_dim=2, width=8)
        train(module, rows, domain_map, cpu, settings, redraw=True)
        return np.concatenate(local_indices(module, rows))

    np.testing.assert_array_equal(trained(1), trained(1))
    assert not np.array_equal(trained(1), trained(2))
