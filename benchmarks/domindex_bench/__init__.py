"""Suites of methods on datasets: measured once, kept in one record, rendered as tables."""

from domindex_bench.cells import Cell, CellResult
from domindex_bench.methods import METHODS, Method, list_methods
from domindex_bench.published import Published, published
from domindex_bench.record import Record
from domindex_bench.rendering import render_headline, render_suite, write_documents
from domindex_bench.running import BenchmarkRun, run_benchmark
from domindex_bench.settings_hash import settings_hash, settings_of
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.suites import find_suite, list_suites

__all__ = [
    "BenchmarkRun",
    "Cell",
    "CellResult",
    "METHODS",
    "Method",
    "Published",
    "Record",
    "Suite",
    "SuiteDataset",
    "find_suite",
    "list_methods",
    "list_suites",
    "published",
    "render_headline",
    "render_suite",
    "run_benchmark",
    "settings_hash",
    "settings_of",
    "write_documents",
]
