"""Flows along the map: one cloud, carried to every domain by exp(β · generator).

A flow is solved in closed form from the moments of the domains, within a family of generators.
Which map, family and number of components is chosen by the length of the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.geometry.domain_map import DomainMap
from domindex.geometry.rings import RingCoordinate
from domindex.geometry.scaling import bridge_components, nearest_links
from domindex.geometry.settings import FLOW
from domindex.geometry.transport import misfit, moments_of
from domindex.persistence.saved import Saved

FAMILIES = ("shift", "spin", "rigid", "linear", "affine")
AROUND = (0,)
"""Stands for "around the ring" where the candidates name the neighbours of a map."""


def exponentials(matrices: Floats) -> Floats:
    """exp(A) of every matrix of a stack (n, p, p); NaN where any entry is not finite.

    By scaling and squaring of whole stacks (Paterson and Stockmeyer): SciPy's `expm` goes matrix by
    matrix, which takes several times as long.
    """
    norm = float(np.abs(matrices).sum(axis=-2).max(initial=0.0))
    if not np.isfinite(norm):
        return np.full_like(matrices, np.nan)
    # Of degree 16 it is exact up to the norm 0.78 (Higham, 2008, table 10.2).
    squarings, degree = int(np.ceil(np.log2(max(norm / 0.78, 1.0)))), 16
    scaled = matrices / 2.0**squarings
    c = 1.0 / np.cumprod([1.0, *range(1, degree + 1)])
    second = scaled @ scaled
    third, fourth = second @ scaled, second @ second
    identity = np.eye(matrices.shape[-1])
    result = c[degree] * fourth
    for k in range(degree - 4, -1, -4):
        result += c[k + 3] * third + c[k + 2] * second + c[k + 1] * scaled + c[k] * identity
        if k:
            result = result @ fourth
    for _ in range(squarings):
        result = result @ result
    return result


def family_basis(family: str, n_features: int, origin: Floats | None = None) -> Floats:
    """Columns of unit length that span the generators [G g] of a family, (p (p + 1), parameters).

    shift: G = 0. spin: G skew, with `origin` (p,) at rest. rigid: G skew. linear: G free, with
    `origin` at rest. affine: everything.
    """
    centre = np.zeros(n_features) if origin is None else origin

    def unit(row: int, column: int) -> Floats:
        matrix = np.zeros((n_features, n_features + 1))
        matrix[row, column] = 1.0
        return matrix

    def about_centre(matrix: Floats) -> Floats:
        """The generator [G, −G c], which leaves c where it is."""
        turned = matrix.copy()
        turned[:, -1] = -matrix[:, :-1] @ centre
        return turned / np.linalg.norm(turned)

    numbers = range(n_features)
    shifts = [unit(row, n_features) for row in numbers]
    entries = [unit(i, j) for i in numbers for j in numbers]
    rotations = [(unit(i, j) - unit(j, i)) * 0.5**0.5 for i in numbers for j in range(i)]
    families = {
        "shift": shifts,
        "spin": [about_centre(matrix) for matrix in rotations],
        "rigid": rotations + shifts,
        "linear": [about_centre(matrix) for matrix in entries],
        "affine": entries + shifts,
    }
    if family not in families:
        raise InputError(f"family is {family!r}. Choose one of {FAMILIES}.")
    size = n_features * (n_features + 1)
    return np.array([matrix.ravel() for matrix in families[family]]).reshape(-1, size).T


@dataclass(frozen=True, eq=False)
class Moments:
    """Means (domains, p), covariances (domains, p, p) and sizes (domains,) of the clouds."""

    means: Floats
    covariances: Floats
    sizes: Floats

    @classmethod
    def of(cls, clouds: Sequence[Floats]) -> Moments:
        """Covariances lean on the pooled one where rows are few; on that of all rows where no
        domain has rows that differ, lest clouds be carried onto each other for free."""
        sizes, means, own = moments_of(clouds)
        pooled = np.average(own, axis=0, weights=sizes)
        between = np.cov(means.T, bias=True, fweights=sizes.astype(int))
        total = pooled + between.reshape(pooled.shape)
        if np.trace(pooled) <= FLOW.no_spread * np.trace(total):
            pooled = total
        pooled += 1e-9 * (np.trace(pooled) or 1.0) * np.eye(len(pooled))
        n_features = means.shape[1]
        lean = ((n_features + 1) / (sizes + n_features + 1))[:, None, None]
        return cls(means, (1 - lean) * own + lean * pooled, sizes)


@dataclass(frozen=True, eq=False)
class AffineFlow(Saved):
    """A flow along the first q components of an index."""

    coefficients: Floats  # (q, parameters), the generators in terms of `basis`
    basis: Floats  # (p (p + 1), parameters), which generators [G g] the family allows
    family: str  # "none", or one of FAMILIES
    description_length: float  # nats to describe the clouds with this flow, its parameters included

    def state(self) -> dict[str, Any]:
        return {"coefficients": self.coefficients, "basis": self.basis, "family": self.family}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> AffineFlow:
        """The flow, without what it cost to describe the clouds that it was solved from."""
        return super().from_state(state | {"description_length": float("nan")})

    def _check_state(self) -> None:
        size, n_parameters = int(len(self.basis) ** 0.5), self.basis.shape[1:]
        fits = self.coefficients.shape[1:] == n_parameters and len(n_parameters) == 1
        if not fits or len(self.basis) != size * (size + 1):
            raise ValueError("the coefficients of the flow do not fit its basis")
        if self.family not in ("none", *FAMILIES):
            raise ValueError(f"there is no family of flows {self.family!r}")

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
    """The likeliest flow of a family along `index` (domains, q), about `origin` (p,): from the
    regression of moments that `links` (domains, domains) join to one Gaussian cloud carried to all.
    """
    basis = family_basis(family, moments.means.shape[1], origin)
    found = minimize(
        _penalised_code_length,
        _regress_moments(index, links, moments, basis).ravel(),
        args=(basis, index, moments),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": FLOW.max_iterations},
    )
    cost, _ = _code_length(found.x, basis, index, moments)
    n_rows = moments.sizes.sum()
    length = n_rows * cost + 0.5 * len(found.x) * np.log(n_rows)
    return AffineFlow(found.x.reshape(index.shape[1], -1), basis, family, length)


def _generators(coefficients: Floats, basis: Floats) -> Floats:
    """Coefficients (q, parameters) to generators (q, p, p + 1)."""
    n_features = int(len(basis) ** 0.5)  # its rows are p (p + 1)
    return (coefficients @ basis.T).reshape(-1, n_features, n_features + 1)


def homogeneous(generators: Floats, index: Floats) -> Floats:
    """Σᵢ βᵢ G̃ᵢ for every domain, (domains, p + 1, p + 1)."""
    n_features = generators.shape[1]
    matrices = np.zeros((len(index), n_features + 1, n_features + 1))
    matrices[:, :n_features] = np.einsum("nq,qij->nij", index, generators)
    return matrices


def _regress_moments(
    index: Floats, links: NDArray[np.bool_], moments: Moments, basis: Floats
) -> Floats:
    """Ridge regression of neighbours' differences in moments, midpoint rule, (q, parameters), each
    pair in units of its sampling error."""
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
    design = np.vstack([one.reshape(-1, n_parameters) for one in (mean_slopes, cov_slopes)])
    changes = [(one * weight[:, None]).ravel() for one in (mean_change, cov_change)]
    response = np.concatenate(changes)
    normal = design.T @ design
    ridge = FLOW.ridge * np.trace(normal) / n_parameters + 1e-12
    solution = np.linalg.solve(normal + ridge * np.eye(n_parameters), design.T @ response)
    return solution.reshape(n_components, -1)


def _penalised_code_length(
    parameters: Floats, basis: Floats, index: Floats, moments: Moments
) -> tuple[float, Floats]:
    square = float(parameters @ parameters)
    too_far = FLOW.out_of_bounds * square, 2 * FLOW.out_of_bounds * parameters
    generators = _generators(parameters.reshape(index.shape[1], -1), basis)
    if np.abs(homogeneous(generators, index)).max() > FLOW.max_exponent:
        return too_far
    try:
        cost, gradient = _code_length(parameters, basis, index, moments)
    except np.linalg.LinAlgError:  # all clouds on one point
        return too_far
    return cost + FLOW.penalty * square, gradient + 2 * FLOW.penalty * parameters


def _code_length(
    parameters: Floats, basis: Floats, index: Floats, moments: Moments
) -> tuple[float, Floats]:
    """Negative log-likelihood per row, up to a constant, and its gradient.

    With C the pooled covariance of carried moments Aμ + t and AΣAᵀ: ½ log|C| + mean of log|A⁻¹|.
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
    # The derivative of the exponential is read off the exponential of a block matrix.
    block = np.zeros((len(index), 2 * size, 2 * size))
    block[:, :size, :size] = block[:, size:, size:] = exponents.swapaxes(1, 2)
    block[:, :size, size:] = by_map
    by_exponent = exponentials(block)[:, :n_features, size:]
    gradient = -np.einsum("nq,nij->qij", index, by_exponent)
    gradient[:, :, :n_features] += (weights @ index)[:, None, None] * np.eye(n_features)
    return cost, (gradient.reshape(n_components, -1) @ basis).ravel()


@dataclass(frozen=True, eq=False)
class RingFlow:
    """A flow along the ring that the domains lie on."""

    flow: AffineFlow  # along a single component, the coordinate of `ring`
    ring: RingCoordinate
    misfit: float  # of the aligned clouds, as in `SelectedFlow`


@dataclass(frozen=True, eq=False)
class SelectedFlow:
    """The flow of the shortest description, along the map that its neighbours make."""

    flow: AffineFlow
    domain_map: DomainMap
    # affine, along the first component, for inputs that need straightening first
    freest: AffineFlow
    misfit: float  # of the aligned clouds; about 1 or less where the flow explains all that differs
    # nats to describe the clouds with every (family, neighbours, components) tried
    candidates: dict[tuple[str, tuple[int, ...], int], float]
    around: RingFlow | None = None  # along the ring, where that describes the clouds in fewer nats


def maps_along_neighborhoods(domain_map: DomainMap) -> list[DomainMap]:
    """The same distances along geodesics through few and through more neighbours; of a map that
    closes, only those that show the ring, if any does."""
    n_domains = len(domain_map.coordinates)
    single = [(number,) for number in FLOW.few_neighbors if number < n_domains - 1] or [(1,)]
    widest = min(FLOW.max_neighbors, n_domains // FLOW.domains_per_neighbor)
    several = tuple(range(3, widest + 1))
    maps = [domain_map.along(n) for n in (*single, *([several] if len(several) > 1 else []))]
    return [one for one in maps if shows_ring(one)] or maps


def shows_ring(domain_map: DomainMap) -> bool:
    """Whether neighbours around the ring of a closed map are neighbours on it; True if open."""
    if domain_map.loop is None:
        return True
    order, shown = domain_map.loop.order, domain_map.index.distances
    return bool(shown[order, np.roll(order, -1)].max() <= shown.max() / 2)


def select_flow(
    clouds: Sequence[Floats],
    maps: Sequence[DomainMap],
    origin: Floats | None = None,
    is_source: NDArray[np.bool_] | None = None,
) -> SelectedFlow:
    """Try maps, dimensions and families; keep what describes the clouds (rows, p) in fewest nats.

    The description length is the likelihood of one cloud carried to all domains, plus ½ log(rows)
    for each parameter and a nat for each domain's place on each axis. First the map is settled with
    the freest family, then the family and the number of components. `origin` (p,) is the user's
    zero, which may be the centre of a rotation. Where the map closes, every family may also run
    around the ring, cut opposite to the domains that `is_source` (domains,) marks.
    """
    with threadpool_limits(limits=1):  # thousands of tiny products, which threads only slow down
        search = _Search(clouds, maps, origin)
        freest = search.freest
        number = min(freest, key=lambda key: freest[key].description_length)[0]
        chosen, still = maps[number], still_flow(search.moments)
        search.lengths["none", chosen.neighbors, 0] = still.description_length
        flows = [still, *(freest[number, q] for q in search.components)]
        for family in search.families[:-1]:
            for q in search.components:
                flows.append(search.solve(family, chosen.coordinates[:, :q], chosen))
        best = min(flows, key=lambda flow: flow.description_length)
        off = misfit(best.align_all(clouds, chosen.coordinates))
        around = None
        if chosen.loop is not None and is_source is not None:
            around = search.solve_around(chosen, is_source, best.description_length)
        return SelectedFlow(best, chosen, freest[number, 1], off, search.lengths, around)


def description_length(
    clouds: Sequence[Floats], maps: Sequence[DomainMap], origin: Floats | None = None
) -> float:
    """Nats that the freest flow along the best of the maps needs to describe the clouds."""
    with threadpool_limits(limits=1):
        return min(_Search(clouds, maps, origin).lengths.values())


class _Search:
    """The flows tried so far, with the length of each description; the freest of all maps first."""

    def __init__(
        self, clouds: Sequence[Floats], maps: Sequence[DomainMap], origin: Floats | None
    ) -> None:
        self.clouds, self.origin, self.moments = clouds, origin, Moments.of(clouds)
        self.lengths: dict[tuple[str, tuple[int, ...], int], float] = {}
        self.components = range(1, min(maps[0].coordinates.shape[1], FLOW.max_components) + 1)
        self.freest = {
            (number, q): self.solve("affine", seen.coordinates[:, :q], seen)
            for number, seen in enumerate(maps)
            for q in self.components
        }
        n_features = self.moments.means.shape[1]
        self.families = [name for name in FAMILIES if family_basis(name, n_features).size]

    def solve(
        self, family: str, index: Floats, domain_map: DomainMap, is_around: bool = False
    ) -> AffineFlow:
        """Along `index` (domains, q), which are places on the map or around its ring."""
        transport = domain_map.transport
        near = nearest_links(transport, min(domain_map.neighbors, default=3))
        links = bridge_components(near, transport)
        if is_around:  # neighbours on both sides of the cut are a full turn apart along it
            links &= np.abs(index - index.T) < np.pi
        flow = solve_flow(index, links, self.moments, family, self.origin)
        length = flow.description_length + index.size
        neighbors = AROUND if is_around else domain_map.neighbors
        self.lengths[family, neighbors, index.shape[1]] = length
        return replace(flow, description_length=length)

    def solve_around(
        self, domain_map: DomainMap, is_source: NDArray[np.bool_], longest: float
    ) -> RingFlow | None:
        """The best flow along the ring, if its description is shorter than `longest`."""
        assert domain_map.loop is not None
        ring = RingCoordinate.opposite(domain_map.loop.angles, is_source)
        along = ring.of(domain_map.loop.angles)[:, None]
        flows = [self.solve(family, along, domain_map, is_around=True) for family in self.families]
        best = min(flows, key=lambda flow: flow.description_length)
        if best.description_length >= longest:
            return None
        return RingFlow(best, ring, misfit(best.align_all(self.clouds, along)))
