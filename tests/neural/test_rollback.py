"""A step that leaves the finite numbers is not taken; one that always does is named."""

import numpy as np
import pytest
import torch
from torch import nn

from domindex.errors import TrainingDiverged
from domindex.neural.batches import BatchSampler
from domindex.neural.training import (
    DivergenceAlarm,
    Objective,
    ParameterGroup,
    Phase,
    Rollback,
    Trainer,
)

pytestmark = pytest.mark.usefixtures("_one_thread")


class Point(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(torch.tensor([1.0, -2.0]))


class Spoiled(Objective):
    """A square distance, which is NaN in some steps."""

    def __init__(self, bad):
        super().__init__(Point())
        self.bad, self.n_calls = set(bad), 0

    def infer(self, batch):
        return None

    def forward(self, batch, latents, ramp):
        number, self.n_calls = self.n_calls, self.n_calls + 1
        factor = float("nan") if number in self.bad else 1.0
        distance = factor * self.module.place.square().sum()
        return distance, {"distance": distance}


@pytest.fixture
def run(cpu, rows, settings, line):
    def train(bad, n_steps=60):
        objective = Spoiled(bad)
        batches = BatchSampler(rows, settings, np.random.default_rng(0), line)
        groups = [ParameterGroup(list(objective.module.parameters()), 1.0)]
        phase = Phase("points", objective, groups, batches, n_steps, 0.05)
        Trainer(cpu, settings, [DivergenceAlarm()]).run(phase)
        return objective.module.place.detach()

    return train


def test_some_steps_that_are_not_finite_do_not_end_a_training(run):
    place = run(bad=(30, 31))
    assert torch.isfinite(place).all()
    assert place.abs().max() < 2.0


def test_a_training_without_such_steps_is_what_it_was(run):
    assert torch.equal(run(bad=()), run(bad=()))


def test_one_that_stays_not_finite_is_given_up_by_the_name_of_the_term(run):
    with pytest.raises(TrainingDiverged, match="'distance' became nan"):
        run(bad=range(20, 60))


def test_one_that_is_not_finite_from_the_start_has_nothing_to_go_back_to(run):
    with pytest.raises(TrainingDiverged, match="step 1 of the points phase"):
        run(bad=[0])


def test_going_back_restores_weights_and_moments_and_is_bounded():
    module = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        module(torch.ones(3, 2)).square().sum().backward()
        optimizer.step()

    step()
    rollback = Rollback([module], [optimizer])
    rollback.save(0)
    before = module.weight.detach().clone()
    moment = optimizer.state[module.weight]["exp_avg"].clone()
    for number in range(Rollback.max_returns):
        step()
        assert rollback.go_back()
        assert torch.equal(module.weight, before)
        assert torch.equal(optimizer.state[module.weight]["exp_avg"], moment)
        assert rollback.calm == pytest.approx(0.3 ** (number + 1))
    assert not rollback.go_back()
