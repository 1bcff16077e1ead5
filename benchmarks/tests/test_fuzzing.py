"""The harness that counts what becomes of hostile calls."""

import os
import signal
import sys

import pytest

from domindex_bench.scripts import fuzz

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork a process")


def test_a_call_that_ends_its_process_is_a_crash_and_the_next_is_made(monkeypatch):
    monkeypatch.setattr(fuzz, "CALLS_A_CHILD", 3)

    def one(seed):
        if seed == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 6:
            sys.exit(3)
        return "fine", f"of {seed}"

    found = list(fuzz.in_children(one, range(2, 9)))
    assert [seed for seed, _, _ in found] == list(range(2, 9))
    assert [seed for seed, kind, _ in found if kind == "crash"] == [4, 6]
    assert {seed: words for seed, _, words in found}[8] == "of 8"


def test_a_run_whose_table_of_candidates_lost_a_column_is_refused():
    """Found by the fuzzer: a KeyError of pandas came through."""
    counts = fuzz.fuzz("run folders", 50017, 1)
    assert counts["refused"] == 1
    assert counts["foreign"] == 0
