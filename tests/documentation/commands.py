"""Commands as the documentation writes them, held against the real command line."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import typer
import typer.main

from ragstone.cli import app
from ragstone.cli.plugins import command_tree

ROOT_COMMAND: Any = command_tree(app)

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?.*?^\s*\1$", re.MULTILINE | re.DOTALL)
_INSIDE = re.compile(r"\$\(([^()]*)\)")
_OPERATORS = "|&;<>()"


def simple_commands(script: str) -> Iterator[list[str]]:
    """The words of every command in a shell script, without what is assigned before it."""
    script = _HEREDOC.sub("", script).replace("\\\n", " ")
    for inside in _INSIDE.findall(script):
        yield from simple_commands(inside)
    waiting = ""
    for line in _INSIDE.sub("VALUE", script).splitlines():
        waiting += f"{line}\n"
        try:
            words = _lexed(waiting)
        except ValueError:  # A quotation goes on in the next line.
            continue
        waiting = ""
        yield from _of_line(words)
    if waiting:
        raise ValueError(f"a quotation has no end: {waiting}")


def _lexed(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    return list(lexer)


def _of_line(lexed: Sequence[str]) -> Iterator[list[str]]:
    words: list[str] = []
    to_file = False
    for word in lexed:
        if set(word) <= set(_OPERATORS):
            to_file = word[0] in "<>"
            if not to_file:
                yield from _called(words)
                words = []
        elif to_file:
            to_file = False
        else:
            words.append(word)
    yield from _called(words)


def _called(words: list[str]) -> Iterator[list[str]]:
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] == "export"):
        words = words[1:]
    if words:
        yield words


def parse(arguments: Sequence[str]) -> str:
    """The name of the command that these arguments call, such as `keys create`.

    Raises what the command line raises for a command, an option or a value that it does not know.
    """
    command, rest, names = ROOT_COMMAND, list(arguments), []
    parent = None
    while True:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                context = command.make_context(names[-1] if names else "ragstone", rest, parent)
            except typer.Exit:
                return " ".join(names)
        if not hasattr(command, "commands"):
            return " ".join(names)
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        names.append(name)
        parent = context


def every_command(command: Any = ROOT_COMMAND, name: str = "") -> Iterator[str]:
    """The names of the commands that have no commands below them."""
    children = getattr(command, "commands", {})
    if not children:
        yield name
    for child, below in children.items():
        yield from every_command(below, f"{name} {child}".strip())


def environment(command: Any = ROOT_COMMAND) -> Iterator[str]:
    """The variables that options are read from."""
    yield from (param.envvar for param in command.params if isinstance(param.envvar, str))
    for below in getattr(command, "commands", {}).values():
        yield from environment(below)


def sketched(span: str) -> list[str]:
    """The commands that a span such as `ragstone jobs list|show ID [--json]` names.

    A span of a group alone, such as `ragstone jobs`, names no command. Raises ValueError for what
    is not a command or no option.
    """
    words = re.sub(r"[\[\]]", " ", span).split()[1:]
    found: list[tuple[str, Any]] = [("", ROOT_COMMAND)]
    while words and any(hasattr(command, "commands") for _, command in found):
        if words[0].startswith("-"):
            break
        found = [
            _below(name, command, child) for name, command in found for child in words[0].split("|")
        ]
        words = words[1:]
    for word in words:
        option = word.split("=")[0].rstrip(",.")
        if option.startswith("-") and not any(option in _options(c) for _, c in found):
            raise ValueError(f"`{span}`: there is no option {option}")
    return [name for name, command in found if not hasattr(command, "commands")]


def _below(name: str, command: Any, child: str) -> tuple[str, Any]:
    below = getattr(command, "commands", {}).get(child)
    if below is None:
        raise ValueError(f"there is no command 'ragstone {f'{name} {child}'.strip()}'")
    return f"{name} {child}".strip(), below


def _options(command: Any) -> set[str]:
    known = (name for param in command.params for name in (*param.opts, *param.secondary_opts))
    return {"--help", *known}
