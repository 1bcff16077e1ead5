"""What a file made is looked through: nothing in it may lead elsewhere."""

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from domindex.persistence.estimator_bytes import estimator_from_bytes
from domindex.persistence.loaded_checks import check_loaded


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)), rng.integers(0, 3, 90)


def reopened(estimator):
    """Written as a stranger would, and opened."""
    return estimator_from_bytes(np.frombuffer(skops.io.dumps(estimator), dtype=np.uint8))


@pytest.mark.parametrize("value", [np.float32, str, 3])
def test_an_attribute_in_the_place_of_a_method_is_refused(rows, value):
    forest = ExtraTreesClassifier(3).fit(*rows)
    forest._validate_X_predict = value
    with pytest.raises(ValueError, match=r"takes the place of .*_validate_X_predict"):
        reopened(forest)


def test_a_pipeline_that_would_read_a_cache_is_refused(rows):
    steps = make_pipeline(StandardScaler(), LogisticRegression(), memory="somewhere").fit(*rows)
    with pytest.raises(ValueError, match="cache"):
        reopened(steps)


def test_a_random_state_beyond_its_end_is_refused(rows):
    state = np.random.RandomState(0)
    forest = ExtraTreesClassifier(2, random_state=state).fit(*rows)
    reopened(forest)
    name, key, _, *rest = state.get_state()
    state.set_state((name, key, 10**6, *rest))
    with pytest.raises(ValueError, match="beyond its end"):
        reopened(forest)


def test_a_generator_of_another_kind_is_refused(rows):
    boosting = HistGradientBoostingClassifier(max_iter=2).fit(*rows)
    boosting._feature_subsample_rng = np.random.Generator(np.random.MT19937(0))
    with pytest.raises(ValueError, match="instead of a PCG64"):
        reopened(boosting)


def test_a_tree_where_none_belongs_is_refused(rows):
    model = LogisticRegression().fit(*rows)
    model.coef_ = DecisionTreeClassifier().fit(*rows).tree_
    with pytest.raises(ValueError, match="where none belongs, in a LogisticRegression"):
        reopened(model)


def test_endless_nesting_is_refused():
    nested = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        check_loaded(nested)
