"""The paper's model: every equation has its code, and the estimator does what it says."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from domindex import VDIClassifier, VDIRegressor
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex.neural.batches import DomainFacts
from domindex.vdi import adversary, aggregation, bound, fitting, model, networks
from domindex.vdi.learning import distance_rank
from domindex.vdi.presets import PRESETS

SHORT = {"pretraining_steps": 6, "steps": 12, "refresh_every": 5, "random_state": 0}

EQUATIONS = {
    1: model.VariationalModel,
    2: networks.LocalIndexDecoder,
    3: networks.InputDecoder,
    4: model.VariationalModel.encoding_prior,
    5: model.VariationalModel.infer,
    6: model.VariationalModel.local_posterior,
    7: model.VariationalModel.infer_indices,
    8: model.EncodingNetwork,
    9: model.VariationalObjective,
    10: bound.input_reconstruction,
    11: bound.label_prediction,
    12: bound.local_index_reconstruction,
    13: bound.global_index_divergence,
    14: fitting.local_indices,
    15: aggregation.raw_index,
    16: aggregation.raw_index,
    17: networks.GlobalIndexEncoder,
    18: adversary.Adversary,
    19: adversary.domain_loss,
    20: model.VariationalObjective,
}


@pytest.fixture(scope="module")
def circle():
    return make_circle(n_domains=6, n_sources=3, samples_per_domain=30, random_state=0)


def fitted(data, **changes):
    return VDIClassifier(**{**SHORT, **changes}).fit(
        data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    )


@pytest.fixture(scope="module")
def vdi(circle):
    return fitted(circle)


@pytest.mark.parametrize("number", EQUATIONS)
def test_every_equation_of_the_paper_has_its_code(number):
    text = inspect.getdoc(EQUATIONS[number])
    ranges = {"equations 9 to 13": range(9, 14), "Equations 15 and 16": (15, 16)}
    named = [n for words, numbers in ranges.items() if words in text for n in numbers]
    assert number in named or f"quation {number}" in text


def test_both_indices_and_probabilities_come_out(circle, vdi):
    rows = {"sample_domain": circle.sample_domain}
    assert vdi.domain_indices_.shape == vdi.domain_index_std_.shape == (6, 2)
    assert (vdi.domain_index_std_ > 0).all()
    assert vdi.transform(circle.X).shape == (180, 12)
    assert vdi.encode(circle.X, **rows).shape == (180, 32)
    np.testing.assert_allclose(vdi.predict_proba(circle.X, **rows).sum(axis=1), 1.0)
    assert {"label_prediction", "adversary", "contrastive"} <= set(vdi.history_.columns)


def test_the_same_seed_gives_the_same_model(circle, vdi):
    again = fitted(circle)
    np.testing.assert_array_equal(again.domain_indices_, vdi.domain_indices_)


def test_labels_of_targets_are_never_read(circle, vdi):
    is_target = ~np.isin(circle.sample_domain, circle.source_domains)
    hidden = np.where(is_target, 1 - circle.y, circle.y)
    other = VDIClassifier(**SHORT).fit(
        circle.X, hidden, sample_domain=circle.sample_domain, source_domains=circle.source_domains
    )
    np.testing.assert_array_equal(other.domain_indices_, vdi.domain_indices_)


def test_labels_reach_u_and_beta(circle, vdi):
    swapped = VDIClassifier(**SHORT).fit(
        circle.X, 1 - circle.y, sample_domain=circle.sample_domain, source_domains=[0, 1, 2]
    )
    assert not np.allclose(swapped.transform(circle.X), vdi.transform(circle.X))


def test_held_still_u_does_not_hear_of_labels(circle):
    first, second = (
        VDIClassifier(**SHORT, index_rate=0.0).fit(
            circle.X, labels, sample_domain=circle.sample_domain, source_domains=[0, 1, 2]
        )
        for labels in (circle.y, 1 - circle.y)
    )
    np.testing.assert_array_equal(first.transform(circle.X), second.transform(circle.X))


def test_a_new_domain_is_placed_by_its_rows(circle, vdi):
    old = circle.X[circle.sample_domain == 4]
    new = vdi.encode(old, sample_domain=["new"] * len(old))
    np.testing.assert_allclose(new, vdi.encode(old, sample_domain=[4] * len(old)), atol=0.2)


@pytest.mark.parametrize(
    "option",
    [
        {"aggregation": "exact"},
        {"aggregation": "sinkhorn"},
        {"aggregation": "sliced"},
        {"adversary": "domain"},
        {"adversary": "graph+index"},
        {"adversary": None},
        {"prior": "network"},
        {"encoder": "affine", "strain_weight": 0.3},
        {"local_index": "projection"},
        {"geodesics": True},
        {"smoothness_weight": 1.0},
        {"admission": 0.0},
        {"pretraining_steps": 0},
    ],
    ids=str,
)
def test_every_option_is_heard(circle, vdi, option):
    other = fitted(circle, **option)
    rows = {"sample_domain": circle.sample_domain}
    assert np.isfinite(other.predict_proba(circle.X, **rows)).all()
    ours, theirs = (model.predict_proba(circle.X, **rows) for model in (other, vdi))
    assert not np.allclose(ours, theirs)


def test_a_tied_prior_costs_nothing(circle, vdi):
    assert (vdi.history_["encoding_divergence"].dropna() == 0.0).all()
    free = fitted(circle, prior="network")
    assert (free.history_["encoding_divergence"].dropna() < 0.0).all()


def test_values_are_predicted_on_their_own_scale(circle):
    values = 100.0 + 10.0 * circle.X[:, 0]
    regressor = VDIRegressor(**{**SHORT, "steps": 200, "learning_rate": 3e-3})
    regressor.fit(
        circle.X, values, sample_domain=circle.sample_domain, source_domains=circle.source_domains
    )
    sources = np.isin(circle.sample_domain, circle.source_domains)
    predicted = regressor.predict(circle.X, sample_domain=circle.sample_domain)
    assert np.corrcoef(predicted[sources], values[sources])[0, 1] > 0.9


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_the_authors_settings(name):
    kind = VDIRegressor if name.startswith("tpt") else VDIClassifier
    chosen = kind.preset(name, random_state=3)
    assert chosen.width == 512
    assert chosen.random_state == 3
    assert (chosen.aggregation == "mean") == (name == "circle")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"aggregation": "middle"}, "aggregation is 'middle'. Choose one of"),
        ({"adversary": "nobody"}, "adversary is 'nobody'. Choose 'auto', one of"),
        ({"encoder": None}, "encoder is None"),
        ({"contrastive_weight": -1.0}, "contrastive_weight is -1.0"),
        ({"local_dim": 0}, "local_dim is 0"),
        ({"steps": 0}, "steps is 0"),
    ],
)
def test_wrong_settings_are_named(circle, wrong, words):
    with pytest.raises(InputError, match=words):
        fitted(circle, **wrong)


def test_one_domain_is_refused(circle):
    with pytest.raises(InputError, match="all 1 domains"):
        VDIClassifier(**SHORT).fit(circle.X, circle.y, sample_domain=[0] * 180, source_domains=[0])


def test_one_source_and_more_dimensions_than_domains_are_served(circle):
    rows = np.isin(circle.sample_domain, [0, 1, 2])
    data = circle.X[rows], circle.y[rows]
    wide = VDIClassifier(**SHORT, index_dim=5).fit(
        *data, sample_domain=circle.sample_domain[rows], source_domains=[0]
    )
    assert np.isfinite(wide.domain_indices_).all()
    assert wide.domain_indices_.shape == (3, 5)


def test_unknown_presets_are_named():
    with pytest.raises(InputError, match="preset is 'mnist'"):
        VDIClassifier.preset("mnist")


def test_the_index_does_not_spin_between_epochs():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(40, 2)) + [k, k % 2] for k in range(5)]
    first = aggregation.raw_index(range(5), groups, 2).coordinates
    turned = [group @ np.array([[0.0, 1.0], [-1.0, 0.0]]) for group in groups]
    second = aggregation.raw_index(range(5), turned, 2, reference=first).coordinates
    np.testing.assert_allclose(second, first, atol=0.1)


def test_the_encoding_uses_x_u_and_beta():
    torch.manual_seed(0)
    sizes = model.ModelSizes(n_features=3, local_dim=2, index_dim=2, latent_dim=3, width=8)
    network = model.EncodingNetwork(sizes)
    given = [torch.randn(4, 5, 3), torch.randn(4, 5, 2), torch.randn(4, 2)]
    for tensor in given:
        tensor.requires_grad_(True)
    (network(*given).mean ** 3).sum().backward()
    assert all(tensor.grad.abs().sum() > 0 for tensor in given)


def test_targets_are_admitted_by_their_way_along_the_map_from_the_sources():
    angles = np.linspace(0.0, 1.4 * np.pi, 9)  # an open ring
    places = np.c_[np.cos(angles), np.sin(angles)]
    is_source = np.arange(9) < 2
    assert distance_rank(places, is_source).tolist() == [-1, -1, *range(7)]


def test_only_admitted_domains_face_the_adversary(circle):
    module = fitted(circle)._indices.module.float()
    facts = DomainFacts(torch.arange(3), torch.zeros(3, 2), torch.ones(3, 3, dtype=torch.bool))
    objective = model.VariationalObjective(module, None, None)
    batch, latents = SimpleNamespace(facts=facts), SimpleNamespace(z=torch.randn(3, 4, 5))
    assert objective.adversary_inputs(batch, latents)[0] is latents.z
    objective.admitted = torch.tensor([True, False, True])
    z, known = objective.adversary_inputs(batch, latents)
    assert torch.equal(z, latents.z[[0, 2]])
    assert known.numbers.tolist() == [0, 2]
    assert known.links.shape == (2, 2)


def test_a_share_beyond_all_steps_is_refused(circle):
    with pytest.raises(InputError, match=r"admission is 1\.5\. Choose a share from 0 to 1"):
        fitted(circle, admission=1.5)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_can_be_fitted(name):
    is_class = not name.startswith("tpt")
    data = make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)
    short = {"pretraining_steps": 2, "steps": 2, "width": 16, "random_state": 0}
    preset = (VDIClassifier if is_class else VDIRegressor).preset(name, **short)
    y = data.y if is_class else data.X
    preset.fit(data.X, y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    assert len(preset.predict(data.X, sample_domain=data.sample_domain)) == len(data.X)


def test_what_an_index_does_to_x_decays_and_indices_learn_at_a_rate_of_their_own():
    sizes = model.ModelSizes(n_features=3, local_dim=2, index_dim=2, latent_dim=4, width=8)
    module = model.VariationalModel(sizes, networks.ClassPredictor(4, 2))
    indices, others, motions = groups = module.parameter_groups(0.1, 4.0)
    assert [(one.rate, one.decay) for one in groups] == [(0.1, 0.0), (1.0, 0.0), (1.0, 4.0)]
    assert motions.parameters == list(module.data_encoder.motion.parameters())
    of_z = {*module.data_encoder.parameters(), *module.predictor.parameters()}
    assert not of_z & set(indices.parameters)
    assert of_z == {*others.parameters, *motions.parameters}
    listed = [id(weight) for group in groups for weight in group.parameters]
    assert sorted(listed) == sorted(map(id, module.parameters()))
