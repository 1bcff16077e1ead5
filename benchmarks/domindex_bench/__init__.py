"""Suites of methods on datasets: measured once, kept in one record, rendered as tables."""

from domindex_bench.methods import METHODS, Method, list_methods
from domindex_bench.published import Published, published
from domindex_bench.record import Cell, CellResult, Record, source_tree
from domindex_bench.rendering import render_suite, write_documents
from domindex_bench.suite import Suite, SuiteDataset, find_suite, list_suites

__all__ = [
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
    "render_suite",
    "source_tree",
    "write_documents",
]
