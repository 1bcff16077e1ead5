"""Measurements that are no suite, each run with `python -m domindex_bench.scripts.NAME`."""
