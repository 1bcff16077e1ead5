"""The encoding's block: z and y at fixed indices, against the adversary."""

import numpy as np
import pytest
import torch

from domindex.committee.alignments import IdentityAlignment
from domindex.committee.encoding import EncodingModule, train_encoding
from domindex.neural.batches import BatchSampler
from domindex.neural.layers import Whitening
from domindex.neural.settings import TrainingSettings
from domindex.neural.training import Callback, History, Trainer
from domindex.vdi.alignments import AffineAlignment
from domindex.vdi.module import IndexModule
from domindex.vdi.networks import ClassPredictor
from domindex.vdi.settings import Weights

pytestmark = pytest.mark.usefixtures("_one_thread")


@pytest.fixture
def indices() -> IndexModule:
    return IndexModule((2,), local_dim=2, index_dim=2, width=8)


def module_of(alignment) -> EncodingModule:
    return EncodingModule(alignment, ClassPredictor(2, 2), 2, 2, width=8)


def settled() -> EncodingModule:
    return module_of(IdentityAlignment.onto(np.eye(2), 8, may_bend=False))


def affine() -> EncodingModule:
    return module_of(AffineAlignment(2, 2, width=8))


class Phases(Callback):
    """Keeps every phase that ran."""

    def __init__(self):
        self.seen = []

    def on_phase_start(self, phase):
        self.seen.append(phase)


@pytest.fixture
def train(rows, indices, line, cpu):
    """Trains from a start; the module, its history and the phases that ran."""

    def run(start, **settings):
        settings = TrainingSettings(**{"steps": 6, "batch_size": 8, "warm_up": 2, **settings})
        history, phases = History(1), Phases()
        trainer = Trainer(cpu, settings, [history, phases])
        batches = BatchSampler(rows, settings, np.random.default_rng(0), line)
        kinds = ("graph", "domain")
        module = train_encoding(start, indices, batches, kinds, Weights(), trainer)
        return module, history, phases.seen

    return run


def test_what_is_settled_needs_no_adversary_and_what_is_not_has_one(train):
    _, _, (phase,) = train(settled())
    assert phase.objective.adversary is None
    _, history, (phase,) = train(affine())
    assert set(phase.objective.adversary.heads) == {"graph", "domain"}
    assert "adversary_own_loss" in history.to_frame()


def test_a_trained_module_is_ready_to_predict_and_the_start_is_left_as_it_was(train):
    start = affine()
    before = {name: value.clone() for name, value in start.state_dict().items()}
    module, _, _ = train(start)
    assert not module.training
    assert {p.dtype for p in module.parameters()} == {torch.float64}
    assert all(torch.equal(value, before[name]) for name, value in start.state_dict().items())
    assert not torch.equal(module.predictor.linear.weight, before["predictor.linear.weight"])


def test_the_indices_are_held_fixed(train, indices):
    before = {name: value.clone() for name, value in indices.state_dict().items()}
    train(affine())
    assert all(torch.equal(value, before[name]) for name, value in indices.state_dict().items())


def test_the_spread_of_z_is_measured_under_the_averaged_weights(train, rows):
    module, _, _ = train(affine(), steps=30)
    (layer,) = (layer for layer in module.modules() if isinstance(layer, Whitening))
    assert layer.count == TrainingSettings().norm_batches
    assert layer.momentum is None
    by_domain = rows.inputs.view(5, 20, 2).double()
    index = torch.tensor(np.column_stack([np.linspace(-1.4, 1.4, 5), np.zeros(5)]))
    z = module.alignment(by_domain, index)[0].detach().flatten(0, 1)
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(2).double(), atol=0.15, rtol=0)
    torch.testing.assert_close(z.var(dim=0), torch.ones(2).double(), atol=0.3, rtol=0)


def test_the_sources_are_learned_without_a_target_label(train, rows):
    module, history, _ = train(settled(), steps=150)
    told = history.to_frame()["label_prediction"]
    assert told.iloc[-1] > told.iloc[0] + 0.2
    x = rows.inputs[:40].view(2, 20, 2).double()
    predicted = module.predict(x).probs.argmax(dim=-1).flatten()
    assert (predicted == rows.labels[:40]).float().mean() > 0.95
    assert (rows.labels[40:] == -1).all()
