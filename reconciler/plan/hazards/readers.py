"""H915: what is read elsewhere is removed, or loses something that its readers know.

Who reads a table or view from outside of all pipelines, nobody can see: its author says so (`used_by`). What is applied
counts as well as what is desired, so that nobody is forgotten by the change that hurts them. Views of other pipelines are
known by what is applied of those. All of them lose a relation that is removed or not stored any more; of one that stays,
columns that are gone, have another name or another type (of a view's, as far as `types` knows), and of other pipelines'
views those lose it that read such a column. A name that has another letter case is another name to who reads from outside,
and to pipelines that may show it. What is added disturbs nobody, and rows that are computed anew are what readers
came for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind, ViewKind
from reconciler.base.names import fold
from reconciler.diff.causes import ColumnRemoved, ColumnRenamed, ColumnRetyped, KindChanged
from reconciler.diff.model import Action, Diff, RelationChange
from reconciler.diff.wording import told_readers
from reconciler.plan.hazards.types import Retyped, retyped_columns
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program
from reconciler.project.program.written_names import respelled_columns
from reconciler.sql.lineage import ALL_COLUMNS


@dataclass(frozen=True, slots=True)
class ForeignReader:
    """A view of another pipeline (`pipeline.view`) that reads a relation of this one, and the columns used, folded (`*`:
    possibly all). `shows_names`: letter case of their names may be seen in what that pipeline holds or writes."""

    view: str
    columns: frozenset[str]
    shows_names: bool = True


@dataclass(frozen=True, slots=True)
class Beside:
    """`readers` are the views of other pipelines that read what is applied, by folded name of the relation; `writers` their
    outputs that write where one does that is new or changed, by its folded name. `rollback` says what is brought back, of a
    plan that does not come from the files; `rows_of` is the pipeline whose rows the tables get instead of their own, of one
    that restores another one's checkpoint. `back` are the outputs (folded names) that write again where one wrote before:
    what was sent there is known. `types` are those of the columns of stored relations as applied, by key."""

    readers: Mapping[str, Sequence[ForeignReader]] = field(default_factory=dict)
    writers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rollback: str = ""
    rows_of: str = ""
    back: frozenset[str] = frozenset()
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


NOTHING_BESIDE: Final = Beside()


@dataclass(frozen=True, slots=True)
class _Loss:
    """What readers lose, in words; `column` (folded) is None when it is the whole relation."""

    words: str
    column: str | None = None
    by_letter_case: bool = False

    def hurts(self, reader: ForeignReader) -> bool:
        if self.by_letter_case and not reader.shows_names:
            return False
        return self.column is None or self.column in reader.columns or ALL_COLUMNS in reader.columns


def readers_lose(
    diff: Diff, applied: Program, desired: Program, foreign: Mapping[str, Sequence[ForeignReader]]
) -> Iterator[Hazard]:
    """See the module. `foreign` are other pipelines' views by the folded name of what they read, as applied."""
    retyped: Retyped = {}
    changed = {fold(change.name) for change in diff.relations}
    spelled = respelled_columns(applied, desired)
    others = [
        RelationChange(Action.MODIFIED, relation.relation_kind, relation.name)
        for key, relation in desired.relations.items()
        if key in spelled and key not in changed
    ]
    for change in (*diff.relations, *others):
        key = fold(change.renamed_from or change.name)
        sides = (applied.settings.used_by, desired.settings.used_by)
        named = {reader for used_by in sides for one in (fold(change.name), key) for reader in used_by.get(one, ())}
        views = foreign.get(key, ())
        losses = _losses(change, applied, desired) if named or views else []
        if change.action is Action.MODIFIED:
            told = {loss.column for loss in losses}
            pairs = [pair for pair in spelled.get(fold(change.name), ()) if fold(pair[1]) not in told]
            losses += [_Loss(f"renames column {old} to {new}", fold(new), by_letter_case=True) for old, new in pairs]
        stays = change.action is Action.MODIFIED and not any(loss.column is None for loss in losses)
        if (named or views) and stays and change.kind is not RelationKind.TABLE:
            retyped = retyped or retyped_columns(diff, applied, desired)
            losses += [
                _Loss(f"changes column {name} from {one.applied} to {one.desired}", name)
                for name, one in retyped.get(fold(change.name), {}).items()
            ]
        if views and change.action is Action.MODIFIED and change.renamed_from is not None:
            # Its folder is where it was; its name is what queries of pipelines know.
            losses = [_Loss(f"is renamed from {change.renamed_from}"), *losses]
        readers = sorted({*named, *(one.view for one in views if any(loss.hurts(one) for loss in losses))})
        if readers and losses:
            subject = f"{change.kind.value} {change.name}, which {told_readers(readers)} {_read(readers)},"
            yield Hazard("H915", change.name, f"{subject} {'; '.join(loss.words for loss in losses)}", tuple(readers))


def _read(readers: list[str]) -> str:
    return "read" if len(readers) > 1 else "reads"


def _losses(change: RelationChange, applied: Program, desired: Program) -> list[_Loss]:
    match change.action:
        case Action.REMOVED:
            return [_Loss("is removed")]
        case Action.MODIFIED:
            if any(isinstance(cause, KindChanged) and cause.applied is ViewKind.MATERIALIZED for cause in change.causes):
                return [_Loss("is no longer stored")]
            return [*_of_a_table(change), *_of_a_view(change, applied, desired)]
        case Action.ADDED:
            return []


def _of_a_table(change: RelationChange) -> Iterator[_Loss]:
    for cause in change.causes:
        match cause:
            case ColumnRemoved():
                yield _Loss(f"loses column {cause.column}", fold(cause.column))
            case ColumnRenamed():
                yield _Loss(f"renames column {cause.applied} to {cause.desired}", fold(cause.applied))
            case ColumnRetyped():
                yield _Loss(f"changes column {cause.column} from {cause.applied} to {cause.desired}", fold(cause.column))
            case _:
                continue


def _of_a_view(change: RelationChange, applied: Program, desired: Program) -> Iterator[_Loss]:
    before = applied.views.get(fold(change.renamed_from or change.name))
    after = desired.views.get(fold(change.name))
    if before is None or after is None or not before.column_names or not after.column_names:
        return
    if before.column_names == after.column_names:
        return
    there = {fold(name) for name in after.column_names}
    for name in before.column_names:
        if fold(name) not in there:
            yield _Loss(f"loses column {name}", fold(name))
