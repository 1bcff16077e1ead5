"""What every dataset of this library looks like, whether downloaded or generated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Task = Literal["classification", "regression"]


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
    >>> from domindex.datasets import make_circle
    >>> dataset = make_circle(n_domains=4, n_sources=2, samples_per_domain=10)
    >>> dataset.target_domains
    [2, 3]
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
        replaced = {
            "X": read_only(self.X),
            "y": read_only(self.y),
            "sample_domain": read_only(self.sample_domain),
            "true_index": None if self.true_index is None else read_only(self.true_index),
            "source_domains": list(self.source_domains),
            "domains": list(self.domains),
            "graph": None if self.graph is None else nx.freeze(self.graph.copy()),
            "levels": None if self.levels is None else dict(self.levels),
        }
        for field, value in replaced.items():
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


def read_only(values: ArrayLike) -> Array:
    """A copy of `values` that refuses to be written to."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
