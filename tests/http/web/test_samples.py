"""An empty collection is tried with sample documents, which go as easily as they came."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragstone.http.web import FILES
from tests.documents import DOCUMENTS
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp

ANSWERS = {
    "How long does a full battery charge last without sun?": "31 days without sun",
    "When did the council decide to launch Lantern 4?": "February 2026",
    "What was the revenue in 2024?": "48.6 million euros",
}
TRY = "Try it with sample documents"
REMOVE = "Remove the sample documents"


@pytest.fixture(scope="module")
def empty(started: WebApp, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebApp]:
    """A server that has no documents yet, and no chat model."""
    data = tmp_path_factory.mktemp("empty") / "data"
    with serving(data) as url:
        yield WebApp(started.chrome, url, data, started.model)


def test_the_sample_documents_are_those_of_the_examples_and_small() -> None:
    shipped = {file.name: file.read_bytes() for file in (FILES / "samples").iterdir()}

    assert len(shipped) == 4
    assert sum(map(len, shipped.values())) < 30_000
    for name, content in shipped.items():
        assert (DOCUMENTS / name).read_bytes() == content


@pytest.mark.real
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_sample_documents_are_added_asked_about_and_removed_by_a_click(
    empty: WebApp, width: int
) -> None:
    empty.chrome.get(f"{empty.url}/health")
    empty.run("sessionStorage.clear(); localStorage.clear()")
    empty.open(width=width)
    empty.click(TRY)
    empty.until(lambda: len(empty.all(".suggestion")) == 3 or None)
    assert [item.text for item in empty.all(".suggestion")] == list(ANSWERS)

    for question, expected in ANSWERS.items():
        empty.go("#/ask")
        empty.click(question)
        empty.find(".turn .actions")
        assert expected in empty.find(".turn .markdown").text
        empty.press(".turn .markdown .cite")
        empty.find(".panel mark.evidence, .panel .paper .box")
        empty.chrome.refresh()
        empty.find("nav")

    empty.go("#/ask")
    empty.click(REMOVE)
    empty.button(TRY)
    assert empty.call("documents", collection="default", limit=10, principal={}) == []


@pytest.mark.real
def test_removing_the_samples_leaves_every_other_document(empty: WebApp, tmp_path: Path) -> None:
    own = tmp_path / "tower.md"
    own.write_text("# Tower\n\nThe tower of Ost is 41 metres high.\n")
    empty.open("#/documents")
    empty.click(TRY)
    empty.says("4 added, 0 failed, 0 skipped")
    empty.write("#files", str(own))
    empty.says("/tower.md")

    empty.click(REMOVE)

    empty.says("The sample documents were removed.")
    left = empty.call("documents", collection="default", limit=10, principal={})
    assert [item["path"] for item in left] == ["/tower.md"]
    empty.call("delete", collection="default", paths=["/tower.md"], principal={})


@pytest.mark.real
def test_who_may_only_read_is_offered_no_samples(empty: WebApp) -> None:
    empty.chrome.get(f"{empty.url}/health")
    empty.run("sessionStorage.clear(); localStorage.clear()")
    made = run(empty.data, "keys", "create", "somebody", "--role", "reader")
    assert made.returncode == 0, made.stderr

    empty.chrome.get("about:blank")
    empty.chrome.get(f"{empty.url}/#key={made.stdout.split()[0]}")

    empty.says("There are no documents that you may read yet.")
    assert TRY not in empty.run("return document.body.textContent")
