"""`ragstone comments`: what customers say, counted."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import out_json, print_text, table
from ragstone.cli.running import Context, context_settings, fail, run
from ragstone.core.errors import InputError
from ragstone.core.turn import Principal
from ragstone.core.wording import format_count
from ragstone.plugins.comments.comments import ToneName

if TYPE_CHECKING:
    from ragstone.plugins.comments.comments import ToneCounts
    from ragstone.plugins.comments.contract import CommentService, CommentsView, CommentsWanted
    from ragstone.service import Service

app = typer.Typer(
    add_completion=False, help="Count what customers say, and quote it.", no_args_is_help=True
)

About = Annotated[str, typer.Argument(metavar="[ABOUT]", help="What they speak of, in any words.")]
Tone = Annotated[ToneName, typer.Option(help="Only comments of this sentiment.")]
Since = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The first day.")]
Until = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The last day.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="Only comments with this value."),
]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most comments to show.")]


@app.command()
def show(
    context: Context,
    about: About = "",
    collection: opt.Collection = "default",
    tone: Tone = "",
    since: Since = "",
    until: Until = "",
    where: Columns = None,
    limit: Limit = 20,
    as_json: opt.AsJson = False,
) -> None:
    """Print how many comments of a collection's tables there are, by theme, sentiment, month and
    column, and the most telling ones."""
    wanted = _build_query(about, tone, since, until, where, limit)

    async def action(service: "Service") -> int:
        return _print_view(
            await _operations(service).show(Principal(), collection, wanted), as_json
        )

    run(context_settings(context), action)


@app.command()
def answers(
    context: Context,
    about: About = "",
    tone: Tone = "",
    since: Since = "",
    until: Until = "",
    where: Columns = None,
    limit: Limit = 20,
    as_json: opt.AsJson = False,
) -> None:
    """Print the same of the comments that users wrote on answers, by thumb."""
    wanted = _build_query(about, tone, since, until, where, limit)

    async def action(service: "Service") -> int:
        return _print_view(
            await _operations(service).of_answers(Principal().tenant, wanted), as_json
        )

    run(context_settings(context), action)


def _build_query(
    about: str, tone: ToneName, since: str, until: str, where: list[str] | None, limit: int
) -> "CommentsWanted":
    from ragstone.plugins.comments.contract import CommentsWanted, column_values

    try:
        return CommentsWanted(about, tone, since, until, column_values(where or ()), limit)
    except InputError as error:
        fail(error.message)


def _print_view(found: "CommentsView", as_json: bool) -> int:
    if as_json:
        out_json(found)
        return 0
    if found.waiting:
        print_text(
            f"{found.waiting:,} comments are being read for the first time. Ask again in a while."
        )
    for item in found.left_out:
        print_text(f"Left out: {item}.")
    if not found.among.comments:
        print_text("There are no such comments.")
        return 0
    print_text(f"{found.counted.comments:,} of {format_count(found.among.comments, 'comment')}")
    facets = [("sentiment", [found.counted]), ("theme", found.themes), ("month", found.months)]
    for name, counts in (*facets, *found.labels.items()):
        if counts:
            print_text()
            table((name, "comments", "negative", "neutral", "positive"), list(map(_row, counts)))
    if found.comments:
        print_text()
        table(
            ("sentiment", "day", "where", "comment"),
            [(comment.tone, comment.at, comment.path, comment.text) for comment in found.comments],
        )
    return 0


def _row(counts: "ToneCounts") -> tuple[str, int, int, int, int]:
    return counts.name or "all", counts.comments, counts.negative, counts.neutral, counts.positive


def _operations(service: "Service") -> "CommentService":
    from ragstone.plugins.comments.contract import COMMENTS

    return COMMENTS.of(service)
