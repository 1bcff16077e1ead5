"""One call draws the paper's figures of a dataset, of one method or of several side by side."""

import sys
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training, VDIClassifier
from domindex.baselines import DANN
from domindex.cli import app
from domindex.datasets import DomainDataset
from domindex.datasets.paper import CAR_DOMAINS, car_facts
from domindex.errors import InputError
from domindex.reporting import paper_figures
from domindex.reporting.canvas import new_columns

QUICK = {
    "candidates": [("raw", "linear")],
    "training": Training(index_steps=2),
    "random_state": 0,
}


MODULE = sys.modules[paper_figures.__module__]  # its name is that of the function
QUICK_VDI = VDIClassifier(pretraining_steps=2, steps=2, random_state=0)


@pytest.mark.parametrize(
    ("dataset", "model", "endings"),
    [
        ("circle", CrossDomainClassifier(**QUICK), {"index"}),
        ("dg-60", QUICK_VDI, {"graph"}),
        pytest.param(
            "tpt-48-w-e",
            CrossDomainRegressor(**QUICK),
            {"map-by-latitude", "map-by-longitude", "map-on-geography"},
            marks=pytest.mark.full,
        ),
    ],
)
def test_figures_are_written_as_pictures(paper_data, tmp_path, dataset, model, endings):
    paths = paper_figures(dataset, tmp_path / "figures", paper_data, method=model)
    assert {path.name for path in paths} == {f"{dataset}-{ending}.png" for ending in endings}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    assert not hasattr(model, "domain_index_")  # a copy was fitted


def test_several_methods_stand_side_by_side_with_the_true_graph_before_them(
    paper_data, tmp_path, drawn
):
    methods = [QUICK_VDI, CrossDomainClassifier(**QUICK)]
    paths = paper_figures("dg-15", tmp_path, paper_data, method=methods)
    endings = ["graph", "local-indices", "local-indices-of-three"]
    assert [path.name for path in paths] == [f"dg-15-{ending}.png" for ending in endings]
    titles = [[axes.get_title() for axes in columns] for columns in drawn]
    assert titles[0][0] == "Truth\n56 edges"
    assert [title.split("\n")[0] for title in titles[0][1:]] == titles[1]
    assert all("\nAUC 0." in title for title in titles[0][1:])
    assert titles[1] == titles[2] == ["VDIClassifier", "CrossDomainClassifier"]
    shown = [text.get_text() for text in drawn[2][1].get_legend().get_texts()]
    assert shown == ["0", "11", "1"]  # the paper's three


def test_methods_are_known_by_name(tmp_path, drawn, monkeypatch):
    quick = partial(VDIClassifier, pretraining_steps=2, steps=2)
    monkeypatch.setitem(MODULE.METHODS, "vdi", (quick, None))
    paper_figures(few_cars(), tmp_path, method="vdi")
    assert [axes.get_title() for (axes,) in drawn] == ["VDI, the paper's model"] * 2


def few_cars() -> DomainDataset:
    """Features of made-up cars of every viewpoint and year."""
    names = np.repeat(CAR_DOMAINS, 8)
    return DomainDataset(
        name="compcars-features",
        X=np.random.default_rng(0).normal(size=(len(names), 3)) + np.arange(len(names))[:, None],
        y=np.tile(np.arange(4), len(names) // 4),
        sample_domain=names,
        **car_facts(CAR_DOMAINS),
    )


def test_cars_are_coloured_by_viewpoint_and_by_year(tmp_path, drawn):
    paths = paper_figures(few_cars(), tmp_path, method={"Mine": QUICK_VDI})
    endings = ["map-by-viewpoint", "map-by-year"]
    assert [path.name for path in paths] == [
        f"compcars-features-{ending}.png" for ending in endings
    ]
    (views,), (years,) = drawn
    assert views.get_title() == years.get_title() == "Mine"
    legend = [text.get_text() for text in views.get_legend().get_texts()]
    targets = [f"{view}, target" for view in ("front", "front-side", "rear", "rear-side", "side")]
    assert sorted(legend) == sorted([*targets, "front, source"])
    bar = years.figure.axes[-1]
    assert bar.get_ylabel() == "year of manufacture"
    assert bar.get_ylim() == (2009, 2014)


@pytest.fixture
def drawn(monkeypatch):
    """The Axes of every picture, by column."""
    seen = []

    def columns(number):
        figure, axes = new_columns(number)
        seen.append(axes)
        return figure, axes

    monkeypatch.setattr(MODULE, "new_columns", columns)
    return seen


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("map", r"method names 'map'\. Choose from cross-domain, vdi, or pass an estimator"),
        ("vid", r"method names 'vid'\. Choose from cross-domain, vdi, or pass an estimator"),
        (["vdi", DANN()], r"method names DANN\(\).* estimator that draws a map"),
        ([QUICK_VDI, QUICK_VDI], r"only VDIClassifier can be told apart\. Pass a mapping"),
        ([], r"method is empty\. Name one or more of cross-domain, vdi"),
    ],
)
def test_a_method_that_is_none_is_refused_before_any_work(tmp_path, method, message):
    with pytest.raises(InputError, match=message):
        paper_figures("circle", tmp_path / "figures", method=method)
    assert not (tmp_path / "figures").exists()


def test_a_dataset_that_the_paper_does_not_show_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no figure of 'rotating-digits'\. Choose one of circle"):
        paper_figures("rotating-digits", tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match="cannot be made"):
        paper_figures("circle", tmp_path / "taken" / "below")


def test_the_command_reports_a_wrong_name_in_one_line():
    result = CliRunner().invoke(app, ["figures", "circel"])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: The paper has no figure of 'circel'")
