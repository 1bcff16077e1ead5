"""The paper's figures, and that they were copied well."""

import pytest

from domindex_bench import published
from domindex_bench.published import PAPERS_METHODS

SIZES = {"tpt-48-w-e": (4, 6, 32), "tpt-48-n-s": (10, 6, 8)}


@pytest.mark.parametrize("dataset", SIZES)
@pytest.mark.parametrize("method", [name for name in PAPERS_METHODS if name != "domain2vec"])
def test_levels_average_to_the_total(dataset, method):
    levels = [published(dataset, method, f"error_level_{level}").value for level in (1, 2, 3)]
    sizes = SIZES[dataset]
    mean = sum(n * error for n, error in zip(sizes, levels, strict=True)) / sum(sizes)
    assert published(dataset, method, "error").value == pytest.approx(mean, abs=0.05)


def test_each_figure_names_its_place():
    assert published("circle", "vdi", "accuracy").value == 94.3
    assert published("circle", "vdi", "accuracy").source == "Table 1"
    assert published("tpt-48-w-e", "dann", "error").source == "Table 2"
    assert published("compcars", "sentry", "accuracy").source == "Table 3"
    assert published("dg-60", "vdi", "index_auc").value == 0.91
    assert published("tpt-48-w-e", "domain2vec", "error") is None
    assert published("circle", "ridge", "accuracy") is None
