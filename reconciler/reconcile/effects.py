"""The effect of each kind of plan step, and what is pinned before it.

| step | pinned | effect | a repeat |
|---|---|---|---|
| create_table | version that is there (None) | empty Delta table | sees its own transaction, does nothing |
| evolve_table | staging folder, version to read | the engine writes the rows there | finds the folder complete |
| bootstrap_view | staging folder | the engine writes the rows there | finds the folder complete, computes nothing |
| clear_table | version to follow | one commit: new columns, no rows | sees its own transaction |
| extend_table | version to follow | one commit: more columns, no file | sees its own transaction |
| publish_table | version to follow, staging folder | one commit: the staged files | sees its own transaction |
| publish_view | version to follow, staging folder | one commit: the staged files | sees its own transaction |
| rename_relation | its folder | none: the last step writes it under its new name | the same |
| drop_relation | location | the folder is removed | finds nothing |

The transaction of an apply is its serial number, which only rises. Views are bootstrapped from: what is published, for
relations that stay, with NULL in the columns that a table is extended by; no rows, for tables that are created or cleared;
the staging folder, for tables evolved and views bootstrapped before them in the same apply. Nothing of this depends on
when or how often it runs. Folders are `folders`' to tell: a renamed relation stays where it is.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from reconciler.delta.opening import join_location
from reconciler.delta.tables import clear_table, create_table, extend_table, publish, remove_local, table_version
from reconciler.digest import JsonObject
from reconciler.engine.protocol import (
    ColumnType,
    EmptySource,
    Engine,
    StoredSource,
    TableBuild,
    Transaction,
    ViewBuild,
)
from reconciler.names import fold
from reconciler.plan.model import (
    BootstrapView,
    ClearTable,
    CommitSnapshot,
    CreateTable,
    DropRelation,
    EvolveTable,
    ExtendTable,
    PublishTable,
    PublishView,
    RenameRelation,
    Step,
)
from reconciler.plan.steps import stored_reads
from reconciler.program.model import Program, Table
from reconciler.reconcile.folders import folder_for, journal_renames, renamed_placements
from reconciler.reconcile.reading import Place, functions_for, published_place, sources_for, table_columns
from reconciler.registry.model import Journal, Placement

APPLY_TRANSACTION = "reconcile/apply"


def staging_folder(*parts: str) -> str:
    """An opaque folder name for one build of one relation: the same for a repeat, different for every other build."""
    return "v-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


class Effects:
    """The effects of one apply. `placements` are those published when the journal was opened; `clock` gives seconds, and
    only their differences count."""

    def __init__(
        self,
        engine: Engine,
        warehouse: str,
        desired: Program,
        journal: Journal,
        placements: Mapping[str, Placement],
        clock: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._warehouse = warehouse
        self._desired = desired
        self._apply_id = journal.apply_id
        self._transaction = Transaction(APPLY_TRANSACTION, journal.serial)
        self._clock = clock
        steps = [entry.step for entry in journal.entries]
        # Under the names before and after this apply: only what is dropped is known by its old one.
        self._applied_placements = placements
        self._placements = renamed_placements(placements, journal_renames(journal))
        self._emptied = {fold(s["relation"]) for s in steps if s["kind"] in ("create_table", "clear_table")}
        self._staged = {fold(s["relation"]) for s in steps if s["kind"] in ("bootstrap_view", "evolve_table")}
        self._extended = {fold(s["relation"]): s["columns"] for s in steps if s["kind"] == "extend_table"}
        self._built_rows: dict[str, int] = {
            fold(entry.step["relation"]): entry.result["rows"]
            for entry in journal.entries
            if entry.step["kind"] == "bootstrap_view" and "rows" in entry.result
        }

    def pin(self, step: Step) -> JsonObject:
        """What the step's intent records."""
        match step:
            case CreateTable():
                return {"location": self._folder(step.table), "expected": self._found(step.table)}
            case ClearTable():
                return {"location": self._folder(step.table), "expected": self._found(step.table)}
            case BootstrapView():
                return {"location": self._folder(step.view), "staging": self._staging(step.view)}
            case EvolveTable():
                location = self._folder(step.table)
                read = self._placements[fold(step.table)].version
                return {"location": location, "staging": self._staging(step.table), "read": read}
            case ExtendTable():
                return {"location": self._folder(step.table), "expected": self._found(step.table)}
            case PublishTable():
                return self._publication(step.table)
            case PublishView():
                return self._publication(step.view)
            case RenameRelation():
                return {"location": self._folder(step.desired)}
            case DropRelation():
                return {"location": folder_for(self._desired.name, step.relation, self._applied_placements)}
            case CommitSnapshot():
                return {}
            case _:
                assert_never(step)

    def run(self, step: Step, intent: JsonObject) -> JsonObject:
        """Carry the step out; the result is what the journal records of it."""
        match step:
            case CreateTable():
                return self._empty(self._table(step.table), intent)
            case ClearTable():
                return self._empty(self._table(step.table), intent)
            case BootstrapView():
                return self._bootstrap(step.view, intent)
            case EvolveTable():
                return self._evolve(step, intent)
            case ExtendTable():
                wanted = {fold(name) for name in step.columns}
                columns = tuple(c for c in table_columns(self._table(step.table)) if fold(c.name) in wanted)
                return {"version": extend_table(self._absolute(intent), columns, intent["expected"], self._transaction)}
            case PublishTable():
                return self._publish(intent, table_columns(self._table(step.table)))
            case PublishView():
                return self._publish(intent)
            case RenameRelation():
                return {}
            case DropRelation():
                remove(self._engine, self._absolute(intent))
                return {}
            case CommitSnapshot():
                return {}
            case _:
                assert_never(step)

    def _empty(self, table: Table, intent: JsonObject) -> JsonObject:
        location, columns = self._absolute(intent), table_columns(table)
        if intent["expected"] is None:
            return {"version": create_table(location, columns, self._transaction)}
        return {"version": clear_table(location, columns, intent["expected"], self._transaction)}

    def _publication(self, relation: str) -> JsonObject:
        location, staging = self._folder(relation), self._staging(relation)
        return {"location": location, "staging": staging, "expected": self._found(relation)}

    def _publish(self, intent: JsonObject, columns: tuple[ColumnType, ...] = ()) -> JsonObject:
        location, staging = self._absolute(intent), intent["staging"]
        return {"version": publish(location, staging, intent["expected"], self._transaction, columns)}

    def _evolve(self, step: EvolveTable, intent: JsonObject) -> JsonObject:
        location = self._absolute(intent)
        built = self._engine.build_table(
            TableBuild(
                table=step.table,
                source=StoredSource(step.applied, location, intent["read"]),
                columns=table_columns(self._table(step.table)),
                taken_from=tuple(column.source for column in step.columns),
                staging=join_location(location, intent["staging"]),
            )
        )
        return {"rows": built.rows, "bytes": built.bytes}

    def _bootstrap(self, name: str, intent: JsonObject) -> JsonObject:
        view = self._desired.views[fold(name)]
        build = ViewBuild(
            view=view.name,
            query=view.query,
            column_names=view.declaration.column_names,
            sources=sources_for(self._desired, [read.relation for read in view.reads], self._place()),
            staging=join_location(self._absolute(intent), intent["staging"]),
            settings=self._desired.settings.spark,
            functions=functions_for(self._desired, view.calls, [read.relation for read in view.reads]),
        )
        started = self._clock()
        built = self._engine.build_view(build)
        # Who finds the folder complete has not seen how long it took.
        seconds = None if built.reused else round(self._clock() - started, 3)
        self._built_rows[fold(name)] = built.rows
        columns = [{"name": c.name, "type": c.type, "nullable": c.nullable} for c in built.columns]
        measures = {"seconds": seconds, "rows_read": self._rows_read(fold(name))}
        return {"rows": built.rows, "bytes": built.bytes, "columns": columns, **measures}

    def _rows_read(self, key: str) -> int | None:
        """The rows of all that the view is computed from; None when those of some are not known."""
        total = 0
        for read in map(fold, stored_reads(self._desired, key)):
            placement = self._placements.get(read)
            rows = placement.rows if placement else None
            rows = 0 if read in self._emptied else self._built_rows.get(read, rows)
            if rows is None:
                return None
            total += rows
        return total

    def _place(self) -> Place:
        published = published_place(self._desired, self._warehouse, self._placements)

        def place(key: str) -> StoredSource | EmptySource:
            if key in self._emptied:
                table = self._desired.tables[key]
                return EmptySource(table.name, table_columns(table))
            if key in self._staged:
                relation = self._desired.tables.get(key) or self._desired.views[key]
                location = join_location(self._warehouse, self._folder(relation.name), self._staging(relation.name))
                return StoredSource(relation.name, location, 0)
            found = published(key)
            if key in self._extended and isinstance(found, StoredSource):
                more = {fold(name) for name in self._extended[key]}
                added = (c for c in table_columns(self._desired.tables[key]) if fold(c.name) in more)
                return replace(found, added=tuple(added))
            return found

        return place

    def _table(self, name: str) -> Table:
        return self._desired.tables[fold(name)]

    def _folder(self, relation: str) -> str:
        return folder_for(self._desired.name, relation, self._placements)

    def _found(self, relation: str) -> int | None:
        return table_version(join_location(self._warehouse, self._folder(relation)))

    def _staging(self, relation: str) -> str:
        return staging_folder(self._desired.name, self._apply_id, fold(relation))

    def _absolute(self, intent: JsonObject) -> str:
        return join_location(self._warehouse, intent["location"])


def placements_after(desired: Program, journal: Journal, before: Mapping[str, Placement]) -> dict[str, Placement]:
    """Where every stored relation stands once the journal is done."""
    after = {
        key: placement
        for key, placement in renamed_placements(before, journal_renames(journal)).items()
        if key in desired.tables or (key in desired.views and desired.views[key].is_stored)
    }
    staged = ("bootstrap_view", "evolve_table")
    built = {fold(e.step["relation"]): e.result for e in journal.entries if e.step["kind"] in staged}
    for entry in journal.entries:
        key = fold(entry.step.get("relation", ""))
        match entry.step["kind"]:
            case "create_table" | "clear_table":
                columns = table_columns(desired.tables[key])
                after[key] = Placement(entry.intent["location"], entry.result["version"], 0, columns, bytes=0)
            case "extend_table":
                after[key] = replace(after[key], version=entry.result["version"], columns=table_columns(desired.tables[key]))
            case "publish_table":
                columns, result = table_columns(desired.tables[key]), built[key]
                after[key] = Placement(
                    entry.intent["location"], entry.result["version"], result["rows"], columns, bytes=result["bytes"]
                )
            case "publish_view":
                result = built[key]
                columns = tuple(ColumnType(**column) for column in result["columns"])
                after[key] = Placement(
                    entry.intent["location"],
                    entry.result["version"],
                    result["rows"],
                    columns,
                    bytes=result["bytes"],
                    # An apply that an older version began has not measured these.
                    seconds=result.get("seconds"),
                    rows_read=result.get("rows_read"),
                )
    return dict(sorted(after.items()))


def remove(engine: Engine, location: str) -> None:
    """Remove a folder: by hand when it is local, else by the engine."""
    if not remove_local(location):
        engine.remove(location)
