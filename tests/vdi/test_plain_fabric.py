"""Tests of training without Lightning Fabric: the same steps, and nothing that compiles."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.optim import Adam

from domindex import Training
from domindex.vdi.places import Places
from domindex.vdi.training import EagerAdam, PlainFabric


def steps_down(fabric, kind):
    """Parameters after some clipped steps, with two rates."""
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    with torch.no_grad():
        for one in network.parameters():
            one.copy_(torch.randn(one.shape, generator=generator))
    groups = [
        {"params": list(network[0].parameters()), "lr": 0.1},
        {"params": list(network[2].parameters())},
    ]
    module, optimizer = fabric.setup(network, kind(groups, lr=0.03, betas=(0.9, 0.95)))
    for _ in range(7):
        optimizer.zero_grad()
        loss = (module(torch.randn(16, 4, generator=generator)) ** 2).mean()
        fabric.backward(loss)
        fabric.clip_gradients(module, optimizer, max_norm=0.5, error_if_nonfinite=False)
        optimizer.step()
    return torch.cat([one.detach().ravel() for one in network.parameters()])


def test_steps_are_those_of_fabric_and_adam_to_the_bit(fabric):
    torch.testing.assert_close(
        steps_down(PlainFabric(), EagerAdam), steps_down(fabric, Adam), rtol=0.0, atol=0.0
    )


def test_parameters_need_no_gradient_after_a_step():
    parameter = nn.Parameter(torch.ones(3))
    optimizer = EagerAdam([parameter], lr=0.1, betas=(0.9, 0.99))
    (parameter**2).sum().backward()
    optimizer.step()
    assert parameter.is_leaf
    assert (parameter < 1.0).all()
    optimizer.zero_grad()
    assert parameter.grad is None


@pytest.mark.parametrize(
    "asked",
    [{"precision": "bf16-mixed"}, {"precision": "64-true"}, {"accelerator": "auto"}],
)
def test_whatever_else_was_asked_for_goes_through_fabric(asked):
    from lightning_fabric import Fabric

    assert isinstance(Places.of(Training(**asked)).fabric(), Fabric)
    assert isinstance(Places.of(Training()).fabric(), PlainFabric)


def test_fabric_run_is_heeded(monkeypatch):
    monkeypatch.setenv("LT_ACCELERATOR", "cpu")
    assert not PlainFabric.serves(Training())


def test_a_default_fit_imports_no_compiler():
    """It takes seconds, and nothing here is compiled."""
    code = (
        "import sys; from domindex import VDIClassifier, Training\n"
        "from domindex.datasets import make_circle\n"
        "d = make_circle(n_domains=4, n_sources=2, samples_per_domain=12, random_state=0)\n"
        "model = VDIClassifier(candidates=[('raw', 'linear')], training=Training(index_steps=2))\n"
        "model.fit(d.X, d.y, sample_domain=d.sample_domain, source_domains=d.source_domains)\n"
        "print([name for name in ('torch._dynamo', 'lightning_fabric') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
