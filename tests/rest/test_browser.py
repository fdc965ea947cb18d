"""The console as people use it, in a real browser. The pictures of docs/ are taken here: RECONCILE_UPDATE_PICTURES=1 takes
them anew."""

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from feldera import Pipeline
from feldera.enums import PipelineStatus
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.rest.browser import browser
from tests.rest.conftest import ROOT, Serving
from tests.waiting import wait_until

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.slow
PICTURES = ROOT / "docs" / "pictures"
TABLES = """
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer VARCHAR, price DECIMAL(10, 2)) WITH ('connectors' = '%s');
CREATE VIEW spent AS SELECT customer, SUM(price) AS total FROM orders GROUP BY customer;
CREATE VIEW good_customers AS SELECT customer FROM spent WHERE total > 100;
CREATE VIEW mail AS SELECT customer FROM good_customers;
"""


@pytest.fixture(scope="module")
def chrome() -> Iterator["Chrome"]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def shop(lasting: Serving) -> Pipeline:
    """A pipeline that runs, has a record that became no row, and awaits the approval of a change."""
    folder = lasting.root / "orders"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1, "customer": "ada", "price": 120}\n{"id": "two"}\n')
    files = {
        "name": "files",
        "transport": {"name": "file_input", "config": {"path": str(folder)}},
        "format": {"name": "json"},
    }
    sql = TABLES % json.dumps([files])
    pipeline = lasting.pipeline("shop", sql, description="Orders and customers")
    pipeline.start()
    wait_until(lambda: pipeline.input_connector_stats("orders", "files").metrics.num_parse_errors == 1)
    pipeline.stop(force=False)
    pipeline.modify(sql=sql.replace("total > 100", "total > 90"))
    pipeline.start()
    return pipeline


@pytest.fixture
def running(shop: Pipeline) -> Pipeline:
    """The pipeline when its change is approved: by a test before, unless this one runs in another process."""
    if shop.status() == PipelineStatus.AWAITINGAPPROVAL:
        shop.approve()
    shop.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    return shop


def see(chrome: "Chrome", service: Serving, path: str = "/") -> str:
    chrome.get(service.address + path)
    return text(chrome)


def text(chrome: "Chrome") -> str:
    # In one call: a page is made anew whenever something changes.
    return str(chrome.execute_script("return document.getElementById('main')?.innerText ?? ''"))


def press(chrome: "Chrome", words: str) -> None:
    """Press the button that says so."""
    said = """
    const found = [...document.querySelectorAll("button")].find(
      (one) => [one.innerText, one.getAttribute("aria-label")].includes(arguments[0]));
    if (found) found.click();
    return Boolean(found);
    """
    assert chrome.execute_script(said, words), f"no button says {words}: {text(chrome)}"


def picture(chrome: "Chrome", name: str) -> None:
    if os.environ.get("RECONCILE_UPDATE_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        chrome.save_screenshot(str(PICTURES / f"{name}.png"))


def test_a_change_is_seen_and_rejected_and_approved(chrome: "Chrome", service: Serving, shop: Pipeline) -> None:
    assert "needs approval" in see(chrome, service)
    picture(chrome, "console-pipelines")
    chrome.find_element(By.LINK_TEXT, "needs approval").click()
    WebDriverWait(chrome, 30).until(lambda _: "total > 90" in text(chrome))
    picture(chrome, "console-plan")
    chrome.find_element(By.NAME, "comment").send_keys("too low")
    press(chrome, "Reject it")
    WebDriverWait(chrome, 30).until(lambda _: "rejected the plan" in text(chrome))
    shop.wait_for_status(PipelineStatus.STOPPED, timeout=60)

    shop.start()
    assert "too low" in see(chrome, service, "/console/pipelines/shop/plan")
    chrome.find_element(By.NAME, "override").click()
    by = chrome.find_element(By.NAME, "by")
    by.clear()
    by.send_keys("ann", Keys.ENTER)
    WebDriverWait(chrome, 30).until(lambda _: "ann approved the plan" in text(chrome))
    shop.wait_for_status(PipelineStatus.RUNNING, timeout=60)


def test_a_page_follows_what_happens(chrome: "Chrome", service: Serving, shop: Pipeline) -> None:
    see(chrome, service, "/console/pipelines/shop")
    WebDriverWait(chrome, 30).until(lambda _: "Running" in text(chrome))
    shop.pause()
    WebDriverWait(chrome, 30).until(lambda _: "Paused" in text(chrome))
    press(chrome, "Resume")
    WebDriverWait(chrome, 30).until(lambda _: "Running" in text(chrome))
    press(chrome, "Pause orders.files")
    WebDriverWait(chrome, 30).until(lambda _: chrome.find_elements(By.CSS_SELECTOR, '[aria-label="Start orders.files"]'))
    assert shop.input_connector_stats("orders", "files").paused
    press(chrome, "Start orders.files")


def test_what_became_no_row_is_found(chrome: "Chrome", service: Serving, shop: Pipeline) -> None:
    see(chrome, service, "/console/pipelines/shop")
    chrome.find_element(By.CSS_SELECTOR, "td a[href$=dead_letters]").click()
    WebDriverWait(chrome, 30).until(lambda _: '"id": "two"' in text(chrome))


def test_a_version_is_rolled_back(chrome: "Chrome", service: Serving, running: Pipeline) -> None:
    see(chrome, service, "/console/pipelines/shop/versions?of=good_customers")
    press(chrome, "Plan the rollback to version 0 of good_customers")
    WebDriverWait(chrome, 60).until(lambda _: "Nothing was changed yet" in text(chrome))
    press(chrome, "Carry this plan out")
    WebDriverWait(chrome, 60).until(lambda _: "good_customers@v0" in text(chrome))
    assert "good_customers" in see(chrome, service, "/console/pipelines/shop").partition("Rolled back")[2]


def test_a_failing_pipeline_can_not_be_overlooked(chrome: "Chrome", service: Serving, running: Pipeline) -> None:
    (service.root / "orders" / "a.json").write_text("{}\n" * 50)
    see(chrome, service)
    WebDriverWait(chrome, 60).until(lambda _: "needs attention" in text(chrome) or "need attention" in text(chrome))
    assert "changed after it was read" in text(chrome)


def test_it_works_by_keyboard(chrome: "Chrome", service: Serving, shop: Pipeline) -> None:
    see(chrome, service, "/console/pipelines/shop")
    body = chrome.find_element(By.TAG_NAME, "body")
    body.send_keys("3")
    WebDriverWait(chrome, 30).until(lambda _: chrome.current_url.endswith("/query"))
    field = chrome.switch_to.active_element
    field.send_keys("SELECT * FROM orders", Keys.CONTROL, Keys.ENTER)
    WebDriverWait(chrome, 60).until(lambda _: "ada" in text(chrome))
    chrome.find_element(By.TAG_NAME, "h1").click()
    chrome.find_element(By.TAG_NAME, "body").send_keys("/")
    WebDriverWait(chrome, 30).until(lambda _: chrome.current_url == f"{service.address}/")
    chrome.find_element(By.TAG_NAME, "body").send_keys("/")
    chrome.switch_to.active_element.send_keys("no such name")
    assert "shop" not in text(chrome).partition("Pending")[2]
    see(chrome, service)
    chrome.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert chrome.switch_to.active_element.text == "Skip to the page"


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_loads_at_once(service: Serving, shop: Pipeline, dark: bool) -> None:
    with browser(390, 844, dark=dark) as phone:
        for path in ("/", "/console/pipelines/shop", "/console/pipelines/shop/plan", "/console/pipelines/shop/query"):
            see(phone, service, path)
            width = phone.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
            assert width[0] <= width[1], path
            took = phone.execute_script("return performance.getEntriesByType('navigation')[0].domComplete")
            assert took < 1000, path
        see(phone, service, "/console/pipelines/shop")
        colour = phone.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (colour == "rgb(255, 255, 255)") is not dark
        if dark:
            picture(phone, "console-phone")


def test_nothing_is_said_in_the_browsers_log(chrome: "Chrome", service: Serving, shop: Pipeline) -> None:
    for path in ("/", "/console/pipelines/shop", "/console/pipelines/shop/plan", "/console/pipelines/shop/history"):
        see(chrome, service, path)
    assert [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"] == []  # type: ignore[no-untyped-call]
