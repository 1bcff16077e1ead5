"""Markdown like the paper's tables."""

import pytest

from domindex.evaluation.benchmark import Cell, CellResult, headline_table, render_tables


def done(dataset, method, seed, **figures):
    return CellResult(dataset, method, seed, "done", figures, 2.0, 0.1, 300.0, 20.0)


RESULTS = [
    done("circle", "vdi", 0, accuracy=99.0, worst=90.0, worst_domain="7", index_correlation=0.99),
    done("circle", "vdi", 1, accuracy=97.0, worst=80.0, worst_domain="8", index_correlation=0.97),
    done("circle", "logistic", 0, accuracy=50.8, worst=32.0, worst_domain="15"),
    done("circle", "logistic-flow", 0, accuracy=99.8, worst=97.0, worst_domain="15"),
    Cell("circle", "dann", 0).failed("RuntimeError: out of luck"),
    Cell("tpt-48-w-e", "domain2vec", 0).not_applicable("it predicts classes"),
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


@pytest.fixture(scope="module")
def document():
    return render_tables(RESULTS)


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


def test_table_3_stands_for_reference_in_the_complete_document(document):
    assert "Table 3" not in document
    whole = render_tables(RESULTS, complete=True)
    assert lines_with(whole, "| paper | 39.1 |", "| 43.9 |")
    assert "not measured here" in whole
    measured = render_tables([done("compcars", "vdi", 0, accuracy=50.0)])
    assert lines_with(measured, "| CompCars | measured |", "| 50.0 |")
    assert "not measured here" not in measured


def test_details_show_map_time_memory_source_and_the_worst_domain(document):
    (line,) = lines_with(document, "| VDI | `vdi` | 98.0")
    assert "94.3 (Table 1) | +3.7" in line
    assert "80.0 (8)" in line
    assert "correlation 0.980 ± 0.010 (paper 0.97, Appendix C)" in line
    assert line.endswith("| 2.0 ± 0.0 | 300 ± 0 (20 ± 0) |")
    assert "- circle dann seed 0: RuntimeError: out of luck" in document


def test_the_short_table_sets_the_best_plain_method_as_a_bar():
    table = headline_table(RESULTS)
    assert "after MomentFlow" not in table
    (bar,) = lines_with(table, "chosen in hindsight")
    assert "50.8 (`logistic`)" in bar, "what MomentFlow carried is not plain"
    assert "0.771 (`ridge-rows`)" in bar
    assert lines_with(table, "| VDI | 98.0 ± 1.0 (94.3) | 0.800 (2.496) |")
    assert "after MomentFlow" in headline_table(RESULTS, short=False)
