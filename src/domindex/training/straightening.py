"""Train a flow's warp so that the aligned domains coincide: no labels, no adversary."""

from __future__ import annotations

import torch
from torch.optim import Adam

from domindex.model.misalignment import sliced_misalignment
from domindex.networks.alignments import FlowAlignment
from domindex.progress import Progress
from domindex.training.batches import BatchSampler
from domindex.training.schedules import warm_up_and_decay

STRAIGHTENING_STEPS = 400
STRAIGHTENING_RATE = 5e-3
WARP_PRICE = 0.01
"""Of a unit of squared warp, against squared distances between whitened domains. Set on bent
copies of Circle and DG-15."""


def straighten(alignment: FlowAlignment, batches: BatchSampler, progress: Progress) -> None:
    """Minimise the sliced misalignment of the aligned domains over the warp and the flow."""
    alignment.warp.requires_grad_(True)
    parameters = [alignment.coefficients, *alignment.warp.parameters()]
    optimizer = Adam(parameters, lr=STRAIGHTENING_RATE)
    for step in progress.track("straighten", STRAIGHTENING_STEPS):
        for group in optimizer.param_groups:
            group["lr"] = STRAIGHTENING_RATE * warm_up_and_decay(
                step, STRAIGHTENING_STEPS, warm_up=20
            )
        batch = batches.draw()
        aligned = alignment.align(batch.represented, batch.raw_index)
        price = WARP_PRICE * alignment.warp(batch.represented).square().sum(dim=-1).mean()
        optimizer.zero_grad()
        apart = sliced_misalignment(aligned, generator=batch.generator)
        (apart + price).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()
    alignment.warp.requires_grad_(False)
