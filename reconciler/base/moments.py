"""When something was recorded, as its row says: a time in milliseconds, UTC.

Clocks are set back. Where rows that follow each other are told apart by their time alone, the later one is never said to be
the earlier one, nor of the same time: it is a millisecond after it then.
"""

from datetime import UTC, datetime, timedelta


def moment_of(time: datetime) -> str:
    """A time, which has a zone, as rows say it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def this_moment() -> str:
    """Now, as rows say it."""
    return moment_of(datetime.now(UTC))


def moment_after(last: str | None) -> str:
    """Now; just after `last` where the clock says that this is still to come."""
    now = datetime.now(UTC)
    if last is not None:
        now = max(now, datetime.fromisoformat(last) + timedelta(milliseconds=1))
    return moment_of(now)
