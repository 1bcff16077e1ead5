"""A fitted model shows itself: report, map, tables, a card in notebooks."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from domindex import CrossDomainClassifier
from domindex.errors import InputError, PreparationWarning
from domindex.reporting import (
    plot_domain_graph,
    plot_domain_map,
    plot_history,
    plot_index_against_truth,
    plot_map_on_positions,
    plot_scores_by_distance,
)
from domindex.reporting.report import map_thumbnail

ATTACK = "<script>alert(1)</script>"


def test_a_model_writes_its_report_with_and_without_its_data(classifier, family, names, tmp_path):
    alone = classifier.report(tmp_path / "alone.html", title="Alone")
    assert "<title>Alone</title>" in alone.read_text(encoding="utf-8")
    path = tmp_path / "whole.html"
    whole = classifier.report(path, family.X, family.y, sample_domain=names, budget=0)
    assert whole == path
    assert "mean confidence" in path.read_text(encoding="utf-8")


def test_a_model_that_is_not_fitted_has_nothing_to_show(tmp_path):
    for act in (
        lambda model: model.report(tmp_path / "report.html"),
        lambda model: model.plot_map(),
        lambda model: model.explain_domain("a"),
        lambda model: model.map_,
    ):
        with pytest.raises(NotFittedError):
            act(CrossDomainClassifier())
    assert not list(tmp_path.iterdir())


def test_the_map_as_a_table_has_a_row_a_domain(classifier, sources):
    table = classifier.map_
    assert table["domain"].tolist() == classifier.domains_
    assert set(table.loc[table["role"] == "source", "domain"]) == set(sources)
    np.testing.assert_array_equal(
        table[["index_1", "index_2"]].to_numpy(), classifier.domain_indices_
    )
    assert (table["distance"] == 0).tolist() == (table["role"] == "source").tolist()


def test_a_domain_is_explained_column_by_column_the_largest_difference_first(classifier):
    table = classifier.explain_domain("domain 3")
    assert set(table["column"]) == {"input 1", "input 2"}
    strength = table["from_neighbours"] + table["from_sources"] - 2 * table["chance"]
    assert strength.is_monotonic_decreasing
    assert (table[["from_neighbours", "from_sources"]] <= 1).all(axis=None)
    with pytest.raises(InputError, match="'nowhere' is none of the model's domains"):
        classifier.explain_domain("nowhere")


def test_a_moved_domain_is_explained_by_the_column_that_was_moved(family):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    names = np.repeat(["a", "b", "c", "d", "e"], 40)
    rows[names == "e", 1] += 4.0
    labels = (rows[:, 0] > 0).astype(int)
    model = CrossDomainClassifier(candidates=[("raw", "linear")], random_state=0, effort="quick")
    model.fit(rows, labels, sample_domain=names, source_domains=["a", "b", "c"])
    first = model.explain_domain("e").iloc[0]
    assert first["column"] == "input 2"
    assert first["from_sources"] > 0.3 > 3 * first["chance"]


def test_a_frame_with_texts_is_explained_by_its_columns():
    rng = np.random.default_rng(0)
    names = np.repeat(["a", "b", "c", "d", "e"], 40)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["crp", "age"])
    table["ward"] = rng.choice(["medical", "surgical"], 200)
    table.loc[names == "e", "crp"] += 4.0
    labels = (table["age"] > 0).astype(int)
    model = CrossDomainClassifier(candidates=[("raw", "linear")], random_state=0, effort="quick")
    with pytest.warns(PreparationWarning):
        model.fit(table, labels, sample_domain=names, source_domains=["a", "b", "c"])
    assert model.explain_domain("e")["column"].iloc[0] == "crp"
    assert model._record.importance["column"].iloc[0] == "age"


def test_a_card_shows_map_and_committee_and_believes_no_name(classifier):
    page = classifier._repr_html_()
    assert page.count("<rect") == 4
    assert page.count("<circle") == 4
    assert "who predicts" in page
    assert "Expected accuracy in the targets" in page
    assert ATTACK not in page
    assert classifier._repr_mimebundle_()["text/html"] == page
    HTMLParser().feed(page)


def test_before_fit_the_card_is_that_of_scikit_learn():
    assert "CrossDomainClassifier" in CrossDomainClassifier()._repr_html_()


def test_a_thumbnail_of_one_point_or_a_line_is_drawn():
    for points in (np.zeros((1, 2)), np.array([[0.0, 0.0], [1.0, 0.0]])):
        assert "nan" not in map_thumbnail(points, np.zeros(len(points), dtype=bool))


def test_figures_take_the_model_itself(classifier, sources):
    axes = classifier.plot_map()
    labels = {text.get_text() for text in axes.get_legend().get_texts()}
    assert {"source", "target"} <= labels
    assert len(axes.patches) == len(classifier.domains_), "the model's own uncertainty"
    number = np.arange(len(classifier.domains_), dtype=float)
    scores = dict.fromkeys(classifier.domains_, 0.5)
    assert plot_domain_map(classifier, color=number) is not None
    assert plot_scores_by_distance(classifier, scores) is not None
    assert plot_index_against_truth(classifier, number) is not None
    assert plot_map_on_positions(classifier, np.stack([number, number**2], axis=1)) is not None
    assert plot_domain_graph(classifier) is not None
    assert plot_history(classifier) is not None


def test_what_is_neither_model_nor_map_is_refused():
    with pytest.raises(InputError, match=r"index is a list\. Pass a fitted model"):
        plot_domain_map([1, 2])
    with pytest.raises(InputError, match=r"history is a dict\. Pass a fitted model"):
        plot_history({})
