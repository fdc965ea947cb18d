"""The steps of a plan: what an apply does, and in which order.

What becomes of a relation's rows (`diff.model.Fate`) decides its steps:

| relation | steps |
|---|---|
| new table | CreateTable; ClearTable, where a stored view of its name stood and is read until the switch |
| table, cleared | ClearTable |
| table, evolved | EvolveTable, then PublishTable |
| table, extended | ExtendTable |
| table or view, kept | none: the snapshot says all there is to say |
| stored view, new or recomputed | BootstrapView, then PublishView |
| plain view that is stored for its first output | BootstrapView, then PublishView; it is no change of the view |
| stored table or view under another name (`moved`) | RenameRelation, beside those above; it is neither created nor dropped |
| what is no longer stored | DropRelation |

Order, and why:
1. Tables that are new are created; they are empty and nobody reads them yet.
2. Rows of tables that evolve are written under the new columns into staging folders, before the views that are computed
   from them.
3. New and modified stored views are bootstrapped in dependency order, into staging folders. These two are the long part,
   and the one that can fail; until they are done nothing that anybody reads has changed, and the apply can be taken back.
4. The switch of the permanent paths: tables are cleared, extended and published, then views published, each in one
   commit. Our readers still see the step published before, because every read names its Delta version. Tables come first,
   so that a reader of bare paths meets new views over new tables rather than over old ones.
5. Renames. They move nothing (a relation keeps its folder), so they belong to the bookkeeping of the last step; they
   stand before the drops so that what is dropped is what nobody goes on with.
6. Stored data of what was removed is dropped.
7. The snapshot is committed and readers switch, in one commit.

Views over a cleared table are evaluated against the empty table (seed: modifying a table); those over an evolved one
against its staged rows; those over an extended one against its rows with NULL in the new columns.
"""

from typing import assert_never

from reconciler.base.declarations import RelationKind
from reconciler.base.names import fold
from reconciler.diff.causes import ColumnAdded, ColumnRenamed
from reconciler.diff.model import Action, Diff, Fate, RelationChange
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.evolve_table import ColumnSource, EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.operations.publish_view import PublishView
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.operations.step import Step, place_of
from reconciler.project.program.model import Program, Table


def plan_steps(diff: Diff, applied: Program, desired: Program) -> tuple[Step, ...]:
    """The steps in order. Always ends in CommitSnapshot."""
    changes = {(fold(change.name), change.kind): change for change in diff.relations if change.action is not Action.REMOVED}
    renames = _renames(diff, applied, desired)
    # By applied name: those that go on under another one leave their name to whoever takes it.
    gone_on = {fold(rename.applied) for rename in renames}
    reads = StoredReads(desired)
    steps: list[Step] = []
    for key in desired.order:
        if key in desired.tables:
            change = changes.get((key, RelationKind.TABLE))
            if change is not None:
                stands = applied.is_stored(key) and key not in gone_on
                steps += _table_steps(change, applied, desired.tables[key], stands)
        elif _is_computed(changes.get((key, desired.views[key].relation_kind)), applied, desired, key):
            name = desired.views[key].name
            steps += (BootstrapView(name, reads.of(key)), PublishView(name))
    steps += renames
    for key, relation in sorted(applied.relations.items()):
        if relation.is_stored and key not in gone_on and not desired.is_stored(key):
            steps.append(DropRelation(relation.name, relation.relation_kind))
    # Sorting keeps the dependency order within each kind.
    return (*sorted(steps, key=place_of), CommitSnapshot())


def with_followers(steps: tuple[Step, ...], desired: Program, moved: frozenset[str]) -> tuple[Step, ...]:
    """The steps of an apply that reads other pipelines at newer steps than what is published does.

    `moved` are the keys of their relations that stand elsewhere now. Stored views that read one of them are computed as
    well, changed or not, and so are those that read such a view: what an apply publishes agrees with itself.
    """
    computed = {fold(step.relation) for step in steps if isinstance(step, BootstrapView)}
    changed = set(moved)
    followers: list[Step] = []
    reads = StoredReads(desired)
    for key in desired.order:
        view = desired.views.get(key)
        if view is None or not view.is_stored or changed.isdisjoint(map(fold, reads.of(key))):
            continue
        changed.add(key)
        computed.add(key)
    for key in desired.order:
        if key in computed:
            name = desired.views[key].name
            followers += (BootstrapView(name, reads.of(key)), PublishView(name))
    others = [step for step in steps if not isinstance(step, BootstrapView | PublishView)]
    return tuple(sorted([*others, *followers], key=place_of))


def _is_computed(change: RelationChange | None, applied: Program, desired: Program, key: str) -> bool:
    """Whether a view's rows are written: it is stored, and new or recomputed; or was not stored until now."""
    if not desired.views[key].is_stored:
        return False
    if change is not None and change.fate is not Fate.KEPT:
        return True
    before = applied.views.get(fold(change.renamed_from or change.name) if change is not None else key)
    return before is None or not before.is_stored


def _table_steps(change: RelationChange, applied: Program, table: Table, something_stands: bool) -> tuple[Step, ...]:
    if change.action is Action.ADDED:
        # What stands at its path is read until the switch: it is emptied then, not now.
        return (ClearTable(table.name),) if something_stands else (CreateTable(table.name),)
    match change.fate:
        case Fate.CLEARED | Fate.RECOMPUTED | None:
            return (ClearTable(table.name),)
        case Fate.EVOLVED:
            old = applied.tables[fold(change.renamed_from or change.name)]
            return (EvolveTable(table.name, old.name, _sources(change, old, table)), PublishTable(table.name))
        case Fate.EXTENDED:
            added = {fold(cause.column) for cause in change.causes if isinstance(cause, ColumnAdded)}
            return (ExtendTable(table.name, tuple(c.name for c in table.columns if fold(c.name) in added)),)
        case Fate.KEPT:
            return ()
        case _:
            assert_never(change.fate)


def _sources(change: RelationChange, old: Table, table: Table) -> tuple[ColumnSource, ...]:
    """Where each column of an evolved table comes from: its old self, by its old name; nowhere, when it is new."""
    moved = {fold(cause.desired): fold(cause.applied) for cause in change.causes if isinstance(cause, ColumnRenamed)}
    added = {fold(cause.column) for cause in change.causes if isinstance(cause, ColumnAdded)}
    known = {fold(column.name): column.name for column in old.columns}
    return tuple(
        ColumnSource(
            column.name,
            column.type,
            None if fold(column.name) in added else known.get(moved.get(fold(column.name), fold(column.name))),
        )
        for column in table.columns
    )


def _renames(diff: Diff, applied: Program, desired: Program) -> tuple[RenameRelation, ...]:
    """Relations that are stored before and after, under different names; sorted by the new one."""
    found = [
        RenameRelation(change.name, _name(applied, fold(change.renamed_from)), change.kind)
        for change in diff.relations
        if change.renamed_from is not None
        and applied.is_stored(fold(change.renamed_from))
        and desired.is_stored(fold(change.name))
    ]
    return tuple(sorted(found, key=lambda rename: fold(rename.relation)))


def _name(program: Program, key: str) -> str:
    relation = program.relation(key)
    if relation is None and key in program.foreign:
        return program.foreign[key].qualified_name
    return relation.name if relation is not None else key


class StoredReads:
    """The stored relations that each view of a program reads, directly or through plain and LOCAL views. Those of other
    pipelines (`pipeline.name`) are among them.

    Views may read each other in long chains. So what a view reads is a number with a bit for each stored relation: what
    thousands read through thousands is put together at once. Make one for all that is asked of a program."""

    def __init__(self, program: Program) -> None:
        stored = [key for key, relation in program.relations.items() if relation.is_stored]
        keys = sorted({*stored, *program.foreign})
        self._names = [_name(program, key) for key in keys]
        bits = {key: 1 << place for place, key in enumerate(keys)}
        through = dict(bits)
        self._of: dict[str, int] = {}
        for key in program.order:
            view = program.views.get(key)
            if view is not None:
                found = 0
                for read in view.reads:
                    found |= through.get(fold(read.relation), 0)
                self._of[key] = found
                through.setdefault(key, found)
        self._known: dict[int, tuple[str, ...]] = {}

    def of(self, key: str) -> tuple[str, ...]:
        """What a view reads, by its folded name; names, sorted."""
        found = self._of[key]
        if found not in self._known:
            # From the lowest bit on. Most views read few of all that there are.
            names, rest = [], found
            while rest:
                lowest = rest & -rest
                names.append(self._names[lowest.bit_length() - 1])
                rest ^= lowest
            self._known[found] = tuple(names)
        return self._known[found]
