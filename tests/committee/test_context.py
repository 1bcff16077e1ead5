"""The same results from processes and threads, one thread inside, and seconds by stage."""

import threading
import time
import warnings

import pytest
import torch
from joblib import parallel_config
from threadpoolctl import threadpool_info

from domindex.committee.context import Timings, Workers, available_threads, one_thread


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


@pytest.fixture
def _three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.usefixtures("_three_threads")
def test_one_thread_inside_and_all_of_them_after():
    before = blas_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
        assert set(blas_threads()) <= {1}
    assert torch.get_num_threads() == 3
    assert blas_threads() == before


@pytest.mark.usefixtures("_three_threads")
def test_threads_are_restored_after_an_error_too():
    with pytest.raises(RuntimeError, match="halfway"), one_thread():
        raise RuntimeError("halfway")
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("_three_threads")
def test_one_thread_can_be_asked_for_twice():
    with one_thread():
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("_three_threads")
def test_what_may_run_beside_the_networks_is_asked_before_they_are_held_to_one():
    assert 1 <= available_threads() <= 3
    with one_thread():
        assert available_threads() == 1


@pytest.mark.usefixtures("_three_threads")
def test_who_leaves_first_does_not_lift_the_limit_of_who_is_still_inside():
    entered, leave, seen = threading.Event(), threading.Event(), []

    def stay():
        with one_thread():
            entered.set()
            leave.wait(10)
            seen.append((torch.get_num_threads(), set(blas_threads())))

    before, staying = blas_threads(), threading.Thread(target=stay)
    with one_thread():
        staying.start()
        entered.wait(10)
    assert torch.get_num_threads() == 3
    leave.set()
    staying.join()
    assert seen[0][0] == 1
    assert seen[0][1] <= {1}
    assert blas_threads() == before
    assert torch.get_num_threads() == 3


def ticking(*times):
    left = iter(times)
    return Timings(clock=lambda: next(left))


def test_a_stage_that_is_entered_again_goes_on():
    timings = ticking(0.0, 1.0, 5.0, 7.0)
    for _ in range(2):
        with timings.stage("validating"):
            pass
    assert timings.seconds == {"validating": 3.0}


def test_a_stage_that_fails_is_counted_and_left():
    timings = ticking(0.0, 2.0, 3.0, 4.0)
    with pytest.raises(ValueError, match="oh"), timings.stage("mapping"):
        raise ValueError("oh")
    with timings.stage("fitting"):
        pass
    assert timings.seconds == {"mapping": 2.0, "fitting": 1.0}


def test_the_table_has_a_row_a_stage_in_their_order():
    timings = ticking(0.0, 1.0, 1.0, 4.0)
    for name in ("mapping", "fitting"):
        with timings.stage(name):
            pass
    table = timings.table()
    assert table["stage"].tolist() == ["mapping", "fitting"]
    assert table["seconds"].tolist() == [1.0, 3.0]
    assert Timings().table().shape == (0, 2)
