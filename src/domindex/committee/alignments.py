"""How the committee's network aligns domains: along a flow, not at all, or behind a backbone."""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.geometry.domain_geometry import Subspace
from domindex.geometry.flow import AffineFlow
from domindex.neural.backbones import FeatureExtractor, extractor_of_sizes
from domindex.neural.layers import Standardising, mlp, start_small
from domindex.neural.training import ParameterGroup, trainable
from domindex.neural.weights import Sizes, count
from domindex.vdi.alignments import AffineAlignment, Alignment


class FlowAlignment(Alignment):
    """Every domain brought along the flow to β = 0: W (exp(−Σᵢ βᵢ G̃ᵢ) v − m), v = P x + warp(x).

    Starts at the coefficients solved in closed form, and stays in the family of flows that was
    chosen. Coordinates that do not move (`still`) are passed on beside the moved ones.

    `warp` straightens inputs in which the flow is not affine; it is zero unless trained for that.
    `bend` is what the bound may add. Both are networks of x alone, applied before x is moved:
    one map for all domains. A network that sees β could undo any domain by itself, and would fit
    the sources only.
    """

    name: ClassVar[str] = "flow"
    follows_index = True
    coefficients_rate = 0.1  # of the learning rate: they are solved for already
    basis: Tensor
    projection: Tensor
    centre: Tensor
    whitening: Tensor

    def __init__(
        self,
        n_features: int,
        n_moving: int,
        latent_dim: int,
        n_components: int,
        n_coefficients: int,
        width: int,
    ) -> None:
        super().__init__()
        self.sizes = {
            "n_features": n_features,
            "n_moving": n_moving,
            "latent_dim": latent_dim,
            "n_components": n_components,
            "n_coefficients": n_coefficients,
            "width": width,
        }
        self.n_moving, self.latent_dim = n_moving, latent_dim
        self.coefficients = nn.Parameter(torch.zeros(n_components, n_coefficients))
        self.register_buffer("basis", torch.zeros(n_moving * (n_moving + 1), n_coefficients))
        self.register_buffer("projection", torch.zeros(n_features, latent_dim))
        self.register_buffer("centre", torch.zeros(n_moving))
        self.register_buffer("whitening", torch.eye(n_moving))
        self.warp = mlp(n_features, n_moving, width, depth=2)
        start_small(self.warp, 0.0)
        self.warp.requires_grad_(False)
        self.bend = self._fresh_bend()

    def _fresh_bend(self) -> nn.Sequential:
        bend = mlp(self.sizes["n_features"], self.n_moving, self.sizes["width"], depth=2)
        start_small(bend, 0.01)
        return bend

    def redrawn(self) -> FlowAlignment:
        """On the same flow, with another start of the network that may bend it."""
        twin = copy.deepcopy(self)
        twin.bend = self._fresh_bend()
        return twin

    @classmethod
    def along(cls, flow: AffineFlow, subspace: Subspace, width: int) -> FlowAlignment:
        """Started at a flow in closed form."""
        n_features, latent_dim = subspace.matrix.shape
        n_components, n_coefficients = flow.coefficients.shape
        alignment = cls(
            n_features, subspace.n_moving, latent_dim, n_components, n_coefficients, width
        )
        with torch.no_grad():
            alignment.coefficients.copy_(torch.as_tensor(flow.coefficients))
        alignment.basis.copy_(torch.as_tensor(flow.basis))
        alignment.projection.copy_(torch.as_tensor(subspace.matrix))
        return alignment

    def aligned(self, x: Tensor, *maps: Tensor) -> tuple[Tensor, Tensor]:
        linear, shift = maps
        moving, still = self._coordinates(x)
        straight = torch.baddbmm(shift, moving, linear)
        bent = straight + torch.bmm(self.bend(x), linear)
        return self._encoded(straight, still), self._encoded(bent, still)

    def align(self, x: Tensor, beta: Tensor) -> Tensor:
        """The moving coordinates at β = 0, straightened but neither bent nor whitened."""
        linear, shift = self.maps(beta)
        return torch.baddbmm(shift, self._coordinates(x)[0], linear)

    def parameter_groups(self) -> list[ParameterGroup]:
        others = [p for name, p in self.named_parameters() if name != "coefficients"]
        return [
            ParameterGroup([self.coefficients], self.coefficients_rate),
            ParameterGroup(trainable(others), 1.0),
        ]

    @property
    def is_straightened(self) -> bool:
        """Whether the warp does anything."""
        last = self.warp[-1]
        assert isinstance(last, nn.Linear)
        return bool(last.weight.abs().sum() + last.bias.abs().sum() > 0.0)

    def drop_still(self) -> None:
        """Encode the moving coordinates alone."""
        self.projection = self.projection[:, : self.n_moving].clone()
        self.latent_dim = self.sizes["latent_dim"] = self.n_moving

    def use_spread(self, centre: NDArray, whitening: NDArray) -> None:
        """Take m and W from clouds that were aligned."""
        self.centre.copy_(torch.as_tensor(centre))
        self.whitening.copy_(torch.as_tensor(whitening))

    def _coordinates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        coordinates = x @ self.projection
        moving, still = coordinates.tensor_split([self.n_moving], dim=-1)
        return moving + self.warp(x), still

    def _encoded(self, moved: Tensor, still: Tensor) -> Tensor:
        return torch.cat([(moved - self.centre) @ self.whitening, still], dim=-1)

    def maps(self, beta: Tensor) -> tuple[Tensor, ...]:
        """The linear parts, transposed, and shifts of exp(−Σᵢ βᵢ G̃ᵢ) for each domain."""
        exponent = -(self._directions(beta) @ self.basis.T).unflatten(
            -1, (self.n_moving, self.n_moving + 1)
        )
        bottom = exponent.new_zeros(len(beta), 1, self.n_moving + 1)
        maps = torch.linalg.matrix_exp(torch.cat([exponent, bottom], dim=1))
        return maps[:, :-1, :-1].transpose(1, 2), maps[:, None, :-1, -1]

    def _directions(self, beta: Tensor) -> Tensor:
        """Σᵢ βᵢ G̃ᵢ in the family's basis, (domains, coefficients)."""
        return beta[:, : len(self.coefficients)] @ self.coefficients


class IdentityAlignment(Alignment):
    """Rows that are comparable as they are: x P, and a network may bend them, whatever β is."""

    name: ClassVar[str] = "identity"
    follows_index = False
    projection: Tensor

    def __init__(self, n_features: int, latent_dim: int, width: int) -> None:
        super().__init__()
        self.sizes = {"n_features": n_features, "latent_dim": latent_dim, "width": width}
        self.latent_dim = latent_dim
        self.register_buffer("projection", torch.zeros(n_features, latent_dim))
        self.bend = mlp(latent_dim, latent_dim, width, depth=2)

    @classmethod
    def onto(cls, projection: NDArray, width: int, *, may_bend: bool) -> IdentityAlignment:
        """Started at a projection (features, latent_dim), held there unless it `may_bend`."""
        n_features, latent_dim = projection.shape
        alignment = cls(n_features, latent_dim, width)
        ordered = np.ascontiguousarray(projection)  # torch takes no columns in reverse
        alignment.projection.copy_(torch.as_tensor(ordered))
        start_small(alignment.bend, 0.01 if may_bend else 0.0)
        alignment.bend.requires_grad_(may_bend)
        return alignment

    def redrawn(self) -> IdentityAlignment:
        """On the same projection, with another start of the network that may bend it."""
        return IdentityAlignment.onto(
            self.projection.numpy(), self.sizes["width"], may_bend=not self.is_settled
        )

    def aligned(self, x: Tensor, *maps: Tensor) -> tuple[Tensor, Tensor]:
        straight = x @ self.projection
        return straight, straight + self.bend(straight)


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

    def maps(self, beta: Tensor) -> tuple[Tensor, ...]:
        return self.inner.maps(beta)

    def aligned(self, x: Tensor, *maps: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner.aligned(self.norm(self.head(self.extractor(x))), *maps)

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


ALIGNMENTS: dict[str, type[Alignment]] = {
    kind.name: kind
    for kind in (FlowAlignment, IdentityAlignment, AffineAlignment, BackboneAlignment)
}
"""By the name that a saved network has; some of before were affine."""
