"""The record of a training."""

from types import SimpleNamespace

import numpy as np
import torch

from domindex.neural.training import History

INDICES, ENCODING = SimpleNamespace(name="indices"), SimpleNamespace(name="encoding")


def record(history, phase, *values, term="contrastive", finish=True):
    """One phase, a step for each value of a term."""
    history.on_phase_start(phase)
    for step, value in enumerate(values):
        history.on_terms(phase, step, {term: torch.tensor(float(value))})
    if finish:
        history.on_phase_end(phase)


def test_terms_are_averaged_over_each_epoch():
    history = History(steps_per_epoch=2)
    record(history, INDICES, 1.0, 3.0, 10.0, 20.0)
    frame = history.to_frame()
    assert frame["contrastive"].tolist() == [2.0, 15.0]
    assert frame["step"].tolist() == [2, 4]


def test_an_epoch_that_was_cut_short_counts_too():
    history = History(steps_per_epoch=2)
    record(history, INDICES, 1.0, 3.0, 10.0)
    assert history.to_frame()["contrastive"].tolist() == [2.0, 10.0]
    assert history.to_frame()["step"].tolist() == [2, 3]


def test_phases_have_their_own_steps_and_terms():
    history = History(steps_per_epoch=3)
    record(history, INDICES, 1.0)
    record(history, ENCODING, 0.5, 0.7, term="adversary")
    frame = history.to_frame()
    assert frame["phase"].tolist() == ["indices", "encoding"]
    assert frame["step"].tolist() == [1, 2]
    np.testing.assert_allclose(frame["adversary"], [np.nan, 0.6], rtol=1e-6)
    assert np.isnan(frame["contrastive"][1])


def test_a_phase_that_never_ended_is_closed_by_the_next():
    history = History(steps_per_epoch=3)
    record(history, INDICES, 1.0, finish=False)
    record(history, ENCODING, 2.0)
    frame = history.to_frame()
    assert frame["phase"].tolist() == ["indices", "encoding"]
    assert frame["contrastive"].tolist() == [1.0, 2.0]


def test_reading_the_record_twice_gives_the_same():
    history = History(steps_per_epoch=0)
    record(history, INDICES, 1.0)
    assert history.to_frame().equals(history.to_frame())
    assert len(history.to_frame()) == 1


def test_a_term_with_a_gradient_can_be_recorded():
    history = History(1)
    history.on_terms(INDICES, 0, {"contrastive": torch.tensor(2.0, requires_grad=True)})
    assert history.to_frame()["contrastive"].item() == 2.0
