"""What a policy is: rules that give verdicts on hazards, and limits. See `policy` for how its file is read."""

from dataclasses import field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from reconciler.base.dataclass import dataclass

POLICY_FILE: Final = "policy.yaml"
EVERY: Final = "*"


class Verdict(StrEnum):
    """What is done about a hazard."""

    ALLOW = "allow"
    """It is listed, and asks for no attention."""
    WARN = "warn"
    """It is shown to whoever reviews the plan."""
    APPROVE = "approve"
    """It needs recorded approvals, besides what the plan needs anyway."""
    DENY = "deny"
    """The plan is not applied."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `hazard` is a code or `*`, `pipelines` a pattern. `giving_approval` counts with APPROVE only."""

    hazard: str
    verdict: Verdict
    pipelines: str = EVERY
    approvals: int = 1
    reason: str = ""

    def is_for(self, pipeline: str) -> bool:
        """Whether the rule speaks of this pipeline."""
        return fnmatchcase(pipeline, self.pipelines)

    def decides(self, hazard: str) -> bool:
        """Whether the rule speaks of hazards of this code."""
        return self.hazard in (EVERY, hazard)


BUILT_IN: Final = (
    Rule("H911", Verdict.DENY, reason="it is protected: apply `protect: false` first, by itself"),
    Rule(EVERY, Verdict.WARN),
)
"""Asked after the rules of the file."""


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on hazards of size are hazards."""

    removed_share: float = 0.5
    large_rows: int = 100_000_000
    large_bytes: int = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """What a policy file says."""

    rules: tuple[Rule, ...] = ()
    limits: Limits = field(default_factory=Limits)
