"""Whatever differs in what is recorded stands in the plan: each part of the stored definitions, changed by itself."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.base.cache import MemoryCache
from reconciler.base.declarations import BootstrapPolicy
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_markdown
from reconciler.plan.model import Plan, Policies
from reconciler.plan.text_form import render_text
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

Path = tuple[Any, ...]

STORED: list[dict[str, Any]] = [
    {
        "kind": "settings",
        "name": "shop",
        "definition": {
            "name": "shop",
            "description": "what it is for",
            "owner": "a team",
            "tags": ["a", "b"],
            "bootstrap_policy": "await_approval",
            "workers": 2,
            "memory": "1g",
            "driver_memory": "2g",
            "checkpoint_interval_seconds": 30,
            "version_reads": True,
            "spark": {
                "spark.sql.ansi.enabled": "false",
                "spark.sql.shuffle.partitions": "4",
                "spark.sql.files.ignoreCorruptFiles": "false",
                "spark.serializer": "x",
            },
            "spark_version": "4.2.1",
            "environment": {"spark.master": "yarn", "spark.jars": "a.jar", "spark.sql.files.ignoreCorruptFiles": "false"},
            "descriptions": {"orders": "one row an order", "totals": "one row a customer"},
            "evolution": "evolve",
            "table_evolution": {"orders": "clear"},
            "protected": ["orders", "totals"],
            "used_by": {"orders": ["a report"]},
            "retention": {"versions": 3, "keep": 5, "steps": 6, "checkpoints": 7},
            "relation_retention": {"orders": {"versions": 2}, "totals": {"keep": 9}},
        },
    },
    {
        "kind": "table",
        "name": "orders",
        "definition": {
            "name": "orders",
            "columns": [
                {"name": "id", "type": "BIGINT", "nullable": False, "comment": "which one"},
                {"name": "qty", "type": "INT", "nullable": True, "default": "1"},
                {"name": "at", "type": "TIMESTAMP", "nullable": True, "lateness": "INTERVAL '1' HOUR"},
            ],
            "primary_key": ["id"],
            "materialized": True,
            "append_only": False,
            "sql": "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, …)",
        },
    },
    {
        "kind": "view",
        "name": "totals",
        "definition": {
            "name": "totals",
            "kind": "materialized",
            "column_names": ["n"],
            "query": "SELECT doubled(qty) + odd(qty) AS n FROM orders",
            "sql": "CREATE MATERIALIZED VIEW totals (n) AS SELECT doubled(qty) + odd(qty) AS n FROM orders",
        },
    },
    {
        "kind": "function",
        "name": "doubled",
        "definition": {
            "name": "doubled",
            "parameters": [{"name": "x", "type": "INT", "nullable": True}],
            "returns": "INT",
            "body": {"language": "sql", "expression": "x * 2"},
            "deterministic": True,
            "sql": "CREATE FUNCTION doubled(x INT) RETURNS INT AS x * 2",
            "returns_nullable": False,
            "description": "twice",
        },
    },
    {
        "kind": "function",
        "name": "odd",
        "definition": {
            "name": "odd",
            "parameters": [{"name": "x", "type": "INT", "nullable": True}],
            "returns": "INT",
            "body": {
                "language": "python",
                "module": "odd",
                "sources": {"odd.py": "def odd(x):\n    return x % 2\n"},
                "requirements": ["numpy==2.1.0"],
                "python": "3.11",
            },
            "deterministic": True,
            "sql": "CREATE FUNCTION odd(x INT) RETURNS INT",
        },
    },
    {
        "kind": "connector",
        "name": "orders.live",
        "definition": {
            "relation": "orders",
            "name": "live",
            "ordinal": 0,
            "settings": {
                "description": "what comes",
                "labels": ["a"],
                "start_after": ["b"],
                "paused": False,
                "max_batch_size": 5,
                "transport": {"name": "file_input", "config": {"path": "/in"}},
                "format": {"name": "csv", "config": {"header": True}},
            },
        },
    },
    {
        "kind": "connector",
        "name": "totals.out",
        "definition": {
            "relation": "totals",
            "name": "out",
            "ordinal": 0,
            "settings": {
                "on_bootstrap": "full",
                "send_snapshot": True,
                "transport": {"name": "file_output", "config": {"path": "/out"}},
                "format": {"name": "csv", "config": {"header": True}},
            },
        },
    },
]

_POLICIES = Policies(BootstrapPolicy.AWAIT_APPROVAL)


_CACHE = MemoryCache()


def snapshot(stored: list[dict[str, Any]]) -> Snapshot:
    return take_snapshot(decode_program(stored, _CACHE))


def parts(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every part of a JSON value, the containers themselves too."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from parts(value[key], (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from parts(item, (*path, index))


def changed(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The stored definitions with one part another, and without it."""
    for other in _others(_at(STORED, path)):
        copied = copy.deepcopy(STORED)
        holder = _at(copied, path[:-1])
        if other is _NOTHING:
            del holder[path[-1]]
        else:
            holder[path[-1]] = other
        yield copied


_NOTHING = object()
_OTHER_WORDS = {
    "await_approval": "allow",
    "evolve": "clear",
    "clear": "evolve",
    "materialized": "plain",
    "false": "true",
    "full": "changes",
    "INT": "BIGINT",
    "BIGINT": "INT",
}


def _others(value: Any) -> tuple[Any, ...]:
    match value:
        case bool():
            return (not value, _NOTHING)
        case int():
            return (value + 1, _NOTHING)
        case str():
            return (_OTHER_WORDS.get(value, f"{value}2"), _NOTHING)
        case list():
            return (value[:-1], [*value, "another" if isinstance(value[0], str) else value[-1]], _NOTHING)
        case dict():
            return ({**value, "spark.sql.legacy.more": "x"}, _NOTHING)
    return (_NOTHING,)


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


PARTS = [
    path
    for path in parts(STORED)
    # A pipeline of another name is another pipeline.
    if len(path) > 2 and path[1] == "definition" and path != (0, "definition", "name")
]


def plan_of(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Plan | None:
    """The plan; None where the changed definitions are none that anybody could have recorded."""
    try:
        applied, desired = snapshot(before), snapshot(after)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    # What is left out in both is the same program.
    if encode_program(applied.program) == encode_program(desired.program):
        return None
    return make_plan("shop", "dev", applied, desired, _POLICIES)


@pytest.mark.parametrize("path", PARTS, ids=lambda path: ".".join(map(str, (STORED[path[0]]["name"], *path[2:]))))
def test_each_part_that_differs_is_told(path: Path) -> None:
    for other in changed(path):
        for before, after in ((STORED, other), (other, STORED)):
            plan = plan_of(before, after)
            if plan is None:
                continue
            assert not plan.changes_nothing
            diff = plan.diff
            assert diff.relations or diff.connectors or diff.functions or diff.local_changes or diff.metadata, path
            nothing = "results do not change; other changes:\n"
            forms = (render_text(plan), render_markdown(plan)) if before is STORED else (render_text(plan),)
            for text in forms:
                assert not text.endswith(nothing)
                for change in diff.metadata:
                    assert change.what in text
            form = plan_to_json(plan)
            assert len(form["metadata"]) == len(diff.metadata)
