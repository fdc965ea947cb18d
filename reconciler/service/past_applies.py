"""The applies and restores of pipelines, each with everybody who recorded an approval of its plan that counted."""

from collections.abc import Iterable
from dataclasses import replace

from reconciler.apply.decisions import all_decisions
from reconciler.environment.target import Target
from reconciler.versions.history import PastApply
from reconciler.versions.history import list_applies as list_without_approvals


def list_applies(target: Target, pipelines: Iterable[str], limit: int | None = None) -> tuple[PastApply, ...]:
    """The last applies of these pipelines, oldest first."""
    found = list_without_approvals(target, pipelines, limit)
    decided = {name: all_decisions(target, name) for name in {one.pipeline for one in found}}
    return tuple(
        replace(one, approved_by=decisions.approvers)
        if (decisions := decided[one.pipeline].get(one.plan_digest)) is not None
        else one
        for one in found
    )
