"""Small tables, such as a training's history, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def table_state(frame: pd.DataFrame) -> dict[str, Any]:
    """A table by columns; a missing number is None."""
    return {
        "columns": [str(name) for name in frame.columns],
        "numeric": [frame[name].dtype.kind == "f" for name in frame.columns],
        "objects": [frame[name].dtype == object for name in frame.columns],
        "values": [
            [None if value != value else value for value in frame[name].tolist()]
            for name in frame.columns
        ],
    }


def table_from_state(state: dict[str, Any]) -> pd.DataFrame:
    """What `table_state` was given."""
    parts = zip(*(state[key] for key in ("columns", "numeric", "objects", "values")), strict=True)
    return pd.DataFrame(
        {
            name: np.array(values, dtype=np.float64)
            if numeric
            else pd.Series(values, dtype=object if objects else None)
            for name, numeric, objects, values in parts
        }
    )
