"""What is large in the web app: long documents, many files, long conversations, long answers."""

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.e2e.processes import run
from tests.http.web.app import WebApp
from tests.http.web.large_pdf import ledger
from tests.http.web.load import turn_to

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"
PAGES, FILES, TURNS, CHARACTERS, ANSWERS = 2_000, 500, 500, 100_000, 200
DOCUMENTS = 5_000
KEY_SECONDS = 0.1
"""Of a processor for each key: half of what somebody who types notices."""

LATER = 140
"""Answers between the two looks at the memory."""
MAX_GROWN = 8_000_000
"""Bytes that the page may hold more after these: 60 kB an answer, whose own texts are kept."""


def patiently(app: WebApp, text: str) -> None:
    """Wait for what takes minutes, and gets on all the time."""
    for _ in range(20):
        with suppress(AssertionError):
            app.says(text)
            return
    app.says(text)


def look_at_memory(app: WebApp) -> tuple[int, int]:
    """Bytes of the page's program, and nodes of the page."""
    for _ in range(3):
        app.chrome.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    usage = app.chrome.execute_cdp_cmd("Runtime.getHeapUsage", {})
    return int(usage["usedSize"]), app.run("return document.querySelectorAll('*').length")


def test_finished_files_are_listed_while_a_long_one_of_their_batch_is_read(
    app: WebApp, tmp_path: Path
) -> None:
    files = [tmp_path / "a-ledger.pdf", *(tmp_path / f"note{number}.md" for number in range(11))]
    files[0].write_bytes(ledger(5 * PAGES))
    for file in files[1:]:
        file.write_text(f"# The note {file.stem}\n\nIt is short.\n")
    app.go("#/documents")

    app.write("#files", "\n".join(map(str, files)))

    app.until(lambda: app.find("table.list").text.count("The note") == 11 or None, "the notes")
    assert "a-ledger" not in app.find("table.list").text
    patiently(app, "12 added, 0 failed, 0 skipped")


def test_a_page_of_two_thousand_is_opened_at_its_line(app: WebApp, tmp_path: Path) -> None:
    app.model.says = ("The balance of account A-1777 is 3554 euros ", "[1].")
    file = tmp_path / "ledger.pdf"
    file.write_bytes(ledger(PAGES))
    app.go("#/documents")
    app.write("#files", str(file))
    patiently(app, "1 added, 0 failed, 0 skipped")
    app.go("#/ask")
    turn = app.ask("What is the balance of account A-1777?")
    assert "3554" in turn.text
    app.press(".markdown .cite")
    app.says("Page 1,777 of 2,000")
    app.find(".paper .box")
    app.click("Next page")
    app.says("Page 1,778 of 2,000")
    look = (
        "const canvas = document.querySelector(\".page[data-page-number='1778'] canvas\");"
        "if (!canvas?.width) return null;"
        "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        "return data.data.some((value, index) => index % 4 < 3 && value < 100) || null"
    )
    app.until(lambda: app.run(look), "the next page")
    for part in range(3):
        for page in range(1, PAGES, PAGES // 20):
            turn_to(app, page + part)
            app.says(f"Page {page + part:,} of 2,000")
        memory = look_at_memory(app)
        if part == 1:
            before, nodes = memory
    assert memory[0] - before < MAX_GROWN
    assert memory[1] - nodes < 500
    app.call("delete", principal={}, collection="default", paths=["/ledger.pdf"])


def test_five_hundred_files_are_dropped_at_once(app: WebApp) -> None:
    app.go("#/documents")
    app.find(".drop")
    app.run(
        "const data = new DataTransfer();"
        "for (let number = 0; number < arguments[0]; number += 1) {"
        " const text = `# Note ${number}\\n\\nThe lamp of room ${number} is blue.\\n`;"
        " data.items.add(new File([text], `note-${number}.md`)); }"
        "document.querySelector('.drop').dispatchEvent("
        " new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));",
        FILES,
    )
    app.says("of 500 files")
    patiently(app, "500 added, 0 failed, 0 skipped")
    found = app.call("documents", principal={}, collection="default")
    notes = [item for item in found if item["path"].startswith("/note-")]
    assert len(notes) == FILES
    assert {note["status"] for note in notes} == {"ready"}
    app.until(lambda: len(app.all("table.list tbody tr")) == 200 or None, "rows in parts")
    paths = [note["path"] for note in notes]
    assert app.call("delete", principal={}, collection="default", paths=paths) == FILES


def test_five_thousand_documents_are_filtered_as_somebody_types(
    app: WebApp, tmp_path: Path
) -> None:
    def ticks() -> float:
        """Seconds of processor time that the page has used."""
        told = app.chrome.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(item["value"] for item in told if item["name"] == "TaskDuration"))

    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(DOCUMENTS):
        (folder / f"note-{number:04}.md").write_text(f"# Note {number}\n\nRoom {number} is blue.\n")
    for start in range(0, DOCUMENTS, FILES):  # As no command waits longer than minutes.
        part = sorted(map(str, folder.iterdir()))[start : start + FILES]
        assert run(app.data, "ingest", *part, "-c", "many").returncode == 0
    app.go("#/documents/many")
    app.says("5,000 documents")
    for _ in range(DOCUMENTS // 1_000 - 1):
        app.click("Load more documents")
        app.until(lambda: len(app.all("table.list tbody tr")) == 200 or None, "rows in parts")
    app.chrome.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    typed = "note 49"

    before = ticks()
    app.write(".filters input", typed)
    app.until(lambda: len(app.all("table.list tbody tr")) == 111 or None, "what is filtered")

    assert (ticks() - before) / len(typed) < KEY_SECONDS
    app.call("delete", principal={}, collection="many", paths=None)


def test_a_conversation_of_five_hundred_turns_is_opened_and_goes_on(app: WebApp) -> None:
    app.ask(BATTERY)
    room = app.run("return location.hash").rpartition("/")[2]
    here = {"tenant": "default", "user": "local", "room": room, "user_id": ""}
    told = json.loads(app.call("conversations.export", conversation=here, form="json"))
    [first] = told["blocks"]
    many = []
    for number in range(TURNS):
        text = json.dumps(first).replace(BATTERY, f"Question number {number}?")
        one = json.loads(text)
        inner = one.get("block", one)
        inner["chat_id"] = f"turn-{number}"
        inner["room_id"] = "five-hundred"
        many.append(one)
    for start in range(0, TURNS, 50):  # As one request has a largest size.
        text = json.dumps(many[start : start + 50])
        assert app.call("conversations.take_in", principal={}, text=text) == 50
    app.open()
    app.go("#/ask/five-hundred")
    app.says("Question number 499?")
    assert len(app.all(".turn")) == 20
    app.click("Show earlier questions")
    app.says("Question number 470?")
    app.write("#question", "typed at once")
    assert app.find("#question").get_attribute("value") == "typed at once"
    app.write("#question", Keys.CONTROL + "a")
    app.ask(BATTERY)
    assert len(app.all(".turn")) <= 60


def test_an_answer_of_a_hundred_thousand_characters_is_drawn_while_somebody_types(
    app: WebApp,
) -> None:
    parts = [
        f"Fact {number}: station {number} of the north has {number + 7} masts [1].\n\n"
        for number in range(CHARACTERS // 50)
    ]
    app.model.says = tuple(parts)
    field = app.find("#question")
    field.send_keys(BATTERY + Keys.ENTER)
    app.find(".turn .markdown p")
    field.send_keys("typed meanwhile")
    app.until(lambda: field.get_attribute("value") == "typed meanwhile" or None)
    patiently(app, "Why this answer?")
    # Of "[1]" the page shows the figure alone.
    shown = "return document.querySelector('.turn .markdown').textContent.length"
    assert app.run(shown) > 0.9 * sum(map(len, parts)) > 0.8 * CHARACTERS
    field.send_keys(" and after")
    assert field.get_attribute("value") == "typed meanwhile and after"


def test_memory_is_flat_over_two_hundred_answers(app: WebApp) -> None:
    def answered(count: int) -> None:
        # No call of the driver waits so long.
        app.run(
            "const [count, question] = arguments; window.asked = 0;"
            "import('/web/ask.js').then(async ({ put, talk }) => {"
            " while (window.asked < count) {"
            "  await put(`${question} (${talk.turns.length})`); window.asked += 1; } })",
            count,
            BATTERY,
        )
        deadline = time.monotonic() + 600
        while app.run("return window.asked") < count:
            assert time.monotonic() < deadline
            time.sleep(1)

    answered(ANSWERS - LATER)
    before, nodes = look_at_memory(app)
    answered(LATER)
    after, nodes_after = look_at_memory(app)
    assert len(app.all(".turn")) == 30
    print(
        f"{before / 1e6:.1f} MB after {ANSWERS - LATER} answers, {after / 1e6:.1f} after {ANSWERS}"
    )
    assert after - before < MAX_GROWN
    assert nodes_after - nodes < 500
