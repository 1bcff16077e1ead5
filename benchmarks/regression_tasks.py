"""What the regressor is measured on beside the paper's task: families, and the task disturbed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from domindex.datasets import DomainDataset, load_dataset
from tasks import DATA_HOME

N_DOMAINS, N_SOURCES, N_ROWS, N_FEATURES = 24, 8, 60, 4

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Task:
    """Rows of many domains; `y` of the targets is for scoring only."""

    X: np.ndarray
    y: np.ndarray
    sample_domain: np.ndarray
    source_domains: list

    @property
    def is_target(self) -> np.ndarray:
        return ~np.isin(self.sample_domain, self.source_domains)


def family(rows_at: Callable[[float, np.random.Generator, np.ndarray], Rows], seed: int) -> Task:
    """Domains at places 0 to 1 along a line, the first third of them sources; 1 % of noise."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(N_FEATURES, 1))
    parts = [rows_at(number / N_DOMAINS, rng, slopes) for number in range(N_DOMAINS)]
    X, y = (np.concatenate(side) for side in zip(*parts))
    y = y + 0.1 * y.std() * rng.normal(size=y.shape)
    domain = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    return Task(X, y[:, 0], domain, list(range(N_SOURCES)))


def _rows(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(N_ROWS, N_FEATURES))


def alike(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng)
    return x, x @ slopes


def alike_and_curved(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng)
    return x, np.sin(2 * x[:, :1]) + x[:, 1:2] ** 2


def shifted_at_random(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng) + 1.5 * rng.normal(size=N_FEATURES)
    return x, x @ slopes


def drifting(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng) + 4 * place * np.array([1.0, 0.5, 0.0, 0.0])
    return x, x @ slopes


def drifting_sensor(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng)
    return x + 6 * place * np.array([1.0, -0.5, 0.3, 0.0]), x @ slopes


def turning(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    still = rng.normal(size=(N_ROWS, 2)) * [2.0, 0.5] + [3.0, 0.0]
    cos, sin = np.cos(np.pi * place), np.sin(np.pi * place)
    return still @ np.array([[cos, sin], [-sin, cos]]), still[:, :1] + 0.5 * still[:, 1:] ** 2


def own_level(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng)
    level = 10 * place + 3 * rng.normal(size=(N_ROWS, 1))
    spread = np.exp(place + 0.5 * rng.normal(size=(N_ROWS, 1)))
    return level + spread * x, level + spread * (x @ slopes)


def domain_level(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng)
    return 20 * place + x, 20 * place + x @ slopes


def unlike_units(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    x = _rows(rng)
    return x * [1.0, 1e3, 1e-4, 10.0], 1e5 * (x @ slopes)


def changing_rule(place: float, rng: np.random.Generator, slopes: np.ndarray) -> Rows:
    """No method that sees no target label can follow this."""
    x = _rows(rng)
    x[:, 3] += 3 * place
    return x, x @ (slopes * (1 - 2 * place))


FAMILIES = {
    "alike": alike,
    "alike, curved": alike_and_curved,
    "shifted at random": shifted_at_random,
    "drifting": drifting,
    "drifting sensor": drifting_sensor,
    "turning": turning,
    "rows at levels of their own": own_level,
    "domains at levels of their own": domain_level,
    "unlike units": unlike_units,
    "changing rule": changing_rule,
}


def _kept(data: DomainDataset, rows: np.ndarray, X: np.ndarray | None = None) -> Task:
    inputs = data.X if X is None else X
    domain = np.asarray(data.sample_domain)
    return Task(inputs[rows], data.y[rows], domain[rows], list(data.source_domains))


def with_noise(data: DomainDataset, seed: int) -> Task:
    """Inputs with noise of 3 % of their deviation."""
    noise = 0.03 * np.random.default_rng(seed).normal(size=data.X.shape)
    return _kept(data, np.ones(len(data.X), dtype=bool), data.X + noise)


def with_fewer_targets(data: DomainDataset, seed: int) -> Task:
    """A fifth of the target states dropped."""
    targets = np.array(data.target_domains)
    dropped = np.random.default_rng(seed).choice(targets, len(targets) // 5, replace=False)
    return _kept(data, ~np.isin(data.sample_domain, dropped))


def of_other_years(data: DomainDataset, seed: int) -> Task:
    """Sources from one half of the record and targets from the other, even seeds early sources."""
    domain = np.asarray(data.sample_domain)
    position = np.concatenate([np.arange((domain == name).sum()) for name in data.domains])
    size = np.concatenate([np.full((domain == n).sum(), (domain == n).sum()) for n in data.domains])
    early = position < size // 2
    # A window of a source spans a year: leave out those that reach into the other half.
    clear = np.abs(position - size / 2) > np.where(data.is_source, 6, 0)
    chosen = np.where(data.is_source, early == (seed % 2 == 0), early != (seed % 2 == 0))
    return _kept(data, chosen & clear)


DISTURBED = {
    "noise in the inputs": with_noise,
    "a fifth of the targets dropped": with_fewer_targets,
    "sources and targets from other years": of_other_years,
}


def temperatures(name: str) -> DomainDataset:
    return load_dataset(name, DATA_HOME)
