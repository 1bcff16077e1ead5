"""Markdown like the paper's tables."""

from dataclasses import replace

import pytest

from domindex_bench import Cell, CellResult, find_suite, published
from domindex_bench.published import PAPERS_METHODS
from domindex_bench.suites.paper import headline_table, paper_document
from domindex_bench.tables import Summary


def done(dataset, method, seed, **figures):
    return CellResult("paper", dataset, method, seed, "done", figures, 2.0, 0.1, 300.0, 20.0)


RESULTS = [
    done(
        "circle",
        "cross-domain",
        0,
        accuracy=99.0,
        worst=90.0,
        worst_domain="7",
        index_correlation=0.99,
    ),
    done(
        "circle",
        "cross-domain",
        1,
        accuracy=97.0,
        worst=80.0,
        worst_domain="8",
        index_correlation=0.97,
    ),
    done("circle", "logistic", 0, accuracy=50.8, worst=32.0, worst_domain="15"),
    done("circle", "logistic-flow", 0, accuracy=99.8, worst=97.0, worst_domain="15"),
    Cell("paper", "circle", "dann", 0).ended("failed", note="RuntimeError: out of luck"),
    Cell("paper", "tpt-48-w-e", "domain2vec", 0).ended("not applicable", note="classes only"),
    done(
        "tpt-48-w-e",
        "cross-domain",
        0,
        error=0.8,
        error_level_1=0.5,
        error_level_2=0.6,
        error_level_3=0.9,
        worst=2.0,
        worst_domain="FL",
    ),
    done("tpt-48-w-e", "ridge-rows", 0, error=0.771, worst=1.755, worst_domain="MT"),
]


def summary(results):
    return Summary(find_suite("paper"), results, "")


@pytest.fixture(scope="module")
def document():
    return paper_document(summary(RESULTS))


def lines_with(text, *parts):
    return [line for line in text.splitlines() if all(part in line for part in parts)]


def test_table_1_has_the_papers_columns_its_figures_and_the_difference(document):
    titles = (
        "| Dataset |  | Source-Only | DANN | ADDA | CDANN | MDD | SENTRY | D2V | CrossDomain | VDI"
    )
    assert titles in document
    start = document.index("| Circle | measured")
    measured, paper, difference = document[start:].splitlines()[:3]
    assert measured == "| Circle | measured | – | failed | – | – | – | – | – | 98.0 ± 1.0 | – |"
    assert paper.endswith("| 60.1 | 94.3 | 94.3 |")
    assert "| +3.7 |" in difference


def test_table_2_goes_by_level_and_says_what_cannot_be(document):
    assert lines_with(document, "Average of 32 Level-3 domains", "measured", "0.900")
    assert lines_with(document, "Average of all 42 domains", "measured", "n/a | 0.800 |")
    assert lines_with(document, "difference", "-1.696")
    assert "N (24)" not in document, "nothing was measured there"


def test_details_show_map_time_memory_source_and_the_worst_domain(document):
    (line,) = lines_with(document, "| CrossDomain | `cross-domain` | 98.0")
    assert "94.3 (Table 1) | +3.7" in line
    assert "80.0 (8)" in line
    assert "correlation 0.980 ± 0.010 (paper 0.97, Appendix C)" in line
    assert line.endswith("| 2.0 ± 0.0 | 300 ± 0 (20 ± 0) |")


def test_the_short_table_sets_the_best_plain_method_as_a_bar():
    table = headline_table(summary(RESULTS))
    assert "after MomentFlow" not in table
    (bar,) = lines_with(table, "chosen in hindsight")
    assert "50.8 (`logistic`)" in bar, "what MomentFlow carried is not plain"
    assert "0.771 (`ridge-rows`)" in bar
    assert lines_with(table, "| CrossDomain | 98.0 ± 1.0 (94.3) | 0.800 (2.496) |")
    assert "after MomentFlow" in headline_table(summary(RESULTS), short=False)


def test_a_figure_of_another_tree_is_marked():
    other = replace(RESULTS[1], tree="0123456789ab")
    table = headline_table(summary([RESULTS[0], other, *RESULTS[2:]]))
    assert lines_with(table, "| CrossDomain | 98.0 ± 1.0 † (94.3) | 0.800 (2.496) |")
    assert table.count("†") == 1


SIZES = {"tpt-48-w-e": (4, 6, 32), "tpt-48-n-s": (10, 6, 8)}


@pytest.mark.parametrize("dataset", SIZES)
@pytest.mark.parametrize("method", [name for name in PAPERS_METHODS if name != "domain2vec"])
def test_published_levels_average_to_the_published_total(dataset, method):
    levels = [published(dataset, method, f"error_level_{level}").value for level in (1, 2, 3)]
    sizes = SIZES[dataset]
    mean = sum(n * error for n, error in zip(sizes, levels, strict=True)) / sum(sizes)
    assert published(dataset, method, "error").value == pytest.approx(mean, abs=0.05)


def test_each_published_figure_names_its_place():
    assert published("circle", "vdi", "accuracy").value == 94.3
    assert published("circle", "vdi", "accuracy").source == "Table 1"
    assert published("tpt-48-w-e", "dann", "error").source == "Table 2"
    assert published("compcars", "sentry", "accuracy").source == "Table 3"
    assert published("dg-60", "vdi", "index_auc").value == 0.91
    assert published("tpt-48-w-e", "domain2vec", "error") is None
    assert published("circle", "ridge", "accuracy") is None
