"""Kernel machines whose arrays do not fit each other are refused."""

import numpy as np
import pytest
import skops.io
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)), rng.integers(0, 3, 60)


def reopened(estimator):
    """Written as a stranger would, and opened."""
    return estimator_from_bytes(np.frombuffer(skops.io.dumps(estimator), dtype=np.uint8))


@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, NuSVR])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_they_predict_the_same_when_they_are_back(rows, kind, kernel):
    machine = kind(kernel=kernel).fit(*rows)
    revived = estimator_from_bytes(estimator_bytes(machine, "It"))
    assert revived.predict(rows[0]).tobytes() == machine.predict(rows[0]).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        {"_n_support": np.array([60, 60, 60], dtype=np.int32)},
        {"_n_support": np.array([1], dtype=np.int32)},
        {"_n_support": np.array([-100, 80, 78], dtype=np.int32)},
        {"_dual_coef_": np.zeros((1, 2))},
        {"_intercept_": np.zeros(1)},
        {"_probA": np.zeros(1), "_probB": np.zeros(1)},
        {"support_": np.zeros(1, dtype=np.int32)},
        {"support_vectors_": np.zeros((58, 2))},
        {"support_vectors_": np.zeros((3, 4))},
        {"classes_": np.arange(9)},
        {"n_features_in_": 2},
        {"kernel": "precomputed"},
        {"_sparse": True},
        {"_impl": "epsilon_svr"},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(rows, change):
    machine = SVC().fit(*rows)
    reopened(machine)
    for name, value in change.items():
        setattr(machine, name, value)
    with pytest.raises(ValueError, match=r"kernel machine|takes the place"):
        reopened(machine)
