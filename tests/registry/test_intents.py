"""The intent of a step is read as versions of reconciler before stored it, and stored so that they read it."""

import json
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.registry.intents import (
    ComputeAgain,
    CopyRows,
    FollowPipelines,
    Ingest,
    PutBack,
    ReadInputs,
    RestoreCheckpoint,
    RunStatement,
    UnknownWork,
    Writer,
    intent_from_json,
    intent_to_json,
)

FILES = {"files": [{"path": "in/1.json", "size": 3}, {"path": "in/2.json", "size": 4}]}
PLACEMENT = {"location": "shop/t", "version": 3, "rows": 2, "columns": [{"name": "a", "type": "INT", "nullable": True}]}
FOREIGN = {"other": {"step": 4, "relations": {"t": PLACEMENT}, "ids": {"t": "an id"}}}
RESTORED = {
    "t": {"location": "shop/t", "expected": 5, "read": 3, "placement": PLACEMENT},
    "u": {"location": "shop/u", "expected": None, "source": "other/u", "read": 2},
    "v": {"location": "shop/v", "expected": 1},
}
RESTORE = {
    "checkpoint": "good",
    "source": "other",
    "step": 7,
    "record": "sha256:r",
    "digest": "sha256:d",
    "apply_id": "an apply",
    "by": "ann",
    "follows": "sha256:f",
    "positions": {"t.in": {"after": "1.json"}},
    "restored": RESTORED,
}
DETAILS: dict[str, JsonObject] = {
    "ingest": {"ingests": [{"connector": "t.in", "range": FILES, "position": {"end_of_input": False}}]},
    "statement": {"sql": "INSERT INTO t VALUES (1)", "table": "t", "relations": ["t"]},
    "follow": {"foreign": FOREIGN},
    "restore": RESTORE,
    "of the year 2030": {"what": ["nobody", "knows"]},
}
WRITER = {"writer": {"host": "here", "process": "12:34"}}


def stored(kind: str, more: JsonObject | None = None, *, withdrawn: bool = False) -> dict[str, Any]:
    """An intent as it stands in a head."""
    details = {**DETAILS[kind], **(more or {})}
    return {"step": 5, "kind": kind, "details": details, "at": "2026-01-01", "withdrawn": withdrawn}


def again(value: JsonObject) -> JsonObject:
    """What is stored of what was read."""
    return json.loads(json.dumps(intent_to_json(intent_from_json(value))))


@pytest.mark.parametrize("kind", sorted(DETAILS))
@pytest.mark.parametrize("more", [{}, WRITER, {**WRITER, "taken_over": True}], ids=["of before", "written", "taken over"])
def test_an_intent_is_stored_as_it_was(kind: str, more: JsonObject) -> None:
    for withdrawn in (False, True):
        value = stored(kind, more, withdrawn=withdrawn)
        assert again(value) == value


def test_an_intent_keeps_since_when_its_changes_could_be_seen() -> None:
    one = {**DETAILS["ingest"]["ingests"][0], "since": "2026-01-01T00:00:00.000+00:00"}
    value = stored("ingest", {"ingests": [one]})
    assert intent_from_json(value).ingests[0].since == one["since"]
    assert again(value) == value
    assert intent_from_json(stored("ingest")).ingests[0].since is None, "of a version that told nothing"


def test_a_restore_that_read_others_keeps_what_it_read() -> None:
    value = stored("restore", {"foreign": FOREIGN})
    intent = intent_from_json(value)
    assert intent.foreign["other"].relations["t"].version == 3
    assert again(value) == value


def test_each_kind_is_a_type_of_its_own() -> None:
    ingest = intent_from_json(stored("ingest"))
    assert ingest.work == ReadInputs((Ingest("t.in", FILES, {"end_of_input": False}),))
    assert ingest.ingests[0].files == ("in/1.json", "in/2.json")
    assert intent_from_json(stored("statement")).work == RunStatement("INSERT INTO t VALUES (1)", "t", ("t",))
    follow = intent_from_json(stored("follow"))
    assert isinstance(follow.work, FollowPipelines)
    assert follow.foreign["other"].step == 4
    restore = intent_from_json(stored("restore")).work
    assert isinstance(restore, RestoreCheckpoint)
    kinds = {key: type(one) for key, one in restore.restored.items()}
    assert kinds == {"t": PutBack, "u": CopyRows, "v": ComputeAgain}


def test_what_a_newer_version_left_open_is_kept() -> None:
    intent = intent_from_json(stored("of the year 2030", WRITER))
    assert intent.work == UnknownWork("of the year 2030", {"what": ["nobody", "knows"]})
    assert intent.writer == Writer("here", "12:34")
    assert (intent.ingests, intent.foreign) == ((), {})
