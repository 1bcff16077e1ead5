"""What a representation is, the rows that go in and come out, and the names that are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.geometry import DomainMap
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.rings import RingCoordinate
from domindex.inputs import DomainData, group_rows
from domindex.inputs.parameters import Registry
from domindex.inputs.standardizing import InputScaler

if TYPE_CHECKING:
    from typing_extensions import Self


class DomainRows(NamedTuple):
    """A domain by name, the numbers of its rows, and its place on the map (index_dim,)."""

    name: Hashable | None
    rows: NDArray[np.int64]
    place: Floats


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows in the user's units, (rows, ...), with their domains and where those lie on the map.

    Attributes
    ----------
    inputs : (rows, ...), in the user's units
    domains : of every domain its name, its rows and its place
    angles : name of a domain to its angle around the ring; None where the map is open
    other_way : whether what runs along the ring shall reach every domain by the other way round

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.representations import PlacedRows
    >>> rows = PlacedRows.of(np.eye(3), ["a", "a", "b"], {"a": np.zeros(2), "b": np.ones(2)})
    >>> [(domain.name, len(domain.rows)) for domain in rows.domains]
    [('a', 2), ('b', 1)]
    """

    inputs: NDArray
    domains: tuple[DomainRows, ...]
    angles: Mapping[Hashable | None, float] | None = None
    other_way: bool = False

    @classmethod
    def of(
        cls,
        inputs: NDArray,
        names: Sequence[Hashable] | None,
        places: Mapping[Hashable, Floats],
        angles: Mapping[Hashable | None, float] | None = None,
    ) -> PlacedRows:
        """Rows with the name of each domain; all of one new domain, None, without names."""
        groups = group_rows(names, len(inputs))
        domains = tuple(DomainRows(name, rows, places[name]) for name, rows in groups)
        return cls(inputs, domains, angles)

    @classmethod
    def of_data(cls, data: DomainData, coordinates: Floats | None = None) -> PlacedRows:
        """The rows of a fit, with a map of its domains (domains, index_dim) if there is one yet."""
        if coordinates is None:
            coordinates = np.empty((data.n_domains, 0))
        parts = zip(data.domains, data.rows_by_domain(), coordinates)
        return cls(data.inputs, tuple(DomainRows(*part) for part in parts))

    @classmethod
    def of_map(cls, data: DomainData, domain_map: DomainMap) -> PlacedRows:
        """The rows of a fit on the map of its domains."""
        placed = cls.of_data(data, domain_map.coordinates)
        angles = domain_map.index.angles
        if angles is None:
            return placed
        return replace(placed, angles=dict(zip(data.domains, angles.tolist())))

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
        return replace(self, inputs=self.inputs[order], domains=domains)

    def places(self, ring: RingCoordinate | None) -> Floats:
        """Where each domain lies on the map, or along its ring, (domains, components)."""
        if ring is None:
            return np.stack([domain.place for domain in self.domains])
        assert self.angles is not None
        angles = [self.angles[domain.name] for domain in self.domains]
        return ring.of(angles, self.other_way)[:, None]

    @property
    def features(self) -> Floats:
        """The inputs as a table, (rows, features)."""
        return self.inputs.reshape(len(self.inputs), -1).astype(np.float64)

    @property
    def index(self) -> Floats:
        """The place of every row's domain, (rows, index_dim)."""
        return self.spread([domain.place for domain in self.domains])

    @property
    def directions(self) -> Floats:
        """cos and sin of the angle of every row's domain, (rows, 2); none where the map is open."""
        if self.angles is None:
            return np.empty((len(self.inputs), 0))
        angles = [self.angles[domain.name] for domain in self.domains]
        return self.spread([np.array([np.cos(angle), np.sin(angle)]) for angle in angles])

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
    level : (rows, 1), what is taken off outputs to bring them into the units of the features; 0
        where they stay as they are
    spread : (rows, 1), what they are divided by; 1 where they stay as they are

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.representations import RepresentedRows
    >>> RepresentedRows.plain(np.eye(2)).level.ravel().tolist()
    [0.0, 0.0]
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


@dataclass(frozen=True, eq=False)
class KnownDomainForm:
    """A representation of rows x of known domains as plain arithmetic, which export repeats.

    With d the number of a row's domain, tables have a row a domain:

    z = (scaled((x − level) / spread) − offsets[d]) / scales[d],
    z = z · matrix, its first columns times matrices[d],
    features = [outputs(z + shifts[d]), beside[d]]. What is None is left out.

    Attributes
    ----------
    scaler : inputs to one scale
    levels : (domains, 2) level and spread of every domain; None where rows have none of their own
    row_level : whether the level is the mean of the row itself
    min_row_spread : whether, and from which on, the spread is the deviation of the row itself
    offsets, scales, shifts : (domains, p) each
    matrix : (p, q)
    uses_matrix : (domains,) whose rows go through `matrix`; None for all
    matrices : (domains, m, m), for the first m columns
    outputs : results to one scale
    beside : (domains, k) columns that stand beside the others
    """

    scaler: InputScaler
    levels: Floats | None = None
    row_level: bool = False
    min_row_spread: float | None = None
    offsets: Floats | None = None
    scales: Floats | None = None
    matrix: Floats | None = None
    uses_matrix: NDArray[np.bool_] | None = None
    matrices: Floats | None = None
    shifts: Floats | None = None
    outputs: InputScaler | None = None
    beside: Floats | None = None


class Representation(ABC):
    """A transformation of rows that knows inputs and domains, never labels.

    To add one: subclass, give it a `name`, and call `register_representation`. The attributes below
    say what others need to know of it. Everything learned in `fit` must come back through `state`
    and `from_state`: plain values and float arrays, nested in dictionaries at will.

    Examples
    --------
    >>> import numpy as np
    >>> from domindex import Representation
    >>> from domindex.representations import PlacedRows, RepresentedRows
    >>> class Logarithms(Representation):
    ...     name = "logarithms"
    ...
    ...     @classmethod
    ...     def fit(cls, data, geometry):
    ...         return cls()
    ...
    ...     def apply(self, rows):
    ...         return RepresentedRows.plain(np.log1p(rows.inputs))
    ...
    ...     def state(self):
    ...         return {}
    ...
    ...     @classmethod
    ...     def from_state(cls, state):
    ...         return cls()
    >>> rows = PlacedRows.of(np.zeros((2, 3)), ["a", "b"], {"a": np.zeros(2), "b": np.ones(2)})
    >>> Logarithms().apply(rows).features.shape
    (2, 3)
    """

    name: ClassVar[str]

    label: ClassVar[str] = ""
    """What sentences call it, after "on": "linear on raw inputs". Empty: its name."""

    moves_domains: ClassVar[bool] = False
    """Whether whole domains are moved onto each other, so that what separates them is lost."""

    uses_roles: ClassVar[bool] = False
    """Whether `fit` looks at who is source and who is target: then a fold fits it anew, with the
    held-out domain in the target's role."""

    is_plain: ClassVar[bool] = False
    """Whether these are the inputs as they are: all others are held against them."""

    separability_of: ClassVar[str | None] = None
    """Name of another representation where this one adds columns that name the domain: it follows
    the domains, and its targets are as separable from sources as those of the other."""

    change_rank: ClassVar[int | None] = None
    """How much it changes the inputs, 0 for not at all: with a single source the least is chosen
    that makes targets pass for it. None: not chosen then."""

    may_balance: ClassVar[bool] = False
    """Whether a linear rule is also tried on it with balancing weights: cheap, and of use where
    its features are the row's own."""

    keeps_grid: ClassVar[bool] = False
    """Whether pictures and signals stay such: convolutions and nearest neighbours are tried."""

    mixes_cells: ClassVar[bool] = False
    """Whether a feature is made of many cells of a picture or a signal: not tried there, because
    neither a neighbour nor a motion means anything then, and 28 × 28 cells take minutes. On
    held-out domains it can look best all the same (seen on target scores of digits that grow)."""

    @property
    def spread_unit(self) -> float:
        """What the spread of a row is relative to, in its units; 1 where rows have none."""
        return 1.0

    @property
    def ring(self) -> RingCoordinate | None:
        """What it runs along where that is the ring of a map that closes; None elsewhere."""
        return None

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Whether it is worth trying on such data, where nobody asked for it by name."""
        return True

    @classmethod
    def n_places(cls, geometry: DomainGeometry) -> int:
        """How many of the features, the last ones, say where the row's domain lies."""
        return 0

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

    def known_form(self, places: PlacedRows) -> KnownDomainForm | None:
        """What `apply` does to known domains, for export; None where no such form exists.

        `places` has one row a domain, in their order; KeyError where one is not known. A subclass
        must say it anew: one that only inherits it is not exported, as its `apply` may differ.
        """
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `from_state` needs."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `state` described; ValueError where that is damaged."""

    def entry(self) -> dict[str, Any]:
        """What stands for it in the state of what holds it: its class is found by its name."""
        return {"name": self.name, "state": self.state()}

    @staticmethod
    def from_entry(entry: dict[str, Any]) -> Representation:
        return representation_named(entry["name"]).from_state(entry["state"])


REPRESENTATIONS: Registry[type[Representation]] = Registry("representation")


def register_representation(kind: type[Representation]) -> type[Representation]:
    """Make a representation known by its `name`; usable as a decorator.

    Examples
    --------
    >>> from domindex import Representation, register_representation
    >>> class Nameless(Representation):
    ...     name = "auto"
    >>> register_representation(Nameless)
    Traceback (most recent call last):
    domindex.errors.InputError: A representation cannot be named 'auto'. ...
    """
    return REPRESENTATIONS.add(kind.name, kind)


def representation_named(name: str) -> type[Representation]:
    """The class of that name; refused with the known names where there is none.

    Examples
    --------
    >>> from domindex.representations import representation_named
    >>> representation_named("raw").name
    'raw'
    """
    return REPRESENTATIONS[name]


def representation_label(name: str) -> str:
    """What sentences call the representation of that name: the name itself where it has no label.

    Examples
    --------
    >>> from domindex.representations import representation_label
    >>> representation_label("my own")
    'my own'
    """
    return (REPRESENTATIONS[name].label if name in REPRESENTATIONS else "") or name


def list_representations() -> list[str]:
    """The names that can be asked for.

    Examples
    --------
    >>> from domindex import list_representations
    >>> "domain_standardised" in list_representations()
    True
    """
    return REPRESENTATIONS.names()
