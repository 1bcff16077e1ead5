"""The adversary's losses are 1 where z tells nothing and 0 where it tells all."""

import numpy as np
import pytest
import torch

from domindex.errors import InputError
from domindex.inputs import check_domain_data
from domindex.neural.batches import DomainFacts
from domindex.vdi import adversary
from domindex.vdi.adversary import (
    KINDS,
    Adversary,
    domain_loss,
    graph_loss,
    index_loss,
    labels_depend_on_source,
)


def facts_of(n_domains, n_joined=None) -> DomainFacts:
    """Domains along a line; the first pairs (in order of their difference) are joined."""
    numbers = torch.arange(n_domains)
    gaps = (numbers[:, None] - numbers).abs()
    links = gaps == 1
    if n_joined is not None:
        first, second = torch.triu_indices(n_domains, n_domains, offset=1)
        links = torch.zeros(n_domains, n_domains, dtype=torch.bool)
        links[first[:n_joined], second[:n_joined]] = True
        links |= links.T.clone()
    return DomainFacts(numbers, torch.randn(n_domains, 2), links)


@pytest.mark.parametrize("n_domains", [2, 5, 60])
def test_scores_that_say_nothing_cost_exactly_one(n_domains):
    facts = facts_of(n_domains)
    assert domain_loss(torch.zeros(n_domains, 3, n_domains), facts).item() == pytest.approx(1.0)


@pytest.mark.parametrize("n_domains", [3, 5, 60, 100])
def test_embeddings_that_say_nothing_cost_exactly_one(n_domains):
    assert graph_loss(torch.zeros(n_domains, 3, 4), facts_of(n_domains)).item() == pytest.approx(1)


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_guessing_the_mean_index_costs_exactly_one(factor):
    facts = facts_of(7)
    facts = DomainFacts(facts.numbers, facts.beta * factor + 3.0, facts.links)
    guess = facts.beta.mean(dim=0).expand(7, 4, 2)
    assert index_loss(guess, facts).item() == pytest.approx(1.0, rel=1e-4)


def test_knowing_everything_costs_nothing():
    facts = facts_of(6)
    scores = 50.0 * torch.eye(6)[:, None, :].expand(6, 4, 6)
    assert domain_loss(scores, facts).item() == pytest.approx(0.0, abs=1e-6)
    assert index_loss(facts.beta[:, None].expand(6, 4, 2), facts).item() == 0.0


def test_knowing_the_graph_costs_nothing():
    links = torch.tensor([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]).bool()
    facts = DomainFacts(torch.arange(4), torch.randn(4, 1), links)
    embeddings = 10.0 * torch.tensor([[1.0], [1.0], [-1.0], [-1.0]])[:, None].expand(4, 3, 1)
    assert graph_loss(embeddings, facts).item() == pytest.approx(0.0, abs=1e-6)
    assert graph_loss(embeddings[[0, 2, 1, 3]], facts) > 10.0


def test_domains_are_paired_within_their_fold():
    facts = facts_of(6)
    folds = torch.randn(3, 6, 4, 2)
    alone = torch.stack([graph_loss(fold, facts) for fold in folds]).mean()
    torch.testing.assert_close(graph_loss(folds.flatten(0, 1), facts), alone)


def test_joined_and_other_pairs_weigh_equally():
    facts = facts_of(10, n_joined=2)
    embeddings = torch.full((10, 1, 1), 3.0)
    joined, other = (torch.nn.functional.softplus(torch.tensor(x)) for x in (-9.0, 9.0))
    expected = (joined + other) / 2 / torch.log(torch.tensor(2.0))
    torch.testing.assert_close(graph_loss(embeddings, facts), expected)


@pytest.mark.parametrize("n_joined", [0, 10])
def test_a_graph_with_all_pairs_or_none_has_a_finite_loss(n_joined):
    assert torch.isfinite(graph_loss(torch.randn(5, 3, 4), facts_of(5, n_joined)))


def test_domains_are_known_by_their_number_among_all():
    facts = DomainFacts(torch.tensor([4, 1]), torch.randn(2, 2), torch.zeros(2, 2).bool())
    scores = torch.zeros(2, 3, 6)
    scores[0, :, 4] = scores[1, :, 1] = 50.0
    assert domain_loss(scores, facts).item() == pytest.approx(0.0, abs=1e-6)


def test_many_pairs_are_thinned_to_as_many_joined_as_others():
    facts = facts_of(100, n_joined=2048)
    first, second, joined = adversary._pairs(facts.links)
    assert len(joined) == 2048
    assert joined.sum() == 1024
    assert torch.equal(joined, facts.links[first, second])
    assert len(set(zip(first.tolist(), second.tolist()))) == 2048


def test_few_pairs_are_all_taken():
    first, _, joined = adversary._pairs(facts_of(8).links)
    assert len(first) == 28
    assert joined.sum() == 7


def test_scores_of_many_domains_are_bounded():
    scores = torch.zeros(4, 10, 4)
    scores[:, 2:] = torch.nan
    for most in (4 * 4 * 2, 1):
        assert domain_loss(scores, facts_of(4), most).item() == pytest.approx(1.0)


@pytest.mark.parametrize("kinds", [("graph",), ("domain", "index"), KINDS])
def test_an_adversary_is_the_mean_of_its_losses(kinds):
    reader = Adversary(kinds, latent_dim=3, n_domains=5, index_dim=2, width=8)
    z, facts = torch.randn(5, 4, 3), facts_of(5)
    losses = {"graph": graph_loss, "domain": domain_loss, "index": index_loss}
    parts = [losses[kind](reader.heads[kind](z), facts) for kind in kinds]
    torch.testing.assert_close(reader(z, facts), torch.stack(parts).mean())
    assert set(reader.heads) == set(kinds)


@pytest.mark.parametrize("kinds", [("graf",), ("graph", "mmd"), ()])
def test_unknown_adversaries_are_refused_by_name(kinds):
    with pytest.raises(InputError, match="Choose one or more of") as caught:
        Adversary(kinds, latent_dim=3, n_domains=5, index_dim=2, width=8)
    assert all(kind in str(caught.value) for kind in kinds)


def labelled(labels, n_sources=4, task="classification"):
    """Forty rows of every domain; the sources and one target more."""
    names = np.repeat(np.arange(n_sources + 1), 40)
    X = np.random.default_rng(0).normal(size=(len(names), 2))
    return check_domain_data(X, labels[: len(names)], names, range(n_sources), task=task)


BALANCED = np.tile([0, 1], 200)


def test_balanced_classes_do_not_depend_on_the_source():
    assert not labels_depend_on_source(labelled(BALANCED))


def test_shares_of_classes_that_change_depend_on_the_source():
    labels = BALANCED.copy()
    labels[:40] = 1
    labels[0] = 0
    assert labels_depend_on_source(labelled(labels))


def test_labels_of_targets_are_not_looked_at():
    labels = BALANCED.copy()
    labels[160:] = 1
    assert not labels_depend_on_source(labelled(labels))


@pytest.mark.parametrize(("level", "expected"), [(0.0, False), (3.0, True)])
def test_values_depend_on_the_source_where_their_levels_do(level, expected):
    noise = np.random.default_rng(1).normal(size=(200, 2))
    values = noise + level * (np.arange(200) >= 80)[:, None] * [0.0, 1.0]
    assert labels_depend_on_source(labelled(values, task="regression")) is expected


def test_by_chance_one_family_in_a_hundred_is_taken_to_depend():
    draws = np.random.default_rng(2).integers(0, 3, size=(300, 200))
    found = [labels_depend_on_source(labelled(one)) for one in draws]
    assert sum(found) <= 10


@pytest.mark.parametrize(
    ("labels", "n_sources", "task"),
    [
        (BALANCED, 1, "classification"),
        (np.ones((200, 1)), 4, "regression"),
        (np.arange(200.0)[:, None], 1, "regression"),
    ],
    ids=["one source", "a constant", "values of one source"],
)
def test_what_cannot_be_compared_does_not_depend(labels, n_sources, task):
    assert not labels_depend_on_source(labelled(labels, n_sources, task))


def test_levels_without_any_spread_depend_on_the_source():
    levels = np.repeat(np.arange(5.0), 40)[:, None]
    assert labels_depend_on_source(labelled(levels, task="regression"))
