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
        copies: dict[str, Any] = dict.fromkeys(("X", "y", "sample_domain", "true_index"), read_only)
        copies |= {"source_domains": list, "domains": list, "levels": dict}
        copies |= {"graph": lambda graph: nx.freeze(graph.copy())}
        for field, copy in copies.items():
            value = getattr(self, field)
            object.__setattr__(self, field, None if value is None else copy(value))

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
