"""The effect of each kind of plan step, and what is pinned before it.

| step | pinned | effect | a repeat |
|---|---|---|---|
| create_table | version that is there (None) | empty Delta table | sees its own transaction, does nothing |
| evolve_table | staging folder, version to read | the engine writes the rows there | finds the folder complete |
| bootstrap_view | staging folder | the engine writes the rows there | finds the folder complete, computes nothing |
| bootstrap_view, rows staged before | their folder | none | the same |
| bootstrap_view, rows kept | the version of its table that has them | none | the same |
| bootstrap_view, rows beside | version of another view's table, staging folder | its files are copied | copies the others |
| clear_table | version to follow | one commit: new columns, no rows | sees its own transaction |
| extend_table | version to follow | one commit: more columns, no file | sees its own transaction |
| publish_table | version to follow, staging folder | one commit: the staged files | sees its own transaction |
| publish_view | version to follow, staging folder | one commit: the staged files | sees its own transaction |
| publish_view, rows kept | versions to follow and to have again | one commit: the files of then | sees its own transaction |
| publish_view, rows beside | the same, version to follow | one commit: the copied files | sees its own transaction |
| rename_relation | its folder | none: the last step writes it under its new name | the same |
| drop_relation | location, the table's id, a folder aside | the folder is moved aside and removed | finds nothing |

The transaction of an apply is its serial number, which only rises. What is staged, and from what, is `building`'s; a
process that takes an apply over pins folders of its own for builds that are not complete, so that the one that began them
may still be alive and write. Whatever such a one does later meets a version, a transaction or an id that is not the one
that it expects: it can change nothing of what came after it. (Where no table stands any more it can still make one: an
empty one, or what it had built, if it was stopped between looking and its very first publication there. The next plan that
wants the place names it: A505.) Folders are `folders`' to tell: a renamed relation stays where it is. Whether a view's rows
are kept, and current, is `kept_rows`' to find; that is settled when its bootstrap is pinned. Should they go before they are
published, they are computed after all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, RegistryError, SetUpMissing
from reconciler.base.names import fold
from reconciler.delta.copying import copy_files, publish_copy
from reconciler.delta.opening import join_location
from reconciler.delta.removal import remove_folder, remove_table, table_identity
from reconciler.delta.restoring import restore
from reconciler.delta.tables import (
    clear_table,
    create_table,
    extend_table,
    publish,
    remove_local,
    statistics,
    table_version,
    typed_columns,
)
from reconciler.engine.protocol import ColumnType, Engine, Transaction
from reconciler.materialize.building import Building
from reconciler.materialize.kept_rows import KeptRows
from reconciler.plan.json_form import step_from_json
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
from reconciler.project.program.model import Program, Table
from reconciler.query.reading import table_columns
from reconciler.registry.model import Journal, StagedView
from reconciler.registry.placement_codec import failed_calls_from_json
from reconciler.registry.placements import Placement
from reconciler.state.folders import folder_for, journal_renames, renamed_placements
from reconciler.state.folders import staging_folder as staging_folder

APPLY_TRANSACTION = "reconcile/apply"

KEPT = "kept"
"""In an intent: rows of a view that its table has had before, and gets again; or that another view has (`location`)."""

COPIED = "copied"
"""In an intent to publish: the version of another view's table whose files were copied."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Who builds: a name that no other process has, its clock, and the results (by folder below the warehouse) of what it
    built before the journal was opened."""

    name: str
    clock: Callable[[], float]
    built: Mapping[str, JsonObject]


class Effects:
    """The effects of one apply. `placements` are those published when the journal was opened, `beside` is what was staged
    before."""

    def __init__(
        self,
        engine: Engine,
        warehouse: str,
        desired: Program,
        journal: Journal,
        placements: Mapping[str, Placement],
        builder: Builder,
        kept_rows: KeptRows | None = None,
        beside: Mapping[str, StagedView] = MappingProxyType({}),
    ) -> None:
        self._engine = engine
        self._kept_rows = kept_rows
        self._warehouse = warehouse
        self._desired = desired
        self._apply_id = journal.apply_id
        self._transaction = Transaction(APPLY_TRANSACTION, journal.serial)
        staged = {join_location(one.location, one.staging): one.result for one in beside.values()}
        self._built = {**staged, **builder.built}
        # What is dropped is known by the name that it had before this apply.
        self._applied_placements = placements
        steps = [step_from_json(entry.step) for entry in journal.entries]
        foreign = journal.foreign
        self._bootstraps = {fold(step.view): step for step in steps if isinstance(step, BootstrapView)}
        name, clock = builder.name, builder.clock
        self._building = Building(engine, warehouse, desired, steps, placements, name, clock, foreign, beside)
        for entry in journal.entries:
            if entry.step["kind"] in ("bootstrap_view", "evolve_table") and "staging" in entry.intent:
                self._building.keep(entry.step["relation"], entry.intent["staging"], entry.result.get("rows"))
            if entry.step["kind"] == "bootstrap_view" and KEPT in entry.intent:
                self._take_kept(entry.step["relation"], entry.intent)

    def pin(self, step: Step) -> JsonObject:
        """What the step's intent records."""
        match step:
            case CreateTable():
                return {"location": self._folder(step.table), "expected": self._found(step.table)}
            case ClearTable():
                return {"location": self._folder(step.table), "expected": self._found(step.table)}
            case BootstrapView():
                location = self._folder(step.view)
                if self._building.has_staged(step):
                    return {"location": location, "staging": self._building.staged(step.view)}
                kept = self._kept_rows.find(step.view, self._building) if self._kept_rows is not None else None
                if kept is None:
                    return {"location": location, "staging": self._building.choose(step)}
                return self._take_kept(step.view, {"location": location, KEPT: kept.as_json()})
            case EvolveTable():
                read = self._building.placements[fold(step.table)].version
                return {"location": self._folder(step.table), "staging": self._building.choose(step), "read": read}
            case ExtendTable():
                return {"location": self._folder(step.table), "expected": self._found(step.table)}
            case PublishTable():
                return self._publication(step.table)
            case PublishView():
                return self._publication(step.view)
            case RenameRelation():
                return {"location": self._folder(step.desired)}
            case DropRelation():
                location = folder_for(self._desired.name, step.relation, self._applied_placements)
                return {
                    "location": location,
                    "identity": table_identity(join_location(self._warehouse, location)),
                    "aside": aside(self._desired.name, self._apply_id, location),
                }
            case CommitSnapshot():
                return {}
            case _:
                assert_never(step)

    def pin_again(self, step: Step, intent: JsonObject) -> JsonObject:
        """What the intent of a step that another process began records from now on: another folder, where its own is not
        complete, since that process may still write there. Rows that are kept stay the same, unless they went meanwhile."""
        match step:
            case BootstrapView() if KEPT in intent:
                if self._kept_rows is None or self._kept_rows.are_there(intent[KEPT], intent["location"]):
                    return intent
                self._building.drop_kept(step.view)
                return self.pin(step)
            case BootstrapView() if not self._building.is_complete(step.view):
                return self.pin(step)
            case EvolveTable() if not self._building.is_complete(step.table):
                return self.pin(step)
            case _:
                return intent

    def run(self, step: Step, intent: JsonObject) -> JsonObject:
        """Carry the step out; the result is what the journal records of it."""
        match step:
            case CreateTable():
                return self._empty(self._table(step.table), intent)
            case ClearTable():
                return self._empty(self._table(step.table), intent)
            case BootstrapView() if KEPT in intent:
                return self._kept(intent)
            case BootstrapView() | EvolveTable():
                return self._measured(self._building.build(step), self._built.get(built_folder(intent)))
            case ExtendTable():
                wanted = {fold(name) for name in step.columns}
                columns = tuple(c for c in table_columns(self._table(step.table)) if fold(c.name) in wanted)
                return {"version": extend_table(self._absolute(intent), columns, intent["expected"], self._transaction)}
            case PublishTable():
                return self._publish(intent, table_columns(self._table(step.table)))
            case PublishView() if KEPT in intent or COPIED in intent:
                return self._publish_kept(step.view, intent)
            case PublishView() if self._building.takes_staged(step.view) and not self._building.is_complete(step.view):
                # Somebody took its files since they were pinned.
                return self._publish_anew(step.view, intent)
            case PublishView():
                return self._publish(intent)
            case RenameRelation():
                return {}
            case DropRelation():
                self._drop(intent)
                return {}
            case CommitSnapshot():
                return {}
            case _:
                assert_never(step)

    def _take_kept(self, view: str, intent: JsonObject) -> JsonObject:
        """Take rows that are kept; what the intent records."""
        kept = intent[KEPT]
        if "location" not in kept:
            self._building.take_kept(view, kept["version"], kept["step"])
            return intent
        before = intent.get("staging")
        copied = self._building.take_copied(view, kept["location"], kept["version"], kept["step"], before)
        return {**intent, "staging": copied.staging}

    def _kept(self, intent: JsonObject) -> JsonObject:
        kept = intent[KEPT]
        location, version = join_location(self._warehouse, kept.get("location", intent["location"])), kept["version"]
        if "location" in kept:
            copy_files(location, version, join_location(self._absolute(intent), intent["staging"]))
        found = statistics(location, version)
        columns = [{"name": c.name, "type": c.type, "nullable": c.nullable} for c in typed_columns(location, version)]
        return {
            "rows": found.rows if found is not None else None,
            "bytes": found.bytes if found is not None else None,
            "columns": columns,
        }

    def _measured(self, result: JsonObject, before: JsonObject | None) -> JsonObject:
        """The result of a build; how long it took, if that was before the journal was opened."""
        if before is None or result.get("seconds", 0.0) is not None:
            return result
        return {**result, "seconds": before["seconds"]}

    def _empty(self, table: Table, intent: JsonObject) -> JsonObject:
        location, columns = self._absolute(intent), table_columns(table)
        if intent["expected"] is None:
            return {"version": create_table(location, columns, self._transaction)}
        return {"version": clear_table(location, columns, intent["expected"], self._transaction)}

    def _publication(self, relation: str) -> JsonObject:
        intent = {"location": self._folder(relation), "expected": self._found(relation)}
        copied = self._building.copied(relation)
        if copied is not None:
            return {**intent, "staging": copied.staging, COPIED: {"location": copied.location, "version": copied.version}}
        kept = self._building.kept_version(relation)
        return {**intent, "staging": self._building.staged(relation)} if kept is None else {**intent, KEPT: kept}

    def _publish(self, intent: JsonObject, columns: tuple[ColumnType, ...] = ()) -> JsonObject:
        location, staging = self._absolute(intent), intent["staging"]
        return {"version": publish(location, staging, intent["expected"], self._transaction, columns)}

    def _publish_kept(self, view: str, intent: JsonObject) -> JsonObject:
        location, expected = self._absolute(intent), intent["expected"]
        try:
            if COPIED in intent:
                source, version = join_location(self._warehouse, intent[COPIED]["location"]), intent[COPIED]["version"]
                return {"version": publish_copy(location, intent["staging"], source, version, expected, self._transaction)}
            return {"version": restore(location, intent[KEPT], expected, self._transaction)}
        except EngineError as error:
            if error.code != "X730":
                raise
        # They were there when they were pinned: somebody took them since. Others may be published by now, and there is no
        # way back; they are what a bootstrap gives.
        self._building.drop_kept(view)
        return self._publish_anew(view, intent)

    def _publish_anew(self, view: str, intent: JsonObject) -> JsonObject:
        bootstrap = self._bootstraps[fold(view)]
        staging = self._building.choose(bootstrap)
        self._building.build(bootstrap)
        return self._publish({**intent, "staging": staging})

    def _drop(self, intent: JsonObject) -> None:
        if "identity" not in intent:  # an apply that an older version began
            remove(self._engine, self._absolute(intent))
            return
        location, beside = self._absolute(intent), join_location(self._warehouse, intent["aside"])
        if not remove_table(location, intent["identity"], beside) and table_identity(location) == intent["identity"]:
            self._engine.remove(location)

    def _table(self, name: str) -> Table:
        return self._desired.tables[fold(name)]

    def _folder(self, relation: str) -> str:
        return self._building.folder(relation)

    def _found(self, relation: str) -> int | None:
        return table_version(join_location(self._warehouse, self._folder(relation)))

    def _absolute(self, intent: JsonObject) -> str:
        return join_location(self._warehouse, intent["location"])


def built_folder(intent: JsonObject) -> str:
    """The staging folder that a build's intent names, below the warehouse."""
    return join_location(intent["location"], intent["staging"])


def aside(pipeline: str, apply_id: str, location: str) -> str:
    """Where an apply moves the folder of a table that it removes, before it does."""
    return join_location(pipeline, staging_folder(apply_id, "aside", location))


def placements_after(desired: Program, journal: Journal, before: Mapping[str, Placement]) -> dict[str, Placement]:
    """Where every stored relation stands once the journal is done."""
    # What neither side has stays: a restore has left it where it stands.
    dropped = {fold(e.step["relation"]) for e in journal.entries if e.step["kind"] == "drop_relation"}
    after = {
        key: placement
        for key, placement in renamed_placements(before, journal_renames(journal)).items()
        if key not in dropped
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
                    failed_calls=failed_calls_from_json(result),
                )
    return dict(sorted(after.items()))


def remove(engine: Engine, location: str) -> None:
    """Remove a folder: by hand when it is local, else by the engine, and where that can't be had, object by object."""
    if remove_local(location):
        return
    try:
        engine.remove(location)
    except (EngineError, SetUpMissing) as refusal:
        try:
            remove_folder(location)
        except RegistryError:
            raise refusal from None
