"""What a plan does, on a model of what is stored: the proof that its steps end where its diff says.

`simulate(plan, applied, desired)` carries the steps out on a `StoredState` and gives the state after. A state says of each
stored relation its folder, its columns, and by digests where its rows come from; of each view what it is defined as.

Where rows come from:
- A table's rows are a term, and so is each of its columns: loaded under some name, empty, NULL, or an older term. Two
  relations have the same contents exactly when their columns stand in the same order and all terms are equal.
- A view's terms are made of its definition and of the terms of what decides its rows and columns by lineage; without
  lineage, of all that it reads. Plain and LOCAL views are evaluated where they are read.
- What is not repeatable has a term that names the plan which computed it: computed anew it is another, kept it is the same.
- A definition is the canonical text with the settings and functions that decide it (`definitions`).

Illegal, and raised as `IllegalStep`: a step about what does not stand there, or stands there already; a view computed from
other relations than its step names, or from what is to be staged and is not yet; anything that readers can see before all
is staged; contents published that were never staged, or staged and never published; tables switched after views; a drop
before a rename, of what desired keeps, or before a view that read it has switched; anything after the last step, or none.

Contradictory, and raised as `Contradiction`: rows that the plan says are kept and are not, or says are cleared and are not.

`meant_by(program, state)` is what a program means over the tables of a state: a plan is right when what it leaves is what
desired means over it. `state_of(program)` is what a first apply leaves.

A limit: terms of a view's rows hold those of all that it reads. Of a view that reads another relation than before, for the
sake of one output column, all rows count as changed; readers that the diff spares with good reason then differ here.

Not here: whether lineage and canonical texts are right about rows (tests compute rows), and how a step is carried out.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.base.names import fold
from reconciler.diff.causes import StreamChanged
from reconciler.diff.model import Action, Fate, RelationChange
from reconciler.plan.model import Plan
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
from reconciler.project.program.model import Program, Table, View
from reconciler.testing.contents import NOTHING_FOREIGN, Contents, Evaluation
from reconciler.testing.definitions import Definition, definition_of, definitions_after

_EMPTY: Final = "no rows"
_NULL: Final = "NULL"


class IllegalStep(Exception):
    """A step that can't be carried out, or not yet."""


class Contradiction(Exception):
    """Steps that do to rows what the plan does not say."""


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A stored relation. `types` are the declared ones of a table; `computed_by` names the plan that computed a view,
    `reads` the folders that it read then. `went_on`: a stream that goes on by another definition; what it gave before
    stays."""

    name: str
    kind: RelationKind
    folder: str
    contents: Contents
    types: tuple[str, ...] = ()
    computed_by: str = ""
    reads: frozenset[str] = frozenset()
    went_on: bool = False


@dataclass(frozen=True, slots=True)
class StoredState:
    """What is stored, by folded name; the definitions of all views; and whether letter case of names decides them."""

    relations: Mapping[str, StoredRelation] = field(default_factory=dict)
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    names_are_data: bool = False


def state_of(
    program: Program, loaded: bool = False, computed_by: str = "", foreign: Mapping[str, Contents] = NOTHING_FOREIGN
) -> StoredState:
    """What a first apply leaves: empty tables, and views over them, computed by the plan of that digest. `loaded`: with rows
    in the tables, and the views following them, as they are once something was read in. `foreign` is what other pipelines'
    relations hold, by key; where it does not say, they hold what they mean."""
    relations: dict[str, StoredRelation] = {}
    for key, table in program.tables.items():
        names = [fold(column.name) for column in table.columns]
        contents = Contents(f"rows of {key}", tuple((name, f"{key}.{name}") for name in names)) if loaded else _empty(table)
        relations[key] = StoredRelation(table.name, RelationKind.TABLE, key, contents, _types(table))
    definitions = {key: definition_of(program, view) for key, view in program.views.items()}
    evaluation = Evaluation(program, definitions, lambda key: relations[key].contents, foreign)
    for view in _stored_views(program):
        contents, read = evaluation.evaluate(view, computed_by)
        key = fold(view.name)
        folders = frozenset(relations[one].folder for one in read if one not in program.foreign)
        relations[key] = StoredRelation(view.name, view.relation_kind, key, contents, (), computed_by, folders)
    return StoredState(dict(sorted(relations.items())), definitions, program.names_are_data)


def meant_by(program: Program, state: StoredState, foreign: Mapping[str, Contents] = NOTHING_FOREIGN) -> StoredState:
    """The state with exactly the relations of the program, under its columns, and every stored view as the program says over
    the state's tables. A table that the state lacks is empty."""
    relations: dict[str, StoredRelation] = {}
    for key, table in program.tables.items():
        names = [fold(column.name) for column in table.columns]
        old = state.relations.get(key)
        contents = Contents(old.contents.rows, tuple((n, old.contents.term(n)) for n in names)) if old else _empty(table)
        folder = old.folder if old else key
        relations[key] = StoredRelation(table.name, RelationKind.TABLE, folder, contents, _types(table))
    evaluation = Evaluation(program, state.definitions, lambda key: relations[key].contents, foreign)
    for view in _stored_views(program):
        key = fold(view.name)
        old = state.relations.get(key, StoredRelation(view.name, view.relation_kind, key, Contents("", ())))
        contents = old.contents if old.went_on else evaluation.evaluate(view, old.computed_by)[0]
        relations[key] = replace(old, name=view.name, kind=view.relation_kind, contents=contents, types=())
    return StoredState(dict(sorted(relations.items())), state.definitions, state.names_are_data)


def simulate(
    plan: Plan, applied: StoredState, desired: Program, foreign: Mapping[str, Contents] = NOTHING_FOREIGN
) -> StoredState:
    """The state after the plan's steps. `applied` is the state that the plan was made for, `desired` the program that it was
    made for (an empty one where the pipeline is removed). Raises IllegalStep and Contradiction."""
    simulation = _Simulation(plan, applied, desired, foreign)
    for index, step in enumerate(plan.steps):
        simulation.take(step, plan.steps[index + 1 :])
    return simulation.result()


class _Simulation:
    """One run over the steps. Relations are known under their names after the renames, but for what is dropped."""

    def __init__(self, plan: Plan, applied: StoredState, desired: Program, foreign: Mapping[str, Contents]) -> None:
        self._plan, self._applied, self._desired, self._foreign = plan, applied, desired, foreign
        renamed = {fold(one.applied): fold(one.relation) for one in plan.steps if isinstance(one, RenameRelation)}
        self._stored = {renamed.get(key, key): one for key, one in applied.relations.items()}
        self._definitions = definitions_after(plan.diff, applied.definitions, applied.names_are_data, desired)
        self._staged: dict[str, tuple[Contents, frozenset[str]]] = {}
        self._folders: dict[str, str] = {}
        self._seen: list[type[Step]] = []
        self._emptied = {fold(one.relation) for one in plan.steps if isinstance(one, CreateTable | ClearTable)}
        self._extended = {fold(one.relation) for one in plan.steps if isinstance(one, ExtendTable)}
        self._to_stage = {fold(one.relation) for one in plan.steps if isinstance(one, BootstrapView)} | {
            fold(one.relation) for one in plan.steps if isinstance(one, EvolveTable)
        }

    def take(self, step: Step, coming: tuple[Step, ...]) -> None:
        if CommitSnapshot in self._seen:
            raise IllegalStep(f"{step} comes after the snapshot was committed")
        if not isinstance(step, CreateTable | EvolveTable | BootstrapView) and any(
            isinstance(one, EvolveTable | BootstrapView) for one in coming
        ):
            raise IllegalStep(f"{step} can be seen before all is staged")
        match step:
            case CreateTable():
                self._create(step.relation)
            case ClearTable():
                self._require_no_view_switched(step)
                table, old = self._table(step.relation), self._standing(step.relation)
                cleared = StoredRelation(table.name, RelationKind.TABLE, old.folder, _empty(table), _types(table))
                self._stored[fold(step.relation)] = cleared
            case EvolveTable():
                self._evolve(step)
            case ExtendTable():
                self._require_no_view_switched(step)
                self._extend(step)
            case BootstrapView():
                self._bootstrap(step)
            case PublishTable():
                self._require_no_view_switched(step)
                self._publish(step.relation, RelationKind.TABLE)
            case PublishView():
                self._publish(step.relation, self._desired.views[fold(step.relation)].relation_kind)
            case RenameRelation():
                self._rename(step)
            case DropRelation():
                self._drop(step, coming)
            case CommitSnapshot():
                if self._staged:
                    raise IllegalStep(f"staged and never published: {sorted(self._staged)}")
            case _:
                assert_never(step)
        self._seen.append(type(step))

    def result(self) -> StoredState:
        if CommitSnapshot not in self._seen:
            raise IllegalStep("the snapshot is never committed")
        for name in self._plan.kept:
            self._require_kept(name, name)
        for change in self._plan.diff.relations:
            self._require_fate(change)
            if any(isinstance(cause, StreamChanged) and cause.goes_on for cause in change.causes):
                key = fold(change.name)
                self._stored[key] = replace(self._stored[key], went_on=True)
        return StoredState(dict(sorted(self._stored.items())), self._definitions, self._desired.names_are_data)

    def _create(self, name: str) -> None:
        key, table = fold(name), self._table(name)
        if key in self._stored:
            raise IllegalStep(f"table {name} is created where something stands")
        self._stored[key] = StoredRelation(table.name, RelationKind.TABLE, self._folder(key), _empty(table), _types(table))

    def _evolve(self, step: EvolveTable) -> None:
        table, old = self._table(step.relation), self._standing(step.relation)
        if fold(old.name) != fold(step.applied) or old.kind is not RelationKind.TABLE:
            raise IllegalStep(f"{step.relation} does not go on from a table {step.applied}")
        if [(c.name, c.type) for c in step.columns] != [(c.name, c.type) for c in table.columns]:
            raise IllegalStep(f"{step.relation} is evolved to other columns than it declares")
        known = dict(old.contents.columns)
        for column in step.columns:
            if column.source is not None and fold(column.source) not in known:
                raise IllegalStep(f"{step.applied} has no column {column.source}")
        terms = [(fold(c.name), _NULL if c.source is None else known[fold(c.source)]) for c in step.columns]
        self._staged[fold(step.relation)] = Contents(old.contents.rows, tuple(terms)), frozenset()

    def _extend(self, step: ExtendTable) -> None:
        table, old = self._table(step.relation), self._standing(step.relation)
        contents = _extended(old.contents, step.columns)
        self._stored[fold(step.relation)] = replace(old, name=table.name, contents=contents, types=_types(table))

    def _bootstrap(self, step: BootstrapView) -> None:
        view = self._desired.views.get(fold(step.relation))
        if view is None or not view.is_stored:
            raise IllegalStep(f"{step.relation} is no stored view")
        evaluation = Evaluation(self._desired, self._definitions, self._at_bootstrap, self._foreign)
        contents, read = evaluation.evaluate(view, self._plan.digest)
        if tuple(sorted(read)) != tuple(sorted(map(fold, step.reads))):
            raise IllegalStep(f"{step.relation} is computed from {sorted(read)}, its step names {sorted(step.reads)}")
        folders = frozenset(self._folder(one) for one in read if one not in self._desired.foreign)
        self._staged[fold(step.relation)] = contents, folders

    def _at_bootstrap(self, key: str) -> Contents:
        """What a view is computed from: see `steps`."""
        if key in self._staged:
            return self._staged[key][0]
        if key in self._to_stage:
            raise IllegalStep(f"{key} is read before it is staged")
        if key in self._emptied:
            return _empty(self._desired.tables[key])
        if key not in self._stored:
            raise IllegalStep(f"{key} is read, and nothing is stored there")
        if key in self._extended:
            names = next(
                one.columns for one in self._plan.steps if isinstance(one, ExtendTable) and fold(one.relation) == key
            )
            return _extended(self._stored[key].contents, names)
        return self._stored[key].contents

    def _publish(self, name: str, kind: RelationKind) -> None:
        key = fold(name)
        if key not in self._staged:
            raise IllegalStep(f"{name} is published, and nothing is staged for it")
        relation = self._desired.relation(name)
        assert relation is not None
        contents, reads = self._staged.pop(key)
        types = _types(relation) if isinstance(relation, Table) else ()
        computed_by = self._plan.digest if kind is not RelationKind.TABLE else ""
        self._stored[key] = StoredRelation(relation.name, kind, self._folder(key), contents, types, computed_by, reads)

    def _rename(self, step: RenameRelation) -> None:
        if DropRelation in self._seen:
            raise IllegalStep(f"{step} comes after a drop")
        relation = self._desired.relation(step.relation)
        if fold(step.applied) not in self._applied.relations or relation is None:
            raise IllegalStep(f"{step.applied} can't be renamed to {step.relation}")
        self._stored[fold(step.relation)] = replace(self._standing(step.relation), name=relation.name)

    def _drop(self, step: DropRelation, coming: tuple[Step, ...]) -> None:
        key = fold(step.relation)
        relation = self._desired.relation(step.relation)
        if isinstance(relation, Table) or (isinstance(relation, View) and relation.is_stored):
            raise IllegalStep(f"{step.relation} is dropped, and desired keeps it")
        old = self._standing(step.relation)
        for later in coming:
            if isinstance(later, PublishView) and old.folder in self._reads_of(later.relation):
                raise IllegalStep(f"{step.relation} is dropped before its reader {later.relation} has switched")
        del self._stored[key]

    def _reads_of(self, view: str) -> frozenset[str]:
        stands = self._stored.get(fold(view))
        return stands.reads if stands is not None else frozenset()

    def _require_no_view_switched(self, step: Step) -> None:
        if PublishView in self._seen:
            raise IllegalStep(f"{step} comes after views have switched")

    def _table(self, name: str) -> Table:
        table = self._desired.tables.get(fold(name))
        if table is None:
            raise IllegalStep(f"{name} is no table of the desired program")
        return table

    def _standing(self, name: str) -> StoredRelation:
        found = self._stored.get(fold(name))
        if found is None:
            raise IllegalStep(f"nothing is stored for {name}")
        return found

    def _folder(self, key: str) -> str:
        """The folder of what stands or will stand under a name: that of the name, where nothing else is."""
        if key in self._stored:
            return self._stored[key].folder
        if key not in self._folders:
            taken = {one.folder for one in self._stored.values()} | set(self._folders.values())
            folder, number = key, 1
            while folder in taken:
                number += 1
                folder = f"{key}-{number}"
            self._folders[key] = folder
        return self._folders[key]

    def _require_kept(self, applied: str, desired: str) -> None:
        old, new = self._applied.relations.get(fold(applied)), self._stored.get(fold(desired))
        if fold(desired) in self._desired.views and (old is None or new is None):
            # A plain view that got its first output, or lost its last one: what is not stored is computed where it is read.
            return
        if (old.contents if old else None) != (new.contents if new else None):
            raise Contradiction(f"the rows of {desired} are said to be kept, and are not")

    def _require_fate(self, change: RelationChange) -> None:
        if change.action is Action.REMOVED:
            return
        stored = self._stored.get(fold(change.name))
        match change.fate:
            case Fate.KEPT:
                self._require_kept(change.renamed_from or change.name, change.name)
            case Fate.CLEARED:
                if stored is None or stored.contents.rows != _EMPTY:
                    raise Contradiction(f"{change.name} is said to be cleared, and is not")
            case Fate.EVOLVED | Fate.EXTENDED:
                old = self._applied.relations[fold(change.renamed_from or change.name)]
                if stored is None or stored.contents.rows != old.contents.rows:
                    raise Contradiction(f"{change.name} is said to keep its rows, and does not")
            case Fate.RECOMPUTED | None:
                pass
            case _:
                assert_never(change.fate)


def _empty(table: Table) -> Contents:
    return Contents(_EMPTY, tuple((fold(column.name), _EMPTY) for column in table.columns))


def _extended(contents: Contents, names: tuple[str, ...]) -> Contents:
    return Contents(contents.rows, (*contents.columns, *((fold(name), _NULL) for name in names)))


def _types(table: Table) -> tuple[str, ...]:
    return tuple(column.type for column in table.columns)


def _stored_views(program: Program) -> list[View]:
    """The stored views, each after all that it reads."""
    return [program.views[key] for key in program.order if key in program.views and program.views[key].is_stored]
