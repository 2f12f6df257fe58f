"""What the command line prints of an answer."""

import pytest

from ragstone.cli.show import (
    describe,
    format_interruption,
    show_checked,
    show_sources,
    show_summary,
)
from ragstone.core.answer import GeneratedAnswer, Label, Statement, Verdict
from ragstone.core.source import Source
from ragstone.service import FileFailure, Progress, Skipped
from ragstone.verify.cite import build_citation
from tests.engine.samples import a_passage


@pytest.mark.parametrize(
    ("end", "shown"),
    [(21, "The notice is 30 days"), (90, "The notice is 30 ...")],
)
def test_given_a_span_that_is_cut_then_it_ends_with_a_word_and_dots(
    end: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_sources([Source(1, "d", "c", "Lease", "/a", 2, (), 0, end, "The notice is 30 days", 1)])
    assert capsys.readouterr().out == f"\nSources\n[1] Lease, /a, page 2\n    {shown}\n"


def test_given_metadata_then_it_stands_below_its_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = {"title": "T", "year": 2023, "tags": ["a", "b"], "draft": False, "evil": "x\x1b[2J"}
    show_sources([Source(1, "d", "c", "Lease", "/a", 2, (), 0, 4, "Text", 1, metadata=said)])
    out = capsys.readouterr().out
    assert "    (year: 2023; tags: a, b; draft: false; evil: x[2J)\n" in out


def test_given_the_end_of_an_ingest_then_it_says_what_was_passed_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    skipped = (Skipped(".png", 1200), Skipped("no ending", 1), Skipped("hidden", 2))
    failed = (FileFailure("/a.pdf", "It is a scan."), FileFailure("/x/b.pdf", "b.pdf is empty."))
    show_summary(Progress("j", indexed=3, chunks=5, seconds=1.5, skipped=skipped, failed=failed))
    assert capsys.readouterr().out.splitlines() == [
        "3 indexed, 0 unchanged, 2 failed; 5 chunks in 1.5 s",
        "  .png: 1,200 files, not a readable type",
        "  no ending: 1 file, not a readable type",
        "  hidden: 2 files and folders, by a dot before the name",
        "  /a.pdf: It is a scan.",
        "  /x/b.pdf: is empty.",
    ]


def test_given_vectors_to_come_then_a_line_says_what_can_be_found_how() -> None:
    now = Progress("j", "embedding", 4, 4, chunks=30, embedded=10, waiting=20, eta=65.0)
    assert describe(now) == (
        "embedding: 4/4 files read, 50 chunks searchable by words, 10 of them by meaning, "
        "about 1:05 left"
    )


@pytest.mark.parametrize(
    ("elsewhere", "words"),
    [
        (True, ["goes on in the server", "jobs show j1 --follow", "jobs cancel j1"]),
        (False, ["Stopped at", "What is done stays", "The same command"]),
    ],
)
def test_given_ctrl_c_then_it_says_what_goes_on(elsewhere: bool, words: list[str]) -> None:
    [line] = format_interruption(Progress("j1", files=1, total=2), elsewhere)
    assert all(word in line for word in words)


def verdicts(*labels: Label) -> list[Verdict]:
    """A verdict each, on the source of its number."""
    return [
        Verdict("It is so.", label, 0.9, build_citation(a_passage(n, "It is so."), 0, 9))
        for n, label in enumerate(labels, start=1)
    ]


@pytest.mark.parametrize(
    ("labels", "answers", "line"),
    [
        (
            ("supported", "supported"),
            Statement(True, 0.87),
            "Checked: supported by 2 sources; answers the question: likely (.87).",
        ),
        (
            ("supported", "no_claim"),
            Statement(True, 0.6),
            "Checked: supported by 1 source; answers the question: possibly (.60).",
        ),
        (
            ("supported", "unsupported"),
            Statement(False, 0.2),
            "Checked: 1 of 2 claims supported by 1 source; answers the question: unlikely (.20).",
        ),
        (("unsupported",), None, "Checked: supported by no source."),
        ((), Statement(True, 1.0), "Checked: answers the question: likely (1.00)."),
        ((), None, ""),
    ],
)
def test_given_an_answer_then_one_line_says_what_was_checked(
    labels: tuple[Label, ...],
    answers: Statement | None,
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_checked(GeneratedAnswer("It is so.", answers=answers), verdicts(*labels))
    assert capsys.readouterr().out.strip().split("\n")[0] == line
