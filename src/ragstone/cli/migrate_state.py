"""The command that moves the state from one database to another."""

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from ragstone.build import move_state
from ragstone.cli.show import out_json, print_text
from ragstone.core.errors import ConfigError
from ragstone.settings import Settings, StateSettings

EMBEDDED = "embedded"
End = tuple[str, str]


async def run(settings: Settings, source: End, target: End, *, as_json: bool) -> int:
    """Move the state between two addresses with their passwords.

    Raises ConfigError for addresses between which nothing can move, Conflict if the target holds
    a state already or a server runs.
    """
    if _address(source[0]) == _address(target[0]):
        raise ConfigError("Both addresses are the same: give --to another than --from.")
    here, there = (_settings(settings, *end) for end in (source, target))
    counts = await move_state(settings, here, there)
    if as_json:
        out_json({"rows": dict(counts)})
        return 0
    moved = [f"{rows:,} {table.replace('_', ' ')}" for table, rows in counts.items() if rows]
    print_text(f"Moved: {', '.join(moved) or 'nothing, the state is empty'}.")
    new = "the address of --to" if there.url else "nothing"
    print_text(f"Now set STATE__URL to {new} and start Ragstone.")
    return 0


def _address(url: str) -> str:
    return "" if url == EMBEDDED else url


def _settings(settings: Settings, url: str, password: str) -> StateSettings:
    address = _address(url)
    if address and password:
        try:
            address = make_url(address).set(password=password).render_as_string(False)
        except (ArgumentError, ValueError) as error:
            raise ConfigError(
                "Not a valid address of a database: write it like postgresql://user@host:5432/name."
            ) from error
    return settings.state.model_copy(update={"url": address})
