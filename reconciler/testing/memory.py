"""A registry in memory: the fake that shares the Delta registry's contract tests. Values pass through JSON, as there."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reconciler.base.digest import JsonObject, canonical_json, digest_text
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.registry.codec import DOCUMENTS, document_from_json, document_to_json, head_from_json, head_to_json
from reconciler.registry.format import glance_from_json
from reconciler.registry.model import Head, Stored, Value
from reconciler.registry.protocol import HISTORY_COLUMNS, NUMBERS, Glance, History


class MemoryRegistry:
    """See the module. Safe for threads only as far as Python's own dictionaries are."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], tuple[int, str, str]] = {}
        self._snapshots: dict[tuple[str, str], str] = {}
        self._histories: dict[tuple[History, str], dict[str, str]] = {}
        self._reports: dict[str, str] = {}

    def pipelines(self) -> tuple[str, ...]:
        return tuple(sorted(pipeline for pipeline, name in self._documents if name == "head"))

    def head(self, pipeline: str) -> Stored[Head] | None:
        found = self._documents.get((pipeline, "head"))
        return None if found is None else Stored(found[0], head_from_json(json.loads(found[1]), pipeline))

    def glance(self, pipeline: str) -> Glance | None:
        found = self._documents.get((pipeline, "head"))
        return None if found is None else glance_from_json(json.loads(found[1]), pipeline)

    def replace_head(self, token: int | None, head: Head, write_id: str) -> Stored[Head]:
        text = canonical_json(head_to_json(head))
        return Stored(self._replace(head.pipeline, "head", token, text, write_id), head)

    def document(self, pipeline: str, kind: type[Value]) -> Stored[Value] | None:
        found = self._documents.get((pipeline, DOCUMENTS[kind]))
        return None if found is None else Stored(found[0], document_from_json(kind, json.loads(found[1]), pipeline))

    def replace_document(self, pipeline: str, token: int | None, document: Value, write_id: str) -> Stored[Value]:
        text = canonical_json(document_to_json(document))
        return Stored(self._replace(pipeline, DOCUMENTS[type(document)], token, text, write_id), document)

    def report(self, pipeline: str) -> JsonObject | None:
        found = self._reports.get(pipeline)
        return None if found is None else dict(json.loads(found))

    def replace_report(self, pipeline: str, report: JsonObject) -> None:
        self._reports[pipeline] = canonical_json(report)

    def update_report(self, pipeline: str, change: Callable[[JsonObject | None], JsonObject | None]) -> None:
        while True:
            known = self._reports.get(pipeline)
            report = change(self.report(pipeline))
            if report is None:
                return
            if self._reports.get(pipeline) == known:
                self.replace_report(pipeline, report)
                return

    def snapshot(self, pipeline: str, record: str) -> tuple[Mapping[str, Any], ...]:
        found = self._snapshots.get((pipeline, record))
        if found is None:
            raise RegistryError("G601", f"the registry lacks the applied definitions {record} of {pipeline!r}")
        if digest_text(found) != record:
            raise RegistryError("G602", f"the applied definitions {record} of {pipeline!r} are not what was stored")
        return tuple(sorted(json.loads(found), key=lambda row: (row["kind"], row["name"])))

    def write_snapshot(self, pipeline: str, record: str, objects: Sequence[Mapping[str, Any]]) -> None:
        self._snapshots.setdefault(
            (pipeline, record), canonical_json(sorted(objects, key=lambda row: (row["kind"], row["name"])))
        )

    def record(self, history: History, pipeline: str, rows: Sequence[Mapping[str, str]], batch: str) -> None:
        for row in rows:
            if set(row) != set(HISTORY_COLUMNS[history]):
                raise ValueError(f"{history.value} has columns {HISTORY_COLUMNS[history]}, not {sorted(row)}")
        self._histories.setdefault((history, pipeline), {}).setdefault(batch, canonical_json(list(rows)))

    def append(self, history: History, pipeline: str, rows: Sequence[Mapping[str, str]], serial: int | None) -> None:
        batches = self._histories.setdefault((history, pipeline), {})
        serials = [int(batch.removeprefix("serial:")) for batch in batches if batch.startswith("serial:")]
        if serial is not None and serial <= max(serials, default=-1):
            return
        self.record(history, pipeline, rows, f"serial:{serial}" if serial is not None else f"row:{len(batches)}")

    def history(self, history: History, pipeline: str, **equal: str) -> tuple[Mapping[str, Any], ...]:
        kept = self._equal_rows(history, pipeline, equal)
        return tuple(sorted(kept, key=lambda row: tuple(row[column] for column in ("at", *HISTORY_COLUMNS[history]))))

    def last_rows(
        self,
        history: History,
        pipeline: str,
        columns: Sequence[str],
        by: str,
        limit: int | None,
        between: tuple[int, int] | None = None,
        **equal: str,
    ) -> tuple[Mapping[str, Any], ...]:
        found = self._equal_rows(history, pipeline, equal)
        if between is not None:
            found = [row for row in found if between[0] <= int(row[by]) <= between[1]]
        rows = sorted(found, key=lambda row: int(row[by]) if by in NUMBERS else row[by])
        last = rows if limit is None else rows[max(0, len(rows) - limit) :]
        return tuple({column: row[column] for column in columns} for row in last)

    def _equal_rows(self, history: History, pipeline: str, equal: Mapping[str, str]) -> list[Mapping[str, Any]]:
        batches = self._histories.get((history, pipeline), {}).values()
        nothing = dict.fromkeys(HISTORY_COLUMNS[history], "")
        rows = ({**nothing, **row} for batch in batches for row in json.loads(batch))
        return [row for row in rows if all(row[column] == value for column, value in equal.items())]

    def _replace(self, pipeline: str, name: str, token: int | None, text: str, write_id: str) -> int:
        found = self._documents.get((pipeline, name))
        if found is not None and found[2] == write_id:
            return found[0]
        if (None if found is None else found[0]) != token:
            raise RegistryConflict("G604", f"the {name} of {pipeline!r} was written by somebody else meanwhile")
        version = 0 if token is None else token + 1
        self._documents[(pipeline, name)] = (version, text, write_id)
        return version
