"""A fit that is cut off and begun again: the same model, to the last bit."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import domindex
from domindex import (
    CrossDomainClassifier,
    CrossDomainRegressor,
    Training,
    VDIClassifier,
    VDIRegressor,
)
from domindex.errors import InputError
from domindex.estimators.vdi import VariationalEstimator
from domindex.persistence import stage_cache
from domindex.persistence.stage_cache import StageCache

N_DOMAINS, N_ROWS = 6, 25
CANDIDATES = [("flow", "network"), ("encoded", "linear"), ("raw", "linear"), ("raw", "trees")]
SETTINGS = {"candidates": CANDIDATES, "training": Training(steps=8, index_steps=4)}
PAPERS_MODEL = {"pretraining_steps": 4, "steps": 6, "refresh_every": 2}


def rows(seed=0):
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(N_DOMAINS * N_ROWS, 3))
    place = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    X = plain.copy()
    X[:, 0] += 0.5 * place
    X[:, 1] = np.sin(0.2 * place) * plain[:, 0] + np.cos(0.2 * place) * plain[:, 1]
    return X, plain, [f"d{number}" for number in place]


def fitted(kind=CrossDomainClassifier, folder=None, seed=0, X=None, **changes):
    own, plain, names = rows()
    X = own if X is None else X
    y = (
        (plain[:, 0] > 0).astype(int)
        if kind in (CrossDomainClassifier, VDIClassifier)
        else plain[:, 0] + 0.3 * X[:, 1]
    )
    settings = PAPERS_MODEL if issubclass(kind, VariationalEstimator) else SETTINGS
    model = kind(**settings | {"random_state": seed} | changes)
    sources = ["d0", "d1", "d2"]
    return model.fit(X, y, sample_domain=names, source_domains=sources, checkpoint=folder)


class Features(nn.Module):
    """A backbone of a user's own."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return torch.tanh(self.layer(x))


torch.manual_seed(0)
WITH_BACKBONE = {"backbone": Features(), "candidates": [("raw", "network"), ("raw", "linear")]}


def bits(model):
    X, _, names = rows()
    tables = [getattr(model, f"{name}_") for name in model._tables if name != "timings"]
    found = [
        model.predict(X, sample_domain=names).astype(float),
        model.encode(X, sample_domain=names),
        model.transform(X),
        model.domain_indices_,
        *(table.select_dtypes("number").to_numpy(dtype=float) for table in tables),
    ]
    return [np.ascontiguousarray(one).tobytes() for one in found]


class Cut(BaseException):
    """In place of a kill."""


def cut_after(n_stages, monkeypatch):
    """From now on a fit ends once it has stored so many stages."""
    write, left = stage_cache.replace_file, [n_stages]

    def counting(path, parts):
        if left[0] == 0:
            raise Cut
        left[0] -= 1
        write(path, parts)

    monkeypatch.setattr(stage_cache, "replace_file", counting)


@pytest.fixture(scope="module")
def uninterrupted():
    """What a fit that nothing disturbs gives, found once a kind of model."""
    known = {}

    def of(kind=CrossDomainClassifier, **changes):
        name = (kind, str(changes))
        if name not in known:
            known[name] = bits(fitted(kind, **changes))
        return known[name]

    return of


@pytest.mark.parametrize(
    ("kind", "changes", "n_stages", "min_cuts"),
    [
        (CrossDomainClassifier, {}, 2, 2),
        (VDIClassifier, {"geodesics": True}, 1, 1),
        (VDIRegressor, {}, 1, 1),
        pytest.param(CrossDomainRegressor, {}, 3, 2, marks=pytest.mark.full),
        pytest.param(CrossDomainClassifier, WITH_BACKBONE, 2, 2, marks=pytest.mark.full),
    ],
    ids=["classes", "papers-classes", "papers-values", "values", "backbone"],
)
def test_cut_off_again_and_again_it_ends_as_if_it_had_not_been(
    kind, changes, n_stages, min_cuts, uninterrupted, tmp_path, monkeypatch
):
    whole, n_cuts = uninterrupted(kind, **changes), 0
    while True:
        with monkeypatch.context() as patched:
            cut_after(n_stages, patched)
            try:
                model = fitted(kind, tmp_path / "kept", **changes)
                break
            except Cut:
                n_cuts += 1
    assert n_cuts >= min_cuts
    assert bits(model) == whole
    assert "_stages" not in vars(model)
    made = []
    monkeypatch.setattr(StageCache, "store", lambda cache, name, value: made.append(name))
    assert bits(fitted(kind, tmp_path / "kept", **changes)) == whole
    assert made == []


KILLED = """
import os, pathlib, signal, sys, time
sys.path.insert(0, sys.argv[1])
from test_resuming import fitted
kept, saved = map(pathlib.Path, sys.argv[2:])
for n_stages in (2, 5, None):
    child = os.fork()
    if not child:
        fitted(folder=kept).save(saved)
        os._exit(0)
    ended = False
    while not ended and (n_stages is None or len(list(kept.glob("*.stage"))) < n_stages):
        time.sleep(0.002)
        ended = os.waitpid(child, os.WNOHANG)[0] == child
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print("ended" if ended else "killed", "saved" if saved.exists() else "unsaved")
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_killed_at_any_moment_and_resumed_it_is_the_same_model(uninterrupted, tmp_path):
    """One process imports what a fit needs and starts three: two are killed, the last goes on."""
    here, kept, saved = os.path.dirname(__file__), tmp_path / "kept", tmp_path / "model"
    command = [sys.executable, "-c", KILLED, here, str(kept), str(saved)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    *killed, last = said.splitlines()
    assert len(killed) == 2
    assert set(killed) <= {"killed unsaved", "ended saved"}
    assert last == "ended saved"
    assert bits(domindex.load(saved)) == uninterrupted()


def test_only_the_same_fit_goes_on(tmp_path):
    changed = rows()[0].copy()
    changed[3, 1] += 1e-9
    simple = {"candidates": [("raw", "linear")]}
    fitted(folder=tmp_path / "kept", **simple)
    for changes, words in (
        ({"X": changed}, "the data differs"),
        ({"seed": 1}, "the seed"),
        ({"index_dim": 1}, "index_dim was 2 and is 1"),
        ({"training": Training(steps=9, index_steps=4)}, "steps was 8 and is 9"),
    ):
        with pytest.raises(InputError, match=words):
            fitted(folder=tmp_path / "kept", **simple | changes)
    fitted(folder=tmp_path / "kept", **simple, verbose=0, n_jobs=1)


def test_without_a_seed_the_one_that_was_drawn_is_kept(tmp_path):
    simple = {"candidates": [("raw", "trees")], "seed": None}
    first = fitted(folder=tmp_path / "kept", **simple)
    for path in (tmp_path / "kept").glob("*.stage"):
        path.unlink()
    again = fitted(folder=tmp_path / "kept", **simple)
    assert bits(again) == bits(first)
    assert again.random_state is None


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("domindex.estimators.base.check_domain_data", lambda *_, **__: 1 / 0)
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "a\0b"):
        with pytest.raises(InputError):
            fitted(folder=folder)
