"""The rows of a fold as a representation gives them, with held-out domains in the target's role."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from domindex.committee.folds import Fold
from domindex.data import DomainData
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.entropy_balancing import balancing_weights
from domindex.representations import PlacedRows, Representation, RepresentedRows
from domindex.representations.base import DomainRows

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RepresentedFolds:
    """A representation of all rows, and of the rows of any fold.

    What a representation learns from inputs alone is learned once. What depends on roles is learned
    anew in every fold, and a held-out domain that is cut to rows like the targets' is measured by
    those rows, like a domain never seen.

    Attributes
    ----------
    representation : fitted on all data
    rows : all rows in it
    """

    data: DomainData
    geometry: DomainGeometry
    representation: Representation
    rows: RepresentedRows
    is_cut: bool
    kept: dict[tuple, tuple[RepresentedRows, RepresentedRows]] = field(default_factory=dict)
    balanced: dict[tuple[bytes, bytes], Floats] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, kind: type[Representation], data: DomainData, geometry: DomainGeometry, is_cut: bool
    ) -> RepresentedFolds:
        representation = kind.fit(data, geometry)
        placed = PlacedRows.of_map(data, geometry.domain_map)
        return cls(data, geometry, representation, representation.apply(placed), is_cut)

    def of(self, fold: Fold) -> tuple[RepresentedRows, RepresentedRows]:
        """The rows to learn from, and those to predict, in the order of the fold."""
        if fold.kind == "rows":
            return self.rows.part(fold.train), self.rows.part(fold.held_out)
        if not (self.is_cut or self.representation.uses_roles):
            return self.rows.part(fold.train), self.rows.part(fold.held_out)
        key = (fold.kind, *fold.domains.tolist())
        if key not in self.kept:
            self.kept[key] = self._anew(fold)
        return self.kept[key]

    def _anew(self, fold: Fold) -> tuple[RepresentedRows, RepresentedRows]:
        """What takes a while; kept for the next candidate."""
        if not self.representation.uses_roles:
            held_out = self.representation.apply(self.held_out(fold))
            return self.rows.part(fold.train), held_out
        representation = self._in_roles(fold)
        return (
            representation.apply(self._placed(fold.train)),
            representation.apply(self._placed(fold.held_out)),
        )

    def balancing(
        self, train: RepresentedRows, goal: RepresentedRows, known: Numbers, held_out: Numbers
    ) -> Floats:
        """(n,) weights that make known rows look like `goal`, those of the held-out domains.

        Found once for all who ask, as rules do that differ in nothing but their penalty.
        """
        key = known.tobytes(), held_out.tobytes()
        if key not in self.balanced:
            self.balanced[key] = balancing_weights(train.features, goal.features) * len(known)
        return self.balanced[key]

    def held_out(self, fold: Fold) -> PlacedRows:
        """The rows to predict, as they would come from domains never seen where they are cut."""
        return self._placed(fold.held_out, as_new=self.is_cut)

    def in_fold(self, fold: Fold) -> tuple[Representation, PlacedRows]:
        """What represents the rows to predict in a fold, and those rows before it does."""
        if fold.kind == "rows" or not self.representation.uses_roles:
            as_new = self.is_cut and fold.kind != "rows"
            return self.representation, self._placed(fold.held_out, as_new=as_new)
        return self._in_roles(fold), self._placed(fold.held_out)

    def learned_from(self, fold: Fold) -> PlacedRows:
        """The rows to learn from, before they are represented."""
        return self._placed(fold.train)

    def _in_roles(self, fold: Fold) -> Representation:
        is_source = np.zeros(self.data.n_domains, dtype=bool)
        is_source[np.unique(self.data.row_domains[fold.train])] = True
        rows = np.concatenate([fold.train, fold.held_out])
        return type(self.representation).fit(self.data.select(rows, is_source), self.geometry)

    def _placed(self, rows: Numbers, as_new: bool = False) -> PlacedRows:
        numbers = self.data.row_domains[rows]
        places, angles = self.geometry.domain_map.coordinates, self.geometry.domain_map.index.angles
        domains, around = [], {}
        for number in np.unique(numbers):
            name = self.data.domains[number]
            known = ("held out", name) if as_new else name
            domains.append(DomainRows(known, np.flatnonzero(numbers == number), places[number]))
            if angles is not None:
                around[known] = float(angles[number])
        return PlacedRows(self.data.inputs[rows], tuple(domains), around or None)
