"""`python -m domindex_bench` is `domindex-bench`."""

from domindex_bench.cli import main

main()
