"""The paper's model: its networks, as figure 2 and equations 1 to 8 have them, and its objective.

Equations are numbered as in the paper. Options that depart from it are off unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from domindex.neural.batches import Batch, DomainFacts
from domindex.neural.layers import GaussianHead, bounded_scale, mlp, start_small
from domindex.neural.training import Objective, ParameterGroup, Terms, trainable
from domindex.vdi import bound
from domindex.vdi.adversary import Adversary
from domindex.vdi.alignments import AffineAlignment
from domindex.vdi.module import Indices, Latents, draw
from domindex.vdi.networks import (
    GlobalIndexEncoder,
    InputDecoder,
    LocalIndexDecoder,
    LocalIndexEncoder,
    OutputPredictor,
)
from domindex.vdi.objectives import disagreement, index_terms


@dataclass(frozen=True)
class TermWeights:
    """How much every term of the objective counts; smoothness and strain are no terms of the
    paper."""

    input_reconstruction: float
    label_prediction: float
    local_index_reconstruction: float
    local_index_entropy: float
    global_index_divergence: float
    encoding_divergence: float
    contrastive: float
    adversary: float
    smoothness: float
    strain: float


@dataclass(frozen=True)
class ModelSizes:
    """Sizes of the networks, and which of the named options they follow."""

    n_features: int
    local_dim: int
    index_dim: int
    latent_dim: int
    width: int
    affine: bool = False  # q(z|x,u,β) is an affine map of x that β chooses
    tied: bool = True  # p(z|x,u,β) is q(z|x,u,β), so their divergence is 0
    projection: bool = False  # q(u|x) starts at a projection of x


class EncodingNetwork(nn.Module):
    """Equation 8: q(z|x,u,β), a network of all three.

    β chooses an affine map of x that starts at the identity, so that a domain may turn, stretch and
    shift x; what comes out goes with u through hidden layers. The mean has a layer norm: z cannot
    hide its domain by shrinking. Of more than `max_moved` features as many learned combinations
    are moved. The motion decays while it is learned (`motion_decay`): a domain is moved no
    farther than the objective asks.
    """

    log_variance = (-8.0, 0.0)
    max_moved = 32

    def __init__(self, sizes: ModelSizes) -> None:
        super().__init__()
        width, n_features = sizes.width, sizes.n_features
        moved = min(n_features, self.max_moved)
        self.seen = nn.Identity() if moved == n_features else nn.Linear(n_features, moved)
        self.moved = moved
        self.motion = nn.Sequential(
            nn.Linear(sizes.index_dim, width), nn.Tanh(), nn.Linear(width, moved * (moved + 1))
        )
        start_small(self.motion, 0.1)
        self.mean = mlp(moved + sizes.local_dim, sizes.latent_dim, width, depth=2)
        self.scale = scale_network(sizes)

    def forward(self, x: Tensor, u: Tensor, beta: Tensor) -> Normal:
        """Of x (domains, batch, features), u (domains, batch, ·) and β (domains, ·)."""
        rows = self.seen(x)
        motion = self.motion(beta).unflatten(-1, (self.moved + 1, self.moved))
        rows = rows + torch.baddbmm(motion[:, -1:], rows, motion[:, :-1])
        mean = self.mean(torch.cat([rows, u], dim=-1))
        mean = nn.functional.layer_norm(mean, mean.shape[-1:])
        return Normal(mean, encoding_scale(self.scale, x, u, beta), validate_args=False)


def scale_network(sizes: ModelSizes) -> nn.Sequential:
    """The network of the deviations of z."""
    n_given = sizes.n_features + sizes.local_dim + sizes.index_dim
    return mlp(n_given, sizes.latent_dim, sizes.width, depth=1)


def encoding_scale(network: nn.Module, x: Tensor, u: Tensor, beta: Tensor) -> Tensor:
    """The deviations of z, (domains, batch, latent_dim)."""
    given = torch.cat([x, u, beta[:, None, :].expand(*x.shape[:2], -1)], dim=-1)
    return bounded_scale(network(given), *EncodingNetwork.log_variance)


class AffineEncoding(nn.Module):
    """A named option: the mean of q(z|x,u,β) is a whitened affine map of x that β chooses."""

    def __init__(self, sizes: ModelSizes) -> None:
        super().__init__()
        self.scale = scale_network(sizes)
        self.alignment = AffineAlignment(
            sizes.n_features, sizes.index_dim, sizes.width, sizes.latent_dim
        )

    def forward(self, x: Tensor, u: Tensor, beta: Tensor) -> Normal:
        mean, _ = self.alignment(x, beta)
        return Normal(mean, encoding_scale(self.scale, x, u, beta), validate_args=False)


class VariationalModel(nn.Module):
    """The generative model of equation 1 and the inference model of equation 5.

    p(β|α) p(u|β) p(x|u) p(z|x,u,β) p(y|z), and q(u|x) q(β|u) q(z|x,u,β).
    """

    prior_mean: Tensor
    prior_scale: Tensor

    def __init__(self, sizes: ModelSizes, predictor: OutputPredictor) -> None:
        super().__init__()
        self.sizes = sizes
        n_features, local_dim, width = sizes.n_features, sizes.local_dim, sizes.width
        self.local_encoder: nn.Module
        if sizes.projection:
            self.local_encoder = LocalIndexEncoder(n_features, local_dim, width)
        else:
            self.local_encoder = GaussianHead(n_features, local_dim, width, 2, (-6.0, 0.0))
        self.index_encoder = GlobalIndexEncoder(sizes.index_dim, width)
        self.data_encoder = (AffineEncoding if sizes.affine else EncodingNetwork)(sizes)
        self.data_prior = None if sizes.tied else EncodingNetwork(sizes)
        self.input_decoder = InputDecoder(local_dim, n_features, width)
        self.local_decoder = LocalIndexDecoder(sizes.index_dim, local_dim, width)
        self.contrast = mlp(local_dim, width, width, depth=1)
        self.predictor = predictor
        self.register_buffer("prior_mean", torch.zeros(sizes.index_dim))
        self.register_buffer("prior_scale", torch.ones(sizes.index_dim))

    @property
    def index_prior(self) -> Normal:
        """p(β|α) = N(μ_α, σ_α²) of equation 1: as wide as the raw index."""
        return Normal(self.prior_mean, self.prior_scale, validate_args=False)

    def local_posterior(self, x: Tensor) -> Normal:
        """Equation 6: q(u|x)."""
        return self.local_encoder(x)

    def infer_indices(
        self,
        x: Tensor,
        raw_index: Tensor,
        sample: bool,
        generator: torch.Generator | None = None,
    ) -> Indices:
        """Equation 7: q(u|x) and q(β|u), by the raw index of all u; a draw of each, or means."""
        u, beta = self.local_posterior(x), self.index_encoder(raw_index)
        return Indices(u, draw(u, sample, generator), beta, draw(beta, sample, generator))

    def infer(
        self,
        x: Tensor,
        raw_index: Tensor,
        sample: bool = True,
        generator: torch.Generator | None = None,
    ) -> Latents:
        """Equation 5: q(u,β,z|x), factor by factor."""
        indices = self.infer_indices(x, raw_index, sample, generator)
        posterior = self.data_encoder(x, indices.u, indices.beta)
        prior = self.encoding_prior(x, indices.u, indices.beta, posterior)
        z = draw(posterior, sample, generator)
        return Latents(**vars(indices), z_posterior=posterior, z_prior=prior, z=z)

    def encoding_prior(self, x: Tensor, u: Tensor, beta: Tensor, posterior: Normal) -> Normal:
        """Equation 4: p(z|x,u,β).

        It is given exactly what q(z|x,u,β) is given, so the best p is q and their divergence is 0.
        Tied, p is q. As a network of its own it starts anywhere, and pulls z to a constant.
        """
        return posterior if self.data_prior is None else self.data_prior(x, u, beta)

    def parameter_groups(
        self, index_rate: float = 1.0, motion_decay: float = 0.0
    ) -> list[ParameterGroup]:
        """All that learns: the networks of u and β at `index_rate`; what β does to x decays."""
        encoders = [one for one in self.modules() if isinstance(one, EncodingNetwork)]
        motions = [weight for one in encoders for weight in one.motion.parameters()]
        parts = (self.data_encoder, self.data_prior, self.predictor)
        encoding = [weight for part in parts if part is not None for weight in part.parameters()]
        of_z = set(encoding)
        indices = [weight for weight in self.parameters() if weight not in of_z]
        moved = set(motions)
        others = [weight for weight in trainable(encoding) if weight not in moved]
        return [
            ParameterGroup(trainable(indices), index_rate),
            ParameterGroup(others, 1.0),
            ParameterGroup(motions, 1.0, motion_decay),
        ]

    def predict(self, z: Tensor) -> Distribution:
        """p(y|z): classes, or values with their deviation."""
        return self.predictor(z)


class PretrainingObjective(Objective):
    """The first phase: q(u|x) and p(x|u) with the terms of u and β alone, before z is learned."""

    module: VariationalModel

    def __init__(self, module: VariationalModel, weights: TermWeights) -> None:
        super().__init__(module)
        self.weights = weights

    def infer(self, batch: Batch) -> Indices:
        x = batch.represented
        return self.module.infer_indices(x, batch.raw_index, True, batch.generator)

    def forward(self, batch: Batch, latents: Indices, ramp: float) -> tuple[Tensor, Terms]:
        terms = self._index_terms(batch, latents)
        return self._loss(terms), terms

    def _index_terms(self, batch: Batch, latents: Indices) -> Terms:
        terms = index_terms(self.module, batch.represented, batch, latents)
        return {**terms, "contrastive": -terms["contrastive"]}

    def _loss(self, terms: Terms) -> Tensor:
        """Less the weighted sum of the terms, each larger when better."""
        gains = [getattr(self.weights, name) * value for name, value in terms.items()]
        return -torch.stack(gains).sum()


class VariationalObjective(PretrainingObjective):
    """Equation 20: the bound of equations 9 to 13 less λ_d times the discriminator's, one loss."""

    def __init__(
        self,
        module: VariationalModel,
        weights: TermWeights,
        adversary: Adversary | None,
    ) -> None:
        super().__init__(module, weights)
        self._adversary = [adversary]
        self.admitted: Tensor | None = None  # (domains,) bool: who takes part in the adversary

    def adversary_inputs(self, batch: Batch, latents: Latents) -> tuple[Tensor, DomainFacts]:
        """z and facts of the domains that are admitted."""
        facts = batch.facts
        if self.admitted is None or self.admitted.all():
            return latents.z, facts
        here = self.admitted[facts.numbers]
        links = facts.links[here][:, here]
        known = DomainFacts(facts.numbers[here], facts.beta[here], links, facts.generator)
        return latents.z[here], known

    def infer(self, batch: Batch) -> Latents:
        return self.module.infer(batch.represented, batch.raw_index, True, batch.generator)

    def forward(self, batch: Batch, latents: Indices, ramp: float) -> tuple[Tensor, Terms]:
        assert isinstance(latents, Latents)
        predicted = self.module.predict(latents.z[batch.sources])
        terms = self._index_terms(batch, latents)
        terms["label_prediction"] = bound.label_prediction(batch.labels, predicted)
        terms["encoding_divergence"] = bound.encoding_divergence(latents)
        if self.adversary is not None:
            hidden = self.fixed_adversary(*self.adversary_inputs(batch, latents))
            terms["adversary"] = ramp * hidden
        if self.weights.smoothness:
            terms["smoothness"] = -self._roughness(batch, latents)
        if self.weights.strain and isinstance(self.module.data_encoder, AffineEncoding):
            beta = latents.beta.detach()
            terms["strain"] = -self.module.data_encoder.alignment.penalty(beta)
        return self._loss(terms), terms

    def _roughness(self, batch: Batch, latents: Latents) -> Tensor:
        """How much predictions change when a domain borrows its neighbour's index, which shall not
        come nearer for it."""
        own = self.module.predict(latents.z_posterior.mean)
        shift = batch.neighbor_index - batch.raw_index
        u, beta = latents.u.detach(), latents.beta.detach() + shift
        borrowed = self.module.data_encoder(batch.represented, u, beta)
        return disagreement(own, self.module.predict(borrowed.mean))
