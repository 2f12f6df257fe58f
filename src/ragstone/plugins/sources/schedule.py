"""When a source is synced by itself: after an interval, or at the times of a cron expression."""

from datetime import datetime
from zoneinfo import ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from tzlocal import get_localzone

from ragstone.core.errors import ConfigError, InputError

MAX_PAUSE = 86_400.0
"""Seconds that a source which fails waits at most, unless it is synced less often anyway."""

CRON_PAUSE = 60.0
"""Seconds between a first failure and the next time of a cron expression, at least."""


def check_schedule(every: float | None, cron: str | None) -> None:
    """Raise InputError unless this says when a source is synced, or nothing."""
    if every is not None and cron is not None:
        raise InputError("Not a valid schedule: give an interval or a cron expression, not both.")
    if every is not None and every < 1:
        raise InputError("A source is synced once a second at most: give an interval of 1 s.")
    if cron is not None:
        find_cron_time(cron, 0.0)


def find_due(
    every: float | None,
    cron: str | None,
    now: float,
    *,
    failures: int = 0,
    retry_after: float = 0.0,
) -> float | None:
    """Return when a source that ran now is due again, None for never: after each failure twice as
    late, and at a time of the cron expression in any case."""
    if cron is not None:
        # Half a day, or a source of every day would miss its time by the length of a run.
        pause = min(MAX_PAUSE / 2, CRON_PAUSE * 2.0 ** (min(failures, 20) - 1)) if failures else 0.0
        return find_cron_time(cron, now + max(pause, retry_after))
    if every is None:
        return None
    return now + max(every, min(MAX_PAUSE, every * 2.0 ** min(failures, 20)), retry_after)


def find_cron_time(cron: str, after: float) -> float:
    """Return the next time of a cron expression, by the clock on the server's wall. Raises
    InputError for what is none, ConfigError where the server's time zone is unknown."""
    try:
        zone = get_localzone()
    except ZoneInfoNotFoundError as error:
        raise ConfigError(
            "The server's time zone is unknown: set TZ to a name such as Europe/Berlin."
        ) from error
    try:
        if len(cron.split()) != 5:  # The library takes seconds too.
            raise CronSimError("Wrong number of fields")
        found = next(CronSim(cron, datetime.fromtimestamp(after, zone)), None)
    except CronSimError as error:
        raise InputError(
            f"Not a valid cron expression: {cron[:100]!r} ({str(error).lower()}). Give minute, "
            "hour, day of the month, month and day of the week, such as '0 6 * * mon-fri'."
        ) from error
    if found is None:
        raise InputError(f"Not a valid cron expression: {cron[:100]!r} never comes. Give a date.")
    return found.timestamp()
