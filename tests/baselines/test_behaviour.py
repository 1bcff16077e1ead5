"""What each method is for, on data where it shows."""

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons
from torch.distributions import Categorical, Normal

from domindex import Training
from domindex.baselines import ADDA, CDANN, CIDA, D2V, DANN, GRDA, MDD, SourceOnly
from domindex.baselines.adda import SourceOrTarget, TwoEncoders
from domindex.baselines.cdann import as_features
from domindex.baselines.cida import GaussianReader, check_domain_index
from domindex.baselines.d2v import nearness
from domindex.baselines.grda import check_domain_graph, embed_nodes
from domindex.baselines.mdd import log_agreement
from domindex.baselines.networks import PlainEncoder
from domindex.baselines.sentry import view
from domindex.datasets import make_circle, make_domain_graph
from domindex.neural.batches import DomainFacts

HALF = {"training": Training(steps=250), "random_state": 0}
"""Half as many steps as by default show what a method is for."""


def target_accuracy(model, family) -> float:
    model.fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    rows = ~family.is_source
    return model.score(family.X[rows], family.y[rows], sample_domain=family.sample_domain[rows])


@pytest.fixture(scope="module")
def two_clouds():
    """Two classes, and the same moved towards each other's place: source 1, target −2."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 2
    inputs = rng.normal(size=(600, 2)) * 0.5 + np.column_stack([3.0 * labels, 0.0 * labels])
    domains = np.repeat([1, -2], 300)
    inputs[domains == -2] += [1.5, 2.0]
    return inputs, labels, domains


def score_on_clouds(model, two_clouds) -> float:
    inputs, labels, domains = two_clouds
    target = domains == -2
    model.fit(inputs, np.where(target, -1, labels), sample_domain=domains)
    return model.score(inputs[target], labels[target])


@pytest.fixture(scope="module")
def alone_on_clouds(two_clouds):
    return score_on_clouds(SourceOnly(random_state=0), two_clouds)


@pytest.mark.parametrize(
    "kind", [DANN, *(pytest.param(one, marks=pytest.mark.full) for one in (CDANN, ADDA))]
)
def test_a_moved_cloud_is_followed_where_a_source_model_fails(kind, two_clouds, alone_on_clouds):
    assert alone_on_clouds < 0.9
    assert score_on_clouds(kind(random_state=0), two_clouds) > alone_on_clouds + 0.05


@pytest.mark.full
def test_turned_moons_leave_no_room_for_a_second_opinion():
    inputs, labels = make_moons(400, noise=0.1, random_state=0)
    domains = np.repeat([1, -2], 200)
    turn = np.array([[np.sqrt(3.0), 1.0], [-1.0, np.sqrt(3.0)]]) / 2.0
    inputs[domains == -2] = (inputs[domains == -2] - inputs.mean(axis=0)) @ turn + [0.5, 0.25]
    moons = inputs, labels, domains
    alone = score_on_clouds(SourceOnly(**HALF), moons)
    assert score_on_clouds(MDD(**HALF), moons) > alone + 0.05


@pytest.mark.full
@pytest.mark.slow
def test_the_true_index_helps_along_a_turning_family():
    family = make_circle(random_state=0)
    alone = target_accuracy(SourceOnly(**HALF), family)
    index = dict(zip(family.domains, family.true_index))
    informed = CIDA(index, training=Training(steps=1000), random_state=0)
    assert target_accuracy(informed, family) > alone + 0.05


@pytest.mark.full
@pytest.mark.slow
def test_the_true_graph_helps_where_a_source_model_fails():
    family = make_domain_graph(n_domains=15, samples_per_domain=60, random_state=0)
    alone = target_accuracy(SourceOnly(**HALF), family)
    assert target_accuracy(GRDA(family.graph, **HALF), family) > alone + 0.2


def test_domain_vectors_of_neighbours_are_close():
    family = make_domain_graph(n_domains=12, samples_per_domain=60, random_state=0)
    model = D2V(training=Training(steps=100), random_state=0)
    target_accuracy(model, family)
    angle = family.true_index[:, 0]
    gaps = np.linalg.norm(model.domain_indices_[:, None] - model.domain_indices_[None], axis=-1)
    others = gaps + np.diag(np.full(len(gaps), np.inf))
    nearest = others.argmin(axis=1)
    assert np.abs(angle - angle[nearest]).mean() < 0.5 * np.abs(angle[:, None] - angle).mean()


def test_an_index_is_centred_and_keeps_its_proportions():
    index = check_domain_index({"a": [0.0, 10.0], "b": [4.0, 10.0], "c": [8.0, 16.0]}, "abc")
    np.testing.assert_allclose(index.mean(axis=0), 0.0, atol=1e-12)
    assert np.sqrt((index**2).mean()) == pytest.approx(1.0)
    np.testing.assert_allclose((index[2] - index[0])[0] / (index[2] - index[0])[1], 8.0 / 6.0)


def test_guessing_an_index_of_unit_scale_costs_one():
    guess = GaussianReader(4, 1, 8)
    for weight in guess.parameters():
        torch.nn.init.zeros_(weight)
    guess.head[-1].bias.data[1] = np.log(2.0)  # of [-4, 2] the log variance 0
    beta = torch.tensor([[-1.0], [1.0]])
    facts = DomainFacts(torch.arange(2), beta, torch.zeros(2, 2, dtype=torch.bool))
    assert guess(torch.randn(2, 5, 4), facts).item() == pytest.approx(1.0)


def test_links_follow_the_order_of_domains_without_loops_or_directions():
    graph = nx.DiGraph([("b", "a"), ("c", "c")])
    links = check_domain_graph(graph, ["a", "b", "c"])
    np.testing.assert_array_equal(links, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_nodes_of_a_chain_are_embedded_in_their_order():
    points = embed_nodes(nx.to_numpy_array(nx.path_graph(9)) > 0)
    steps = np.diff(points[:, 0])
    assert (steps > 0).all() or (steps < 0).all()


def test_nearness_gives_a_source_its_share_of_targets():
    index = np.array([[0.0], [10.0], [9.0], [9.5]])
    weights = nearness(index, np.array([True, True, False, False]))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[1] > 0.7
    np.testing.assert_array_equal(weights[2:], 0.0)


def test_source_and_target_encoders_start_alike_and_only_one_moves():
    source = PlainEncoder(2, 0, latent_dim=4, width=8)
    both = TwoEncoders(source)
    x = torch.randn(2, 5, 2)
    z = both(x, torch.tensor([[0.0], [1.0]]))
    torch.testing.assert_close(z, source(x, torch.zeros(2, 0)))
    assert not any(weight.requires_grad for weight in both.source.parameters())
    assert all(weight.requires_grad for weight in both.target.parameters())


def test_guessing_between_source_and_target_costs_one():
    reader = SourceOrTarget(4, 8)
    for weight in reader.parameters():
        torch.nn.init.zeros_(weight)
    z = torch.randn(5, 6, 4)
    assert reader(z, torch.tensor([0, 1, 1, 1, 1])).item() == pytest.approx(1.0)


def test_a_prediction_of_values_leaves_z_readable():
    features = as_features(Normal(torch.full((3, 4, 2), 7.0), 1.0))
    assert features.shape == (3, 4, 3)
    assert (features[..., 0] == 1).all()


def test_agreement_is_the_log_probability_or_half_the_squared_difference():
    classes = Categorical(probs=torch.tensor([[0.25, 0.75]]))
    assert log_agreement(classes, torch.tensor([1])).exp().item() == pytest.approx(0.75)
    values = Normal(torch.tensor([[1.0, 3.0]]), 1.0)
    assert log_agreement(values, torch.tensor([[1.0, 1.0]])).item() == pytest.approx(-1.0)


def test_views_differ_a_little_and_drop_some_features():
    x = torch.full((1, 1000, 10), 5.0)
    seen = view(x)
    dropped = seen == 0
    assert 0.08 < dropped.float().mean() < 0.12
    assert (seen[~dropped] - 5.0).std().item() == pytest.approx(0.1, rel=0.05)
