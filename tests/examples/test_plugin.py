"""The example package is built, installed and used as its README says."""

import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.e2e.processes import run, run_json, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
EXTENDING = Path(__file__).parents[2] / "docs" / "extending.md"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]

FILM = """1
00:00:01,000 --> 00:00:04,000
<i>The lighthouse keeper counts the ships.</i>

2
00:00:04,500 --> 00:00:07,000
He has seen four hundred this year.

3
00:00:20,000 --> 00:00:22,000
The harbour was built in 1874.
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which the package is found, in a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder)]
    done = subprocess.run([*pip, *alone, str(EXAMPLE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path}


@pytest.fixture(scope="module")
def models(installed: dict[str, str]) -> dict[str, str]:
    """The same, with the example's embedder, reranker and index."""
    return {**installed, "EMBEDDING__MODEL": "hashing", "RERANK__MODEL": "overlap"}


@pytest.fixture(scope="module")
def data(models: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a film in subtitles and a note, embedded by the example."""
    place = tmp_path_factory.mktemp("place")
    (place / "files").mkdir()
    (place / "files" / "film.subrip").write_text(FILM)
    (place / "files" / "note.txt").write_text("The bakery opens at six. It sells rye bread.")
    made = run_json(place / "data", "ingest", str(place / "files"), **models)
    assert (made["indexed"], made["failed"]) == (2, [])
    return place / "data"


def stages(answer: Any) -> dict[str, str]:
    return {item["stage"]: f"{item['decision']}; {item['reason']}" for item in answer["trace"]}


def test_given_the_package_then_every_point_has_one_of_it(installed: dict[str, str]) -> None:
    done = run(Path.cwd() / "data", "plugins", "--added", "--json", **installed)
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["problems"]) == (0, [])
    declared = PROJECT["entry-points"]
    found = {f"ragstone.{point}": rows for point, rows in shown["points"].items() if rows}
    assert {group: [row["name"] for row in rows] for group, rows in found.items()} == {
        group: list(points) for group, points in declared.items()
    }
    for row in (row for rows in found.values() for row in rows):
        assert row["package"] == f"ragstone-example {PROJECT['version']}"
        assert row["help"]


def test_given_subtitles_then_they_are_found_without_times_and_tags(
    data: Path, models: dict[str, str]
) -> None:
    collections = run_json(data, "collections", **models)
    assert "hashing" in json.dumps(collections)
    found = run_json(data, "search", "lighthouse keeper", **models)
    [best, *_] = found["hits"]
    assert best["chunk"]["text"].startswith(
        "The lighthouse keeper counts the ships. He has seen four"
    )
    assert "-->" not in best["chunk"]["text"]


def test_given_a_question_then_reranker_and_stage_take_part(
    data: Path, models: dict[str, str]
) -> None:
    question = ("ask", "When does the bakery open?", "--trace")
    trace = stages(run_json(data, *question, **models))
    names = list(trace)
    assert names.index("recent") == names.index("rerank") + 1
    assert "passages moved" in trace["recent"]
    assert "overlap has" in trace["rerank"]
    still = run_json(data, *question, "--no-cache", **models, STAGES__RECENT__WEIGHT="0")
    assert "there is nothing to raise" in stages(still)["recent"]
    wrong = run(data, *question, **models, STAGES__RECENT__WEIGHT="7")
    assert (wrong.returncode, "stages.recent.weight" in wrong.stderr) == (1, True)


def test_given_the_chat_model_then_it_answers(data: Path, models: dict[str, str]) -> None:
    answer = run_json(data, "ask", "When does the bakery open?", **models, LLM__MODEL="parrot:any")
    assert answer["answer"].startswith("The bakery opens at six")


def test_given_the_index_then_chunks_lie_in_its_folder(
    installed: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("The bakery opens at six.")
    there = {**installed, "INDEX__URL": f"folder:{tmp_path / 'there'}"}
    run_json(tmp_path / "data", "ingest", str(tmp_path / "note.txt"), **there)
    assert any((tmp_path / "there").iterdir())
    assert not (tmp_path / "data" / "index").exists()
    wrong = run(tmp_path / "data", "collections", **installed, INDEX__URL="folder:there")
    assert (wrong.returncode, "needs a whole path" in wrong.stderr) == (1, True)


def test_given_the_program_then_the_recognizer_reads_pictures(
    installed: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    head = "left\ttop\twidth\theight\tconf\ttext"
    rows = ["0\t0\t400\t300\t-1\t", "20\t20\t90\t30\t96\tThe", "120\t20\t90\t30\t96\tmill."]
    program.write_text("\n".join(["#!/bin/sh", "cat > /dev/null; cat <<END", head, *rows, "END\n"]))
    program.chmod(0o755)
    Image.new("RGB", (400, 300), "green").save(tmp_path / "sign.png")
    path = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    made = run_json(tmp_path / "data", "ingest", str(tmp_path / "sign.png"), **installed, **path)
    assert made["failed"] == []
    [best] = run_json(tmp_path / "data", "search", "mill", **installed)["hits"]
    assert best["chunk"]["text"] == "The mill."


def posted(url: str, body: Any, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{url}/quick", json.dumps(body).encode(), {"content-type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_given_a_server_then_the_dialect_answers_behind_its_guards(
    data: Path, models: dict[str, str]
) -> None:
    with serving(data, **models) as url:
        status, answer = posted(url, {"question": "When does the bakery open?"})
        assert (status, answer["sources"]) == (200, ["/files/note.txt"])
        assert "six" in answer["answer"]
        assert posted(url, {"question": ""})[0] == 422
        assert posted(url, {"question": "q", "collection": "nowhere"})[0] == 404
    with serving(data, **models, AUTH__REQUIRED="true") as url:
        assert posted(url, {"question": "When does the bakery open?"})[0] == 401
    with serving(data, **models, DIALECTS__OFF="quick") as url:
        assert posted(url, {"question": "q"})[0] == 404


def test_given_the_command_then_it_prints_the_longest_documents(
    data: Path, models: dict[str, str]
) -> None:
    done = run(data, "longest", **models)
    assert done.returncode == 0, done.stderr
    assert "/files/note.txt" in done.stdout


def test_given_the_kind_of_source_then_notes_are_kept_in_sync(
    data: Path, models: dict[str, str]
) -> None:
    notes = data.with_name("notes.json")
    notes.write_text('{"soup": {"text": "Soup is at noon.", "readers": ["group:kitchen"]}}')
    option = f"file={notes}"
    added = run(data, "source", "add", "mine", "notes", "--option", option, **models)
    assert added.returncode == 0, added.stderr

    synced = run(data, "source", "sync", "mine", **models)
    readers = run(data, "readers", "show", "/mine/soup.txt", **models)

    assert "done: 1 added" in synced.stdout, synced.stderr
    assert "may be read by: group:kitchen" in readers.stdout
    removed = run(data, "source", "remove", "mine", "--documents", **models)
    assert "Documents deleted: 1." in removed.stdout, removed.stderr


async def test_given_the_tool_then_it_tells_the_day(installed: dict[str, str]) -> None:
    program = (
        "import asyncio; from ragstone.plugins.agent.tool_calls import built_in_tools;"
        "[tool] = [item for item in built_in_tools() if item.tool.name == 'weekday'];"
        "print(asyncio.run(tool.call({'date': '2026-11-28'}, None)).text)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=os.environ | installed, capture_output=True, text=True)
    assert done.stdout == "2026-11-28 is a Saturday.\n", done.stderr


PROGRAM = """
from ragstone import Client
with Client(DATA) as rag:
    [film, note] = rag.call("opening_lines.show", collection="default")
    print(note.path, note.text, sep="|")
    job = rag.call("jobs.submit", kind="count_answers", request=REQUEST)
    print(rag.jobs.wait(job.id).result)
    print(rag.ingest(NEW).notes[-1])
    rag.call("settings.put", scope="global", values={"notices.minimum": 4}, who="us")
    print(rag.ingest(NEW).notes)
"""


def test_given_operations_a_job_an_enricher_and_its_setting_then_python_uses_them(
    data: Path, models: dict[str, str], tmp_path: Path
) -> None:
    asked = {"questions": ["When does the bakery open?", "Who painted the Mona Lisa?"]}
    program = PROGRAM.replace("DATA", repr(str(data))).replace("REQUEST", repr(asked))
    (tmp_path / "new.txt").write_text("The mill stands by the river.")
    program = program.replace("NEW", repr(str(tmp_path / "new.txt")))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=os.environ | models, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    line, result, note, silent = done.stdout.splitlines()
    assert line == "/files/note.txt|The bakery opens at six. It sells rye bread."
    assert result == "{'answered': 1}"
    assert note == "'default' has 3 documents now."
    assert "documents now" not in silent


def test_given_triplets_then_the_measure_says_how_many_are_right(
    data: Path, installed: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {"text": "a red car", "near": "the car is red", "far": "green apples"},
        {"text": "green apples", "near": "a red car", "far": "apples that are green"},
    ]
    file = tmp_path / "triplets.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    measure = ("eval", "triplets", str(file), "--json")
    hashing = {**installed, "EMBEDDING__MODEL": "hashing"}
    done = run(tmp_path / "data", *measure, **hashing)
    assert json.loads(done.stdout) == {"rows": 2.0, "right": 0.5}
    file.write_text('{"text": "alone"}')
    wrong = run(tmp_path / "data", *measure, **hashing)
    assert (wrong.returncode, "needs text, near and far" in wrong.stderr) == (1, True)


def test_extending_shows_the_code_of_the_example() -> None:
    sources = [path.read_text() for path in sorted((EXAMPLE / "src").rglob("*.py"))]
    sources.append((EXAMPLE / "pyproject.toml").read_text())
    page = EXTENDING.read_text()
    blocks = re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 9
    for block in blocks:
        for part in block.split("...\n"):
            assert any(part.strip() in source for source in sources), part
    for path in (EXAMPLE / "src").rglob("[a-z]*.py"):
        assert path.name in page
