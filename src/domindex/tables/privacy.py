"""What of a table may be seen in the files of a run: sums over rows, never a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from domindex.inputs.columns import SETTINGS
from domindex.inputs.names import is_missing
from domindex.inputs.preparation import MIN_SHARED
from domindex.inputs.streams import is_blank


def shown_columns(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of a table by which a map may be coloured, cleared of what points to a row.

    Texts or dates that are nearly all different are gone, and values that occur once are missing.
    Numbers stay, for only their means are shown; unless they are whole and all different.
    """
    kept = {name: _cleared(table[name]) for name in table.columns}
    return pd.DataFrame({name: one for name, one in kept.items() if one is not None})


def missing_shares(table: pd.DataFrame, names: Sequence[str], max_shown: int = 20) -> pd.DataFrame:
    """1 where an input has no value and 0 elsewhere, for the inputs with most gaps."""
    gaps = {name: np.array([is_blank(value) for value in table[name].tolist()]) for name in names}
    most = sorted((name for name in names if gaps[name].any()), key=lambda n: -gaps[n].sum())
    shown = {f"missing: {name}": gaps[name].astype(np.float64) for name in most[:max_shown]}
    return pd.DataFrame(shown, index=table.index)


def without_row_values(content: Mapping[str, Any], *, share: bool) -> dict[str, Any]:
    """The content of a report, as plain values, without figures that rest on a row or two.

    The mean of one row is that row. Where it is to be shared, figures of domains with fewer than
    `MIN_SHARED` rows and their numbers of rows are hidden too, and so are shares of a domain's
    rows that stand for fewer: with the number of rows beside them they would be counts.
    """
    least = MIN_SHARED if share else 3
    domains = [dict(domain) for domain in content["domains"]]
    sizes = [int(domain["rows"] or 0) for domain in domains]
    small = {domain["name"] for domain in domains if domain["rows"] < least}
    hidden = [domain["name"] in small for domain in domains]
    for domain in domains:
        if domain["name"] in small:
            gone = ("held_out_score", "picture", *(["rows"] if share else []))
            domain.update(dict.fromkeys(gone))
            domain.update({name: [] for name in ("differences", "missing") if name in domain})
        elif share:
            rows = domain["rows"]
            if "differences" in domain:
                domain["differences"] = [
                    one | {"shares": [0.0 if _is_few(s, rows) else s for s in one["shares"]]}
                    for one in domain["differences"]
                ]
            if "missing" in domain:
                given = domain["missing"]
                domain["missing"] = [one for one in given if not _is_few(one["share"], rows)]
    columns = {
        name: [None if hide else value for value, hide in zip(values, hidden)]
        for name, values in content["columns"].items()
    }
    named = tuple(f"{one['name']}=" for one in content.get("profiles", ()))
    for name, values in columns.items():
        if share and name.startswith(("missing: ", *named)):  # means that are shares of rows
            columns[name] = [
                None if isinstance(value, float) and _is_few(value, rows) else value
                for value, rows in zip(values, sizes)
            ]
    cleared = dict(content) | {"domains": domains, "columns": columns}
    if cleared.get("held_out") is not None:
        scores = [one for one in content["held_out"]["scores"] if one["name"] not in small]
        cleared["held_out"] = dict(content["held_out"]) | {"scores": scores} if scores else None
    return cleared


def _is_few(share: float, rows: int) -> bool:
    """Whether a share stands for fewer than `MIN_SHARED` rows, and for some."""
    return share > 0.0 and round(share * rows) < MIN_SHARED


def _cleared(column: pd.Series) -> pd.Series | None:
    """A column without values that occur once; None where it names rows."""
    values = column.astype(object)
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    texts = values[known].map(str)
    counts = texts.value_counts()
    if column.dtype.kind in "biuf" or pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)[known]
        whole = bool(len(numbers)) and bool((np.mod(numbers, 1) == 0).all())
        return None if whole and len(counts) == len(texts) > 1 else column
    if not len(counts) or len(counts) > SETTINGS.unique_texts * len(texts):
        return None
    often = set(counts.index[counts > 1])
    kept = [str(one) if given and str(one) in often else None for one, given in zip(values, known)]
    return pd.Series(kept, index=column.index, dtype=object)
