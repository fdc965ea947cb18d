"""The applies and restores that came in force.

The row of each is written just before the head that puts it in force. While an apply or a restore is open, its row tells of
nothing yet. The row of one that was taken back never tells of anything: its writer may have died between row and head, or
may come back and write the row afterwards. So whoever takes one back says so first, and that counts.
"""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.base.moments import this_moment
from reconciler.registry.intents import RestoreCheckpoint
from reconciler.registry.model import Head
from reconciler.registry.protocol import History, Registry

ROLLBACK: Final = "rollback: "
"""How the summary of an apply begins that brought back what was in force."""

_APPLY: Final = "apply taken back"
_RESTORE: Final = "restore taken back"


def record_apply_taken_back(registry: Registry, pipeline: str, apply_id: str, by: str) -> None:
    """Tell that an apply was taken back, before the head says so: it will never come in force."""
    _record(registry, pipeline, _APPLY, apply_id, by)


def record_restore_taken_back(registry: Registry, pipeline: str, restore: RestoreCheckpoint) -> None:
    """The same of a restore."""
    _record(registry, pipeline, _RESTORE, restore.apply_id, restore.by)


def _record(registry: Registry, pipeline: str, event: str, apply_id: str, by: str) -> None:
    row = {"event": event, "at": this_moment(), "by": by, "details": apply_id}
    registry.record(History.AUDIT, pipeline, [row], f"taken back:{apply_id}")


def applies_in_force(registry: Registry, pipeline: str, head: Head | None) -> tuple[Mapping[str, Any], ...]:
    """The rows of applies and restores that came in force, oldest first. `head` is the pipeline's."""
    rows = registry.history(History.APPLIES, pipeline)
    gone = {head.journal.apply_id} if head is not None and head.journal is not None else set()
    if head is not None and head.intent is not None and isinstance(head.intent.work, RestoreCheckpoint):
        gone.add(head.intent.work.apply_id)
    for event in (_APPLY, _RESTORE) if rows else ():
        gone |= {row["details"] for row in registry.history(History.AUDIT, pipeline, event=event)}
    return tuple(row for row in rows if row["apply_id"] not in gone)


def brought_back_by(registry: Registry, pipeline: str, record: str) -> frozenset[str]:
    """Who rolled back or restored something of a pipeline since these definitions came in force last (empty: ever): what
    came of that is of no new commit."""
    stored = registry.head(pipeline)
    rows = applies_in_force(registry, pipeline, stored.value if stored is not None else None)
    last = max((number for number, row in enumerate(rows) if record and row["record"] == record), default=-1)
    since = (row for row in rows[last + 1 :] if row["approval"] == "restored" or row["summary"].startswith(ROLLBACK))
    return frozenset(row["by"] for row in since)
