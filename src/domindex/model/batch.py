"""What one step of training sees."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from domindex.model.adversary import DomainFacts
from domindex.networks.shares import Share


@dataclass
class Batch:
    """Rows of the chosen domains; in one of several processes, its share of them.

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
    share : which of the rows these are; None where they are all
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
    share: Share | None = None
    generator: torch.Generator | None = None
