"""The loop: whoever looks on is told, the adversary has turns of its own, averages come back."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from domindex.errors import TrainingDiverged
from domindex.neural.batches import BatchSampler
from domindex.neural.settings import TrainingSettings
from domindex.neural.training import (
    Callback,
    DivergenceAlarm,
    History,
    Objective,
    ParameterGroup,
    Phase,
    Trainer,
)

pytestmark = pytest.mark.usefixtures("_one_thread")


class Distance(Objective):
    """The squared distance of a point from where the rows of a batch are on average."""

    def infer(self, batch):
        return batch.x.mean(dim=(0, 1))

    def forward(self, batch, latents, ramp):
        self.ramps = [*getattr(self, "ramps", []), ramp]
        loss = (self.module.weight - latents).square().sum()
        return loss, {"distance": loss}


class Duel(Distance):
    """The adversary guesses a number from the module's weight; the module runs away."""

    def infer(self, batch):
        return self.module.weight.sum()[None]

    def adversary_inputs(self, batch, latents):
        return (latents,)

    def forward(self, batch, latents, ramp):
        reading = self.fixed_adversary(latents)
        return -reading, {"hiding": reading}


class Guess(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(1, 1)

    def forward(self, z):
        return (self.line(z) - 3.0).square().sum()


class Watcher(Callback):
    """Counts phases and steps, in the order they come."""

    def __init__(self):
        self.events, self.terms = [], []

    def on_phase_start(self, phase):
        self.events.append(("start", phase.name))

    def before_step(self, phase, step):
        self.events.append(("before", step))

    def on_terms(self, phase, step, terms):
        self.events.append(("terms", step))
        self.terms.append(terms)

    def on_phase_end(self, phase):
        self.events.append(("end", phase.name))


@pytest.fixture
def point() -> nn.Linear:
    """A point (1, 2), the weight of one linear map."""
    return nn.Linear(2, 1, bias=False)


@pytest.fixture
def batches(rows, settings, line) -> BatchSampler:
    return BatchSampler(rows, settings, np.random.default_rng(0), line)


def phase_of(objective, batches, name="points", n_steps=20, learning_rate=0.05, **settings):
    groups = [ParameterGroup(list(objective.module.parameters()), 1.0)]
    return Phase(name, objective, groups, batches, n_steps, learning_rate, **settings)


def test_whoever_looks_on_is_told_of_every_phase_and_step(cpu, settings, batches, point):
    first, second = Watcher(), Watcher()
    trainer = Trainer(cpu, settings, [first, second])
    trainer.run(phase_of(Distance(point), batches, "one", n_steps=2))
    trainer.run(phase_of(Distance(point), batches, "two", n_steps=1))
    steps = [("before", 0), ("terms", 0), ("before", 1), ("terms", 1)]
    one = [("start", "one"), *steps, ("end", "one")]
    two = [("start", "two"), *steps[:2], ("end", "two")]
    assert first.events == second.events == one + two
    assert all(set(terms) == {"distance"} for terms in first.terms)


class Counting(BatchSampler):
    """Counts how often it was drawn from."""

    n_drawn = 0

    def draw(self):
        self.n_drawn += 1
        return super().draw()


def test_a_callback_may_replace_what_a_phase_draws_from(cpu, rows, settings, line, point):
    rng = np.random.default_rng(0)
    start, other = (Counting(rows, settings, rng, sign * line) for sign in (1.0, -1.0))

    class Swap(Callback):
        def before_step(self, phase, step):
            if step == 3:
                phase.batches = other

    phase = phase_of(Distance(point), start, n_steps=10)
    Trainer(cpu, settings, [Swap()]).run(phase)
    assert start.n_drawn == 3
    assert other.n_drawn == 7
    assert phase.batches is other


def test_a_phase_ends_near_its_optimum_and_gives_the_average(cpu, batches, point, rows):
    trainer = Trainer(cpu, TrainingSettings(average=0.9, warm_up=2), [])
    averaged = trainer.run(phase_of(Distance(point), batches, n_steps=300))
    assert isinstance(averaged, nn.Linear)
    assert averaged is not point
    expected = rows.inputs.mean(dim=0)
    torch.testing.assert_close(averaged.weight[0], expected, atol=0.1, rtol=0)
    torch.testing.assert_close(point.weight[0], expected, atol=0.2, rtol=0)


def test_the_average_follows_slowly(cpu, batches, point):
    start = point.weight.detach().clone()
    settings = TrainingSettings(average=0.999, warm_up=0)
    averaged = Trainer(cpu, settings, []).run(phase_of(Distance(point), batches, n_steps=5))
    moved = (point.weight.detach() - start).norm()
    assert 0 < (averaged.weight.detach() - start).norm() < moved


def test_groups_move_at_multiples_of_the_learning_rate_and_others_stay(cpu, batches):
    class Three(nn.Module):
        def __init__(self):
            super().__init__()
            self.slow, self.fast, self.still = (nn.Parameter(torch.zeros(1)) for _ in range(3))

        @property
        def weight(self):
            return self.slow + self.fast + self.still + 100.0

    module = Three()
    groups = [ParameterGroup([module.slow], 0.1), ParameterGroup([module.fast], 2.0)]
    groups.append(ParameterGroup([], 1.0))
    phase = Phase("points", Distance(module), groups, batches, 1, learning_rate=0.01)
    Trainer(cpu, TrainingSettings(warm_up=0), []).run(phase)
    assert module.slow.item() == pytest.approx(-0.001, rel=1e-3)
    assert module.fast.item() == pytest.approx(-0.02, rel=1e-3)
    assert module.still.item() == 0.0


def test_the_rate_warms_up(cpu, batches):
    moved = []
    for warm_up in (0, 10):
        point = nn.Linear(2, 1, bias=False)
        start = point.weight.detach().clone()
        trainer = Trainer(cpu, TrainingSettings(warm_up=warm_up), [])
        trainer.run(phase_of(Distance(point), batches, n_steps=1))
        moved.append((point.weight.detach() - start).norm().item())
    assert moved[1] == pytest.approx(0.1 * moved[0], rel=1e-3)


def test_the_ramp_rises_from_nothing(cpu, settings, batches, point):
    objective = Distance(point)
    Trainer(cpu, settings, []).run(phase_of(objective, batches, n_steps=10))
    assert objective.ramps[0] == 0.0
    assert objective.ramps == sorted(objective.ramps)
    assert 0.99 < objective.ramps[-1] < 1.0


def test_the_adversary_learns_first_and_what_it_lost_is_recorded(cpu, settings, batches, point):
    watcher, guess = Watcher(), Guess()
    before = guess.line.bias.item()
    Trainer(cpu, settings, [watcher]).run(
        phase_of(Duel(point, guess), batches, n_steps=1, learning_rate=1e-3)
    )
    assert list(watcher.terms[0]) == ["adversary_own_loss", "hiding"]
    assert watcher.terms[0]["hiding"] < watcher.terms[0]["adversary_own_loss"]
    assert guess.line.bias.item() != before


def test_the_adversary_alone_learns_to_read_what_stands_still(cpu, settings, batches, point):
    guess, start = Guess(), point.weight.detach().clone()
    phase = Phase("duel", Duel(point, guess), [], batches, 300, learning_rate=0.05)
    phase.parameters = [ParameterGroup([nn.Parameter(torch.zeros(1))], 1.0)]
    Trainer(cpu, settings, []).run(phase)
    assert torch.equal(point.weight, start)
    assert guess(point.weight.sum()[None]).item() == pytest.approx(0.0, abs=0.01)


def test_a_training_that_stays_broken_stops_before_the_networks_move(cpu, settings, batches, point):
    class Breaking(Distance):
        def forward(self, batch, latents, ramp):
            loss, terms = super().forward(batch, latents, ramp)
            return loss, {**terms, "broken": loss * (math.nan if ramp > 0.5 else 1.0)}

    history = History(1)
    trainer = Trainer(cpu, settings, [DivergenceAlarm(), history])
    phase = phase_of(Breaking(point), batches, n_steps=20)
    message = "'broken' became nan at step 7 of the points phase"
    with pytest.raises(TrainingDiverged, match=message):
        trainer.run(phase)
    assert torch.isfinite(point.weight).all()
    assert len(history.rows) == 3
