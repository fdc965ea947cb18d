"""What names of another pipeline mean in two states of it: whether a table or column that has a name in both is the same.

Whoever compares two states is told by `moved` what was renamed in between, for as long as the files say so. They need not
any more: entries go when they have done their work, several applies may lie in between, and not every pipeline has its files
in this repository. Then a column that took the name of another one passes for that. What its pipeline recorded of renames
tells them apart (`names_since`).
"""

from collections.abc import Mapping

from reconciler.base.names import fold
from reconciler.diff.moves import Renames, resolve_moves
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import object_key
from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.protocol import History
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.state.applied import read_snapshot
from reconciler.state.histories import known_versions, versions_at
from reconciler.versions.names_since import names_after, was_ever_renamed


def other_relations(
    target: Target, before: Snapshot, after: Snapshot, *, as_recorded: bool = False, whole: bool = False
) -> frozenset[str]:
    """The relations (folded) of `after` that are, or read, what is something else than what had its name in `before`, and no
    move of `after` says so. `as_recorded`: whatever its moves say, so that the answer is the one after they are forgotten.
    `whole`: only those that are, or read, another table than the one that had its name.

    Moves of `after` that are still to be done count as done: the answer is the same before and after it is applied."""
    stored = target.registry.head(after.program.name)
    head = stored.value if stored is not None else None
    if head is None or head.published is None or head.applied is None or head.applied.record is None:
        return frozenset()
    known = known_versions(target.registry, head)
    waiting = Renames()
    if after.program.moves:
        applied = read_snapshot(target, head.pipeline, head.applied.record).program
        waiting = resolve_moves(applied, after.program).renames
    if not (waiting.relations or waiting.columns) and not was_ever_renamed(target.registry, head, known):
        return frozenset()
    then = _then(target, head, before, known)
    now = names_after(known, waiting, after.program)
    told = Renames() if as_recorded else resolve_moves(before.program, after.program).renames
    others = _other_columns(before.program, after.program, told, then, now)
    if whole:
        others = {name: columns for name, columns in others.items() if ALL_COLUMNS in columns}
    return _reached(after.program, others)


def _then(target: Target, head: Head, before: Snapshot, known: Mapping[str, ObjectVersions]) -> Mapping[str, ObjectVersions]:
    """The objects as they were when a state was in force last."""
    if head.applied is not None and head.applied.record == before.record:
        return known
    rows = target.registry.last_rows(History.STEPS, head.pipeline, ("step",), "step", 1, None, record=before.record)
    return versions_at(target.registry, head, int(rows[-1]["step"])) if rows else {}


def _other_columns(
    before: Program,
    after: Program,
    renames: Renames,
    then: Mapping[str, ObjectVersions],
    now: Mapping[str, ObjectVersions],
) -> dict[str, frozenset[str]]:
    """By table, the columns (all folded; all of them as ALL_COLUMNS) that are others than those of their names. `renames`
    are those from `before` to `after` that were told."""
    found: dict[str, frozenset[str]] = {}
    for name, table in after.tables.items():
        former = renames.applied_key(name)
        if former not in before.tables:
            continue
        old, new = then.get(object_key("table", former)), now.get(object_key("table", name))
        if old is None or new is None or old.id != new.id:
            found[name] = frozenset({ALL_COLUMNS})
            continue
        there = {fold(column.name) for column in before.tables[former].columns}
        pairs = [(renames.applied_column(name, one), one) for one in (fold(column.name) for column in table.columns)]
        others = {one for was, one in pairs if was in there and old.column_id(was) != new.column_id(one)}
        if others:
            found[name] = frozenset(others)
    return found


def _reached(program: Program, others: dict[str, frozenset[str]]) -> frozenset[str]:
    found = set(others)
    for name in program.order:
        for read in program.relations[name].reads:
            relation, columns = fold(read.relation), {fold(column) for column in read.columns}
            changed = others.get(relation, frozenset())
            if (
                changed & columns
                or (changed and ALL_COLUMNS in changed | columns)
                or (relation in found and relation not in others)
            ):
                found.add(name)
    return frozenset(found)
