"""Ragstone with its index on a server, as a user sets it up, in real processes."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conformance.postgres_server import PostgresServer
from tests.documents import DOCUMENTS
from tests.e2e.processes import RAGSTONE, environment, here, json_here, run, run_json

pytestmark = pytest.mark.slow

QUESTION = "How long does a full charge last without sun?"


def test_given_an_index_on_postgresql_then_documents_are_answered_from_it(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    there = {"INDEX__URL": postgres.url}
    assert run(data, "ingest", str(DOCUMENTS), **there).returncode == 0
    answer = json_here(data, "ask", QUESTION, **there)
    assert "31 days" in answer["answer"]
    elsewhere = run(data, "search", QUESTION)
    assert "Nothing was found" in elsewhere.stdout
    assert "ragstone migrate" in elsewhere.stderr


def test_given_a_move_that_is_killed_then_the_next_one_ends_it_and_passages_are_the_same(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    data, folder = tmp_path / "data", tmp_path / "folder"
    folder.mkdir()
    for number in range(400):
        (folder / f"{number}.txt").write_text(f"Lamp {number} burns {number + 31} days. " * 4)
    for some in (folder, DOCUMENTS):
        assert here(data, "ingest", str(some), "-c", "many").returncode == 0
    before = json_here(data, "search", QUESTION, "-c", "many")
    move = [RAGSTONE, "migrate", "--to", postgres.url]
    for seconds in (1.0, 1.3, 1.6):
        process = subprocess.Popen(move, env=environment(data))
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    moved = run_json(data, "migrate", "--to", postgres.url)["collections"]
    assert moved[0]["collection"] == "many"
    assert moved[0]["copied"] + moved[0]["there"] > 400
    after = json_here(data, "search", QUESTION, "-c", "many", INDEX__URL=postgres.url)
    one, other = (
        {hit["chunk"]["text"]: hit["score"] for hit in found["hits"]} for found in (before, after)
    )
    assert other == pytest.approx(one, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "embedded"), "the same"),
        (("--to", "kdb+http://127.0.0.1:9"), "nothing can move"),
        (("--to", "ftp://127.0.0.1"), "'ftp'"),
        (("--to", "http://127.0.0.1:9"), "does not answer"),
        (("--to", "postgresql://u:secret@127.0.0.1:9/x"), "INDEX__URL"),
        (("--to", "http://127.0.0.1:9", "--from", "http://127.0.0.1:9"), "the same"),
    ],
)
def test_given_addresses_between_which_nothing_moves_then_a_clear_error(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = here(tmp_path / "data", "migrate", *arguments, INDEX__TIMEOUT="2")
    assert done.returncode == 1
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_given_a_move_while_it_serves_that_has_not_ended_then_no_other_one_begins(
    tmp_path: Path,
) -> None:
    there = {"INDEX__URL": "http://127.0.0.1:9", "INDEX__FROM_URL": "embedded"}
    done = here(tmp_path / "data", "migrate", "--to", "http://127.0.0.1:8", **there)
    assert done.returncode == 1
    assert "on their way" in done.stderr
