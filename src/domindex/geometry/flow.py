"""An affine flow along the domain index: how the clouds move from domain to domain.

Suppose a domain with index β holds the points of one common cloud, carried by
x = exp(Σᵢ βᵢ G̃ᵢ) x₀, with G̃ᵢ a generator [G g; 0 0] in homogeneous coordinates. Then means and
covariances of neighbours differ by dμ/dβᵢ = Gᵢμ + gᵢ and dΣ/dβᵢ = GᵢΣ + ΣGᵢᵀ, which is linear in
the generators: one ridge regression starts them, and maximum likelihood finishes them. A rotation,
a shift or a scaling along the index extrapolates by itself to domains without labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from domindex.geometry.flow_families import FAMILIES, family_basis
from domindex.geometry.matrix_exponential import exponentials

RIDGE = 1e-2
FLOW_PENALTY = 1e-4
MAX_ITERATIONS = 100
"""Of the regression that starts a flow, relative to its design; of squared parameters per row in
the likelihood; and of its search. Set for numerical safety on Circle, DG-15 and DG-60."""

MAX_EXPONENT = 30.0
OUT_OF_BOUNDS = 1e6
"""Largest entry of a generator times an index that a line search may try, and what more costs:
its exponential would carry a cloud out of all bounds."""

NO_SPREAD = 1e-9
"""Variance within domains, relative to that of all rows, that is rounding and no more."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Means (domains, p), covariances (domains, p, p) and sizes (domains,) of the clouds."""

    means: Floats
    covariances: Floats
    sizes: Floats

    @classmethod
    def of(cls, clouds: Sequence[Floats]) -> Moments:
        """Covariances lean on the pooled one where rows are few, so that one row will do.

        Where no domain has rows that differ, they lean on that of all rows: clouds without any
        spread could be carried onto each other for free.
        """
        sizes = np.array([len(cloud) for cloud in clouds], dtype=np.float64)
        means = np.stack([cloud.mean(axis=0) for cloud in clouds])
        own = np.stack([(c - m).T @ (c - m) / len(c) for c, m in zip(clouds, means)])
        pooled = np.average(own, axis=0, weights=sizes)
        total = pooled + np.cov(means.T, bias=True, fweights=sizes.astype(int)).reshape(
            pooled.shape
        )
        if np.trace(pooled) <= NO_SPREAD * np.trace(total):
            pooled = total
        pooled += 1e-9 * (np.trace(pooled) or 1.0) * np.eye(len(pooled))
        n_features = means.shape[1]
        lean = ((n_features + 1) / (sizes + n_features + 1))[:, None, None]
        return cls(means, (1 - lean) * own + lean * pooled, sizes)


@dataclass(frozen=True, eq=False)
class AffineFlow:
    """A flow along the first q components of an index.

    Attributes
    ----------
    coefficients : (q, parameters), the generators in terms of `basis`
    basis : (p (p + 1), parameters), which generators [G g] the family allows
    family : "none", "shift", "spin", "rigid", "linear" or "affine"
    description_length : nats to describe the clouds with this flow, its parameters included
    """

    coefficients: Floats
    basis: Floats
    family: str
    description_length: float

    def state(self) -> dict[str, Any]:
        return {"coefficients": self.coefficients, "basis": self.basis, "family": self.family}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> AffineFlow:
        """The flow, without what it cost to describe the clouds that it was solved from."""
        coefficients, basis = state["coefficients"], state["basis"]
        size, pairs = _n_features(basis), (coefficients.shape[1:], basis.shape[1:])
        if len(pairs[0]) != 1 or pairs[0] != pairs[1] or len(basis) != size * (size + 1):
            raise ValueError("the coefficients of the flow do not fit its basis")
        if state["family"] not in ("none", *FAMILIES):
            raise ValueError(f"there is no family of flows {state['family']!r}")
        return cls(coefficients, basis, str(state["family"]), float("nan"))

    @property
    def generators(self) -> Floats:
        """The blocks [Gᵢ gᵢ], (q, p, p + 1)."""
        return _generators(self.coefficients, self.basis)

    @property
    def n_components(self) -> int:
        return len(self.coefficients)

    def maps(self, index: Floats) -> Floats:
        """The homogeneous matrices (domains, p + 1, p + 1) that align each domain to β = 0."""
        return exponentials(-homogeneous(self.generators, index[:, : self.n_components]))

    def align(self, cloud: Floats, index: Floats) -> Floats:
        """Bring (rows, p) points of one domain with index (index_dim,) to β = 0."""
        matrix = self.maps(np.atleast_2d(index))[0]
        return cloud @ matrix[:-1, :-1].T + matrix[:-1, -1]

    def align_all(self, clouds: Sequence[Floats], index: Floats) -> list[Floats]:
        """Bring every domain's cloud to β = 0."""
        maps = self.maps(index)
        return [c @ m[:-1, :-1].T + m[:-1, -1] for c, m in zip(clouds, maps)]


def still_flow(moments: Moments) -> AffineFlow:
    """No movement at all, with what it costs to describe the clouds that way."""
    n_features = moments.means.shape[1]
    coefficients, basis = np.zeros((1, 0)), np.zeros((n_features * (n_features + 1), 0))
    cost, _ = _code_length(coefficients.ravel(), basis, np.zeros((len(moments.means), 1)), moments)
    return AffineFlow(coefficients, basis, "none", moments.sizes.sum() * cost)


def solve_flow(
    index: Floats,
    links: NDArray[np.bool_],
    moments: Moments,
    family: str = "affine",
    origin: Floats | None = None,
) -> AffineFlow:
    """The likeliest flow of a family along `index` (domains, q), about `origin` (p,).

    Starts from the regression of neighbouring moments (`links`, (domains, domains)), then
    maximises the likelihood of one Gaussian cloud carried to every domain.
    """
    n_components, n_features = index.shape[1], moments.means.shape[1]
    basis = family_basis(family, n_features, origin)
    start = _regress_moments(index, links, moments, basis).ravel()
    found = minimize(
        _penalised_code_length,
        start,
        args=(basis, index, moments),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS},
    )
    cost, _ = _code_length(found.x, basis, index, moments)
    n_rows = moments.sizes.sum()
    length = n_rows * cost + 0.5 * len(found.x) * np.log(n_rows)
    return AffineFlow(found.x.reshape(n_components, -1), basis, family, length)


def _generators(coefficients: Floats, basis: Floats) -> Floats:
    """Coefficients (q, parameters) to generators (q, p, p + 1)."""
    n_features = _n_features(basis)
    return (coefficients @ basis.T).reshape(-1, n_features, n_features + 1)


def _n_features(basis: Floats) -> int:
    """p, of a basis with p (p + 1) rows."""
    return round((0.25 + len(basis)) ** 0.5 - 0.5)


def homogeneous(generators: Floats, index: Floats) -> Floats:
    """Σᵢ βᵢ G̃ᵢ for every domain, (domains, p + 1, p + 1)."""
    n_features = generators.shape[1]
    matrices = np.zeros((len(index), n_features + 1, n_features + 1))
    matrices[:, :n_features] = np.einsum("nq,qij->nij", index, generators)
    return matrices


def _regress_moments(
    index: Floats, links: NDArray[np.bool_], moments: Moments, basis: Floats
) -> Floats:
    """Ridge regression of neighbours' differences in moments, midpoint rule, (q, parameters).

    Each pair is whitened by its mean covariance and weighted by its rows, so that a difference
    counts in units of its own sampling error.
    """
    first, second = np.nonzero(np.triu(links))
    n_features, n_components = moments.means.shape[1], index.shape[1]
    step = index[second] - index[first]
    centre = (moments.means[first] + moments.means[second]) / 2
    spread = (moments.covariances[first] + moments.covariances[second]) / 2
    whiten = np.linalg.inv(np.linalg.cholesky(spread))
    weight = (1 / moments.sizes[first] + 1 / moments.sizes[second]) ** -0.5

    directions = basis.T.reshape(-1, n_features, n_features + 1)
    whitened = np.einsum("nac,rce->nrae", whiten, directions)
    extended = np.concatenate([centre, np.ones((len(centre), 1))], axis=1)
    mean_slopes = np.einsum("n,nq,nrae,ne->naqr", weight, step, whitened, extended)

    upper = np.triu_indices(n_features)
    upper_weight = np.where(upper[0] == upper[1], 0.5**0.5, 1.0)
    one_side = np.einsum("nrae,neb->nabr", whitened[..., :-1], spread @ whiten.swapaxes(1, 2))
    both_sides = (one_side + one_side.swapaxes(1, 2))[:, upper[0], upper[1]]
    cov_slopes = np.einsum("n,nq,nir,i->niqr", weight, step, both_sides, upper_weight)

    mean_change = np.einsum("nij,nj->ni", whiten, moments.means[second] - moments.means[first])
    change = whiten @ (moments.covariances[second] - moments.covariances[first])
    cov_change = (change @ whiten.swapaxes(1, 2))[:, upper[0], upper[1]] * upper_weight

    n_parameters = n_components * len(directions)
    design = np.vstack(
        [mean_slopes.reshape(-1, n_parameters), cov_slopes.reshape(-1, n_parameters)]
    )
    response = np.concatenate(
        [(mean_change * weight[:, None]).ravel(), (cov_change * weight[:, None]).ravel()]
    )
    normal = design.T @ design
    ridge = RIDGE * np.trace(normal) / n_parameters + 1e-12
    solution = np.linalg.solve(normal + ridge * np.eye(n_parameters), design.T @ response)
    return solution.reshape(n_components, -1)


def _penalised_code_length(
    parameters: Floats, basis: Floats, index: Floats, moments: Moments
) -> tuple[float, Floats]:
    generators = _generators(parameters.reshape(index.shape[1], -1), basis)
    if np.abs(homogeneous(generators, index)).max() > MAX_EXPONENT:  # a step too far: turn back
        return OUT_OF_BOUNDS * float(parameters @ parameters), 2 * OUT_OF_BOUNDS * parameters
    try:
        cost, gradient = _code_length(parameters, basis, index, moments)
    except np.linalg.LinAlgError:  # all clouds on one point: as bad as a step too far
        return OUT_OF_BOUNDS * float(parameters @ parameters), 2 * OUT_OF_BOUNDS * parameters
    return cost + FLOW_PENALTY * float(
        parameters @ parameters
    ), gradient + 2 * FLOW_PENALTY * parameters


def _code_length(
    parameters: Floats, basis: Floats, index: Floats, moments: Moments
) -> tuple[float, Floats]:
    """Negative log-likelihood per row, up to a constant, and its gradient.

    With carried moments Aμ + t and AΣAᵀ and their pooled covariance C, it is
    ½ log|C| + mean of log|A⁻¹|; the derivative of the exponential is read off the exponential of
    a block matrix.
    """
    means, covariances, sizes = moments.means, moments.covariances, moments.sizes
    n_features, n_components = means.shape[1], index.shape[1]
    size = n_features + 1
    generators = _generators(parameters.reshape(n_components, -1), basis)
    exponents = -homogeneous(generators, index)
    maps = exponentials(exponents)
    linear, weights = maps[:, :n_features, :n_features], sizes / sizes.sum()

    carried = np.einsum("nij,nj->ni", linear, means) + maps[:, :n_features, n_features]
    residual = carried - weights @ carried
    half = linear @ covariances
    pooled = np.einsum("n,nij,nkj->ik", weights, half, linear)
    pooled += (residual * weights[:, None]).T @ residual
    inverse = np.linalg.inv(pooled)
    growth = index @ np.trace(generators[:, :, :n_features], axis1=1, axis2=2)
    cost = 0.5 * float(np.linalg.slogdet(pooled)[1]) + float(weights @ growth)

    by_map = np.zeros_like(maps)
    by_carried = (residual @ inverse) * weights[:, None]
    by_map[:, :n_features, :n_features] = (inverse @ half) * weights[:, None, None]
    by_map[:, :n_features, :n_features] += by_carried[:, :, None] * means[:, None, :]
    by_map[:, :n_features, n_features] = by_carried
    block = np.zeros((len(index), 2 * size, 2 * size))
    block[:, :size, :size] = block[:, size:, size:] = exponents.swapaxes(1, 2)
    block[:, :size, size:] = by_map
    by_exponent = exponentials(block)[:, :n_features, size:]
    gradient = -np.einsum("nq,nij->qij", index, by_exponent)
    gradient[:, :, :n_features] += (weights @ index)[:, None, None] * np.eye(n_features)
    return cost, (gradient.reshape(n_components, -1) @ basis).ravel()
