"""What a representation is, the rows that go in and come out, and rows as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry import DomainMap
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.rings import RingCoordinate
from domindex.inputs import DomainData, group_rows
from domindex.inputs.parameters import Registry
from domindex.inputs.standardizing import InputScaler
from domindex.persistence.saved import Saved

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

    Examples
    --------
    >>> from domindex.representations import PlacedRows
    >>> rows = PlacedRows.of(np.eye(3), ["a", "a", "b"], {"a": np.zeros(2), "b": np.ones(2)})
    >>> [(domain.name, len(domain.rows)) for domain in rows.domains]
    [('a', 2), ('b', 1)]
    """

    inputs: NDArray
    domains: tuple[DomainRows, ...]  # of every domain its name, its rows and its place
    # name of a domain to its angle around the ring; None where the map is open
    angles: Mapping[Hashable | None, float] | None = None
    other_way: bool = False  # whether what runs along the ring goes the other way round

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
        placed, angles = cls.of_data(data, domain_map.coordinates), domain_map.index.angles
        if angles is None:
            return placed
        return replace(placed, angles=dict(zip(data.domains, angles.tolist())))

    def only(self, names: Collection[Hashable | None]) -> PlacedRows:
        """The rows of some of the domains."""
        chosen = [domain for domain in self.domains if domain.name in names]
        order = np.concatenate([np.empty(0, dtype=np.int64), *(one.rows for one in chosen)])
        parts = np.split(np.arange(len(order)), np.cumsum([len(one.rows) for one in chosen]))
        domains = tuple(one._replace(rows=part) for one, part in zip(chosen, parts))
        return replace(self, inputs=self.inputs[order], domains=domains)

    def places(self, ring: RingCoordinate | None) -> Floats:
        """Where each domain lies on the map, or along its ring, (domains, components)."""
        if ring is None:
            return np.array([domain.place for domain in self.domains])
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
        angles = np.array([self.angles[domain.name] for domain in self.domains])
        return self.spread(np.stack([np.cos(angles), np.sin(angles)], axis=1))

    def spread(self, by_domain: Sequence[Floats] | Floats) -> Floats:
        """One array a domain, each (size,), to one row a row, (rows, size)."""
        result = np.empty((len(self.inputs), len(by_domain[0])))
        for domain, value in zip(self.domains, by_domain):
            result[domain.rows] = value
        return result


@dataclass(frozen=True, eq=False)
class RepresentedRows:
    """Rows as a predictor is given them.

    Examples
    --------
    >>> from domindex.representations import RepresentedRows
    >>> RepresentedRows.plain(np.eye(2)).level.ravel().tolist()
    [0.0, 0.0]
    """

    features: Floats  # (rows, p)
    level: Floats  # (rows, 1), taken off outputs, for the units of the features; 0: they stay
    spread: Floats  # (rows, 1), what outputs are divided by; 1: they stay

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

    With d the number of a row's domain, z = (scaled((x − level) / spread) − offsets[d]) /
    scales[d], z = z · matrix, its first columns times matrices[d], features = [outputs(z +
    shifts[d]), beside[d]]. What is None is left out.
    """

    scaler: InputScaler
    levels: Floats | None = None  # (domains, 2) level and spread of every domain
    row_level: bool = False  # whether the level is the mean of the row itself
    # from which on the spread is the deviation of the row itself
    min_row_spread: float | None = None
    offsets: Floats | None = None  # (domains, p), as are scales and shifts
    scales: Floats | None = None
    matrix: Floats | None = None  # (p, q)
    # (domains,) whose rows go through `matrix`; None: all
    uses_matrix: NDArray[np.bool_] | None = None
    matrices: Floats | None = None  # (domains, m, m), for the first m columns
    shifts: Floats | None = None
    outputs: InputScaler | None = None  # results to one scale
    beside: Floats | None = None  # (domains, k) columns that stand beside the others


class Representation(ABC):
    """A transformation of rows that knows inputs and domains, never labels.

    To add one: subclass, give it a `name`, and call `register_representation`. The attributes below
    say what others need to know of it. Everything learned in `fit` must come back through `state`
    and `from_state`: plain values and float arrays, nested in dictionaries at will.

    Examples
    --------
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

    # What sentences call it, after "on": "linear on raw inputs". Empty: its name.
    label: ClassVar[str] = ""
    # Whether whole domains are moved onto each other, so that what separates them is lost.
    moves_domains: ClassVar[bool] = False
    # Whether `fit` looks at who is source and who is target: then a fold fits it anew, with the
    # held-out domain in the target's role.
    uses_roles: ClassVar[bool] = False
    # Whether these are the inputs as they are: all others are held against them.
    is_plain: ClassVar[bool] = False
    # Name of another representation where this one adds columns that name the domain: it follows
    # the domains, and its targets are as separable from sources as those of the other.
    separability_of: ClassVar[str | None] = None
    # How much it changes the inputs, 0 for not at all: with a single source the least is chosen
    # that makes targets pass for it. None: not chosen then.
    change_rank: ClassVar[int | None] = None
    # Whether a linear rule is also tried on it with balancing weights: cheap, and of use where
    # its features are the row's own.
    may_balance: ClassVar[bool] = False
    # Whether pictures and signals stay such: convolutions and nearest neighbours are tried.
    keeps_grid: ClassVar[bool] = False
    # Whether a feature is made of many cells of a picture or a signal: not tried there, because
    # neither a neighbour nor a motion means anything then, and 28 × 28 cells take minutes.
    mixes_cells: ClassVar[bool] = False

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
        """Itself, with the new domains of these rows known, as `apply` would measure them."""
        return self

    def known_form(self, places: PlacedRows) -> KnownDomainForm | None:
        """What `apply` does to known domains, for export; None where no such form exists.

        `places` has one row a domain; KeyError where one is not known. A subclass must say it anew.
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


@dataclass(frozen=True, eq=False)
class Raw(Saved, Representation):
    """A rule on the inputs themselves: right where only their mix differs between domains."""

    name = "raw"
    label = "raw inputs"
    is_plain = True
    change_rank: ClassVar[int | None] = 0
    may_balance = True
    keeps_grid = True
    scaler: InputScaler

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        if data.layout.is_grid:
            return cls(InputScaler.of_channels(data.inputs, data.layout))
        return cls(geometry.scaler)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.scaler.apply_flat(rows.inputs))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler)


@dataclass(frozen=True, eq=False)
class WithIndex(Raw):
    """The inputs and β side by side: a rule may follow the domains along the map.

    Where the map closes, cos and sin of the angle stand beside β (`closes`).
    """

    name = "with_index"
    label = "features + domain index"
    is_plain = False
    separability_of = "raw"
    change_rank = None
    may_balance = False
    keeps_grid = False
    closes: bool = field(default=False, metadata={"omitted": True})

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        return cls(geometry.scaler, geometry.domain_map.loop is not None)

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """For values, whose trend along the map may go on; shares of classes cannot for long."""
        return data.task == "regression"

    @classmethod
    def n_places(cls, geometry: DomainGeometry) -> int:
        domain_map = geometry.domain_map
        return domain_map.coordinates.shape[1] + (2 if domain_map.loop is not None else 0)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        scaled = self.scaler.apply_flat(rows.inputs)
        return RepresentedRows.plain(np.hstack([scaled, *self._places(rows)]))

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler, beside=np.hstack(self._places(places)))

    def _places(self, rows: PlacedRows) -> list[np.ndarray]:
        return [rows.index, rows.directions] if self.closes else [rows.index]


@dataclass(frozen=True, eq=False)
class WithoutConstants(Raw):
    """The inputs without the columns that never change within a domain. A rule on such a column
    goes by the domain alone, and no source shows what it is worth beyond their values."""

    name = "without_constants"
    label = "features that vary within domains"
    is_plain = False
    change_rank = None
    may_balance = False
    keeps_grid = False
    kept: Ints  # (q,) numbers of the columns that stay

    @classmethod
    def serves(cls, data: DomainData, geometry: DomainGeometry) -> bool:
        """Where there is such a column, and a target's value in it lies outside the sources'."""
        levels, constant = domain_constants(data)
        sources, targets = levels[data.is_source], levels[~data.is_source]
        if data.layout.is_grid or constant.all() or not len(targets):
            return False
        outside = (targets < sources.min(axis=0)) | (targets > sources.max(axis=0))
        return bool(outside[:, constant].any())

    @classmethod
    def fit(cls, data: DomainData, geometry: DomainGeometry) -> Self:
        _, constant = domain_constants(data)
        kept = np.flatnonzero(~constant)
        if not len(kept):
            raise InputError(
                f"The representation {cls.name!r} leaves out columns that never change within a "
                "domain, and all columns of X are such. Choose another."
            )
        return cls(geometry.scaler, kept)

    def apply(self, rows: PlacedRows) -> RepresentedRows:
        return RepresentedRows.plain(self.scaler.apply_flat(rows.inputs)[:, self.kept])

    def known_form(self, places: PlacedRows) -> KnownDomainForm:
        return KnownDomainForm(self.scaler, matrix=np.eye(len(self.scaler.offset))[:, self.kept])

    def _check_state(self) -> None:
        if not len(self.kept) or not np.isin(self.kept, np.arange(len(self.scaler.offset))).all():
            raise ValueError("a column that is kept is none of the inputs")


def domain_constants(data: DomainData) -> tuple[Floats, NDArray[np.bool_]]:
    """The first row of every domain (domains, p), and which columns are the same in all others."""
    table = data.inputs.reshape(data.n_rows, -1)
    first = np.array([rows[0] for rows in data.rows_by_domain()])
    return table[first], (table == table[first][data.row_domains]).all(axis=0)
