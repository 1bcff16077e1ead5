"""Copies in one network give what each gives alone."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from domindex.committee.alignments import BackboneAlignment, FlowAlignment, IdentityAlignment
from domindex.committee.network_folds import stacked, unstacked
from domindex.errors import InputError
from domindex.neural.backbones import FeatureExtractor
from domindex.neural.layers import Whitening, mlp
from domindex.vdi.alignments import AffineAlignment

N_COPIES = 3


def flow() -> FlowAlignment:
    alignment = FlowAlignment(4, 2, 3, n_components=1, n_coefficients=6, width=5)
    alignment.basis.copy_(torch.eye(6))
    alignment.projection.copy_(torch.eye(4)[:, :3])
    nn.init.normal_(alignment.warp[-1].weight)
    return alignment


def affine() -> AffineAlignment:
    return AffineAlignment(4, 2, width=5, max_latent=3)


def identity() -> IdentityAlignment:
    return IdentityAlignment.onto(np.eye(4)[:, :3], 5, may_bend=True)


def disturbed(network: nn.Module) -> nn.Module:
    twin = copy.deepcopy(network)
    for parameter in twin.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=0.3)
    return twin


@pytest.mark.parametrize("kind", [flow, affine, identity])
def test_every_copy_acts_on_its_own_rows_as_it_would_alone(kind):
    torch.manual_seed(0)
    copies = [disturbed(alignment) for alignment in [kind()] * N_COPIES]
    x, beta = torch.randn(5, 8, 4), torch.randn(5, 2)
    alone = [torch.cat(one(x, beta)) for one in copies]
    together = stacked(copies)(x.repeat(N_COPIES, 1, 1), beta.repeat(N_COPIES, 1))
    parts = zip(*(part.chunk(N_COPIES) for part in together))
    for mine, part in zip(alone, parts):
        torch.testing.assert_close(torch.cat(part), mine, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-2)


@pytest.mark.parametrize("kind", [flow, affine, identity])
def test_what_is_stacked_comes_back(kind):
    copies = [disturbed(alignment) for alignment in [kind()] * N_COPIES]
    blank = [disturbed(alignment) for alignment in [copies[0]] * N_COPIES]
    for one, again in zip(copies, unstacked(stacked(copies), blank)):
        assert type(again) is type(one)
        for value, other in zip(one.parameters(), again.parameters()):
            torch.testing.assert_close(value, other, rtol=0, atol=0)


def test_each_copy_is_whitened_by_its_own_rows():
    rows = torch.randn(2, 50, 3) * torch.tensor([1.0, 9.0])[:, None, None]
    white = stacked([Whitening(3)] * 2)(rows.flatten(0, 1)).view(2, 50, 3)
    for part in white:
        torch.testing.assert_close(part.T.cov(correction=0), torch.eye(3), rtol=1e-3, atol=1e-3)


def test_starts_that_differ_in_what_is_fixed_are_refused():
    other = flow()
    other.projection.mul_(2.0)
    with pytest.raises(InputError, match="projection"):
        stacked([flow(), other])


def test_flows_that_are_straightened_otherwise_are_refused():
    with pytest.raises(InputError, match="warp"):
        stacked([flow(), flow()])


def test_a_layer_that_nobody_taught_to_be_stacked_is_refused():
    network = nn.Sequential(mlp(2, 2, 3, depth=1), nn.LayerNorm(2))
    with pytest.raises(InputError, match="LayerNorm"):
        stacked([network, network])


class WithStatistics(nn.Module):
    """Convolutions, batch statistics, a weight that is used twice, and one that is a number."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 2, 3)
        self.norm = nn.BatchNorm1d(2)
        self.linear, self.again = nn.Linear(4, 4), nn.Linear(4, 4)
        self.again.weight = self.linear.weight
        self.level = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return self.level * self.again(self.linear(self.norm(self.first(x[:, None])).flatten(1)))


def seeing() -> BackboneAlignment:
    extractor = FeatureExtractor(WithStatistics(), "own", (4,), 4)
    return BackboneAlignment(extractor, IdentityAlignment.onto(np.eye(3), 5, may_bend=True), 3)


def test_backbones_of_any_kind_are_stacked_with_their_statistics():
    torch.manual_seed(0)
    copies = [disturbed(alignment) for alignment in [seeing()] * N_COPIES]
    x, beta = torch.randn(5, 8, 4), torch.randn(5, 2)
    together = stacked(copies)
    out = together(x.repeat(N_COPIES, 1, 1), beta.repeat(N_COPIES, 1))[1].chunk(N_COPIES)
    for one, part in zip(copies, out):
        torch.testing.assert_close(part, one(x, beta)[1], rtol=1e-4, atol=1e-5)
    blank = [disturbed(alignment) for alignment in [seeing()] * N_COPIES]
    for one, again in zip(copies, unstacked(together, blank)):
        assert again.extractor.network.again.weight is again.extractor.network.linear.weight
        for name, value in one.state_dict().items():
            if name != "norm.count":
                torch.testing.assert_close(again.state_dict()[name], value, rtol=1e-5, atol=1e-6)
