"""Markdown like the paper's tables."""

import pytest

from domindex_bench import Cell, CellResult, find_suite
from domindex_bench.paper_tables import headline_table, paper_document
from domindex_bench.summary import Summary


def done(dataset, method, seed, **figures):
    return CellResult("paper", dataset, method, seed, "done", figures, 2.0, 0.1, 300.0, 20.0)


RESULTS = [
    done("circle", "vdi", 0, accuracy=99.0, worst=90.0, worst_domain="7", index_correlation=0.99),
    done("circle", "vdi", 1, accuracy=97.0, worst=80.0, worst_domain="8", index_correlation=0.97),
    done("circle", "logistic", 0, accuracy=50.8, worst=32.0, worst_domain="15"),
    done("circle", "logistic-flow", 0, accuracy=99.8, worst=97.0, worst_domain="15"),
    Cell("paper", "circle", "dann", 0).ended("failed", "", note="RuntimeError: out of luck"),
    Cell("paper", "tpt-48-w-e", "domain2vec", 0).ended("not applicable", "", note="classes only"),
    done(
        "tpt-48-w-e",
        "vdi",
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


def summary(results, stale=()):
    return Summary(find_suite("paper"), results, stale)


@pytest.fixture(scope="module")
def document():
    return paper_document(summary(RESULTS))


def lines_with(text, *parts):
    return [line for line in text.splitlines() if all(part in line for part in parts)]


def test_table_1_has_the_papers_columns_its_figures_and_the_difference(document):
    titles = "| Dataset |  | Source-Only | DANN | ADDA | CDANN | MDD | SENTRY | D2V | VDI |"
    assert titles in document
    start = document.index("| Circle | measured")
    measured, paper, difference = document[start:].splitlines()[:3]
    assert measured == "| Circle | measured | – | failed | – | – | – | – | – | 98.0 ± 1.0 |"
    assert paper.endswith("| 60.1 | 94.3 |")
    assert difference.endswith("| +3.7 |")


def test_table_2_goes_by_level_and_says_what_cannot_be(document):
    assert lines_with(document, "Average of 32 Level-3 domains", "measured", "0.900")
    assert lines_with(document, "Average of all 42 domains", "measured", "n/a | 0.800 |")
    assert lines_with(document, "difference", "-1.696")
    assert "N (24)" not in document, "nothing was measured there"


def test_table_3_stands_for_reference_once_everything_is_measured(document):
    assert "Table 3" not in document
    everywhere = [done(name, "knn", 0, accuracy=50.0) for name in find_suite("paper").datasets]
    whole = paper_document(summary(everywhere))
    assert lines_with(whole, "| CompCars | measured |")
    assert lines_with(whole, "| paper | 39.1 |", "| 43.9 |")
    assert "not measured here" in whole


def test_details_show_map_time_memory_source_and_the_worst_domain(document):
    (line,) = lines_with(document, "| VDI | `vdi` | 98.0")
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
    assert lines_with(table, "| VDI | 98.0 ± 1.0 (94.3) | 0.800 (2.496) |")
    assert "after MomentFlow" in headline_table(summary(RESULTS), short=False)


def test_a_figure_of_other_settings_is_marked():
    table = headline_table(summary(RESULTS, stale=[("paper", "circle", "vdi", 1)]))
    assert lines_with(table, "| VDI | 98.0 ± 1.0 † (94.3) | 0.800 (2.496) |")
    assert table.count("†") == 1
