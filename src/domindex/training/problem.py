"""The data of one training, as tensors, and the batches drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from domindex.data import DomainData
from domindex.data.batching import DomainBatches
from domindex.geometry.neighbors import closest_pairs, spanning_tree
from domindex.model.adversary import DomainFacts
from domindex.model.objectives import Batch
from domindex.training.settings import TrainingSettings


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised inputs (rows, features) and labels of the rows of a `DomainData`."""

    data: DomainData
    inputs: Tensor
    labels: Tensor

    @classmethod
    def of(
        cls, data: DomainData, inputs: NDArray, labels: NDArray, device: torch.device
    ) -> Problem:
        kind = torch.int64 if data.task == "classification" else torch.float32
        return cls(
            data,
            torch.as_tensor(inputs, dtype=torch.float32, device=device),
            torch.tensor(labels, dtype=kind, device=device),
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
        self._batches = DomainBatches(problem.data, settings.batch_size, rng)

    def use_map(self, raw_index: NDArray[np.float64]) -> None:
        """Take a new map: its neighbours and its graph hold until the next one."""
        device = self._problem.inputs.device
        distances = np.linalg.norm(raw_index[:, None, :] - raw_index[None, :, :], axis=-1)
        links = closest_pairs(distances, self._settings.link_quantile)
        self._neighbors = [np.flatnonzero(row) for row in spanning_tree(distances)]
        self._raw_index = torch.tensor(raw_index, dtype=torch.float32, device=device)
        self._links = torch.as_tensor(links, device=device)

    def draw(self) -> Batch:
        domains = self._choose_domains()
        device = self._problem.inputs.device
        rows = torch.as_tensor(self._batches.draw(domains), device=device)
        neighbors = [self._rng.choice(self._neighbors[domain]) for domain in domains]
        chosen = torch.as_tensor(domains, device=device)
        sources = torch.as_tensor(
            np.flatnonzero(self._problem.data.is_source[domains]), device=device
        )
        raw_index = self._raw_index[chosen]
        return Batch(
            x=self._problem.inputs[rows],
            labels=self._problem.labels[rows[sources]],
            sources=sources,
            domain_sizes=self._sizes[chosen],
            raw_index=raw_index,
            neighbor_index=self._raw_index[torch.as_tensor(np.array(neighbors), device=device)],
            facts=DomainFacts(chosen, raw_index, self._links[chosen][:, chosen]),
        )

    def _choose_domains(self) -> NDArray[np.int64]:
        """All domains, or as many as a step takes: half of them sources, where there are enough."""
        is_source = self._problem.data.is_source
        most = self._settings.max_domains
        if len(is_source) <= most:
            return np.arange(len(is_source))
        sources = self._rng.permutation(np.flatnonzero(is_source))
        targets = self._rng.permutation(np.flatnonzero(~is_source))
        n_sources = min(len(sources), max(most // 2, most - len(targets)))
        return np.sort(np.concatenate([sources[:n_sources], targets[: most - n_sources]]))
