"""What the held-out sources never showed: domains beyond experience, and why, in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.committee.folds import Fold, RepresentedFolds
from domindex.committee.separability import discriminability, domain_aucs
from domindex.committee.settings import ChoiceSettings
from domindex.inputs import DomainData
from domindex.inputs.messages import readable_name
from domindex.persistence.saved import Saved, require_distinct

SETTINGS = ChoiceSettings()


class Judgement(NamedTuple):
    """Of one domain."""

    support: float  # share of its rows inside the range of the sources' rows
    reason: str  # why it is beyond experience; empty where it is not


@dataclass(frozen=True, eq=False)
class Experience(Saved):
    """What the folds of a fit have seen: how far held-out sources lay outside of the others.

    A domain is beyond experience where most of its rows lie outside the sources' range in a column
    that predictions use, more of them than of any held-out source; or where its rows are clearly
    easier to separate from the sources', in what predicts, than those of any held-out source were.
    """

    low: Floats  # (columns,) the range of the sources' values
    high: Floats
    held_out_outside: Floats  # (columns,) the largest share of a held-out source's rows outside
    columns: tuple[str, ...]  # their names; empty where predictions do not use them as they are
    held_out_auc: float  # the largest by which a held-out source was separated, in what predicts
    targets: tuple[Hashable, ...]  # names of those whose separability was measured
    target_aucs: Floats  # (targets,) at least, as far as their rows can say

    @classmethod
    def of(
        cls,
        data: DomainData,
        folds: Sequence[Fold],
        heaviest: RepresentedFolds | None,
        columns: Sequence[Hashable],
        seed: int,
    ) -> Experience:
        """`heaviest` is what the heaviest member predicts from; None where that is a network's.
        `columns` are empty where rows are no table, or predictions do not use it as it is."""
        features = data.inputs.reshape(data.n_rows, -1)
        has_held_out = folds[0].kind != "rows"
        shares = [np.zeros(features.shape[1])]
        for fold in folds if has_held_out else ():
            known, numbers = _range(features[fold.train]), data.row_domains[fold.held_out]
            outside = _outside(features[fold.held_out], *known)
            shares += [outside[numbers == one].mean(axis=0) for one in fold.domains]
        of_targets: dict[int, float] = {}
        of_held_out = [0.5]
        if heaviest is not None and has_held_out and not data.is_source.all():
            of_targets, of_held_out = domain_aucs(heaviest, folds, seed)
        return cls(
            *_range(features[data.row_counts]),
            np.max(shares, axis=0),
            tuple(str(name) for name in columns),
            max(of_held_out, default=0.5),
            tuple(data.domains[number] for number in of_targets),
            np.array(list(of_targets.values())),
        )

    def judge(self, name: Hashable | None, inputs: NDArray) -> Judgement:
        """A domain by its rows (rows, ...)."""
        features = inputs.reshape(len(inputs), -1)
        outside = _outside(features, self.low, self.high)
        support, shares = 1.0 - float(outside.any(axis=1).mean()), outside.mean(axis=0)
        unseen = (shares > SETTINGS.most_rows) & (shares > self.held_out_outside)
        if self.columns and unseen.any():
            column = int(np.argmax(np.where(unseen, shares - self.held_out_outside, -1.0)))
            return Judgement(support, self._in_words(column, features[:, column]))
        auc = float(self.target_aucs[self.targets.index(name)]) if name in self.targets else 0.5
        gap = discriminability(auc) - discriminability(self.held_out_auc)
        if gap <= SETTINGS.clear_gap:
            return Judgement(support, "")
        return Judgement(
            support,
            f"its rows are separated from the sources' with an AUC of {auc:.2f} or more; no "
            f"held-out source reached more than {self.held_out_auc:.2f}",
        )

    def _in_words(self, column: int, values: Floats) -> str:
        name, low, high = readable_name(self.columns[column]), self.low[column], self.high[column]
        above, below = values > high, values < low
        is_above = above.sum() >= below.sum()
        beyond = above if is_above else below
        where = "" if beyond.all() else f" in {beyond.mean():.0%} of its rows"
        if is_above:
            least = values[beyond].min()
            return f"{name} is {least:.3g} or more{where}; no source exceeds {high:.3g}"
        most = values[beyond].max()
        return f"{name} is {most:.3g} or less{where}; no source goes below {low:.3g}"

    def _check_state(self) -> None:
        if not self.low.shape == self.high.shape == self.held_out_outside.shape:
            raise ValueError("the range of the sources' rows is none")
        if self.columns and len(self.columns) != len(self.low):
            raise ValueError("the names of the columns do not fit the range of the sources' rows")
        if self.target_aucs.shape != (len(require_distinct(self.targets)),):
            raise ValueError("the separability of targets does not fit them")


def _range(features: Floats) -> tuple[Floats, Floats]:
    """(columns,) the least and the largest value."""
    return features.min(axis=0).astype(np.float64), features.max(axis=0).astype(np.float64)


def _outside(features: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """(rows, columns) whether values lie outside, and not just a little."""
    slack = SETTINGS.range_slack * (high - low)
    return (features < low - slack) | (features > high + slack)
