"""A training that is cut off goes on from its last checkpoint, to the same bits."""

import numpy as np
import pytest
import torch
from torch import nn

from domindex.persistence.journal import Journal
from domindex.progress import Progress
from domindex.vdi import training as checkpoints
from domindex.vdi.alignments import ParameterGroup
from domindex.vdi.batches import BatchSampler
from domindex.vdi.objectives import Objective
from domindex.vdi.training import (
    Callback,
    Checkpoint,
    DivergenceAlarm,
    History,
    Phase,
    ProgressBar,
    Trainer,
)

pytestmark = pytest.mark.usefixtures("_one_thread")

N_STEPS = 12


class Noisy(Objective):
    """A point drawn to the rows of a batch, with noise, away from what an adversary can read."""

    def infer(self, batch):
        mean = batch.x.mean(dim=(0, 1))
        return mean + 0.1 * torch.randn(mean.shape, generator=batch.generator)

    def adversary_inputs(self, batch, latents):
        return (self.module.weight.sum()[None],)

    def forward(self, batch, latents, ramp):
        reading = self.fixed_adversary(self.module.weight.sum()[None])
        loss = (self.module.weight - latents).square().sum() - ramp * reading
        return loss, {"distance": loss}


class Guess(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(1, 1)

    def forward(self, z):
        return (self.line(z) - 3.0).square().sum()


class Cut(BaseException):
    """In place of a kill."""


class CutAfter(Callback):
    def __init__(self, step):
        self.step = step

    def after_step(self, running, step):
        if step == self.step:
            raise Cut


@pytest.fixture(autouse=True)
def _every_step(monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1e9)


def train(folder, cut, rows, settings, line, cpu):
    """Two phases of the same name; returns all that comes of them."""
    torch.manual_seed(0)
    journal = Journal()
    if folder is not None:
        journal = Journal.open(folder)
        journal.begin({"the fit": "this"})
    history = History(5)
    callbacks = [DivergenceAlarm(), history, ProgressBar(Progress()), Checkpoint(journal)]
    trainer = Trainer(cpu, settings, callbacks)
    batches = BatchSampler(rows, settings, np.random.default_rng(0), line)
    found = []
    try:
        for number in range(2):
            objective = Noisy(nn.Linear(2, 1, bias=False), Guess())
            groups = [ParameterGroup(list(objective.module.parameters()), 1.0)]
            phase = Phase("points", objective, groups, batches, N_STEPS, 0.05)
            stop = [CutAfter(cut - number * N_STEPS)] if cut is not None else [Callback()]
            averaged = trainer.run(phase, *stop)
            found += [objective.module.weight.detach().numpy(), averaged.weight.detach().numpy()]
    finally:
        journal.close()
    found += [batches.draw().x.numpy(), history.to_frame()["distance"].to_numpy()]
    return [np.array(one).tobytes() for one in found]


@pytest.mark.parametrize("cut", [0, 4, N_STEPS - 1, N_STEPS, 2 * N_STEPS - 1])
def test_cut_off_anywhere_it_ends_as_if_it_had_not_been(cut, tmp_path, rows, settings, line, cpu):
    given = (rows, settings, line, cpu)
    whole = train(None, None, *given)
    with pytest.raises(Cut):
        train(tmp_path / "kept", cut, *given)
    assert train(tmp_path / "kept", None, *given) == whole
    assert train(tmp_path / "kept", None, *given) == whole


def test_between_checkpoints_some_time_goes_by(tmp_path, rows, settings, line, cpu, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 3600.0)
    written = []
    keep = Journal.keep
    monkeypatch.setattr(Journal, "keep", lambda *given: written.append(given[1]) or keep(*given))
    train(tmp_path / "kept", None, rows, settings, line, cpu)
    assert written == ["training points 0", "training points 1"]
