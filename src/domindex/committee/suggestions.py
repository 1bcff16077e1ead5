"""Which rows of targets to ask labels of: those that say most about the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.committee.target_labels import covariance, mean_square_distance
from domindex.inputs.messages import number_text
from domindex.representations import PlacedRows

MAX_ASKED = 1000
"""Rows that are suggested at once: after so many labels the model is another."""


@dataclass(eq=False)
class OpenDomain:
    """Rows of a target, and how much of what is uncertain there labels so far leave."""

    features: Floats  # (n, features), scaled
    uncertainty: Floats  # (n,) deviation of what is predicted
    is_open: NDArray[np.bool_]  # (n,) whether a label may be asked for
    stake: float  # expected error times number of rows
    # (n, n) of what rows are off by, as a `Correction` has it
    covariance: Floats = field(init=False)

    def __post_init__(self) -> None:
        positions = self.features / np.sqrt(mean_square_distance([self.features]))
        self.covariance = covariance(positions, positions)
        self.total = float(self.uncertainty @ np.diag(self.covariance)) or 1.0
        for row in np.flatnonzero(~self.is_open):
            self.label(int(row))

    def best(self) -> tuple[float, int]:
        """The largest share of what is uncertain in the domain that one label settles, and the row
        of that; below 0 where all have one."""
        settled = self.uncertainty @ self.covariance**2 / (1.0 + np.diag(self.covariance))
        settled = np.where(self.is_open, settled / self.total, -1.0)
        return float(settled.max()), int(settled.argmax())

    def label(self, row: int) -> None:
        """What a label of this row leaves: the posterior of the Gaussian process."""
        column = self.covariance[:, row]
        self.covariance = self.covariance - np.outer(column, column) / (1.0 + column[row])
        self.is_open[row] = False


def choose_rows(domains: Sequence[OpenDomain], n: int) -> list[tuple[int, int, float]]:
    """So many times a domain and its row, by number, whose label settles most given all before it,
    weighed by the domain's stake; with the share of the domain's uncertainty that it settles."""
    found: list[tuple[int, int, float]] = []
    best = [one.best() for one in domains]
    for _ in range(n):
        gains = [
            one.stake * share if share >= 0 else -1.0 for one, (share, _) in zip(domains, best)
        ]
        number = int(np.argmax(gains))
        share, row = best[number]
        found.append((number, row, share))
        domains[number].label(row)
        best[number] = domains[number].best()
    return found


def suggest_rows(
    rows: PlacedRows,
    own: Sequence[Ints],
    has_label: NDArray[np.bool_],
    said: Floats,
    expected: pd.Series,
    features: Floats,
    classes: Sequence[Any] | None,
    n: int,
) -> Mapping[str, Any]:
    """The columns row, domain and reason of so many suggestions.

    Of every domain in `rows`, `own` has the user's numbers of its rows, `has_label` marks these,
    and `said` (rows, columns) is the probabilities of classes, or the deviations of values.
    """
    rng, domains, numbers = np.random.default_rng(0), [], []
    most = int(np.clip((2e7 / len(own)) ** 0.5, 20, MAX_ASKED))  # of a domain, for memory
    uncertainty = (said / said.mean(axis=0)).mean(axis=1)
    if classes is not None:  # the deviation of what a class is
        uncertainty = np.sqrt(np.maximum(1.0 - (said**2).sum(axis=1), 0.0))
    for (name, members, _), given in zip(rows.domains, own):
        some = np.sort(rng.permutation(len(members))[:most])
        error = expected[name] if classes is None else 1.0 - expected[name]
        at = members[some]
        facts = features[at], uncertainty[at], ~has_label[given[some]], float(error) * len(members)
        domains.append(OpenDomain(*facts))
        numbers.append(list(zip(given[some].tolist(), at.tolist())))
    found: dict[str, list[Any]] = {"row": [], "domain": [], "reason": []}
    for number, row, share in choose_rows(domains, n):
        (given_row, at), name = numbers[number][row], rows.domains[number].name
        if classes is None:
            what = f"error {number_text(float(expected[name]))}"
            sure = f"deviation {number_text(float(said[at].mean()))}"
        else:
            what = f"accuracy {expected[name]:.0%}"
            sure = f"predicted {classes[said[at].argmax()]} with {said[at].max():.0%}"
        found["row"].append(given_row)
        found["domain"].append(name)
        found["reason"].append(
            f"expected {what} in {len(own[number])} rows; {sure}; a label here settles {share:.1%} "
            "of what is uncertain there"
        )
    return found
