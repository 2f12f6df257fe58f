"""Commands are found in scripts and prose, and those that do not exist are refused."""

import pytest

from tests.documentation.commands import every_command, parse, simple_commands, sketched

SCRIPT = """
A=1 ragstone ask "x | y" --json > out.txt | sort   # ragstone nothing
export B=2
cat > file <<'END'
ragstone nothing
END
KEY=$(ragstone keys create me) curl -s http://127.0.0.1:8006/v1/models \\
  -d '{"a":
  1}'
"""


def test_given_a_script_then_its_commands_without_assignments_and_redirections() -> None:
    assert list(simple_commands(SCRIPT)) == [
        ["ragstone", "keys", "create", "me"],
        ["ragstone", "ask", "x | y", "--json"],
        ["sort"],
        ["cat"],
        ["curl", "-s", "http://127.0.0.1:8006/v1/models", "-d", '{"a":\n  1}'],
    ]


def test_given_a_quotation_without_an_end_then_it_is_refused() -> None:
    with pytest.raises(ValueError, match="no end"):
        list(simple_commands("ragstone ask 'What"))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["ask", "What?", "--level", "maximum"], "ask"),
        (["--data", "here", "keys", "create", "me"], "keys create"),
        (["--version"], ""),
    ],
)
def test_given_arguments_then_the_command_that_they_call(arguments: list[str], name: str) -> None:
    assert parse(arguments) == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "nothing"], "No such command"),
        (["ask", "What?", "--nothing"], "No such option"),
        (["ask", "What?", "--level", "huge"], "not one of"),
        (["ask"], "Missing"),
        (["serve", "--port", "99999"], "65535"),
    ],
)
def test_given_arguments_that_call_nothing_then_the_command_lines_error(
    arguments: list[str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        parse(arguments)


def test_given_a_sketch_then_the_commands_it_names() -> None:
    assert sketched("ragstone jobs list|show ID [--json]") == ["jobs list", "jobs show"]
    assert sketched("ragstone jobs") == []


@pytest.mark.parametrize("span", ["ragstone jobs list|nothing", "ragstone migrate --too URL"])
def test_given_a_sketch_of_what_is_not_there_then_it_is_refused(span: str) -> None:
    with pytest.raises(ValueError, match="there is no"):
        sketched(span)


def test_commands_have_no_commands_below() -> None:
    found = set(every_command())
    assert {"ask", "eval cache", "keys create"} <= found
    assert "eval" not in found
