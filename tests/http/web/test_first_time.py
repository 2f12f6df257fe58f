"""What somebody does who sees the web app for the first time: ten tasks, each by what is visible
alone, and in at most six clicks. Putting the cursor into a field and choosing from a list are
clicks too."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.common import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.documents import copied
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp
from tests.http.web.site import site

pytestmark = pytest.mark.real

MAX_CLICKS = 6
BATTERY = "How long does a full battery charge last without sun?"
REVENUE = "What was the revenue in 2024?"


@dataclass
class Person:
    """Somebody before the page, who counts clicks."""

    app: WebApp
    clicks: int = 0

    def reads(self, text: str) -> None:
        """Wait until the page shows this."""
        self.app.says(text)

    def click(self, label: str) -> None:
        """Click what says this and is visible."""
        self.clicks += 1
        self.app.click(label)

    def click_first(self, selector: str) -> None:
        """Click the first visible one of what looks like this."""
        self.clicks += 1
        self._visible(By.CSS_SELECTOR, selector).click()

    def types(self, label: str, text: str) -> None:
        """Put the cursor into a field by what stands at it, and type."""
        self.clicks += 1
        field = self._field(label)
        field.click()
        field.send_keys(text)

    def asks(self, question: str) -> None:
        """Type into the field that has the cursor already, press Enter and wait."""
        self.app.until(
            lambda: self.app.run("return document.activeElement.id === 'question'") or None
        )
        self.app.chrome.switch_to.active_element.send_keys(question + Keys.ENTER)
        self._visible(By.CSS_SELECTOR, ".turn:last-of-type .actions")

    def chooses(self, label: str, option: str) -> None:
        """Choose from a list by its label."""
        self.clicks += 1
        Select(self._field(label)).select_by_visible_text(option)

    def gives(self, label: str, file: Path) -> None:
        """Choose files in the dialog of the system, which the visible button opens."""
        self.app.chrome.find_element(By.CSS_SELECTOR, f"input[aria-label='{label}']").send_keys(
            str(file)
        )

    def _field(self, label: str) -> WebElement:
        said = json.dumps(label)
        return self._visible(
            By.XPATH,
            f"//label[span[normalize-space()={said}]]//*[self::input or self::select or "
            f"self::textarea] | //select[@aria-label={said}]",
        )

    def _visible(self, by: str, what: str) -> WebElement:
        def found() -> WebElement | None:
            try:
                some = self.app.chrome.find_elements(by, what)
                return next((item for item in some if item.is_displayed()), None)
            except StaleElementReferenceException:
                return None

        element: WebElement = self.app.until(found, what)
        return element


@pytest.fixture(scope="module")
def house(
    started: WebApp, tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path
) -> Iterator[WebApp]:
    """A server of its own: a first key changes who may use it."""
    data = copied(indexed_documents, tmp_path_factory.mktemp("first") / "data")
    llm = {"LLM__MODEL": "some", "LLM__BASE_URL": started.model.url, "LLM__RETRIES": "0"}
    with serving(data, **llm) as url:
        yield WebApp(started.chrome, url, data, started.model)


@pytest.fixture
def person(house: WebApp) -> Iterator[Person]:
    """At the first page, signed in, nothing clicked yet; and at the end the clicks are counted."""
    house.model.says = ("A full charge lasts 31 days without sun ", "[1].")
    house.model.pause, house.model.way = 0.0, "good"
    house.chrome.switch_to.default_content()
    house.chrome.get(f"{house.url}/health")
    house.run("sessionStorage.clear(); localStorage.clear()")
    house.open()
    someone = Person(house)
    yield someone
    assert 0 < someone.clicks <= MAX_CLICKS, someone.clicks


def test_adding_a_folder(person: Person, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    (folder / "inner").mkdir(parents=True)
    (folder / "tower.md").write_text("# Tower\n\nThe tower of Ost is 41 metres high.\n")
    (folder / "inner" / "moat.md").write_text("# Moat\n\nThe moat of Ost is 3 metres deep.\n")
    person.click("Documents")
    person.click("Choose a folder")
    person.gives("Choose a folder", folder)
    person.reads("2 added, 0 failed, 0 skipped")
    person.reads("/handbook/inner/moat.md")


def test_finding_why_a_file_failed(person: Person, tmp_path: Path) -> None:
    broken = tmp_path / "contract.pdf"
    broken.write_bytes(b"%PDF-1.7\nbroken")
    assert run(person.app.data, "ingest", str(broken)).returncode == 1
    person.click("Documents")
    person.chooses("State", "Failed")
    row = person._visible(By.CSS_SELECTOR, "table.list tbody tr")
    assert "contract.pdf" in row.text
    assert person._visible(By.CSS_SELECTOR, "table.list .bad").text


def test_checking_a_claim_on_its_page(person: Person) -> None:
    person.app.model.says = ("Revenue was 48.6 million euros in 2024 ", "[1].")
    person.asks(REVENUE)
    person.click_first(".markdown .cite")
    person.reads("Page 2 of 3")
    person._visible(By.CSS_SELECTOR, ".paper .box")


def test_seeing_why_a_passage_was_missed(person: Person) -> None:
    person.asks(BATTERY)
    person.click("Why this answer?")
    person.click("Passages")
    person.reads("left out")
    person.reads("By meaning")


def test_forbidding_a_topic(person: Person) -> None:
    person.click("Admin")
    person.click("Blocked topics")
    person.types("Word or phrase", "salaries")
    person.click("Block")
    person._visible(By.CSS_SELECTOR, "button[aria-label='Unblock salaries']")


def test_giving_a_colleague_a_key_for_one_collection(person: Person) -> None:
    person.click("Admin")
    person.click("Keys")
    person.types("Who or what it is for", "Ada of sales")
    person.chooses("Access to", "default")
    person.click("Create key")
    secret = person._visible(By.CSS_SELECTOR, ".secret").text
    assert re.fullmatch(r"ragstone_[0-9a-f]{16}_[\w-]{43}", secret)
    row = next(item for item in person.app.all("tbody tr") if "Ada of sales" in item.text)
    assert "default" in row.text


def test_comparing_two_settings(person: Person) -> None:
    person.asks(BATTERY)
    person.click("Why this answer?")
    person.click("Try again with…")
    person.chooses("Search", "bm25")
    person.click("Ask with these")
    person.reads("With these settings")
    assert len(person.app.until(lambda: person.app.all(".beside .compared") or None)) == 2


def test_restoring_a_prompt(person: Person) -> None:
    told = run(person.app.data, "prompts", "show", "answer")
    file = person.app.data.parent / "answer.txt"
    file.write_text(told.stdout + "\nBe rude.\n")
    done = run(person.app.data, "prompts", "edit", "answer", "--file", str(file))
    assert done.returncode == 0, done.stderr
    person.click("Admin")
    person.click("Prompts")
    person.reads("Versions")
    person.click("Reset to the default text")
    person.app.until(
        lambda: (
            "Be rude." not in str(person.app.find("textarea.code-text").get_attribute("value"))
            or None
        )
    )


def test_reading_last_weeks_cost(person: Person) -> None:
    person.asks(BATTERY)
    person.click("Admin")
    person.click("Statistics")
    person.chooses("Days", "7")
    person.reads("Cost in dollars")
    table = person._visible(By.CSS_SELECTOR, "table.list").text
    assert "$0.0" in table


def test_putting_the_widget_on_a_page(person: Person) -> None:
    pages: dict[str, str] = {"/spy.js": ""}
    with site(pages, person.app.url) as shop:
        person.click("Admin")
        person.click("Keys")
        person.types("Who or what it is for", "the shop")
        person.chooses("Role", "Widget: can ask from one site")
        person.types("Address of the site", shop)
        person.click("Create key")
        tag = person._visible(By.CSS_SELECTOR, ".secret").text
        pages["/"] = f"<!doctype html><title>Shop</title><body><h1>Shop</h1>{tag}"
        clicks = person.clicks
        person.app.chrome.get(shop)
        visitor = Person(person.app)
        person.app.chrome.switch_to.frame(visitor._visible(By.CSS_SELECTOR, "iframe"))
        visitor.click_first(".launcher")
        field: Any = visitor._visible(By.CSS_SELECTOR, "#q")
        field.send_keys(BATTERY + Keys.ENTER)
        visitor.reads("31 days")
        visitor._visible(By.CSS_SELECTOR, ".sources")
        person.app.chrome.switch_to.default_content()
        assert person.clicks == clicks
