"""Shares of classes that differ between domains, estimated from unlabelled rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.committee.held_out_rows import HeldOutRows
from domindex.representations import PlacedRows
from domindex.representations.base import require_distinct

Floats = NDArray[np.float64]

ITERATIONS = 50
"""Of expectation and maximisation; what it has found by then is used."""

PRIOR_ROWS = 20.0
"""Rows that the sources' shares count for in a domain: a domain of few rows moves little. A stated
prior, not tuned."""

CLEAR = 2.0
"""Standard errors over held-out domains by which following the shares must lower the loss."""


@dataclass(frozen=True, eq=False)
class LabelShift:
    """Probabilities p(class | x) of the sources, corrected for the shares of a domain.

    p'(c | x) ∝ p(c | x) · share of the domain / share of the sources, where the shares are the
    fixed point of the mean of p' (expectation and maximisation). Right where classes look alike in
    all domains and only their shares differ; used where held-out domains say that it helps.

    Attributes
    ----------
    sources : (classes,) shares of the sources
    domains : shares of each target that was seen; a new domain has those of its rows
    """

    sources: Floats
    domains: Mapping[Hashable, Floats]

    def apply(self, probabilities: Floats, rows: PlacedRows) -> Floats:
        result = np.array(probabilities)
        for name, members, _ in rows.domains:
            part = probabilities[members]
            shares = self.domains.get(name) if name is not None else None
            if shares is None:
                shares = estimate_shares(part, self.sources)
            result[members] = reweighted(part, shares / self.sources)
        return result

    def with_domains(self, probabilities: Floats, rows: PlacedRows) -> LabelShift:
        """With the shares of new domains, whose rows have these probabilities (rows, classes)."""
        new = {
            name: estimate_shares(probabilities[members], self.sources)
            for name, members, _ in rows.domains
        }
        return LabelShift(self.sources, {**self.domains, **new})

    def state(self) -> dict[str, Any]:
        shares = np.array(list(self.domains.values())).reshape(-1, len(self.sources))
        return {"sources": self.sources, "names": tuple(self.domains), "shares": shares}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelShift:
        names, shares = require_distinct(state["names"]), state["shares"]
        if shares.shape != (len(names), len(state["sources"])):
            raise ValueError("the shares of classes do not fit the domains")
        if not ((shares > 0).all() and (state["sources"] > 0).all()):
            raise ValueError("the shares of classes are no shares")
        return cls(state["sources"], dict(zip(names, shares)))


def estimate_shares(probabilities: Floats, sources: Floats) -> Floats:
    """(classes,) shares of a domain whose rows have these probabilities under the sources'."""
    shares = sources
    for _ in range(ITERATIONS):
        expected = reweighted(probabilities, shares / sources).sum(axis=0)
        shares = (expected + PRIOR_ROWS * sources) / (len(probabilities) + PRIOR_ROWS)
    return shares


def reweighted(probabilities: Floats, factors: Floats) -> Floats:
    """Probabilities (n, classes) times factors (classes,), summing to 1 again."""
    result = probabilities * factors
    return result / result.sum(axis=1, keepdims=True)


def source_shares(rows: HeldOutRows) -> Floats:
    """(classes,) of the sources, domains alike; no class has none."""
    assert rows.n_classes is not None
    counted = np.bincount(rows.labels, rows.row_weights, minlength=rows.n_classes)
    shares = np.asarray(counted, dtype=np.float64) + 1.0 / len(rows.labels)
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def helps_on_folds(held_out: Floats, rows: HeldOutRows) -> bool:
    """Whether following the shares of held-out domains clearly lowers the loss (n, classes)."""
    sources = source_shares(rows)
    followed = np.empty_like(held_out)
    for part in range(len(rows.part_domains)):
        members = rows.parts == part
        shares = estimate_shares(held_out[members], sources)
        followed[members] = reweighted(held_out[members], shares / sources)
    gains = rows.by_domain(rows.by_part(rows.losses(held_out) - rows.losses(followed)))
    if len(gains) < 2:
        return False
    return bool(gains.mean() > CLEAR * gains.std(ddof=1) / np.sqrt(len(gains)))
