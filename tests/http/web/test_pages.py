"""What people do in the web app, in a real Chromium before a real server."""

import base64
import json
import time
import unicodedata
from functools import partial
from pathlib import Path

import pypdfium2
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.e2e.processes import run, serving
from tests.http.web.app import HOSTILE, WebApp

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"
SENTENCE = "A full charge lasts 31 days without sun at 20 degrees Celsius, and 19 days at minus 20"
CHOICES = "Folder, tags and who can read it"
AXE = Path(__file__).parents[3] / ".venv" / "axe.min.js"
PHONE = (390, 844)


def unharmed(app: WebApp) -> None:
    """No markup of others has run, and nothing was refused by the content policy."""
    assert app.run("return window.pwned === undefined")
    refused = [item["message"] for item in app.chrome.get_log("browser")]
    assert not [item for item in refused if "Content Security Policy" in item]


class TestAsking:
    def test_a_citation_opens_the_document_at_the_marked_sentence(self, app: WebApp) -> None:
        app.write("#question", BATTERY + Keys.ENTER)
        app.press(".markdown .cite")
        app.find(".panel mark.evidence")
        marked = next(item for item in app.all(".panel mark.evidence") if SENTENCE in item.text)
        box = marked.rect
        assert 0 < box["y"] < 900, "the sentence is not on the screen"
        assert "Lantern 3 field manual" in app.find(".panel header").text
        unharmed(app)

    def test_a_page_of_a_pdf_file_is_drawn_with_the_words_marked(self, app: WebApp) -> None:
        app.model.says = ("Revenue was 48.6 million euros in 2024 [1].",)
        app.ask("What was the revenue in 2024?")
        app.press(".markdown .cite")
        app.find(".paper .box.current")
        app.says("Page 2 of 3")
        page = app.find(".page[data-page-number='2']")
        away = (
            "const middle = (item) => { const at = item.getBoundingClientRect();"
            " return (at.top + at.bottom) / 2; };"
            "const words = [...arguments[0].querySelectorAll('.textLayer span')];"
            "const lines = words.filter((item) => item.textContent.includes('48.6'));"
            "const box = arguments[0].querySelector('.box.current');"
            "return lines.some((line) => Math.abs(middle(line) - middle(box)) < 3) || null"
        )
        app.until(lambda: app.run(away, page), "a mark over its line")
        look = (
            "const canvas = arguments[0].querySelector('canvas');"
            "if (!canvas?.width) return null;"
            "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
            "return data.data.some((value, index) => index % 4 < 3 && value < 100) || null"
        )
        app.until(lambda: app.run(look, page), "something on the page")
        app.click("Extracted text")
        app.find(".panel mark.evidence")
        assert any("48.6 million" in item.text for item in app.all(".panel mark.evidence"))
        unharmed(app)

    def test_a_pdf_file_is_read_like_in_a_reader_of_its_own(self, app: WebApp) -> None:
        document = app.document("annual-report-2024.pdf")
        app.go(f"#/documents/default/{document}")
        app.says("Page 1 of 3")
        first = app.find(".page[data-page-number='1']")
        width = app.until(lambda: first.size["width"] or None)
        app.click("Zoom in")
        app.until(lambda: first.size["width"] > width or None, "a larger page")
        app.click("Fit width")
        app.until(lambda: first.size["width"] == width or None, "the page as it was")
        field = app.find(".page-field input")
        field.send_keys(Keys.BACKSPACE + "3" + Keys.ENTER)
        app.says("Page 3 of 3")
        app.click("Small pictures of the pages")
        app.until(
            lambda: sum(item.size["height"] > 50 for item in app.all(".strip canvas")) or None
        )
        app.all(".strip button")[0].click()
        app.says("Page 1 of 3")
        app.write(".finding input", "48.6 MILLION" + Keys.ENTER)
        app.says("1 of ")
        found = app.find(".textLayer .highlight.selected")
        assert found.text.lower() == "48.6 million"
        unharmed(app)

    def test_words_are_found_in_the_text_of_a_document(self, app: WebApp, tmp_path: Path) -> None:
        file = tmp_path / "long.txt"
        lines = [f"Entry {number} is dull.\n\n" for number in range(5_000)]
        lines[100] = lines[4_900] = "The 𝒏arwhal\n surfaces.\n\n"
        file.write_text("".join(lines), encoding="utf-8")
        assert run(app.data, "ingest", str(file)).returncode == 0
        app.go(f"#/documents/default/{app.document('long.txt')}")
        app.write(".finding input", "𝒏arwhal surfaces" + Keys.ENTER)
        app.says("1 of 2")
        app.write(".finding input", Keys.ENTER)
        app.says("2 of 2")
        mark = app.find("mark.evidence.current")
        assert "".join(mark.text.split()) == "𝒏arwhalsurfaces"
        assert 0 < mark.rect["y"] < 900
        app.says("Entry 4901 is dull.")
        unharmed(app)

    def test_the_document_beside_an_answer_is_made_wider(self, app: WebApp) -> None:
        app.write("#question", BATTERY + Keys.ENTER)
        app.press(".markdown .cite")
        width = app.find(".panel").size["width"]
        app.write(".edge", Keys.ARROW_LEFT * 3)
        app.until(lambda: app.find(".panel").size["width"] > width + 50 or None, "a wider panel")
        app.chrome.refresh()
        app.ask(BATTERY)
        app.press(".markdown .cite")
        assert app.find(".panel").size["width"] > width + 50
        unharmed(app)

    def test_an_answer_is_printed_alone_with_its_sources_in_dark_ink(self, app: WebApp) -> None:
        app.click("Appearance")
        Select(app.all(".foot select")[1]).select_by_visible_text("Dark")
        app.ask("Which fault code means a cold battery?")
        turn = app.ask(BATTERY)
        app.run("window.print = () => {}")  # The dialog of the system, which nobody closes here.
        turn.find_element(By.XPATH, ".//button[@aria-label='Print']").click()
        printed = app.chrome.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        page = pypdfium2.PdfDocument(base64.b64decode(printed["data"]))[0]
        said = " ".join(page.get_textpage().get_text_range().split())
        assert BATTERY in said
        assert "Sources 1 Lantern 3 field manual" in said
        assert not [item for item in ("fault code", "Copy", "New question", "Ask") if item in said]
        shades = page.render().to_pil().convert("L").histogram()
        assert shades[255] > sum(shades) / 2
        assert sum(shades[:64]) > 100
        assert not app.all(".printing")

    def test_a_whole_conversation_is_printed_or_saved_as_word(self, app: WebApp) -> None:
        said = {
            BATTERY: "充满电后可使用31天 ",
            "Which fault code means a cold battery?": "بطارية باردة ",
        }
        for question, text in said.items():
            app.model.says = (text, "[1].")
            app.ask(question)
        app.open()
        app.run("window.print = () => { window.printed = true }")
        app.press(".conversations li summary")
        app.click("Print or save as PDF")
        app.until(lambda: app.run("return window.printed") or None)

        printed = app.chrome.execute_cdp_cmd("Page.printToPDF", {})
        document = pypdfium2.PdfDocument(base64.b64decode(printed["data"]))
        pages = [page.get_textpage().get_text_range() for page in document]
        text = " ".join(" ".join(pages).split())
        for question in said:
            assert question in text
        assert "电后可使用31天" in text
        assert "بطارية" in text or "ةيراطب" in unicodedata.normalize("NFKC", text)
        assert text.count("Sources 1 Lantern 3 field manual") == 2
        assert not [item for item in ("New question", "Ask next", "Copy") if item in text]
        app.press(".conversations li summary")
        app.run(
            "URL.createObjectURL = (blob) => { blob.arrayBuffer().then("
            "(bytes) => { window.saved = new TextDecoder().decode(bytes.slice(0, 2)) });"
            " return '#'; }"
        )
        app.click("Export as Word")
        app.until(lambda: app.run("return window.saved") == "PK" or None, "a Word file")
        unharmed(app)

    def test_ticked_documents_alone_are_asked_about(self, app: WebApp, tmp_path: Path) -> None:
        herd = tmp_path / "herd"
        herd.mkdir()
        for animal in ("ibex", "marten", "lynx"):
            (herd / f"{animal}.txt").write_text(f"The {animal} of Uri sleeps for seven hours.\n")
        assert run(app.data, "ingest", str(herd)).returncode == 0
        app.go("#/documents/default")
        app.write(".filters input", "herd")
        for animal in ("ibex", "lynx"):
            app.press(f"input[type=checkbox][aria-label*='{animal}']")
        app.click("Ask about 2")
        app.says("2 documents")
        before = len(app.model.calls)
        app.ask("How long do the animals of Uri sleep?")
        said = str(app.model.calls[before:])
        assert "ibex of Uri" in said
        assert "lynx of Uri" in said
        assert "marten of Uri" not in said
        app.click("Ask about all documents")
        app.ask("For how long do the animals of Uri sleep?")
        assert "marten of Uri" in str(app.model.calls[before:])
        unharmed(app)

    def test_ticked_documents_alone_are_summed_up(self, app: WebApp) -> None:
        app.model.says = ("The station is mounted on level ground [2]. ", "Trains come first [9].")
        before = len(app.model.calls)
        app.go("#/documents/default")
        for title in ("Lantern 3 field manual", "Travel and expenses policy"):
            app.press(f"input[type=checkbox][aria-label*='{title}']")
        app.click("Brief me")
        app.find(".turn .actions")
        assert app.find(".turn h2").text == "Summarise all documents"
        said = str(app.model.calls[before:])
        assert "Mount the mast on level ground" in said
        assert "Trains are preferred" in said
        assert "Revenue was" not in said
        app.click("Check every sentence")
        app.find(".markdown mark.verdict")
        unharmed(app)

    def test_a_folder_and_a_wording_are_chosen(self, app: WebApp, tmp_path: Path) -> None:
        notes = tmp_path / "notes"
        (notes / "deep").mkdir(parents=True)
        (notes / "owl.txt").write_text("The owl of Ost sleeps at noon.\n")
        (notes / "deep" / "fox.txt").write_text("The fox of Ost sleeps at night.\n")
        assert run(app.data, "ingest", str(notes)).returncode == 0
        app.chrome.refresh()
        app.ask(BATTERY)
        usual = app.model.calls[-1]["messages"]
        app.click("More choices")
        app.says("All folders")
        folder, wording = (Select(item) for item in app.all(".choices select"))
        wording.select_by_visible_text("In detail")
        app.forget()
        app.ask(BATTERY)
        assert app.model.calls[-1]["messages"] != usual
        folder.select_by_visible_text("/notes (2)")
        app.until(lambda: "/notes/deep (1)" in [option.text for option in folder.options] or None)
        before = len(app.model.calls)
        app.ask(BATTERY)
        asked = [call["messages"][0]["content"] for call in app.model.calls[before:]]
        assert not any("31 days" in prompt for prompt in asked), "the manual is elsewhere"
        assert "noon" in app.ask("When does the owl of Ost sleep?").text
        unharmed(app)

    def test_the_steps_say_how_long_they_took_and_what_they_decided(self, app: WebApp) -> None:
        app.ask(BATTERY)
        app.press(".stages summary")
        steps = app.texts(".stages li")
        assert len(steps) > 15
        assert any("Searching" in step and "dense" in step and "ms" in step for step in steps)

    def test_every_sentence_is_coloured_on_demand(self, app: WebApp) -> None:
        app.model.says = (
            "A full charge lasts **31 days** without sun [1]. ",
            "The battery was made by elephants in Rome.",
        )
        app.ask(BATTERY)
        assert not app.all("mark.verdict")
        app.click("Check every sentence")
        app.find("mark.verdict")
        labels = {item.text: item.get_attribute("class") for item in app.all("mark.verdict")}
        assert any("supported" in str(kind).split() for kind in labels.values())
        wrong = next(kind for said, kind in labels.items() if "elephants" in said)
        assert "unsupported" in str(wrong)
        assert app.all(".standing .badge"), "nothing is said of the answer as a whole"

    def test_a_refusal_looks_like_one_and_shows_what_is_nearest(self, app: WebApp) -> None:
        app.ask("Who was the first king of France?")
        assert "do not hold an answer" in app.find(".refusal").text
        nearest = app.until(lambda: app.texts(".refusal .passage") or None)
        assert 1 <= len(nearest) <= 3
        app.chrome.refresh()
        app.until(lambda: app.texts(".refusal .passage") == nearest or None)
        app.press(".refusal .passage")
        app.find(".panel mark.evidence, .panel .box")

    def test_tables_and_code_are_drawn_and_links_and_pictures_harmless(self, app: WebApp) -> None:
        app.model.says = (
            "It lasts 31 days without sun [1].\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
            "```python\nprint(1)\n```\n\n![x](https://evil.example/a.png) ",
            f"[l](javascript:alert(1)) {HOSTILE}\n",
        )
        turn = app.ask(BATTERY)
        assert [
            element.text for element in turn.find_elements(By.CSS_SELECTOR, ".markdown td")
        ] == [
            "1",
            "2",
        ]
        turn.find_element(By.CSS_SELECTOR, ".copy-code").click()
        app.says("Copied")
        assert not turn.find_elements(By.CSS_SELECTOR, ".markdown img, .markdown b")
        links = turn.find_elements(By.CSS_SELECTOR, ".markdown a")
        assert not [link for link in links if "javascript" in str(link.get_attribute("href"))]
        unharmed(app)

    def test_an_answer_can_be_stopped_and_asked_again(self, app: WebApp) -> None:
        app.model.way = "slow drip"
        app.write("#question", BATTERY + Keys.ENTER)
        app.find(".turn .spinner")
        app.click("Stop")
        app.says("Stopped.")
        app.model.way = "good"
        app.click("Ask again")
        app.find(".turn:last-of-type .standing")

    def test_an_equal_question_is_from_the_cache_until_it_is_asked_afresh(
        self, app: WebApp
    ) -> None:
        app.ask(BATTERY)
        app.click("New question")
        app.until(lambda: not app.all(".turn") or None)
        turn = app.ask(BATTERY)
        if "From the cache" not in turn.text:
            pytest.fail(f"not from the cache: {turn.text}")
        asked = len(app.model.calls)
        app.click("Ask afresh")
        app.until(lambda: len(app.all(".turn .actions")) == 2 or None)
        assert len(app.model.calls) > asked

    def test_an_answer_whose_stream_breaks_is_read_on(self, app: WebApp) -> None:
        app.write("#question", "What does the heating jacket cost?")
        app.run(
            "const real = fetch; window.fetch = async (path, options) => {"
            " const response = await real(path, options);"
            " if (!String(path).endsWith('/ask')) return response;"
            " window.fetch = real;"
            " const reader = response.body.getReader(); const first = await reader.read();"
            " await reader.cancel(); return new Response(first.value, {status: 200}); }"
        )
        app.write("#question", Keys.ENTER)
        app.find(".turn .standing")
        assert len(app.all(".turn")) == 1
        assert not app.all(".turn [role=alert]")

    def test_an_opinion_with_a_comment_is_kept_for_the_administrator(self, app: WebApp) -> None:
        app.ask(BATTERY)
        app.click("Bad answer")
        app.write(".thumbs input", HOSTILE + Keys.ENTER)
        app.says("Saved. Thank you.")
        app.go("#/admin/feedback")
        app.find("table.list")
        app.says(HOSTILE)
        unharmed(app)

    def test_a_conversation_is_found_renamed_exported_and_deleted(self, app: WebApp) -> None:
        app.ask("Which fault code means a cold battery?")
        item = "//section[@class='conversations']//li[.//a[contains(., 'fault code')]]"
        app.until(lambda: app.chrome.find_elements(By.XPATH, item) or None)
        for leave in (
            lambda: app.find("#question").click(),
            lambda: app.find(".conversations li.current summary").send_keys(Keys.ESCAPE),
        ):
            app.press(".conversations li.current summary")
            app.find(".menu[open]")
            leave()
            assert not app.all(".menu[open]")
        app.press(".conversations li.current summary")
        app.click("Rename")
        field = app.find("dialog input")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(HOSTILE + Keys.ENTER)
        app.until(lambda: HOSTILE in app.texts(".conversations li.current a") or None)
        app.write(".conversations input", "img src")
        assert len(app.all(".conversations li")) == 1
        app.chrome.refresh()
        app.find(".turn .markdown")
        app.press(".conversations li.current summary")
        app.click("Delete")
        app.press("dialog .danger")
        app.until(lambda: HOSTILE not in app.chrome.find_element(By.TAG_NAME, "body").text or None)
        unharmed(app)

    def test_a_thousand_tokens_a_second_are_drawn_while_somebody_types(self, app: WebApp) -> None:
        words = tuple(
            f"word{number} " + ("\n\n" if number % 60 == 59 else "") for number in range(4000)
        )
        app.model.says = ("It lasts 31 days [1]. ", *words)
        app.write("#question", BATTERY + Keys.ENTER)
        app.find(".turn .markdown")
        typed = "typed while it streams"
        app.write("#question", typed)
        app.until(lambda: app.all(".turn .actions") or None)
        assert app.find("#question").get_attribute("value") == typed


def settled_rows(app: WebApp, name: str) -> list[WebElement] | None:
    """The rows of a file in the list of those being added, once nothing more is done with it."""
    rows = app.all(".queue li:is(.done, .failed, .skipped)")
    return [row for row in rows if name in row.text] or None


class TestDocuments:
    def test_files_are_added_with_their_names_as_text(self, app: WebApp, tmp_path: Path) -> None:
        good = tmp_path / "<b>bold<b> & mast.txt"
        turned = tmp_path / "report\u202efdp.txt"  # It looks like a PDF file where that is obeyed.
        turned.write_text("The mast is painted.\n")
        good.write_text(f"Mast {HOSTILE}\n\nIt sways 4 cm in a storm. {HOSTILE}\n")
        broken, unknown, empty = (tmp_path / item for item in ("a.pdf", "b.xyz", "c.txt"))
        broken.write_text("not a pdf")
        unknown.write_text("abc")
        empty.write_text("")
        app.go("#/documents")
        files = "\n".join(map(str, (good, turned, broken, unknown, empty)))
        app.write("#files", files)
        app.says("2 added, 1 failed, 2 skipped")
        queue = app.find(".queue").text
        assert "report\ufffdfdp.txt" in queue
        assert good.name in queue
        assert "by its content it is plain text" in queue
        assert "cannot be read (.xyz)" in queue
        app.write(".filters input", "bold")
        app.press("table.list a")
        app.says("It sways 4 cm")
        assert HOSTILE in app.find(".document").text
        app.click("Index view")
        app.find(".chunk-mark")
        app.click("Metadata")
        app.says("/<b>bold<b> & mast.txt")
        unharmed(app)
        app.click("Delete")
        app.press("dialog .danger")
        app.write(".filters input", "bold")
        app.until(lambda: not app.all("table.list tbody tr") or None)
        # The server is other tests' too.
        app.call("delete", principal={}, collection="default", paths=["/a.pdf", f"/{turned.name}"])

    def test_metadata_and_titles_stay_text(self, app: WebApp, tmp_path: Path) -> None:
        note = tmp_path / "marked.txt"
        note.write_text("The owl of Ost sleeps at noon.\n")
        given = (f"author={HOSTILE}", f"title={HOSTILE}")
        options = [word for item in given for word in ("--metadata", item)]
        assert run(app.data, "ingest", str(note), *options).returncode == 0
        app.go("#/documents")
        app.write(".filters input", "marked.txt")
        app.until(lambda: len(app.all("table.list tbody tr")) == 1 or None)
        assert app.find("table.list a").text == HOSTILE
        app.press("table.list a")
        app.click("Metadata")
        app.until(lambda: HOSTILE in app.texts(".card td") or None)
        unharmed(app)

    def test_a_folder_is_looked_into_and_metadata_chosen(self, app: WebApp, tmp_path: Path) -> None:
        for name in ("2023", f"2024 {HOSTILE.replace('/', '')}"):
            folder = tmp_path / "reports" / name
            folder.mkdir(parents=True)
            (folder / "north.txt").write_text(f"The northern report of {name}.\n")
            (folder / "south.txt").write_text(f"The southern report of {name}.\n")
        (tmp_path / "reports" / "2023" / "north.txt.meta.yaml").write_text("tags: [red, blue]\n")
        (tmp_path / "reports" / "2023" / "south.txt.meta.yaml").write_text("tags: [red]\n")
        assert run(app.data, "ingest", str(tmp_path / "reports")).returncode == 0
        app.go("#/documents")
        app.click("reports 4")
        app.until(lambda: len(app.all("table.list tbody tr")) == 4 or None)
        app.click("2023 2")
        app.until(lambda: len(app.all("table.list tbody tr")) == 2 or None)
        app.press(".metadata summary")
        tags = next(item for item in app.all(".metadata .field") if "tags" in item.text)
        Select(tags.find_element(By.TAG_NAME, "select")).select_by_visible_text("blue (1)")
        app.until(lambda: len(app.all("table.list tbody tr")) == 1 or None)
        app.click("reports")
        folders = app.until(lambda: (app.all(".folders li") or [None, None])[1])
        assert folders.text.startswith("2024 <img src=x")
        unharmed(app)

    def test_a_search_marks_the_words_and_leads_to_the_passage(self, app: WebApp) -> None:
        app.go("#/documents")
        app.write(".finder input", "wind sensor plug")
        assert "plug" in [
            item.text.lower() for item in [app.find(".found mark"), *app.all(".found mark")]
        ]
        app.press(".finder .passage")
        app.find(".document mark.evidence")

    def test_a_table_is_drawn_as_one(self, app: WebApp) -> None:
        app.go("#/documents")
        app.write(".filters input", "spare")
        app.press("table.list a")
        app.find(".document table")
        assert app.texts(".document th")[:3] == ["part", "name", "fits"]

    def test_who_may_read_an_upload_is_said_before_it(self, app: WebApp, tmp_path: Path) -> None:
        app.go("#/documents")
        app.click(CHOICES)
        for name, readers in (
            ("open", ""),
            ("closed", "group:board, user:eva"),
            ("wrong", "board"),
        ):
            note = tmp_path / f"{name}.txt"
            note.write_text(f"The owl of Ost is {name}.\n")
            # What was typed before is typed over: a field that is cleared tells the page nothing.
            app.write("input[list=readers]", Keys.CONTROL + "a" + Keys.NULL + readers)
            app.write("#files", str(note))
            app.until(partial(settled_rows, app, note.name))
            if name == "wrong":
                app.says("Not a valid reader: 'board'.")
        app.write(".filters input", ".txt")
        app.until(lambda: [item for item in app.all("table.list a") if "open" in item.text] or None)
        assert not [item for item in app.all("table.list a") if "closed" in item.text]

    def test_an_upload_goes_into_a_folder_with_tags(self, app: WebApp, tmp_path: Path) -> None:
        note = tmp_path / "tern.txt"
        note.write_text("The tern of Ost dives.\n")
        app.go("#/documents")
        app.click(CHOICES)
        folder, tags = app.all(".more .readers input")[:2]
        folder.send_keys("../birds/ /sea")
        tags.send_keys("coast, , summer")
        app.write("#files", str(note))
        app.until(partial(settled_rows, app, note.name))

        listed = app.call("documents", collection="default", limit=1000, principal={})
        (tern,) = [item for item in listed if item["path"].endswith("tern.txt")]
        assert tern["path"] == "/birds/sea/tern.txt"
        assert tern["metadata"]["tags"] == ["coast", "summer"]
        app.call("delete", principal={}, collection="default", paths=["/birds"])

    def test_a_copy_of_a_document_is_told_and_passed_over_where_that_is_wanted(
        self, app: WebApp, tmp_path: Path
    ) -> None:
        app.go("#/documents")
        app.click(CHOICES)
        for name in ("gull.txt", "copy.txt", "third.txt"):
            (tmp_path / name).write_text("The gull of Ost shouts.\n")
            if name == "third.txt":
                app.press(".more input[type=checkbox]")
            app.write("#files", str(tmp_path / name))
            rows = app.until(partial(settled_rows, app, name))
            assert ("the same content as /" in rows[0].text) == (name != "gull.txt")
        assert "Skipped" in app.until(partial(settled_rows, app, "third.txt"))[0].text
        listed = app.call("documents", collection="default", limit=1000, principal={})
        assert "/third.txt" not in {item["path"] for item in listed}
        app.call("delete", principal={}, collection="default", paths=["/gull.txt", "/copy.txt"])

    def test_uploads_are_paused_and_resumed(self, app: WebApp, tmp_path: Path) -> None:
        files = [tmp_path / f"paused-{number}.txt" for number in range(40)]
        for number, file in enumerate(files):
            file.write_text(f"The gull {number} of Ost flies.\n")
        app.go("#/documents")
        # Before the first is sent: the page takes the files, and pauses, in one turn.
        app.run(
            "new MutationObserver((_, seen) => {"
            "  const pause = [...document.querySelectorAll('.queue button')]"
            "    .find((one) => one.textContent.trim() === 'Pause');"
            "  if (pause) { seen.disconnect(); pause.click(); }"
            "}).observe(document.body, {childList: true, subtree: true})"
        )
        app.write("#files", "\n".join(map(str, files)))
        app.button("Resume")
        app.says("Paused:")
        app.until(lambda: not app.all(".queue .sending, .queue .reading") or None)
        assert app.all(".queue .waiting")

        app.click("Resume")

        app.until(lambda: len(app.all(".queue .done")) == 40 or None, "all of them")
        app.call(
            "delete", principal={}, collection="default", paths=[f"/{file.name}" for file in files]
        )

    def test_files_that_are_tried_again_may_have_other_readers(
        self, app: WebApp, tmp_path: Path
    ) -> None:
        note = tmp_path / "again.txt"
        note.write_text("The gull of Ost sleeps.\n")
        app.go("#/documents")
        app.click(CHOICES)
        app.write("input[list=readers]", Keys.CONTROL + "a" + Keys.NULL + "board")
        app.write("#files", str(note))
        app.until(partial(settled_rows, app, note.name))
        app.click("Try again")
        app.write("dialog input", Keys.CONTROL + "a" + Keys.NULL + "everyone")
        app.press("dialog .primary")
        app.write(".filters input", "again.txt")
        app.until(lambda: len(app.all("table.list tbody tr")) == 1 or None)

    def test_who_may_read_a_document_is_shown_and_changed(
        self, app: WebApp, tmp_path: Path
    ) -> None:
        folder = tmp_path / "house"
        folder.mkdir()
        (folder / "rules.txt").write_text("The rules of the house are few.\n")
        (folder / "ragstone.yaml").write_text("readers: [everyone]\n")
        assert run(app.data, "ingest", str(folder)).returncode == 0
        app.go("#/documents")
        app.write(".filters input", "rules.txt")
        app.until(lambda: len(app.all("table.list tbody tr")) == 1 or None)
        app.press("table.list a")
        app.click("Who can read it")
        app.says("The file ragstone.yaml of the folder /house")
        app.write(".grants input", "user:local, group:board")
        app.press(".grants .primary")
        app.says("Set for the document")
        assert app.find(".grants strong").text == "user:local, group:board"

    def test_what_is_dropped_is_added(self, app: WebApp) -> None:
        app.go("#/documents")
        app.find(".drop")
        app.run(
            "const data = new DataTransfer();"
            "data.items.add(new File(['The lighthouse of Ost is 41 metres high.'], 'ost.txt'));"
            "document.querySelector('.drop').dispatchEvent("
            " new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))"
        )
        app.says("1 added, 0 failed, 0 skipped")


class TestWhy:
    def test_the_way_of_an_answer_is_shown(self, app: WebApp) -> None:
        app.ask("What was the operating result in 2024?")
        app.click("Why this answer?")
        assert len(app.until(lambda: app.all(".timeline li") or None)) > 8
        app.click("Passages")
        app.find("table.list tr.touched")
        assert app.texts("table.list th")[-1] == "Cited"
        app.click("Prompt")
        app.says("Answer the question from the numbered sources")
        app.click("Try again with…")
        Select(app.all(".options select")[1]).select_by_visible_text("bm25")
        app.click("Ask with these")
        assert len(app.until(lambda: app.all(".beside .compared") or None)) == 2
        assert "bm25" in app.find(".beside + .scroll").text

    def test_what_others_asked_is_listed_with_its_steps(self, app: WebApp) -> None:
        app.ask(BATTERY)
        app.go("#/why")
        app.press("table.list a")
        app.find(".timeline li")


class TestAdministering:
    def test_a_setting_is_changed_and_undone(self, app: WebApp) -> None:
        app.go("#/admin/settings")
        app.write(".filters input", "rag.top_k")
        field = app.find(".setting input")
        before = field.get_attribute("value")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys("7" + Keys.ENTER)
        app.says("from store")
        app.click("Undo")
        app.until(lambda: app.find(".setting input").get_attribute("value") == before or None)

    def test_a_topic_is_forbidden_tried_and_allowed_again(self, app: WebApp) -> None:
        app.go("#/admin/topics")
        app.write("form.card input", f"salaries {HOSTILE}")
        app.click("Block")
        app.says(f"salaries {HOSTILE}")
        app.all("form.card input")[-1].send_keys("What are the salaries?")
        app.click("Would it be answered?")
        app.find(".callout[role=status]")
        app.press("table.list button[aria-label^='Unblock salaries']")
        app.says("No topics are blocked.")
        unharmed(app)

    def test_a_prompt_is_chosen_by_what_it_is_for(self, app: WebApp) -> None:
        app.go("#/admin/prompts")
        app.click("Parts of a question")
        app.says("Takes a question apart that asks for several things.")
        assert "rewrite.decompose" in app.find(".card code").text
        listed = app.texts(".halves .choices button")
        known = app.run(
            "return fetch('/api/v1/prompts', {headers: {authorization:"
            " `Bearer ${sessionStorage['ragstone.credential']}`}})"
            ".then(async (one) => (await one.json()).prompts.map(({ name }) => name))"
        )
        assert len(listed) == len(known)
        assert not set(listed) & set(known)

    def test_a_prompt_is_kept_and_restored(self, app: WebApp) -> None:
        app.go("#/admin/prompts")
        field = app.find("textarea.code-text")
        text = str(field.get_attribute("value"))
        field.send_keys(Keys.CONTROL + Keys.END)
        field.send_keys(f"\n{HOSTILE}")
        app.click("Preview")
        preview = app.find(".preview").text
        assert "Answer in English." in preview
        assert HOSTILE in preview
        assert "{" not in preview
        app.click("Save")
        app.says("Versions")
        unharmed(app)
        app.click("Reset to the default text")
        app.until(lambda: app.find("textarea.code-text").get_attribute("value") == text or None)

    @pytest.mark.parametrize("width", [1440, 1280, 1024, 390])
    def test_every_part_is_in_sight_in_its_group(self, app: WebApp, width: int) -> None:
        app.open("#/admin/overview", width)
        app.find(".admin .tiles")
        # On a phone, one field names them: a list would push the page below the fold.
        if width < 600:
            assert len(app.all(".admin .part option")) == 13
            # The choice of a field is no click on the page.
            app.find(".admin .part [value=keys]").click()
            app.says("Create key")
        else:
            app.says("People and rights")
            places = [part.rect for part in app.all(".admin nav a")]
            assert len(places) == 13
            assert all(place["x"] + place["width"] <= width for place in places)

    def test_the_overview_names_what_needs_attention(self, app: WebApp, tmp_path: Path) -> None:
        app.go("#/admin/overview")
        app.says("Nothing needs attention.")
        wrong = tmp_path / "wrong.pdf"
        wrong.write_text("no pdf")
        app.go("#/documents")
        app.write("#files", str(wrong))
        app.says("0 added, 1 failed, 0 skipped")
        webhook = "http://127.0.0.1:9/hook"
        made = app.call("webhooks.create", principal={}, url=webhook, events=[], operator=True)
        told = {"tenant": "default", "id": made["webhook"]["id"]}
        app.call("webhooks.test", **told)
        app.until(lambda: app.call("webhooks.list_all", tenant="default")[0]["error"] or None)
        app.go("#/admin/overview")
        app.says("Documents that could not be read: 1")
        app.says(f"Messages to the webhook {webhook} do not arrive")
        app.call("webhooks.remove", **told)
        app.run("document.documentElement.dataset.theme = 'light'")
        assert flaws(app) == []
        app.call("delete", principal={}, collection="default", paths=["/wrong.pdf"])

    def test_changed_settings_come_first_and_each_has_a_plain_title(self, app: WebApp) -> None:
        app.go("#/admin/settings")
        app.says("Search and answers")
        Select(app.find(".filters select")).select_by_visible_text("All")
        headings = app.until(lambda: app.texts(".admin section > h2") or None)
        assert "Changed settings" in headings
        assert app.find("section:has(> .settings) > h2").text == "Changed settings"
        app.write(".filters input", "max tokens")
        app.until(lambda: app.find(".setting strong").text == "Max tokens" or None)
        assert app.find(".setting code").text == "llm.max_tokens"

    def test_the_figures_are_plotted(self, app: WebApp) -> None:
        app.go("#/admin/statistics")
        app.find(".plot canvas")
        assert app.find("table.list").text
        unharmed(app)


class TestSources:
    def test_a_source_is_added_followed_changed_and_removed(
        self, app: WebApp, tmp_path: Path
    ) -> None:
        house = tmp_path / "attic"
        house.mkdir()
        for number in range(12):
            (house / f"{number}.txt").write_text(f"Box {number} of the attic holds hats.\n")
        (house / "wrong.pdf").write_text("no pdf")
        app.go("#/admin/sources")
        app.click("Add a source")
        Select(app.find("form select")).select_by_visible_text("folder")
        app.write("form input[placeholder=handbook]", "attic")
        app.write("form .hint + div textarea", str(house))
        app.click("Add")
        app.says("12 added · 1 failed")
        app.press(".jobs details summary")
        app.says("by its content it is plain text")

        for number in range(12):
            (house / f"{number}.txt").unlink()
        app.click("Dry run")
        app.until(lambda: len(app.all(".jobs .card .badge.high")) == 2 or None)
        app.click("Sync now")
        app.says("12 documents are gone from the source at once.")
        app.click("Remove these documents")
        app.says("12 removed")

        app.click("Change")
        Select(app.find("form select")).select_by_visible_text("At set times")
        app.find("form input").send_keys(Keys.CONTROL + "a" + Keys.NULL + "soon")
        app.click("Save")
        app.says("Not a valid cron expression: 'soon'")
        app.find("form input").send_keys(Keys.CONTROL + "a" + Keys.NULL + "0 6 * * mon")
        app.click("Save")
        app.until(lambda: "0 6 * * mon" in app.find(".figures").text or None)
        app.click("Remove with the documents")
        app.press("dialog .danger")
        app.says("There are no sources yet.")
        unharmed(app)

    def test_files_and_secrets_of_the_server_are_offered_to_its_operator_alone(
        self, tmp_path: Path, app: WebApp
    ) -> None:
        data = tmp_path / "data"
        made = run(data, "keys", "create", "eva", "--role", "admin", "--json")
        with serving(data) as url:
            eva = WebApp(app.chrome, url, data, app.model)
            eva.chrome.get(f"{url}/#key={json.loads(made.stdout)['secret']}")
            eva.find("nav")
            eva.go("#/admin/sources")
            eva.click("Add a source")
            eva.says("as they read what is on it: confluence, drive, feed, folder, git")
            assert "folder" not in [item.text for item in eva.all("form select option")]


def flaws(app: WebApp) -> list[tuple[str, list[str]]]:
    """What axe-core finds wrong with what the page shows now."""
    app.run(AXE.read_text(encoding="utf-8"))
    found = app.chrome.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
    )
    return [
        (item["id"], [node["html"][:150] for node in item["nodes"]][:4])
        for item in found["violations"]
    ]


@pytest.mark.parametrize(
    "place",
    [
        "ask",
        "documents",
        "notes",
        "graph",
        "why",
        "evaluate",
        "evaluate/set/new",
        "admin/overview",
        "admin/statistics",
        "admin/settings",
        "admin/prompts",
        "admin/topics",
        "admin/keys",
        "admin/people",
        "admin/sources",
        "admin/jobs",
        "admin/feedback",
        "admin/verified",
        "admin/quotas",
        "admin/audit",
    ],
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_from_using_a_page(app: WebApp, place: str, theme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there: make axe")
    app.run("document.documentElement.dataset.theme = arguments[0]", theme)
    if place == "ask":
        app.ask(BATTERY)
        app.click("Check every sentence")
        app.press(".markdown .cite")
        app.find("mark.evidence")
    else:
        app.go(f"#/{place}")
        app.until(lambda: not app.all("main .busy") or None)
        if place == "admin/sources":
            app.click("Add a source")
        time.sleep(0.5)
    assert flaws(app) == []


@pytest.mark.parametrize(
    "place",
    [
        "ask",
        "documents",
        "notes",
        "graph",
        "why",
        "evaluate",
        "evaluate/set/new",
        "admin/overview",
        "admin/statistics",
        "admin/settings",
        "admin/prompts",
        "admin/topics",
        "admin/keys",
        "admin/people",
        "admin/sources",
        "admin/jobs",
        "admin/feedback",
        "admin/verified",
        "admin/quotas",
        "admin/audit",
    ],
)
def test_a_phone_needs_no_scrolling_sideways(app: WebApp, place: str) -> None:
    app.resize(*PHONE)
    app.go(f"#/{place}")
    time.sleep(0.5)
    assert app.run("return document.documentElement.scrollWidth") <= PHONE[0]
    app.click("Menu")
    app.find(".side.open")


def test_the_menu_of_a_phone_is_closed_by_escape(app: WebApp) -> None:
    app.open(width=PHONE[0], height=PHONE[1])
    app.click("Menu")
    app.find(".side.open")
    app.chrome.switch_to.active_element.send_keys(Keys.ESCAPE)
    app.until(lambda: not app.all(".side.open") or None, "the menu is closed")
    assert app.run("return document.activeElement.getAttribute('aria-label')") == "Menu"


def test_beside_a_document_the_answer_has_room_on_a_small_screen(app: WebApp) -> None:
    app.open(width=1024, height=768)
    app.ask(BATTERY)
    app.press(".markdown .cite")
    app.find(".panel mark.evidence")
    assert app.find(".talk").size["width"] > 480
    app.click("Menu")
    app.click("Documents")
    app.find("table.list")


def test_the_actions_of_an_answer_take_one_row_however_narrow_it_is(app: WebApp) -> None:
    app.ask(BATTERY)
    buttons = app.all(".actions .button")
    assert len(buttons) > 7

    def share_a_row() -> bool | None:
        tops = [button.rect["y"] for button in buttons]
        return max(tops) - min(tops) < buttons[0].size["height"] / 2 or None

    for width in (1440, 1024, 390):
        app.resize(width, 800)
        app.until(share_a_row, f"one row at {width}")
        assert all(button.accessible_name for button in buttons)


def test_a_list_that_is_loading_does_not_say_that_there_is_nothing(app: WebApp) -> None:
    watch = (
        "new MutationObserver(() => { window.saidNone ||= document.body.textContent"
        ".includes('There are no documents'); })"
        ".observe(document, { childList: true, subtree: true, characterData: true })"
    )
    added = app.chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": watch})
    app.open("#/documents")
    app.find("table.list")
    assert not app.run("return window.saidNone")
    app.chrome.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_the_list_of_documents_begins_on_the_first_screen_of_a_phone(app: WebApp) -> None:
    app.open("#/documents", *PHONE)
    app.find("table.list")
    assert app.find("table.list").rect["y"] < PHONE[1]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "1 setting"), ("de", "1 Einstellung"), ("zh", "1 项设置"), ("ko", "설정 1개")],
)
def test_a_single_thing_is_said_in_the_singular(app: WebApp, language: str, said: str) -> None:
    app.run("localStorage.setItem('ragstone.language', JSON.stringify(arguments[0]))", language)
    app.open("#/admin/settings")
    app.write(".filters input", "rag.top_k")
    app.until(lambda: app.find(".admin [role=status]").text == said or None, said)


@pytest.mark.parametrize(
    ("language", "documents"),
    [("de", "Dokumente"), ("zh", "文档"), ("ko", "문서"), ("ar", "المستندات")],
)
def test_the_page_speaks_other_languages(app: WebApp, language: str, documents: str) -> None:
    app.run("localStorage.setItem('ragstone.language', JSON.stringify(arguments[0]))", language)
    app.open()
    app.says(documents)
    way = app.run("return getComputedStyle(document.body).direction")
    assert way == ("rtl" if language == "ar" else "ltr")
    side, main = app.find(".side").rect, app.find("main").rect
    assert (side["x"] > main["x"]) == (language == "ar")


def test_the_keyboard_is_enough(app: WebApp) -> None:
    active = "return document.activeElement.id || document.activeElement.className"
    app.write("#question", BATTERY + Keys.ENTER)
    cite = app.find(".markdown .cite")
    app.run("arguments[0].focus()", cite)
    cite.send_keys(Keys.ENTER)
    app.find("mark.evidence")
    assert app.run(active) == "panel"
    app.write(".panel", Keys.ESCAPE)
    app.until(lambda: not app.all(".panel") or None)


class TestSigningIn:
    def test_a_wrong_key_is_refused_and_a_right_one_lets_in(self, app: WebApp) -> None:
        app.run("sessionStorage.clear()")
        app.go("#/ask")
        app.chrome.refresh()
        app.find("nav")
        assert not app.chrome.find_elements(By.XPATH, "//nav//a[.='Admin']")
        app.click("Sign in")
        app.write("input[type=password]", app.token)
        app.press("form .primary")
        app.until(lambda: app.chrome.find_elements(By.XPATH, "//nav//a[.='Admin']") or None)

    def test_the_key_of_the_address_does_not_stay_in_it(self, app: WebApp) -> None:
        assert app.token not in app.chrome.current_url


def test_an_empty_server_shows_how_to_begin_and_a_reader_only_what_it_may_do(
    tmp_path: Path, app: WebApp
) -> None:
    with serving(tmp_path / "data") as url:
        fresh = WebApp(app.chrome, url, tmp_path / "data", app.model)
        fresh.open()
        fresh.says("Add documents")
        assert fresh.button("Try it with sample documents")
        assert fresh.button("Add a source")
        fresh.click("Add documents")
        note = tmp_path / "tower.md"
        note.write_text("# Tower\n\n## Height\n\nThe tower of Ost is 41 metres high.\n")
        fresh.write("#files", str(note))
        fresh.says("1 added, 0 failed, 0 skipped")
        fresh.go("#/admin/keys")
        fresh.write(".options input", "a colleague")
        fresh.click("Create key")
        secret = fresh.find(".secret").text
        fresh.go("#/ask")
        fresh.click("Sign out")
        fresh.write("input[type=password]", "wrong")
        fresh.press("form .primary")
        fresh.find("[role=alert]")
        field = fresh.find("input[type=password]")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(secret)
        fresh.press("form .primary")
        fresh.says("Try one of these")
        assert fresh.texts("nav a") == [
            "Ask",
            "Documents",
            "Notes",
            "Graph",
            "Why",
        ]
        fresh.find(".suggestion")
        fresh.go("#/documents")
        fresh.press("table.list input")
        fresh.button("Ask about 1")
        assert not fresh.all(".drop, .filters .danger")
