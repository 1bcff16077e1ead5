"""The report of a run: its content is gathered while the data is at hand, and drawn at any time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from domindex.errors import DomindexError
from domindex.persistence.atomic import new_file
from domindex.persistence.json_files import write_json
from domindex.reporting import report_data, write_run_report
from domindex.reporting.report import CONTENT_FILE
from domindex.tables.privacy import without_row_values
from domindex.tables.rows import LabelledRows
from domindex.tables.run import Run


def report_run(
    run: Run,
    model: Any,
    inputs: pd.DataFrame,
    rows: LabelledRows,
    others: pd.DataFrame,
    *,
    share: bool = False,
) -> list[str]:
    """Gather the content of the report into the run and draw it; says what could not be done.

    A fit is worth keeping without its report, so nothing is raised. `others` are columns that are
    no inputs, by which the map can be coloured. `share` hides small counts.
    """
    try:
        _gather(run, model, inputs, rows, others, share)
    except DomindexError as error:
        return [f"there is no report: {error}"]
    try:
        draw_report(run.folder)
    except DomindexError as error:
        return [f"the report was not drawn: {error}"]
    return []


def draw_report(folder: str | os.PathLike[str]) -> Path:
    """Write the report of a run as one HTML file, from the content that was gathered.

    Examples
    --------
    >>> from domindex.tables import draw_report
    >>> draw_report("nothing-here")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    return write_run_report(Run.open(folder).folder)


def _gather(
    run: Run,
    model: Any,
    inputs: pd.DataFrame,
    rows: LabelledRows,
    others: pd.DataFrame,
    share: bool,
) -> None:
    content = report_data(
        model,
        inputs,
        rows.labels.values,
        rows.domains,
        columns=others,
        table=rows.table[[column.name for column in run.preparation().columns]],
        title=f"{run.about['data']['file']}: {', '.join(run.about['targets'])}",
        seconds=run.about["seconds"]["fitting"],
        preparation=run.notes,
    )
    with new_file(run.folder / CONTENT_FILE, overwrite=True) as draft:
        write_json(draft, without_row_values(content.to_dict(), share=share))
