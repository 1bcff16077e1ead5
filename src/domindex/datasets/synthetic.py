"""Seeded families of domains: two like the paper's, one that drifts, one that comes round."""

from __future__ import annotations

import networkx as nx
import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import qmc

from domindex.arrays import Floats, Ints
from domindex.datasets.dataset import (
    DomainDataset,
    Seed,
    Sizes,
    check_count,
    check_noise,
    check_seed,
    check_sizes,
    classification_dataset,
)


def make_circle(
    *,
    n_domains: int = 30,
    n_sources: int = 6,
    samples_per_domain: Sizes = 100,
    noise: float = 1.0,
    random_state: Seed = 0,
) -> DomainDataset:
    """Round clouds along half a circle, as in the paper's Circle.

    Domain k is centred on a circle of radius 5 at angle k pi / (n_domains - 1). Its points are
    standard normal draws kept if within 1 of the centre, times `noise`; 1.0 gives the paper's
    clouds. The class is 1 outside the circle: one rule, but the first `n_sources` domains show only
    a short arc of it. The true index is the domain's number.

    Examples
    --------
    >>> make_circle(random_state=0)
    DomainDataset('make-circle': classification, X (3000, 2), 30 domains, 6 of them sources)
    """
    n_sources, of_row = _checked(n_domains, n_sources, samples_per_domain)
    noise, rng = check_noise(noise, zero_allowed=False), check_seed(random_state)
    centres = 5.0 * _directions(np.linspace(0.0, np.pi, n_domains))
    X = centres[of_row] + noise * _disc(rng, len(of_row))
    return classification_dataset(
        name="make-circle",
        X=X,
        y=(np.hypot(X[:, 0], X[:, 1]) > 5.0).astype(int),
        sample_domain=of_row,
        source_domains=range(n_sources),
        true_index=np.arange(n_domains, dtype=float)[:, None],
        index_names=("position",),
        graph=nx.path_graph(n_domains),
        description="Clouds along half a circle; the class is which side of it a point is on.",
    )


def make_domain_graph(
    *,
    n_domains: int = 15,
    n_sources: int = 6,
    samples_per_domain: Sizes = 100,
    n_classes: int = 2,
    noise: float = 1.0,
    random_state: Seed = 0,
) -> DomainDataset:
    """Domains at random angles on a spiral, joined if close, as in the paper's DG-15.

    Each domain draws an angle a from [0, pi]. Class c is a cloud, like that of `make_circle`, in
    the direction a + 2 pi c / n_classes, at a distance of (1 + 1.8 a / pi) / sin(pi / n_classes):
    at noise 1.0 the classes of one domain touch but never overlap. Two domains are joined with
    probability max(0, cos(difference of their angles)); neighbours in angle always are. Sources
    have the smallest angles. The true index is the angle.

    Examples
    --------
    >>> dataset = make_domain_graph(n_domains=8, n_sources=3, random_state=0)
    >>> angles = dataset.true_index[:, 0]
    >>> bool(angles[dataset.source_domains].max() < angles[dataset.target_domains].min())
    True
    """
    n_sources, of_row = _checked(n_domains, n_sources, samples_per_domain)
    n_classes = check_count("n_classes", n_classes, low=2)
    noise, rng = check_noise(noise, zero_allowed=True), check_seed(random_state)
    angles = rng.uniform(0.0, np.pi, n_domains)
    y = _balanced_labels(of_row, n_classes)
    distances = (1.0 + 1.8 * angles / np.pi) / np.sin(np.pi / n_classes)
    centres = distances[of_row, None] * _directions(angles[of_row] + 2 * np.pi * y / n_classes)
    X = centres + noise * _disc(rng, len(of_row))
    i, j = np.triu_indices(n_domains, k=1)
    joined = rng.random(len(i)) < np.cos(angles[i] - angles[j])
    graph = nx.empty_graph(n_domains)
    graph.add_edges_from(zip(i[joined].tolist(), j[joined].tolist()))
    along = np.argsort(angles).tolist()
    nx.add_path(graph, along)
    return classification_dataset(
        name="make-domain-graph",
        X=X,
        y=y,
        sample_domain=of_row,
        source_domains=along[:n_sources],
        true_index=angles[:, None],
        index_names=("angle",),
        graph=graph,
        description="Clouds around the origin, turned by each domain's angle; near angles joined.",
    )


def make_drift(
    *,
    n_domains: int = 100,
    n_sources: int | None = None,
    samples_per_domain: Sizes = 50,
    n_features: int = 4,
    index_dim: int = 1,
    noise: float = 0.3,
    random_state: Seed = 0,
) -> DomainDataset:
    """Two classes whose clouds move and turn smoothly with a hidden index; for many domains.

    The index fills [0, 1]^index_dim evenly, domains numbered by distance from its zero corner.
    A row starts at -1 or +1 (its class) on the first feature plus normal `noise` on all of them.
    For each axis i of the index the first feature is then turned towards feature i + 1 by
    pi index_i, and everything moved by 4 index_i along a direction drawn at random, the
    directions at right angles. So at the far end of the index the classes have changed sides.
    The sources are the first `n_sources` domains (None: a fifth of them); the graph joins each
    domain to its 2 index_dim nearest.

    Examples
    --------
    Without noise, a domain in the middle of the index is turned by a right angle:
    >>> dataset = make_drift(n_domains=3, samples_per_domain=2, n_features=2, noise=0.0)
    >>> first, second = dataset.X[dataset.sample_domain == 1]
    >>> (second - first).round(6).tolist()
    [0.0, 2.0]
    """
    n_sources, of_row = _checked(n_domains, n_sources, samples_per_domain)
    n_features = check_count("n_features", n_features, low=2)
    index_dim = check_count("index_dim", index_dim, low=1, high=n_features - 1)
    noise, rng = check_noise(noise, zero_allowed=True), check_seed(random_state)
    index = np.linspace(0.0, 1.0, n_domains)[:, None]
    if index_dim > 1:  # independent draws would leave holes, where the graph falls apart
        points = qmc.Halton(index_dim, scramble=False).random(n_domains)
        index = (points + rng.random(index_dim)) % 1.0
        index = index[np.argsort(np.linalg.norm(index, axis=1))]
    _, nearest = cKDTree(index).query(index, k=min(2 * index_dim, n_domains - 1) + 1)
    graph = nx.empty_graph(n_domains)
    graph.add_edges_from((i, j) for i, row in enumerate(nearest.tolist()) for j in row[1:])
    y = _balanced_labels(of_row, n_classes=2)
    return classification_dataset(
        name="make-drift",
        X=_drifted_rows(rng, index, of_row, y, n_features, noise),
        y=y,
        sample_domain=of_row,
        source_domains=range(n_sources),
        true_index=index,
        index_names=tuple(f"index_{i}" for i in range(index_dim)),
        graph=graph,
        description="Two clouds a domain that move and turn smoothly along a hidden index.",
    )


def make_seasonal(
    *,
    n_domains: int = 24,
    n_sources: int = 5,
    period: int = 12,
    samples_per_domain: Sizes = 60,
    n_features: int = 4,
    noise: float = 0.25,
    random_state: Seed = 0,
) -> DomainDataset:
    """Months whose inputs come round every year: a map that closes.

    In month k inputs are centred at angle a = 2 pi k / period on a circle of radius 3, in a plane
    that is turned at random within the features. Class 1 lies 0.7 farther out, class 0 as much
    farther in, both with normal `noise` on all features. One rule, in or out, holds all year round;
    but the first `n_sources` months, which are labelled, show a short arc of it. The true index is
    the month within the year; the graph joins following months, of all years.

    Examples
    --------
    >>> dataset = make_seasonal(random_state=0)
    >>> dataset.true_index[[0, 11, 12], 0].tolist(), dataset.period
    ([0.0, 11.0, 0.0], 12.0)
    """
    n_sources, of_row = _checked(n_domains, n_sources, samples_per_domain)
    period = check_count("period", period, low=3)
    n_features = check_count("n_features", n_features, low=2)
    noise, rng = check_noise(noise, zero_allowed=True), check_seed(random_state)
    month = np.arange(n_domains) % period
    y = _balanced_labels(of_row, n_classes=2)
    plane, _ = np.linalg.qr(rng.standard_normal((n_features, 2)))
    out = 3.0 + 0.7 * (2 * y - 1)
    centres = out[:, None] * _directions(2 * np.pi * month / period)[of_row]
    following = np.isin((month[:, None] - month[None]) % period, (0, 1, period - 1))
    return classification_dataset(
        name="seasonal",
        X=centres @ plane.T + noise * rng.standard_normal((len(of_row), n_features)),
        y=y,
        sample_domain=of_row,
        source_domains=range(n_sources),
        true_index=month.astype(float)[:, None],
        index_names=("month",),
        graph=nx.from_numpy_array(following & ~np.eye(n_domains, dtype=bool)),
        description="Months around the year; the class is which side of their circle a row is on.",
        period=float(period),
    )


def _checked(n_domains: int, n_sources: int | None, samples: Sizes) -> tuple[int, Ints]:
    """How many domains are sources, a fifth where None, and (rows,) the domain of each row."""
    n_domains = check_count("n_domains", n_domains, low=2)
    n_sources = max(1, n_domains // 5) if n_sources is None else n_sources
    n_sources = check_count("n_sources", n_sources, low=1, high=n_domains)
    return n_sources, np.repeat(np.arange(n_domains), check_sizes(samples, n_domains))


def _directions(angles: Floats) -> Floats:
    """(n,) angles to (n, 2) points of the unit circle."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _disc(rng: np.random.Generator, n: int) -> Floats:
    """(n, 2) standard normal points given that they lie within 1 of the origin."""
    # half the squared length of a normal point is exponential: its distribution is inverted
    share = rng.uniform(0.0, -np.expm1(-0.5), n)
    lengths = np.sqrt(-2.0 * np.log1p(-share))
    return lengths[:, None] * _directions(rng.uniform(0.0, 2 * np.pi, n))


def _balanced_labels(of_row: Ints, n_classes: int) -> Ints:
    """Classes in turn, 0 1 .. 0 1 .., begun anew in every domain."""
    return (np.arange(len(of_row)) - np.searchsorted(of_row, of_row)) % n_classes


def _drifted_rows(
    rng: np.random.Generator, index: Floats, of_row: Ints, y: Ints, n_features: int, noise: float
) -> Floats:
    """(rows, n_features) clouds turned, then moved, by the index of each row's domain."""
    X = noise * rng.standard_normal((len(of_row), n_features))
    X[:, 0] += 2.0 * y - 1.0
    for axis, turn in enumerate(np.pi * index.T, start=1):
        cos, sin = np.cos(turn)[of_row], np.sin(turn)[of_row]
        first, other = X[:, 0].copy(), X[:, axis].copy()
        X[:, 0] = cos * first - sin * other
        X[:, axis] = sin * first + cos * other
    ways, _ = np.linalg.qr(rng.standard_normal((n_features, index.shape[1])))
    X += (4.0 * index @ ways.T)[of_row]
    return X
