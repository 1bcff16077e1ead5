"""Train a flow's warp so that the carried domains coincide: no labels, no adversary."""

from __future__ import annotations

import torch
from torch.optim import Adam

from domindex.model.alignment import sliced_misalignment
from domindex.networks.carriers import FlowCarrier
from domindex.training.problem import BatchMaker
from domindex.training.progress import Progress
from domindex.training.schedules import warm_up_and_decay

STEPS = 400
LEARNING_RATE = 5e-3
PRICE = 0.01
"""Of a unit of squared warp, against squared distances between whitened domains."""


def straighten(carrier: FlowCarrier, batches: BatchMaker, progress: Progress) -> None:
    """Minimise the sliced misalignment of the carried domains over the warp and the flow."""
    carrier.warp.requires_grad_(True)
    parameters = [carrier.coefficients, *carrier.warp.parameters()]
    optimizer = Adam(parameters, lr=LEARNING_RATE)
    for step in progress.track("straighten", STEPS):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * warm_up_and_decay(step, STEPS, warm_up=20)
        batch = batches.draw()
        carried = carrier.carry(batch.normalized, batch.raw_index)
        price = PRICE * carrier.warp(batch.normalized).square().sum(dim=-1).mean()
        optimizer.zero_grad()
        (sliced_misalignment(carried) + price).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()
    carrier.warp.requires_grad_(False)
