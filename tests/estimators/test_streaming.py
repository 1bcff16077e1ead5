"""Rows that are not in memory are fitted by a sample and predicted a part at a time."""

import os
import signal
import time

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from domindex import Backbone, CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex.inputs import sampling
from domindex.inputs.sampling import Limits

PAIRS = [("raw", "linear"), ("domain_standardised", "linear")]
QUICK = {
    "candidates": PAIRS,
    "effort": "quick",
    "training": Training(steps=5, index_steps=5),
    "random_state": 0,
}


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=6, n_sources=3, samples_per_domain=40, random_state=0)


@pytest.fixture
def mapped(family, tmp_path):
    np.save(tmp_path / "rows.npy", family.X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


class Items(Dataset):
    def __init__(self, data, change=None):
        self.data, self.change = data, change or (lambda number, item: item)

    def __len__(self):
        return len(self.data.X)

    def __getitem__(self, number):
        data = self.data
        label = data.y[number] if data.sample_domain[number] in data.source_domains else None
        return self.change(number, (data.X[number], label, data.sample_domain[number]))


def fit(model, X, family):
    return model.fit(
        X, family.y, sample_domain=family.sample_domain, source_domains=family.source_domains
    )


@pytest.fixture(scope="module")
def in_memory(family):
    return fit(CrossDomainClassifier(**QUICK), family.X, family)


def test_what_fits_into_the_sample_gives_the_same_model(family, mapped, in_memory):
    expected = in_memory.predict_proba(family.X, sample_domain=family.sample_domain)
    by_map = fit(CrossDomainClassifier(**QUICK), mapped, family)
    by_items = CrossDomainClassifier(**QUICK).fit(
        Items(family), source_domains=family.source_domains
    )
    for model in (by_map, by_items):
        told = model.predict_proba(family.X, sample_domain=family.sample_domain)
        np.testing.assert_array_equal(told, expected)


def test_parts_are_predicted_as_all_at_once(family, mapped, in_memory, monkeypatch):
    monkeypatch.setattr(sampling, "LIMITS", Limits(part_rows=17))
    domain = {"sample_domain": family.sample_domain}
    for name in ("predict", "predict_proba", "encode"):
        expected = getattr(in_memory, name)(family.X, **domain)
        for told in (
            getattr(in_memory, name)(mapped, **domain),
            getattr(in_memory, name)(Items(family)),
        ):
            np.testing.assert_allclose(told, expected, rtol=1e-10)
    np.testing.assert_allclose(
        in_memory.transform(mapped), in_memory.transform(family.X), rtol=1e-10
    )
    places = in_memory.place_domains(mapped, **domain)
    assert set(places["domain"]) == set(in_memory.domains_)
    assert in_memory.score(mapped, family.y, **domain) == in_memory.score(
        family.X, family.y, **domain
    )


def test_new_domains_are_measured_by_a_sample_of_their_rows(family, mapped, in_memory, monkeypatch):
    names = [f"new {name}" for name in family.sample_domain]
    expected = in_memory.predict_proba(family.X, sample_domain=names)
    at_once = in_memory.predict_proba(mapped, sample_domain=names)
    np.testing.assert_allclose(at_once, expected, rtol=1e-10)
    monkeypatch.setattr(sampling, "LIMITS", Limits(part_rows=20))
    in_parts = in_memory.predict_proba(mapped, sample_domain=names)
    assert np.abs(in_parts - expected).mean() < 0.2
    assert in_memory.predict(mapped).shape == (len(mapped),)


def test_values_come_with_their_deviations(family, mapped):
    values = family.X.sum(axis=1)
    model = CrossDomainRegressor(**QUICK).fit(
        mapped, values, sample_domain=family.sample_domain, source_domains=family.source_domains
    )
    told = model.predict(mapped, sample_domain=family.sample_domain, return_std=True)
    expected = model.predict(family.X, sample_domain=family.sample_domain, return_std=True)
    np.testing.assert_allclose(told, expected)


def test_a_fit_takes_a_bounded_sample_and_leaves_the_file_alone(family, mapped, monkeypatch):
    monkeypatch.setattr(sampling, "LIMITS", Limits(array_rows=120))
    before = mapped.tobytes()
    seen = []
    monkeypatch.setattr(MomentFlow, "_check_data", lambda self, data: seen.append(data.n_rows))
    fit(MomentFlow(), mapped, family)
    assert seen == [120]
    assert mapped.tobytes() == before


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.largest = 0

    def forward(self, x):
        self.largest = max(self.largest, len(x))
        return torch.cat([x, x.sum(dim=1, keepdim=True)], dim=1)


def test_a_frozen_backbone_sees_parts_only(family, mapped, monkeypatch):
    monkeypatch.setattr(sampling, "LIMITS", Limits(part_rows=30))
    model = fit(
        CrossDomainClassifier(backbone=Backbone(Sums(), frozen=True), **QUICK), mapped, family
    )
    domain = {"sample_domain": family.sample_domain}
    told = model.predict_proba(mapped, **domain)
    np.testing.assert_allclose(told, model.predict_proba(family.X, **domain), atol=1e-6)
    assert model._indices.module.flatten.input_shape == (3,)
    assert model.n_features_in_ == 2


def test_a_dataset_of_tensors_is_one_too():
    data = make_circle(n_domains=4, n_sources=2, samples_per_domain=20, random_state=0)
    names = torch.tensor(np.unique(data.sample_domain, return_inverse=True)[1])
    items = TensorDataset(torch.tensor(data.X), torch.tensor(data.y), names)
    model = CrossDomainClassifier(**QUICK).fit(items, source_domains=[0, 1])
    assert model.domains_ == [0, 1, 2, 3]
    assert model.predict(items).shape == (len(data.X),)


def unhashable(number, item):
    return (*item[:2], ["a", "b"]) if number == 57 else item


def dies(number, item):
    if number == 57:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def raises(number, item):
    if number == 57:
        raise OSError("broken.jpg is no picture")
    return item


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unhashable, r"Item 57 .* \['a', 'b'\], a list, which cannot name a domain"),
        (dies, r"A process that reads the dataset failed \(.*DataLoader worker"),
        (raises, r"Item 57 .* cannot be read \(OSError: broken\.jpg is no picture\)"),
        (lambda number, item: item[:2], r"Item 0 .* is a tuple of length 2"),
        (lambda number, item: item[0], r"Item 0 .* is a ndarray"),
        (lambda number, item: ("text", *item[1:]), r"Item 0 .* an x that is no numbers"),
        (lambda number, item: (*item[:2], None), r"Item 0 .* has no domain"),
        (lambda number, item: (item[0][: 1 + number % 2], *item[1:]), "x of shapes"),
        (lambda number, item: (np.nan * item[0], *item[1:]), "X contains NaN"),
    ],
)
def test_a_bad_dataset_is_refused_within_seconds(family, change, message):
    began = time.monotonic()
    with pytest.raises(InputError, match=message):
        CrossDomainClassifier(**QUICK).fit(
            Items(family, change), source_domains=family.source_domains
        )
    assert time.monotonic() - began < 30


def test_a_process_that_dies_in_a_prediction_is_named(family, in_memory):
    with pytest.raises(InputError, match="A process that reads the dataset failed"):
        in_memory.predict(Items(family, dies))


class Endless(IterableDataset):
    def __iter__(self):
        return iter([])


def test_what_cannot_be_drawn_from_is_refused(family, mapped):
    model = CrossDomainClassifier(**QUICK)
    with pytest.raises(InputError, match="without a length"):
        model.fit(Endless(), source_domains=["a"])
    with pytest.raises(InputError, match="sample_domain is given too"):
        model.fit(Items(family), sample_domain=family.sample_domain)
    with pytest.raises(InputError, match="y is given too"):
        model.fit(Items(family), family.y, source_domains=family.source_domains)
    with pytest.raises(InputError, match="y has 3 entries, but X has 240 rows"):
        model.fit(
            mapped, [0, 1, 0], sample_domain=family.sample_domain, source_domains=["domain_00"]
        )
    with pytest.raises(InputError, match="y is None"):
        model.fit(mapped, sample_domain=family.sample_domain, source_domains=["domain_00"])
    with pytest.raises(InputError, match="sample_domain is missing"):
        model.fit(mapped, family.y, source_domains=["domain_00"])
