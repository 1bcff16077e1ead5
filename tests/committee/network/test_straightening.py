"""A bent family is straightened without labels; a straight one is left nearly alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from domindex.committee.alignments import FlowAlignment
from domindex.committee.encoding import sliced_misalignment, straighten
from domindex.geometry.domain_geometry import Subspace
from domindex.geometry.flow import AffineFlow, family_basis
from domindex.inputs import DomainData
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.neural.settings import TrainingSettings
from domindex.progress import Progress

pytestmark = pytest.mark.usefixtures("_one_thread")

PLACES = np.linspace(-1.3, 1.3, 5)


def shifted_domains(bent: bool) -> tuple[FlowAlignment, BatchSampler]:
    """Five copies of one cloud, each further along; `bent`, seen through a curve of its place."""
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(60, 2))
    clouds = [cloud + [2.0 * place, 0.0] for place in PLACES]
    if bent:
        clouds = [np.column_stack([x, y + 0.5 * x**2]) for x, y in (c.T for c in clouds)]
    inputs = np.concatenate(clouds)
    of_row = np.repeat(np.arange(5), 60)
    labels = np.zeros((300, 1))
    is_source = np.array([True, False, False, False, False])
    data = DomainData(inputs, labels, of_row, tuple(range(5)), is_source, "regression")
    rows = TrainingRows.of(data, inputs.copy(), torch.device("cpu"))
    coordinates = np.column_stack([PLACES, np.zeros(5)])
    settings = TrainingSettings(batch_size=32)
    batches = BatchSampler(rows, settings, np.random.default_rng(0), coordinates)
    basis = family_basis("shift", 2)
    flow = AffineFlow(np.array([[2.0, 0.0]]), basis, "shift", 0.0)
    return FlowAlignment.along(flow, Subspace(np.eye(2), 2), width=16), batches


def misalignment(alignment, batches) -> float:
    x = batches.rows.inputs.view(5, 60, 2)
    index = torch.tensor(PLACES, dtype=torch.float32)[:, None]
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        return sliced_misalignment(alignment.align(x, index), n_directions=64).item()


def test_a_bent_family_comes_together():
    alignment, batches = shifted_domains(bent=True)
    before = misalignment(alignment, batches)
    straighten(alignment, batches, Progress())
    assert alignment.is_straightened
    assert misalignment(alignment, batches) < 0.3 * before


def test_a_straight_family_stays_together():
    alignment, batches = shifted_domains(bent=False)
    assert misalignment(alignment, batches) == pytest.approx(0.0, abs=1e-6)
    straighten(alignment, batches, Progress())
    assert misalignment(alignment, batches) < 0.01


def test_afterwards_the_warp_is_held_and_the_bend_untouched():
    alignment, batches = shifted_domains(bent=True)
    batches.settings = replace(batches.settings, straighten_steps=3)
    bend = [p.detach().clone() for p in alignment.bend.parameters()]
    flow = alignment.coefficients.detach().clone()
    steps = []

    class Counting(Progress):
        def track(self, name, n_steps):
            steps.append((name, n_steps))
            return super().track(name, n_steps)

    straighten(alignment, batches, Counting())
    assert steps == [("straighten", 3)]
    assert not any(p.requires_grad for p in alignment.warp.parameters())
    assert all(torch.equal(p, q) for p, q in zip(alignment.bend.parameters(), bend))
    assert not torch.equal(alignment.coefficients, flow)
