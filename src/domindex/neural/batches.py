"""The rows of one training as tensors, and the batches drawn from them along a map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from domindex.arrays import Floats, Ints
from domindex.geometry.neighbors import DomainWeb
from domindex.inputs import DomainData
from domindex.neural.rng import TorchRng
from domindex.neural.settings import TrainingSettings

if TYPE_CHECKING:
    from domindex.representations import RepresentedRows


class DomainBatches:
    """Draws row numbers of shape (domains, batch_size).

    Each domain is gone through in a random order before any of its rows comes again. With `weights`
    (rows,) every row of a domain is drawn as often as its weight says instead.
    """

    def __init__(
        self,
        data: DomainData,
        batch_size: int,
        rng: np.random.Generator,
        weights: Floats | None = None,
    ) -> None:
        self._rows = data.rows_by_domain()
        self._weights = weights
        self._batch_size = batch_size
        self._rng = rng
        self._queues = [np.empty(0, dtype=np.int64) for _ in self._rows]

    def draw(self, domains: Ints | None = None) -> Ints:
        """Row numbers (domains, batch_size), of all domains or of those given."""
        chosen = range(len(self._rows)) if domains is None else domains
        return np.stack([self._draw_domain(int(domain)) for domain in chosen])

    def _draw_domain(self, domain: int) -> Ints:
        rows = self._rows[domain]
        if self._weights is not None:
            chances = self._weights[rows]
            chances = chances if chances.sum() > 0 else np.ones(len(rows))
            return self._rng.choice(rows, self._batch_size, p=chances / chances.sum())
        queue = self._queues[domain]
        while len(queue) < self._batch_size:
            queue = np.concatenate([queue, self._rng.permutation(rows)])
        self._queues[domain] = queue[self._batch_size :]
        return queue[: self._batch_size]


@dataclass
class DomainFacts:
    """What the adversary tries to read off z, for the domains of a batch.

    Attributes
    ----------
    numbers : (domains,) position of each among all domains
    beta : (domains, index_dim)
    links : (domains, domains) bool, the inferred domain graph; one for all folds, where the
        domains of several stand one after the other
    generator : what pairs are drawn from where they are many; torch's own if None
    """

    numbers: Tensor
    beta: Tensor
    links: Tensor
    generator: torch.Generator | None = None


@dataclass
class Batch:
    """Rows of the chosen domains.

    Attributes
    ----------
    x : (domains, batch, *input_shape)
    represented : (domains, batch, p) as the encoder of z is given the rows
    labels : (sources, batch) or (sources, batch, outputs)
    sources : (sources,) positions of the labelled domains among those of the batch
    domain_sizes : (domains,) rows that each domain has in all
    raw_index : (domains, index_dim)
    neighbor_index : (domains, index_dim), the raw index of a near neighbour of each domain
    facts : what the adversary tries to read
    known : (folds, sources of one) bool, whose labels a fold may learn from; None where all may
    generator : what a step draws its noise from; torch's own if None
    """

    x: Tensor
    represented: Tensor
    labels: Tensor
    sources: Tensor
    domain_sizes: Tensor
    raw_index: Tensor
    neighbor_index: Tensor
    facts: DomainFacts
    known: Tensor | None = None
    generator: torch.Generator | None = None


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What is trained on, a row for each row of a `DomainData`.

    Attributes
    ----------
    data : the checked data
    inputs : (rows, *input_shape) on one scale, from which the indices are inferred
    represented : (rows, p) as the encoder of z is given them
    labels : (rows,) classes or (rows, outputs) values
    row_weights : (rows,) how often a row is drawn from its domain; None where all the same
    """

    data: DomainData
    inputs: Tensor
    represented: Tensor
    labels: Tensor
    row_weights: Floats | None = None

    @classmethod
    def of(cls, data: DomainData, scaled: NDArray, device: torch.device) -> TrainingRows:
        """Scaled inputs (rows, *input_shape), which the encoder is given as they are."""
        kind = torch.int64 if data.task == "classification" else torch.float32
        inputs = torch.tensor(scaled, dtype=torch.float32, device=device)
        labels = torch.tensor(data.labels, dtype=kind, device=device)
        return cls(data, inputs, inputs.flatten(1), labels)

    def with_labels(self, values: Floats) -> TrainingRows:
        """The same rows, with values (rows, outputs) on another scale."""
        return replace(self, labels=self._tensor(values))

    def represented_as(
        self, rows: RepresentedRows, row_weights: Floats | None = None
    ) -> TrainingRows:
        """The same rows as a representation gives them to the encoder."""
        return replace(self, represented=self._tensor(rows.features), row_weights=row_weights)

    def _tensor(self, array: NDArray) -> Tensor:
        return torch.tensor(array, dtype=torch.float32, device=self.inputs.device)


class BatchSampler:
    """Draws batches of rows for a given map of their domains.

    The graph of the domains joins the closest pairs on the map unless `links`, (domains, domains),
    say which are joined. What a step draws beside rows comes from `torch_rng`, one of the seed 0 if
    None.
    """

    def __init__(
        self,
        rows: TrainingRows,
        settings: TrainingSettings,
        rng: np.random.Generator,
        coordinates: Floats,
        links: NDArray[np.bool_] | None = None,
        torch_rng: TorchRng | None = None,
    ) -> None:
        self.rows, self.settings, self._rng = rows, settings, rng
        self.torch_rng = TorchRng(0) if torch_rng is None else torch_rng
        self._domain_batches = DomainBatches(rows.data, settings.batch_size, rng, rows.row_weights)
        device = rows.inputs.device
        self._web = DomainWeb.of(coordinates, settings.link_quantile, links)
        self._sizes = torch.tensor(rows.data.domain_sizes, device=device)
        self._raw_index = torch.tensor(coordinates, dtype=torch.float32, device=device)

    def draw(self) -> Batch:
        """A batch of all domains, or of as many as a step takes."""
        domains = self._choose_domains()
        device = self.rows.inputs.device
        rows = torch.as_tensor(self._domain_batches.draw(domains)).to(device)
        neighbors = [self._neighbor(domain, domains) for domain in domains]
        chosen = torch.as_tensor(domains, device=device)
        sources = torch.as_tensor(np.flatnonzero(self.rows.data.is_source[domains]), device=device)
        raw_index, generator = self._raw_index[chosen], self.torch_rng.on(device)
        links = torch.as_tensor(self._web.links_among(domains))
        return Batch(
            x=self.rows.inputs[rows],
            represented=self.rows.represented[rows],
            labels=self.rows.labels[rows[sources]],
            sources=sources,
            domain_sizes=self._sizes[chosen],
            raw_index=raw_index,
            neighbor_index=self._raw_index[torch.as_tensor(np.array(neighbors), device=device)],
            facts=DomainFacts(chosen, raw_index, links.to(device), generator),
            generator=generator,
        )

    def _neighbor(self, domain: int, present: NDArray[np.int64]) -> int:
        """One of those next to a domain on the tree, itself where none is in the batch."""
        near = self._web.next_to(domain, present)
        return int(self._rng.choice(near)) if len(near) else domain

    def _choose_domains(self) -> NDArray[np.int64]:
        """All domains, or as many as a step takes, half of them sources if possible."""
        is_source = self.rows.data.is_source
        most = self.settings.max_domains
        if len(is_source) <= most:
            return np.arange(len(is_source))
        sources = self._rng.permutation(np.flatnonzero(is_source))
        targets = self._rng.permutation(np.flatnonzero(~is_source))
        n_sources = min(len(sources), max(most // 2, most - len(targets)))
        return np.sort(np.concatenate([sources[:n_sources], targets[: most - n_sources]]))
