"""The record of a training, and the alarm."""

import numpy as np
import pytest
import torch

from domindex.errors import TrainingDiverged
from domindex.training.history import History


def record(history, **terms):
    history.record({name: torch.tensor(float(value)) for name, value in terms.items()})


def test_terms_are_averaged_over_each_epoch():
    history = History(steps_per_epoch=2)
    history.start_phase("index")
    for value in (1.0, 3.0, 10.0, 20.0):
        record(history, contrastive=value)
    frame = history.to_frame()
    assert frame["contrastive"].tolist() == [2.0, 15.0]
    assert frame["step"].tolist() == [2, 4]


def test_an_epoch_that_was_cut_short_counts_too():
    history = History(steps_per_epoch=2)
    history.start_phase("index")
    for value in (1.0, 3.0, 10.0):
        record(history, contrastive=value)
    assert history.to_frame()["contrastive"].tolist() == [2.0, 10.0]


def test_phases_have_their_own_steps_and_terms():
    history = History(steps_per_epoch=3)
    history.start_phase("index")
    record(history, contrastive=1.0)
    history.start_phase("encoding")
    record(history, adversary=0.5)
    record(history, adversary=0.7)
    frame = history.to_frame()
    assert frame["phase"].tolist() == ["index", "encoding"]
    assert frame["step"].tolist() == [1, 2]
    np.testing.assert_allclose(frame["adversary"], [np.nan, 0.6], rtol=1e-6)
    assert np.isnan(frame["contrastive"][1])


def test_reading_the_record_twice_gives_the_same():
    history = History(steps_per_epoch=0)
    history.start_phase("index")
    record(history, contrastive=1.0)
    assert history.to_frame().equals(history.to_frame())
    assert len(history.to_frame()) == 1


def test_a_term_with_a_gradient_can_be_recorded():
    history = History(1)
    history.record({"contrastive": torch.tensor(2.0, requires_grad=True)})
    assert history.to_frame()["contrastive"].item() == 2.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    ("term", "advice"),
    [
        ("adversary", "adversary_weight"),
        ("smoothness", "learning_rate"),
        ("label_prediction", "extreme values in X"),
        ("something_new", "learning_rate"),
    ],
)
def test_a_term_that_breaks_is_named_with_advice(term, advice, value):
    history = History(5)
    history.start_phase("encoding")
    record(history, **{term: 1.0})
    with pytest.raises(TrainingDiverged, match=f"'{term}' became {value} at step 2") as caught:
        record(history, **{term: value})
    assert "encoding phase" in str(caught.value)
    assert advice in str(caught.value)
