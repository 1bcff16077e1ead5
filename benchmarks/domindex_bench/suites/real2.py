"""Sixteen more real datasets, beside those of the suite `real`."""

from domindex_bench.data.real import MORE
from domindex_bench.suites.real import real_suite

SUITE = real_suite("real2", "More real data", MORE)
