"""The audit of a report, on as many rows as its time allows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.evaluation import IndexAudit, audit_index
from domindex.inputs import check_inputs, group_rows
from domindex.inputs.labels import check_label_array

SHARE_OF_FIT = 0.25
"""Of the time of a fit that its report may take where nothing else is asked for: a promise."""

SECONDS_A_CELL = 2e-4
"""Of an audit, for each row times each domain and each feature: 1.0e-4 was measured on 2,000
rows of 20 domains with 10 features, 1.7e-4 on 1,700 rows of 16 domains with 8."""

LEAST_ROWS, MOST_ROWS = 300, 3000
LEAST_OF_DOMAIN = 12
"""Rows below which an audit tells too little, rows that it uses at most, and rows that a domain
should have in it: a domain with fewer can hardly be learned and told."""


def budget_of(model: Any, seconds: float | None, budget: float | None) -> float:
    """Seconds that a report may take: as asked for, or a share of what the fit took."""
    if budget is not None:
        if not budget >= 0:
            raise InputError(f"budget is {budget!r}. Give seconds, 0 or more, or None.")
        return float(budget)
    if seconds is None:
        timings = getattr(model, "timings_", None)
        seconds = 0.0 if timings is None else float(timings["seconds"].sum())
    return SHARE_OF_FIT * seconds


def audit_within(
    budget: float,
    model: Any,
    X: Any,
    y: Any,
    names: list[Hashable],
    seed: int,
    notes: list[str],
) -> IndexAudit | None:
    """The audit of the index on a sample that takes about `budget` seconds at most."""
    inputs = check_inputs(X)
    n_features = min(int(np.prod(inputs.shape[1:])), 100)
    n_domains = min(len(set(names)), 100)
    n_rows = int(min(MOST_ROWS, budget / (SECONDS_A_CELL * (n_domains + n_features))))
    if n_rows < min(LEAST_ROWS, len(names)):
        notes.append(
            "The audit of the index was left out: it would have taken more than a quarter of the "
            "fit's time. Ask for it with report_data(budget=60), or call audit_index."
        )
        return None
    rows = _sample(names, set(model.source_domains_), n_rows, seed)
    labels = check_label_array(y, len(names))
    try:
        return audit_index(
            model,
            _rows_of(X, inputs, rows),
            labels[rows],
            [names[row] for row in rows],
            random_state=seed,
        )
    except InputError as error:
        notes.append(f"The audit of the index could not be made: {error}")
        return None


def _rows_of(X: Any, inputs: NDArray, rows: NDArray[np.int64]) -> Any:
    """Some rows, of a data frame as one: the model knows its columns by name."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame) else inputs[rows]


def _sample(
    names: Sequence[Hashable], sources: set[Hashable], most: int, seed: int
) -> NDArray[np.int64]:
    """Row numbers, half of sources where there are enough, even over a number of domains."""
    if len(names) <= most:
        return np.arange(len(names))
    rng = np.random.default_rng(seed)
    groups = list(group_rows(names, len(names)))
    kinds = [[rows for name, rows in groups if (name in sources) == kind] for kind in (True, False)]
    chosen: list[NDArray[np.int64]] = []
    for parts in filter(None, kinds):
        room = most // (2 if all(kinds) else 1)
        kept = [parts[n] for n in rng.permutation(len(parts))[: max(1, room // LEAST_OF_DOMAIN)]]
        each = max(1, room // len(kept))
        chosen += [rng.permutation(rows)[:each] for rows in kept]
    return np.sort(np.concatenate(chosen))
