"""What every dataset of this library looks like, and checks of what generators are asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError

Array = NDArray[Any]
Task = Literal["classification", "regression"]
Sizes = int | Sequence[int] | NDArray[np.integer]
Seed = int | np.random.Generator | None


@dataclass(frozen=True, eq=False, repr=False)
class DomainDataset:
    """Rows from several domains, with what is known about the domains.

    Labels of all domains are given, because results must be scored; a method may look only at
    those of `source_domains`. Arrays are read-only copies and the graph is frozen, so that no
    experiment can change the data of the next.

    Attributes
    ----------
    name : what `load_dataset` or the generator calls it.
    X : (rows, ...) inputs.
    y : (rows,) class numbers, or (rows, outputs) for regression.
    sample_domain : (rows,) the domain each row belongs to.
    source_domains : the domains whose labels may be used for training.
    domains : every domain once, in the order of the rows of `true_index`.
    task : "classification" or "regression".
    true_index : (domains, len(index_names)) where each domain truly lies, or None if unknown.
    index_names : what the columns of `true_index` measure.
    graph : the true neighbourhood of the domains, or None if there is none.
    description : a few sentences for a reader.
    levels : for each target how far it lies from the sources (1 near to 3 far), or None.
    period : after which the true index begins anew, as 12 months do; None if it does not.
    offset : added last: `value * scale + offset` gives original units; 0 if nothing was scaled.
    scale : multiplied first; 1 if nothing was scaled.

    Examples
    --------
    >>> data.target_domains
    [3, 4]
    """

    name: str
    X: Array
    y: Array
    sample_domain: Array
    source_domains: list[Any]
    domains: list[Any]
    task: Task
    true_index: Array | None
    index_names: tuple[str, ...]
    graph: nx.Graph | None
    description: str
    levels: dict[Any, int] | None = None
    offset: float = 0.0
    scale: float = 1.0
    period: float | None = None

    def __post_init__(self) -> None:
        copies: dict[str, Any] = dict.fromkeys(("X", "y", "sample_domain", "true_index"), np.array)
        copies |= {"source_domains": list, "domains": list, "levels": dict}
        copies |= {"graph": lambda graph: nx.freeze(graph.copy())}
        for field, copy in copies.items():
            value = getattr(self, field)
            value = None if value is None else copy(value)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, field, value)

    @property
    def target_domains(self) -> list[Any]:
        """The domains that are not sources, in the order of `domains`."""
        sources = set(self.source_domains)
        return [domain for domain in self.domains if domain not in sources]

    @property
    def is_source(self) -> NDArray[np.bool_]:
        """(rows,) True where a row belongs to a source domain."""
        return np.isin(self.sample_domain, self.source_domains)

    def __repr__(self) -> str:
        return (
            f"DomainDataset({self.name!r}: {self.task}, X {self.X.shape}, "
            f"{len(self.domains)} domains, {len(self.source_domains)} of them sources)"
        )


def classification_dataset(**fields: Any) -> DomainDataset:
    """Classes in domains that are called by the numbers of the rows of `true_index`."""
    domains = list(range(len(fields["true_index"])))
    return DomainDataset(domains=domains, task="classification", **fields)


def check_count(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as a whole number from `low` to `high`, both included."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or whole < low or (high is not None and whole > high):
        shown = value if whole is None else whole
        allowed = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} is {shown!r}; give a whole number, {allowed}.")
    return whole


def check_noise(value: object, *, zero_allowed: bool) -> float:
    """`value` as a finite spread; without any, some families have no classes to separate."""
    spread = float(value) if isinstance(value, Real) else math.nan
    if not 0 <= spread < math.inf or (spread == 0 and not zero_allowed):
        allowed = "zero or more" if zero_allowed else "more than zero"
        raise InputError(f"noise is {value!r}; give a finite number, {allowed}.")
    return spread


def check_sizes(samples_per_domain: Sizes, n_domains: int) -> NDArray[np.int64]:
    """(n_domains,) rows of each domain, from one number for all or one for each."""
    if np.ndim(samples_per_domain) == 0:
        size = check_count("samples_per_domain", samples_per_domain, low=1)
        return np.full(n_domains, size, dtype=np.int64)
    sizes = list(samples_per_domain)  # type: ignore[arg-type]
    if len(sizes) != n_domains:
        raise InputError(
            f"samples_per_domain has {len(sizes)} entries, but n_domains is {n_domains}. "
            "Give one whole number for all domains, or one for each."
        )
    checked = [check_count(f"samples_per_domain[{i}]", n, low=1) for i, n in enumerate(sizes)]
    return np.array(checked, dtype=np.int64)


def check_seed(random_state: Seed) -> np.random.Generator:
    """The generator to draw from; one that is handed in is used as it stands."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state is {random_state!r}; give a whole number of zero or more, "
            "a numpy.random.Generator, or None for a different draw each time."
        ) from error
