"""Folders of exported predictors: what is in them, who opens them, and what is refused."""

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR
from torch import nn

import domindex
from domindex import (
    CrossDomainClassifier,
    CrossDomainRegressor,
    Representation,
    Training,
    VDIClassifier,
    VDIRegressor,
    register_representation,
)
from domindex.datasets import make_circle
from domindex.errors import InputError, PreparationWarning
from domindex.estimators import cross_domain
from domindex.export import exporting
from domindex.representations.base import REPRESENTATIONS, Raw

SHORT = Training(steps=4, index_steps=4, batch_size=8)
FAMILY = make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)
ROLES = {"sample_domain": FAMILY.sample_domain, "source_domains": FAMILY.source_domains}
KNOWN = {"sample_domain": FAMILY.sample_domain}
ONNX = ("onnx", "onnxruntime", "onnxscript", "skl2onnx")
needs_onnx = pytest.mark.skipif(
    not all(find_spec(name) for name in ONNX),
    reason="ONNX is not installed: pip install 'domindex[onnx]'",
)


def fitted(kind, y, *candidates):
    model = kind(candidates=list(candidates), training=SHORT, random_state=0)
    return model.fit(FAMILY.X, y, **ROLES)


@pytest.fixture(scope="module")
def classifier():
    return fitted(CrossDomainClassifier, FAMILY.y, ("flow", "network"))


@pytest.fixture(scope="module")
def regressor():
    return fitted(CrossDomainRegressor, FAMILY.X.sum(axis=1), ("raw", "linear"))


@pytest.fixture(scope="module")
def folder(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "classifier"
    classifier.export(path)
    return path


def test_a_network_comes_back_and_predicts_the_same(classifier, folder):
    exported = domindex.load_exported(folder)
    expected = classifier.predict_proba(FAMILY.X, **KNOWN)
    np.testing.assert_allclose(exported.predict_proba(FAMILY.X, **KNOWN), expected, atol=1e-12)
    np.testing.assert_array_equal(
        exported.predict(FAMILY.X, **KNOWN), classifier.predict(FAMILY.X, **KNOWN)
    )
    one = exported.predict_proba(FAMILY.X[:1], sample_domain=FAMILY.sample_domain[:1])
    np.testing.assert_allclose(one, expected[:1], atol=1e-12)
    assert exported.domains == classifier.domains_


@pytest.mark.full
def test_torch_alone_runs_it(classifier, folder, tmp_path):
    """In a process that never imports domindex, as another machine would."""
    numbers = [classifier.domains_.index(name) for name in FAMILY.sample_domain]
    np.savez(tmp_path / "rows.npz", X=FAMILY.X, numbers=numbers)
    words = (
        "import sys, numpy, torch; rows = numpy.load(sys.argv[1]);"
        "run = torch.export.load(sys.argv[2]).module();"
        "(said,) = run(torch.tensor(rows['X']), torch.tensor(rows['numbers']));"
        "assert not any(name.startswith('domindex') for name in sys.modules);"
        "numpy.save(sys.argv[3], said.detach().numpy())"
    )
    paths = [tmp_path / "rows.npz", folder / exporting.PROGRAM, tmp_path / "said.npy"]
    subprocess.run([sys.executable, "-c", words, *map(str, paths)], check=True, timeout=120)
    expected = classifier.predict_proba(FAMILY.X, **KNOWN)
    np.testing.assert_allclose(np.load(paths[2]), expected, atol=1e-12)


def test_values_come_with_deviations(regressor, tmp_path):
    regressor.export(tmp_path / "e")
    exported = domindex.load_exported(tmp_path / "e")
    for one, other in zip(
        exported.predict(FAMILY.X, return_std=True, **KNOWN),
        regressor.predict(FAMILY.X, return_std=True, **KNOWN),
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    assert exported.predict(FAMILY.X, **KNOWN).shape == (len(FAMILY.X),)
    with pytest.raises(InputError, match="no probabilities"):
        exported.predict_proba(FAMILY.X, **KNOWN)


@pytest.fixture(scope="module")
def with_machine():
    y = FAMILY.X.sum(axis=1)
    return fitted(CrossDomainRegressor, y, ("domain_centred", SVR()))


def test_what_torch_has_no_form_of_is_kept_by_skops(with_machine, tmp_path):
    with_machine.export(tmp_path / "e")
    assert (tmp_path / "e" / "predictor-0.skops").is_file()
    exported = domindex.load_exported(tmp_path / "e")
    np.testing.assert_allclose(
        exported.predict(FAMILY.X, **KNOWN), with_machine.predict(FAMILY.X, **KNOWN), rtol=1e-9
    )


@needs_onnx
def test_onnx_names_the_member_that_does_not_allow_it(tmp_path):
    model = fitted(CrossDomainRegressor, FAMILY.X.sum(axis=1), ("raw", KernelRidge()))
    with pytest.raises(InputError, match=r"'KernelRidge' \(skl2onnx on KernelRidge: .*skops"):
        model.export(tmp_path / "e", format="onnx")
    assert not list(tmp_path.iterdir())


@needs_onnx
def test_onnx_agrees_with_predict(classifier, regressor, tmp_path):
    classifier.export(tmp_path / "classes", format="onnx")
    exported = domindex.load_exported(tmp_path / "classes")
    for n_rows in (1, len(FAMILY.X)):
        known = {"sample_domain": FAMILY.sample_domain[:n_rows]}
        np.testing.assert_allclose(
            exported.predict_proba(FAMILY.X[:n_rows], **known),
            classifier.predict_proba(FAMILY.X[:n_rows], **known),
            atol=1e-7,
        )
    regressor.export(tmp_path / "values", format="onnx")
    values = domindex.load_exported(tmp_path / "values")
    for one, other in zip(
        values.predict(FAMILY.X, return_std=True, **KNOWN),
        regressor.predict(FAMILY.X, return_std=True, **KNOWN),
    ):
        np.testing.assert_allclose(one, other, rtol=1e-7)


@needs_onnx
@pytest.mark.parametrize("name", ["trees", "boosting", "kernel", "boosted_linear"])
def test_onnx_has_what_scikit_learn_fitted(name, tmp_path):
    values = np.column_stack([FAMILY.X.sum(axis=1), FAMILY.X[:, 0] ** 2])
    models = [fitted(CrossDomainRegressor, values, ("domain_centred", name), ("raw", "linear"))]
    if name != "boosted_linear":
        models.append(fitted(CrossDomainClassifier, FAMILY.y, ("raw", name)))
    for number, model in enumerate(models):
        model.export(tmp_path / str(number), format="onnx")
        exported = domindex.load_exported(tmp_path / str(number))
        ask = "predict" if number == 0 else "predict_proba"
        for n_rows in (1, len(FAMILY.X)):
            known = {"sample_domain": FAMILY.sample_domain[:n_rows]}
            found, expected = (
                getattr(one, ask)(FAMILY.X[:n_rows], **known) for one in (exported, model)
            )
            np.testing.assert_allclose(found, expected, atol=1e-5)


PAPERS_MODEL = {"pretraining_steps": 4, "steps": 6, "refresh_every": 3, "random_state": 0}


@pytest.mark.parametrize(
    "form", ["torch", pytest.param("onnx", marks=needs_onnx)], ids=["torch", "onnx"]
)
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (VDIClassifier, {}),
        (VDIClassifier, {"encoder": "affine", "local_index": "projection", "aggregation": "mean"}),
        (VDIRegressor, {}),
    ],
    ids=["classes", "options", "values"],
)
def test_the_papers_model_is_a_program_too(kind, settings, form, tmp_path):
    is_class = kind is VDIClassifier
    y = FAMILY.y if is_class else np.column_stack([FAMILY.X.sum(axis=1), 100 + FAMILY.X[:, 0]])
    model = kind(**PAPERS_MODEL | settings).fit(FAMILY.X, y, **ROLES)
    model.export(tmp_path / "e", format=form)
    exported = domindex.load_exported(tmp_path / "e")
    assert exported.domains == model.domains_
    for n_rows in (1, len(FAMILY.X)):
        X, known = FAMILY.X[:n_rows], {"sample_domain": FAMILY.sample_domain[:n_rows]}
        if is_class:
            found, expected = (one.predict_proba(X, **known) for one in (exported, model))
        else:
            found, expected = (
                one.predict(X, return_std=True, **known) for one in (exported, model)
            )
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_the_papers_model_takes_its_added_domains_and_its_backbone_along(tmp_path):
    torch.manual_seed(0)
    backbone = domindex.Backbone(nn.Sequential(nn.Linear(2, 6), nn.Tanh()), frozen=True)
    model = VDIClassifier(**PAPERS_MODEL, backbone=backbone).fit(FAMILY.X, FAMILY.y, **ROLES)
    X, new = FAMILY.X[:20] + 0.1, {"sample_domain": ["new"] * 20}
    grown = model.add_domains(X, **new)
    grown.export(tmp_path / "e")
    found = domindex.load_exported(tmp_path / "e").predict_proba(X, **new)
    np.testing.assert_allclose(found, grown.predict_proba(X, **new), atol=1e-5)


def test_without_onnx_the_error_says_what_to_install(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("domindex.export.onnx_files.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'domindex\[onnx\]'"):
        classifier.export(tmp_path / "e", format="onnx")
    assert not list(tmp_path.iterdir())


def test_other_formats_other_paths_and_models_that_are_not_fitted(classifier, folder, tmp_path):
    with pytest.raises(InputError, match=r"format is 'pickle'. Choose one of 'torch', 'onnx'"):
        classifier.export(tmp_path / "e", format="pickle")
    with pytest.raises(InputError, match="exists"):
        classifier.export(folder)
    with pytest.raises(ValueError, match="not fitted"):
        CrossDomainClassifier().export(tmp_path / "e")
    with pytest.raises(ValueError, match="not fitted"):
        VDIClassifier().export(tmp_path / "e")


def test_new_domains_and_other_rows_are_refused(folder):
    exported = domindex.load_exported(folder)
    with pytest.raises(InputError, match="does not know"):
        exported.predict(FAMILY.X, sample_domain=["new"] * len(FAMILY.X))
    with pytest.raises(InputError, match=r"rows of shape \(1,\)"):
        exported.predict(FAMILY.X[:, :1], **KNOWN)
    with pytest.raises(InputError, match="return_std is for values"):
        exported.predict(FAMILY.X, return_std=True, **KNOWN)


def test_a_folder_that_was_edited_or_is_something_else_is_refused(classifier, folder, tmp_path):
    path = tmp_path / "copy"
    path.mkdir()
    for one in folder.iterdir():
        (path / one.name).write_bytes(one.read_bytes())
    text = json.loads((path / "export.json").read_text())
    text["domains"].reverse()
    (path / "export.json").write_text(json.dumps(text))
    with pytest.raises(InputError, match="damaged"):
        domindex.load_exported(path)
    classifier.save(tmp_path / "saved")
    with pytest.raises(InputError, match=r"export\.json"):
        domindex.load_exported(tmp_path / "saved")
    with pytest.raises(InputError):
        domindex.load(folder)


def test_a_program_that_disagrees_is_not_written(regressor, tmp_path, monkeypatch):
    built = cross_domain.build_program

    def spoiled(*given):
        program = built(*given)
        program.weights = [1.01 * weight for weight in program.weights]
        return program

    monkeypatch.setattr(cross_domain, "build_program", spoiled)
    with pytest.raises(InputError, match="differs from predict"):
        regressor.export(tmp_path / "e")
    assert not list(tmp_path.iterdir())


def test_a_representation_of_the_users_is_named(tmp_path):
    @register_representation
    class Mine(Raw):
        name = "mine"

    try:
        assert issubclass(Mine, Representation)
        model = fitted(CrossDomainClassifier, FAMILY.y, ("mine", "linear"))
        with pytest.raises(InputError, match="member 1, on 'mine', cannot be exported"):
            model.export(tmp_path / "e")
    finally:
        REPRESENTATIONS.remove("mine")


def test_texts_are_refused_since_their_preparation_is_no_program(tmp_path):
    frame = pd.DataFrame(FAMILY.X, columns=["a", "b"]).assign(c=["x", "y"] * (len(FAMILY.X) // 2))
    model = CrossDomainClassifier(
        predictor="linear", representation="raw", training=SHORT, random_state=0
    )
    with pytest.warns(PreparationWarning):
        model.fit(frame, FAMILY.y, **ROLES)
    with pytest.raises(InputError, match="texts or dates"):
        model.export(tmp_path / "e")


def test_a_frozen_backbone_is_part_of_the_program(tmp_path):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 6), nn.Tanh())
    model = CrossDomainClassifier(
        backbone=domindex.Backbone(network, frozen=True),
        candidates=[("raw", "linear")],
        training=SHORT,
        random_state=0,
    ).fit(FAMILY.X, FAMILY.y, **ROLES)
    model.export(tmp_path / "e")
    exported = domindex.load_exported(tmp_path / "e")
    expected = model.predict_proba(FAMILY.X, **KNOWN)
    np.testing.assert_allclose(exported.predict_proba(FAMILY.X, **KNOWN), expected, atol=1e-5)
