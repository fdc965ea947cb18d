"""A plan in words that every form shares: the summary, the steps, the need for approval."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from reconciler.base.declarations import BootstrapPolicy, RelationKind
from reconciler.base.names import fold, without_version
from reconciler.base.printing import printable
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.diff.causes import StreamChanged
from reconciler.diff.model import (
    Action,
    Diff,
    Fate,
    FunctionChange,
    MetadataChange,
    RelationChange,
    SafeguardLoosened,
    Spared,
)
from reconciler.diff.wording import describe_what_is_spared
from reconciler.plan.model import BoundCall, Hazard, Judgement, Plan, RolledBack, StagedVersion
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.operations.step import Step
from reconciler.plan.policy import describe_judgement

SYMBOLS = {Action.ADDED: "+", Action.MODIFIED: "~", Action.REMOVED: "-"}


def summarise(plan: Plan, carried_out: Sequence[Step] = ()) -> str:
    """`2 to bootstrap, 1 to add, 2 to modify, 0 to remove`, or `no changes`. `carried_out` are the steps of an apply of the
    plan: it may bring views along (`steps.with_followers`), which are counted, and told apart."""
    if plan.is_empty:
        return "no changes"
    planned, in_all = (sum(isinstance(step, BootstrapView) for step in steps) for steps in (plan.steps, carried_out))
    more = max(in_all - planned, 0)
    bootstrapped = f"{planned + more} to bootstrap{f' ({more} since another pipeline moved on)' if more else ''}"
    counts = dict.fromkeys(Action, 0)
    diff = plan.diff
    for changes in (diff.relations, diff.connectors, diff.functions):
        for change in changes:
            counts[change.action] += 1
    loosened = len(diff.loosened)
    safeguards = f", {loosened} safeguard{'' if loosened == 1 else 's'} to loosen" if loosened else ""
    return (
        f"{bootstrapped}, {counts[Action.ADDED]} to add, {counts[Action.MODIFIED]} to modify, "
        f"{counts[Action.REMOVED]} to remove{safeguards}"
    )


def describe_effects(plan: Plan) -> tuple[str, ...]:
    """What becomes of each changed relation, in the order of the plan's `relations`; linear in the size of the plan."""
    kinds: dict[str, set[type]] = {}
    for step in plan.steps:
        name = step.relation
        if name is not None:
            kinds.setdefault(fold(name), set()).add(type(step))
    return tuple(_effect(change, kinds.get(fold(change.name), set())) for change in plan.diff.relations)


_KEPT_ROWS = {
    Fate.CLEARED: "cleared",
    Fate.EVOLVED: "rows kept, rewritten under the new columns",
    Fate.EXTENDED: "rows kept; new columns are NULL",
    Fate.KEPT: "rows kept",
}


def _effect(change: RelationChange, kinds: set[type]) -> str:
    """`bootstrapped`, `created empty`, `cleared`, `dropped`, `rows kept`; or, for what stores nothing, `computed where it is
    read` and `gone`; or `replaced`, when another of its name takes its place. `kinds` are those of the steps about it."""
    if change.action is Action.REMOVED:
        if DropRelation in kinds:
            return "dropped"
        return "replaced" if kinds else "gone"
    if change.action is Action.ADDED and change.kind is RelationKind.TABLE:
        # Also where a view of its name is read until the switch, and is cleared then.
        return "created empty"
    if (
        change.kind is RelationKind.STREAM
        and change.fate is Fate.KEPT
        and any(isinstance(cause, StreamChanged) for cause in change.causes)
    ):
        return "goes on; rows and state kept"
    stores = change.kind is RelationKind.TABLE or RenameRelation in kinds
    if stores and change.kind is RelationKind.STREAM and change.fate is Fate.KEPT:
        return "rows and state kept"
    if stores and change.fate is not None and change.fate in _KEPT_ROWS:
        return _KEPT_ROWS[change.fate]
    if BootstrapView in kinds:
        if change.kind is RelationKind.STREAM and change.action is Action.MODIFIED:
            return "bootstrapped; rows and state computed anew, as if all rows came in one step: none is late"
        return "bootstrapped"
    return "computed where it is read; its stored rows are dropped" if DropRelation in kinds else "computed where it is read"


def step_groups(steps: tuple[Step, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Steps summed up in their order: (`bootstrap 600 views`, their names) for every run of one kind."""
    groups: list[tuple[str, tuple[str, ...]]] = []
    for _, run in groupby(steps, type):
        found = list(run)
        first, names = found[0], tuple(name for step in found if (name := step.relation) is not None)
        words = first.describe() if isinstance(first, CommitSnapshot) else first.SUMMARY.of(len(names))
        groups.append((words, names))
    return tuple(groups)


def judged_hazards(plan: Plan) -> tuple[tuple[Hazard, str], ...]:
    """Every hazard with its message, and what policy does about it where that is more than to show it."""
    judgements = {judgement.hazard: judgement for judgement in plan.judgements}
    return tuple((hazard, _judged(hazard.message, judgements.get(hazard))) for hazard in plan.hazards)


def _judged(message: str, judgement: Judgement | None) -> str:
    words = describe_judgement(judgement) if judgement is not None else ""
    if judgement is None or not words:
        return message
    return f"{message} ({words}: {judgement.reason})" if judgement.reason else f"{message} ({words})"


_DECIDES_LATER: Final = {
    "send_snapshot": "sends nothing by itself: it says how a new or changed output begins; "
    "to send all rows, seek the output to snapshot",
}
"""What to add where a setting is told that sends nothing by itself."""


def describe_metadata(change: MetadataChange) -> str:
    """For example: `comment of orders.note`, `protect of orders: true → false`. Two values that may not be shown would look
    alike."""
    values = f": {change.applied} → {change.desired}" if change.applied is not None else ""
    if change.applied is not None and masked_in_code(str(change.applied)) == masked_in_code(str(change.desired)):
        values = " (not shown)"
    values += f" ({_DECIDES_LATER[change.what]})" if change.what in _DECIDES_LATER else ""
    return printable(f"{change.what} of {change.subject}{values}")


def describe_loosened(one: SafeguardLoosened) -> str:
    """For example: `protect of orders: true → false`."""
    return printable(f"{one.safeguard.value} of {one.subject}: {one.applied} → {one.desired}")


def told_metadata(diff: Diff) -> tuple[MetadataChange, ...]:
    """What is changed in words only: what is told elsewhere in the plan, as loosened, is left out."""
    elsewhere = {(one.safeguard.value, one.subject) for one in diff.loosened}
    return tuple(change for change in diff.metadata if (change.what, change.subject) not in elsewhere)


def unchanged_names(plan: Plan) -> tuple[str, ...]:
    """The relations that stay as they are, but for those that are told to be unaffected."""
    told = {spared.view for spared in plan.diff.spared}
    return tuple(name for name in plan.kept if name not in told)


def describe_rolled_back(one: RolledBack) -> str:
    """For example: `view revenue to v0`."""
    return printable(f"{one.kind} {one.name} {'to before it existed' if one.number is None else f'to v{one.number}'}")


def describe_bound_call(one: BoundCall) -> str:
    """For example: `view bills is rolled back to v1 and still calls fee@v0: the change of fee does not reach it`."""
    names = [without_version(name) for name in one.functions]
    changes = "the change" if len(names) == 1 else "the changes"
    called = f"{one.kind} {one.name} is {one.state} and still calls {', '.join(one.functions)}"
    return printable(f"{called}: {changes} of {', '.join(names)} {'does' if len(names) == 1 else 'do'} not reach it")


def describe_staged(one: StagedVersion) -> str:
    """For example: `view revenue as v3, as of step 7: promoted`."""
    outcome = "promoted by an apply of this plan" if one.is_promoted else "dropped by an apply of anything else"
    return printable(f"{one.kind} {one.name} as v{one.number}, as of step {one.step}; {outcome}")


def describe_spared(spared: Spared) -> str:
    """For example: `report reads orders, of which only orders.note changed`."""
    return printable(f"{spared.view} reads {spared.relation}, {describe_what_is_spared(spared)}")


def describe_function(change: FunctionChange) -> str:
    """For example: `body changed, an imported module changed`; empty where there is nothing to say."""
    return printable(", ".join(change.causes))


def describe_approval(plan: Plan) -> str:
    """What apply will ask for."""
    policy = plan.policies.bootstrap.value
    if plan.is_first and plan.needs_approval:
        return "needed (first_apply: await_approval)"
    if plan.is_empty:
        return "not needed: nothing changes"
    if plan.is_rejected:
        return f"impossible: bootstrap_policy is {policy}"
    if plan.needs_approval and plan.is_first:
        return "needed (first_apply: await_approval)"
    if plan.needs_approval:
        return f"needed (bootstrap_policy: {policy})"
    if plan.policies.bootstrap is BootstrapPolicy.ALLOW:
        return f"not needed (bootstrap_policy: {policy})"
    return "not needed: a first apply invalidates nothing"
