"""Figures of what a fit said of itself draw its figures, and refuse what has none."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from domindex import MomentFlow
from domindex.errors import InputError
from domindex.reporting import (
    plot_calibration,
    plot_differences,
    plot_forecast,
    plot_importance,
)
from domindex.reporting.canvas import short_name


def named(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def marks(axes, label):
    (found,) = [one for one in axes.collections if one.get_label() == label]
    return np.asarray(found.get_offsets())


def test_a_forecast_has_a_row_a_target_the_best_at_the_top(classifier):
    first = classifier.forecast_["domain"].iloc[0]
    axes = plot_forecast(classifier, found={first: 0.5})
    table = classifier.forecast_.sort_values("expected_accuracy", kind="stable")
    assert named(axes) == [short_name(str(name)) for name in table["domain"]]
    np.testing.assert_allclose(marks(axes, "expected")[:, 0], table["expected_accuracy"])
    (height,) = np.flatnonzero(table["domain"] == first)
    assert marks(axes, "found")[height].tolist() == [0.5, height]
    axes.figure.draw_without_rendering()


def test_of_errors_the_smallest_is_at_the_top(regressor):
    drawn = marks(plot_forecast(regressor), "expected")[:, 0]
    assert (np.diff(drawn) <= 0).all()


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_calibration_is_that_of_the_held_out_sources(name, request):
    model = request.getfixturevalue(name)
    axes = plot_calibration(model)
    kept = model._record.held_out.calibration[:, :2]
    np.testing.assert_allclose(marks(axes, "held-out sources"), kept)
    axes.figure.draw_without_rendering()


def test_importance_names_the_weightiest_column_at_the_top(regressor):
    axes = plot_importance(regressor)
    assert named(axes)[-1] == "input 1", "values are twice the first input"
    assert axes.patches[-1].get_width() == pytest.approx(
        regressor._record.importance["importance"].max()
    )


def test_differences_are_those_of_the_table(classifier):
    name = classifier.forecast_["domain"].iloc[0]
    axes = plot_differences(classifier, name, most=1)
    first = classifier.explain_domain(name).iloc[0]
    assert named(axes) == [first["column"]]
    assert {bar.get_width() for bar in axes.patches} == {
        first["from_sources"],
        first["from_neighbours"],
    }
    assert f"{first['typical']} here" in axes.texts[0].get_text()


def test_each_draws_on_the_axes_it_is_given(classifier):
    name = classifier.domains_[0]
    for draw in (
        plot_forecast,
        plot_calibration,
        plot_importance,
        lambda model, ax: plot_differences(model, name, ax=ax),
    ):
        axes = Figure().add_subplot()
        assert draw(classifier, ax=axes) is axes


def test_a_model_without_a_record_is_refused(family):
    model = MomentFlow(LogisticRegression())
    with pytest.raises(InputError, match="no forecast to draw"):
        plot_forecast(model)
    for draw in (plot_calibration, plot_importance):
        with pytest.raises(InputError, match="This MomentFlow keeps no record of a fit"):
            draw(model)
