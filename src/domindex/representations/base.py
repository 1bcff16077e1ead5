"""What a representation is, and the rows that go in and come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from domindex.data import DomainData, group_rows
from domindex.geometry.domain_geometry import DomainGeometry

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


class DomainRows(NamedTuple):
    """A domain by name, the numbers of its rows, and its place on the map (index_dim,)."""

    name: Hashable | None
    rows: NDArray[np.int64]
    place: Floats


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows in the user's units, (rows, ...), with their domains and where those lie on the map."""

    inputs: NDArray
    domains: tuple[DomainRows, ...]

    @classmethod
    def of(
        cls, inputs: NDArray, names: Sequence[Hashable] | None, places: dict[Hashable, Floats]
    ) -> PlacedRows:
        """Rows with the name of each domain; all of one new domain, None, without names."""
        groups = group_rows(names, len(inputs))
        return cls(inputs, tuple(DomainRows(name, rows, places[name]) for name, rows in groups))

    @classmethod
    def of_data(cls, data: DomainData, coordinates: Floats | None = None) -> PlacedRows:
        """The rows of a fit, with a map of its domains (domains, index_dim) if there is one yet."""
        if coordinates is None:
            coordinates = np.empty((data.n_domains, 0))
        parts = zip(data.domains, data.rows_by_domain(), coordinates)
        return cls(data.inputs, tuple(DomainRows(*part) for part in parts))

    def only(self, names: Collection[Hashable | None]) -> PlacedRows:
        """The rows of some of the domains."""
        kept = [domain for domain in self.domains if domain.name in names]
        rows = [domain.rows for domain in kept]
        order = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        ends = np.cumsum([len(part) for part in rows])
        domains = tuple(
            DomainRows(domain.name, np.arange(end - len(domain.rows), end), domain.place)
            for domain, end in zip(kept, ends)
        )
        return PlacedRows(self.inputs[order], domains)

    @property
    def features(self) -> Floats:
        """The inputs as a table, (rows, features)."""
        return self.inputs.reshape(len(self.inputs), -1).astype(np.float64)

    @property
    def index(self) -> Floats:
        """The place of every row's domain, (rows, index_dim)."""
        return self.spread([domain.place for domain in self.domains])

    def spread(self, by_domain: Sequence[Floats]) -> Floats:
        """One array a domain, each (size,), to one row a row, (rows, size)."""
        result = np.empty((len(self.inputs), len(by_domain[0])))
        for domain, value in zip(self.domains, by_domain):
            result[domain.rows] = value
        return result


@dataclass(frozen=True, eq=False)
class RepresentedRows:
    """Rows as a predictor is given them.

    Attributes
    ----------
    features : (rows, p)
    level, spread : (rows, 1) each, what takes outputs into the units of the features and back; 0
        and 1 where outputs stay as they are
    """

    features: Floats
    level: Floats
    spread: Floats

    @classmethod
    def plain(cls, features: Floats) -> RepresentedRows:
        """Features beside which outputs stay as they are."""
        return cls(features, np.zeros((len(features), 1)), np.ones((len(features), 1)))

    def part(self, rows: NDArray) -> RepresentedRows:
        """Some of the rows, by number or by mask."""
        return RepresentedRows(self.features[rows], self.level[rows], self.spread[rows])

    def normalize(self, values: Floats) -> Floats:
        """Outputs (rows, outputs) in the units of the features."""
        return (values - self.level) / self.spread

    def restore(self, values: Floats) -> Floats:
        """Outputs (rows, outputs) in the user's units."""
        return self.level + self.spread * values


class Representation(ABC):
    """A transformation of rows that knows inputs and domains, never labels.

    To add one: subclass, give it a `name`, and call `register_representation`. Everything learned
    in `fit` must come back through `state` and `from_state`: plain values and float arrays, nested
    in dictionaries at will.
    """

    name: ClassVar[str]

    moves_domains: ClassVar[bool] = False
    """Whether whole domains are moved onto each other, so that what tells them apart is lost."""

    uses_roles: ClassVar[bool] = False
    """Whether `fit` looks at who is source and who is target: then a fold fits it anew, with the
    held-out domain in the target's role."""

    @property
    def spread_unit(self) -> float:
        """What the spread of a row is relative to, in its units; 1 where rows have none."""
        return 1.0

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Whether it is worth trying on such data, where nobody asked for it by name."""
        return True

    @classmethod
    @abstractmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        """Learn what it takes from all domains."""

    @abstractmethod
    def apply(self, rows: PlacedRows) -> RepresentedRows:
        """Rows of domains that were seen, or of new ones that were placed on the map."""

    def with_domains(self, rows: PlacedRows) -> Self:
        """Itself, knowing the new domains of these rows from now on.

        What holds numbers for every domain learns those of the new ones here, as `apply` measures
        them from the rows of a domain it does not know; what holds none has nothing to learn.
        """
        return self

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `from_state` needs."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `state` described; ValueError where that is damaged."""


def require_distinct(names: Sequence[Hashable]) -> Sequence[Hashable]:
    """Names of domains that came back from a state."""
    if len(set(names)) < len(names):
        raise ValueError("two domains have the same name")
    return names
