"""Ten thousand domains in one report: small, legible, searched, paged, printed whole."""

import importlib.util
from pathlib import Path

import pytest

from domindex.reporting import write_report

HERE = Path(__file__).parent
N_DOMAINS, N_SOURCES = 10_000, 600
MOST_BYTES = 7_000_000

pytestmark = [pytest.mark.timeout(300), pytest.mark.full]


def beside(name):
    """A module of this folder: tests are imported by their path."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


browser = beside("test_browser").browser


@pytest.fixture(scope="module")
def many():
    return beside("synthetic").made_up(N_DOMAINS, N_SOURCES)


@pytest.fixture(scope="module")
def path(many, tmp_path_factory):
    return write_report(many, tmp_path_factory.mktemp("many") / "report.html")


@pytest.fixture(scope="module")
def page(browser, path):
    complaints = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(200_000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda one: one.url == path.as_uri() or complaints.append(one.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#map[data-ready=true]")
    yield page
    page.close()
    assert complaints == []


def first_name(page):
    return page.locator("#domains tbody th").first.text_content()


def test_the_page_stays_small(path):
    assert path.stat().st_size < MOST_BYTES


def test_the_map_shows_density_and_sources_on_it(page):
    assert page.locator("#map .heatmaplayer image").count() == 1
    squares = page.locator("#map .points path").count()
    assert 200 <= squares <= 500, "sources, thinned so that they are seen"


def test_the_worst_targets_are_drawn_and_not_all(page):
    assert page.locator("#forecast-plot .points path").count() == 30
    assert "30 targets that are expected to fare worst, of 9,400" in (
        page.locator("#expected").text_content()
    )


def test_the_table_turns_its_pages(page, many):
    names = sorted(one.name for one in many.domains)
    assert page.locator("#domains tbody tr").count() == 50
    page.get_by_role("button", name="Next").click()
    assert first_name(page) == names[50]
    page.get_by_role("button", name="Last").click()
    assert first_name(page) == names[-50]
    assert "9,951 to 10,000 of 10,000, page 200 of 200" in page.locator("#pager").text_content()
    page.locator("#filter").fill("store 0012")
    assert page.locator("#domains tbody tr").count() == 10
    assert not page.locator("#pager").is_visible()
    page.locator("#filter").fill("")


def test_a_domain_is_found_explained_and_its_page_turned_to(page, many):
    page.locator("#find").fill("07777")
    page.locator("#found button").first.click()
    assert page.locator("#selected h3").text_content() == "store 07777"
    assert page.locator("#selected .chips button").count() == 4
    assert page.locator("#why-panel h3").text_content() == "store 07777"
    assert page.locator(".why-card").count() == 5
    assert page.locator(".missing tbody tr").count() == 1
    assert page.locator("#domains tr.chosen th").text_content() == "store 07777"


def test_coming_nearer_shows_each_domain(page):
    page.evaluate("Plotly.relayout('map', {'xaxis.range': [2.3, 2.7], 'yaxis.range': [1.3, 1.6]})")
    page.wait_for_timeout(1500)
    assert page.locator("#map .heatmaplayer image").count() == 0
    assert page.locator("#map .points path").count() > 50


def test_on_paper_every_row_is_there(page):
    page.emulate_media(media="print")
    page.wait_for_timeout(3000)
    assert page.locator("#domains tbody tr").count() == N_DOMAINS
    assert page.locator("#domains thead th").first.inner_text().strip().startswith("domain")
    page.emulate_media(media="screen")
