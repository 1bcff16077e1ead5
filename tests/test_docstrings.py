"""Every example in a docstring of the package runs and prints what it says."""

import doctest
import inspect
import random
import re
import shutil
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from numpydoc.validate import validate
from sklearn.linear_model import LogisticRegression

import domindex
from domindex import (
    CrossDomainClassifier,
    CrossDomainRegressor,
    MomentFlow,
    Training,
    VDIClassifier,
    VDIRegressor,
)
from domindex.datasets import make_circle, make_hospitals
from domindex.tables import Run, fit_table

ROOT = Path(domindex.__file__).parent
EXTRAS = {
    "cluster": "distributed",
    "pictures": "PIL",
    "plots": "matplotlib",
    "onnx": "onnx",
    "report": "plotly",
    "serve": "starlette",
    "skada": "skada",
    "tables": "pyarrow",
}
LAYOUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OF_TABLES = ("domindex.tables", "domindex.serving")
QUICK_TABLE = {"candidates": [["raw", "linear"]], "training": {"index_steps": 5}}


def public_packages():
    """Packages that list what they offer; `errors` offers all that it defines."""
    for path in sorted(ROOT.rglob("__init__.py")):
        name = ".".join(path.relative_to(ROOT.parent).parent.parts)
        if "__all__ = " in path.read_text(encoding="utf-8"):
            yield name


PUBLIC = [*public_packages(), "domindex.errors"]
"""Where every public class and function has a place in the reference."""


def modules_with_examples():
    """Names of modules, found by their text: listing the tests imports none of them."""
    for path in sorted(ROOT.rglob("*.py")):
        if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE):
            parts = path.relative_to(ROOT.parent).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__")


def missing_extra(error):
    """The extra that `error` asks for, None where it asks for none or the extra is there."""
    for extra, package in EXTRAS.items():
        asked = f"domindex[{extra}]" in str(error) or getattr(error, "name", None) == package
        if asked and find_spec(package) is None:
            return extra
    return None


@cache
def small_model():
    """The fitted models that examples call `model`, `moment_flow` and `vdi`."""
    data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
    rows = {"sample_domain": data.sample_domain}
    how = {**rows, "source_domains": [0, 1, 2]}
    model = CrossDomainClassifier(**few, random_state=0).fit(data.X, data.y, **how)
    moment_flow = MomentFlow(LogisticRegression()).fit(data.X, data.y, **how)
    vdi = VDIClassifier(pretraining_steps=5, steps=5, random_state=0).fit(data.X, data.y, **how)
    return data, few, rows, model, moment_flow, vdi


def namespace():
    """What every example may use without making it: docs/api.md says so to readers."""
    data, few, rows, model, moment_flow, vdi = small_model()
    return {
        "np": np,
        "data": data,
        "few": few,
        "rows": rows,
        "names": data.sample_domain,
        "model": deepcopy(model),
        "moment_flow": deepcopy(moment_flow),
        "vdi": deepcopy(vdi),
        "Training": Training,
        "CrossDomainClassifier": CrossDomainClassifier,
        "CrossDomainRegressor": CrossDomainRegressor,
    }


@cache
def hospital_run(folder):
    """The files that examples of tables find, and the run that they call `run`."""
    table = make_hospitals(n_hospitals=5, n_sources=3, rows_per_hospital=30)
    table.to_csv(folder / "patients.csv", index=False)
    later = make_hospitals(n_hospitals=5, n_sources=3, rows_per_hospital=30, all_labels=True)
    later.to_csv(folder / "later.csv", index=False)
    more = make_hospitals(n_hospitals=6, n_sources=3, rows_per_hospital=30, random_state=1)
    more[more["hospital"] == "Fürth"].to_csv(folder / "new.csv", index=False)
    columns = {"target": ["complication"], "domain": "hospital", "key": "record"}
    how = {"out": folder / "run", "settings": QUICK_TABLE, "report": False}
    fit_table(folder / "patients.csv", **columns, **how)
    return folder


def table_namespace(folder):
    """What examples of tables may use, with its files in the folder where they run."""
    shutil.copytree(hospital_run(folder), Path.cwd(), dirs_exist_ok=True)
    return {"run": Run.open("run"), "few": QUICK_TABLE}


def run_example(example, more=None):
    """Run one docstring; fail with what it printed, skip where an optional package is missing."""
    example.globs.update(namespace() | (more or {}))
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    try:
        doctest.DebugRunner(optionflags=LAYOUT).run(example)
    except doctest.DocTestFailure as failure:
        line = (example.lineno or 0) + failure.example.lineno + 1
        pytest.fail(
            f"{example.filename}:{line}, {example.name}: {failure.example.source}"
            f"should print\n{failure.example.want}but prints\n{failure.got}"
        )
    except doctest.UnexpectedException as unexpected:
        error = unexpected.exc_info[1]
        extra = missing_extra(error)
        if extra is None:
            raise error from None
        pytest.skip(f"an example of {example.name} needs domindex[{extra}]")


def public_names(module):
    """What a module offers: its `__all__`, else what it defines."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


@pytest.fixture(scope="session")
def hospitals(tmp_path_factory):
    return tmp_path_factory.mktemp("hospitals")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_the_examples_of_a_module_print_what_they_say(name, tmp_path, monkeypatch, hospitals):
    found = [found for found in doctest.DocTestFinder().find(import_module(name)) if found.examples]
    assert found, f"{name} has >>> outside its docstrings, where nothing runs it"
    for number, example in enumerate(found):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        run_example(example, table_namespace(hospitals) if name.startswith(OF_TABLES) else None)


@pytest.mark.parametrize("name", list(public_packages()))
def test_every_public_class_and_function_has_an_example(name):
    module = import_module(name)
    values = {key: getattr(module, key) for key in public_names(module)}
    shown = {
        key: value
        for key, value in values.items()
        if inspect.isfunction(value) or inspect.isclass(value)
    }
    without = [key for key, value in shown.items() if ">>> " not in (inspect.getdoc(value) or "")]
    assert shown
    assert not without, f"{name}: {', '.join(without)} have no Examples in their docstrings"


@pytest.mark.parametrize(
    "kind",
    [CrossDomainClassifier, CrossDomainRegressor, VDIClassifier, VDIRegressor, MomentFlow],
)
def test_everything_that_an_estimator_offers_has_an_example(kind):
    offered = [name for name in dir(kind) if not name.startswith("_")]
    ours = {}
    for name in offered:
        owner = next(one for one in kind.__mro__ if name in vars(one))
        if owner.__module__.startswith("domindex."):
            ours[name] = inspect.getattr_static(kind, name)
    told = {name: value for name, value in ours.items() if callable(value) or is_described(value)}
    without = [name for name, one in told.items() if ">>> " not in (inspect.getdoc(one) or "")]
    assert {"fit", "predict", "score"} <= set(told)
    assert not without, f"{kind.__name__}: {', '.join(without)} have no Examples"


def is_described(value):
    """Properties, methods of a class, and methods that some models have and others lack."""
    return isinstance(value, property | classmethod | staticmethod) or hasattr(value, "fn")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name):
    page = (ROOT.parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    offered = set(re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE))
    module = import_module(name)
    places = {
        key: {f"{other}.{key}" for other in PUBLIC if hasattr(import_module(other), key)}
        for key in public_names(module)
    }
    missing = [key for key, names in places.items() if not names & offered]
    assert not missing, f"{name}: docs/api.md lacks {', '.join(missing)}"


def wrong_parameters(dotted):
    """Where the section on parameters and the signature of a name differ."""
    found = validate(dotted)
    if "\nParameters\n---" not in inspect.cleandoc(found["docstring"]):
        return []
    return [text for code, text in found["errors"] if code in ("PR01", "PR02", "PR03")]


def documented_names(module):
    """Dotted names of a module's classes and functions, and of their public methods."""
    for key in public_names(module):
        value = getattr(module, key)
        if inspect.isfunction(value) or inspect.isclass(value):
            yield f"{module.__name__}.{key}"
        if inspect.isclass(value):
            for method, one in inspect.getmembers(value, inspect.isfunction):
                if not method.startswith("_") and one.__module__.startswith("domindex."):
                    yield f"{module.__name__}.{key}.{method}"


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_are_documented_as_the_signature_has_them(name):
    found = {dotted: wrong_parameters(dotted) for dotted in documented_names(import_module(name))}
    assert {dotted: wrong for dotted, wrong in found.items() if wrong} == {}


def misdescribed(first=1, second=2):
    """Add.

    Parameters
    ----------
    first : int
    third : int
    """


def test_a_parameter_that_is_not_taken_or_not_described_is_found(monkeypatch):
    monkeypatch.setattr(domindex, "misdescribed", misdescribed, raising=False)
    assert wrong_parameters("domindex.misdescribed") == [
        "Parameters {'second'} not documented",
        "Unknown parameters {'third'}",
    ]


def test_an_example_that_is_not_true_fails():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "sum", "sum.py", 0)
    with pytest.raises(pytest.fail.Exception, match=r"should print\s+3\s+but prints\s+2"):
        run_example(wrong)


def test_an_example_that_raises_is_not_taken_for_a_missing_extra():
    text = ">>> raise ModuleNotFoundError('no numpy', name='numpy')\n"
    wrong = doctest.DocTestParser().get_doctest(text, {}, "numpy", "numpy.py", 0)
    with pytest.raises(ModuleNotFoundError, match="no numpy"):
        run_example(wrong)
