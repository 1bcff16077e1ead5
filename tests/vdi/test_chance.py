"""Random numbers of a fit's own."""

import pickle
import threading

import pytest
import torch
from torch import nn

from domindex.vdi.rng import TorchRng, alone_with_torch, generators_kept


def weights(network) -> torch.Tensor:
    return torch.cat([one.detach().flatten() for one in network.parameters()])


def drawn_in_all_ways() -> list[torch.Tensor]:
    like = torch.zeros(4)
    return [
        weights(nn.Linear(3, 2)),
        torch.randn(3),
        torch.rand(3),
        torch.randperm(9),
        torch.randint(50, (4,)),
        torch.randint(10, 50, (4,)),
        torch.randn_like(like),
        torch.rand_like(like),
        nn.functional.dropout(torch.ones(9), 0.5),
        torch.bernoulli(torch.full((9,), 0.5)),
        torch.multinomial(torch.ones(9), 3),
        torch.normal(0.0, 1.0, (3,)),
    ]


def test_a_seed_gives_the_numbers_that_torch_would_give_and_leaves_its_generator_alone():
    with torch.random.fork_rng():
        torch.manual_seed(7)
        expected = drawn_in_all_ways()
        before = torch.get_rng_state()
        with TorchRng(7).as_default():
            found = drawn_in_all_ways()
        assert torch.equal(before, torch.get_rng_state())
    for one, other in zip(expected, found):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_what_was_given_a_generator_keeps_it():
    own, chance = torch.Generator().manual_seed(1), TorchRng(2)
    with chance.as_default():
        found = torch.randn(3, generator=own)
    assert torch.equal(found, torch.randn(3, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(torch.randn(3, generator=chance.on("cpu")), _first_of(2))


def _first_of(seed) -> torch.Tensor:
    return torch.randn(3, generator=torch.Generator().manual_seed(seed))


def test_lending_is_the_threads_own():
    inside, go = threading.Event(), threading.Event()
    found = {}

    def lend():
        with TorchRng(3).as_default():
            inside.set()
            go.wait(10)
            found["lent"] = torch.randn(3)

    other = threading.Thread(target=lend)
    other.start()
    inside.wait(10)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        found["own"] = torch.randn(3)
    go.set()
    other.join()
    assert torch.equal(found["own"], _first_of(5))
    assert torch.equal(found["lent"], _first_of(3))


@pytest.mark.parametrize("how", ["state", "pickle"])
def test_it_goes_on_where_it_was(how):
    chance = TorchRng(4)
    torch.randn(10, generator=chance.on("cpu"))
    if how == "state":
        other = TorchRng(0)
        other.on("cpu")
        other.restore(chance.state())
    else:
        other = pickle.loads(pickle.dumps(chance))
    expected = torch.randn(5, generator=chance.on("cpu"))
    assert torch.equal(torch.randn(5, generator=other.on("cpu")), expected)


def test_generators_of_the_process_come_back_when_the_last_of_several_is_done():
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first, second = generators_kept(1), generators_kept(2)
    with first:
        second.__enter__()
        torch.randn(3)
    torch.randn(3)
    second.__exit__(None, None, None)
    assert torch.equal(before, torch.get_rng_state())


def test_code_that_seeds_torch_itself_is_let_and_undone():
    torch.manual_seed(12)
    before = torch.get_rng_state()
    with alone_with_torch(1):
        torch.manual_seed(2)
        assert torch.equal(torch.randn(3), _first_of(2))
    assert torch.equal(before, torch.get_rng_state())


def test_a_state_that_was_taken_before_anything_was_drawn_goes_back_to_the_seed():
    chance = TorchRng(6)
    before = chance.state()
    torch.randn(9, generator=chance.on("cpu"))
    chance.restore(before)
    assert torch.equal(torch.randn(3, generator=chance.on("cpu")), _first_of(6))
