"""The client at a server: through the data directory, and by its address with a key."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.applications import Starlette

import ragstone
from ragstone import errors
from tests.documents import DOCUMENTS
from tests.e2e.processes import run_json, serving
from tests.http_server import running

pytestmark = pytest.mark.slow

REVENUE = "What was the revenue in 2024?"


@dataclass(frozen=True)
class Served:
    """A server with the example documents, and the keys that hold there."""

    data: Path
    url: str
    reader: str
    editor: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("served") / "data"
    with serving(data) as url:
        with ragstone.Client(data) as rag:
            rag.ingest(DOCUMENTS)
            rag.documents.put("/board.md", "The director earns 9,000 euros.", allowed=["user:eva"])
        reader, editor = (
            run_json(data, "keys", "create", name, "--role", name, "--user", "eva")["secret"]
            for name in ("reader", "editor")
        )
        yield Served(data, url, reader, editor)


async def test_a_data_directory_is_reached_through_its_server(served: Served) -> None:
    async with ragstone.AsyncClient(served.data) as one, ragstone.AsyncClient(served.data) as two:
        answer = await one.ask(REVENUE)
        assert "48.6 million" in answer.text
        assert (await two.ask(REVENUE)).text == answer.text
        assert (await two.status()).server == served.url


def test_documents_and_files_come_to_it_through_the_data_directory(served: Served) -> None:
    with ragstone.Client(served.data) as rag:
        rag.documents.put("/lease.md", "The lease ends on 31 March 2027.", collection="put")
        steps = list(rag.ingest_steps(DOCUMENTS / "travel-policy.html", collection="put"))
        assert steps[-1].indexed == 1
        assert "31 March 2027" in rag.ask("When does the lease end?", collection="put").text
        assert rag.collections.delete("put") == 2


def test_a_server_has_settings_of_its_own(served: Served) -> None:
    with pytest.raises(errors.ConfigError, match="with settings of its own"):
        ragstone.Client(served.data, settings={"rag.top_k": 5}).status()
    with pytest.raises(errors.ConfigError, match="has settings of its own"):
        ragstone.Client(served.url, settings={"rag.top_k": 5})


def test_whole_and_streamed_answers_over_an_address_are_the_same(served: Served) -> None:
    with ragstone.Client(served.url, key=served.reader) as rag:
        whole = rag.ask(REVENUE)
        events = list(rag.stream(REVENUE))
        hits = rag.search("battery", top_k=2)
    assert isinstance(events[-1], ragstone.Answer)
    assert (events[-1].text, events[-1].verdicts) == (whole.text, whole.verdicts)
    assert whole.cited[0].page == 2
    assert hits[0].path == "/documents/lantern-3-manual.md"


def test_the_key_says_who_asks(served: Served) -> None:
    with ragstone.Client(served.url, key=served.reader) as rag:
        assert "9,000" in rag.ask("What does the director earn?").text
        with pytest.raises(errors.InputError, match="Make a key for each user"):
            rag.as_user("bob")
        rag.ask(REVENUE, conversation="by key")
        assert [item.room for item in rag.conversations.list()] == ["by key"]
        assert rag.conversations.read("by key")[0].question == REVENUE


def test_files_are_sent_to_an_address(served: Served, tmp_path: Path) -> None:
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    (tmp_path / "folder" / "sub" / "lease.md").write_text("The lease ends on 31 March 2027.")
    (tmp_path / "folder" / "bad.pdf").write_text("no PDF")
    with ragstone.Client(served.url, key=served.editor) as rag:
        steps = list(rag.ingest_steps(tmp_path / "folder", collection="sent"))
        again = rag.ingest(tmp_path / "folder", collection="sent")
        rag.documents.put("/more/note.md", "The rent is 900 euros.", collection="sent")
        listed = rag.documents.list("sent")
        assert "31 March 2027" in rag.ask("When does the lease end?", collection="sent").text
        assert "900 euros" in rag.ask("What is the rent?", collection="sent").text
        with pytest.raises(errors.DocumentError, match="by its content it is plain text"):
            rag.documents.put("/bad.pdf", "no PDF", collection="sent")
        with pytest.raises(errors.InputError, match="Leave out prune"):
            rag.ingest(tmp_path / "folder", collection="sent", prune=True)
    assert (steps[-1].indexed, steps[-1].share) == (1, 1.0)
    assert [failure.path for failure in steps[-1].failed] == ["/folder/bad.pdf"]
    assert (again.indexed, again.unchanged) == (0, 1)
    found = {item.path for item in listed if item.status == "ready"}
    assert found == {"/folder/sub/lease.md", "/more/note.md"}


def test_a_reader_changes_nothing(served: Served) -> None:
    with ragstone.Client(served.url, key=served.reader) as rag:
        with pytest.raises(errors.Forbidden, match="role editor"):
            rag.ingest(DOCUMENTS)
        with pytest.raises(errors.Forbidden, match="role editor"):
            rag.documents.put("/note.md", "A note.")
        with pytest.raises(errors.Forbidden):
            rag.documents.delete("/documents")


@pytest.mark.parametrize("key", ["rs-wrong", "wörong", None])
def test_a_wrong_key_is_told_in_one_line(served: Served, key: str | None) -> None:
    rag = ragstone.Client(served.url, key=key)
    for work in (lambda: rag.ask(REVENUE), lambda: rag.ingest(DOCUMENTS)):
        with pytest.raises(errors.Unauthorized) as caught:
            work()
        assert "\n" not in str(caught.value)
    rag.close()


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "http://nobody.invalid", "http://[::", "https://127.0.0.1:1"]
)
def test_a_wrong_address_is_told_in_one_line(address: str) -> None:
    with pytest.raises(errors.Unreachable, match=r"^No server answers at \S+\. Check the addr"):
        ragstone.Client(address).ask(REVENUE)


def test_another_server_is_told_from_ours() -> None:
    with (
        running(Starlette()) as address,
        pytest.raises(errors.Unreachable, match=r"is not a Ragstone server\. Check the address\.$"),
    ):
        ragstone.Client(address).ask(REVENUE)


def test_a_server_that_stops_is_told_in_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as url:
        rag = ragstone.Client(data)
        assert rag.status().server == url
        assert json.loads((data / "server.json").read_text())["url"] == url
    with rag, pytest.raises(errors.Unavailable, match="stopped answering"):
        rag.status()


def test_the_example_of_a_server(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ragstone.Client

    def at(address: str, key: str) -> ragstone.Client:
        assert (address, key) == ("http://127.0.0.1:8006", "rs-...")
        return real(served.url, key=served.editor)

    monkeypatch.setattr(ragstone, "Client", at, raising=False)
    monkeypatch.chdir(DOCUMENTS.parents[1])
    page = (DOCUMENTS.parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
    [example] = [
        fence.partition("```")[0]
        for fence in page.split("```python\n")[1:]
        if 'Client("http://127.0.0.1:8006", key=' in fence.partition("```")[0]
    ]
    exec(compile(example, "docs/python.md", "exec"), {"ragstone": ragstone})
    with real(served.url, key=served.reader) as rag:
        assert len(rag.documents.list()) >= 5
