"""The registry as Delta tables under `<warehouse>/_registry`, read and written without a JVM.

    _registry/pipelines                       one row a pipeline, appended at its first apply
    _registry/<pipeline>/head                 one document, compare-and-set
    _registry/<pipeline>/lease                one document, compare-and-set
    _registry/<pipeline>/controls             one document, compare-and-set
    _registry/<pipeline>/aliases              one document, compare-and-set
    _registry/<pipeline>/readers              one document, compare-and-set
    _registry/<pipeline>/reached              one document, compare-and-set
    _registry/<pipeline>/deployment           one document, compare-and-set
    _registry/<pipeline>/report               one document, written by whoever runs the pipeline
    _registry/<pipeline>/snapshots/<record>   the definitions of one applied program, immutable
    _registry/<pipeline>/{applies,journal,approvals,rejections,audit,steps,events,checkpoints,versions,activations,
                          renames,prunes}     histories, append-only

Every pipeline has tables of its own, so pipelines never wait for each other; and reading a head or a snapshot costs the
same however long the histories are.

Codecs are imported where they are used: a glance at a head, which is all that most plans need, decodes nothing else.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from reconciler.base.digest import JsonObject, canonical_json, digest_text, read_json
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.connectors.registry_folder import REGISTRY_FOLDER
from reconciler.delta.documents import Document, DocumentTable
from reconciler.delta.histories import HistoryTable
from reconciler.delta.opening import first_line, join_location, store_hint
from reconciler.delta.seen_tables import SeenTables
from reconciler.registry.format import glance_from_json
from reconciler.registry.protocol import HISTORY_COLUMNS, NUMBERS, Glance, History

if TYPE_CHECKING:
    from reconciler.registry.model import Head, Stored

Value = TypeVar("Value")

_Definitions: TypeAlias = dict[tuple[str, str], tuple[Mapping[str, str], ...]]
"""Of each pipeline and record the rows."""
_SNAPSHOT_COLUMNS = ("kind", "name", "definition")
_TRIES = 10
_KEPT = 4
"""So many applied programs are kept in memory as they were read."""
_KEPT_SIGNS = 16_000_000
"""More are kept while their definitions have no more signs than that: a service is asked for the same ones all the time."""


class DeltaRegistry:
    """The registry of one warehouse (an absolute path or URI). `kept_signs`: how much of programs stays in memory."""

    def __init__(self, warehouse: str, kept_signs: int = _KEPT_SIGNS) -> None:
        self._root = join_location(warehouse, REGISTRY_FOLDER)
        self._seen = SeenTables()
        self._definitions: _Definitions = {}
        self._kept_signs = kept_signs

    def pipelines(self) -> tuple[str, ...]:
        return tuple(sorted({row["pipeline"] for row in self._index().read()}))

    def head(self, pipeline: str) -> "Stored[Head] | None":
        from reconciler.registry.codec import head_from_json
        from reconciler.registry.model import Stored

        with _restorable(self._document(pipeline, "head").location):
            document, location = self._head_document(pipeline)
            return None if document is None else Stored(document.version, head_from_json(document.value, location))

    def glance(self, pipeline: str) -> Glance | None:
        with _restorable(self._document(pipeline, "head").location):
            document, location = self._head_document(pipeline)
            return None if document is None else glance_from_json(document.value, location)

    def _head_document(self, pipeline: str) -> tuple[Document | None, str]:
        table = self._document(pipeline, "head")
        document = table.read()
        if document is not None or not self._index().read(pipeline=pipeline):
            return document, table.location
        # The index is written after the head, which may have been made since.
        document = table.read()
        if document is None:
            message = f"the registry knows pipeline {pipeline!r}, but its head at {table.location} is missing"
            raise RegistryError("G601", message)
        return document, table.location

    def replace_head(self, token: int | None, head: "Head", write_id: str) -> "Stored[Head]":
        from reconciler.registry.codec import head_to_json
        from reconciler.registry.model import Stored

        written = self._document(head.pipeline, "head").replace(token, head_to_json(head), write_id)
        if token is None or token == 0:
            # After the head, and again with the second write: a crash between the two must not hide the pipeline, and an
            # index that names a pipeline without a head would look like damage.
            self._index().append([{"pipeline": head.pipeline}], f"pipeline:{head.pipeline}")
        return Stored(written.version, head)

    def document(self, pipeline: str, kind: type[Value]) -> "Stored[Value] | None":
        from reconciler.registry.codec import DOCUMENTS, document_from_json
        from reconciler.registry.model import Stored

        table = self._document(pipeline, DOCUMENTS[kind])
        document = table.read()
        return (
            None if document is None else Stored(document.version, document_from_json(kind, document.value, table.location))
        )

    def replace_document(self, pipeline: str, token: int | None, document: Value, write_id: str) -> "Stored[Value]":
        from reconciler.registry.codec import DOCUMENTS, document_to_json
        from reconciler.registry.model import Stored

        table = self._document(pipeline, DOCUMENTS[type(document)])
        return Stored(table.replace(token, document_to_json(document), write_id).version, document)

    def report(self, pipeline: str) -> JsonObject | None:
        document = self._document(pipeline, "report").read()
        return None if document is None else document.value

    def replace_report(self, pipeline: str, report: JsonObject) -> None:
        self.update_report(pipeline, lambda before: report)

    def update_report(self, pipeline: str, change: Callable[[JsonObject | None], JsonObject | None]) -> None:
        table = self._document(pipeline, "report")
        for attempt in range(1, _TRIES + 1):
            document = table.read()
            report = change(None if document is None else document.value)
            if report is None:
                return
            try:
                table.replace(None if document is None else document.version, report, str(uuid.uuid4()))
            except RegistryConflict:
                if attempt == _TRIES:
                    raise
            else:
                return

    def snapshot(self, pipeline: str, record: str) -> tuple[Mapping[str, Any], ...]:
        key = pipeline, record
        rows = self._definitions.get(key) or self._read_definitions(pipeline, record)
        # What has its digest for a name never changes. The last ones are those that are asked for again.
        self._definitions = _last_ones(
            {one: kept for one, kept in self._definitions.items() if one != key} | {key: rows}, self._kept_signs
        )
        return tuple({**row, "definition": read_json(row["definition"])} for row in rows)

    def _read_definitions(self, pipeline: str, record: str) -> tuple[Mapping[str, str], ...]:
        table = self._snapshot(pipeline, record)
        known = f"the applied definitions {record} of {pipeline!r}"
        with _restorable(table.location):
            try:
                rows = sorted(table.read(), key=lambda row: (row["kind"], row["name"]))
            except RegistryError:
                raise
            except Exception as error:
                # Data files that are gone or garbled: deltalake raises several unrelated classes for them.
                hint = store_hint(table.location, error)
                state = "are damaged" if hint is None else "can't be read"
                raise RegistryError("G602", f"{known} {state}: {first_line(error)}", hint) from error
            if not rows:
                raise RegistryError("G601", f"the registry lacks {known}")
            # Texts as stored are canonical: nothing need be written anew to tell that all of them are as they were.
            if digest_text(f"[{','.join(map(_stored_text, rows))}]") != record:
                raise RegistryError("G602", f"{known} are damaged: their digest does not match")
        return tuple(rows)

    def write_snapshot(self, pipeline: str, record: str, objects: Sequence[Mapping[str, Any]]) -> None:
        rows = [{**row, "definition": canonical_json(row["definition"])} for row in objects]
        self._snapshot(pipeline, record).append(rows, record)

    def record(self, history: History, pipeline: str, rows: Sequence[Mapping[str, str]], batch: str) -> None:
        self._history(history, pipeline).append(rows, batch)

    def append(self, history: History, pipeline: str, rows: Sequence[Mapping[str, str]], serial: int | None) -> None:
        self._history(history, pipeline).append_serial(rows, serial)

    def history(self, history: History, pipeline: str, **equal: str) -> tuple[Mapping[str, Any], ...]:
        rows = self._history(history, pipeline).read(**equal)
        return tuple(sorted(rows, key=lambda row: tuple(row[column] for column in ("at", *HISTORY_COLUMNS[history]))))

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
        return self._history(history, pipeline).read_last(columns, by, by in NUMBERS, limit, between, **equal)

    def _index(self) -> HistoryTable:
        return HistoryTable(join_location(self._root, "pipelines"), ("pipeline",), self._seen)

    def _document(self, pipeline: str, name: str) -> DocumentTable:
        return DocumentTable(join_location(self._root, pipeline, name), seen=self._seen)

    def _snapshot(self, pipeline: str, record: str) -> HistoryTable:
        folder = record.removeprefix("sha256:")
        return HistoryTable(join_location(self._root, pipeline, "snapshots", folder), _SNAPSHOT_COLUMNS)

    def _history(self, history: History, pipeline: str) -> HistoryTable:
        return HistoryTable(join_location(self._root, pipeline, history.value), HISTORY_COLUMNS[history], self._seen)


def _last_ones(definitions: _Definitions, most_signs: int) -> _Definitions:
    """The last programs, as many as are kept; in their order."""
    kept, signs = 0, 0
    for rows in reversed(definitions.values()):
        signs += sum(len(row["definition"]) for row in rows)
        if kept >= _KEPT and signs > most_signs:
            break
        kept += 1
    return dict(list(definitions.items())[len(definitions) - kept :])


_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


def _stored_text(row: Mapping[str, str]) -> str:
    """A definition with its kind and name as canonical JSON."""
    return f'{{"definition":{row["definition"]},"kind":{_quoted(row["kind"])},"name":{_quoted(row["name"])}}}'


@contextmanager
def _restorable(location: str) -> Iterator[None]:
    """What to do about damage, for errors that do not say it themselves."""
    try:
        yield
    except RegistryError as error:
        error.hint = error.hint or f"restore {location} from a backup; without it, a plan would show everything as new"
        raise
