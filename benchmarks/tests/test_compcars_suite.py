"""The suite on cars: what each of its datasets is, and the paper's Table 3."""

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from domindex import Training, VDIClassifier
from domindex.datasets import files
from domindex.datasets.paper import CAR_FILE
from domindex.errors import InputError
from domindex.neural.builtin_backbones import ResNet18
from domindex_bench import Cell, find_suite, render_suite
from domindex_bench.cli import app
from domindex_bench.data.compcars import CompCars
from domindex_bench.data.drawn_cars import write_generated_compcars
from domindex_bench.figures import Outcome, group_figures
from domindex_bench.methods import PAPERS_COLUMNS
from domindex_bench.rendering import write_figures
from domindex_bench.running import measure, run_benchmark
from domindex_bench.suites import compcars
from domindex_bench.suites.compcars import needs_features, needs_pictures

pytest.importorskip("PIL.Image", reason="pip install 'domindex[pictures]'")
SUITE = find_suite("compcars")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A data folder that holds something like the release."""
    home = tmp_path_factory.mktemp("home")
    write_generated_compcars(home / "compcars", pictures_per_type=1)
    return home


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(compcars, "GENERATED_SIZE", 8)
    monkeypatch.setattr(compcars, "GENERATED_PER_TYPE", 2)


def test_drawn_cars_go_through_the_folders_and_are_drawn_anew_with_every_seed(small):
    first, again, other = (compcars.generated(None, seed) for seed in (0, 0, 1))
    assert first.X.shape == (240, 3, 8, 8)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_photographs_are_small_pictures_where_there_are_no_weights(release):
    dataset = compcars.photographs(release, 0)
    assert dataset.X.shape == (120, 3, 64, 64)
    assert needs_pictures(dataset) == ""
    assert "ends in -conv" in needs_features(dataset)


def test_with_published_weights_they_are_features_that_are_computed_once(release, monkeypatch):
    torch.manual_seed(0)
    cars = CompCars(release / "compcars", size=32)
    weights = release / "resnet18-made-up.pth"
    torch.save(ResNet18(3).state_dict(), weights)
    features = compcars.resnet_features(cars, weights, release)
    assert features.shape == (120, 512)
    assert np.isfinite(features).all()
    monkeypatch.setattr(compcars, "_computed", None)
    again = compcars.resnet_features(cars, weights, release)
    np.testing.assert_array_equal(features, again)
    weights.unlink()


def test_a_run_goes_on_without_what_cannot_be_had(tmp_path, monkeypatch, small):
    def offline(*args, **kwargs):
        raise OSError("no route")

    def run(cell, data_home=None):
        return cell.ended("done", figures={"accuracy": 50.0}, fit_seconds=0.1)

    monkeypatch.setattr("pooch.retrieve", offline)
    monkeypatch.setattr("domindex_bench.running.run_cell", run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = run_benchmark(
            None, ["knn"], suite="compcars", seeds=1, jobs=1, out=tmp_path, data_home=tmp_path
        )
    said = " ".join(str(one.message) for one in caught)
    assert "goes on without compcars. There is no CompCars" in said
    assert "goes on without compcars-features. feature_resnet18_new_data.pkl is not in" in said
    assert [result.dataset for result in run.results] == ["compcars-generated"]


def test_the_authors_features_fill_table_3(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    domain, label = np.repeat(np.arange(30), 8), np.tile(np.arange(4), 60)
    data = rng.normal(size=(240, 6)) + 6.0 * np.eye(6)[label]
    content = {"data": data, "label": label, "domain": domain}
    (tmp_path / CAR_FILE).write_bytes(pickle.dumps(content))
    digest = files.git_blob_id(tmp_path / CAR_FILE)
    known = files.RemoteFile(CAR_FILE, "CompCars/data", digest, "git blob id")
    monkeypatch.setitem(files.FILES, CAR_FILE, known)
    result = measure(Cell("compcars", "compcars-features", "logistic", 0), str(tmp_path))
    assert result.figures["accuracy"] > 80.0
    for method, model in SUITE.methods.items():
        applies = model.objection(SUITE.datasets["compcars-features"].load(tmp_path, 0)) == ""
        assert applies != method.endswith("-conv")


def test_table_3_has_what_was_measured_beside_the_paper():
    rows = []
    for method in PAPERS_COLUMNS:
        for dataset, name in (("compcars-features", method), ("compcars", f"{method}-conv")):
            cell = Cell("compcars", dataset, name, 0)
            figures = {"accuracy": 45.0, "worst": 30.0, "worst_domain": "rear 2014"}
            rows.append(cell.ended("done", figures=figures, fit_seconds=1.0))
    lines = render_suite(SUITE, rows).splitlines()
    assert any(line.startswith("| The paper |  | 39.1 | 38.9 |") for line in lines)
    for title in ("CompCars, photographs", "CompCars, the authors' features"):
        (number,) = (i for i, line in enumerate(lines) if line.startswith(f"| {title} | measured"))
        assert lines[number].count("45.0") == len(PAPERS_COLUMNS)
        assert lines[number + 1] == (
            "|  | difference | +5.9 | +6.1 | +2.2 | +3.2 | +3.6 | +3.2 | +4.3 | +1.1 | +1.1 |"
        )


def test_without_either_drawn_cars_fill_table_3_and_it_says_so():
    rows = [
        Cell("compcars", "compcars-generated", name, 0).ended(
            "done", figures={"accuracy": 50.0}, fit_seconds=0.1
        )
        for name in ("dann-conv", "vdi")
    ]
    document = render_suite(SUITE, rows)
    assert "Neither the photographs nor the authors' features were there" in document
    empty = " | ".join("–" for _ in PAPERS_COLUMNS[2:-1])
    assert f"| Drawn cars | measured | – | 50.0 | {empty} | 50.0 |" in document
    assert "difference" not in document


def test_every_method_of_table_3_runs_on_drawn_cars(small):
    drawn = compcars.generated(None, 0)
    able = [name for name, method in SUITE.methods.items() if not method.objection(drawn)]
    assert {name.removesuffix("-conv") for name in able} >= set(PAPERS_COLUMNS)
    assert "vdi" in able  # on the pixels


def test_one_command_draws_the_map_by_viewpoint_and_by_year(small, tmp_path, monkeypatch):
    def build(dataset, seed):
        return VDIClassifier(pretraining_steps=1, steps=1, random_state=seed)

    monkeypatch.setitem(SUITE.methods, "vdi", replace(SUITE.methods["vdi"], build=build))
    result = CliRunner().invoke(
        app, ["figures", "compcars-generated", "--methods", "vdi", "--out", str(tmp_path)]
    )
    assert result.exit_code == 0, result.stderr
    names = [f"compcars-generated-map-by-{what}.png" for what in ("viewpoint", "year")]
    assert [Path(line).name for line in result.stdout.split()] == names
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_a_figure_of_a_method_that_cannot_run_there_says_why(small, tmp_path):
    with pytest.raises(InputError, match="dann cannot run on compcars-generated: on pictures it"):
        write_figures("compcars-generated", ["dann"], out=tmp_path)


def test_groups_on_a_map_are_scored_by_neighbours_and_silhouette(small):
    dataset = compcars.generated(None, 0)

    class Map:
        domains_ = dataset.domains
        domain_indices_ = dataset.true_index * [1.0, 0.1]

    outcome = Outcome(dataset, Map(), ~dataset.is_source, dataset.y[~dataset.is_source])
    figures = group_figures("viewpoint", outcome)
    assert figures["viewpoint_neighbours"] == 100.0
    assert figures["viewpoint_silhouette"] > 0.9
    assert group_figures("year", outcome)["year_neighbours"] == 0.0
    assert group_figures("year", Outcome(dataset, object(), outcome.rows, dataset.y)) == {}


@pytest.mark.parametrize(
    "method", [pytest.param("cross-domain-conv", marks=pytest.mark.full), "dann-conv"]
)
def test_a_network_runs_on_drawn_cars_through_its_backbone(small, method):
    data = compcars.generated(None, 0)
    model = SUITE.methods[method].build(data, 0)
    assert model.backbone == "conv"
    model.set_params(training=Training(index_steps=2, steps=2))
    if method == "cross-domain-conv":
        model.set_params(representation="raw", predictor="network")
    model.fit(data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    assert set(model.predict(data.X[:8], sample_domain=data.sample_domain[:8])) <= set(range(4))
