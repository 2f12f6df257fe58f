"""The page that holds the documents' requirements against the tests that prove them.

`python -m tests.documentation.conformance` runs every test that is marked

    @pytest.mark.conforms("Query pipeline", "Step 2", "Equal questions are answered from memory")

and writes `docs/conformance.md`: a table for each document, by its sections. With names of tests it
runs only those, and keeps what the page says of the others. `docs/statements.tsv` lists what the
documents state, in their order and our words; what no test proves has the reason there.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.documentation.pages import ROOT

PAGE = ROOT / "docs" / "conformance.md"
STATEMENTS = ROOT / "docs" / "statements.tsv"
DOCUMENTS = ("chat-core", "Query pipeline", "RAG engine v1", "Plone", "V5")

HEAD = """# What the documents ask for

Ragstone speaks the interfaces of five documents. Each row is a requirement of one of them, in its
order, with the test that proves it and whether that test held when this page was written.
`python -m tests.documentation.conformance` runs the tests and writes the page.
"""


@dataclass(frozen=True, order=True)
class Row:
    """A requirement; `test` is `file::name`, or why there is none."""

    document: str
    section: str
    requirement: str
    test: str
    missing: bool = False


def statements() -> list[Row]:
    """What the documents state, in their order; `test` is why no test proves it, where none does.
    Raises ValueError for a line that is not of a document."""
    rows = []
    for line in STATEMENTS.read_text(encoding="utf-8").splitlines()[1:]:
        document, number, section, requirement, reason = line.split("\t")
        if document not in DOCUMENTS:
            raise ValueError(f"{STATEMENTS.name}: there is no document {document!r}.")
        numbers = sum(row.document == document for row in rows)
        if int(number) != numbers + 1:
            raise ValueError(f"{STATEMENTS.name}: {document} {number} follows {numbers}.")
        rows.append(Row(document, section, requirement, reason, bool(reason)))
    return rows


def missing() -> list[Row]:
    """The statements that no test proves."""
    return [row for row in statements() if row.missing]


def marked() -> list[Row]:
    """The rows that markers on tests name; raises ValueError for one that cannot be read."""
    return sorted({row for file in sorted(ROOT.glob("tests/**/test_*.py")) for row in _in(file)})


def _in(file: Path) -> Iterator[Row]:
    text = file.read_text(encoding="utf-8")
    if "mark.conforms(" not in text:
        return
    name = file.relative_to(ROOT).as_posix()
    for test in ast.walk(ast.parse(text)):
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
            for item in test.decorator_list:
                if isinstance(item, ast.Call) and ast.unparse(item.func).endswith("mark.conforms"):
                    yield _row(item, f"{name}::{test.name}")


def _row(marker: ast.Call, test: str) -> Row:
    said = [ast.literal_eval(arg) for arg in marker.args]
    if marker.keywords or len(said) != 3 or not all(isinstance(item, str) for item in said):
        raise ValueError(f"{test}: conforms(document, section, requirement), three texts.")
    if said[0] not in DOCUMENTS:
        raise ValueError(f"{test}: there is no document {said[0]!r}: {', '.join(DOCUMENTS)}.")
    return Row(*said, test)


def page(rows: Sequence[Row], held: Mapping[str, bool]) -> str:
    """The page; `held` says by test whether all its cases passed."""
    parts = [HEAD]
    for document in DOCUMENTS:
        own = _by_statement([row for row in rows if row.document == document])
        proven = sum(held.get(row.test, False) for row in own)
        parts.append(f"## {document}\n\n{proven} of {len(own)} hold.\n")
        lines = [_line(row, held.get(row.test, False)) for row in own]
        head = "| section | requirement | test | holds |\n| --- | --- | --- | --- |\n"
        parts.append(head + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(row: Row, held: bool) -> str:
    test = row.test if row.missing else _link(row.test)
    return f"| {row.section} | {row.requirement} | {test} | {'yes' if held else 'no'} |"


def _link(test: str) -> str:
    file, _, name = test.partition("::")
    said = name.removeprefix("test_").removeprefix("given_").replace("_", " ")
    return f"[{said}](../{file})"


def _key(row: Row) -> tuple[str, str, str]:
    return row.document, row.section, row.requirement


def _by_statement(rows: Sequence[Row]) -> list[Row]:
    """The rows in the order of the statements that they are of; others come last."""
    places = {_key(row): place for place, row in enumerate(statements())}
    return sorted(rows, key=lambda row: (places.get(_key(row), len(places)), row))


def shown(text: str) -> list[str]:
    """The lines of a page's tables without their result."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [line.rsplit("|", 2)[0] for line in lines]


class _Results:
    """Which tests ran, and which of them did not pass in every case."""

    def __init__(self) -> None:
        self.held: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of a skipped test nothing is known, so it does not hold."""
        test = report.nodeid.partition("[")[0]
        self.held[test] = self.held.get(test, True) and report.passed


def main(only: Sequence[str]) -> int:
    """Run the marked tests, or those named, and write the page."""
    rows, results = marked(), _Results()
    before = PAGE.read_text(encoding="utf-8") if only else ""
    files = only or sorted({row.test.partition("::")[0] for row in rows})
    options = ["-m", "conforms and not real", "-n", "2", "--dist", "loadfile"]
    status = pytest.main([*files, *options], plugins=[results])
    known = {row.test: _line(row, True) in before for row in rows}
    PAGE.write_text(page([*rows, *missing()], known | results.held), encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
