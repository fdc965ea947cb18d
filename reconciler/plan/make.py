"""Make a plan: (applied, desired, environment, policies) → Plan.

Order of steps, and why:
1. Tables that are new are created; they are empty and nobody reads them yet.
2. New and modified stored views are bootstrapped in dependency order, into staging folders. This is the long part, and
   the one that can fail; until it is done nothing that anybody reads has changed.
3. Modified tables are cleared and bootstrapped views published, each in one commit. Our readers still see the step
   published before, because every read names its Delta version.
4. Stored data of what was removed is dropped.
5. The snapshot is committed and readers switch, in one commit.

Views over a modified table are evaluated against the empty table (seed: modifying a table). Connectors: the seed's
section "How different types of changes are handled".
"""

from reconciler.diff.compare import compare
from reconciler.diff.model import Action, Diff, QueryChanged, RelationKind
from reconciler.digest import digest_json
from reconciler.manifest.model import ViewKind
from reconciler.names import fold
from reconciler.plan.connectors import connector_outcomes
from reconciler.plan.hazards import find_hazards
from reconciler.plan.model import (
    BootstrapView,
    ClearTable,
    CommitSnapshot,
    CreateTable,
    DropRelation,
    Plan,
    Policies,
    PublishView,
    QueryDifference,
    Step,
)
from reconciler.program.model import Program, empty_program
from reconciler.snapshot.model import Snapshot, take_snapshot

PLAN_FORMAT = 1


def make_plan(
    pipeline: str,
    environment: str,
    applied: Snapshot | None,
    desired: Snapshot | None,
    policies: Policies,
    follows: str | None = None,
) -> Plan:
    """The plan. `applied` None: nothing is applied; `desired` None: the pipeline's folder is gone. Not both None. `follows`
    is the digest of the plan applied last (None: there was none)."""
    known = desired or applied
    if known is None:
        raise ValueError("neither applied nor desired")
    nothing = take_snapshot(empty_program(known.program.settings))
    before, after = applied or nothing, desired or nothing
    diff = compare(before, after)
    return Plan(
        pipeline=pipeline,
        environment=environment,
        policies=policies,
        follows=follows,
        applied_digest=applied.digest if applied else None,
        desired_digest=desired.digest if desired else None,
        diff=diff,
        steps=plan_steps(diff, before.program, after.program),
        connectors=connector_outcomes(diff, before.program, after.program),
        hazards=find_hazards(diff, before.program, after.program, removes_pipeline=desired is None),
        kept=_kept(diff, after.program),
        queries=_query_differences(diff, before.program, after.program),
        digest=_digest(pipeline, environment, applied, desired, policies, follows),
    )


def _digest(
    pipeline: str,
    environment: str,
    applied: Snapshot | None,
    desired: Snapshot | None,
    policies: Policies,
    follows: str | None,
) -> str:
    return digest_json(
        {
            "format": PLAN_FORMAT,
            "pipeline": pipeline,
            "environment": environment,
            "follows": follows,
            "applied": applied.digest if applied else None,
            "desired": desired.digest if desired else None,
            "bootstrap_policy": policies.bootstrap.value,
            "approve_first_apply": policies.approve_first_apply,
        }
    )


def _kept(diff: Diff, desired: Program) -> tuple[str, ...]:
    changed = {fold(change.name) for change in diff.relations}
    names = [table.name for key, table in desired.tables.items() if key not in changed]
    names += [view.name for key, view in desired.views.items() if key not in changed and view.kind is not ViewKind.LOCAL]
    return tuple(sorted(names, key=fold))


def _query_differences(diff: Diff, applied: Program, desired: Program) -> tuple[QueryDifference, ...]:
    modified = [
        fold(change.name)
        for change in diff.relations
        if change.action is Action.MODIFIED and any(isinstance(cause, QueryChanged) for cause in change.causes)
    ]
    return tuple(
        QueryDifference(desired.views[key].name, applied.views[key].query, desired.views[key].query) for key in modified
    )


def plan_steps(diff: Diff, applied: Program, desired: Program) -> tuple[Step, ...]:
    """The steps in order. Always ends in CommitSnapshot."""
    changed = {(fold(change.name), change.kind): change.action for change in diff.relations}
    created: list[Step] = []
    cleared: list[Step] = []
    bootstrapped: list[Step] = []
    published: list[Step] = []
    dropped: list[Step] = []
    for key in desired.order:
        if key in desired.tables:
            match changed.get((key, RelationKind.TABLE)):
                case Action.ADDED:
                    name = desired.tables[key].name
                    if key in applied.views and applied.views[key].is_stored:
                        # Its path is read until the switch: it is emptied then, not now.
                        cleared.append(ClearTable(name))
                    else:
                        created.append(CreateTable(name))
                case Action.MODIFIED:
                    cleared.append(ClearTable(desired.tables[key].name))
        elif (key, RelationKind.VIEW) in changed and desired.views[key].is_stored:
            name = desired.views[key].name
            bootstrapped.append(BootstrapView(name, stored_reads(desired, key)))
            published.append(PublishView(name))
    for key in sorted({*applied.tables, *applied.views}):
        was_stored = key in applied.tables or applied.views[key].is_stored
        is_stored = key in desired.tables or (key in desired.views and desired.views[key].is_stored)
        if was_stored and not is_stored:
            kind = RelationKind.TABLE if key in applied.tables else RelationKind.VIEW
            relation = applied.tables[key].name if key in applied.tables else applied.views[key].name
            dropped.append(DropRelation(relation, kind))
    return (*created, *bootstrapped, *cleared, *published, *dropped, CommitSnapshot())


def base_reads(program: Program, key: str) -> tuple[str, ...]:
    """The tables that a view reads, directly or through any views; names, sorted."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [key]
    while waiting:
        for read in program.views[waiting.pop()].reads:
            target = fold(read.relation)
            if target in program.tables:
                found.add(target)
            elif target in program.views and target not in seen:
                seen.add(target)
                waiting.append(target)
    return tuple(program.tables[target].name for target in sorted(found))


def stored_reads(program: Program, key: str) -> tuple[str, ...]:
    """The stored relations that a view reads, directly or through plain and LOCAL views; names, sorted."""
    found: dict[str, str] = {}
    waiting = [key]
    seen: set[str] = set()
    while waiting:
        for read in program.views[waiting.pop()].reads:
            target = fold(read.relation)
            if target in seen:
                continue
            seen.add(target)
            if target in program.tables:
                found[target] = program.tables[target].name
            elif target in program.views and program.views[target].is_stored:
                found[target] = program.views[target].name
            elif target in program.views:
                waiting.append(target)
    return tuple(found[target] for target in sorted(found))
