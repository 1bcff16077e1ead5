"""The encoding's block: the best start is kept, with its history and no other's."""

import numpy as np
import pytest
import torch

from domindex.vdi.alignments import AffineAlignment, IdentityAlignment
from domindex.vdi.batches import BatchSampler
from domindex.vdi.fitting import train_encoding
from domindex.vdi.module import EncodingModule, IndexModule
from domindex.vdi.networks import ClassPredictor, Whitening
from domindex.vdi.settings import TrainingSettings, Weights
from domindex.vdi.training import Callback, History, Trainer

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

    def run(start, history=None, **settings):
        settings = TrainingSettings(**{"steps": 6, "batch_size": 8, "warm_up": 2, **settings})
        history, phases = History(1) if history is None else history, Phases()
        trainer = Trainer(cpu, settings, [history, phases])
        batches = BatchSampler(rows, settings, np.random.default_rng(0), line)
        kinds = ("graph", "domain")
        module = train_encoding(start, indices, batches, kinds, Weights(), trainer, history)
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


@pytest.mark.parametrize("costs", [[3, 1, 2], [1, 2, 3], [3, 2, 1], [2, 2, 3]])
def test_of_several_starts_the_best_is_kept_with_its_history_alone(train, monkeypatch, costs):
    """Starts are told apart by a constant in place of a term; of equals, the first is kept."""
    left = iter(costs)
    built = []

    def one_start(trainer, phase):
        cost = next(left)
        history.on_phase_start(phase_named(f"start {cost}"))
        for step in range(4):
            terms = {"smoothness": torch.tensor(float(cost)), "label_prediction": torch.zeros(())}
            history.on_terms(phase_named(f"start {cost}"), step, terms)
        history.on_phase_end(phase_named(f"start {cost}"))
        built.append(phase.objective.module)
        return phase.objective.module

    history = History(2)
    history.on_terms(phase_named("indices"), 0, {"contrastive": torch.tensor(9.0)})
    history.on_phase_end(phase_named("indices"))
    monkeypatch.setattr(Trainer, "run", one_start)
    module, _, _ = train(settled(), history, starts=3)
    best = costs.index(min(costs))
    assert module is built[best]
    frame = history.to_frame()
    assert frame["phase"].tolist() == ["indices", *[f"start {min(costs)}"] * 2]
    assert frame["smoothness"].dropna().tolist() == [min(costs)] * 2


def phase_named(name):
    return type("Named", (), {"name": name})


def test_every_start_is_drawn_anew_and_one_history_is_left(train):
    _, history, phases = train(affine(), starts=3)
    weights = [phase.objective.module.predictor.linear.weight for phase in phases]
    assert len(phases) == 3
    assert len({id(weight) for weight in weights}) == 3
    assert len(history.rows) == 6
    assert history.to_frame()["step"].tolist() == [1, 2, 3, 4, 5, 6]
    assert {phase.name for phase in phases} == {"encoding"}


def test_what_is_kept_has_the_best_and_smoothest_prediction(train):
    costs = []

    class Costs(History):
        def on_phase_end(self, phase):
            super().on_phase_end(phase)
            costs.append(cost_of(self.to_frame().tail(6)))

    def cost_of(frame):
        return (frame["smoothness"] - frame["label_prediction"]).mean()

    _, history, _ = train(affine(), Costs(1), starts=3)
    assert len(set(costs)) == 3
    assert cost_of(history.to_frame()) == pytest.approx(min(costs))


def test_targets_are_admitted_over_a_share_of_the_steps(train):
    _, _, (phase,) = train(affine(), admission=0.5)
    assert phase.admission == 0.5
