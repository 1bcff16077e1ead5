"""Those that look on: the alarm names what broke, and a bar follows every phase."""

from types import SimpleNamespace

import pytest
import torch

from domindex.errors import TrainingDiverged
from domindex.neural.training import Callback, DivergenceAlarm, ProgressBar
from domindex.progress import Progress, show_progress

ENCODING = SimpleNamespace(name="encoding", n_steps=3)


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
    alarm = DivergenceAlarm()
    alarm.on_phase_start(ENCODING)
    alarm.on_terms(ENCODING, 0, {term: torch.tensor(1.0)})
    with pytest.raises(TrainingDiverged, match=f"'{term}' became {value} at step 2") as caught:
        alarm.on_terms(ENCODING, 1, {"fine": torch.tensor(1.0), term: torch.tensor(value)})
    assert "encoding phase" in str(caught.value)
    assert advice in str(caught.value)


def test_a_callback_does_nothing_unless_a_subclass_does():
    callback = Callback()
    assert callback.on_phase_start(ENCODING) is None
    assert callback.before_step(ENCODING, 0) is None
    assert callback.on_terms(ENCODING, 0, {"broken": torch.tensor(float("nan"))}) is None
    assert callback.on_phase_end(ENCODING) is None


class Noting(Progress):
    """Notes the stages it is asked for and how far each one came."""

    def __init__(self):
        super().__init__()
        self.stages = {}

    def track(self, name, n_steps):
        self.stages[name] = []
        for step in range(n_steps):
            self.stages[name].append(step)
            yield step
        self.stages[name].append("closed")


def test_every_phase_has_a_bar_that_fills_and_is_closed():
    progress = Noting()
    bar = ProgressBar(progress)
    for phase in (ENCODING, SimpleNamespace(name="targets", n_steps=2)):
        bar.on_phase_start(phase)
        for step in range(phase.n_steps):
            bar.before_step(phase, step)
            bar.on_terms(phase, step, {})
        bar.on_phase_end(phase)
    assert progress.stages == {"encoding": [0, 1, 2, "closed"], "targets": [0, 1, "closed"]}


def run_silently_or_not(visible):
    with show_progress(visible) as progress:
        bar = ProgressBar(progress)
        bar.on_phase_start(ENCODING)
        for step in range(ENCODING.n_steps):
            bar.before_step(ENCODING, step)
        bar.on_phase_end(ENCODING)


@pytest.mark.parametrize("visible", [-1, 0])
def test_no_bar_is_shown_unless_asked_for(visible, capfd):
    run_silently_or_not(visible)
    assert capfd.readouterr() == ("", "")


def test_bars_go_to_standard_error(capfd):
    run_silently_or_not(1)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "encoding" in shown.err
    assert "3/3" in shown.err
