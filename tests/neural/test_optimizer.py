"""Adam without torch's compiler: the same steps, and a first fit that starts a second sooner."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.optim import Adam

from domindex.neural.training import EagerAdam


def steps_down(kind):
    """Parameters after some steps, with two rates."""
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    with torch.no_grad():
        for one in network.parameters():
            one.copy_(torch.randn(one.shape, generator=generator))
    groups = [
        {"params": list(network[0].parameters()), "lr": 0.1},
        {"params": list(network[2].parameters())},
    ]
    optimizer = kind(groups, lr=0.03, betas=(0.9, 0.95))
    for _ in range(7):
        optimizer.zero_grad()
        (network(torch.randn(16, 4, generator=generator)) ** 2).mean().backward()
        optimizer.step()
    return torch.cat([one.detach().ravel() for one in network.parameters()])


def test_steps_are_those_of_adam_to_the_bit():
    torch.testing.assert_close(steps_down(EagerAdam), steps_down(Adam), rtol=0.0, atol=0.0)


@pytest.mark.full
def test_a_default_fit_imports_no_compiler():
    code = (
        "import sys; from domindex import CrossDomainClassifier, Training\n"
        "from domindex.datasets import make_circle\n"
        "d = make_circle(n_domains=4, n_sources=2, samples_per_domain=12, random_state=0)\n"
        "pairs, training = [('raw', 'linear')], Training(index_steps=2)\n"
        "model = CrossDomainClassifier(candidates=pairs, training=training)\n"
        "model.fit(d.X, d.y, sample_domain=d.sample_domain, source_domains=d.source_domains)\n"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "False"
