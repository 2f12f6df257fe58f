"""The time that all servers of one state agree on: that of its database.

A time that one machine writes is compared by another: when a job is due, until when a key holds,
which conversation went on last. The clocks of two machines may be hours apart, so each server that
shares a database goes by that one's clock.
"""

import time

TOLERATED = 1.0
"""Seconds by which two clocks may differ: what a slow answer of the database makes of it is no
difference, and time does not jump with every connection."""

_ahead = 0.0


def state_time() -> float:
    """Seconds since 1970 by the clock of the state."""
    return time.time() + _ahead


def compare(there: float, asked: float, answered: float) -> float:
    """Go by another clock, which said `there` between two times of this machine's. How many seconds
    it is ahead by what is new; 0 where nothing is."""
    global _ahead

    def agrees(ahead: float) -> bool:
        return asked - TOLERATED <= there - ahead <= answered + TOLERATED

    if agrees(_ahead):
        return 0.0
    _ahead = 0.0 if agrees(0.0) else there - (asked + answered) / 2
    return _ahead
