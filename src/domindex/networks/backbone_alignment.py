"""A backbone that learns with the encoding: what it tells of x is what is aligned."""

from __future__ import annotations

import copy
from typing import ClassVar

from torch import Tensor, nn

from domindex.networks.alignments import ALIGNMENTS, Alignment, ParameterGroup, trainable
from domindex.networks.blocks import Standardising
from domindex.networks.feature_extractor import FeatureExtractor, extractor_of_sizes
from domindex.networks.weights import Sizes, count


class SeenFeatures(nn.Module):
    """Rows to what a backbone tells of them, standardised: (..., n_features)."""

    def __init__(self, extractor: FeatureExtractor) -> None:
        super().__init__()
        self.extractor = extractor
        self.n_features = extractor.n_features
        self.norm = Standardising(extractor.n_features)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.extractor(x))


class BackboneAlignment(Alignment):
    """x through a backbone and a linear map, standardised, and from there on as `inner` says.

    Both the prior and the posterior of z stand behind the backbone: its features are free, and what
    is bent after them is paid for.

    Attributes
    ----------
    inner : the alignment of features (domains, batch, n_inner)
    extractor : the backbone, which moves at `rate` times the learning rate
    head, norm : its features to those that are aligned, of unit deviation
    """

    name: ClassVar[str] = "backbone"

    def __init__(
        self, extractor: FeatureExtractor, inner: Alignment, n_inner: int, rate: float = 1.0
    ) -> None:
        super().__init__()
        self.inner = inner  # first: its precision is that of the alignment
        self.extractor = extractor
        self.head = nn.Linear(extractor.n_features, n_inner)
        self.norm = Standardising(n_inner)
        self.rate = rate
        self.latent_dim, self.follows_index = inner.latent_dim, inner.follows_index
        self.sizes = {
            "extractor": extractor.sizes,
            "inner": inner.name,
            "inner_sizes": inner.sizes,
            "n_inner": n_inner,
        }

    @classmethod
    def of_sizes(cls, sizes: Sizes) -> BackboneAlignment:
        inner = ALIGNMENTS[sizes["inner"]].of_sizes(sizes["inner_sizes"])
        return cls(extractor_of_sizes(sizes["extractor"]), inner, count(sizes, "n_inner"))

    def forward(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner(self.norm(self.head(self.extractor(x))), beta)

    def penalty(self, beta: Tensor) -> Tensor:
        return self.inner.penalty(beta)

    def parameter_groups(self) -> list[ParameterGroup]:
        return [
            ParameterGroup(trainable(self.extractor.parameters()), self.rate),
            ParameterGroup(trainable(self.head.parameters()), 1.0),
            *self.inner.parameter_groups(),
        ]

    def redrawn(self) -> BackboneAlignment:
        """On a copy of the same backbone, with another start of what follows it."""
        extractor, inner = copy.deepcopy(self.extractor), self.inner.redrawn()
        return BackboneAlignment(extractor, inner, self.sizes["n_inner"], self.rate)
