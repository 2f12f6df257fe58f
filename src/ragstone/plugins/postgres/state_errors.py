"""What an error of the state's database means to the operator."""

import psycopg

from ragstone.core.errors import ConfigError, RagstoneError, StateUnavailable, StorageFull


def explain_error(error: BaseException | None, name: str) -> RagstoneError | None:
    """Return the operator's message for a driver error; None for a mistake in a statement."""
    state = getattr(error, "sqlstate", None) or ""
    said = str(error)
    for matches, raised, message in _MEANINGS:
        # Errors while a connection is made have no SQLSTATE.
        if any(state == match or (not state and match in said) for match in matches):
            return raised(message.format(name))
    if isinstance(error, psycopg.IntegrityError | psycopg.ProgrammingError | psycopg.DataError):
        return None
    kind = type(error).__name__
    return StateUnavailable(
        f"The database {name} does not answer or broke off ({kind}). Check STATE__URL and that "
        "the server runs."
    )


_MEANINGS: tuple[tuple[tuple[str, ...], type[RagstoneError], str], ...] = (
    (
        ("53100",),
        StorageFull,
        "The disk of the database {} is full. Free some space and try again.",
    ),
    (
        ("53300", "too many", "remaining connection slots"),
        StateUnavailable,
        "The database {} has no connection left. Raise its max_connections, or try again.",
    ),
    (
        ("28P01", "28000", "authentication failed", "no password supplied", "no pg_hba.conf"),
        StateUnavailable,
        "The database {} refuses user or password. Check STATE__URL and PGPASSWORD.",
    ),
    (
        ("3D000", "does not exist"),
        ConfigError,
        "The database {} does not exist. Create it with createdb, or change STATE__URL.",
    ),
    (
        ("42501",),
        ConfigError,
        "The user of STATE__URL may not do this in {}. Make it the owner of its schema.",
    ),
    (
        ("25006",),
        StateUnavailable,
        "The database {} is read-only. Point STATE__URL at the primary server.",
    ),
    (
        ("57014", "55P03"),
        StateUnavailable,
        "The database {} took longer than a statement may. Try again.",
    ),
    (("40001", "40P01"), StateUnavailable, "The database {} had two changes at once. Try again."),
)
"""SQLSTATE codes; while a connection is being made there are only the server's words."""
