"""The digest of a plan: what an approval names."""

from collections.abc import Mapping
from typing import Any

from reconciler.base.digest import digest_json
from reconciler.plan.model import Policies
from reconciler.plan.policy import policy_content

PLAN_FORMAT = 1


def plan_digest(
    pipeline: str,
    environment: str,
    between: tuple[str | None, str | None],
    policies: Policies,
    follows: str | None,
    beyond_content: Mapping[str, Any],
) -> str:
    """The digest of a plan between two snapshots, the applied and the desired one, by their digests. What is in
    `beyond_content` decides its steps without being part of what either side means."""
    return digest_json(
        {
            "format": PLAN_FORMAT,
            "pipeline": pipeline,
            "environment": environment,
            "follows": follows,
            "applied": between[0],
            "desired": between[1],
            "bootstrap_policy": policies.bootstrap.value,
            "approve_first_apply": policies.approve_first_apply,
            **beyond_content,
            # Without the file digests are what they were before there could be one.
            **({"policy": policy_content(policies.policy, pipeline)} if policies.policy is not None else {}),
        }
    )
