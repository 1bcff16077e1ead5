"""Tables beyond memory: files as streams, and the sample that is fitted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.inputs.columns import MISSING_WORDS, counted, filled_by, require_roles
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import preview
from domindex.inputs.preparation import TablePreparation, input_names
from domindex.inputs.sampling import SampleSize
from domindex.inputs.streams import (
    Part,
    RowStream,
    StreamPlan,
    StreamSummary,
    as_stream,
    in_batches,
    is_number,
    is_stream,
    reading,
    stream_dataset,
    summarise,
)
from domindex.persistence.paths import usable_path
from domindex.tables.labels import (
    MAX_CLASSES,
    choose_sources,
    classes_as_spelled,
    label_notes,
    label_rows,
    require_labels,
)
from domindex.tables.reading import (
    CONFINED,
    Header,
    TextFormat,
    check_names,
    delimiter_of,
    likely_delimiter,
    require_file,
    require_pyarrow,
    table_format,
)
from domindex.tables.request import FitRequest, FitTable


@dataclass(frozen=True)
class LargeTables:
    """When a table is read in parts, and how."""

    file_bytes: int = 250_000_000  # one to two GB in memory as a data frame
    gzip_factor: int = 4  # by which the bytes of a packed text file count more
    parquet_rows: int = 1_000_000  # of a Parquet file, which may be packed well
    csv_block: int = 16_000_000  # bytes parsed at once; the first block decides kinds of columns
    sample: SampleSize = field(default_factory=SampleSize)  # rows that a model is fitted on
    # Standard errors between the means of a domain's sample and of its rows, before that is said:
    # a random choice does not depart so far, but rows that are repeated often may.
    odd_sample: float = 8.0


LARGE = LargeTables()

Data = Any
"""A path, or a table that is read in parts: a pyarrow dataset, a polars LazyFrame, a Dask frame."""


def name_of(data: Data) -> str:
    """What a run calls its table."""
    if is_stream(data):
        return f"a {type(data).__name__} of {type(data).__module__.split('.')[0]}"
    return usable_path(data).resolve().name


def is_large(data: Data) -> bool:
    """Whether a table is read in parts: a folder, a large file, or what is no file at all."""
    if is_stream(data):
        return True
    path = usable_path(data)
    if CONFINED.get() is not None:  # read whole, by a process with limits
        return False
    if path.is_dir() or not path.is_file():
        return path.is_dir()
    kind, packed = table_format(path), path.suffix.lower() == ".gz"
    has_pyarrow = find_spec("pyarrow") is not None
    if kind == "csv" and not has_pyarrow:
        return False
    if path.stat().st_size * (LARGE.gzip_factor if packed else 1) >= LARGE.file_bytes:
        return not (packed and kind == "parquet")
    if kind != "parquet" or packed or not has_pyarrow:
        return False
    from pyarrow import ArrowException, parquet

    try:
        return bool(parquet.read_metadata(path).num_rows >= LARGE.parquet_rows)
    except (ArrowException, OSError):  # whoever reads it says what is wrong
        return False


def open_stream(
    data: Data, form: TextFormat, texts: Sequence[str] = (), labels: Sequence[str] = ()
) -> RowStream:
    """A file, a folder of Parquet files, or what `as_stream` takes; `texts` as they are spelled,
    and `labels` where they are no numbers."""
    if is_stream(data):
        return as_stream(data)
    path = usable_path(data)
    require_pyarrow(path)
    import pyarrow.dataset as ds

    if path.is_dir():
        files, how = _parquet_files(path), {"partitioning": "hive", "partition_base_dir": str(path)}
        with reading(str(path)):  # folders named like year=2020 are columns
            return stream_dataset(ds.dataset(files, format="parquet", **how), str(path))
    require_file(path)
    if table_format(path) == "csv":
        return _stream_csv(path, form, texts, labels)
    with reading(str(path)):
        dataset = ds.dataset(path, format="parquet")
        check_names(path, dataset.schema.names)
        return stream_dataset(dataset, str(path))


def _parquet_files(path: Path) -> list[str]:
    """Those of a folder and of the folders in it."""
    files = sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if name.lower().endswith(".parquet") and not name.startswith((".", "_"))
    )
    if not files:
        raise InputError(
            f"{path} is a folder without Parquet files. Name a folder that holds some, or a CSV or "
            "Parquet file."
        )
    return files


def _stream_csv(
    path: Path, form: TextFormat, texts: Sequence[str], labels: Sequence[str]
) -> RowStream:
    """A text file, plain or gzipped; its first block decides kinds of columns."""
    import pyarrow as pa

    form = replace(form, delimiter=delimiter_of(path, form.delimiter))
    with reading(str(path)), _open_csv(path, form, {}) as reader:
        schema = reader.schema
    other = likely_delimiter(schema.names[0]) if len(schema.names) == 1 else None
    if other is not None and other != form.delimiter:
        return _stream_csv(path, replace(form, delimiter=other), texts, labels)
    header = Header.of(schema.names)
    if any("\n" in name for name in schema.names):  # the header stands on several lines
        check_names(path, schema.names)
        header = replace(header, names=schema.names)
    types = dict(zip(header.names, schema.types))
    for name, kind in types.items():
        if name in texts or not is_number(kind):
            types[name] = pa.string()
        elif pa.types.is_boolean(kind):
            types[name] = pa.string() if name in labels else kind  # classes as they are spelled
        else:
            types[name] = pa.float64()  # whole numbers may be followed by others
    return RowStream(str(path), types, [partial(_read_csv, path, form, types)])


def _read_csv(
    path: Path, form: TextFormat, types: dict[str, Any], columns: list[str]
) -> Iterator[Part]:
    import pyarrow as pa

    with reading(str(path)), _open_csv(path, form, types) as reader:
        for batch in reader:
            yield from in_batches(pa.Table.from_batches([batch]).select(columns), str(path))


def _open_csv(path: Path, form: TextFormat, types: dict[str, Any]) -> Any:
    """A reader of blocks; words for missing values count in columns of numbers only.

    Columns are called as in `types`, or as in the header where there are none.
    """
    import pyarrow as pa
    from pyarrow import csv

    has_header = not types or any("\n" in name for name in types)
    words = [spelled(word) for word in MISSING_WORDS for spelled in (str, str.upper, str.title)]
    return csv.open_csv(
        pa.input_stream(str(path), compression="detect"),
        read_options=csv.ReadOptions(
            block_size=LARGE.csv_block,
            encoding=form.encoding or "utf8",
            column_names=None if has_header else list(types),
            skip_rows=0 if has_header else 1,
        ),
        parse_options=csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=["", *words, "NaN", *form.na],
            strings_can_be_null=False,
            decimal_point=form.decimal or ".",
        ),
    )


def summarise_table(
    data: Data,
    *,
    domain: str,
    targets: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    delimiter: str | None = None,
    seed: int = 0,
) -> StreamSummary:
    """One pass over a table of any size: counts, moments and categories, and a bounded sample.

    Parameters
    ----------
    data : a CSV or Parquet file, a folder of these, a pyarrow dataset, LazyFrame or Dask frame
    domain : the column that names the domain
    targets : the columns to predict
    inputs : the other columns to read; all where None
    sources : the labelled domains; labels of others are not read. None takes all with any label
    categorical : columns of numbers that are categories
    delimiter : between the columns of a text file; as its header looks where None
    seed : of the sample

    Examples
    --------
    >>> summary = summarise_table("patients.csv", domain="hospital", targets=["complication"])
    >>> int(summary.n_rows.sum())
    150
    """
    stream = open_stream(data, TextFormat(delimiter), [domain])
    require_roles(stream.columns, {"domain": [domain], "target": targets, "inputs": inputs or ()})
    if inputs is None:
        inputs = [name for name in stream.columns if name not in {domain, *targets}]
    roles = (domain, tuple(targets), tuple(inputs))
    return _summarise(stream, roles, sources, categorical, seed)


def _summarise(
    stream: RowStream,
    roles: tuple[str, tuple[str, ...], tuple[str, ...]],
    sources: Sequence[str] | None,
    categorical: Sequence[str],
    seed: int,
) -> StreamSummary:
    numbers = stream.numbers - set(categorical)
    is_source = None if sources is None else frozenset(sources).__contains__
    return summarise(stream, StreamPlan(*roles, numbers, is_source, seed, LARGE.sample))


def read_sample(request: FitRequest) -> FitTable:
    """A sample to fit: all rows say which columns and categories there are, it says what fills."""
    labels = classes_as_spelled(request.target, request.task)
    stream = open_stream(request.data, request.form, [request.domain.strip()], labels)
    request = request.resolved(stream.columns)
    if request.domain_by is not None:
        raise InputError(
            f"Domains by {request.domain_by} are not made of a table that is read in parts. Write "
            "the domain of every row into a column of its own."
        )
    require_roles(stream.columns, request.roles)
    inputs = input_names(stream.columns, request.reserved, request)
    roles = (request.domain, tuple(request.target), tuple(inputs))
    summary = _summarise(stream, roles, request.sources, request.categorical, request.seed)
    counts = summary.counts()
    known = np.asarray(counts["labelled"] > 0)
    sources = choose_sources([str(name) for name in counts.index], known, request.sources)
    require_labels(name for name in sources if not counts.loc[name, "labelled"])
    table, task = summary.sample(sources), _task(request, summary)
    named = (request.domain, request.target, sources, task)
    rows = label_rows(table, *named, spelling=request.spelling)
    preparation, notes = TablePreparation.fit(
        rows.table[inputs],
        domains=rows.domains,
        is_source=rows.is_source,
        request=request,
        facts=summary.columns,
    )
    filled = _filled(summary, preparation, request.least_shown)
    odd = _odd_domains(summary, table, sources)
    n_rows = int(summary.n_rows.sum())
    about = {
        "file": name_of(request.data),
        "rows": n_rows,
        "columns": request.shown(stream.columns),
        "sampled": len(table),
    }
    most, of_sources = table[request.domain].value_counts().max(), counts.loc[sources]
    size = f"{len(table)} of {n_rows} rows, at most {most} of a domain"
    lost = int((of_sources["rows"] - of_sources["labelled"]).sum())
    sampled = [f"Learned from a sample of {size}."] if len(table) < n_rows else []
    said = (*sampled, *label_notes(summary.n_ignored, lost), *notes, *filled, *odd)
    return FitTable(request, rows, preparation, said, about)


def _task(request: FitRequest, summary: StreamSummary) -> Task | Literal["auto"]:
    """As for a small table, where all labels count: few whole numbers are classes."""
    if request.task != "auto" or len(request.target) != 1:
        return request.task
    few = summary.columns[request.target[0]].few
    many = few is None or len(few) > MAX_CLASSES
    return "regression" if many and request.target[0] in summary.plan.numbers else "auto"


def _filled(summary: StreamSummary, preparation: TablePreparation, least: int) -> list[str]:
    """How often inputs are missing in all rows; counts below `least` are not said."""
    counts = {name: summary.columns[name].missing for name in preparation.names}
    missing = {name: count for name, count in counts.items() if count}
    if missing and preparation.missing == "error":
        name = max(missing, key=lambda name: missing[name])
        raise InputError(
            f"{sum(missing.values())} inputs are missing, most in {name!r} ({missing[name]}). "
            "Fill them in, or let them be imputed (--missing impute)."
        )
    drawn = preparation.drawn_columns
    simple = {name: count for name, count in missing.items() if name not in drawn}
    others = Counter({name: count for name, count in missing.items() if name in drawn})
    notes = [
        f"Missing inputs are filled in by the sources' {what}: {counted(part, least)}."
        for what, part in filled_by(simple, preparation.category_columns).items()
    ]
    if others:
        listed = counted(others, least)
        notes.append(f"Missing inputs are drawn from what the others say of them: {listed}.")
    return notes


def _odd_domains(summary: StreamSummary, table: pd.DataFrame, sources: Sequence[str]) -> list[str]:
    """A word on domains whose sample is not like their rows, as the streamed moments show."""
    counts, numbers = summary.counts(), list(summary.numbers)
    # of a source only rows with a label are sampled
    whole = counts["labelled"].isin([0]) | (counts["labelled"] == counts["rows"])
    names = list(counts.index[whole | ~counts.index.isin(sources)])
    if not numbers or not names:
        return []
    grouped = table.groupby(summary.plan.domain)[numbers]
    means, sizes = grouped.mean().loc[names], grouped.count().loc[names]
    spread = summary.deviations().loc[names] / np.sqrt(sizes.clip(lower=1))
    gaps = (means - summary.means().loc[names]).abs()
    odd = gaps[(gaps > LARGE.odd_sample * spread) & (spread > 0)].notna().any(axis=1)
    if not odd.any():
        return []
    return [
        f"The sample of {preview(odd.index[odd], 3)} is not like all of their rows: some rows are "
        "repeated many times there. Add a column that tells rows apart, or shuffle and thin them."
    ]
