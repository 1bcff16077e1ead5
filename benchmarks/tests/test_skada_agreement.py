"""Ours and skada's, on the same two domains: the same within the spread over seeds."""

import numpy as np
import pytest

pytest.importorskip("skada")
pytest.importorskip("skorch")


@pytest.fixture(scope="module")
def comparison():
    from domindex_bench.scripts import skada

    return skada


MOONS, BLOBS = "moons, turned by 30 degrees", "blobs, shifted"
APART = pytest.mark.xfail(
    strict=False,
    reason="skada's MDD stays below a source model here; ours gains",
)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("method", "task"),
    [
        ("DANN", MOONS),
        ("DANN", BLOBS),
        ("CDANN", MOONS),
        ("CDANN", BLOBS),
        ("MDD", BLOBS),
        pytest.param("MDD", MOONS, marks=APART),
    ],
)
def test_target_accuracy_agrees_with_skada(comparison, method, task):
    cell = comparison.measure(task, method, n_seeds=3)
    ours, theirs = cell["ours"], cell["skada"]
    spread = np.hypot(ours["deviation"], theirs["deviation"])
    assert abs(ours["mean"] - theirs["mean"]) < max(2 * spread, 4.0), cell
