"""One call draws the paper's figures of a dataset."""

import pytest
from typer.testing import CliRunner

from domindex import (
    CrossDomainClassifier,
    CrossDomainRegressor,
    Training,
    VDIClassifier,
    VDIRegressor,
)
from domindex.cli import app
from domindex.errors import InputError
from domindex.reporting import paper_figures

QUICK = {
    "candidates": [("raw", "linear")],
    "training": Training(index_steps=2),
    "random_state": 0,
}


@pytest.mark.parametrize(
    ("dataset", "model", "endings"),
    [
        ("circle", CrossDomainClassifier(**QUICK), {"index"}),
        (
            "dg-15",
            VDIClassifier(pretraining_steps=2, steps=2, random_state=0),
            {"true-graph", "inferred-graph", "local-indices", "local-indices-of-three"},
        ),
        (
            "dg-15",
            CrossDomainClassifier(**QUICK),
            {"true-graph", "inferred-graph", "local-indices", "local-indices-of-three"},
        ),
        pytest.param(
            "tpt-48-w-e",
            CrossDomainRegressor(**QUICK),
            {"map-by-latitude", "map-by-longitude", "map-on-geography"},
            marks=pytest.mark.full,
        ),
    ],
)
def test_figures_are_written_as_pictures(paper_data, tmp_path, dataset, model, endings):
    paths = paper_figures(dataset, tmp_path / "figures", paper_data, model=model)
    assert {path.name for path in paths} == {f"{dataset}-{ending}.png" for ending in endings}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_a_method_is_chosen_by_its_name(paper_data, tmp_path, monkeypatch):
    fits = []

    def fit(self, *given, **named):
        fits.append(type(self))
        raise InputError("enough")

    monkeypatch.setattr(VDIClassifier, "fit", fit)
    monkeypatch.setattr(VDIRegressor, "fit", fit)
    for name in ("circle", "tpt-48-w-e"):
        with pytest.raises(InputError, match="enough"):
            paper_figures(name, tmp_path, paper_data, method="vdi")
    assert fits == [VDIClassifier, VDIRegressor]
    with pytest.raises(InputError, match=r"method is 'vid'\. Choose one of cross-domain, vdi"):
        paper_figures("circle", tmp_path, paper_data, method="vid")


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
