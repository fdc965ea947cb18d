"""The effect of each kind of plan step, and what is pinned before it.

| step | pinned | effect | a repeat |
|---|---|---|---|
| create_table | version that is there (None) | empty Delta table | sees its own transaction, does nothing |
| evolve_table | staging folder, version to read | the engine writes the rows there | finds the folder complete |
| bootstrap_view | staging folder | the engine writes the rows there | finds the folder complete, computes nothing |
| bootstrap_view, rows staged before | their folder | none | the same |
| bootstrap_view, rows reused | the version of its table that has them | none | the same |
| bootstrap_view, rows of another view | version of that view's table, staging folder | its files are copied | copies the
rest |
| clear_table | version to follow | one commit: new columns, no rows | sees its own transaction |
| extend_table | version to follow | one commit: more columns, no file | sees its own transaction |
| publish_table | version to follow, staging folder | one commit: the staged files | sees its own transaction |
| publish_view | version to follow, staging folder | one commit: the staged files | sees its own transaction |
| publish_view, rows reused | current version, version to bring back | one commit: the files of that version | sees its own
transaction |
| publish_view, rows of another view | the same, version to follow | one commit: the copied files | sees its own transaction
|
| rename_relation | its folder | none: the last step writes it under its new name | the same |
| drop_relation | location, the table's id, a folder aside | the folder is moved aside and removed | finds nothing |

The transaction of an apply is its serial number, which only rises. `building` decides what is staged, and from what.

A process that takes an apply over pins new folders for builds that are not complete, because the first process may still be
alive and write. Whatever the first process writes later fails: it meets a version, a transaction or an id that it does not
expect. There is one exception: where no table stands any more it can make one, empty or with what it had built, if it was
stopped between its look and its very first publication there. The next plan that needs the folder reports it (A505).

`state.folders` decides on folders: a rename moves none. `kept_rows` decides, when a bootstrap is pinned, whether a view's
rows can be reused. If they vanish before they are published, the view is computed.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError, RegistryError, SetUpMissing
from reconciler.base.names import fold
from reconciler.delta.copying import copy_files, publish_copy
from reconciler.delta.opening import join_location
from reconciler.delta.publishing import publish
from reconciler.delta.removal import remove_folder, remove_table, table_identity
from reconciler.delta.restoring import restore
from reconciler.delta.tables import (
    clear_table,
    create_table,
    extend_table,
    remove_local,
    statistics,
    table_version,
    typed_columns,
)
from reconciler.engine.protocol import ColumnType, Engine, Transaction
from reconciler.materialize.building import Building, PlannedBuilds
from reconciler.materialize.kept_rows import KeptRows
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.operations.publish_view import PublishView
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.operations.step import Step
from reconciler.project.program.model import Program, Table
from reconciler.query.reading import table_columns
from reconciler.registry.entries import (
    BuildIntent,
    BuildResult,
    CommitResult,
    DropIntent,
    EntryIntent,
    EntryResult,
    KeptIntent,
    PublishCopyIntent,
    PublishIntent,
    PublishKeptIntent,
    RenameIntent,
    TableIntent,
)
from reconciler.registry.model import Journal, StagedView
from reconciler.registry.placements import Placement
from reconciler.state.folders import folder_for, journal_renames, renamed_placements
from reconciler.state.folders import staging_folder as staging_folder

APPLY_TRANSACTION = "reconcile/apply"


@dataclass(frozen=True, slots=True)
class Builder:
    """Who builds: a name that no other process has, its clock, and the results (by folder below the warehouse) of what it
    built before the journal was opened."""

    name: str
    clock: Callable[[], float]
    built: Mapping[str, BuildResult]


def builds_of(
    journal: Journal, desired: Program, placements: Mapping[str, Placement], staged: Mapping[str, StagedView]
) -> PlannedBuilds:
    """The builds of an apply whose journal is open. `placements` are those published when the journal was opened."""
    steps = tuple(entry.step for entry in journal.entries)
    return PlannedBuilds(desired, steps, placements, journal.foreign, staged)


class Effects:
    """The effects of one apply, whose builds are `planned` (`builds_of`)."""

    def __init__(
        self,
        engine: Engine,
        warehouse: str,
        journal: Journal,
        planned: PlannedBuilds,
        builder: Builder,
        kept_rows: KeptRows | None = None,
    ) -> None:
        self._engine = engine
        self._kept_rows = kept_rows
        self._warehouse = warehouse
        self._desired = planned.desired
        self._apply_id = journal.apply_id
        self._transaction = Transaction(APPLY_TRANSACTION, journal.serial)
        staged = {one.folder: one.result for one in planned.staged.values()}
        self._built = {**staged, **builder.built}
        # What is dropped is known by the name that it had before this apply.
        self._applied_placements = planned.placements
        self._bootstraps = {fold(step.relation): step for step in planned.steps if isinstance(step, BootstrapView)}
        self._building = Building(engine, warehouse, planned, builder.name, builder.clock)
        for entry in journal.entries:
            match entry.step, entry.intent:
                case EvolveTable(relation=relation) | BootstrapView(relation=relation), BuildIntent() as built:
                    self._building.keep(relation, built.staging, _rows(entry.result))
                case BootstrapView(relation=relation), KeptIntent() as kept:
                    if kept.staging is not None:
                        self._building.keep(relation, kept.staging, _rows(entry.result))
                    self._take_kept(relation, kept)

    def pin(self, step: Step) -> EntryIntent:
        """What the step's intent records."""
        match step:
            case CreateTable() | ClearTable() | ExtendTable():
                return TableIntent(self._folder(step.relation), self._found(step.relation))
            case BootstrapView():
                location = self._folder(step.relation)
                if self._building.has_staged(step):
                    return BuildIntent(location, self._building.staged(step.relation))
                kept = self._kept_rows.find(step.relation, self._building) if self._kept_rows is not None else None
                if kept is None:
                    return BuildIntent(location, self._building.choose(step))
                return self._take_kept(step.relation, KeptIntent(location, kept))
            case EvolveTable():
                read = self._building.placements[fold(step.relation)].version
                return BuildIntent(self._folder(step.relation), self._building.choose(step), read)
            case PublishTable() | PublishView():
                return self._publication(step.relation)
            case RenameRelation():
                return RenameIntent(self._folder(step.relation))
            case DropRelation():
                location = folder_for(self._desired.name, step.relation, self._applied_placements)
                identity = table_identity(join_location(self._warehouse, location))
                return DropIntent(location, identity, aside(self._desired.name, self._apply_id, location))
            case CommitSnapshot():
                raise AssertionError("the last entry of a journal is the apply's own")
            case _:
                assert_never(step)

    def pin_again(self, step: Step, intent: EntryIntent) -> EntryIntent:
        """What the intent of a step that another process began records from now on: another folder, where its own is not
        complete, since that process may still write there. Rows that are kept stay the same, unless they went meanwhile."""
        match step:
            case BootstrapView() if isinstance(intent, KeptIntent):
                if self._kept_rows is None or self._kept_rows.are_there(intent.kept, intent.location):
                    return intent
                self._building.drop_kept(step.relation)
                return self.pin(step)
            case BootstrapView() | EvolveTable() if not self._building.is_complete(step.relation):
                return self.pin(step)
            case _:
                return intent

    def run(self, step: Step, intent: EntryIntent) -> EntryResult | None:
        """Carry the step out; the result is what the journal records of it."""
        match intent:
            case TableIntent():
                return CommitResult(self._write_table(step, intent))
            case BuildIntent():
                assert isinstance(step, BootstrapView | EvolveTable)
                return self._measured(self._building.build(step), self._built.get(intent.folder))
            case KeptIntent():
                return self._kept(intent)
            case PublishIntent():
                return CommitResult(self._publish_built(step, intent))
            case PublishKeptIntent() | PublishCopyIntent():
                assert isinstance(step, PublishView)
                return CommitResult(self._publish_kept(step.relation, intent))
            case RenameIntent():
                return None
            case DropIntent():
                self._drop(intent)
                return None
            case _:
                assert_never(intent)

    def _take_kept(self, view: str, intent: KeptIntent) -> KeptIntent:
        """Take rows that are kept; what the intent records."""
        kept = intent.kept
        if kept.location is None:
            self._building.take_kept(view, kept.version, kept.step)
            return intent
        copied = self._building.take_copied(view, kept.location, kept.version, kept.step, intent.staging)
        return replace(intent, staging=copied.staging)

    def _kept(self, intent: KeptIntent) -> BuildResult:
        kept = intent.kept
        location = join_location(self._warehouse, kept.location or intent.location)
        if intent.staging is not None:
            copy_files(location, kept.version, join_location(self._absolute(intent), intent.staging))
        found = statistics(location, kept.version)
        rows, size = (found.rows, found.bytes) if found is not None else (None, None)
        return BuildResult(rows, size, tuple(typed_columns(location, kept.version)))

    def _measured(self, result: BuildResult, before: BuildResult | None) -> BuildResult:
        """The result of a build; how long it took, if that was before the journal was opened."""
        return replace(result, seconds=before.seconds) if before is not None and result.seconds is None else result

    def _write_table(self, step: Step, intent: TableIntent) -> int:
        location = self._absolute(intent)
        if isinstance(step, ExtendTable):
            wanted = {fold(name) for name in step.columns}
            columns = tuple(c for c in table_columns(self._table(step.relation)) if fold(c.name) in wanted)
            return extend_table(location, columns, intent.expected, self._transaction)
        assert isinstance(step, CreateTable | ClearTable)
        columns = table_columns(self._table(step.relation))
        if intent.expected is None:
            return create_table(location, columns, self._transaction)
        return clear_table(location, columns, intent.expected, self._transaction)

    def _publication(self, relation: str) -> PublishIntent | PublishKeptIntent | PublishCopyIntent:
        location, expected = self._folder(relation), self._found(relation)
        copied = self._building.copied(relation)
        if copied is not None:
            return PublishCopyIntent(location, expected, copied.staging, copied.location, copied.version)
        kept = self._building.kept_version(relation)
        if kept is not None:
            return PublishKeptIntent(location, expected, kept)
        return PublishIntent(location, expected, self._building.staged(relation))

    def _publish_built(self, step: Step, intent: PublishIntent) -> int:
        if isinstance(step, PublishTable):
            return self._publish(intent, table_columns(self._table(step.relation)))
        assert isinstance(step, PublishView)
        if self._building.takes_staged(step.relation) and not self._building.is_complete(step.relation):
            # Somebody took its files since they were pinned.
            return self._publish_anew(step.relation, intent)
        return self._publish(intent)

    def _publish(self, intent: PublishIntent, columns: tuple[ColumnType, ...] = ()) -> int:
        return publish(self._absolute(intent), intent.staging, intent.expected, self._transaction, columns)

    def _publish_kept(self, view: str, intent: PublishKeptIntent | PublishCopyIntent) -> int:
        location, expected = self._absolute(intent), intent.expected
        try:
            if isinstance(intent, PublishCopyIntent):
                source = join_location(self._warehouse, intent.source)
                return publish_copy(location, intent.staging, source, intent.version, expected, self._transaction)
            return restore(location, intent.version, expected, self._transaction)
        except EngineError as error:
            if error.code != "X730":
                raise
        # They were there when they were pinned: somebody took them since. Others may be published by now, and there is no
        # way back; they are what a bootstrap gives.
        self._building.drop_kept(view)
        return self._publish_anew(view, intent)

    def _publish_anew(self, view: str, intent: PublishIntent | PublishKeptIntent | PublishCopyIntent) -> int:
        bootstrap = self._bootstraps[fold(view)]
        staging = self._building.choose(bootstrap)
        self._building.build(bootstrap)
        return self._publish(PublishIntent(intent.location, intent.expected, staging))

    def _drop(self, intent: DropIntent) -> None:
        if intent.aside is None:
            remove(self._engine, self._absolute(intent))
            return
        location, beside = self._absolute(intent), join_location(self._warehouse, intent.aside)
        if not remove_table(location, intent.identity, beside) and table_identity(location) == intent.identity:
            self._engine.remove(location)

    def _table(self, name: str) -> Table:
        return self._desired.tables[fold(name)]

    def _folder(self, relation: str) -> str:
        return self._building.folder(relation)

    def _found(self, relation: str) -> int | None:
        return table_version(join_location(self._warehouse, self._folder(relation)))

    def _absolute(self, intent: EntryIntent) -> str:
        return join_location(self._warehouse, intent.location)


def _rows(result: EntryResult | None) -> int | None:
    return result.rows if isinstance(result, BuildResult) else None


def aside(pipeline: str, apply_id: str, location: str) -> str:
    """Where an apply moves the folder of a table that it removes, before it does."""
    return join_location(pipeline, staging_folder(apply_id, "aside", location))


def placements_after(desired: Program, journal: Journal, before: Mapping[str, Placement]) -> dict[str, Placement]:
    """Where every stored relation stands once the journal is done."""
    # What neither side has stays: a restore has left it where it stands.
    dropped = {fold(e.step.relation) for e in journal.entries if isinstance(e.step, DropRelation)}
    after = {
        key: placement
        for key, placement in renamed_placements(before, journal_renames(journal)).items()
        if key not in dropped
    }
    built = {fold(e.step.relation): e.result for e in journal.entries if isinstance(e.step, BootstrapView | EvolveTable)}
    for entry in journal.entries:
        if not isinstance(entry.result, CommitResult) or entry.intent is None:
            continue
        location, version = entry.intent.location, entry.result.version
        match entry.step:
            case CreateTable() | ClearTable():
                key = fold(entry.step.relation)
                after[key] = Placement(location, version, 0, table_columns(desired.tables[key]), bytes=0)
            case ExtendTable():
                key = fold(entry.step.relation)
                after[key] = replace(after[key], version=version, columns=table_columns(desired.tables[key]))
            case PublishTable():
                key = fold(entry.step.relation)
                after[key] = _placement(location, version, built[key], table_columns(desired.tables[key]))
            case PublishView():
                key = fold(entry.step.relation)
                after[key] = _placement(location, version, built[key])
    return dict(sorted(after.items()))


def _placement(location: str, version: int, built: EntryResult | None, columns: tuple[ColumnType, ...] = ()) -> Placement:
    assert isinstance(built, BuildResult)
    return Placement(
        location,
        version,
        built.rows,
        columns or built.columns,
        bytes=built.bytes,
        seconds=built.seconds,
        rows_read=built.rows_read,
        failed_calls=built.failed_calls,
    )


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
