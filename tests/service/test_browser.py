"""The page in a real browser: type, see chips, arcs and output, follow a jump by keyboard; axe finds nothing."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.running import Running, running

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(os.environ.get("PERMPARSE_AXE", "node_modules/axe-core/axe.min.js"))
QUIET = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]
ALL_DETAILS = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("service")) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def visit(service: Running, browser: "sync_api.Browser") -> Iterator:
    contexts, faults = [], []

    def open_page(**options: object) -> "sync_api.Page":
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if _is_fault(message) else None)
        page.on("request", lambda request: faults.append(request.url) if service.url not in request.url else None)
        page.goto(service.url)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def _is_fault(message: "sync_api.ConsoleMessage") -> bool:
    """Whether the console shows an error other than that of a sentence that was refused."""
    return message.type == "error" and "422" not in message.text


def test_a_typed_sentence_shows_chips_arcs_and_output_and_a_jump_is_followed_by_keyboard(visit) -> None:
    page = visit(viewport={"width": 1440, "height": 900})
    panel = page.locator(".panel").first
    sentence = panel.get_by_role("textbox")
    sentence.fill("the clerk slept")
    with page.expect_response("**/parse"):
        sentence.press("Enter")
    sync_api.expect(panel.locator(".output")).to_have_text("the clerk(1);\nsleep(2, agent=1)")
    assert panel.locator(".drawing .chip").all_inner_texts()[0].startswith("the")
    tokens = panel.locator(".strip .chip").count()
    assert panel.locator(".drawing .chip").count() == tokens == 7
    assert panel.locator(".jump.past").count() == tokens - 1
    slider = panel.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith("Start at “the”")
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext").startswith("Jump 1 of 6: “the” → “clerk”")
    assert panel.locator(".jump.now").count() == 1
    assert panel.locator(".drawing .chip.now").inner_text().startswith("clerk")


def test_shallow_and_deep_stand_side_by_side_and_below_each_other_on_a_phone(visit) -> None:
    for width, beside in ((1440, True), (390, False)):
        page = visit(viewport={"width": width, "height": 800})
        first, second = (panel.bounding_box() for panel in page.locator(".panel").all())
        assert (second["x"] > first["x"] + first["width"]) == beside
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h2").all_inner_texts() == ["Shallow, as in training", "Deeper than anything in training"]
        assert page.locator(".panel").nth(1).locator(".rows").count() == (0 if beside else 1)


def test_a_long_sentence_is_seen_whole_in_its_field(visit) -> None:
    whole = "(field) => field.scrollHeight <= field.clientHeight && field.scrollWidth <= field.clientWidth"
    for width in (1440, 390):
        page = visit(viewport={"width": width, "height": 800})
        field = page.locator(".panel").first.get_by_role("textbox")
        one_line = field.bounding_box()["height"]
        field.fill("the clerk in the market under the library near the tower behind the cellar stole a hat .")
        assert field.evaluate(whole)
        assert field.bounding_box()["height"] > one_line
        page.set_viewport_size({"width": 360, "height": 800})
        page.wait_for_function(whole, arg=field.element_handle())
        field.fill("Emil slept .")
        assert field.bounding_box()["height"] == one_line


def test_a_strange_sentence_says_where_it_is_unsure(visit) -> None:
    page = visit()
    panel = page.locator(".panel").nth(1)
    panel.get_by_role("textbox").fill("the glorp of a cat slept")
    with page.expect_response("**/parse"):
        panel.get_by_role("button", name="Parse").click()
    sync_api.expect(panel.locator(".doubts")).to_contain_text("“glorp” is not among the words")
    assert panel.locator(".text.unsure").count() >= 1
    assert panel.locator("h2").inner_text() == "Your sentence"


def test_a_mistake_is_told_and_an_example_is_picked(visit) -> None:
    page = visit()
    panel = page.locator(".panel").first
    panel.get_by_role("textbox").fill("word " * 200)
    with page.expect_response("**/parse"):
        panel.get_by_role("textbox").press("Enter")
    sync_api.expect(panel.get_by_role("alert")).to_contain_text("at most 120 words")
    with page.expect_response("**/parse"):
        panel.get_by_role("combobox").select_option(index=2)
    sync_api.expect(panel.locator(".output")).to_contain_text("the nurse")
    sync_api.expect(panel.get_by_role("alert")).to_be_hidden()


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: npm install --no-save axe-core, or set PERMPARSE_AXE")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing(visit, scheme: str, width: int) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    page.evaluate(ALL_DETAILS)
    page.get_by_role("slider").first.press("Home")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((report) => report.violations.map((v) => [v.id, v.nodes[0].html]))")
    assert found == []
