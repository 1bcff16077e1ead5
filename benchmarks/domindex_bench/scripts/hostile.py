"""Things spoiled in one of many ways, drawn by a generator: for `fuzz`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

NUMBERS = [
    0.0,
    -0.0,
    1e-320,
    1e-154,
    1e20,
    1e38,
    1e74,
    1e76,
    1e154,
    1e308,
    np.inf,
    -np.inf,
    np.nan,
    2**63,
    -1e12,
]
OBJECTS = [
    None,
    "x",
    "",
    "=1+1",
    10**400,
    1j,
    [],
    {},
    object(),
    b"x",
    True,
    pd.NA,
    pd.NaT,
    np.datetime64("2020"),
    lambda: 0,
]
CELLS = ["", "x", "=1+1", "NaN", "inf", "-1e308", "1e400", '"', ",", "\u202e", "1,5", "0x10", "𝟙"]
"""What may stand in a field of a text file."""

FIELDS = [
    *OBJECTS,
    *(np.nan, np.inf, 1e300, "NA", " 1,5 ", "2020-01-01", (1, 2), frozenset([1]), "\u202e"),
    *(pd.Timestamp("2020"), pd.Timedelta(1, "D")),
]
"""What may stand in a column of a data frame."""

COLUMN_NAMES = [0, None, "", "p", ("a", "b"), "x" * 1000, np.nan]

JSON_VALUES = [None, -1, 0, 1e308, "x", [], {}, True, "\u0000", 10**30, [[]], "NaN", 0.5]


def one_of(values: list[Any], rng: np.random.Generator) -> Any:
    return values[rng.integers(len(values))]


def spoil_numbers(values: np.ndarray, rng: np.random.Generator) -> Any:
    """An array of numbers, spoiled in one way."""
    values = np.array(values, dtype=float)
    kind = rng.integers(14)
    cell = tuple(rng.integers(size) for size in values.shape)
    if kind == 0:
        values[cell] = one_of(NUMBERS, rng)
        return values
    if kind == 1:
        with np.errstate(all="ignore"):
            return values * one_of(NUMBERS, rng)
    if kind == 2:
        odd = values.astype(object)
        odd[cell] = one_of(OBJECTS, rng)
        return odd
    if kind == 3:
        return values[: rng.integers(len(values))]
    if kind == 4:
        return np.ma.masked_array(values, mask=rng.random(values.shape) < 0.1)
    if kind == 5:
        return pd.DataFrame(values.reshape(len(values), -1)).add_prefix("p" * rng.integers(1, 3))
    if kind == 6:
        return values.astype(one_of([np.float16, np.float32, np.int8, bool, str, complex], rng))
    if kind == 7:
        return values.tolist()[:-1] + [values.tolist()[0:1]]
    if kind == 8:
        import torch

        return torch.tensor(values).to(one_of([torch.bfloat16, torch.float16, torch.int64], rng))
    if kind == 9:
        return values[:, None] if rng.random() < 0.5 else values.ravel()
    if kind == 10:
        return np.full_like(values, values.flat[0]) + 1e-15 * values
    if kind == 11:
        return one_of(OBJECTS, rng)
    if kind == 12:
        return np.asfortranarray(values)[::-1]
    return np.repeat(values[:1], len(values), axis=0)


def spoil_names(given: np.ndarray, rng: np.random.Generator) -> Any:
    """Names of domains, one a row, spoiled in one way."""
    names, n_rows = given.astype(object).copy(), len(given)
    kind = rng.integers(9)
    if kind == 0:
        names[rng.integers(n_rows)] = one_of(OBJECTS, rng)
        return names
    if kind == 1:
        return names[:-1]
    if kind == 2:
        return one_of(OBJECTS, rng)
    if kind == 3:
        return np.resize(["x" * 10_000, "\u202ey", "z"], n_rows)
    if kind == 4:
        return np.arange(n_rows) - n_rows // 2
    if kind == 5:
        return rng.choice(given, n_rows)
    if kind == 6:
        return pd.Categorical(given)
    if kind == 7:
        return given[:, None]
    return np.repeat(1.5, n_rows)


def spoil_frame(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A data frame with one field, column, name, order or type that is not as it was."""
    frame, column = frame.copy(), one_of(list(frame.columns), rng)
    kind = rng.integers(13)
    if kind < 4:
        frame[column] = frame[column].astype(object)
        frame[column] = pd.Series(
            [*frame[column].iloc[:-1], one_of(FIELDS, rng)], index=frame.index, dtype=object
        )
    elif kind == 4:
        frame[column] = pd.Series([one_of(FIELDS, rng)] * len(frame), dtype=object)
    elif kind == 5:
        frame = frame.drop(columns=column)
    elif kind == 6:
        frame = frame.rename(columns={column: one_of(COLUMN_NAMES, rng)})
    elif kind == 7:
        frame = frame[list(frame.columns)[::-1]]
    elif kind == 8:
        frame.index = rng.permutation(len(frame))
    elif kind == 9:
        frame = frame.iloc[: rng.integers(len(frame))]
    elif kind == 10:
        frame[column] = frame[column].astype("category")
    elif kind == 11:
        frame = frame.convert_dtypes()
    else:
        frame = pd.concat([frame, frame[[column]]], axis=1)
    return frame


def spoil_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes of a file changed, or its end cut off, or nothing left, or rubbish behind it."""
    data = bytearray(content)
    kind = rng.integers(12)
    if kind == 0:
        return b""
    if kind == 1:
        return content + content[: rng.integers(1, len(content))]
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data[: rng.integers(1, len(data))] if kind < 4 else data)


def spoil_text(content: bytes, rng: np.random.Generator) -> bytes:
    """A field of a CSV file replaced, a column named twice, a row too short or doubled."""
    rows = [line.split(b",") for line in content.splitlines()]
    row, column = rng.integers(len(rows)), rng.integers(len(rows[0]))
    kind = rng.integers(6)
    if kind < 3:
        rows[row][column] = one_of(CELLS, rng).encode()
    elif kind == 3:
        for one in rows[1:]:
            one[column] = one_of(CELLS, rng).encode()
    elif kind == 4:
        rows[row] = rows[row][: rng.integers(len(rows[row]))]
    else:
        rows[0][column] = rows[0][0]
    ending = one_of([b"\n", b"\r\n", b"\r"], rng)
    return ending.join(b",".join(one) for one in rows)


def spoil_json(content: bytes, rng: np.random.Generator) -> bytes:
    """One value of a JSON file replaced by another that JSON can hold, left out, or doubled."""
    parsed = json.loads(content)
    places: list[tuple[Any, Any]] = []

    def walk(part: Any) -> None:
        items = (
            part.items()
            if isinstance(part, dict)
            else enumerate(part)
            if isinstance(part, list)
            else ()
        )
        for key, value in items:
            places.append((part, key))
            walk(value)

    walk(parsed)
    part, key = places[rng.integers(len(places))]
    kind = rng.integers(12)
    if kind == 0:
        del part[key]
    elif kind == 1 and isinstance(part, list):
        part.append(part[key])
    elif kind == 2:
        part[key] = float(one_of(NUMBERS, rng))
    else:
        part[key] = one_of(JSON_VALUES, rng)
    if kind == 3:
        return b"[" * 100_000
    return json.dumps(parsed).encode()
