"""Read a Delta table's log as text: what one commit wrote, and which commit carries a transaction.

Only single commits are read here, never a table's whole state: cheap, and for local tables without a JVM.
"""

import json
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from pyspark.sql.types import StructType

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, json_lines
from reconciler.delta.transactions import USER_METADATA
from reconciler.engine.protocol import Built, ColumnType, Transaction
from reconciler.engine.spark.locations import Folder

_LOG = "_delta_log"
_RECENT = 20
_FAR = 1000


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit's actions, as far as they matter here. `said` is what it says of itself; None where it says nothing."""

    version: int
    adds: tuple[dict[str, Any], ...] = ()
    schema: str | None = None
    metrics: dict[str, str] = field(default_factory=dict)
    transactions: tuple[Transaction, ...] = ()
    said: JsonObject | None = None


def read_commit(table: Folder, version: int) -> Commit | None:
    """One commit, or None when there is none (or its file was cleaned up)."""
    text = table.read_text(f"{_LOG}/{version:020d}.json")
    return None if text is None else _parse(version, text)


def latest_version(table: Folder) -> int | None:
    """The version of the newest commit file, or None when there is no table."""
    versions = [int(name.removesuffix(".json")) for name in table.names(_LOG) if _is_commit(name)]
    return max(versions, default=None)


@dataclass(frozen=True, slots=True)
class Search:
    """The commit that was looked for, if it is among the last few; `saw_all` when there are no others."""

    commit: Commit | None
    saw_all: bool


def search(table: Folder, transaction: Transaction) -> Search:
    """Look for the newest commit that carries this transaction (or, as Delta judges, a later one of its application)."""
    recent = _newest_first(table)[:_RECENT]
    for version in recent:
        commit = read_commit(table, version)
        if commit is not None and _carries(commit.transactions, transaction):
            return Search(commit, saw_all=False)
    return Search(None, saw_all=0 in recent)


def carrying(table: Folder, transaction: Transaction) -> Commit | None:
    """The commit that carries exactly this transaction; None where it can't be looked up: there is none, very many others
    came after it, or the log was cleaned up."""
    for version in _newest_first(table)[:_FAR]:
        commit = read_commit(table, version)
        found = () if commit is None else commit.transactions
        numbers = [one.version for one in found if one.application == transaction.application]
        if transaction.version in numbers:
            return commit
        if any(number < transaction.version for number in numbers):
            # They only rise.
            return None
    return None


def built_from(commit: Commit, reused: bool) -> Built:
    """What a build wrote, from the statistics of its one commit."""
    rows = sum(json.loads(add.get("stats") or "{}").get("numRecords", 0) for add in commit.adds)
    return Built(
        rows=rows,
        bytes=sum(int(add["size"]) for add in commit.adds),
        columns=columns_of(StructType.fromJson(json.loads(commit.schema or '{"type": "struct", "fields": []}'))),
        reused=reused,
    )


def columns_of(schema: StructType) -> tuple[ColumnType, ...]:
    """A schema's columns with their types as SQL writes them."""
    return tuple(ColumnType(part.name, part.dataType.simpleString(), part.nullable) for part in schema.fields)


def _newest_first(table: Folder) -> list[int]:
    return sorted((int(name.removesuffix(".json")) for name in table.names(_LOG) if _is_commit(name)), reverse=True)


def _is_commit(name: str) -> bool:
    return len(name) == 25 and name.endswith(".json") and name[:20].isdigit()


def _carries(found: Iterable[Transaction], wanted: Transaction) -> bool:
    return any(one.application == wanted.application and one.version >= wanted.version for one in found)


def _parse(version: int, text: str) -> Commit:
    adds: list[dict[str, Any]] = []
    transactions: list[Transaction] = []
    schema: str | None = None
    metrics: dict[str, str] = {}
    said: JsonObject | None = None
    for action in json_lines(text):
        if "add" in action:
            adds.append(action["add"])
        elif "txn" in action:
            transactions.append(Transaction(action["txn"]["appId"], int(action["txn"]["version"])))
        elif "metaData" in action:
            schema = action["metaData"]["schemaString"]
        elif "commitInfo" in action:
            metrics = {name: str(value) for name, value in (action["commitInfo"].get("operationMetrics") or {}).items()}
            said = _said(action["commitInfo"].get(USER_METADATA))
    return Commit(version, tuple(adds), schema, metrics, tuple(transactions), said)


def _said(text: str | None) -> JsonObject | None:
    try:
        said = json.loads(text or "null")
    except ValueError:
        # Whoever writes to a sink beside us may say what he likes.
        return None
    return said if isinstance(said, dict) else None
