"""The line "Default: 100" beside what a setting is for."""

import pytest

from ragstone.core.turn import Passage
from tests.answer.extractive.test_extractive import a_glossary, answer, text
from tests.engine.samples import a_passage

FIELDS = a_passage(
    1,
    "## limit_request_fields\n\nCommand line: `--limit-request-fields`\n\nDefault: `100`\n\n"
    "Limit the number of header fields in a request.\n\n"
    "## limit_request_line\n\nDefault: `4094`\n\nThe longest line of a request in bytes.",
)
VALUES = a_passage(
    1,
    "`umask`\n\nThe mask of the files that the daemon makes.\n\nDefault: `022`\n\n"
    "`minfds`\n\nThe number of file descriptors that must be free before the daemon starts.\n\n"
    "Default: 1024\n\nRequired: no.\n\n`minprocs`\n\nThe number of processes.\n\nDefault: 200",
)


@pytest.mark.parametrize(
    ("question", "passage", "line"),
    [
        ("What is the default limit of the header fields in a request?", FIELDS, "Default: `100`"),
        (
            "How many file descriptors must be free before the daemon starts?",
            VALUES,
            "Default: 1024",
        ),
        (
            "Is it required that file descriptors must be free before the daemon starts?",
            VALUES,
            "Required: no.",
        ),
    ],
)
async def test_given_a_line_with_what_is_asked_beside_its_description_then_it_is_said(
    question: str, passage: Passage, line: str
) -> None:
    said = text(await answer(question, passage))
    assert f"{line} [1]" in said
    assert "4094" not in said


async def test_given_another_setting_with_such_a_line_then_it_is_not_said() -> None:
    bare = a_passage(
        1, "`minfds`\n\nThe file descriptors that must be free.\n\n`umask`\n\nDefault: `022`"
    )
    said = text(await answer("Which file descriptors must be free by default?", bare))
    assert "022" not in said


async def test_given_a_question_that_asks_for_no_label_then_nothing_is_added() -> None:
    said = text(await answer("What is the mask of the files that the daemon makes for?", VALUES))
    assert "Required" not in said


async def test_given_the_line_in_the_passage_that_follows_then_it_is_said_from_there() -> None:
    described = (
        "`minfds`\n\nThe number of file descriptors that must be free before the daemon starts."
    )
    first = a_passage(1, described, start=0, chunk_index=0)
    second = a_passage(
        2,
        "It is useful on Solaris.\n\nDefault: 1024\n\n`minprocs`\n\nThe processes.\n\nDefault: 200",
        start=len(described) + 2,
        chunk_index=1,
    )
    question = "How many file descriptors must be free before the daemon starts?"
    said = text(await answer(question, first, second))
    assert "Default: 1024 [2]" in said
    assert "200" not in said


async def test_given_a_definition_with_such_a_line_then_it_is_said_up_to_the_next_definition() -> (
    None
):
    passage = a_glossary(
        ("paragraph", "umask", "umask: The mask of the files."),
        ("paragraph", "", "Default: 022"),
        ("paragraph", "minfds", "minfds: The number of file descriptors that must be free."),
        ("paragraph", "", "Required: No."),
        ("paragraph", "minprocs", "minprocs: The number of processes."),
        ("paragraph", "", "Default: 200"),
    )
    said = text(await answer("How many file descriptors must be free by default?", passage))
    assert "minfds: The number" in said
    assert "200" not in said
    assert "022" not in said


async def test_given_a_list_where_the_label_is_asked_for_then_the_line_is_said_instead() -> None:
    address = a_passage(
        1,
        "## syslog_addr\n\nDefault: `udp://localhost:514`\n\n"
        "Address to send messages of the log.\n\n"
        "The address of the log is of the form:\n\n- `unix://PATH` for a socket\n"
        "- `udp://HOST:PORT` for UDP",
    )
    said = text(await answer("What is the default address of the log?", address))
    assert said.startswith("Default: `udp://localhost:514` [1]")
    assert "unix" not in said
