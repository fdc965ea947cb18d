"""When something was recorded, as its row says: a time in milliseconds, UTC.

Clocks are set back. Where rows that follow each other are told apart by their time alone, the later one is never said to be
the earlier one, nor of the same time: it is a millisecond after it then.
"""

from datetime import UTC, datetime, timedelta


def moment_after(last: str | None) -> str:
    """Now; just after `last` where the clock says that this is still to come."""
    now = datetime.now(UTC)
    if last is not None:
        now = max(now, datetime.fromisoformat(last) + timedelta(milliseconds=1))
    return now.isoformat(timespec="milliseconds")
