"""How a step brings a view up to date: by what changed, where the view has a method and that pays, else from its query.

Whatever fails on the way is done again from the view's query, and what fails then is told: nobody sees another message
because of a method, and where it is not certain that a method gives the same, its queries fail. So a view is never
wrong by this, at worst computed twice.

How each method goes: `kept_groups`, `own_rows`.
"""

from dataclasses import replace
from typing import assert_never

from reconciler.base.names import fold
from reconciler.engine.protocol import Engine, ViewBuild
from reconciler.incremental.derive import Columns, groups_instead, maintenance, stored_reads
from reconciler.incremental.model import ChangedGroups, KeptAggregate, LinearRows, Method, Recompute, Way
from reconciler.materialize.kept_groups import Kept, by_what_is_kept
from reconciler.materialize.own_rows import Groups, OwnRows, Rows, by_groups, by_rows
from reconciler.materialize.single_values import with_single_values
from reconciler.materialize.view_steps import Around, Brought, sizes_of
from reconciler.project.program.model import Program, View


def bring_up_to_date(engine: Engine, program: Program, view: View, around: Around, build: ViewBuild, step: int) -> Brought:
    """Compute a view into the staging folder of `build`, which says how it is computed from its query."""
    if around.choice.are_small(sizes_of(program, view, around.changes).values()):
        return Brought(engine.build_view(build), None, Way.SMALL)
    stored = _stored_columns(program, view, around)
    found = maintenance(program, view, stored)
    if isinstance(found, Recompute):
        return Brought(engine.build_view(build), None, Way.RECOMPUTED)
    if around.given_up.waits((around.location, view.query)):
        return Brought(engine.build_view(build), None, Way.NOT_TRIED)
    method = with_single_values(engine, program, found, stored, around.changes)
    brought = _by_method(OwnRows(engine, program, view, around), found, method, build, step)
    if brought.way is not Way.RECOMPUTED:
        return brought
    has_rule = method.fixed.isdisjoint(around.changes.of(method.relations))
    return replace(brought, way=Way.DEARER if has_rule else Way.NO_RULE)


def _by_method(own: OwnRows, declared: Method, method: Method, build: ViewBuild, step: int) -> Brought:
    """`method` may have values in place of subqueries; `declared` is that of the query."""
    match method:
        case KeptAggregate():
            groups = _groups_instead(own, method, step)
            if groups is not None:
                return by_groups(Groups(own, groups), build, step)
            assert isinstance(declared, KeptAggregate), "a method with values is one of the same kind"
            return by_what_is_kept(Kept(own.engine, own.program, own.view, own.around, method, declared), build, step)
        case LinearRows():
            return by_rows(Rows(own, method), build, step)
        case ChangedGroups():
            return by_groups(Groups(own, method), build, step)
        case _:
            assert_never(method)


def _groups_instead(own: OwnRows, kept: KeptAggregate, step: int) -> ChangedGroups | None:
    """The groups of a view that are computed anew: as they are too many to be kept, or what changed has no rule for what is
    kept. None: they are kept."""
    changed = own.around.changes.of(kept.relations)
    if (own.placement.rows or 0) < own.around.choice.many_kept and kept.fixed.isdisjoint(changed):
        return None
    groups = groups_instead(own.program, own.view, kept, _stored_columns(own.program, own.view, own.around))
    pays = groups is not None and own.way(groups, own.sizes(groups), step) is Way.CHANGES
    return groups if pays else None


def _stored_columns(program: Program, view: View, around: Around) -> dict[str, Columns]:
    keys = [key for key in (*stored_reads(program, view), fold(view.name)) if key in around.changes.now]
    return {key: {one.name: one.type for one in around.changes.now[key].columns} for key in keys}
