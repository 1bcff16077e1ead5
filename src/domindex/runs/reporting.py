"""The report of a run: its content is gathered while the data is at hand, and drawn at any time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from domindex.data.folders import new_file
from domindex.data.json_files import write_json
from domindex.errors import DomindexError
from domindex.reporting import report_data, write_run_report
from domindex.reporting.report import CONTENT_FILE
from domindex.runs.run import Run


def gather_report(
    run: Run,
    model: Any,
    inputs: pd.DataFrame,
    labels: np.ndarray,
    domains: list[str],
    others: pd.DataFrame,
) -> str | None:
    """Write the content of the report into the run; the reason where that was not possible.

    `others` are columns that are no inputs, by which the map can be coloured.
    """
    try:
        content = report_data(
            model,
            inputs,
            labels,
            domains,
            columns=others,
            title=f"{run.about['data']['file']}: {', '.join(run.about['targets'])}",
            seconds=run.about["seconds"]["fitting"],
        )
        with new_file(run.folder / CONTENT_FILE, overwrite=True) as draft:
            write_json(draft, content.to_dict())
    except DomindexError as error:
        return str(error)
    return None


def draw_report(folder: Path) -> Path:
    """Write the report of a run as one HTML file, from the content that was gathered."""
    return write_run_report(Run.open(folder).folder)
