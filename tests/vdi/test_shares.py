"""Shares of a batch give what the whole gives; threads stand for processes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from domindex.errors import InputError, TrainingError
from domindex.vdi.blocks import Whitening, shared_statistics
from domindex.vdi.objectives import contrastive_loss
from domindex.vdi.shares import Connection, Share, reached

SHARES = pytest.mark.parametrize(("n", "whole"), [(2, 6), (2, 7), (3, 8)])


class Table:
    """Where threads lay down tensors and take up their sum."""

    def __init__(self, n):
        self.barrier = threading.Barrier(n, timeout=20)
        self.laid = [None] * n

    def connection(self, rank):
        return ThreadConnection(self, rank)


class ThreadConnection(Connection):
    def __init__(self, table, rank):
        self.table, self.rank = table, rank

    def add_up(self, tensor):
        self.table.laid[self.rank] = tensor.clone()
        self.table.barrier.wait()
        total = torch.stack(self.table.laid).sum(dim=0)
        self.table.barrier.wait()
        return tensor.copy_(total)


def together(n, whole, act):
    """What `act` returns for each of n shares, run side by side."""
    table = Table(n)
    shares = [Share(rank, n, whole, table.connection(rank)) for rank in range(n)]
    with ThreadPoolExecutor(n) as threads:
        return list(threads.map(act, shares))


def mean_over(shares_and_values):
    """As the trainer has it: every process's loss with its weight, averaged."""
    return sum(share.weight * value for share, value in shares_and_values) / len(shares_and_values)


@SHARES
def test_every_row_is_in_one_share_and_shares_are_even(n, whole):
    parts = together(n, whole, lambda share: list(range(whole))[share.rows])
    assert [row for part in parts for row in part] == list(range(whole))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@SHARES
def test_weighted_means_over_rows_are_means_over_all_rows(n, whole):
    values = torch.randn(3, whole, generator=torch.Generator().manual_seed(0))
    means = together(n, whole, lambda share: (share, values[:, share.rows].mean()))
    torch.testing.assert_close(mean_over(means), values.mean())


@SHARES
def test_terms_are_those_of_all_rows_in_every_process(n, whole):
    values = torch.randn(3, whole, generator=torch.Generator().manual_seed(0))
    told = together(n, whole, lambda share: share.mean_terms({"a": values[:, share.rows].mean()}))
    for terms in told:
        torch.testing.assert_close(terms["a"], values.mean())


@SHARES
def test_noise_is_that_of_the_whole_batch(n, whole):
    def draw(rank):
        torch.manual_seed(3)
        share = Share(rank, n, whole, Table(n).connection(rank))
        return share.noise(torch.zeros(4, len(range(whole)[share.rows]), 2))

    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected = torch.empty(4, whole, 2).normal_()
        torch.testing.assert_close(torch.cat([draw(rank) for rank in range(n)], dim=1), expected)


def compare_with_whole(n, whole, network, loss_of):
    """Losses and gradients of the shares, averaged, against those of the whole batch."""
    rows = torch.randn(4, whole, 3, generator=torch.Generator().manual_seed(1))
    expected = loss_of(network, rows, None)
    slopes = list(torch.autograd.grad(expected, list(network.parameters())))

    def act(share):
        twin = nn.Sequential(nn.Linear(3, 2))
        twin.load_state_dict(network.state_dict())
        loss = loss_of(twin, rows[:, share.rows], share)
        (share.weight * loss).backward()
        share.mean_gradients(twin.parameters())
        return share, loss.detach(), [one.grad for one in twin.parameters()]

    results = together(n, whole, act)
    torch.testing.assert_close(mean_over([result[:2] for result in results]), expected.detach())
    for _, _, gradients in results:
        torch.testing.assert_close(gradients, slopes)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2))


@SHARES
@pytest.mark.parametrize("max_points", [1000, 10])
def test_the_contrastive_loss_compares_rows_of_all_processes(n, whole, max_points, network):
    def loss_of(network, rows, share):
        return contrastive_loss(network(rows), share, max_points=max_points)

    compare_with_whole(n, whole, network, loss_of)


@SHARES
def test_whitening_is_by_the_statistics_of_all_processes(n, whole, network):
    goal = torch.randn(4, whole, 2, generator=torch.Generator().manual_seed(2))

    def loss_of(network, rows, share):
        layer = Whitening(2)
        with shared_statistics(layer, share):
            white = layer(network(rows).flatten(0, 1)).view(*rows.shape[:2], 2)
        assert layer.share is None
        return (white - (goal if share is None else goal[:, share.rows])).square().mean()

    compare_with_whole(n, whole, network, loss_of)


def test_a_share_without_rows_is_refused():
    with pytest.raises(InputError, match="batch_size is 2, for 3 processes"):
        Share(0, 3, 2, Table(3).connection(0))


def test_an_error_of_the_connection_says_that_a_process_is_out_of_reach():
    with pytest.raises(TrainingError, match="has ended or cannot be reached"), reached():
        raise RuntimeError("connection reset")


def test_a_closed_connection_lets_go_of_its_group_and_says_so():
    connection = Connection("a group")
    assert connection.close() == "a group"
    assert connection.close() is None
    with pytest.raises(TrainingError):
        connection.add_up(torch.zeros(1))
