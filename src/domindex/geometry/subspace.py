"""The few directions along which domains differ, among many features that may be noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, null_space
from scipy.optimize import minimize

from domindex.arrays import Floats
from domindex.geometry.settings import MAP
from domindex.geometry.transport import Method, thin, transport_distances
from domindex.persistence.saved import Saved


@dataclass(frozen=True, eq=False)
class Subspace(Saved):
    """Features to coordinates: first those along which domains differ, then the others.

    Attributes
    ----------
    matrix : (features, outputs)
    n_moving : how many of the outputs the flow may move, the first ones
    """

    matrix: Floats
    n_moving: int

    def _check_state(self) -> None:
        if self.matrix.ndim != 2 or not 0 <= self.n_moving <= self.matrix.shape[1]:
            raise ValueError(f"{self.n_moving} of {self.matrix.shape} directions move")

    @property
    def moving(self) -> Floats:
        """(features, n_moving)"""
        return self.matrix[:, : self.n_moving]

    @property
    def still(self) -> Floats:
        """(features, outputs - n_moving)"""
        return self.matrix[:, self.n_moving :]


def moving_directions(clouds: Sequence[Floats]) -> Subspace:
    """Split the features into what differs between domains and what does not.

    The directions W maximise the likelihood that everything else is the same in all domains,
    ½ (log|Wᵀ S W| − Σₖ wₖ log|Wᵀ Sₖ W|), with S the total and Sₖ the domains' covariances; their
    number has the shortest description. The others are uncorrelated with them within domains.
    One or two features are left as they are.
    """
    n_features = clouds[0].shape[1]
    if n_features <= MAP.fallback_directions:
        return Subspace(np.eye(n_features), n_features)
    reduce = principal_components(np.concatenate(clouds), MAP.max_features)
    reduced = [cloud @ reduce for cloud in clouds]
    spread = _Spread.of(reduced)
    directions = spread.search(min(MAP.max_directions, reduce.shape[1] - 1))
    if directions is None:
        directions = principal_components(np.concatenate(reduced), MAP.fallback_directions)
    return Subspace(reduce @ _complete(directions, spread.within), directions.shape[1])


@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariances (domains, p, p), shrunk to their mean where rows are few, and their weights."""

    covariances: Floats
    within: Floats
    total: Floats
    weights: Floats
    n_rows: float

    @classmethod
    def of(cls, clouds: Sequence[Floats]) -> _Spread:
        sizes = np.array([len(cloud) for cloud in clouds], dtype=np.float64)
        weights = sizes / sizes.sum()
        means = np.stack([cloud.mean(axis=0) for cloud in clouds])
        own = np.stack([(c - m).T @ (c - m) / len(c) for c, m in zip(clouds, means)])
        within = np.einsum("n,nij->ij", weights, own)
        within += 1e-6 * (np.trace(within) / len(within) or 1.0) * np.eye(len(within))
        lean = (len(within) / (sizes + len(within)))[:, None, None]
        residual = means - weights @ means
        between = (residual * weights[:, None]).T @ residual
        return cls((1 - lean) * own + lean * within, within, within + between, weights, sizes.sum())

    def search(self, most: int) -> Floats | None:
        """The directions (p, d) of the shortest description; None where d would exceed `most`."""
        start = self._starting_directions()
        lengths = [0.0]
        found: list[Floats] = [np.zeros((len(self.within), 0))]
        for n_directions in range(1, most + 1):
            result = minimize(
                self._negative_gain,
                start[:, :n_directions].ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 200},
            )
            found.append(result.x.reshape(-1, n_directions))
            lengths.append(self.n_rows * result.fun + self._parameter_cost(n_directions))
        best = int(np.argmin(lengths))
        return None if best == 0 or best == most else found[best]

    def _starting_directions(self) -> Floats:
        """Along which means and covariances vary most, relative to the spread within domains."""
        change = self.covariances - np.einsum("n,nij->ij", self.weights, self.covariances)
        inverse = np.linalg.inv(self.within)
        varying = np.einsum("n,nij,jk,nkl->il", self.weights, change, inverse, change)
        return eigh(self.total - self.within + varying, self.within)[1][:, ::-1]

    def _negative_gain(self, flat: Floats) -> tuple[float, Floats]:
        directions = flat.reshape(len(self.within), -1)
        total, own = self.total @ directions, self.covariances @ directions
        total_inside, own_inside = directions.T @ total, directions.T @ own
        gain = np.linalg.slogdet(total_inside)[1]
        gain -= self.weights @ np.linalg.slogdet(own_inside)[1]
        gradient = total @ np.linalg.inv(total_inside) - np.einsum(
            "n,nij,njk->ik", self.weights, own, np.linalg.inv(own_inside)
        )
        return -0.5 * float(gain), -gradient.ravel()

    def _parameter_cost(self, n_directions: int) -> float:
        """½ log n for each number that describes the directions, and each domain along them."""
        n_features, n_domains = len(self.within), len(self.weights)
        shared = n_directions * (n_features - n_directions)
        per_domain = n_directions + n_directions * (n_directions + 1) / 2
        return 0.5 * float(
            np.log(self.n_rows) * shared
            + np.log(self.n_rows / n_domains) * (n_domains - 1) * per_domain
        )


def principal_components(rows: Floats, most: int) -> Floats:
    """(features, ≤ most): all features as they are, or the widest directions of more.

    Of very many features, as large pictures have, the covariance would not fit into memory: there
    the eigenvectors v = Xᵀu / √λ of XᵀX come from those u of XXᵀ, with X at most 1024 centred rows,
    spread evenly over all.
    """
    n_features = rows.shape[1]
    if n_features <= most:
        return np.eye(n_features)
    if n_features <= 2048:
        return eigh(np.cov(rows.T, bias=True))[1][:, ::-1][:, :most]
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), 1024)).round().astype(int)
    centred = rows[chosen] - rows[chosen].mean(axis=0)
    values, vectors = eigh(centred @ centred.T)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    varying = values > len(rows) * np.finfo(np.float64).eps * max(values[0], 0.0)
    if not varying.any():
        return np.eye(n_features, most)
    return centred.T @ (vectors[:, varying] / np.sqrt(values[varying]))


def _complete(directions: Floats, within: Floats) -> Floats:
    """`directions` and a complement, all of unit variance and uncorrelated within domains."""
    values, vectors = eigh(within)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    own = np.linalg.qr(root @ directions)[0]
    return inverse_root @ np.hstack([own, null_space(own.T)])


def misalignment(clouds: Sequence[Floats]) -> float:
    """Mean distance between domains relative to their spread: 0 where all clouds coincide.

    Sliced distances between the clouds, whitened by their pooled covariance, per dimension.
    """
    whiten = whitening(np.concatenate(clouds))
    distances = transport_distances([cloud @ whiten for cloud in clouds], method="sliced")
    return float(distances[np.triu_indices(len(clouds), k=1)].mean() / len(whiten) ** 0.5)


def misfit(clouds: Sequence[Floats], n_shuffles: int = 3) -> float:
    """`misalignment` relative to that of the same rows shuffled over the domains.

    About 1 or less where domains differ by chance alone.
    """
    rng = np.random.default_rng(0)
    clouds = [thin(cloud) for cloud in clouds]
    pooled = np.concatenate(clouds)
    cuts = np.cumsum([len(cloud) for cloud in clouds])[:-1]
    floors = np.empty(n_shuffles)
    for number in range(n_shuffles):
        floors[number] = misalignment(np.split(rng.permutation(pooled), cuts))
    return misalignment(clouds) / (float(floors.mean()) or 1.0)


def whitening(points: Floats) -> Floats:
    """W (p, p) such that the rows of points @ W have unit covariance."""
    covariance = np.atleast_2d(np.cov(points.T, bias=True))
    covariance += 1e-9 * (np.trace(covariance) or 1.0) * np.eye(len(covariance))
    return np.linalg.inv(np.linalg.cholesky(covariance)).T


@dataclass(frozen=True, eq=False)
class LocalProjection:
    """u = x · matrix, and how much of a domain's mean counts on the map drawn from it.

    Attributes
    ----------
    matrix : (features, local_dim)
    level_share : see `DomainMap`
    """

    matrix: Floats
    level_share: float = 1.0


def local_projections(
    clouds: Sequence[Floats],
    subspace: Subspace,
    local_dim: int | None = None,
) -> list[LocalProjection]:
    """Directions in which the domains, clouds (rows, features), may differ.

    The subspace that holds the differences; and, where domains differ most by level but also,
    reliably, in shape, every feature: clouds whitened, and the levels drawn together until both
    weigh the same. `local_dim` asks for other than all directions.
    """
    moving = subspace.n_moving if local_dim is None else local_dim
    found = [LocalProjection(subspace.matrix[:, :moving])]
    balanced = _balanced(clouds)
    if balanced is not None:
        size = balanced.matrix.shape[1] if local_dim is None else local_dim
        found.append(LocalProjection(balanced.matrix[:, :size], balanced.level_share))
    return found


def _balanced(clouds: Sequence[Floats]) -> LocalProjection | None:
    """Levels and shapes in balance; None where one of them is all there is."""
    rng = np.random.default_rng(0)
    clouds = [rng.permutation(cloud)[: MAP.shape_rows] for cloud in clouds]
    means = [cloud.mean(axis=0, keepdims=True) for cloud in clouds]
    centred = [cloud - mean for cloud, mean in zip(clouds, means)]
    if _mean_square(means, "sliced") <= _mean_square(centred, "sliced"):
        return None
    matrix = whitening(np.concatenate([cloud / len(cloud) ** 0.5 for cloud in centred]))
    matrix *= (len(clouds) / sum(len(cloud) for cloud in clouds)) ** 0.5
    white = [cloud @ matrix for cloud in centred]
    method: Method = "exact" if len(clouds) <= MAP.shape_domains else "sliced"
    if _reliability(white, method, rng) <= MAP.reliable_shapes:
        return None
    levels = np.concatenate([mean @ matrix for mean in means])
    share = np.sqrt(min(1.0, _mean_square(white, method) / _mean_square(levels[:, None], method)))
    widest_first = np.linalg.svd(levels - levels.mean(axis=0))[2].T
    return LocalProjection(matrix @ widest_first, float(share))


def _mean_square(clouds: Sequence[Floats] | Floats, method: Method) -> float:
    return float((transport_distances(list(clouds), method=method) ** 2).mean())


def _reliability(clouds: Sequence[Floats], method: Method, rng: np.random.Generator) -> float:
    """Correlation of the distances between random halves of every domain, averaged."""
    if len(clouds) < 4 or min(len(cloud) for cloud in clouds) < 4:
        return 0.0
    pairs = np.triu_indices(len(clouds), 1)
    correlations = []
    for _ in range(MAP.halvings):
        halves = [np.array_split(rng.permutation(cloud), 2) for cloud in clouds]
        sides = [[half - half.mean(axis=0) for half in side] for side in zip(*halves)]
        first = transport_distances(sides[0], method)[pairs]
        second = transport_distances(sides[1], method)[pairs]
        if first.std() > 0 and second.std() > 0:
            correlations.append(float(np.corrcoef(first, second)[0, 1]))
    return float(np.mean(correlations)) if correlations else 0.0
