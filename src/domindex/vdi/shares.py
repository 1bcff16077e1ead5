"""One process's share of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from domindex.errors import InputError, TrainingError


class Connection:
    """To the other processes of a group, for as long as it is open.

    Everything else holds this and never the group itself, which must be let go in time: as long as
    somebody holds a group, the processes behind it wait for each other.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._group: dist.ProcessGroup | None = group

    def add_up(self, tensor: Tensor) -> Tensor:
        """The same tensor, with the sum over processes in it."""
        with reached():
            dist.all_reduce(tensor, group=self._open())
        return tensor

    def send(self, tensor: Tensor) -> Tensor:
        """The same tensor, with what rank 0 has in it."""
        with reached():
            dist.broadcast(tensor, src=0, group=self._open())
        return tensor

    def send_object(self, value: Any) -> Any:
        """What rank 0 gives for `value`, in every process; others' is not looked at."""
        held = [value]
        with reached():
            dist.broadcast_object_list(held, src=0, group=self._open())
        return held[0]

    def wait_for_all(self) -> None:
        with reached():
            dist.barrier(group=self._open())

    def close(self) -> dist.ProcessGroup | None:
        """Let go of the group and return it, once."""
        group, self._group = self._group, None
        return group

    def _open(self) -> dist.ProcessGroup:
        if self._group is None:
            raise RuntimeError("the connection is closed")
        return self._group


class Share:
    """The rows of every domain's batch that one of several processes takes.

    Parameters
    ----------
    rank : of this process, from 0
    n_processes : how many take a share
    whole : rows of a domain's batch in all processes together
    connection : to the others
    """

    def __init__(self, rank: int, n_processes: int, whole: int, connection: Connection) -> None:
        if whole < n_processes:
            raise InputError(
                f"batch_size is {whole}, for {n_processes} processes to share. Choose "
                f"{n_processes} or more, or fewer devices."
            )
        self.rank, self.n_processes = rank, n_processes
        self.whole, self.connection = whole, connection

    @property
    def rows(self) -> slice:
        """This process's among the rows of a domain's batch: as many as others', or one apart."""
        return self.part(self.whole)

    def part(self, n: int) -> slice:
        """This process's part of any n things."""
        return slice(n * self.rank // self.n_processes, n * (self.rank + 1) // self.n_processes)

    @property
    def weight(self) -> float:
        """Of this process's loss in a plain mean over processes, which is then one over rows."""
        rows = self.rows
        return self.n_processes * (rows.stop - rows.start) / self.whole

    def noise(self, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Standard normal, for (domains, rows of this share, ...): what the whole batch gets."""
        shape = (like.shape[0], self.whole, *like.shape[2:])
        whole = torch.empty(shape, dtype=like.dtype, device=like.device)
        whole.normal_(generator=generator)
        return whole[:, self.rows]

    def mean(self, own: Tensor) -> Tensor:
        """Of a mean over the rows of each share, the mean over all rows, with its gradient."""
        return _Sum.apply(own * (self.weight / self.n_processes), self.connection)

    def gathered(self, own: Tensor) -> Tensor:
        """(domains, rows of this share, ...) of all processes, (domains, whole, ...)."""
        rows, (n_domains, _, *rest) = self.rows, own.shape
        before = own.new_zeros(n_domains, rows.start, *rest)
        after = own.new_zeros(n_domains, self.whole - rows.stop, *rest)
        return _Sum.apply(torch.cat([before, own, after], dim=1), self.connection)

    def from_parts(self, partial: Tensor) -> Tensor:
        """A term whose value in the whole is the sum of `partial` over the processes.

        In the weighted mean over processes it then has that value.
        """
        return partial * (self.n_processes / self.weight)

    def mean_terms(self, terms: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the terms are over all rows; no gradient."""
        values = torch.stack([value.detach().float() for value in terms.values()])
        self.connection.add_up(values.mul_(self.weight / self.n_processes))
        return dict(zip(terms, values))

    def mean_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Put the processes' mean in the place of every gradient, in one message."""
        gradients = [one.grad for one in parameters if one.grad is not None]
        if not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        self.connection.add_up(flat).div_(self.n_processes)
        parts = flat.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts):
            gradient.copy_(part.view_as(gradient))


class _Sum(torch.autograd.Function):
    """The sum of a tensor over processes; so is its gradient."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, connection: Connection) -> Tensor:
        ctx.connection = connection
        return connection.add_up(own.clone())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.connection.add_up(gradients[0].clone()), None


@contextmanager
def reached() -> Iterator[None]:
    """`TrainingError` where another process cannot be reached; the cause is chained."""
    try:
        yield
    except TrainingError:
        raise
    except RuntimeError as error:
        raise TrainingError(
            "One of the processes that train together has ended or cannot be reached. Look at what "
            "it wrote last, and fit again."
        ) from error
