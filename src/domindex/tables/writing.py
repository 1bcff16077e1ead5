"""A table written part by part."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

from domindex.tables.reading import Format
from domindex.tables.text_format import delimiter_of


class PartWriter:
    """A CSV or Parquet file to which frames with the same columns are appended."""

    def __init__(self, path: Path, kind: Format) -> None:
        self._path, self._kind = path, kind
        self._sink: Any = None
        self._writer: Any = None

    def __enter__(self) -> PartWriter:
        import pyarrow as pa

        packed = self._path.suffix.lower() == ".gz"
        self._sink = pa.output_stream(str(self._path), compression="gzip" if packed else None)
        return self

    def write(self, frame: pd.DataFrame) -> None:
        """Append the rows of a frame."""
        import pyarrow as pa

        if self._writer is None:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            self._schema = table.schema.remove_metadata()
            self._writer = self._opened(self._schema)
        table = pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
        self._writer.write_table(table)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()
        self._sink.close()

    def _opened(self, schema: Any) -> Any:
        if self._kind == "parquet":
            from pyarrow import parquet

            return parquet.ParquetWriter(self._sink, schema)
        from pyarrow import csv

        options = csv.WriteOptions(delimiter=delimiter_of(self._path, None), quoting_style="needed")
        return csv.CSVWriter(self._sink, schema, write_options=options)
