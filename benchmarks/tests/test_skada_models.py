"""skada's adapters in the benchmark: an optional package that leaves scikit-learn as it was."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression

from domindex.datasets import make_circle
from domindex.errors import DatasetError, InputError
from domindex_bench import Cell
from domindex_bench.data.real import load_real_dataset
from domindex_bench.methods import SkadaAdapted, import_skada, skada_methods
from domindex_bench.record import origin
from domindex_bench.running import measure, run_benchmark

FAMILY = make_circle(n_domains=6, n_sources=3, samples_per_domain=20)
needs_skada = pytest.mark.skipif(
    find_spec("skada") is None, reason="skada is not installed: pip install 'domindex[skada]'"
)


def fit(model, data=FAMILY):
    return model.fit(
        data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    )


@pytest.fixture
def without_skada(monkeypatch):
    monkeypatch.setitem(sys.modules, "skada", None)
    monkeypatch.setattr("domindex_bench.running.find_spec", lambda name: None)


@pytest.fixture
def intruder(tmp_path, monkeypatch):
    """A package in skada's place that changes scikit-learn's settings as skada does."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "skada"]:
        monkeypatch.delitem(sys.modules, name)
    text = "import sklearn\nsklearn.set_config(enable_metadata_routing=True)\n__version__ = '9.9'\n"
    (tmp_path / "skada").mkdir()
    (tmp_path / "skada" / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("skada", None)


@pytest.mark.parametrize("routed", [False, True])
def test_the_import_leaves_the_settings_of_scikit_learn_as_they_were(intruder, routed):
    with sklearn.config_context(enable_metadata_routing=routed):
        import_skada()
        assert sklearn.get_config()["enable_metadata_routing"] is routed


def test_a_row_names_the_version_of_skada_where_its_cell_used_it(intruder):
    assert "skada" not in origin()["versions"]
    import_skada()
    assert origin()["versions"]["skada"] == "9.9"


def test_without_skada_a_fit_says_what_to_install(without_skada):
    with pytest.raises(InputError, match=r"pip install 'domindex\[skada\]'"):
        fit(SkadaAdapted(LogisticRegression()))


@pytest.mark.filterwarnings("ignore:real goes on without linear-ot")
def test_without_skada_a_run_goes_on_unless_its_methods_were_asked_for(without_skada, tmp_path):
    with (
        pytest.warns(UserWarning, match=r"real goes on without coral. .*pip install skada"),
        pytest.raises(DatasetError, match=r"gas\.npz"),
    ):
        run_benchmark(["gas"], suite="real", out=tmp_path, data_home=tmp_path)
    with pytest.raises(InputError, match=r"'coral' cannot run. .*pip install skada"):
        run_benchmark(["gas"], ["coral"], suite="real", out=tmp_path, data_home=tmp_path)


def test_they_are_for_classes():
    values = make_circle(n_domains=4, n_sources=2, samples_per_domain=5)
    object.__setattr__(values, "task", "regression")
    for method in skada_methods().values():
        assert "it predicts classes" in method.objection(values)
        assert not method.objection(FAMILY)


@needs_skada
@pytest.mark.parametrize("name", skada_methods())
def test_sources_are_moved_to_the_targets_in_mean_and_covariance(name):
    model = fit(skada_methods()[name].build(FAMILY, 0).set_params(reg=1e-6))
    rows = model._represent(FAMILY.X, FAMILY.sample_domain.tolist()).features
    sources, targets = rows[FAMILY.is_source], rows[~FAMILY.is_source]
    np.testing.assert_allclose(sources.mean(axis=0), targets.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(np.cov(sources.T), np.cov(targets.T), rtol=0.05, atol=0.01)


@needs_skada
@pytest.mark.parametrize("name", skada_methods())
def test_a_domain_never_seen_is_a_target(name):
    model = fit(skada_methods()[name].build(FAMILY, 0))
    rows = FAMILY.X[FAMILY.sample_domain == 5]
    known = model.predict_proba(rows, sample_domain=np.full(len(rows), 5))
    np.testing.assert_array_equal(model.predict_proba(rows), known)
    np.testing.assert_array_equal(
        model.predict_proba(rows, sample_domain=np.full(len(rows), 99)), known
    )


@needs_skada
@pytest.mark.parametrize("name", skada_methods())
def test_target_labels_change_nothing(name):
    model = skada_methods()[name].build(FAMILY, 0)
    noise = np.where(FAMILY.is_source, FAMILY.y, 1 - FAMILY.y)
    asked = {"sample_domain": FAMILY.sample_domain}
    first = fit(model).predict_proba(FAMILY.X, **asked)
    model.fit(FAMILY.X, noise, source_domains=FAMILY.source_domains, **asked)
    np.testing.assert_array_equal(model.predict_proba(FAMILY.X, **asked), first)


@needs_skada
@pytest.mark.parametrize("name", skada_methods())
def test_a_cell_of_real_data_has_its_figures(name):
    try:
        load_real_dataset("vowel")
    except DatasetError as error:
        pytest.skip(str(error))
    result = measure(Cell("real", "vowel", name, 0))
    assert 100 / 11 < result.figures["domain_accuracy"] < 100
    assert result.versions["skada"]
    assert not sklearn.get_config()["enable_metadata_routing"]
