"""NOTICE names every data file of the package, what it comes from and how it is made."""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "ragstone"
FIELDS = ("Source", "Licence", "Made by")
COMMAND = re.compile(r"python -m (\S+)")
COPIED = re.compile(r"copied unchanged, sha256 ([0-9a-f]{64})")


@dataclass(frozen=True)
class Entry:
    """A paragraph of NOTICE: files, or patterns of files, and what is said of them."""

    patterns: Sequence[str]
    said: str

    def field(self, name: str) -> str:
        """The words behind `name`, in one line; empty where it is not there."""
        found = re.search(rf"^  {name}: (.+(?:\n    .+)*)", self.said, re.MULTILINE)
        return " ".join(found[1].split()) if found else ""

    def files(self) -> list[Path]:
        """The files of the package that it speaks of."""
        return [
            file for file in DATA if any(fnmatch(shown(file), pattern) for pattern in self.patterns)
        ]


def entries(notice: str) -> list[Entry]:
    """The paragraphs that begin with the path of a file."""
    found = []
    for paragraph in notice.split("\n\n"):
        lines = paragraph.splitlines()
        patterns = [line for line in lines if line.startswith("src/")]
        if patterns:
            said = "\n".join(line for line in lines if line not in patterns)
            found.append(Entry(patterns, said))
    return found


def shown(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def data_files() -> list[Path]:
    """All files with content that are no Python code."""
    every = (file for file in PACKAGE.rglob("*") if file.is_file())
    kept = (file for file in every if file.suffix not in {".py", ".pyc"})
    return sorted(file for file in kept if file.name != "py.typed")


def source_of(module: str) -> Path | None:
    """The file of a module, or of a package's `__main__`, found without importing it."""
    for top in (ROOT, ROOT / "src"):
        place = top.joinpath(*module.split("."))
        for file in (place.with_suffix(".py"), place / "__main__.py"):
            if file.exists():
                return file
    return None


DATA = data_files()
ENTRIES = entries((ROOT / "NOTICE").read_text(encoding="utf-8"))


def test_every_data_file_is_named_once() -> None:
    named = Counter(file for entry in ENTRIES for file in entry.files())
    assert DATA
    assert [(shown(file), named[file]) for file in DATA if named[file] != 1] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.patterns[0])
class TestEntry:
    def test_its_files_exist(self, entry: Entry) -> None:
        named = list(map(shown, DATA))
        assert not [
            pattern for pattern in entry.patterns if not any(fnmatch(n, pattern) for n in named)
        ]

    def test_it_says_source_licence_and_maker(self, entry: Entry) -> None:
        assert not [name for name in FIELDS if not entry.field(name)]

    def test_its_command_exists_and_says_that_it_makes_the_files(self, entry: Entry) -> None:
        maker = entry.field("Made by")
        command = COMMAND.fullmatch(maker)
        if not command:
            assert maker == "hand" or COPIED.fullmatch(maker)
            return
        source = source_of(command[1])
        assert source, f"there is no module {command[1]}"
        documented = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        assert f"python -m {command[1]}" in documented
        assert not [file.name for file in entry.files() if file.name not in documented]

    def test_what_is_copied_is_unchanged(self, entry: Entry) -> None:
        copied = COPIED.fullmatch(entry.field("Made by"))
        digests = {sha256(file.read_bytes()).hexdigest() for file in entry.files()}
        assert not copied or digests == {copied[1]}


def test_every_trainer_is_named() -> None:
    named = {found[1] for entry in ENTRIES if (found := COMMAND.fullmatch(entry.field("Made by")))}
    trainers = (ROOT / "training").glob("*.py")
    runnable = {f.stem for f in trainers if "__main__" in f.read_text(encoding="utf-8")}
    assert {f"training.{name}" for name in runnable} <= named
