"""Options that commands share: the collection, and how `ask` and `search` are to search."""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragstone.core.turn import Mode, Preference, SearchOptions, Strategy

if TYPE_CHECKING:
    from ragstone.core.filters import Filter

Collection = Annotated[
    str, typer.Option("--collection", "-c", metavar="NAME", help="The collection of documents.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

Prefer = Annotated[
    Preference | None, typer.Option("--prefer", help="What counts more for this question.")
]
ModeOption = Annotated[Mode | None, typer.Option("--mode", help="How the answer is worded.")]
StrategyOption = Annotated[
    Strategy | None, typer.Option("--strategy", help="How to search; the level decides if absent.")
]
Under = Annotated[
    list[str] | None,
    typer.Option("--under", metavar="FOLDER", help="Only documents below it; may be repeated."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only documents with this metadata; KEY>=VALUE and KEY<=VALUE compare.",
    ),
]

UseCache = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Whether an equal question's answer will do.")
]
Room = Annotated[
    str | None,
    typer.Option("--room", metavar="ID", help="The conversation to continue; makes a new one."),
]


def expand_search_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each of `SearchOptions` in place of its parameter `wanted`."""
    searched = [option for option in fields(SearchOptions) if option.name != "rewrite"]

    def run_command(**given: Any) -> None:
        wanted = SearchOptions(**{option.name: given.pop(option.name) for option in searched})
        command(**given, wanted=wanted)

    expanded: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name == "wanted":
            expanded += map(_parameter, searched)
        else:
            expanded.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    called: Any = run_command
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(expanded)
    called.__annotations__ = {item.name: item.annotation for item in expanded}
    return run_command


def _parameter(option: "Field[Any]") -> inspect.Parameter:
    said = option.metadata
    given = typer.Option(None, min=said["least"], max=said["most"], help=said["help"])
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, kind, default=given, annotation=option.type)


def condition(under: list[str] | None, where: list[str] | None) -> "Filter | None":
    """What documents must fulfil; a pair without '=' is a usage error."""
    from ragstone.core.filters import And, Or, path_filter

    parts: list[Filter] = [_pair(pair) for pair in where or ()]
    if under:
        parts.append(Or(tuple(path_filter(folder) for folder in under)))
    return And(tuple(parts)) if parts else None


def _pair(text: str) -> "Filter":
    """A metadata value as text, and as the number or truth that it spells."""
    from ragstone.core.filters import AnyOf, Or, Range

    found = re.fullmatch(r"([^<>=]+)(=|>=|<=)(.*)", text, re.DOTALL)
    if not found:
        raise typer.BadParameter(f"--where is given as KEY=VALUE, but {text!r} is not")
    key, sign, value = found.groups()
    values: list[Any] = [value]
    try:
        spelt = json.loads(value)
    except ValueError:
        spelt = None
    if isinstance(spelt, bool | int | float):
        values.append(spelt)
    field = f"metadata.{key}"
    if sign == "=":
        return AnyOf(field, tuple(values))
    bounds = [item for item in values if not isinstance(item, bool)]
    if sign == ">=":
        return Or(tuple(Range(field, at_least=bound) for bound in bounds))
    return Or(tuple(Range(field, at_most=bound) for bound in bounds))
