"""When something was recorded, as its row says: a time in milliseconds, UTC.

Clocks are set back. Where rows that follow each other are told apart by their time alone, the later one is never said to be
the earlier one, nor of the same time: it is a millisecond after it then.
"""

from datetime import UTC, datetime, timedelta

_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


def moment_of(time: datetime) -> str:
    """A time, which has a zone, as rows say it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def moment_of_milliseconds(milliseconds: int) -> str | None:
    """A time in milliseconds since 1970, as rows say it. None where it can't be meant: what has no time to tell gives 0 or
    -1, and what anybody may set is not in every calendar."""
    if milliseconds <= 0:
        return None
    try:
        return moment_of(datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return None


def moment_of_microseconds(microseconds: int) -> str:
    """A time in microseconds since 1970, as rows say it; the ends of the calendar for what is beyond them."""
    try:
        return moment_of(datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds))
    except OverflowError:
        return moment_of(_LAST if microseconds > 0 else _FIRST)


def seconds_between(earlier: str | None, later: str) -> float | None:
    """How long it was from one moment to another. None where the earlier one is not known, or is later: then clocks differ,
    and nobody knows."""
    if earlier is None:
        return None
    seconds = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return seconds if seconds >= 0 else None


def this_moment() -> str:
    """Now, as rows say it."""
    return moment_of(datetime.now(UTC))


def moment_after(last: str | None) -> str:
    """Now; just after `last` where the clock says that this is still to come."""
    now = datetime.now(UTC)
    if last is not None:
        now = max(now, datetime.fromisoformat(last) + timedelta(milliseconds=1))
    return moment_of(now)
