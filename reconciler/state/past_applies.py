"""The applies and restores that came in force.

The row of each is written just before the head that puts it in force. While an apply or a restore is open, its row tells of
nothing yet. The row of a restore that was taken back never tells of anything: a writer that comes back may even have written
it afterwards. An apply that is taken back has not written its row.
"""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.base.moments import this_moment
from reconciler.registry.intents import RestoreCheckpoint
from reconciler.registry.model import Head
from reconciler.registry.protocol import History, Registry

ROLLBACK: Final = "rollback: "
"""How the summary of an apply begins that brought back what was in force."""

_TAKEN_BACK: Final = "restore taken back"


def record_taken_back(registry: Registry, pipeline: str, restore: RestoreCheckpoint) -> None:
    """Tell that a restore was taken back, before the head says so: it will never come in force."""
    row = {"event": _TAKEN_BACK, "at": this_moment(), "by": restore.by, "details": restore.apply_id}
    registry.record(History.AUDIT, pipeline, [row], f"taken back:{restore.apply_id}")


def applies_in_force(registry: Registry, pipeline: str, head: Head | None) -> tuple[Mapping[str, Any], ...]:
    """The rows of applies and restores that came in force, oldest first."""
    rows = registry.history(History.APPLIES, pipeline)
    gone = {head.journal.apply_id} if head is not None and head.journal is not None else set()
    if head is not None and head.intent is not None and isinstance(head.intent.work, RestoreCheckpoint):
        gone.add(head.intent.work.apply_id)
    if any(row["approval"] == "restored" for row in rows):
        gone |= {row["details"] for row in registry.history(History.AUDIT, pipeline, event=_TAKEN_BACK)}
    return tuple(row for row in rows if row["apply_id"] not in gone)


def brought_back_by(registry: Registry, pipeline: str, record: str) -> frozenset[str]:
    """Who rolled back or restored something of a pipeline since these definitions were applied last (empty: ever): what
    came of that is of no new commit."""
    rows = registry.history(History.APPLIES, pipeline)
    last = max((number for number, row in enumerate(rows) if record and row["record"] == record), default=-1)
    since = (row for row in rows[last + 1 :] if row["approval"] == "restored" or row["summary"].startswith(ROLLBACK))
    return frozenset(row["by"] for row in since)
