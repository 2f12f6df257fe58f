"""The command line on a fake service: what it prints, and its exit status."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ragstone import __version__
from ragstone.cli import app, show
from ragstone.cli.printing import clean
from ragstone.cli.watch import changes
from ragstone.core.errors import DataDirectoryInUse, InputError
from ragstone.core.filters import And, AnyOf, Or, Range, path_filter
from ragstone.core.turn import SearchOptions
from ragstone.service import Service
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.patience import PATIENCE


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    fake = FakeService()

    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        yield fake

    monkeypatch.setattr("ragstone.remote.connect", connect)
    return fake


def ragstone(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(app, list(arguments), **options)


def one_line(result: Result) -> str:
    """The error's only line."""
    assert result.stderr.startswith("ragstone: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    return result.stderr


@pytest.mark.usefixtures("service")
class TestAsk:
    def test_answer_then_sources(self) -> None:
        result = ragstone("ask", "What?")
        assert result.exit_code == 0
        assert result.stdout.startswith("The answer is 42 [1].\n\nSources\n[1] Guide")
        assert "/docs/1.md, page 1, Part > Chapter\n    (author: Ünïcode)\n" in result.stdout
        assert "\n    the answer is 42\n" in result.stdout
        assert result.stderr == "A note.\n"

    def test_json(self) -> None:
        result = ragstone("ask", "What?", "--json")
        answer = json.loads(result.stdout)
        assert answer["answer"] == "The answer is 42 [1]."
        assert [source["cited"] for source in answer["sources"]] == [True, False]
        assert answer["citations"][0]["snippet"] == "the answer is 42"
        assert answer["usage"]["prompt_tokens"] == 7
        assert answer["trace"][0]["stage"] == "retrieve"
        assert "\x1b" not in result.stdout

    def test_trace(self) -> None:
        lines = ragstone("ask", "What?", "--trace").stdout.splitlines()
        assert lines[-3].split() == ["stage", "ms", "status", "chat", "model", "decision", "reason"]
        assert lines[-2].split() == ["retrieve", "12.0", "done", "hybrid", "the", "default"]

    def test_refusal_has_no_sources(self) -> None:
        result = ragstone("ask", "refuse")
        assert (result.exit_code, result.stdout) == (0, "The documents do not say.\n")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([""], "empty"),
            (["x" * 100_000], "100,000 characters"),
            (["q", "-c", "nowhere"], "'nowhere'"),
            (["broken"], "The model does not answer."),
            (["root"], "root of all errors"),
            (["bug"], "something broke inside"),
        ],
    )
    def test_errors(self, arguments: list[str], words: str) -> None:
        result = ragstone("ask", *arguments)
        assert result.exit_code == 1
        assert words in one_line(result)

    def test_a_failure_in_the_middle_keeps_what_was_said(self) -> None:
        result = ragstone("ask", "breaks later")
        assert result.exit_code == 1
        assert result.stdout.startswith("The ")
        assert result.stderr.endswith("ragstone: The model went away.\n")

    def test_a_failure_in_json(self) -> None:
        result = ragstone("ask", "broken", "--json")
        assert result.exit_code == 1
        assert json.loads(result.stdout)["error"]["code"] == "model_unavailable"

    def test_the_level(self, service: FakeService) -> None:
        ragstone("ask", "q", "--level", "maximum")
        assert service.asked[0].level == "maximum"


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask"],
        ["ask", "q", "--level", "huge"],
        ["search", "q", "--limit", "0"],
        ["search", "q", "--limit", "x"],
        ["search", "q", "--strategy", "magic"],
        ["search", "q", "--dense-weight", "1.5"],
        ["search", "q", "--where", "year"],
        ["ask", "q", "--top-k", "-1"],
        ["ingest"],
        ["migrate"],
        ["rebuild"],
        ["delete"],
        ["delete", "--all", "/a", "--yes"],
        ["delete", "/a"],
        ["serve", "--port", "99999"],
        ["nonsense"],
    ],
)
def test_usage_errors(service: FakeService, arguments: list[str]) -> None:
    result = ragstone(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert not service.deleted


@pytest.mark.usefixtures("service")
def test_search() -> None:
    result = ragstone("search", "q")
    assert "1. 0.900 (dense 0.800, bm25 12.500)  Guide, /docs/1.md" in result.stdout
    assert "2. 0.500  Evil[31m [bold]title, /docs/2.md" in result.stdout
    hits = json.loads(ragstone("search", "q", "--json", "--limit", "1").stdout)["hits"]
    assert [hit["score"] for hit in hits] == [0.9]


def test_how_to_search(service: FakeService) -> None:
    ragstone(
        *("search", "q", "--strategy", "dense", "--fusion", "ranks", "--dense-weight", "0.8"),
        *("--no-rerank", "--min-similarity", "0.4", "--diversity", "0.3", "--unit", "paragraph"),
        *("--neighbours", "1", "--under", "/law", "--under", "/tax", "--where", "year=2024"),
    )
    [asked] = service.searched
    assert asked.strategy == "dense"
    assert asked.wanted == SearchOptions("ranks", 0.8, False, 0.4, 0.3, "paragraph", 1)
    assert asked.where == And(
        (AnyOf("metadata.year", ("2024", 2024)), Or((path_filter("/law"), path_filter("/tax"))))
    )
    ragstone("ask", "q", "--under", "/law", "--top-k", "3", "--strategy", "bm25")
    assert (service.asked[0].where, service.asked[0].top_k) == (
        And((Or((path_filter("/law"),)),)),
        3,
    )


def test_ingest(service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    result = ragstone("ingest", "docs", "/usr", "-c", "law", "--prune", "--metadata", "year=2024")
    assert result.exit_code == 0
    assert result.stdout == "2 indexed, 0 unchanged, 0 failed; 20 chunks in 0.0 s\n"
    request = service.ingested[0]
    assert request.paths == (str(tmp_path / "docs"), "/usr")
    assert (request.collection, request.prune) == ("law", True)
    assert request.metadata == {"year": 2024}


def test_ingest_names_readers(service: FakeService) -> None:
    ragstone("ingest", "/usr", "--readers", "group:hr, user:ada", "--readers", "group:hr")
    ragstone("ingest", "/usr", "--readers", "everyone")
    ragstone("ingest", "/usr")
    named = [request.allowed for request in service.ingested]
    assert named == [("group:hr", "user:ada"), ("*",), ()]


@pytest.mark.parametrize("readers", ["hr", "", "group:", "group:hr,", "team:hr", "user:a\x1bb"])
def test_given_readers_without_a_kind_then_one_line_says_how(
    service: FakeService, readers: str
) -> None:
    assert "Use '*' for everyone" in one_line(ragstone("ingest", "/usr", "--readers", readers))
    assert not service.ingested


def test_given_a_folder_that_is_not_there_then_nothing_is_asked(service: FakeService) -> None:
    for command in ("ask", "search"):
        result = ragstone(command, "q", "--under", "/docs", "--under", "/gone")
        assert result.exit_code == 1
        assert one_line(result).endswith("The nearest: /docs.\n")
    assert (service.asked, service.searched) == ([], [])


@pytest.mark.usefixtures("service")
def test_facets() -> None:
    result = ragstone("facets", "--limit", "2")
    assert result.stdout == "year: 2023 (12), 2022 (1) and 3 more\ndraft: true (1)\n"
    found = json.loads(ragstone("facets", "--json").stdout)["facets"]
    assert found[0]["values"][0] == {"value": 2023, "documents": 12}
    assert ragstone("facets", "author").stdout == (
        "No document of the collection 'default' has the key 'author'.\n"
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("year>=2022", Or((Range("metadata.year", "2022"), Range("metadata.year", 2022)))),
        ("day<=2022-05", Or((Range("metadata.day", None, "2022-05"),))),
        ("formula=a>=b", AnyOf("metadata.formula", ("a>=b",))),
    ],
)
def test_given_where_then_it_compares(service: FakeService, given: str, meant: object) -> None:
    ragstone("search", "q", "--where", given)
    assert service.searched[0].where == And((meant,))  # type: ignore[arg-type]


@pytest.mark.parametrize("metadata", ["year", "=1"])
def test_given_metadata_that_is_no_pair_then_one_line_says_how(metadata: str) -> None:
    assert "KEY=VALUE" in one_line(ragstone("ingest", "/usr", "--metadata", metadata))


def test_given_a_path_that_is_not_there_then_nothing_is_ingested(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reports").mkdir()
    monkeypatch.chdir(tmp_path)
    result = ragstone("ingest", "reprots")
    assert result.exit_code == 1
    assert result.stderr == (
        "ragstone: reprots does not exist. Check the path. The nearest: reports.\n"
    )
    assert service.ingested == []


@pytest.mark.usefixtures("service")
def test_failed_files(tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").touch()
    bad = str(tmp_path / "bad.pdf")
    result = ragstone("ingest", bad)
    assert result.exit_code == 1
    assert "1 failed" in result.stdout
    assert result.stdout.endswith(f"  {bad}: It is broken[2J.\n")
    result = ragstone("ingest", bad, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["failed"][0]["path"] == bad
    assert result.stderr == ""


@pytest.mark.usefixtures("service")
def test_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "PLAIN_SECONDS", 0)
    lines = ragstone("ingest", "/usr").stderr.splitlines()
    assert lines[1] == (
        "reading: 1/2 files read, 10 chunks searchable by words, 0 of them by meaning, "
        "about 0:01 left"
    )


@pytest.mark.usefixtures("service")
def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    assert ragstone("ingest", "/usr").exit_code == 0


def test_ingest_and_watch(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def twice(paths: Any, data: Path) -> AsyncIterator[frozenset[str]]:
        assert paths == (str(tmp_path),)
        assert service.ingested == []
        yield frozenset()
        yield frozenset({f"{tmp_path}/b.md", f"{tmp_path}/a.md"})
        yield frozenset({f"{tmp_path}/a.md"})

    monkeypatch.setattr("ragstone.cli.watch.changes", twice)
    result = ragstone("ingest", str(tmp_path), "--watch")
    assert result.exit_code == 0
    assert [request.prune for request in service.ingested] == [False, True, True]
    assert {request.paths for request in service.ingested} == {(str(tmp_path),)}
    a, b = f"{tmp_path}/a.md", f"{tmp_path}/b.md"
    assert [request.only for request in service.ingested] == [(), (a, b), (a,)]


def test_given_a_failed_run_while_watching_then_the_next_looks_at_its_changes_too(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def thrice(paths: Any, data: Path) -> AsyncIterator[frozenset[str]]:
        yield frozenset()
        service.ingest_error = InputError("The disk is full.")
        yield frozenset({f"{tmp_path}/a.md"})
        service.ingest_error = None
        yield frozenset({f"{tmp_path}/b.md"})

    monkeypatch.setattr("ragstone.cli.watch.changes", thrice)
    result = ragstone("ingest", str(tmp_path), "--watch")
    assert "The disk is full." in result.stderr
    assert service.ingested[-1].only == (f"{tmp_path}/a.md", f"{tmp_path}/b.md")


def test_given_a_long_time_then_a_watched_folder_is_compared_whole(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def twice(paths: Any, data: Path) -> AsyncIterator[frozenset[str]]:
        yield frozenset()
        yield frozenset({f"{tmp_path}/a.md"})

    monkeypatch.setattr("ragstone.cli.watch.changes", twice)
    monkeypatch.setattr("ragstone.cli.commands.WHOLE_SECONDS", -1.0)
    ragstone("ingest", str(tmp_path), "--watch")
    assert [request.only for request in service.ingested] == [(), ()]


@pytest.mark.slow
async def test_changes(tmp_path: Path) -> None:
    import asyncio
    from contextlib import aclosing

    folder, data = tmp_path / "docs", tmp_path / "docs" / "data"
    data.mkdir(parents=True)
    (folder / "a.md").touch()
    for given in (folder, folder / "a.md"):
        async with aclosing(changes([str(given)], data)) as bursts:
            assert await anext(bursts) == frozenset()
            waiting = asyncio.create_task(anext(bursts))
            (data / "ignored").write_text(str(given))
            await asyncio.sleep(2)
            assert not waiting.done()
            (folder / "a.md").write_text(str(given))
            assert await asyncio.wait_for(waiting, PATIENCE) == {str(folder / "a.md")}


@pytest.mark.usefixtures("service")
def test_stats() -> None:
    lines = [line.split() for line in ragstone("stats", "--days", "7").stdout.splitlines()]
    assert lines[1] == ["2026-01-02", "7", "1", "2", "100", "10", "0.0123"]
    assert lines[-2:] == [["bm25", "2", "10", "-"], ["hybrid", "5", "250", "0.80"]]
    assert json.loads(ragstone("stats", "--json").stdout)["strategies"][0]["executions"] == 2
    assert ragstone("stats", "--days", "0").exit_code == 2


@pytest.mark.usefixtures("service")
def test_lists() -> None:
    assert "fake-embedder (embedding)" in ragstone("status").stdout
    assert json.loads(ragstone("status", "--json").stdout)["documents"] == 2
    lines = ragstone("collections").stdout.splitlines()
    assert lines[0].split()[:2] == ["collection", "documents"]
    assert lines[1].split()[:3] == ["default", "2", "20"]
    assert len(json.loads(ragstone("collections", "--json").stdout)["collections"]) == 1
    listed = ragstone("documents").stdout
    assert "/docs/2.md  Evil[31m [bold]title" in listed
    assert len(json.loads(ragstone("documents", "--json").stdout)["documents"]) == 2
    assert "'nowhere'" in one_line(ragstone("documents", "-c", "nowhere"))


def test_delete(service: FakeService) -> None:
    assert ragstone("delete", "/a", "/b", "--yes").stdout == "2 documents deleted.\n"
    assert ragstone("delete", "--all", "-c", "law", "-y").exit_code == 0
    assert service.deleted == [("default", ("/a", "/b")), ("law", None)]
    assert "'/nowhere'" in one_line(ragstone("delete", "/nowhere", "--yes"))


def test_rename(service: FakeService) -> None:
    said = ragstone("rename", "default", "hand\x1b[2Jbook")
    assert said.exit_code == 0
    assert "\x1b" not in said.stdout
    assert said.stdout.startswith("The collection default is now hand")
    assert service.renamed == [("default", "default", "hand\x1b[2Jbook")]
    assert "no collection named 'nowhere'" in one_line(ragstone("rename", "nowhere", "x"))
    assert "named 'default' already" in one_line(ragstone("rename", "default", "default"))
    assert ragstone("rename", "default").exit_code == 2


def test_delete_asks(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    refused = ragstone("delete", "/a", input="n\n")
    assert (refused.exit_code, service.deleted) == (1, [])
    assert "Delete /a of the collection 'default'" in refused.output
    assert ragstone("delete", "/a", input="y\n").exit_code == 0
    assert service.deleted == [("default", ("/a",))]


@pytest.mark.usefixtures("service")
def test_rebuild() -> None:
    assert ragstone("rebuild", "-c", "default").exit_code == 0
    assert "'nowhere'" in one_line(ragstone("rebuild", "--collection", "nowhere"))


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_version(argument: str) -> None:
    result = ragstone(argument)
    assert (result.exit_code, result.stdout) == (0, f"ragstone {__version__}\n")


def test_a_data_directory_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def connect(settings: Settings) -> AsyncIterator[Service]:
        raise DataDirectoryInUse("Another process has it.")
        yield

    monkeypatch.setattr("ragstone.remote.connect", connect)
    result = ragstone("status")
    assert (result.exit_code, one_line(result)) == (1, "ragstone: Another process has it.\n")


def test_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER__PORT", "many")
    result = ragstone("status")
    assert result.exit_code == 1
    assert "SERVER__PORT" in one_line(result)


def test_clean() -> None:
    assert clean("a\x1b]0;b\x07\x9b1m\r\x00c\u202ed\n\te é 中 \udcff") == "a]0;b1mcd\n\te é 中 "


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['ragstone', '--help']\n"
        "from ragstone.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'fastapi', 'numpy', 'rich', 'httpx2', 'onnxruntime'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "rebuild" in result.stdout


@pytest.mark.usefixtures("service")
class TestCache:
    def test_stats(self) -> None:
        shown = ragstone("cache", "stats").stdout
        assert "Entries: 3" in shown
        assert "Hits:    2 of 3 questions" in shown
        assert json.loads(ragstone("cache", "stats", "--json").stdout)["saved_seconds"] == 4.5

    def test_clear_and_rebuild(self) -> None:
        assert ragstone("cache", "clear").stdout == "3 entries forgotten.\n"
        assert ragstone("cache", "rebuild").stdout == "1 entry in the cache.\n"
        assert json.loads(ragstone("cache", "clear", "--json").stdout) == {"entries": 3}


def test_no_cache_wants_a_fresh_answer(service: FakeService) -> None:
    ragstone("ask", "What?")
    ragstone("ask", "What?", "--no-cache")
    assert [ask.cache for ask in service.asked] == [True, False]
