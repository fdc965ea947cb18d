"""What a change does to the methods by which views follow what changes (`incremental`).

- H941: a view followed what changed in what it reads, and is computed from its query in each step from now on.
- H942: a new or changed view has no method by which it could follow; told only where policy asks.
- H943: the groups of a view were kept, and are computed anew from now on: those of which rows change, or all of them where
  the view has few rows.

The first and the last are told where the view itself, a column that it reads, a view that is computed in place below it or a
setting changes so. Types of columns that only Spark knows are those that stand where the relations are applied: so a change
is judged alike on every machine, and as `explain` judges. Columns of other views that change as well are taken to keep their
types. Whether a method pays depends on sizes, and is no part of a plan.
"""

from collections.abc import Iterator, Mapping

from reconciler.base.names import fold
from reconciler.diff.model import Action, Diff
from reconciler.incremental.derive import Columns, Questions, maintenance
from reconciler.incremental.model import LEAST_GROUPS, ChangedGroups, KeptAggregate, Maintenance, Recompute
from reconciler.plan.model import Hazard
from reconciler.project.program.model import Program, View


def methods_lost(diff: Diff, applied: Program, desired: Program, types: Mapping[str, Columns]) -> Iterator[Hazard]:
    """H941 and H943. `types` are those of the columns of stored relations, by the keys that these have where applied."""
    questions, types_to_be = Questions(applied, desired), _types_to_be(diff, types)
    for change in diff.relations:
        if change.action is not Action.MODIFIED:
            continue
        before, after = applied.views.get(fold(change.renamed_from or change.name)), desired.views.get(fold(change.name))
        if before is None or after is None or not _may_follow(before) or not _may_follow(after):
            continue
        if not questions.are_equal(before, after):
            now = maintenance(desired, after, types_to_be)
            # What was before is asked where it may say something.
            if not isinstance(now, KeptAggregate):
                yield from _lost(after, maintenance(applied, before, types), now)


def _lost(view: View, before: Maintenance, now: Maintenance) -> Iterator[Hazard]:
    match before, now:
        case Recompute(), _:
            return
        case _, Recompute(reason=reason):
            lost = f"view {view.name} no longer follows what changes ({reason})"
            yield Hazard("H941", view.name, f"{lost}: each step computes it from its query")
        case KeptAggregate(), ChangedGroups(not_kept=why):
            lost = f"the groups of view {view.name} are no longer kept{f' ({why.reason})' if why is not None else ''}"
            instead = "each step computes those anew that changed, or all of them where the view has fewer than"
            instead += f" {LEAST_GROUPS:,} rows"
            yield Hazard("H943", view.name, f"{lost}: {instead}")
        case _:
            return


def methods_missing(diff: Diff, desired: Program, types: Mapping[str, Columns]) -> Iterator[Hazard]:
    """H942, of each stored view that is added or modified. `types` as for `methods_lost`."""
    types_to_be = _types_to_be(diff, types)
    for change in diff.relations:
        after = desired.views.get(fold(change.name)) if change.action is not Action.REMOVED else None
        if after is None or not _may_follow(after):
            continue
        found = maintenance(desired, after, types_to_be)
        if isinstance(found, Recompute):
            helps = f"; to change that: {found.hint}" if found.hint is not None else ""
            message = f"view {after.name} is computed from its query in each step ({found.reason}{helps})"
            yield Hazard("H942", after.name, message)


def _types_to_be(diff: Diff, types: Mapping[str, Columns]) -> Mapping[str, Columns]:
    """The types by the keys that relations have in the desired program, as far as these are the same relations."""
    new = {fold(change.name) for change in diff.relations if change.action in (Action.ADDED, Action.REMOVED)}
    renamed = {fold(one.name): fold(one.renamed_from) for one in diff.relations if one.renamed_from is not None}
    stay = {key: of for key, of in types.items() if key not in new and key not in renamed.values()}
    return {**stay, **{key: types[was] for key, was in renamed.items() if was in types}}


def _may_follow(view: View) -> bool:
    return view.is_stored and view.stream is None
