"""Rejections: who said no to which plan, when, and why. A history beside that of approvals.

Rows that the console wrote before there was this history stand in the audit, with the digest and the reason as one text.
They are read as any other; they name no environment, and hold in each.
"""

import uuid
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.moments import this_moment
from reconciler.base.printing import printable
from reconciler.registry.protocol import History, Registry

_FORMER_EVENT: Final = "plan rejected"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Somebody rejected the plan of a digest in an environment (empty: in each). Approvals that lift it name its `id`."""

    id: str
    pipeline: str
    plan_digest: str
    environment: str
    by: str
    at: str
    reason: str

    @property
    def words(self) -> str:
        """`ann rejected this plan: not before Friday`."""
        return f"{printable(self.by)} rejected this plan{f': {printable(self.reason)}' if self.reason else ''}"

    @property
    def told(self) -> dict[str, str]:
        """Who, when and why, for forms of others."""
        return {"by": self.by, "at": self.at, "reason": self.reason}


def read_rejections(registry: Registry, pipeline: str, plan_digest: str | None = None) -> tuple[Rejection, ...]:
    """The rejections of a pipeline's plans, or of the one with this digest; oldest first."""
    equal = {} if plan_digest is None else {"plan_digest": plan_digest}
    found = [
        Rejection(row["rejection_id"], pipeline, row["plan_digest"], row["environment"], row["by"], row["at"], row["reason"])
        for row in registry.history(History.REJECTIONS, pipeline, **equal)
    ]
    found += (_former(pipeline, row) for row in registry.history(History.AUDIT, pipeline, event=_FORMER_EVENT))
    return tuple(sorted((one for one in found if plan_digest in (None, one.plan_digest)), key=lambda one: (one.at, one.id)))


def list_rejections(registry: Registry, pipelines: Iterable[str], limit: int) -> tuple[Rejection, ...]:
    """The last rejections of these pipelines' plans, oldest first."""
    found = [one for pipeline in pipelines for one in read_rejections(registry, pipeline)]
    return tuple(sorted(found, key=lambda one: (one.at, one.pipeline))[-limit:])


def new_rejection(pipeline: str, plan_digest: str, environment: str, by: str, reason: str) -> Rejection:
    """A rejection of this moment, which is not written down yet."""
    return Rejection(str(uuid.uuid4()), pipeline, plan_digest, environment, by, this_moment(), reason)


def record_rejection(registry: Registry, made: Rejection) -> None:
    """Write a rejection down."""
    row = {name: text for name, text in asdict(made).items() if name not in ("id", "pipeline")}
    registry.record(History.REJECTIONS, made.pipeline, [{"rejection_id": made.id, **row}], f"rejection:{made.id}")


def _former(pipeline: str, row: Any) -> Rejection:
    digest, _, reason = row["details"].partition(" ")
    return Rejection(f"{row['at']} {row['by']} {digest}", pipeline, digest, "", row["by"], row["at"], reason)
