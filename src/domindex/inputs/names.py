"""Domain names as users write them: strings, integers, anything hashable with a text of its own."""

from __future__ import annotations

import numbers
import unicodedata
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import DomainNameWarning, InputError
from domindex.inputs.messages import frames_inside, preview


def check_domain_names(sample_domain: Any, n_rows: int) -> list[Hashable]:
    """The domain name of every row as plain Python values, none missing.

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.inputs import check_domain_names
    >>> check_domain_names(np.array([2019, 2020, 2020]), n_rows=3)
    [2019, 2020, 2020]
    """
    if sample_domain is None:
        raise InputError(
            f"sample_domain is missing: there are {n_rows} rows and no domain for any of them. "
            "Pass one domain name per row, for example sample_domain=table['hospital']; or, to fit "
            "without names, order=, times or numbers along which the rows were drawn. Rows alone "
            "make no domains: nothing says which cluster of one belongs to which of another."
        )
    names = _as_sequence(sample_domain)
    are_plain = set(map(type, names)) <= {str, int}
    if not are_plain:
        names = [name.item() if isinstance(name, np.generic) else name for name in names]
    if len(names) != n_rows:
        raise InputError(
            f"sample_domain has {len(names)} entries, but X has {n_rows} rows. "
            "Pass exactly one domain name per row."
        )
    if are_plain:  # millions of rows need not be looked at one by one
        return names
    missing = [row for row, name in enumerate(names) if is_missing(name)]
    if missing:
        raise InputError(
            f"sample_domain is empty (None or NaN) in {len(missing)} of {n_rows} rows, "
            f"the first at row {preview(missing)}. Name the domain of these rows or leave them out."
        )
    for row, name in enumerate(names):
        try:
            hash(name)
        except TypeError:
            raise InputError(
                f"sample_domain holds a {type(name).__name__} at row {row}, "
                "which cannot name a domain. Use strings, integers or tuples."
            ) from None
    return names


def order_names(names: Iterable[Hashable]) -> list[Hashable]:
    """Distinct names in a stable order: by value where all are numbers, else by their text.

    Examples
    --------
    >>> from domindex.inputs import order_names
    >>> order_names([10, 9, 10])
    [9, 10]
    """
    distinct = list(dict.fromkeys(names))
    if all(isinstance(name, numbers.Real) for name in distinct):
        return sorted(distinct)  # type: ignore[type-var]
    by_text: dict[str, Hashable] = {}
    for name in distinct:
        text = str(name)
        if text in by_text:
            raise InputError(
                f"sample_domain holds {by_text[text]!r} and {name!r}, which both read {text!r}. "
                "Domains are told apart by their text: convert all names to one type."
            )
        by_text[text] = name
    return [by_text[text] for text in sorted(by_text)]


def warn_of_look_alikes(names: Iterable[Hashable], known: Iterable[Hashable]) -> None:
    """Warn where a new name reads like a known one: a table gives 1 where another gave "1"."""
    known = list(known)
    new = set(names) - set(known)
    by_text = {str(name): name for name in known} if new else {}
    alike = [name for name in new if str(name) in by_text]
    if alike:
        first = min(alike, key=str)
        meant = by_text[str(first)]
        warnings.warn(
            f"sample_domain holds {first!r}, which is not {meant!r} of the fit: {len(alike)} "
            "domain(s) that read like known ones count as new. Convert the names to the type that "
            f"fit saw ({type(meant).__name__}).",
            DomainNameWarning,
            stacklevel=frames_inside(),
        )


def look_alikes(names: Iterable[Hashable], known: Iterable[Hashable]) -> dict[str, str]:
    """New names that are a known one which is not among them: in other capitals, with blanks, in
    another Unicode form, or as the bytes of a text that was read in a wrong encoding.

    Examples
    --------
    >>> from domindex.inputs.names import look_alikes
    >>> look_alikes(["bonn ", "KÃ¶ln", "Ulm"], ["Bonn", "Köln"])
    {'bonn ': 'Bonn', 'KÃ¶ln': 'Köln'}
    """
    present, there = list(dict.fromkeys(names)), list(known)
    new = [name for name in present if name not in set(there) and isinstance(name, str)]
    lost = [name for name in there if name not in set(present) and isinstance(name, str)]
    if not new or not lost:
        return {}
    by_text = {_plain(name): name for name in lost}
    found = {}
    for name in new:
        readings = [name]
        for read_as, meant in (("cp1252", "utf-8"), ("latin-1", "utf-8"), ("utf-8", "cp1252")):
            with suppress(UnicodeError):
                readings.append(name.encode(read_as).decode(meant))
        known_name = next((by_text[one] for one in map(_plain, readings) if one in by_text), None)
        if known_name is not None:
            found[name] = known_name
    return found


def _plain(name: str) -> str:
    """A name without what readers overlook, or cannot see."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()


def number_names(names: Sequence[Hashable], domains: Sequence[Hashable]) -> NDArray[np.int64]:
    """Position of every name in `domains`, shape (rows,)."""
    position = {name: number for number, name in enumerate(domains)}
    return np.fromiter(map(position.__getitem__, names), dtype=np.int64, count=len(names))


def group_rows(
    names: Sequence[Hashable] | None, n_rows: int
) -> Iterator[tuple[Hashable | None, NDArray[np.int64]]]:
    """Each domain with the numbers of its rows; all rows under None where there are no names.

    Examples
    --------
    >>> from domindex.inputs import group_rows
    >>> {name: rows.tolist() for name, rows in group_rows(["b", "a", "b"], n_rows=3)}
    {'a': [1], 'b': [0, 2]}
    """
    if names is None:
        yield None, np.arange(n_rows)
        return
    present = order_names(names)
    numbers = number_names(names, present)
    order = np.argsort(numbers, kind="stable")
    yield from zip(present, np.split(order, np.cumsum(np.bincount(numbers))[:-1]))


def _as_sequence(sample_domain: Any) -> list[Any]:
    if isinstance(sample_domain, str | bytes):
        raise InputError(
            f"sample_domain is one text, {sample_domain!r}. Pass a sequence with one name per row."
        )
    convert = getattr(sample_domain, "tolist", None) or getattr(sample_domain, "to_list", None)
    shape = getattr(sample_domain, "shape", None)
    if convert is not None and shape is not None and len(shape) != 1:
        raise InputError(
            f"sample_domain has shape {tuple(shape)}, but one name per row is needed. "
            "Pass a 1-D array or a list."
        )
    try:
        return list(sample_domain if convert is None else convert())
    except TypeError:
        raise InputError(
            f"sample_domain is a {type(sample_domain).__name__}. "
            "Pass a sequence with one domain name per row."
        ) from None


def is_missing(name: Any) -> bool:
    """None, NaN and the missing values of data frames, which differ from themselves or say so."""
    if name is None or type(name).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(name, Decimal):
        return name.is_nan()  # one of its kinds refuses to be compared
    return isinstance(name, float) and name != name
