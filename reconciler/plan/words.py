"""A plan in words that every form shares: the summary, the steps, the need for approval."""

from typing import assert_never

from reconciler.diff.model import Action, RelationChange
from reconciler.manifest.model import BootstrapPolicy
from reconciler.plan.model import (
    BootstrapView,
    ClearTable,
    CommitSnapshot,
    CreateTable,
    DropRelation,
    EvolveTable,
    ExtendTable,
    Plan,
    PublishTable,
    PublishView,
    RenameRelation,
    Step,
)

SYMBOLS = {Action.ADDED: "+", Action.MODIFIED: "~", Action.REMOVED: "-"}


def summarise(plan: Plan) -> str:
    """`2 to bootstrap, 1 to add, 2 to modify, 0 to remove`, or `no changes`."""
    if plan.is_empty:
        return "no changes"
    bootstrapped = sum(isinstance(step, BootstrapView) for step in plan.steps)
    counts = dict.fromkeys(Action, 0)
    for action in (*(r.action for r in plan.diff.relations), *(c.action for c in plan.diff.connectors)):
        counts[action] += 1
    return (
        f"{bootstrapped} to bootstrap, {counts[Action.ADDED]} to add, {counts[Action.MODIFIED]} to modify, "
        f"{counts[Action.REMOVED]} to remove"
    )


def describe_step(step: Step) -> str:
    """One step as an imperative: `bootstrap avg_grade_enriched from grades, students`."""
    match step:
        case CreateTable():
            return f"create table {step.table}"
        case BootstrapView():
            return f"bootstrap {step.view} from {', '.join(step.reads) or 'no table'}"
        case EvolveTable():
            return f"evolve table {step.table}: {'; '.join(_column_words(step)) or 'same columns'}"
        case ClearTable():
            return f"clear table {step.table}"
        case ExtendTable():
            return f"extend table {step.table} by {', '.join(step.columns)}"
        case PublishTable():
            return f"publish table {step.table}"
        case PublishView():
            return f"publish {step.view}"
        case RenameRelation():
            return f"rename {step.kind.value} {step.applied} to {step.desired}"
        case DropRelation():
            return f"drop the data of {step.kind.value} {step.relation}"
        case CommitSnapshot():
            return "switch readers and commit the snapshot"
        case _:
            assert_never(step)


def _column_words(step: EvolveTable) -> list[str]:
    """What is not simply taken over: `qty from quantity`, `note is NULL`."""
    return [
        f"{column.name} is NULL" if column.source is None else f"{column.name} from {column.source}"
        for column in step.columns
        if column.source != column.name
    ]


def describe_effect(plan: Plan, change: RelationChange) -> str:
    """What becomes of a changed relation: `bootstrapped`, `created empty`, `cleared`, `dropped`; or, for what stores
    nothing, `computed where it is read` and `gone`; or `replaced`, when another of its name takes its place."""
    kinds = {type(step): step for step in plan.steps if change.name in _subjects(step)}
    if change.action is Action.REMOVED:
        if DropRelation in kinds:
            return "dropped"
        return "replaced" if kinds else "gone"
    for kind, words in ((CreateTable, "created empty"), (ClearTable, "cleared"), (BootstrapView, "bootstrapped")):
        if kind in kinds:
            return words
    return "computed where it is read; its stored rows are dropped" if DropRelation in kinds else "computed where it is read"


def _subjects(step: Step) -> tuple[str, ...]:
    match step:
        case CreateTable() | ClearTable() | EvolveTable() | ExtendTable() | PublishTable():
            return (step.table,)
        case BootstrapView() | PublishView():
            return (step.view,)
        case DropRelation():
            return (step.relation,)
        case RenameRelation():
            return (step.desired,)
        case CommitSnapshot():
            return ()
        case _:
            assert_never(step)


def describe_approval(plan: Plan) -> str:
    """What apply will ask for."""
    policy = plan.policies.bootstrap.value
    if plan.is_empty:
        return "not needed: nothing changes"
    if plan.is_rejected:
        return f"impossible: bootstrap_policy is {policy}"
    if plan.needs_approval:
        return f"needed (bootstrap_policy: {policy})"
    if plan.policies.bootstrap is BootstrapPolicy.ALLOW:
        return f"not needed (bootstrap_policy: {policy})"
    return "not needed: a first apply invalidates nothing"
