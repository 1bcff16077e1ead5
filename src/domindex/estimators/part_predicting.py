"""Predictions part by part that do not depend on how rows are divided into parts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Ints
from domindex.committee.committee import Committee, Prediction
from domindex.estimators.vdi import BaseVDI
from domindex.representations import PlacedRows
from domindex.representations.base import DomainRows
from domindex.vdi.fitted_indices import FittedIndices


def domains_to_sample(model: BaseVDI, present: Sequence[Hashable]) -> list[Hashable]:
    """Those of which a prediction depends on rows beside the one predicted.

    A domain that was not in the fit is placed and measured by its rows; where shares of classes are
    followed, those of a source are estimated from the rows at hand as well.
    """
    shift = model._committee.label_shift
    known = set(model.domains_) if shift is None else set(shift.domains)
    return [name for name in present if name not in known]


@dataclass(frozen=True, eq=False)
class PartPredictor:
    """A fitted model in which everything that is measured from a domain's rows is settled.

    Attributes
    ----------
    model : with the new domains on its map
    committee, indices : its parts; shares of classes of sources are settled too
    """

    model: BaseVDI
    committee: Committee
    indices: FittedIndices

    @classmethod
    def of(
        cls, model: BaseVDI, inputs: Any = None, sample_domain: Sequence[Hashable] | None = None
    ) -> PartPredictor:
        """From rows of the domains that `domains_to_sample` names, a sample of each or all."""
        if inputs is None or not sample_domain:
            return cls(model, model._committee, model._indices)
        known = set(model.domains_)
        is_new = np.array([name not in known for name in sample_domain])
        if is_new.any():
            names = [name for name, new in zip(sample_domain, is_new) if new]
            model = model.add_domains(inputs[is_new], sample_domain=names)
        committee = model._committee
        if committee.label_shift is not None and not is_new.all():
            names = [name for name, new in zip(sample_domain, is_new) if not new]
            old = model._behind_gate(model._read_rows(inputs[~is_new]), names)
            rows = model._indices.placed(old, names)
            plain = replace(committee, label_shift=None).predict(rows, model._indices).mean
            shift = committee.label_shift.with_domains(plain, rows)
            committee = replace(committee, label_shift=shift)
        return cls(model, committee, model._indices)

    def predict(
        self, inputs: NDArray[np.float64], domains: Sequence[Hashable], rows: Ints
    ) -> Prediction:
        """Of rows (rows, features), whose domains are `rows` (rows,) numbers into `domains`."""
        index = self.indices.domain_map.index
        present, local = np.unique(rows, return_inverse=True)
        members = np.split(np.argsort(local, kind="stable"), np.cumsum(np.bincount(local))[:-1])
        names = [domains[number] for number in present]
        numbers = {name: number for number, name in enumerate(index.domains)}
        places = [index.coordinates[numbers[name]] for name in names]
        bounds = self.model._bounds
        if bounds is not None:
            inputs = bounds.apply(inputs, zip(names, members))
        placed = PlacedRows(
            inputs, tuple(DomainRows(*part) for part in zip(names, members, places))
        )
        return self.committee.predict(placed, self.indices)
