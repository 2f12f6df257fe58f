"""`ragstone quota`: what may be used of chat models in a month."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import print_text, show_list
from ragstone.cli.running import command

if TYPE_CHECKING:
    from ragstone.plugins.quotas.contract import QuotaService
    from ragstone.service import Service

app = typer.Typer(
    add_completion=False,
    help="What users, groups and all together may use of chat models in a month.",
    no_args_is_help=True,
)

Subject = Annotated[
    str,
    typer.Argument(
        metavar="SUBJECT", help="user:NAME, group:NAME, tenant for all together, 'user:*' for each."
    ),
]
Tenant = Annotated[str, typer.Option(help="Whose quotas.")]


@command(app, "list")
async def list_(service: "Service", tenant: Tenant = "default", as_json: opt.AsJson = False) -> int:
    """List the quotas, with what is used of them this month."""
    from ragstone.plugins.quotas.records import format_end

    found = await _operations(service).list_all(tenant)
    return show_list(
        "quotas",
        found,
        as_json,
        ("subject", "tokens", "of", "cost", "of", "used", "until"),
        [
            (
                item.subject,
                f"{item.used_tokens:,}",
                "-" if item.tokens is None else f"{item.tokens:,}",
                f"${item.used_cost:,.2f}",
                "-" if item.cost is None else f"${item.cost:,.2f}",
                f"{item.share:.0%}",
                format_end(item),
            )
            for item in found
        ],
        "There are no quotas. 'ragstone quota set SUBJECT --tokens N' sets one.",
    )


@command(app, "set")
async def put(
    service: "Service",
    subject: Subject,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=0, help="Tokens of prompts and replies.")
    ] = None,
    cost: Annotated[float | None, typer.Option("--cost", min=0, help="US dollars.")] = None,
    tenant: Tenant = "default",
) -> int:
    """Set what a subject may use in each calendar month (UTC): tokens, money, or both."""
    await _operations(service).put(tenant, subject, tokens, cost)
    print_text(f"The quota of {subject} is set.")
    return 0


@command(app)
async def remove(service: "Service", subject: Subject, tenant: Tenant = "default") -> int:
    """Remove the quota of a subject."""
    await _operations(service).remove(tenant, subject)
    print_text(f"The quota of {subject} is removed.")
    return 0


def _operations(service: "Service") -> "QuotaService":
    from ragstone.plugins.quotas.contract import QUOTAS

    return QUOTAS.of(service)
