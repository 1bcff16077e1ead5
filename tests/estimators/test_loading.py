"""Saved models: what comes back, what is refused, and that a stranger's folder runs nothing."""

import hashlib
import json
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.errors import InputError
from domindex.persistence.codec import to_plain
from domindex.persistence.model_folder import (
    FORMAT_VERSION,
    MANIFEST,
    save_model,
    write_manifest,
)

QUICK = {
    "predictor": "network",
    "effort": "quick",
    "training": Training(index_steps=5, steps=10),
    "random_state": 0,
}
LINEAR = {"predictor": "linear", "representation": "raw"}
"""Where it does not matter what predicts."""
N_DOMAINS, N_ROWS = 8, 30


def rows(n_features=3, seed=0):
    """Clouds that turn and drift from domain to domain; the label is what they were before."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(N_DOMAINS * N_ROWS, n_features))
    place = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    turn = 0.2 * place
    X = plain.copy()
    X[:, 0] = np.cos(turn) * plain[:, 0] - np.sin(turn) * plain[:, 1] + 0.5 * place
    X[:, 1] = np.sin(turn) * plain[:, 0] + np.cos(turn) * plain[:, 1]
    return X, plain, place


def classifier(names=None, classes=("no", "yes"), n_features=3, **settings):
    X, plain, place = rows(n_features)
    names = [f"d{number}" for number in range(N_DOMAINS)] if names is None else names
    y = np.array(classes)[(plain[:, 0] > 0).astype(int)]
    domain = [names[number] for number in place]
    model = CrossDomainClassifier(**QUICK | settings)
    return model.fit(X, y, sample_domain=domain, source_domains=names[:3]), X, domain


def regressor(n_outputs=2, n_features=4, **settings):
    X, plain, place = rows(n_features)
    y = X[:, :n_outputs] + 0.1 * plain[:, -1:]
    y = y[:, 0] if n_outputs == 1 else y
    model = CrossDomainRegressor(**QUICK | settings)
    return model.fit(X, y, sample_domain=place, source_domains=[0, 1, 2]), X, list(place)


def predictions(model, X, domain):
    """Everything a user may ask of known domains, and of one that was never seen."""
    new = ["never seen"] * len(X)
    asked = [model.encode(X, sample_domain=domain), model.transform(X)]
    placed = model.place_domains(X, sample_domain=new)
    asked.append(placed.filter(regex="index|std|distance|score|low").to_numpy(dtype=float))
    for names in (domain, new):
        if isinstance(model, CrossDomainClassifier):
            asked.append(model.predict_proba(X, sample_domain=names))
        else:
            asked += model.predict(X, sample_domain=names, return_std=True)
    return asked


def same_bits(first, second):
    assert [part.tobytes() for part in first] == [part.tobytes() for part in second]


@pytest.fixture(scope="module")
def fitted():
    return classifier()


@pytest.fixture(scope="module")
def fitted_values():
    return regressor()


@pytest.fixture
def folder(fitted, tmp_path):
    fitted[0].save(tmp_path / "model")
    return tmp_path / "model"


CASES = {
    "classifier, many features": lambda: classifier(n_features=40),
    "regressor, one output": lambda: regressor(n_outputs=1),
    "regressor, rows": lambda: regressor(representation="row_standardised"),
    "regressor, domains": lambda: regressor(representation="domain_scaled"),
    "regressor, centred domains": lambda: regressor(representation="domain_centred"),
    "regressor, flow": lambda: regressor(representation="flow"),
    "regressor, linear": lambda: regressor(predictor="linear"),
    "classifier, linear with the index": lambda: classifier(
        predictor="linear", representation="with_index"
    ),
    "regressor, many features": lambda: regressor(n_features=140, representation="raw"),
}


SIMILAR = {
    "regressor, rows",
    "regressor, centred domains",
    "regressor, linear",
}
"""What is saved is much like that of other cases."""


@pytest.mark.parametrize(
    "case",
    [
        *("fitted", "fitted_values"),
        *(pytest.param(one, marks=[pytest.mark.full] * (one in SIMILAR)) for one in CASES),
    ],
)
def test_a_loaded_model_predicts_bit_for_bit(case, request, tmp_path):
    model, X, domain = CASES[case]() if case in CASES else request.getfixturevalue(case)
    model.save(tmp_path / "model")
    same_bits(
        predictions(domindex.load(tmp_path / "model"), X, domain), predictions(model, X, domain)
    )


@pytest.mark.full
@pytest.mark.timeout(120)
def test_a_fresh_process_predicts_bit_for_bit(fitted, folder, tmp_path):
    model, X, domain = fitted
    np.savez(tmp_path / "asked.npz", X=X, domain=domain)
    code = (
        "import sys, numpy as np, domindex\n"
        f"asked = np.load({str(tmp_path / 'asked.npz')!r})\n"
        f"model = domindex.load({str(folder)!r})\n"
        "told = model.predict_proba(asked['X'], sample_domain=asked['domain'])\n"
        "sys.stdout.buffer.write(told.tobytes())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout == model.predict_proba(X, sample_domain=domain).tobytes()


def test_what_a_user_looks_up_comes_back(fitted, folder):
    model, X, domain = fitted
    revived = domindex.load(folder)
    assert type(revived) is CrossDomainClassifier
    assert repr(revived.get_params()) == repr(model.get_params())
    assert revived.domains_ == model.domains_
    assert revived.source_domains_ == model.source_domains_
    assert revived.flow_ == model.flow_
    assert revived.n_features_in_ == model.n_features_in_
    assert revived.classes_.tolist() == model.classes_.tolist()
    same_bits(
        [revived.domain_indices_, revived.domain_index_std_, revived.domain_distances_],
        [model.domain_indices_, model.domain_index_std_, model.domain_distances_],
    )
    pd.testing.assert_frame_equal(revived.history_, model.history_)
    assert set(revived.domain_graph(quantile=0.2).edges) == set(
        model.domain_graph(quantile=0.2).edges
    )
    assert revived.score(X, revived.predict(X, sample_domain=domain), sample_domain=domain) == 1.0


def test_a_regressor_keeps_its_trials(fitted_values, tmp_path):
    model, _, _ = fitted_values
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model")
    assert revived.representation_ == model.representation_
    pd.testing.assert_frame_equal(revived.candidates_, model.candidates_)


@pytest.mark.parametrize(
    "names",
    [
        [True, False, 2, 3, 4, 5, 6, 7],
        [0.5, 1.5, 2.0, 3.5, 4.5, 5.5, 6.5, float("inf")],
        [("WA", number) for number in range(N_DOMAINS)],
        [1, "2", 3, "ü", "\ud800", "", " ", "8"],
    ],
)
def test_domain_names_keep_their_types(names, tmp_path):
    model, _, _ = classifier(names, **LINEAR)
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model").domains_
    assert revived == model.domains_
    assert [type(name) for name in revived] == [type(name) for name in model.domains_]


@pytest.mark.parametrize("classes", [(0, 1), ("a", "bc"), (False, True), (1.0, 2.0)])
def test_classes_keep_their_type(classes, tmp_path):
    model, _, _ = classifier(classes=classes, **LINEAR)
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model").classes_
    assert revived.dtype == model.classes_.dtype
    assert revived.tolist() == list(classes)


def test_a_random_state_goes_on_where_it_was(tmp_path):
    model, _, _ = classifier(random_state=np.random.RandomState(3), **LINEAR)
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model").random_state
    assert (
        revived.randint(2**31, size=5).tolist()
        == model.random_state.randint(2**31, size=5).tolist()
    )


def test_a_name_that_json_cannot_keep_is_refused(tmp_path):
    names = [pd.Timestamp(2020, 1, 1 + number) for number in range(N_DOMAINS)]
    model, _, _ = classifier(names, **LINEAR)
    with pytest.raises(InputError, match=r"A domain's name is Timestamp.*str\(\)"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_class_of_the_users_own_is_not_saved(fitted, tmp_path):
    class Mine(CrossDomainClassifier):
        pass

    mine = Mine()
    mine.__dict__.update(vars(fitted[0]))
    with pytest.raises(InputError, match=r"The model is a Mine, .*Use pickle"):
        mine.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        CrossDomainClassifier().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_an_existing_model_is_replaced_only_when_asked(fitted, folder):
    before = (folder / "model.json").read_bytes()
    with pytest.raises(InputError, match="overwrite=True"):
        fitted[0].save(folder)
    assert (folder / "model.json").read_bytes() == before
    (folder / "model.json").write_text("{}")
    fitted[0].save(folder, overwrite=True)
    assert (folder / "model.json").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_overwriting_spares_a_folder_that_is_no_model(fitted, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="left alone"):
        fitted[0].save(tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_failed_save_leaves_nothing(fitted, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("domindex.persistence.model_folder.write_json", full)
    with pytest.raises(InputError, match="No space left"):
        fitted[0].save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_nothing_but_json_and_safetensors_is_written(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        MANIFEST,
        "model.json",
        "weights.safetensors",
    ]
    described = json.loads((folder / "model.json").read_text())
    assert described["format_version"] == FORMAT_VERSION
    parameters = described["state"]["dict"]["parameters"]["dict"]
    assert parameters["random_state"] == 0
    assert parameters["training"]["dict"]["steps"] == 10
    assert described["versions"]["domindex"] == domindex.__version__


def test_loading_never_unpickles(folder, monkeypatch):
    def forbidden(*arguments, **options):
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr(pickle, "load", forbidden)
    monkeypatch.setattr(pickle, "loads", forbidden)
    monkeypatch.setattr(pickle, "Unpickler", forbidden)
    domindex.load(folder)


def test_a_pickle_in_place_of_the_weights_is_refused_unopened(folder, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    (folder / "weights.safetensors").write_bytes(pickle.dumps(Bomb()))
    write_manifest(folder)
    with pytest.raises(InputError, match=r"damaged"):
        domindex.load(folder)
    assert not (tmp_path / "ran").exists()


def test_a_newer_format_asks_for_a_newer_library(folder):
    tampered(folder, lambda described: described.update(format_version=FORMAT_VERSION + 1))
    with pytest.raises(InputError, match="Install a newer domindex"):
        domindex.load(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"There is no folder .*nowhere"):
        domindex.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"There is no .*model\.json"):
        domindex.load(tmp_path)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", MANIFEST])
@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "removed"])
def test_a_damaged_file_is_an_input_error(folder, name, damage):
    path = folder / name
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "removed":
        path.unlink()
    else:
        changed = {
            "cut": content[:middle],
            "flipped": content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :],
            "emptied": b"",
        }
        path.write_bytes(changed[damage])
    with pytest.raises(InputError, match=r"damaged|There is no"):
        domindex.load(folder)


def first_member(described):
    """What is told of the heaviest member."""
    committee = described["state"]["dict"]["committee"]["dict"]
    return committee["members"]["dict"]["0"]["dict"]


def tampered(folder, change):
    """As by somebody who counts the checksums anew."""
    described = json.loads((folder / "model.json").read_text())
    change(described)
    (folder / "model.json").write_text(json.dumps(described))
    write_manifest(folder)


@pytest.mark.parametrize(
    "key", ["parameters", "indices", "committee", "classes", "history", "forecaster"]
)
def test_a_missing_part_is_an_input_error(folder, key):
    tampered(folder, lambda described: described["state"]["dict"].pop(key))
    with pytest.raises(InputError, match="damaged"):
        domindex.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"width": 10**12},
        {"local_dim": 10**9},
        {"index_dim": -1},
        {"width": "64"},
        {"alignment": "os.system"},
        {"predictor": "values"},
    ],
)
def test_sizes_that_the_arrays_do_not_have_are_refused_before_memory_is(folder, change):
    def resize(described):
        member = first_member(described)
        member["module"]["dict"]["sizes"]["dict"].update(change)

    tampered(folder, resize)
    with pytest.raises(InputError, match=r"damaged"):
        domindex.load(folder)


@pytest.mark.parametrize(
    "estimator", ["builtins.eval", "CrossDomainModel", "CrossDomainClassifier()", 3, None]
)
def test_only_the_two_estimators_can_be_named(folder, estimator):
    tampered(folder, lambda described: described.update(estimator=estimator))
    with pytest.raises(
        InputError, match=r"damaged.*only CrossDomainClassifier, CrossDomainRegressor"
    ):
        domindex.load(folder)


@pytest.mark.parametrize(
    "names", [["d0"] * N_DOMAINS, [], ["d0"], [{"list": []}] * N_DOMAINS, [{"eval": "1"}]]
)
def test_domains_that_do_not_match_the_map_are_refused(folder, names):
    def rename(described):
        domain_map = described["state"]["dict"]["indices"]["dict"]["domain_map"]["dict"]
        domain_map["index"]["dict"]["domains"] = {"tuple": names}

    tampered(folder, rename)
    with pytest.raises(InputError, match="damaged"):
        domindex.load(folder)


@pytest.mark.parametrize(
    "name",
    [
        "indices.scaler.scale",
        "indices.domain_map.transport",
        "indices.domain_map.index.coordinates",
        "committee.members.0.representation.state.scaler.scale",
        "committee.weights",
        "committee.temperatures",
        "forecaster.coefficients",
    ],
)
def test_an_array_of_another_shape_is_refused(folder, name):
    arrays = load_file(folder / "weights.safetensors")
    save_file(arrays | {name: np.zeros(3 * N_DOMAINS)}, folder / "weights.safetensors")

    def change(described):
        described["arrays"][name]["shape"] = [3 * N_DOMAINS]

    tampered(folder, change)
    with pytest.raises(InputError, match="damaged"):
        domindex.load(folder)


def test_arrays_that_are_not_described_are_refused(folder):
    arrays = load_file(folder / "weights.safetensors")
    save_file(arrays | {"extra": np.zeros(3)}, folder / "weights.safetensors")
    write_manifest(folder)
    with pytest.raises(InputError, match="not those that are described"):
        domindex.load(folder)


def test_pickle_and_joblib_work_as_for_any_estimator(fitted, tmp_path):
    model, X, domain = fitted
    joblib.dump(model, tmp_path / "model.joblib")
    for revived in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        same_bits(predictions(revived, X, domain), predictions(model, X, domain))


@pytest.mark.parametrize(("version", "reader"), [(1, "no release"), (2, r"domindex 0\.1\.0")])
def test_an_older_format_names_who_reads_it_and_asks_for_a_new_fit(folder, version, reader):
    tampered(folder, lambda described: described.update(format_version=version))
    with pytest.raises(InputError, match=f"which {reader} reads.*Fit and save the model anew"):
        domindex.load(folder)


def test_a_representation_that_is_not_registered_is_named(folder):
    def rename(described):
        member = first_member(described)
        member["representation"]["dict"]["name"] = "my own"

    tampered(folder, rename)
    with pytest.raises(InputError, match=r"no representation 'my own'.*register your own"):
        domindex.load(folder)


def test_an_edit_that_stays_valid_json_is_seen(folder):
    text = (folder / "model.json").read_text()
    edited = text.replace('"verbose": 0', '"verbose": 1')
    assert edited != text
    (folder / "model.json").write_text(edited)
    with pytest.raises(InputError, match=r"model\.json is damaged: its SHA-256"):
        domindex.load(folder)


@pytest.mark.parametrize("classes", [["no"], ["no", "no"], ["no", "yes", "may be"]])
def test_classes_that_are_not_those_it_predicts_are_refused(folder, classes):
    path = folder / "model.json"
    content = json.loads(path.read_text())
    content["state"]["dict"]["classes"] = to_plain(classes, "classes")
    path.write_text(json.dumps(content))
    write_manifest(folder)
    with pytest.raises(InputError, match="the classes are not those that it predicts"):
        domindex.load(folder)


def test_a_list_without_its_model_or_a_model_without_its_list_is_refused(folder):
    (folder / MANIFEST).unlink()
    with pytest.raises(InputError, match=f"There is no .*{MANIFEST}"):
        domindex.load(folder)


def test_a_list_that_leads_out_of_the_folder_is_refused(folder, tmp_path):
    lines = f"{'0' * 64}  ../elsewhere\n"
    signature = hashlib.sha256(lines.encode()).hexdigest()
    (folder / MANIFEST).write_text(f"{lines}{signature}  this list\n")
    with pytest.raises(InputError, match="outside of the folder"):
        domindex.load(folder)


@pytest.mark.parametrize("name", ["committee.weights", "indices.scaler.scale"])
def test_weights_that_are_not_finite_are_refused_whatever_the_checksum_says(folder, name):
    arrays = load_file(folder / "weights.safetensors")
    arrays[name] = np.full_like(arrays[name], np.nan)
    save_file(arrays, folder / "weights.safetensors")
    write_manifest(folder)
    with pytest.raises(InputError, match=f"{name} holds NaN or infinity"):
        domindex.load(folder)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", MANIFEST])
def test_a_link_to_a_device_without_end_is_refused_unread(folder, name):
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        domindex.load(folder)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", MANIFEST])
def test_a_link_to_a_regular_file_is_refused(folder, tmp_path, name):
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link, not a regular file"):
        domindex.load(folder)


def test_a_random_state_beyond_its_end_is_refused(folder):
    """It opened and predicted; the next fit read outside of memory."""

    def move(described):
        state = to_plain(np.random.RandomState(0), "it")
        state["random_state"][-2] = 10**6
        described["state"]["dict"]["parameters"]["dict"]["random_state"] = state

    tampered(folder, move)
    with pytest.raises(InputError, match="a random state is beyond its end"):
        domindex.load(folder)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", MANIFEST])
def test_a_folder_in_place_of_a_file_is_refused_and_let_go(folder, name):
    (folder / name).unlink()
    (folder / name).mkdir()
    held = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(3):
        with pytest.raises(InputError, match=r"not a regular file|damaged"):
            domindex.load(folder)
    assert not held or len(os.listdir("/proc/self/fd")) == held


@pytest.mark.parametrize(
    ("array", "value"),
    [("off_map_test.views.directions", 1e308), ("indices.scaler.offset", 1e308)],
)
def test_a_place_or_a_flag_that_would_be_nan_is_an_error(folder, fitted, array, value):
    arrays = load_file(folder / "weights.safetensors")
    arrays[array] = np.full_like(arrays[array], value)
    save_file(arrays, folder / "weights.safetensors")
    write_manifest(folder)
    _, X, domain = fitted
    with np.errstate(all="ignore"), pytest.raises(InputError, match="NaN or infinity"):
        domindex.load(folder).place_domains(X, sample_domain=domain)


def test_a_pipe_in_place_of_a_file_does_not_block(folder):
    (folder / "model.json").unlink()
    os.mkfifo(folder / "model.json")
    with pytest.raises(InputError, match="not a regular file"):
        domindex.load(folder)


@pytest.mark.parametrize("path", ["x" * 5000, "a\0b"])
def test_a_path_that_is_none_is_named(fitted, path):
    model, _, _ = fitted
    with pytest.raises(InputError, match="path"):
        domindex.load(path)
    with pytest.raises(InputError, match="path"):
        model.save(path)


class Stated:
    """Something to be saved that takes a megabyte."""

    def state(self):
        return {"array": np.zeros(2**17)}


def test_a_full_disk_is_told_in_words_and_the_model_before_stays(fitted, tmp_path, monkeypatch):
    """safetensors has an error of its own for it, which is none of the system's."""
    resource = pytest.importorskip("resource", reason="there are no limits on this system")
    model, X, domain = fitted
    model.save(tmp_path / "model")
    before = predictions(domindex.load(tmp_path / "model"), X, domain)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot be written to .*has room"):
            save_model(Stated(), tmp_path / "model", overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    same_bits(predictions(domindex.load(tmp_path / "model"), X, domain), before)
