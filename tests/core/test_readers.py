"""The names of those who may read a document."""

import pytest

from ragstone.core.errors import InputError
from ragstone.core.readers import MAX_CHARS, check_readers, parse_readers


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "user:ada",
        "group:Human\u00a0Resources",
        "user:محمد\u200c",
        "user:".ljust(MAX_CHARS, "x"),
    ],
    ids=["everyone", "user", "no-break-space", "joiner", "longest"],
)
def test_names_of_any_script_are_readers(name: str) -> None:
    check_readers([name])


@pytest.mark.parametrize(
    "name",
    [
        "ada",
        "user:",
        "user: \u00a0",
        "user:a\nb",
        "user:a\x85b",
        "user:".ljust(MAX_CHARS + 1, "x"),
        7,
    ],
    ids=["no-kind", "no-name", "blank", "line-break", "control", "too-long", "number"],
)
def test_what_names_nobody_is_refused(name: object) -> None:
    with pytest.raises(InputError, match="Not a valid reader"):
        check_readers([name])


def test_readers_are_named_once() -> None:
    assert parse_readers(["group:hr, everyone", "group:hr"]) == ("group:hr", "*")
