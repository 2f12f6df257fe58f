"""Options that commands share: the collection, and how `ask` and `search` are to search."""

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragstone.core.turn import Fusion, Mode, Preference, Strategy, Unit

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
FusionOption = Annotated[
    Fusion | None, typer.Option("--fusion", help="Combine meaning and words by these.")
]
DenseWeight = Annotated[
    float | None,
    typer.Option("--dense-weight", min=0, max=1, help="Share of meaning against words."),
]
Rerank = Annotated[
    bool | None,
    typer.Option("--rerank/--no-rerank", help="Whether the best candidates are compared again."),
]
MinSimilarity = Annotated[
    float | None,
    typer.Option("--min-similarity", min=0, max=1, help="Least likeness to the question."),
]
Diversity = Annotated[
    float | None, typer.Option("--diversity", min=0, max=1, help="Prefer different passages.")
]
UnitOption = Annotated[Unit | None, typer.Option("--unit", help="What a passage is.")]
Neighbours = Annotated[
    int | None,
    typer.Option("--neighbours", min=0, help="Chunks on either side that come along."),
]
PerDocument = Annotated[
    int | None,
    typer.Option("--per-document", min=0, help="Most passages of one document; 0 is no bound."),
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
