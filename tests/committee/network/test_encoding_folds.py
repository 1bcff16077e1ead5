"""Folds trained as one: each is what it would be alone, and none sees a label it is denied."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from domindex.committee.alignments import FlowAlignment, IdentityAlignment
from domindex.committee.encoding import EncodingModule, train_encoding
from domindex.committee.network_folds import train_encoding_folds
from domindex.errors import InputError, TrainingDiverged
from domindex.inputs import DomainData
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.neural.settings import TrainingSettings
from domindex.neural.training import DivergenceAlarm, History, Trainer
from domindex.vdi.alignments import AffineAlignment
from domindex.vdi.module import IndexModule
from domindex.vdi.networks import ClassPredictor, ValuePredictor
from domindex.vdi.settings import Weights

pytestmark = pytest.mark.usefixtures("_one_thread")

IS_SOURCE = np.array([True, True, True, False, False])
HELD_OUT = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 1, 0, 0]], dtype=bool)
KINDS = ("graph", "domain", "index")


def flow() -> FlowAlignment:
    alignment = FlowAlignment(2, 2, 2, n_components=1, n_coefficients=6, width=8)
    alignment.basis.copy_(torch.eye(6))
    alignment.projection.copy_(torch.eye(2))
    return alignment


def affine() -> AffineAlignment:
    return AffineAlignment(2, 2, width=8)


def bending() -> IdentityAlignment:
    return IdentityAlignment.onto(np.eye(2), 8, may_bend=True)


def settled() -> IdentityAlignment:
    return IdentityAlignment.onto(np.eye(2), 8, may_bend=False)


@pytest.fixture
def _double():
    """Adam takes a gradient that is all rounding for a gradient: in single precision, two trainings
    that are the same drift apart."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class DoubleBatches(BatchSampler):
    def draw(self):
        batch = super().draw()
        facts = replace(batch.facts, beta=batch.facts.beta.double())
        names = ("x", "represented", "raw_index", "neighbor_index")
        wide = {name: getattr(batch, name).double() for name in names}
        labels = batch.labels.double() if batch.labels.is_floating_point() else batch.labels
        return replace(batch, **wide, labels=labels, facts=facts)


def start_of(alignment, task) -> EncodingModule:
    predictor = ClassPredictor(2, 2) if task == "classification" else ValuePredictor(2, 2)
    return EncodingModule(alignment, predictor, 2, 2, width=8)


@pytest.fixture
def indices() -> IndexModule:
    return IndexModule((2,), local_dim=2, index_dim=2, width=8)


def rows_of(line, task, is_source=IS_SOURCE, change=None) -> TrainingRows:
    """Five domains along a line; `change` takes labels and domains to other labels."""
    rng = np.random.default_rng(0)
    of_row = np.repeat(np.arange(5), 20)
    classes = np.arange(100) % 2
    inputs = 0.3 * rng.normal(size=(100, 2)) + line[of_row]
    inputs[:, 1] += 2.0 * classes - 1.0
    labels = classes if task == "classification" else inputs + rng.normal(size=(100, 2))
    if change is not None:
        labels = change(labels.copy(), of_row)
    hidden = -1 if task == "classification" else np.nan
    known = is_source[of_row] if labels.ndim == 1 else is_source[of_row][:, None]
    labels = np.where(known, labels, hidden)
    names = np.array([0, 1]) if task == "classification" else None
    data = DomainData(inputs, labels, of_row, tuple("abcde"), is_source, task, classes=names)
    return TrainingRows.of(data, inputs.copy(), torch.device("cpu"))


@pytest.fixture
def setting(line, cpu):
    """Batches and a trainer for given rows, the same every time."""

    def build(rows, callbacks=(), **settings):
        settings = TrainingSettings(**{"steps": 12, "batch_size": 8, "warm_up": 2, **settings})
        torch.manual_seed(0)
        kind = DoubleBatches if torch.get_default_dtype() == torch.float64 else BatchSampler
        batches = kind(rows, settings, np.random.default_rng(0), line)
        return batches, Trainer(cpu, settings, [*callbacks, DivergenceAlarm()])

    return build


@pytest.fixture
def train_folds(setting, indices):
    def run(start, rows, held_out=HELD_OUT, n_steps=None, **settings):
        batches, trainer = setting(rows, **settings)
        return train_encoding_folds(
            start, indices, batches, held_out, KINDS, Weights(), trainer, n_steps
        )

    return run


@pytest.fixture
def train_alone(setting, indices):
    def run(start, rows, **settings):
        batches, trainer = setting(rows, [], **settings)
        return train_encoding(start, indices, batches, KINDS, Weights(), trainer)

    return run


def gap(first, second) -> float:
    """The largest difference between two modules, in their weights and statistics."""
    pairs = zip(first.state_dict().values(), second.state_dict().values())
    return max((one - other).abs().max().item() for one, other in pairs if one.numel())


ROUNDING = 1e-8
"""What double precision may add up to over a dozen steps."""


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("kind", [flow, affine, bending, settled])
def test_each_fold_is_the_training_without_the_labels_of_its_domains(
    train_folds, train_alone, line, kind, task
):
    start = start_of(kind(), task)
    folds = train_folds(start, rows_of(line, task), clip=0.5)
    for fold, held_out in zip(folds, HELD_OUT):
        alone = train_alone(start, rows_of(line, task, IS_SOURCE & ~held_out), clip=0.5)
        assert gap(fold, alone) < ROUNDING
    assert gap(folds[0], folds[1]) > 1e-4
    assert gap(folds[1], folds[2]) > 1e-4


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_labels_that_are_held_out_are_never_read(train_folds, line, task):
    def lie(labels, of_row):
        labels[np.isin(of_row, [1, 2])] = 77 if task == "classification" else np.nan
        return labels

    start = start_of(affine(), task)
    truth = train_folds(start, rows_of(line, task), HELD_OUT[2:])
    lies = train_folds(start, rows_of(line, task, change=lie), HELD_OUT[2:])
    assert gap(truth[0], lies[0]) == 0.0


def test_labels_that_are_not_held_out_are_read(train_folds, line):
    def turned(labels, of_row):
        return np.where(of_row == 0, 1 - labels, labels)

    start = start_of(affine(), "classification")
    truth = train_folds(start, rows_of(line, "classification"))
    lies = train_folds(start, rows_of(line, "classification", change=turned))
    assert gap(truth[1], lies[1]) == 0.0
    assert gap(truth[0], lies[0]) > 1e-4
    assert gap(truth[2], lies[2]) > 1e-4


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("kind", [flow, affine])
def test_a_fold_is_the_same_whoever_is_trained_beside_it(train_folds, line, kind):
    """Neither gradients nor their bound nor the statistics of z pass from one to another."""
    start, rows = start_of(kind(), "classification"), rows_of(line, "classification")
    three = train_folds(start, rows, clip=0.1)
    one = train_folds(start, rows, HELD_OUT[1:2], clip=0.1)
    assert gap(three[1], one[0]) < ROUNDING


@pytest.mark.usefixtures("_double")
def test_every_fold_may_have_a_start_of_its_own(train_folds, train_alone, line):
    rows, starts = rows_of(line, "regression"), []
    for slope in (0.0, 1.0, 2.0):
        start = start_of(settled(), "regression")
        start.predictor.follow(slope * np.eye(2), np.zeros(2), may_bend=False)
        starts.append(start)
    folds = train_folds(starts, rows)
    for fold, start, held_out in zip(folds, starts, HELD_OUT):
        assert torch.equal(fold.predictor.linear.weight, start.predictor.linear.weight)
        alone = train_alone(start, rows_of(line, "regression", IS_SOURCE & ~held_out))
        assert gap(fold, alone) < ROUNDING


def test_folds_predict_the_domains_that_they_hold_out(train_folds, line):
    rows = rows_of(line, "classification")
    held_out = np.eye(5, dtype=bool)[:3]
    folds = train_folds(start_of(settled(), "classification"), rows, held_out, n_steps=150)
    for fold, members in zip(folds, rows.data.rows_by_domain()):
        assert not fold.training
        assert {p.dtype for p in fold.parameters()} == {torch.float64}
        told = fold.predict(rows.inputs[members][None].double()).probs.argmax(dim=-1)[0]
        assert (told == rows.labels[members]).float().mean() > 0.9


def test_a_step_in_which_a_fold_knows_nobody_leaves_no_nan(train_folds, line):
    """Two domains a step: often the only source is one that the fold holds out."""
    rows = rows_of(line, "classification")
    folds = train_folds(start_of(affine(), "classification"), rows, max_domains=2, n_steps=20)
    assert all(torch.isfinite(value).all() for fold in folds for value in fold.parameters())


def test_a_shorter_training_is_one_of_so_many_steps(train_folds, line):
    start, rows = start_of(flow(), "classification"), rows_of(line, "classification")
    asked = train_folds(start, rows, n_steps=5)
    for one, other in zip(asked, train_folds(start, rows, steps=5)):
        assert gap(one, other) == 0.0


def test_folds_leave_no_history_and_the_start_as_it_was(setting, indices, line):
    start, history = start_of(affine(), "classification"), History(1)
    before = {name: value.clone() for name, value in start.state_dict().items()}
    batches, trainer = setting(rows_of(line, "classification"), [history])
    train_encoding_folds(start, indices, batches, HELD_OUT, KINDS, Weights(), trainer)
    assert len(history.rows) == 0
    assert all(torch.equal(value, before[name]) for name, value in start.state_dict().items())


def test_a_fold_that_diverges_is_told_of(train_folds, line):
    rows = rows_of(line, "regression")
    rows = replace(rows, labels=torch.full_like(rows.labels, torch.inf))
    with pytest.raises(TrainingDiverged, match="held-out encodings"):
        train_folds(start_of(flow(), "regression"), rows)


@pytest.mark.parametrize(
    ("held_out", "reason"),
    [(HELD_OUT[:, :4], "5 domains"), (HELD_OUT[:0], "0 folds"), (IS_SOURCE[None], "every source")],
)
def test_folds_that_cannot_be_trained_are_refused(train_folds, line, held_out, reason):
    with pytest.raises(InputError, match=reason):
        train_folds(start_of(flow(), "classification"), rows_of(line, "classification"), held_out)
