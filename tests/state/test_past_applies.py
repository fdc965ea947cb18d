"""Which rows of the history of applies count, and who brought back what was in force before."""

import pytest

from reconciler.registry.intents import Intent, RestoreCheckpoint, Writer
from reconciler.registry.model import Applied, Approval, Head
from reconciler.registry.protocol import History
from reconciler.run.publishing_head import record_applied
from reconciler.state.past_applies import (
    ROLLBACK,
    applies_in_force,
    brought_back_by,
    record_apply_taken_back,
    record_restore_taken_back,
)
from reconciler.testing.memory import MemoryRegistry

RESTORE = RestoreCheckpoint("good", "shop", 0, "first", "digest", "three", "bob", "plan", {}, {})


def registry_with(*applies: tuple[str, str, str, str, str]) -> MemoryRegistry:
    """Each apply with its id, its record, by whom it was, its approval and its summary."""
    registry = MemoryRegistry()
    for number, (apply_id, record, by, approval, summary) in enumerate(applies):
        at = f"2026-01-0{number + 1}T00:00:00+00:00"
        applied = Applied("digest", record, apply_id, "plan", at, by, "", Approval(approval), "0.1.0", "")
        record_applied(registry, "shop", applied, "", summary)
    return registry


ROWS = (
    ("one", "first", "alice", "none", "1 added"),
    ("two", "second", "mallory", "none", f"{ROLLBACK}v to 0"),
    ("three", "first", "bob", "restored", "restored checkpoint good of shop"),
)


@pytest.mark.parametrize("state", ["open", "taken back", "an apply that was taken back"])
def test_what_did_not_come_in_force_hides_nobody_who_brought_something_back(state: str) -> None:
    registry = registry_with(*ROWS)
    intent = Intent(2, RESTORE, "2026-01-03T00:00:00+00:00", writer=Writer("host", "1:1"))
    head = Head("shop", intent=intent if state == "open" else None)
    registry.replace_head(None, head, "w")
    if state == "taken back":
        record_restore_taken_back(registry, "shop", RESTORE)
    elif state != "open":
        record_apply_taken_back(registry, "shop", "three", "bob")
    assert [row["apply_id"] for row in applies_in_force(registry, "shop", head)] == ["one", "two"]
    assert brought_back_by(registry, "shop", "first") == {"mallory"}
    assert brought_back_by(registry, "shop", "second") == set()


def test_what_came_in_force_counts() -> None:
    registry = registry_with(*ROWS)
    registry.replace_head(None, Head("shop"), "w")
    assert len(applies_in_force(registry, "shop", Head("shop"))) == 3
    assert brought_back_by(registry, "shop", "first") == set()
    assert brought_back_by(registry, "shop", "second") == {"bob"}
    assert brought_back_by(registry, "shop", "") == {"mallory", "bob"}
    assert registry.history(History.AUDIT, "shop") == ()
