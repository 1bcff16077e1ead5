"""The page in a browser: a table is sent, predictions and places come back, nothing else moves."""

import threading

import pandas as pd
import pytest

pytestmark = pytest.mark.timeout(240)

ATTACK = "<script>alert(1)</script>"
PATIENCE = 90_000  # milliseconds, for machines that have much else to do
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser(chromium):
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if chromium is None:
        pytest.skip("no Chromium here; install it, or name its path in DOMINDEX_CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(asked):
    """The page, served by a thread."""
    uvicorn = pytest.importorskip("uvicorn")
    from domindex.serving.app import build_app
    from domindex.serving.served_run import _listen

    app = build_app(asked, ["127.0.0.1"], True)
    listening = _listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def open_page(browser, address):
    """Opens the page at a size; complaints and foreign requests fail the test at its end."""
    complaints, pages = [], []

    def opened(size="desktop", **settings):
        width, height = SIZES[size]
        page = browser.new_page(viewport={"width": width, "height": height}, **settings)
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                request.url.startswith((address, f"blob:{address}"))
                or complaints.append(request.url)
            ),
        )
        page.goto(address)
        page.wait_for_selector("#map[data-ready=true]")
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


@pytest.fixture(scope="module")
def file(today, tmp_path_factory):
    path = tmp_path_factory.mktemp("today") / "today.csv"
    today.to_csv(path, index=False)
    return path


def send(page, file):
    page.locator("#table").set_input_files(file)
    page.locator("#predict").click()
    page.wait_for_selector("#first tbody tr")


def test_a_table_is_sent_and_its_predictions_are_seen_and_downloaded(open_page, file, today):
    page = open_page()
    assert page.locator("#map .point").count() == 8
    send(page, file)
    assert page.locator("#answer h2").text_content() == "Predictions for today.csv"
    assert page.locator("#first tbody tr").count() == 20
    heads = page.locator("#first thead th").all_text_contents()
    assert heads == ["patient", "site", "outcome", "p(ill)", "p(well)", "distance", "off_map"]
    facts = page.locator("#answer .facts dd").all_text_contents()
    assert facts == ["120", "6", "4", "1"]
    with page.expect_download() as waiting:
        page.locator("#download").click()
    loaded = pd.read_csv(waiting.value.path())
    assert loaded["patient"].tolist() == today["patient"].tolist()
    assert loaded.loc[loaded["site"] == "far0", "off_map"].all()


@pytest.mark.full
def test_new_domains_stand_on_the_map_with_forecast_and_flag(open_page, file):
    page = open_page()
    send(page, file)
    assert page.locator("#map .point").count() == 12
    assert page.locator("#map .point.new").count() == 4
    assert page.locator("#map .point.off").get_attribute("data-name") == "far0"
    assert page.locator("#map .ring").count() == 2, "known sites of the table"
    rows = page.locator("#domains tbody tr")
    assert rows.count() == 6
    assert "off the map" in rows.first.text_content()
    assert " %" in page.locator("#domains tr", has_text="new-6").text_content()
    assert ATTACK in page.locator("#domains tbody th").all_text_contents()
    page.get_by_role("button", name="new-6", exact=True).click()
    assert page.locator("#selected h3").text_content() == "new-6"
    assert "expected accuracy" in page.locator("#selected dl").text_content()
    assert page.locator("#map .joined").count() == 3
    page.locator('#map .point[data-name="far0"]').click()
    assert page.locator("#selected .flag").text_content() == "off the map"
    frame = page.locator("#map").bounding_box()
    spots = [one.bounding_box() for one in page.locator("#map .point.target").all()]
    across = max(one["x"] for one in spots) - min(one["x"] for one in spots)
    assert across > 0.4 * frame["width"], "what is off the map does not squeeze the others"


@pytest.mark.full
def test_a_bad_table_is_reported_on_the_page_and_the_next_one_can_be_sent(
    browser, address, file, tmp_path
):
    (tmp_path / "bad.csv").write_text("site,x\ns1,2\n")
    page = browser.new_page()
    page.goto(address)
    page.locator("#table").set_input_files(tmp_path / "bad.csv")
    page.locator("#predict").click()
    page.wait_for_selector(".warnings[role=alert]")
    assert "no column" in page.locator(".warnings").text_content()
    send(page, file)
    assert page.locator(".warnings[role=alert]").count() == 1, "of the domain off the map"
    page.close()


@pytest.mark.full
def test_a_file_that_is_too_large_is_not_sent(open_page, tmp_path):
    (tmp_path / "large.csv").write_bytes(b"0" * 1_100_000)
    page = open_page()
    page.locator("#table").set_input_files(tmp_path / "large.csv")
    page.locator("#predict").click()
    said = page.locator("#table").evaluate("input => input.validationMessage")
    assert "larger than 1 MB" in said
    assert page.locator("#predict").is_enabled()


@pytest.mark.full
@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_the_page_fits_the_screen_and_names_cover_no_other(open_page, file, size, scheme):
    page = open_page(size, color_scheme=scheme)
    send(page, file)
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    boxes = page.locator("#map text.name").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) >= 5
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            beside = one["left"] >= other["right"] - 1 or other["left"] >= one["right"] - 1
            above = one["top"] >= other["bottom"] - 1 or other["top"] >= one["bottom"] - 1
            assert beside or above
    page.locator("#nearer").click()
    page.locator("#whole").click()
    assert page.locator("#map .point").count() == 12
