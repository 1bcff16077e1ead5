"""One thread inside, and as many as before outside."""

import threading

import pytest
import torch
from threadpoolctl import threadpool_info

from domindex.committee.context import available_threads, one_thread


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
