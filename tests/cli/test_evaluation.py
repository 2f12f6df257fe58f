"""`ragstone eval run` on documents of one's own, from the file of questions to the report."""

import json
from pathlib import Path

import pytest

from tests.e2e.processes import here

pytestmark = pytest.mark.slow

DOCUMENT = "# Ost\n\nThe lighthouse of Ost is 41 metres high. It was built in 1871 by Ada Berg.\n"
QUESTIONS = (
    "question,answers,sources,answerable\n"
    "How high is the lighthouse of Ost?,41 metres,ost.md,\n"
    "When was the lighthouse of Ost built?,1999,,\n"
    "Who was the first king of Norway?,,,no\n"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    (folder / "ost.md").write_text(DOCUMENT)
    (folder / "ost.csv").write_text(QUESTIONS)
    done = here(folder / "data", "ingest", "ost.md")
    assert done.returncode == 0, done.stderr
    return folder / "data"


def test_a_file_is_asked_measured_and_reported(data: Path) -> None:
    told = here(data, "eval", "run", "ost.csv", "--html", "first.html")
    assert told.returncode == 0, told.stderr
    assert "66.7 %" in told.stdout
    assert "wrong (standard): When was the lighthouse of Ost built?" in told.stdout
    assert "1871" in (data.parent / "first.html").read_text()
    (data.parent / "ost.csv").write_text(QUESTIONS.replace("1999", "1871"))
    again = here(data, "eval", "run", "ost.csv")
    assert "100.0 % (+33.3)" in again.stdout
    assert "wrong before, now right (standard): When was" in again.stdout
    listed = json.loads(here(data, "eval", "runs", "--json").stdout)["runs"]
    assert [item["figures"][0]["measures"]["right"] for item in listed] == [
        1.0,
        pytest.approx(2 / 3),
    ]
    assert "ost" in here(data, "eval", "runs").stdout


def test_settings_are_compared(data: Path) -> None:
    given = ("--with", "strategy=bm25,rerank=false,name=words", "--with", "level=basic")
    told = here(data, "eval", "run", "ost.csv", *given, "--json")
    assert told.returncode == 0, told.stderr
    run = json.loads(told.stdout)
    assert [item["name"] for item in run["settings"]] == ["words", "basic"]
    assert run["settings"][0]["wanted"]["rerank"] is False
    assert [item["measures"]["questions"] for item in run["figures"]] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.csv",), "cannot be read"),
        (("data",), "cannot be read"),
        (("ost.md", "--collection", "none"), "no collection named 'none'"),
        (("ost.csv", "--with", "colour=red"), "KEY=VALUE"),
        (("ost.csv", "--with", "top_k=many"), "top_k"),
        (("ost.csv", "--html", "nowhere/report.html"), "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    data: Path, arguments: tuple[str, ...], said: str
) -> None:
    told = here(data, "eval", "run", *arguments)
    assert told.returncode == 1
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_without_feedback_there_is_no_file_of_it(data: Path) -> None:
    told = here(data, "eval", "feedback", "judged.jsonl")
    assert told.returncode == 1
    assert "Nobody has judged" in told.stderr
    assert not (data.parent / "judged.jsonl").exists()
