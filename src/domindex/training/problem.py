"""The data of one training, as tensors, and the batches drawn from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from domindex.data import DomainData
from domindex.data.batching import DomainBatches
from domindex.geometry.neighbors import closest_pairs, order_of_arrival, spanning_tree
from domindex.model.adversary import DomainFacts
from domindex.model.objectives import Batch
from domindex.training.settings import TrainingSettings


@dataclass(frozen=True, eq=False)
class Problem:
    """What is trained on, a row for each row of a `DomainData`.

    Attributes
    ----------
    data : the checked data
    inputs : (rows, features) standardised, from which the indices are inferred
    normalized : (rows, features) as the encoder of z is given them
    labels : (rows,) classes or (rows, outputs) values
    row_weights : (rows,) how often a row is drawn from its domain; None where all the same
    """

    data: DomainData
    inputs: Tensor
    normalized: Tensor
    labels: Tensor
    row_weights: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, data: DomainData, inputs: NDArray, labels: NDArray, device: torch.device
    ) -> Problem:
        """Rows that the encoder is given as they are."""
        kind = torch.int64 if data.task == "classification" else torch.float32
        standardized = torch.as_tensor(inputs, dtype=torch.float32, device=device)
        return cls(
            data, standardized, standardized, torch.tensor(labels, dtype=kind, device=device)
        )

    def clouds(self) -> list[NDArray[np.float64]]:
        """The inputs of each domain, (rows, features), for work outside the networks."""
        inputs = self.inputs.cpu().numpy().astype(np.float64)
        return [inputs[rows] for rows in self.data.rows_by_domain()]

    def told(
        self, normalized: NDArray, labels: NDArray, row_weights: NDArray[np.float64] | None
    ) -> Problem:
        """The same rows, normalised for the encoder, with labels to match."""
        device = self.inputs.device
        return replace(
            self,
            normalized=torch.as_tensor(normalized, dtype=torch.float32, device=device),
            labels=torch.as_tensor(labels, dtype=torch.float32, device=device),
            row_weights=row_weights,
        )


class BatchMaker:
    """Draws batches of a problem for a given map of its domains."""

    def __init__(
        self, problem: Problem, settings: TrainingSettings, rng: np.random.Generator
    ) -> None:
        self._problem = problem
        self._settings = settings
        self._rng = rng
        self._sizes = torch.tensor(problem.data.domain_sizes, device=problem.inputs.device)
        self._batches = DomainBatches(problem.data, settings.batch_size, rng, problem.row_weights)

    def use_map(
        self, raw_index: NDArray[np.float64], links: NDArray[np.bool_] | None = None
    ) -> None:
        """Take a new map: its neighbours and its graph hold until the next one.

        The graph joins the closest pairs unless `links`, (domains, domains), say which are joined.
        """
        device = self._problem.inputs.device
        distances = np.linalg.norm(raw_index[:, None, :] - raw_index[None, :, :], axis=-1)
        if links is None:
            links = closest_pairs(distances, self._settings.link_quantile)
        self._tree = spanning_tree(distances)
        self._arrival = order_of_arrival(distances, self._problem.data.is_source)
        self._raw_index = torch.tensor(raw_index, dtype=torch.float32, device=device)
        self._links = torch.as_tensor(links, device=device)

    def draw(self, progress: float = 1.0) -> Batch:
        """A batch of the domains that have arrived by `progress`, from 0 to 1.

        Sources are there from the start; targets follow in the order of their distance along the
        map, so that each is aligned when its neighbour already is.
        """
        domains = self._choose_domains(progress)
        device = self._problem.inputs.device
        rows = torch.as_tensor(self._batches.draw(domains), device=device)
        neighbors = [self._neighbor(domain, domains) for domain in domains]
        chosen = torch.as_tensor(domains, device=device)
        sources = torch.as_tensor(
            np.flatnonzero(self._problem.data.is_source[domains]), device=device
        )
        raw_index = self._raw_index[chosen]
        return Batch(
            x=self._problem.inputs[rows],
            normalized=self._problem.normalized[rows],
            labels=self._problem.labels[rows[sources]],
            sources=sources,
            domain_sizes=self._sizes[chosen],
            raw_index=raw_index,
            neighbor_index=self._raw_index[torch.as_tensor(np.array(neighbors), device=device)],
            facts=DomainFacts(chosen, raw_index, self._links[chosen][:, chosen]),
        )

    def _neighbor(self, domain: int, present: NDArray[np.int64]) -> int:
        """One of those next to a domain on the tree, itself where none has arrived."""
        near = present[self._tree[domain, present]]
        return int(self._rng.choice(near)) if len(near) else domain

    def _choose_domains(self, progress: float) -> NDArray[np.int64]:
        """All that have arrived, or as many as a step takes, half of them sources if possible."""
        is_source = self._problem.data.is_source
        most = self._settings.max_domains
        arrived = self._arrival <= max(progress, self._arrival[~is_source].min(initial=1.0))
        if arrived.sum() <= most:
            return np.flatnonzero(arrived)
        sources = self._rng.permutation(np.flatnonzero(is_source))
        targets = self._rng.permutation(np.flatnonzero(~is_source & arrived))
        n_sources = min(len(sources), max(most // 2, most - len(targets)))
        return np.sort(np.concatenate([sources[:n_sources], targets[: most - n_sources]]))
