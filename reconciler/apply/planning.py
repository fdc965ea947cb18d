"""Planning: desired from the files, applied from the registry, and the plan between them.

Safety rules: "never applied" is believed only if the registry can be read, does not know the name, and nothing is stored
where the pipeline's relations would stand (A505). Anything else is an error, never an everything-is-new plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import BootstrapPolicy, stricter
from reconciler.base.errors import LeaseHeld, ManifestInvalid, ReconcileError
from reconciler.base.names import fold
from reconciler.delta.nested_warehouses import registry_below, warehouse_in_store
from reconciler.delta.opening import is_local, is_vacant, join_location
from reconciler.diff.foreign import ForeignChange
from reconciler.diff.model import Action, Diff
from reconciler.diff.moves import resolve_moves
from reconciler.environment.bases import project_that_has
from reconciler.environment.homes import Homes, homes_beside
from reconciler.environment.policies import what_is_asked
from reconciler.environment.source import files_of
from reconciler.environment.target import Target, nested_warehouse
from reconciler.materialize.standing_tables import require_standing_tables
from reconciler.plan.hazards.connectors import touched_outputs
from reconciler.plan.hazards.readers import Beside, ForeignReader
from reconciler.plan.make import Known, diff_between, make_plan
from reconciler.plan.model import Origin, Plan, Policies
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.unchanged import make_unchanged_plan
from reconciler.project.program.model import Program, empty_program
from reconciler.project.program.written_names import respelled_columns
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.model import Head, Readers, Stored
from reconciler.run.outputs_by_place import known_after_change, outputs_of
from reconciler.state.applied import AppliedState, read_applied
from reconciler.state.folders import folder_for, renamed_placements
from reconciler.state.staged import with_staged
from reconciler.workspace.desired import begin_visit, settle_desired, validate_files
from reconciler.workspace.outlines import find_unchanged
from reconciler.workspace.output_places import other_writers
from reconciler.workspace.pipelines import require_known


def plan_between(target: Target, pipeline: str, applied: AppliedState, desired: Snapshot | None, rollback: str = "") -> Plan:
    """The plan from what is applied to what is desired, in this environment. `rollback` as in `Beside`.

    The bootstrap policy in force is the stricter of applied and desired: a change may not loosen the policy that it is
    judged by. What is done about hazards, policy.yaml of the base branch says. Raises ManifestInvalid for that file, and for
    `moved` entries that are wrong about what is applied; LeaseHeld where another first apply is under way; RegistryError
    (G610), in a warehouse on a disk, where tables are gone.
    """
    if desired is None and applied.snapshot is None:
        raise ReconcileError("U812", f"pipeline {pipeline!r} has no files and is not applied")
    theirs = project_that_has(target, pipeline) if desired is None else None
    if theirs is not None:
        message = f"{pipeline} has no files here; it was applied from the project {theirs}, which still has its files"
        raise ReconcileError("A584", message, "apply it from that project; or remove its files there and merge the removal")
    snapshots = [snapshot for snapshot in (applied.snapshot, desired) if snapshot is not None]
    if applied.snapshot is not None and desired is not None:
        wrong = resolve_moves(applied.snapshot.program, desired.program).diagnostics
        if wrong:
            raise ManifestInvalid(wrong)
    foreign: Mapping[str, ForeignChange] = {}
    origins: tuple[Origin, ...] = ()
    if applied.snapshot is not None and desired is not None and desired.program.foreign:
        from reconciler.workspace.foreign import changed_records, foreign_changes

        visit = begin_visit(target, pipeline)
        foreign = foreign_changes(visit, applied.snapshot.program, desired.program)
        if foreign:
            found = changed_records(visit, applied.snapshot.program, desired.program)
            origins = tuple(Origin(*one) for one in sorted(found) if one[0] != pipeline)
    last = applied.head.value.applied if applied.head is not None else None
    homes = homes_beside(target, pipeline, last.home if last is not None else None)
    policies = policies_for(target, [snapshot.program.settings.bootstrap_policy for snapshot in snapshots], homes)
    follows = last.follows if last else None
    environment = target.environment.name
    diff = diff_between(applied.snapshot, desired, foreign)
    head = applied.head.value if applied.head is not None else None
    back = _outputs_back(head, applied.snapshot, desired, diff)
    beside = what_is_beside(target, pipeline, applied.snapshot, desired, diff)
    # Of many views that takes some hundredths of a second: only where something may be asked of it.
    beside = replace(beside, rollback=rollback, back=back, types=_types(head) if diff.relations else {})
    plan = make_plan(pipeline, environment, applied.snapshot, desired, policies, Known(follows, diff, beside))
    if is_local(target.warehouse):
        require_tables(target, head, plan)
    try:
        _require_vacant(target, plan, applied)
    except ReconcileError:
        # Another first apply may have made them, since the registry was asked.
        if applied.head is None and target.registry.head(pipeline) is not None:
            message = f"another process is applying {pipeline} for the first time"
            raise LeaseHeld("A503", message, "plan again when it has finished") from None
        raise
    if head is not None and desired is not None and (desired.program.settings.pins or desired.program.settings.held):
        from reconciler.versions.column_types import require_other_columns

        require_other_columns(head, desired.program, plan.diff)
    if head is not None and head.staged is not None:
        plan = with_staged(plan, head.staged, desired)
    return replace(plan, origins=origins) if origins else plan


def what_is_beside(target: Target, pipeline: str, applied: Snapshot | None, desired: Snapshot | None, diff: Diff) -> Beside:
    """The views of other pipelines that read what changes, and the outputs of others that write where outputs that change
    do."""
    readers: Mapping[str, Sequence[ForeignReader]] = {}
    is_touched = any(change.action is not Action.ADDED for change in diff.relations)
    if applied is not None and desired is not None:
        is_touched = is_touched or bool(respelled_columns(applied.program, desired.program))
    if is_touched:
        readers = _readers(target, pipeline, applied)
    outputs = touched_outputs(diff, desired.program) if desired is not None else ()
    writers = other_writers(target, desired.program, outputs) if desired is not None and outputs else {}
    return Beside(readers, writers)


def _types(head: Head | None) -> dict[str, dict[str, str]]:
    """The types of the columns of what is published, by key."""
    placements = head.published.relations if head is not None and head.published is not None else {}
    return {key: {one.name: one.type for one in placement.columns} for key, placement in placements.items()}


def _outputs_back(head: Head | None, applied: Snapshot | None, desired: Snapshot | None, diff: Diff) -> frozenset[str]:
    """The outputs that write again where one of this pipeline wrote before, of which is known what was sent there."""
    if head is None or head.published is None or applied is None or desired is None or not diff.connectors:
        return frozenset()
    renames = resolve_moves(applied.program, desired.program).renames
    # What is made in place of what goes is another table in the same folder.
    going = {fold(change.name) for change in diff.relations if change.action is Action.REMOVED}
    placements = {key: placement for key, placement in head.published.relations.items() if key not in going}
    locations = {
        fold(one.relation): placements[before].location
        for one in outputs_of(desired.program).values()
        if (before := renames.applied_key(fold(one.relation))) in placements
    }
    formerly = {key: renames.applied_connector(key) for key in outputs_of(desired.program)}
    return frozenset(known_after_change(head, applied.program, desired.program, formerly, locations))


def _readers(target: Target, pipeline: str, applied: Snapshot | None) -> Mapping[str, Sequence[ForeignReader]]:
    """The views of other pipelines that read this one, by folded name of what they read. Most pipelines have none."""
    if applied is None or target.registry.document(pipeline, Readers) is None:
        return {}
    from reconciler.materialize.following import find_readers

    return find_readers(target, pipeline, list(applied.program.relations))


def policies_for(target: Target, bootstrap: list[BootstrapPolicy], homes: Homes) -> Policies:
    """The policies in force for what has these bootstrap policies on its two sides, and is under these homes."""
    policy, approve_first_apply = what_is_asked(target, homes)
    return Policies(bootstrap=stricter(bootstrap), approve_first_apply=approve_first_apply, policy=policy)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from. The programs are empty where nothing is applied, or nothing desired."""

    plan: Plan
    head: Stored[Head] | None
    applied: Program
    desired: Program


def plan_pipeline(target: Target, pipeline: str) -> Plan:
    """Read both sides and plan. Needs no JVM; starts no process but git."""
    found = plan_or_programs(target, pipeline)
    return found if isinstance(found, Plan) else found.plan


def plan_or_programs(target: Target, pipeline: str, files: Mapping[str, str] | None = None) -> Plan | Planned:
    """The plan alone where nothing changed and nothing need be compiled; else with what it was made from. `files` are the
    pipeline's, if they were read already."""
    require_known(target, pipeline)
    if files is None:
        files = files_of(target.root, pipeline)
    return plan_unchanged(target, pipeline, files) or _plan_compiled(target, pipeline, files)


def plan_with_programs(target: Target, pipeline: str) -> Planned:
    """Read both sides and plan, for who needs to look at both."""
    require_known(target, pipeline)
    return _plan_compiled(target, pipeline, files_of(target.root, pipeline))


def _plan_compiled(target: Target, pipeline: str, files: Mapping[str, str] | None) -> Planned:
    # Files first: what is applied are mostly the same queries, and who reads a file has cut these into tokens.
    visit = begin_visit(target, pipeline)
    validated = validate_files(visit, files) if files is not None else None
    applied = read_applied(target, pipeline)
    desired = (
        settle_desired(visit, files, validated, applied.snapshot) if files is not None and validated is not None else None
    )
    return planned_between(target, pipeline, applied, desired)


def planned_between(
    target: Target, pipeline: str, applied: AppliedState, desired: Snapshot | None, rollback: str = ""
) -> Planned:
    """`plan_between`, with what it was made from."""
    plan = plan_between(target, pipeline, applied, desired, rollback)
    known = desired or applied.snapshot
    assert known is not None
    nothing = empty_program(known.program.settings)
    return Planned(
        plan,
        applied.head,
        applied.snapshot.program if applied.snapshot else nothing,
        desired.program if desired else nothing,
    )


def plan_unchanged(target: Target, pipeline: str, files: Mapping[str, str] | None) -> Plan | None:
    """The plan, if the files are known to be those that are applied, byte for byte: then nothing need be compiled."""
    unchanged = find_unchanged(target, pipeline, files)
    if unchanged is None:
        return None
    outline, glance = unchanged
    return make_unchanged_plan(
        pipeline,
        target.environment.name,
        outline,
        policies_for(target, [BootstrapPolicy(outline.bootstrap_policy)], homes_beside(target, pipeline, glance.home)),
        glance.follows,
    )


def require_tables(target: Target, head: Head | None, plan: Plan) -> None:
    """What is published, and stays, stands as it was recorded. Raises RegistryError (G610)."""
    if head is not None:
        going = frozenset(fold(step.relation) for step in plan.steps if isinstance(step, DropRelation))
        require_standing_tables(target, head, going)


def require_apart(target: Target, pipeline: str) -> None:
    """Where nothing of a pipeline is applied yet, no other warehouse stands in its folder. Raises ReconcileError (U821)."""
    folder = join_location(target.warehouse, pipeline)
    nested = warehouse_in_store(target.warehouse, pipeline) or registry_below(folder)
    if nested is not None:
        raise nested_warehouse(target.environment.name, target.warehouse, nested)


def _require_vacant(target: Target, plan: Plan, applied: AppliedState) -> None:
    head = applied.head.value if applied.head else None
    if head is None:
        require_apart(target, plan.pipeline)
    published = head.published.relations if head and head.published else {}
    renames = ((step.applied, step.relation) for step in plan.steps if isinstance(step, RenameRelation))
    ours = renamed_placements(published, renames)
    if head is not None and (head.journal is not None or head.intent is not None):
        # An apply or a restore under way has made some of them; it knows which.
        return
    for change in plan.diff.relations:
        if change.action is not Action.REMOVED and fold(change.name) not in ours:
            location = join_location(target.warehouse, folder_for(plan.pipeline, change.name, ours))
            nested = registry_below(location)
            if nested is not None:
                raise nested_warehouse(target.environment.name, target.warehouse, nested)
            if change.action is Action.ADDED and not is_vacant(location):
                raise ReconcileError(
                    "A505",
                    f"{location} already holds data, but the registry does not know {plan.pipeline}.{change.name}",
                    "if the registry was moved or lost, restore it; if nobody needs that folder, move it away",
                )
