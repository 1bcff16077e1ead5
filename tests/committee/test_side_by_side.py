"""The same results from processes, from threads, and one after the other."""

import threading
import time
import warnings

import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_info

from domindex.committee.context import Workers


def squared(number):
    return number**2


def slower_first(number):
    time.sleep(0.02 * (3 - number))
    return number, threading.get_ident()


@pytest.mark.parametrize("workers", [Workers(), Workers(1), Workers(None, 3), Workers(2, 3)])
def test_results_come_in_the_order_of_the_arguments(workers):
    results = workers.run(squared, [(n,) for n in range(7)], in_threads=True)
    assert list(results) == [n**2 for n in range(7)]


def test_threads_are_used_where_the_work_may_be_done_in_them():
    given = [(n,) for n in range(3)]
    numbers, threads = zip(*Workers(None, 3).run(slower_first, given, in_threads=True))
    assert numbers == (0, 1, 2)
    assert len(set(threads)) > 1
    _, threads = zip(*Workers(None, 3).run(slower_first, given))
    assert set(threads) == {threading.get_ident()}


def test_who_asks_for_one_process_gets_one_thread():
    assert not Workers(1, 4).has_threads
    assert not Workers(None, 1).has_threads
    assert Workers(None, 4).has_threads
    with parallel_config(backend="loky", n_jobs=2):
        assert not Workers(None, 4).has_threads


def openmp_threads(_):
    return max(
        (p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"), default=1
    )


def test_compiled_code_has_one_thread_in_each():
    assert set(Workers(None, 2).run(openmp_threads, [(0,), (1,)], in_threads=True)) == {1}


def test_an_error_in_a_thread_is_raised_to_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(Workers(None, 2).run(lambda n: 1 / n, [(1,), (0,)], in_threads=True))


def ignoring(_):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        time.sleep(0.01)


def test_filters_of_warnings_are_what_they_were():
    before = list(warnings.filters)
    list(Workers(None, 4).run(ignoring, [(n,) for n in range(8)], in_threads=True))
    assert list(warnings.filters) == before


def test_a_false_alarm_of_forests_in_threads_is_not_shown():
    """Their filters are swapped by other threads; other warnings are heard."""

    def warn(text):
        warnings.warn(text, UserWarning, stacklevel=1)

    texts = ["`sklearn.utils.parallel.delayed` should be used with Parallel", "something else"]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        list(Workers(None, 2).run(warn, [(text,) for text in texts], in_threads=True))
    assert [str(one.message) for one in heard] == ["something else"]
