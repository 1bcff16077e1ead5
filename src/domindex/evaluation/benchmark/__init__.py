"""Every method on every dataset, beside the paper's figures; resumable, over cores or a cluster."""

from domindex.evaluation.benchmark.cells import Cell, CellResult
from domindex.evaluation.benchmark.journal import Journal
from domindex.evaluation.benchmark.methods import METHODS, Method, list_methods
from domindex.evaluation.benchmark.published import Published, published
from domindex.evaluation.benchmark.running import BenchmarkRun, run_benchmark
from domindex.evaluation.benchmark.tables import headline_table, render_tables

__all__ = [
    "BenchmarkRun",
    "Cell",
    "CellResult",
    "Journal",
    "METHODS",
    "Method",
    "Published",
    "headline_table",
    "list_methods",
    "published",
    "render_tables",
    "run_benchmark",
]
