"""What people decided about a plan: approvals and rejections of its digest, and which of them count.

- The last act of a person counts. Who rejects takes back the approval that he gave; who approves takes back his rejection. A
  rejection is his own whose very name it has (`is_same_text`); an approval is taken back by anybody who may be the same.
- A rejection is open until the person who rejected approves, or somebody overrules it (`reconcile approve
  --override-rejection`; whoever was shown only some overrules those). While one is open, the plan is not applied, whatever
  else allows it: a lock, a policy, other approvals, its being staged (A585).
- An approval says which rejections it lifts: those that were there when it was given. So no clock decides what came first,
  and a rejection that comes while somebody approves stays open.
- Another plan has another digest: a rejection says nothing of it.
- Whoever opens a journal looks for rejections afterwards, and whoever rejects looks for a journal afterwards (`applying`,
  `rejecting`). So of the two at least one sees the other.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reconciler.apply.people import is_same_text, names_of
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import canonical_json, short
from reconciler.base.errors import ApprovalRequired, ReconcileError
from reconciler.base.printing import printable
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.plan.words import summarise
from reconciler.registry.protocol import History
from reconciler.state.rejections import Rejection, read_rejections

Overrides = bool | frozenset[str]
"""Which rejections by others an approval overrules: all that there are (True) or none; or those with these ids, which were
shown to whoever approves."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """All that people decided about one plan in an environment: rows of approvals, those of nobody left out, and
    rejections; each oldest first."""

    approvals: tuple[Mapping[str, Any], ...]
    rejections: tuple[Rejection, ...]

    @property
    def open(self) -> tuple[Rejection, ...]:
        """The rejections that stop the plan."""
        lifted = _lifted(self.approvals)
        return tuple(one for one in self.rejections if one.id not in lifted)

    @property
    def approvers(self) -> str:
        """Who gave the approvals that count, each once: `ann, ben`."""
        return ", ".join(dict.fromkeys(str(row["by"]) for row in self.counting))

    @property
    def counting(self) -> tuple[Mapping[str, Any], ...]:
        """The approvals of people who did not reject the plan since."""
        return tuple(row for row in self.approvals if not self._is_taken_back(row))

    def of(self, by: str) -> tuple[Rejection, ...]:
        """The rejections of a person, by the very name that they have."""
        return tuple(one for one in self.rejections if is_same_text(one.by, by))

    def _is_taken_back(self, row: Mapping[str, Any]) -> bool:
        by = str(row["by"])
        return any(not self._is_lifted_by(one, by) for one in self.rejections if names_of(one.by) & names_of(by))

    def _is_lifted_by(self, rejection: Rejection, by: str) -> bool:
        """Whether a rejection was lifted by whoever rejected, or by this person."""
        told = (row for row in self.approvals if is_same_text(row["by"], rejection.by) or is_same_text(row["by"], by))
        return rejection.id in _lifted(told)


def read_decisions(target: Target, plan: Plan) -> Decisions:
    """What was decided about a plan in its environment."""
    return decisions_of(target, plan.pipeline, plan.digest)


def decisions_of(target: Target, pipeline: str, digest: str) -> Decisions:
    """What was decided in this environment about the plan of a digest."""
    rows = target.registry.history(History.APPROVALS, pipeline, plan_digest=digest, environment=target.environment.name)
    return _decisions(target, rows, read_rejections(target.registry, pipeline, digest))


def all_decisions(target: Target, pipeline: str) -> dict[str, Decisions]:
    """What was decided in this environment about each plan of a pipeline that somebody approved, by its digest."""
    approvals: dict[str, list[Mapping[str, Any]]] = {}
    for row in target.registry.history(History.APPROVALS, pipeline, environment=target.environment.name):
        approvals.setdefault(row["plan_digest"], []).append(row)
    rejections: dict[str, list[Rejection]] = {}
    for one in read_rejections(target.registry, pipeline) if approvals else ():
        rejections.setdefault(one.plan_digest, []).append(one)
    return {digest: _decisions(target, rows, rejections.get(digest, ())) for digest, rows in approvals.items()}


def _decisions(target: Target, approvals: Iterable[Mapping[str, Any]], rejections: Iterable[Rejection]) -> Decisions:
    return Decisions(
        tuple(row for row in approvals if names_of(row["by"])),
        tuple(one for one in rejections if one.environment in ("", target.environment.name)),
    )


def recorded_approvals(target: Target, plan: Plan) -> tuple[Mapping[str, Any], ...]:
    """The approvals of this plan that count, the first one first."""
    return read_decisions(target, plan).counting


def open_rejections(target: Target, plan: Plan) -> tuple[Rejection, ...]:
    """The rejections that stop this plan, oldest first; none of a plan about which there is nothing to decide."""
    return () if is_nothing_to_decide(plan) else read_decisions(target, plan).open


def is_nothing_to_decide(plan: Plan) -> bool:
    """Whether a plan is neither approved nor rejected: it changes nothing that anybody has to agree to."""
    return plan.is_empty and not plan.needs_approval and not plan.judges_rows_that_go_back


def require_something_to_decide(plan: Plan, verb: str) -> None:
    """Raises ReconcileError (A504) where it makes no sense to approve or reject (`verb`) a plan."""
    if is_nothing_to_decide(plan):
        raise ReconcileError("A504", f"the plan of {plan.pipeline} is empty: there is nothing to {verb}")


def require_unrejected(target: Target, plan: Plan) -> Decisions:
    """What was decided about a plan. Raises ApprovalRequired (A585) while a rejection of it is open."""
    decisions = read_decisions(target, plan)
    if decisions.open:
        raise rejected(plan, decisions.open)
    return decisions


def rejected(plan: Plan, rejections: Sequence[Rejection]) -> ApprovalRequired:
    """The error (A585) that says who rejected a plan, and how it goes on."""
    who = " and ".join(dict.fromkeys(printable(one.by) for one in rejections))
    return ApprovalRequired(
        "A585",
        f"{plan.pipeline}: plan {short(plan.digest)} ({summarise(plan)}) is rejected: "
        f"{'; '.join(one.words for one in rejections)}",
        f"{'' if plan.rollback else 'change the files; or '}have {who} approve it: `reconcile approve {plan.pipeline} "
        f"{short(plan.digest)}`; --override-rejection lets somebody else approve it",
    )


def lifts_text(rejections: Iterable[Rejection]) -> str:
    """The rejections that an approval lifts, as its row says it."""
    ids = sorted(one.id for one in rejections)
    return canonical_json(ids) if ids else ""


def _lifted(rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(one for row in rows if row["lifts"] for one in json.loads(row["lifts"]))
