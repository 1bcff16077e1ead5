"""The hash of a method's settings: what it tells apart, and what it must not."""

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex import MomentFlow, Network, VDIClassifier
from domindex.baselines import CIDA, PlainBaseline
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex_bench import METHODS, find_suite, settings_hash, settings_of


class Holder(BaseEstimator):
    def __init__(self, value=None):
        self.value = value


class Known(Holder):
    constant = 1.6

    def _all_settings(self):
        return {"factor": self.constant, "weights": {"graph": np.float64(0.5)}}


@dataclass(frozen=True)
class Settings:
    steps: int = 3
    nested: tuple = (Ridge(),)


def double(value):
    return 2 * value


def triple(value):
    return 3 * value


def scale(by):
    def scaled(value):
        return by * value

    return scaled


def graph(order):
    made = nx.Graph()
    made.add_nodes_from(order)
    made.add_edges_from([(0, 1), (1, "b")])
    return made


ALIKE = {
    "seeds": (VDIClassifier(random_state=0), VDIClassifier(random_state=1)),
    "nested seeds": (
        PlainBaseline(RandomForestClassifier(random_state=0)),
        PlainBaseline(RandomForestClassifier(random_state=7)),
    ),
    "order of a mapping": (Holder({"a": 1, "b": 2}), Holder({"b": 2, "a": 1})),
    "order of a graph": (Holder(graph([0, 1, "b"])), Holder(graph(["b", 1, 0]))),
    "ends of a link": (Holder(nx.Graph([(0, 1)])), Holder(nx.Graph([(1, 0)]))),
    "layout of an array": (
        Holder(np.arange(6.0).reshape(2, 3)),
        Holder(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    ),
    "objects of equal content": (Holder(Settings()), Holder(Settings(nested=(Ridge(),)))),
    "functions": (Holder(scale(2.0)), Holder(scale(2.0))),
}
UNLIKE = {
    "a parameter": (VDIClassifier(), VDIClassifier(network=Network(adversary_weight=6.5))),
    "the class": (Ridge(), Holder()),
    "a nested parameter": (MomentFlow(Ridge(alpha=1.0)), MomentFlow(Ridge(alpha=2.0))),
    "a pipeline's step": (
        Holder(make_pipeline(StandardScaler(), Ridge())),
        Holder(make_pipeline(StandardScaler(with_mean=False), Ridge())),
    ),
    "an entry of a mapping": (Holder({"a": [1.0]}), Holder({"a": [2.0]})),
    "an entry of an array": (Holder(np.zeros(3)), Holder(np.array([0.0, 0.0, 1e-12]))),
    "the shape of an array": (Holder(np.zeros((2, 3))), Holder(np.zeros((3, 2)))),
    "objects in an array": (
        Holder(np.array([1, "a"], dtype=object)),
        Holder(np.array([1, "b"], dtype=object)),
    ),
    "a link of a graph": (Holder(nx.path_graph(4)), Holder(nx.cycle_graph(4))),
    "the direction of links": (Holder(nx.DiGraph([(0, 1)])), Holder(nx.DiGraph([(1, 0)]))),
    "a function": (Holder(double), Holder(triple)),
    "what a function holds": (Holder(scale(2.0)), Holder(scale(3.0))),
    "what a function is given": (Holder(partial(double, 1)), Holder(partial(double, 2))),
    "a field": (Holder(Settings()), Holder(Settings(steps=4))),
    "a nested field": (Holder(Settings()), Holder(Settings(nested=(Ridge(alpha=3.0),)))),
    "true and one": (Holder("1"), Holder(1)),
    "not a number": (Holder(float("nan")), Holder(float("inf"))),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_changes_no_figure_changes_no_hash(name):
    first, second = ALIKE[name]
    assert settings_hash(first) == settings_hash(second)


@pytest.mark.parametrize("name", UNLIKE)
def test_what_can_change_a_figure_changes_the_hash(name):
    first, second = UNLIKE[name]
    assert settings_hash(first) != settings_hash(second)


def test_constants_that_no_parameter_shows_are_part_of_it(monkeypatch):
    before = settings_hash(PlainBaseline(Known()))
    assert settings_of(Known())["constants"] == [["factor", 1.6], ["weights", [["graph", 0.5]]]]
    monkeypatch.setattr(Known, "constant", 1.7)
    assert settings_hash(PlainBaseline(Known())) != before


def test_what_the_dataset_tells_a_method_is_no_setting():
    family = make_circle(n_domains=6, n_sources=3, samples_per_domain=20)
    told, untold = CIDA(domain_index={0: 1.0}), METHODS["cida"].build(family, 0)
    assert settings_hash(told) != settings_hash(untold)
    without = METHODS["cida"].told
    assert settings_hash(told, without) == settings_hash(untold, without)


@pytest.mark.slow
def test_two_processes_agree():
    """This one and another, whose hashes of texts differ."""
    text = (
        "from domindex_bench import find_suite\n"
        "suite = find_suite('paper')\n"
        "print(hash('text'), *(suite.settings_now('circle', name) for name in suite.methods))"
    )
    hash_of_text, *told = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "2" if os.getenv("PYTHONHASHSEED") == "1" else "1"},
    ).stdout.split()
    assert int(hash_of_text) != hash("text")
    suite = find_suite("paper")
    assert told == [suite.settings_now("circle", name) for name in suite.methods]
    assert all(len(digits) == 12 for digits in told)


def test_what_has_no_content_to_hash_is_refused():
    with pytest.raises(InputError, match="of type object is part of a method's settings"):
        settings_hash(Holder(object()))
