"""When a source is due: after an interval, or at the times of a cron expression."""

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
import tzlocal

from ragstone.core.errors import ConfigError, InputError
from ragstone.plugins.sources.schedule import check_schedule, find_cron_time, find_due

Zone = Callable[[str], None]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """Gives this machine a time zone."""

    def give(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        monkeypatch.setattr(tzlocal.unix, "_cache_tz", None)

    yield give
    monkeypatch.undo()


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("cron", "now", "due"),
    [
        ("0 6 * * mon-fri", "2026-11-27T06:00:00+01:00", "2026-11-30T06:00:00+01:00"),
        ("*/15 * * * *", "2026-11-27T06:01:00+01:00", "2026-11-27T06:15:00+01:00"),
        # 02:30 is left out when clocks go forward, and comes twice when they go back.
        ("30 2 * * *", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"),
        ("30 2 * * *", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"),
        ("30 2 * * *", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"),
        ("0 * * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"),
    ],
)
def test_a_cron_expression_goes_by_the_clock_on_the_wall(
    zone: Zone, cron: str, now: str, due: str
) -> None:
    zone("Europe/Berlin")

    assert find_due(None, cron, at(now)) == at(due)


def test_a_server_elsewhere_has_other_times(zone: Zone) -> None:
    zone("Asia/Tokyo")

    assert find_cron_time("0 6 * * *", at("2026-11-27T00:00Z")) == at("2026-11-28T06:00+09:00")


@pytest.mark.parametrize(
    ("cron", "failures", "retry_after", "due"),
    [
        ("0 6 * * *", 1, 0, "2026-11-28T06:00:00"),
        ("0 6 * * *", 30, 0, "2026-11-28T06:00:00"),
        ("0 6 * * *", 1, 90_000, "2026-11-29T06:00:00"),
        ("* * * * *", 0, 0, "2026-11-27T06:02:00"),
        ("* * * * *", 1, 0, "2026-11-27T06:03:00"),
        ("* * * * *", 3, 0, "2026-11-27T06:06:00"),
        ("* * * * *", 30, 0, "2026-11-27T18:02:00"),
    ],
)
def test_after_failures_it_waits_longer_but_for_one_of_its_times(
    zone: Zone, cron: str, failures: int, retry_after: float, due: str
) -> None:
    zone("UTC")
    now = at("2026-11-27T06:01:30+00:00")

    assert find_due(None, cron, now, failures=failures, retry_after=retry_after) == at(f"{due}Z")


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("61 * * * *", "bad minute"),
        ("0 6 * * fri-mon", "bad day-of-week"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("* * * * * *", "wrong number of fields"),
        ("@daily", "wrong number of fields"),
        ("every day", "wrong number of fields"),
    ],
)
def test_what_is_no_cron_expression_is_refused_in_a_sentence(cron: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        check_schedule(None, cron)

    assert raised.value.message == (
        f"Not a valid cron expression: {cron!r} ({reason}). Give minute, hour, day of the month, "
        "month and day of the week, such as '0 6 * * mon-fri'."
    )


def test_a_source_has_one_schedule_at_most() -> None:
    with pytest.raises(InputError, match="not both"):
        check_schedule(60.0, "0 6 * * *")


def test_a_time_zone_that_is_none_is_told(zone: Zone) -> None:
    zone("Middle/Earth")

    with pytest.raises(ConfigError, match="set TZ to a name"):
        find_cron_time("0 6 * * *", 0.0)
