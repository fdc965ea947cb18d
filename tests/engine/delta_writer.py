"""Real Delta tables for the recording engine: with it, a pipeline is applied and run without Spark, and what it leaves
on the disk is what everything else reads."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
from deltalake import CommitProperties, QueryBuilder, write_deltalake
from deltalake import Transaction as DeltaTransaction

from reconciler.base.digest import JsonObject, canonical_json, json_lines
from reconciler.base.errors import EngineError
from reconciler.delta.opening import open_table
from reconciler.delta.schema import column_types, delta_schema
from reconciler.delta.transactions import USER_METADATA
from reconciler.engine.protocol import Transaction
from reconciler.testing.tables import Contents

_Stats: TypeAlias = tuple[tuple[str, int, int], ...]
_KNOWN: Final[dict[tuple[str, int], tuple[_Stats, Contents]]] = {}
"""By folder and version: the contents that were read, and the files that they were read from. Tests read one version many
times."""
_MOST_KNOWN: Final = 300


def _stats(paths: Sequence[str]) -> _Stats | None:
    """Files, when each was written and how large it is; None: one of them is not there."""
    try:
        found = [(path, os.stat(path)) for path in paths]
    except OSError:
        return None
    return tuple((path, stat.st_mtime_ns, stat.st_size) for path, stat in found)


@dataclass(frozen=True, slots=True)
class DeltaWriter:
    """The writer of `testing.recording` over deltalake."""

    def latest(self, location: str) -> int | None:
        table = open_table(location)
        return None if table is None else table.version()

    def read(self, location: str, version: int) -> Contents:
        known = _KNOWN.get((location, version))
        if known is not None and _stats([path for path, *_ in known[0]]) == known[0]:
            return known[1]
        table = open_table(location, version)
        if table is None:
            raise EngineError("X730", f"there is no table at {location}")
        columns = column_types(table.schema())
        rows = pa.table(QueryBuilder().register("t", table).execute("select * from t").read_all())
        values = [rows[column.name].to_pylist(maps_as_pydicts="strict") for column in columns]
        contents = Contents(columns, tuple(zip(*values, strict=True)))
        commit = os.path.join(location, "_delta_log", f"{version:020}.json")
        stats = _stats(
            [commit, *(os.path.join(location, file) for file in table.get_add_actions(flatten=True)["path"].to_pylist())]
        )
        if stats is not None:
            if len(_KNOWN) >= _MOST_KNOWN:
                del _KNOWN[next(iter(_KNOWN))]
            _KNOWN[location, version] = stats, contents
        return contents

    def version_with(self, location: str, transaction: Transaction) -> int | None:
        table = open_table(location)
        # As Delta judges: a later transaction of the application means that this one is over.
        found = None if table is None else table.transaction_version(transaction.application)
        return None if table is None or found is None or found < transaction.version else table.version()

    def written(self, location: str, application: str) -> Mapping[int, JsonObject]:
        found: dict[int, JsonObject] = {}
        for file in sorted((Path(location) / "_delta_log").glob("*.json")):
            actions = list(json_lines(file.read_text("utf-8")))
            said = [one["commitInfo"].get(USER_METADATA) for one in actions if "commitInfo" in one]
            marks = [one["txn"] for one in actions if "txn" in one]
            numbers = [int(mark["version"]) for mark in marks if mark["appId"] == application]
            found |= {number: json.loads(text or "{}") for number in numbers for text in said}
        return found

    def write(
        self, location: str, contents: Contents, transaction: Transaction | None, said: JsonObject | None = None
    ) -> int:
        schema = pa.schema(delta_schema(contents.columns).to_arrow())
        rows = [dict(zip(schema.names, row, strict=True)) for row in contents.rows]
        marks = [DeltaTransaction(transaction.application, transaction.version)] if transaction else []
        write_deltalake(
            location,
            pa.Table.from_pylist(rows, schema=schema),
            mode="overwrite",
            schema_mode="overwrite",
            commit_properties=CommitProperties(
                app_transactions=marks, custom_metadata={USER_METADATA: canonical_json(said)} if said else None
            ),
        )
        return self.latest(location) or 0

    def vacuum(self, location: str, files: Sequence[str]) -> None:
        table = open_table(location)
        named = set(table.get_add_actions(flatten=True)["path"].to_pylist()) if table is not None else set()
        for name in files:
            if name not in named:
                (Path(location) / name).unlink(missing_ok=True)

    def remove(self, location: str) -> None:
        shutil.rmtree(location, ignore_errors=True)
