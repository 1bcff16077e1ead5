"""Suites of methods on datasets: measured once, kept in one record, rendered as tables."""

from domindex.benchmark.cells import Cell, CellResult
from domindex.benchmark.methods import METHODS, Method, list_methods
from domindex.benchmark.published import Published, published
from domindex.benchmark.record import Record
from domindex.benchmark.rendering import render_headline, render_suite, write_documents
from domindex.benchmark.running import BenchmarkRun, run_benchmark
from domindex.benchmark.settings_hash import settings_hash, settings_of
from domindex.benchmark.suite import Suite, SuiteDataset
from domindex.benchmark.suites import find_suite, list_suites

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
