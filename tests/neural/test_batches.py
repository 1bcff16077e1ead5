"""Batches of training rows: the right rows, labels, neighbours and domains."""

import numpy as np
import pytest
import torch

from domindex.inputs import DomainData
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.neural.settings import TrainingSettings
from domindex.representations import RepresentedRows


def rows_of(is_source, rows_per_domain=5, task="classification") -> TrainingRows:
    """Every row carries its own number and its domain's; its label is ten times the domain."""
    n_domains = len(is_source)
    of_row = np.repeat(np.arange(n_domains), rows_per_domain)
    inputs = np.column_stack([np.arange(len(of_row)), of_row]).astype(float)
    data = DomainData(
        inputs=inputs,
        labels=10 * of_row if task == "classification" else 10.0 * of_row[:, None],
        row_domains=of_row,
        domains=tuple(range(n_domains)),
        is_source=np.array(is_source),
        task=task,
    )
    return TrainingRows.of(data, inputs.copy(), torch.device("cpu"))


def sampler_of(rows, seed=0, links=None, **settings) -> BatchSampler:
    rng = np.random.default_rng(seed)
    return BatchSampler(rows, TrainingSettings(**settings), rng, line(rows.data.n_domains), links)


def line(n_domains) -> np.ndarray:
    """A map of index_dim 2 with the domains in order along its first axis."""
    return np.column_stack([np.arange(n_domains, dtype=float), np.zeros(n_domains)])


SIX = [True, False, True, False, False, True]


def test_a_batch_has_the_shapes_it_says():
    batch = sampler_of(rows_of(SIX), batch_size=4).draw()
    assert batch.x.shape == (6, 4, 2)
    assert batch.labels.shape == (3, 4)
    assert batch.raw_index.shape == batch.neighbor_index.shape == (6, 2)
    assert batch.facts.links.shape == (6, 6)
    assert batch.x.dtype == batch.raw_index.dtype == torch.float32
    assert batch.labels.dtype == torch.int64


def test_values_keep_their_outputs():
    batch = sampler_of(rows_of(SIX, task="regression"), batch_size=4).draw()
    assert batch.labels.shape == (3, 4, 1)
    assert batch.labels.dtype == torch.float32


def test_labels_belong_to_the_rows_of_the_sources():
    batch = sampler_of(rows_of(SIX), batch_size=4).draw()
    assert batch.sources.tolist() == [0, 2, 5]
    torch.testing.assert_close(batch.labels.float(), 10 * batch.x[batch.sources][..., 1])


def test_neighbours_on_the_spanning_tree_lend_their_index():
    sampler = sampler_of(rows_of([True] * 8))
    lent = {number: set() for number in range(8)}
    for _ in range(60):
        batch = sampler.draw()
        for own, other in zip(batch.raw_index[:, 0], batch.neighbor_index[:, 0]):
            lent[int(own)].add(int(other))
    assert lent[4] == {3, 5}
    assert lent[0] == {1}
    assert lent[2] == {1, 3}


def test_the_graph_joins_the_closest_pairs():
    batch = sampler_of(rows_of([True] * 5), link_quantile=0.4).draw()
    numbers = torch.arange(5)
    assert torch.equal(batch.facts.links, (numbers[:, None] - numbers).abs() == 1)


def test_a_graph_that_is_given_is_taken():
    links = np.zeros((6, 6), dtype=bool)
    links[0, 5] = links[5, 0] = True
    batch = sampler_of(rows_of(SIX), links=links).draw()
    np.testing.assert_array_equal(batch.facts.links, links)


def test_a_row_is_represented_as_its_representation_tells_it():
    rows = rows_of(SIX)
    plain = sampler_of(rows).draw()
    assert torch.equal(plain.represented, plain.x)
    other = rows.represented_as(
        RepresentedRows.plain(np.hstack([-rows.data.inputs, rows.data.inputs]))
    )
    batch = sampler_of(other).draw()
    assert torch.equal(batch.represented, torch.cat([-batch.x, batch.x], dim=-1))
    assert batch.represented.dtype == torch.float32


def test_pictures_stay_pictures_for_the_indices_and_are_laid_flat_for_the_encoder():
    data = rows_of(SIX).data
    rows = TrainingRows.of(data, np.random.default_rng(0).normal(size=(30, 2, 3)), "cpu")
    batch = sampler_of(rows, batch_size=4).draw()
    assert batch.x.shape == (6, 4, 2, 3)
    assert torch.equal(batch.represented, batch.x.flatten(2))


def test_values_on_another_scale_replace_the_labels_alone():
    rows = rows_of(SIX, task="regression")
    scaled = rows.with_labels(rows.data.labels / 10.0)
    assert scaled.inputs is rows.inputs
    batch = sampler_of(scaled).draw()
    torch.testing.assert_close(batch.labels[..., 0], batch.x[batch.sources][..., 1])


def test_a_row_of_no_weight_is_never_drawn():
    rows = rows_of(SIX)
    weights = (np.arange(30) % 5 != 2).astype(float)
    other = rows.represented_as(RepresentedRows.plain(rows.data.inputs.copy()), weights)
    sampler = sampler_of(other, batch_size=16)
    drawn = {int(number) for _ in range(5) for number in sampler.draw().x[..., 0].flatten()}
    assert drawn == set(np.flatnonzero(weights))


def test_of_many_domains_a_step_takes_some_and_keeps_the_sources():
    rows = rows_of([True] * 4 + [False] * 36)
    sampler = sampler_of(rows, max_domains=10, batch_size=3, link_quantile=0.05)
    seen = set()
    for _ in range(40):
        batch = sampler.draw()
        numbers = batch.facts.numbers
        assert len(numbers) == len(set(numbers.tolist())) == 10
        assert numbers[batch.sources].tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(batch.x[:, 0, 1], numbers)
        np.testing.assert_array_equal(batch.raw_index[:, 0], numbers)
        torch.testing.assert_close(batch.labels.float(), 10 * batch.x[batch.sources][..., 1])
        assert torch.equal(batch.facts.links, (numbers[:, None] - numbers).abs() == 1)
        seen |= set(numbers.tolist())
    assert seen == set(range(40))


def test_many_sources_fill_at_most_half_of_a_step():
    sampler = sampler_of(rows_of([True] * 20 + [False] * 20), max_domains=10)
    batch = sampler.draw()
    assert len(batch.sources) == 5
    assert len(batch.x) == 10


def test_a_seed_fixes_the_batches():
    rows = rows_of(SIX)
    first, second, other = (sampler_of(rows, seed, batch_size=3).draw() for seed in (1, 1, 2))
    assert torch.equal(first.x, second.x)
    assert torch.equal(first.neighbor_index, second.neighbor_index)
    assert not torch.equal(first.x, other.x)


@pytest.mark.parametrize("is_source", [[True, False], [True, True]])
def test_two_domains_are_enough(is_source):
    batch = sampler_of(rows_of(is_source)).draw()
    torch.testing.assert_close(batch.neighbor_index, batch.raw_index.flip(0))
    assert batch.facts.links.tolist() == [[False, True], [True, False]]
