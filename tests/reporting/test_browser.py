"""The report in a browser: hovered, coloured, sorted, filtered, on a desk and on a phone."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from domindex.reporting import write_report
from domindex.reporting.montage import picture_uri
from domindex.reporting.report_data import ForecastRecord, MissingRecord

pytestmark = pytest.mark.timeout(240)

ATTACK = "<script>alert(1)</script>"
PATIENCE = 90_000  # milliseconds, for machines that have much else to do
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def chromium():
    """The browser of this machine; none is ever downloaded."""
    chosen = os.environ.get("DOMINDEX_CHROMIUM")
    if chosen:
        return chosen
    known = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, known)), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium here; install it, or name its path in DOMINDEX_CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(data, tmp_path_factory):
    return write_report(data, tmp_path_factory.mktemp("report") / "report.html").as_uri()


def open_page(browser, address, complaints, size="desktop", **settings):
    """The page once its map is drawn; what it complains of and asks for is written down."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, **settings)
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: request.url == address or complaints.append(request.url))
    page.goto(address)
    page.wait_for_selector("#map[data-ready=true]")
    return page


@pytest.fixture(scope="module")
def shared_page(browser, address):
    complaints = []
    page = open_page(browser, address, complaints)
    yield page, complaints
    page.close()


@pytest.fixture
def shown(shared_page):
    """The report on a desk, opened once for all tests that read, sort or filter only."""
    page, complaints = shared_page
    yield page
    assert complaints == []


@pytest.fixture
def open_report(browser, address):
    """Opens the report at a size; complaints and requests fail the test at its end."""
    complaints, pages = [], []

    def opened(size="desktop", **settings):
        pages.append(open_page(browser, address, complaints, size, **settings))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


@pytest.fixture
def open_other(browser, tmp_path):
    """Opens the report of other content; complaints and requests fail the test at its end."""
    complaints, pages = [], []

    def opened(content, size="desktop", **settings):
        address = write_report(content, tmp_path / "other.html").as_uri()
        pages.append(open_page(browser, address, complaints, size, **settings))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


def names_in(page):
    return page.locator("#domains tbody th").all_text_contents()


def map_background(page):
    drawing = page.locator("#map .main-svg").first
    return drawing.evaluate("drawing => getComputedStyle(drawing).backgroundColor")


def eventually(page, is_true, patience=10_000, pause=50):
    """Asks until it is so. Playwright's own waiting evaluates text, which the page forbids."""
    for _ in range(patience // pause):
        if is_true():
            return
        page.wait_for_timeout(pause)
    raise AssertionError("it never came true")


def covers(one, other, slack=3):
    """Whether two boxes on the screen share more than an edge."""
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    up = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across > slack and up > slack


@pytest.mark.full
def test_hovering_a_domain_tells_of_it(shown, data):
    records = {one.name: one for one in data.domains}
    seen = set()
    for point in shown.locator("#map .points path").all():
        point.hover(force=True)
        shown.wait_for_timeout(150)  # Plotly waits for the pointer to rest
        lines = shown.locator("#map .hoverlayer .hovertext .line").all_text_contents()
        one = records[lines[0]]
        seen.add(one.name)
        assert lines[1] == f"{one.role}, 30 rows"
        quality = "accuracy when held out: " if one.role == "source" else "expected accuracy: "
        assert lines[2].startswith(quality)
        assert lines[3] == f"neighbours: {', '.join(one.neighbours)}"
    assert len(seen) >= 6, "points that cover each other may hide one or two"
    assert {name for name in records if "<" in name} <= seen, "names with markup, as they are"


def test_a_name_with_markup_is_text_everywhere(open_report):
    page = open_report()
    assert ATTACK in names_in(page)
    page.get_by_role("button", name=ATTACK).first.click()
    assert page.locator("#selected h3").text_content() == ATTACK
    assert page.locator("h1").text_content() == f"Fit {ATTACK}"
    page.locator("#colour").select_option("region")
    assert f"{ATTACK}south" in page.locator("#key").text_content()
    assert page.locator("script").count() == 3


@pytest.mark.full
def test_colours_follow_the_column(open_report):
    page = open_report()

    def fills():
        points = page.locator("#map .points path").all()
        return {point.evaluate("path => getComputedStyle(path).fill") for point in points}

    assert len(fills()) == 2, "source and target"
    page.locator("#colour").select_option("angle")
    eventually(page, lambda: page.locator("#map .colorbar").count() == 1 and len(fills()) == 8)
    assert page.locator("#domains thead th").last.text_content() == "angle"
    page.locator("#colour").select_option("data:rows")
    eventually(page, lambda: len(fills()) == 8)  # one of ours is called so too
    page.locator("#colour").select_option("region")
    eventually(page, lambda: page.locator("#map .colorbar").count() == 0 and len(fills()) == 2)


@pytest.mark.full
def test_a_selected_domain_shows_its_neighbours(open_report, data):
    page = open_report()
    name = data.domains[3].name
    page.get_by_role("button", name=name, exact=True).first.click()
    assert page.locator("#selected .chips button").all_text_contents() == list(
        data.domains[3].neighbours
    )
    assert page.locator("#domains tr.near").count() == len(data.domains[3].neighbours)
    points = page.locator("#map .points path")
    count = "paths => paths.filter(path => Number(path.style.opacity) < 1).length"
    others = len(data.domains) - 1 - len(data.domains[3].neighbours)
    eventually(page, lambda: points.evaluate_all(count) == others)
    page.get_by_role("button", name="Clear selection").click()
    assert page.locator("#selected h3").text_content() == "No domain selected"


@pytest.mark.full
def test_the_table_sorts_by_mouse_and_keyboard_and_says_so(shown, data):
    by_index = [one.name for one in sorted(data.domains, key=lambda one: one.coordinates[0])]
    head = shown.get_by_role("columnheader", name="index 1")
    head.get_by_role("button").click()
    assert names_in(shown) == by_index
    assert head.get_attribute("aria-sort") == "ascending"
    shown.keyboard.press("Enter")
    assert names_in(shown) == by_index[::-1]
    assert head.get_attribute("aria-sort") == "descending"


@pytest.mark.full
def test_what_is_not_known_comes_last_either_way(shown, sources):
    button = shown.get_by_role("columnheader", name="held out").get_by_role("button")
    for _ in range(2):
        button.click()
        assert set(names_in(shown)[:4]) == set(sources)


@pytest.mark.full
def test_the_table_filters(shown, sources):
    shown.locator("#filter").fill("SOURCE")
    assert set(names_in(shown)) == set(sources)
    assert shown.locator("#shown").text_content() == "4 of 8 domains"
    shown.locator("#filter").fill("")
    assert len(names_in(shown)) == 8


def test_every_section_says_something(shown, data):
    text = shown.locator("main").text_content()
    for one in data.audit.conditions:
        assert one.statement in text
    for sentence in (*data.warnings, data.held_out.method, *data.audit.conditions[0].sentences):
        assert sentence in text
    for name, version in data.versions.items():
        assert name in text
        assert version in text
    assert shown.locator("#history .term path").count() > 0
    for sentence in data.summary:
        assert sentence in text
    assert shown.locator("#trials tbody tr").count() == len(data.trials)


@pytest.mark.full
def test_targets_have_a_forecast_in_the_table_and_the_worst_is_named(shown, data):
    expected = {one.name: one.forecast.expected for one in data.domains if one.forecast}
    button = shown.get_by_role("columnheader", name="expected").get_by_role("button")
    button.click()
    assert set(names_in(shown)[: len(expected)]) == set(expected)
    worst = min(expected, key=expected.get)
    text = shown.locator(".verdict-line").text_content()
    assert f"fare worst is {worst}, at {100 * expected[worst]:.1f} % (" in text
    drawn = shown.locator("#forecast-plot .points path").count()
    assert drawn == len(expected), "a point with an interval for every target"
    ticks = shown.locator("#forecast-plot .xtick text").all_text_contents()
    assert len(set(ticks)) == len(ticks), "no figure of the axis stands there twice"


@pytest.mark.full
def test_questions_come_in_the_order_in_which_they_are_asked(shown):
    assert shown.locator("h2").all_text_contents() == [
        "Can I rely on it?",
        "Where are my domains?",
        "Why is this domain far?",
        "What drives predictions?",
        "How good on held-out sources?",
        "What was chosen, and why?",
        "Is it a domain index?",
        "Training",
        "Configuration and versions",
    ]


@pytest.mark.full
def test_why_a_domain_is_far_is_said_of_the_farthest_and_of_the_selected(open_report, data):
    page = open_report()
    far = max(data.domains, key=lambda one: one.distance_to_source)
    assert page.locator("#why-panel h3").text_content() == far.name
    for one in (data.domains[2], data.domains[5]):
        page.get_by_role("button", name=one.name, exact=True).first.click()
        assert page.locator("#why-panel h3").text_content() == one.name
        columns = [data.profiles[difference.column].name for difference in one.differences]
        assert page.locator(".why-card h4").all_text_contents() == columns
        bars = page.locator(".why-card rect.own").count()
        assert bars == sum(len(difference.shares) for difference in one.differences)


@pytest.mark.full
def test_what_drives_predictions_is_drawn_by_column(shown, data):
    assert shown.locator(".bar-name").all_text_contents() == [one.column for one in data.drivers]


@pytest.mark.full
def test_quality_is_shown_in_figures_curve_and_matrix(shown, data):
    figures = shown.locator("#figures tbody tr").all_text_contents()
    assert [line.split(" ")[0][:3] for line in figures] == ["acc", "AUC", "Bri", "log"]
    assert shown.locator("#calibration-plot .points path").count() == len(data.held_out.calibration)
    assert shown.locator("#confusion td").count() == 4
    assert shown.locator("#quality-plot .points path").count() == 2 * len(data.held_out.scores)


@pytest.mark.full
def test_names_on_the_map_cover_no_other(shown):
    boxes = shown.locator("#map .annotation-text-g").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) >= 5
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            beside = one["left"] >= other["right"] - 1 or other["left"] >= one["right"] - 1
            above = one["top"] >= other["bottom"] - 1 or other["top"] >= one["bottom"] - 1
            assert beside or above


@pytest.mark.full
def test_a_map_that_is_almost_a_line_is_no_thin_strip(open_other, data):
    flat = [
        replace(
            one,
            coordinates=(one.coordinates[0], 0.01 * one.coordinates[1]),
            deviations=(one.deviations[0], 0.01 * one.deviations[1]),
        )
        for one in data.domains
    ]
    page = open_other(replace(data, domains=tuple(flat)))
    boxes = page.locator("#map .points path").evaluate_all(
        "points => points.map(point => point.getBoundingClientRect().toJSON())"
    )
    across, up = (max(b[way] for b in boxes) - min(b[way] for b in boxes) for way in ("x", "y"))
    assert up > 0.2 * across
    assert "times as long as index 1" in page.locator("#scale-note").text_content()


@pytest.mark.full
def test_a_name_is_found_without_its_accents(open_other, data):
    named = replace(data.domains[3], name="Étienne")
    domains = [replace(one, neighbours=()) for one in data.domains]
    domains[3] = replace(named, neighbours=())
    page = open_other(replace(data, domains=tuple(domains)))
    page.locator("#find").fill("etien")
    assert page.locator("#found button").all_text_contents() == ["Étienne"]
    page.locator("#found button").click()
    assert page.locator("#selected h3").text_content() == "Étienne"
    page.locator("#filter").fill("ETIENNE")
    assert names_in(page) == ["Étienne"]


@pytest.mark.full
def test_errors_of_values_are_drawn_with_what_intervals_held(open_other, data):
    quality = replace(
        data.held_out,
        score_name="root mean squared error",
        higher_is_better=False,
        figures={"rmse": 1.2, "mae": 0.9, "r2": 0.8, "bias": -0.1},
        plain_figures={"rmse": 1.4, "mae": 1.0, "r2": 0.7, "bias": 0.0},
        confusion=(),
        classes=(),
        residuals=((-1.0, 0.0, 0.4), (0.0, 1.0, 0.6)),
        coverage=((0.8, 0.78), (0.9, 0.91)),
    )
    page = open_other(replace(data, task="regression", held_out=quality))
    assert page.locator("#residual-plot .bars .point").count() == 2
    assert page.locator("#coverage tbody tr").all_text_contents() == ["80 %78.0 %", "90 %91.0 %"]
    target = next(one.name for one in data.domains if one.forecast)
    page.get_by_role("button", name=target, exact=True).first.click()
    value = page.locator("#selected dd").last
    assert value.bounding_box()["width"] > 90, "beside a long label there is room for the figures"


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_the_screen_and_has_a_picture_taken(open_report, tmp_path, size, scheme):
    page = open_report(size, color_scheme=scheme)
    page.locator("#colour").select_option("angle")
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    path = tmp_path / f"{size}-{scheme}.png"
    page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 50_000
    assert map_background(page) == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(29, 32, 36)"
    )


@pytest.mark.full
def test_a_unit_is_as_long_up_as_across(shown):
    across, up = shown.evaluate(
        """() => ["x", "y"].map(axis => {
            const ticks = [...document.querySelectorAll(`#map .${axis}tick text`)];
            const side = axis === "x" ? "left" : "top";
            const number = (tick) => Number(tick.textContent.replace("−", "-"));
            const place = (tick) => {
                const box = tick.getBoundingClientRect();
                return axis === "x" ? box.left + box.width / 2 : box.top + box.height / 2;
            };
            const [first, last] = [ticks[0], ticks[ticks.length - 1]];
            return Math.abs((place(last) - place(first)) / (number(last) - number(first)));
        })"""
    )
    assert across == pytest.approx(up, rel=0.05)


@pytest.mark.full
def test_on_paper_it_is_light_and_shows_every_row(open_report):
    page = open_report(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.querySelector('.box')).overflow") == "visible"
    eventually(page, lambda: map_background(page) == "rgb(255, 255, 255)")
    heads = page.locator("#domains thead th").all_inner_texts()
    assert "domain" in heads[0]
    assert all(head.strip() for head in heads)


@pytest.mark.full
def test_domains_without_pictures_are_not_offered_any(shown):
    assert not shown.locator("#with-pictures").is_visible()
    assert shown.locator("#map image").count() == 0


@pytest.mark.full
def test_pictures_stand_along_the_map_and_beside_the_chosen_domain(browser, data, tmp_path):
    pixel = picture_uri(np.full((8, 8, 3), 200, np.uint8))
    shown = [replace(one, picture=pixel) for one in data.domains[:-1]]
    stranger = replace(data.domains[-1], picture="https://example.org/spy.png")
    path = write_report(replace(data, domains=(*shown, stranger)), tmp_path / "pictures.html")
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#map[data-ready=true]")
    assert page.locator("#map image").count() == len(shown)
    of = "shapes => shapes.map(shape => shape.getBoundingClientRect().toJSON())"
    pictures = page.locator("#map image").evaluate_all(of)
    names = page.locator("#map .annotation-text-g").evaluate_all(of)
    assert names
    assert not any(covers(name, picture) for name in names for picture in pictures)
    page.get_by_role("button", name=shown[1].name, exact=True).first.click()
    assert page.locator("#selected img").get_attribute("src") == pixel
    page.get_by_role("button", name=stranger.name, exact=True).first.click()
    assert page.locator("#selected img").count() == 0
    page.locator("#pictures").uncheck()
    eventually(page, lambda: page.locator("#map image").count() == 0)
    assert {url.split(":")[0] for url in asked} <= {"file", "data"}
    page.close()


@pytest.mark.full
def test_a_map_that_closes_is_drawn_as_a_ring(browser, data, tmp_path):
    around = [replace(one, angle=0.7 * n - 3.0) for n, one in enumerate(data.domains)]
    around[3] = replace(around[3], forecast=ForecastRecord(0.9, 0.2, 1.0, two_ways=0.25))
    written = write_report(replace(data, domains=tuple(around)), tmp_path / "ring.html")
    page = browser.new_page()
    page.goto(written.as_uri())
    page.wait_for_selector("#map[data-ready=true]")
    path = page.locator("#map .scatterlayer .lines path").first.get_attribute("d")
    assert path.count("L") == len(around), "once around and back to the first"
    heads = page.locator("#domains thead th").all_text_contents()
    assert {"angle", "two ways agree"} <= set(heads)
    row = page.locator("#domains tbody tr", has_text=around[3].name)
    cells = row.locator("td").all_text_contents()
    assert "−52°" in cells
    assert "25 %" in cells
    page.get_by_role("button", name=around[3].name, exact=True).first.click()
    assert "two ways agree" in page.locator("#selected dl").text_content()
    page.close()


@pytest.mark.full
def test_what_was_done_to_the_table_is_shown_with_gaps_by_domain(open_other, data):
    note = "Left out 1 column whose values name the domain: 'code'."
    name = data.profiles[0].name
    gaps = (MissingRecord(0, 1.0),)
    first, *others = data.domains
    cleared = [replace(one, missing=()) for one in others]
    content = replace(data, preparation=(note,), domains=(replace(first, missing=gaps), *cleared))
    page = open_other(content)
    headings = page.locator("h2").all_text_contents()
    place = headings.index("What was done to my table?")
    assert headings[place - 1 : place + 2 : 2] == [
        "How good on held-out sources?",
        "What was chosen, and why?",
    ]
    assert page.locator("#prepared li").all_text_contents() == [note]
    assert page.locator("#gaps thead th").all_text_contents() == ["domain", name]
    assert page.locator("#gaps tbody tr").all_text_contents() == [f"{first.name}100.0 %"]


@pytest.mark.full
def test_a_report_without_an_audit_says_why(open_other, data):
    why = "The audit of the index was left out: it would have taken too long."
    page = open_other(replace(data, audit=None, no_audit=why))
    assert why in page.locator("#audit").text_content()
    assert "could not be made" not in page.locator("#audit").text_content()


@pytest.mark.full
def test_long_names_that_begin_alike_can_be_distinguished_on_the_map(open_other, data):
    names = [f"Municipality of Somewhere-upon-River {n:02}" for n in range(len(data.domains))]
    shown_as = dict(zip([one.name for one in data.domains], names))
    renamed = tuple(
        replace(
            one,
            name=shown_as[one.name],
            neighbours=tuple(shown_as[near] for near in one.neighbours),
        )
        for one in data.domains
    )
    page = open_other(replace(data, domains=renamed))
    labels = page.locator("#map .annotation-text").all_text_contents()
    assert len(labels) > 3
    assert len(set(labels)) == len(labels)
    ticks = page.locator("#forecast-plot .ytick text").all_text_contents()
    assert len(set(ticks)) == len(ticks) > 1


@pytest.mark.full
def test_a_table_with_all_columns_fits_on_a_desk(open_other, data):
    around = [
        replace(
            one, angle=0.3 * n, forecast=ForecastRecord(0.9512, 0.8512, 1.0, two_ways=0.75),
            coordinates=(-0.01234, -0.1234),
        )
        for n, one in enumerate(data.domains)
    ]  # fmt: skip
    page = open_other(replace(data, domains=tuple(around)))
    table = page.locator("#domains")
    assert "two ways agree" in table.locator("thead").text_content()
    box = table.evaluate(
        "table => table.parentElement.scrollWidth - table.parentElement.clientWidth"
    )
    assert box <= 1


@pytest.mark.full
def test_with_one_source_no_domain_is_said_to_have_been_held_out(open_other, data):
    first, *others = data.domains
    alone = (replace(first, role="source"), *(replace(one, role="target") for one in others))
    held_out = replace(data.held_out, scores=data.held_out.scores[:1])
    page = open_other(replace(data, domains=alone, held_out=held_out))
    text = page.locator("#rely").text_content()
    assert "On rows of the only source that it had not seen" in text
    assert "held-out rows of the source" in text
    assert "held-out sources" not in text
    assert "8 of 10 targets" not in text


@pytest.mark.full
def test_the_first_screen_says_how_good_where_not_to_trust_it_and_compared_with_what(
    open_other, data
):
    target = next(number for number, one in enumerate(data.domains) if one.forecast)
    named = data.domains[target]
    forecast = replace(named.forecast, reason="income is 3.1 or more; no source exceeds 0.2")
    domains = list(data.domains)
    domains[target] = replace(named, forecast=forecast)
    page = open_other(replace(data, domains=tuple(domains)))
    seen = page.locator("#rely").inner_text()
    for text in ("expected accuracy", "best plain model", "Where not to trust it"):
        assert text in seen
    assert f"{named.name}: income is 3.1 or more; no source exceeds 0.2" in seen
    assert page.locator("#warnings").bounding_box()["y"] < SIZES["desktop"][1]
    assert f"{named.name} ⚠" in "".join(page.locator("#forecast-plot .ytick").all_text_contents())
    folded = page.locator("details")
    assert folded.count() >= 3
    assert not any(one.get_attribute("open") is not None for one in folded.all())
    assert not page.locator("#trials").is_visible()
    page.locator("#chosen summary").click()
    assert page.locator("#trials").is_visible()


@pytest.mark.full
def test_one_small_domain_far_out_does_not_decide_how_large_the_map_is(open_other, data):
    lone = replace(data.domains[-1], rows=1, coordinates=(900.0, 0.0))
    page = open_other(replace(data, domains=(*data.domains[:-1], lone)))
    _, high = page.evaluate("document.getElementById('map')._fullLayout.xaxis.range")
    assert high < 100.0
    assert f"{lone.name} at 900" in page.locator("#scale-note").text_content()


@pytest.mark.full
def test_a_phone_shows_what_is_expected_beside_the_name(open_report):
    page = open_report("phone")
    heads = page.locator("#domains thead th").all_text_contents()
    assert heads[:2] == ["domain", "expected"]


@pytest.mark.full
def test_nothing_moves_when_the_figures_come(open_other, data, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    watch = (
        "window.shifts = 0; new PerformanceObserver((list) => { for (const one of "
        "list.getEntries()) window.shifts += one.value; })"
        ".observe({ type: 'layout-shift', buffered: true });"
    )
    page.add_init_script(watch)
    other = open_other(data)
    page.goto(other.url)
    page.wait_for_selector("#map[data-ready=true]", timeout=PATIENCE)
    assert page.evaluate("window.shifts") < 0.05
    page.close()
