"""The command line on real documents, in a real process where one proves more."""

import fcntl
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.documents import DOCUMENTS, copied
from tests.e2e.processes import here, json_here, run, run_json, serving


@pytest.fixture(scope="module")
def indexed(indexed_documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the sample documents."""
    return copied(indexed_documents, tmp_path_factory.mktemp("indexed") / "data")


@pytest.mark.parametrize(
    ("question", "answer", "source"),
    [
        ("How long does a full charge last without sun?", "31 days", "lantern-3-manual.md"),
        ("What was the revenue in 2024?", "48.6 million", "annual-report-2024.pdf"),
        ("What is the daily allowance for meals?", "42 euros", "travel-policy.html"),
        ("What does the heating jacket HJ-2 cost?", "89.00", "spare-parts.csv"),
        ("How many batteries of batch 2407 have swollen?", "23", "minutes-2025-04-09.txt"),
    ],
)
def test_given_documents_when_asked_then_the_answer_and_its_source_are_shown(
    indexed: Path, question: str, answer: str, source: str
) -> None:
    done = here(indexed, "ask", question)
    assert done.returncode == 0, done.stderr
    text, _, sources = done.stdout.partition("Sources")
    assert answer in text
    assert re.search(r"\[\d+\]", text)
    assert source in sources


def test_given_a_question_that_nothing_answers_then_it_says_so_without_sources(
    indexed: Path,
) -> None:
    result = json_here(indexed, "ask", "Who won the chess world championship in 1972?")
    assert result["refused"] is True
    assert not [source for source in result["sources"] if source.get("cited")]


def test_given_json_then_the_citation_is_a_span_of_the_document(indexed: Path) -> None:
    result = run_json(indexed, "ask", "When was the company founded?")
    assert "1987" in result["answer"]
    [citation] = result["citations"]
    assert citation["page"] == 1
    assert "1987" in citation["snippet"]
    assert citation["end"] - citation["start"] == len(citation["snippet"])
    assert {row["stage"] for row in result["trace"]} >= {"retrieve", "fuse", "generate", "cite"}


def test_given_a_query_when_searched_then_passages_come_with_falling_scores(
    indexed: Path,
) -> None:
    hits = json_here(indexed, "search", "fault code E14", "--limit", "3")["hits"]
    scores = [hit["score"] for hit in hits]
    assert len(hits) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert "E14" in hits[0]["chunk"]["text"]


def test_given_nothing_changed_when_ingested_again_then_all_is_unchanged(indexed: Path) -> None:
    done = here(indexed, "ingest", str(DOCUMENTS))
    assert "0 indexed, 5 unchanged" in done.stdout


def test_given_bad_files_then_status_1_with_reasons_and_the_good_one_is_indexed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    shutil.copy(DOCUMENTS / "minutes-2025-04-09.txt", folder / "good.txt")
    (folder / "lie.pdf").write_bytes(b"PK\x03\x04 not a pdf")
    (folder / "empty.docx").write_bytes(b"")
    (folder / "cut.pdf").write_bytes((DOCUMENTS / "annual-report-2024.pdf").read_bytes()[:900])
    (folder / "outside.txt").symlink_to(DOCUMENTS / "spare-parts.csv")
    done = run(tmp_path / "data", "ingest", str(folder))
    assert done.returncode == 1
    assert "1 indexed" in done.stdout
    shown = done.stdout + done.stderr
    for name in ("lie.pdf", "empty.docx", "cut.pdf", "outside.txt"):
        assert name in shown
    assert "Traceback" not in shown
    assert here(tmp_path / "data", "ask", "What is the cost of the recall?").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ask", "  "), "question is empty"),
        (("ask", "x" * 100_000), "100,000 characters"),
        (("ask", "anything", "--collection", "nowhere"), "no collection named 'nowhere'"),
        (("search", "anything", "--collection", "nowhere"), "no collection named"),
        (("documents", "--collection", "nowhere"), "no collection named"),
        (("eval", "retrieval", "/does/not/exist"), "There is no /does/not/exist"),
        (("ingest", "/does/not/exist"), "/does/not/exist"),
        (("rebuild", "--collection", "nowhere"), "no collection named"),
    ],
)
def test_given_wrong_input_then_one_clear_line_and_a_failing_status(
    indexed: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = here(indexed, *arguments)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_given_a_wrong_setting_then_the_line_names_it(tmp_path: Path) -> None:
    done = run(tmp_path / "data", "status", RAG__TOP_K="many")
    assert done.returncode == 1
    assert "RAG__TOP_K" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_given_another_process_on_the_data_then_a_clear_line_names_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with (data / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(os.getpid()))
        lock.flush()
        done = run(data, "status")
    assert done.returncode == 1
    assert f"in use by process {os.getpid()}" in done.stderr


def test_given_another_model_then_the_error_names_the_command_that_rebuilds(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    one = str(DOCUMENTS / "spare-parts.csv")
    assert here(data, "ingest", one).returncode == 0
    done = here(data, "ask", "What is HJ-2?", EMBEDDING__MODEL="multilingual")
    assert done.returncode == 1
    assert "ragstone rebuild --collection default" in done.stderr
    rebuilt = here(data, "rebuild", "--collection", "default", EMBEDDING__MODEL="multilingual")
    assert rebuilt.returncode == 0, rebuilt.stderr
    again = here(data, "search", "earth cable", EMBEDDING__MODEL="multilingual")
    assert "HJ-2" in again.stdout, again.stderr


def test_given_a_removed_file_when_pruned_or_deleted_then_it_is_gone(tmp_path: Path) -> None:
    folder, data = tmp_path / "docs", tmp_path / "data"
    shutil.copytree(DOCUMENTS, folder)
    assert here(data, "ingest", str(folder)).returncode == 0
    (folder / "spare-parts.csv").unlink()
    assert "1 pruned" in here(data, "ingest", str(folder), "--prune").stdout
    done = here(data, "delete", "/docs/travel-policy.html", "--yes")
    assert done.returncode == 0, done.stderr
    paths = [row["path"] for row in json_here(data, "documents")["documents"]]
    assert len(paths) == 3
    assert "/docs/travel-policy.html" not in paths
    assert json_here(data, "ask", "What is the daily allowance for meals?")["refused"] is True


def test_given_text_that_is_not_english_then_the_multilingual_model_answers(
    tmp_path: Path,
) -> None:
    folder, data = tmp_path / "docs", tmp_path / "data"
    folder.mkdir()
    text = (
        "Die Bibliothek öffnet montags um neun Uhr und schließt um achtzehn Uhr. "
        "Eine Jahreskarte kostet vierundzwanzig Euro. Kinder lesen kostenlos. "
        "Bücher dürfen vier Wochen ausgeliehen werden."
    )
    (folder / "bibliothek.txt").write_text(text, encoding="utf-8")
    done = here(data, "ingest", str(folder))
    assert "multilingual-e5-small" in done.stdout + done.stderr
    assert "vierundzwanzig Euro" in here(data, "ask", "Was kostet eine Jahreskarte?").stdout


def test_given_a_server_on_the_data_then_the_commands_go_through_it(indexed: Path) -> None:
    with serving(indexed) as url:
        status = run_json(indexed, "status")
        assert status["server"] == url
        assert "31 days" in run(indexed, "ask", "How long does a full charge last?").stdout
        assert "5 unchanged" in here(indexed, "ingest", str(DOCUMENTS)).stdout
        assert here(indexed, "ask", "x", "--collection", "nowhere").returncode == 1
        assert json_here(indexed, "search", "HJ-2")["hits"]
    assert json_here(indexed, "status")["server"] is None
