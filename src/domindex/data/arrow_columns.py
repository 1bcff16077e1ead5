"""Columns of any table brought to two kinds: numbers as float64, everything else as text."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.data.messages import preview
from domindex.data.names import is_missing
from domindex.errors import InputError


def text_of(value: object) -> str:
    """A value as it is spelled in a table: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def is_blank(value: object) -> bool:
    """Missing, or a text of nothing but spaces."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def is_number(kind: Any) -> bool:
    """Whether a pyarrow type holds numbers, true and false among them."""
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def is_text(kind: Any) -> bool:
    """Whether a pyarrow type holds texts, also as codes; a column of nothing counts as texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    views = [getattr(pa.types, name) for name in ("is_string_view",) if hasattr(pa.types, name)]
    return any(test(kind) for test in (*tests, *views))


def is_time(kind: Any) -> bool:
    """Whether a pyarrow type holds dates, times or durations."""
    import pyarrow as pa

    return pa.types.is_temporal(kind)


def plain_table(table: Any, columns: Sequence[str], numbers: Collection[str], what: str) -> Any:
    """Some columns of a pyarrow table: float64 for those in `numbers`, string for the others.

    Numbers that are to be texts are spelled; texts where numbers should be are refused, and `what`
    names the part of the table in the error.
    """
    import pyarrow as pa

    plain = [_plain(table.column(name), name, name in numbers, what) for name in columns]
    return pa.table(dict(zip(columns, plain)))


def numbered_domains(
    column: Any, domain: str, what: str, spell: bool = True
) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The different names of a column of domains, and the number of each row's among them.

    `spell` makes texts of names that are numbers. Blank names are refused.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    blank = [number for number, value in enumerate(values) if is_blank(value)]
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    lost = (places < 0) | np.isin(places, blank)
    if lost.any():
        raise InputError(
            f"The domain column {domain!r} is blank in {int(lost.sum())} of {len(places)} rows of "
            f"{what}, the first is row {int(lost.argmax()) + 1} of them. "
            "Name the domain of these rows, or leave them out."
        )
    return [text_of(value) if spell else value for value in values], places


def frame_to_table(frame: Any, what: str) -> Any:
    """A pandas frame as a pyarrow table; refused where a column holds values of several kinds."""
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        said = " ".join(str(part) for part in error.args)
        raise InputError(
            f"{what} has a column that mixes kinds of values ({said:.160}). "
            "Give every column numbers or texts only."
        ) from None


def _plain(column: Any, name: str, as_numbers: bool, what: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return pc.cast(column, pa.float64() if as_numbers else pa.string())
    if is_number(kind):
        if not as_numbers:
            return _spelled(column)
        if pa.types.is_boolean(kind):
            column = pc.cast(column, pa.int8())
        return pc.cast(column, pa.float64(), safe=False)
    if not (is_text(kind) or is_time(kind)):
        raise InputError(
            f"Column {name!r} holds {kind} values, which are neither numbers nor texts. "
            f"Turn it into one of them, or leave it out (--exclude {name})."
        )
    if as_numbers:
        raise InputError(
            f"Column {name!r} holds {kind} values in {what}, and numbers elsewhere. "
            f"Correct that part, or leave the column out (--exclude {name})."
        )
    return pc.cast(column, pa.string())


def _spelled(column: Any) -> Any:
    """Numbers as texts, each different one spelled once."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    texts = pa.array([text_of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def unified_type(kinds: Sequence[Any]) -> Any | None:
    """One type for a column that differs between parts of a table; None where there is none."""
    import pyarrow as pa

    given = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(given) <= 1:
        return given[0] if given else pa.null()
    if all(is_number(kind) for kind in given):
        return pa.float64()
    if all(is_text(kind) for kind in given):
        return pa.string()
    return None


def check_columns(found: Sequence[str], expected: Sequence[str], what: str, first: str) -> None:
    """All of the expected columns and no others, in any order; `what` names the part."""
    lost = [name for name in expected if name not in set(found)]
    more = [name for name in found if name not in set(expected)]
    if lost or more:
        said = [f"no {preview(lost)}"] * bool(lost) + [f"also {preview(more)}"] * bool(more)
        raise InputError(
            f"{what} has other columns than {first}: {' and '.join(said)}. "
            "Give all parts of the table the same columns, or leave this part out."
        )
