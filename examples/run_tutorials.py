"""Run the notebooks of docs/tutorials and keep their outputs: python examples/run_tutorials.py.

With names (`hospitals`, `housing`, `pictures`, `sensors`) only those. Each is run in an empty
folder, in a kernel of its own. What would tell one machine or one run from another is left out.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
LONGEST = 240
"""Seconds that a cell may take."""


def run_notebook(path: Path, folder: str | os.PathLike[str]) -> Any:
    """The notebook with new outputs; a cell that raises raises here."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(
        notebook, timeout=LONGEST, kernel_name="python3", resources=resources, record_timing=False
    ).execute()
    return cleaned(notebook)


def cleaned(notebook: Any) -> Any:
    """Without names of kernels and versions, and without what a cell said on standard error."""
    notebook.metadata = {"language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    return notebook


def main() -> None:
    asked = sys.argv[1:]
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        if asked and path.stem not in asked:
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            notebook = run_notebook(path, folder)
        nbformat.write(notebook, path)
        print(f"{path.name}: {time.perf_counter() - start:.0f} s, {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
