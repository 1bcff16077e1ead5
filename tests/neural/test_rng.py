"""Random numbers of a fit's own."""

import threading

import torch
from torch import nn

from domindex.neural.rng import TorchRng, preserve_generators, seeded_torch


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
    own, rng = torch.Generator().manual_seed(1), TorchRng(2)
    with rng.as_default():
        found = torch.randn(3, generator=own)
    assert torch.equal(found, torch.randn(3, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(torch.randn(3, generator=rng.on("cpu")), _first_of(2))


def _first_of(seed) -> torch.Tensor:
    return torch.randn(3, generator=torch.Generator().manual_seed(seed))


def test_the_default_is_the_threads_own():
    inside, go = threading.Event(), threading.Event()
    found = {}

    def draw():
        with TorchRng(3).as_default():
            inside.set()
            go.wait(10)
            found["inside"] = torch.randn(3)

    other = threading.Thread(target=draw)
    other.start()
    inside.wait(10)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        found["own"] = torch.randn(3)
    go.set()
    other.join()
    assert torch.equal(found["own"], _first_of(5))
    assert torch.equal(found["inside"], _first_of(3))


def test_it_goes_on_where_it_was():
    rng, other = TorchRng(4), TorchRng(0)
    torch.randn(10, generator=rng.on("cpu"))
    other.restore(rng.state())
    expected = torch.randn(5, generator=rng.on("cpu"))
    assert torch.equal(torch.randn(5, generator=other.on("cpu")), expected)


def test_generators_of_the_process_come_back_when_the_last_of_several_is_done():
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first, second = preserve_generators(1), preserve_generators(2)
    with first:
        second.__enter__()
        torch.randn(3)
    torch.randn(3)
    second.__exit__(None, None, None)
    assert torch.equal(before, torch.get_rng_state())


def test_code_that_seeds_torch_itself_is_let_and_undone():
    torch.manual_seed(12)
    before = torch.get_rng_state()
    with seeded_torch(1):
        torch.manual_seed(2)
        assert torch.equal(torch.randn(3), _first_of(2))
    assert torch.equal(before, torch.get_rng_state())


def test_a_state_that_was_taken_before_anything_was_drawn_goes_back_to_the_seed():
    rng = TorchRng(6)
    before = rng.state()
    torch.randn(9, generator=rng.on("cpu"))
    rng.restore(before)
    assert torch.equal(torch.randn(3, generator=rng.on("cpu")), _first_of(6))
