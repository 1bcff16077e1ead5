"""Pictures and signals through the whole of a fit."""

import numpy as np
import pytest

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training, load
from domindex.errors import InputError
from domindex_bench.data.motions import make_moving_waves

SHORT = Training(steps=5, index_steps=5)
PAIRS = [("raw", "linear"), ("grid_flow", "linear"), ("grid_flow", "convolutional")]


@pytest.fixture(scope="module")
def waves():
    return make_moving_waves(n_domains=7, n_sources=4, samples_per_domain=40, length=32)


@pytest.fixture(scope="module")
def fitted(waves):
    model = CrossDomainClassifier(candidates=PAIRS, effort="quick", training=SHORT, random_state=0)
    domains = {"sample_domain": waves.sample_domain, "source_domains": waves.source_domains}
    return model.fit(waves.X, waves.y, **domains)


def test_signals_are_carried_along_their_motion(waves, fitted):
    targets = ~waves.is_source
    names = waves.sample_domain[targets]
    assert fitted.score(waves.X[targets], waves.y[targets], sample_domain=names) > 0.8
    assert fitted.representation_ == "grid_flow"
    assert fitted.grid_flow_["family"] in ("shift", "stretch", "affine")
    assert "moved over their grid" in fitted.summary()


def test_a_new_domain_is_placed_and_carried(waves, fitted):
    rows = waves.sample_domain == 5
    assert fitted.score(waves.X[rows], waves.y[rows], sample_domain=["new"] * rows.sum()) > 0.7


def test_a_saved_model_predicts_the_same(waves, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    names = waves.sample_domain[:50]
    first, second = (m.predict_proba(waves.X[:50], sample_domain=names) for m in (fitted, again))
    assert np.allclose(first, second, atol=1e-12)
    assert again.grid_flow_ == fitted.grid_flow_
    assert again.inputs == "auto"


def test_rows_of_another_shape_are_refused(waves, fitted):
    with pytest.raises(InputError, match="fit saw"):
        fitted.predict(waves.X[:2, :-1], sample_domain=waves.sample_domain[:2])


@pytest.mark.parametrize("kind", [CrossDomainClassifier, CrossDomainRegressor])
def test_what_inputs_cannot_be_is_refused_before_any_work(waves, kind):
    with pytest.raises(InputError, match="inputs is 'film'"):
        kind(inputs="film").fit(None, None)


def test_convolutions_need_a_grid(waves):
    model = CrossDomainClassifier(inputs="table", predictor="convolutional", training=SHORT)
    domains = {"sample_domain": waves.sample_domain, "source_domains": waves.source_domains}
    with pytest.raises(InputError, match="read as a table"):
        model.fit(waves.X, waves.y, **domains)
