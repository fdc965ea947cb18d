"""Entries of a journal are read as versions of reconciler before stored them, and stored so that they read them."""

import json
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.engine.stored import ColumnType, FailedCalls
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.create_table import CreateTable
from reconciler.registry.entries import (
    BuildIntent,
    BuildResult,
    CommitResult,
    DropIntent,
    EntryState,
    JournalEntry,
    Kept,
    KeptIntent,
    PublishCopyIntent,
    PublishIntent,
    PublishKeptIntent,
    RenameIntent,
    TableIntent,
    entry_from_json,
    entry_to_json,
    staging_of,
)

VIEW = {"kind": "bootstrap_view", "relation": "v", "reads": ["t"]}
PUBLISH = {"kind": "publish_view", "relation": "v"}
COLUMNS = [{"name": "id", "type": "BIGINT", "nullable": True}]
BUILT = {"rows": 3, "bytes": 900, "columns": COLUMNS, "seconds": 1.5, "rows_read": 7}
FAILED = [{"function": "fee", "count": 2, "first": "ValueError: no"}]
COMMITTED = {"version": 4}

# A step, what was pinned, and what it gave, as a head has them.
STORED: dict[str, tuple[JsonObject, JsonObject, JsonObject]] = {
    "made": ({"kind": "create_table", "relation": "t"}, {"location": "shop/t", "expected": None}, COMMITTED),
    "cleared": ({"kind": "clear_table", "relation": "t"}, {"location": "shop/t", "expected": 3}, COMMITTED),
    "extended": (
        {"kind": "extend_table", "relation": "t", "columns": ["a"]},
        {"location": "shop/t", "expected": 3},
        COMMITTED,
    ),
    "evolved": (
        {"kind": "evolve_table", "relation": "t", "applied": "u", "columns": []},
        {"location": "shop/t", "staging": "_staging/1", "read": 3},
        {"rows": 3, "bytes": 900},
    ),
    "built": (VIEW, {"location": "shop/v", "staging": "_staging/1"}, {**BUILT, "failed_calls": FAILED}),
    "kept": (
        VIEW,
        {"location": "shop/v", "kept": {"version": 3, "step": 5, "number": 1}},
        {"rows": 3, "bytes": 900, "columns": COLUMNS},
    ),
    "kept, uncounted": (
        VIEW,
        {"location": "shop/v", "kept": {"version": 3, "step": 5, "number": None}},
        {"rows": None, "bytes": None, "columns": COLUMNS},
    ),
    "copied": (
        VIEW,
        {
            "location": "shop/v",
            "kept": {"version": 3, "step": 5, "number": 1, "location": "shop/w"},
            "staging": "_staging/2",
        },
        {"rows": 3, "bytes": 900, "columns": COLUMNS},
    ),
    "published": (PUBLISH, {"location": "shop/v", "expected": 2, "staging": "_staging/1"}, COMMITTED),
    "published, a table": (
        {"kind": "publish_table", "relation": "t"},
        {"location": "shop/t", "expected": 2, "staging": "_staging/1"},
        COMMITTED,
    ),
    "published again": (PUBLISH, {"location": "shop/v", "expected": 2, "kept": 1}, COMMITTED),
    "published, copied": (
        PUBLISH,
        {
            "location": "shop/v",
            "expected": None,
            "staging": "_staging/2",
            "copied": {"location": "shop/w", "version": 3},
        },
        COMMITTED,
    ),
    "renamed": (
        {"kind": "rename_relation", "relation": "v", "applied": "w", "relation_kind": "view"},
        {"location": "shop/w"},
        {},
    ),
    "dropped": (
        {"kind": "drop_relation", "relation": "t", "relation_kind": "table"},
        {"location": "shop/t", "identity": "an id", "aside": "shop/_staging/3"},
        {},
    ),
    "dropped, nothing there": (
        {"kind": "drop_relation", "relation": "t", "relation_kind": "table"},
        {"location": "shop/t", "identity": None, "aside": "shop/_staging/3"},
        {},
    ),
    "dropped, by an older version": (
        {"kind": "drop_relation", "relation": "t", "relation_kind": "table"},
        {"location": "shop/t"},
        {},
    ),
    "the last": ({"kind": "commit_snapshot"}, {}, {}),
}
INTENTS = {
    "made": TableIntent("shop/t", None),
    "cleared": TableIntent("shop/t", 3),
    "extended": TableIntent("shop/t", 3),
    "evolved": BuildIntent("shop/t", "_staging/1", 3),
    "built": BuildIntent("shop/v", "_staging/1"),
    "kept": KeptIntent("shop/v", Kept(3, 5, 1)),
    "kept, uncounted": KeptIntent("shop/v", Kept(3, 5, None)),
    "copied": KeptIntent("shop/v", Kept(3, 5, 1, "shop/w"), "_staging/2"),
    "published": PublishIntent("shop/v", 2, "_staging/1"),
    "published, a table": PublishIntent("shop/t", 2, "_staging/1"),
    "published again": PublishKeptIntent("shop/v", 2, 1),
    "published, copied": PublishCopyIntent("shop/v", None, "_staging/2", "shop/w", 3),
    "renamed": RenameIntent("shop/w"),
    "dropped": DropIntent("shop/t", "an id", "shop/_staging/3"),
    "dropped, nothing there": DropIntent("shop/t", None, "shop/_staging/3"),
    "dropped, by an older version": DropIntent("shop/t", None, None),
    "the last": None,
}


def stored(name: str, state: str) -> dict[str, Any]:
    """An entry as it stands in a head."""
    step, intent, result = STORED[name]
    return {
        "id": "0001",
        "step": step,
        "state": state,
        "intent": {} if state == "pending" else intent,
        "result": result if state == "done" else {},
    }


@pytest.mark.parametrize("name", sorted(STORED))
@pytest.mark.parametrize("state", ["pending", "intended", "done"])
def test_an_entry_is_stored_as_it_was(name: str, state: str) -> None:
    value = stored(name, state)
    assert json.loads(json.dumps(entry_to_json(entry_from_json(value)))) == value


@pytest.mark.parametrize("name", sorted(STORED))
def test_what_is_pinned_is_of_a_type_of_its_own(name: str) -> None:
    assert entry_from_json(stored(name, "intended")).intent == INTENTS[name]


def test_what_a_step_gave_is_known() -> None:
    built = entry_from_json(stored("built", "done")).result
    columns = (ColumnType("id", "BIGINT", True),)
    assert built == BuildResult(3, 900, columns, 1.5, 7, (FailedCalls("fee", 2, "ValueError: no"),))
    assert entry_from_json(stored("made", "done")).result == CommitResult(4)
    assert entry_from_json(stored("renamed", "done")).result is None


def test_a_result_of_before_that_measured_less_is_read() -> None:
    value = stored("built", "done")
    value["result"] = {"rows": 3, "bytes": 900, "columns": COLUMNS, "seconds": None, "rows_read": None}
    assert entry_from_json(value).result == BuildResult(3, 900, (ColumnType("id", "BIGINT", True),))


def test_an_intent_names_its_staging_folder() -> None:
    found = {name: staging_of(intent) for name, intent in INTENTS.items()}
    assert {name for name, folder in found.items() if folder} == {
        "evolved",
        "built",
        "copied",
        "published",
        "published, a table",
        "published, copied",
    }
    assert found["copied"] == "shop/v/_staging/2"


def test_what_is_not_begun_pins_nothing() -> None:
    assert entry_from_json(stored("made", "pending")) == JournalEntry("0001", CreateTable("t"), EntryState.PENDING)
    assert entry_from_json(stored("built", "pending")).step == BootstrapView("v", ("t",))
