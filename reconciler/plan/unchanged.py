"""The plan where nothing changed at all, not even what is written: made from an outline, without a program.

It equals what `make.make_plan` gives for the same snapshot on both sides.
"""

from typing import Final

from reconciler.diff.model import Diff
from reconciler.plan.digest import plan_digest
from reconciler.plan.model import ConnectorOutcome, Outcome, Plan, Policies
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.project.snapshot.outline import Outline

UNCHANGED_REASONS: Final = {
    "input": "neither it nor its table changed; resumes from its position",
    "output": "neither it nor its view changed",
}


def make_unchanged_plan(pipeline: str, environment: str, outline: Outline, policies: Policies, follows: str | None) -> Plan:
    """The plan from a snapshot to itself."""
    return Plan(
        pipeline=pipeline,
        environment=environment,
        policies=policies,
        follows=follows,
        applied_digest=outline.digest,
        desired_digest=outline.digest,
        diff=Diff((), ()),
        steps=(CommitSnapshot(),),
        connectors=tuple(
            ConnectorOutcome(name, Outcome.RESUMES, UNCHANGED_REASONS[direction]) for name, direction in outline.connectors
        ),
        hazards=(),
        judgements=(),
        queries=(),
        kept=outline.relations,
        digest=plan_digest(pipeline, environment, (outline.digest, outline.digest), policies, follows, {}),
    )
