"""What policy says of a plan's hazards: (hazards, rules, pipeline) → judgements.

The rules of policy.yaml are asked in their order, then the built-in ones; the first that matches decides. So each hazard
has exactly one judgement.
"""

from collections.abc import Iterable, Sequence

from reconciler.base.digest import JsonObject
from reconciler.plan.model import Hazard, Judgement
from reconciler.project.manifest.verdicts import BUILT_IN, EVERY, Policy, Rule, Verdict


def judge(hazards: Sequence[Hazard], policy: Policy | None, pipeline: str) -> tuple[Judgement, ...]:
    """One judgement for each hazard, in the same order."""
    rules = (*matching_rules(policy, pipeline), *BUILT_IN)
    return tuple(_judgement(hazard, rules) for hazard in hazards)


def matching_rules(policy: Policy | None, pipeline: str) -> tuple[Rule, ...]:
    """The rules of the file that speak of a pipeline, in order."""
    return tuple(rule for rule in policy.rules if rule.is_for(pipeline)) if policy is not None else ()


def codes_named(policy: Policy | None, pipeline: str) -> frozenset[str]:
    """The codes that rules for a pipeline name; `"*"` names none."""
    return frozenset(rule.hazard for rule in matching_rules(policy, pipeline)) - {EVERY}


def may_stop(policy: Policy | None, pipeline: str, hazard: str) -> bool:
    """Whether a hazard of this code, if there were one, would stop an apply that nobody approved further. It is asked
    before something is measured that nobody would act upon."""
    return _verdict_of(policy, pipeline, hazard) in (Verdict.APPROVE, Verdict.DENY)


def may_ask_for_others(policy: Policy | None, pipeline: str, hazard: str) -> bool:
    """Whether a hazard of this code, if there were one, would ask for approvals of others."""
    return _verdict_of(policy, pipeline, hazard) is Verdict.APPROVE


def _verdict_of(policy: Policy | None, pipeline: str, hazard: str) -> Verdict:
    rules = (*matching_rules(policy, pipeline), *BUILT_IN)
    return next(rule for rule in rules if rule.decides(hazard)).verdict


def policy_content(policy: Policy, pipeline: str) -> JsonObject:
    """What a plan's digest covers of the policy: the rules that speak of this pipeline, and the limits. Reasons, and rules
    of others, change no plan."""
    return {
        "rules": [
            {"hazard": rule.hazard, "verdict": rule.verdict.value, "approvals": rule.approvals}
            for rule in matching_rules(policy, pipeline)
        ],
        "limits": {
            "removed_share": policy.limits.removed_share,
            "large_rows": policy.limits.large_rows,
            "large_bytes": policy.limits.large_bytes,
        },
    }


def denied(judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """Those because of which a plan is not applied."""
    return tuple(one for one in judgements if one.verdict is Verdict.DENY)


def demanding(judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """Those that ask for approvals more than the plan needs anyway."""
    return tuple(one for one in judgements if one.verdict is Verdict.APPROVE)


def approvals_demanded(judgements: Iterable[Judgement]) -> int:
    """How many more approvals: one person who approves the plan approves all of its hazards."""
    return max((one.approvals for one in demanding(judgements)), default=0)


def describe_judgement(judgement: Judgement) -> str:
    """What is done about a hazard, in a word or two; empty when it is only shown, as any hazard is."""
    match judgement.verdict:
        case Verdict.ALLOW:
            return "allowed"
        case Verdict.WARN:
            return ""
        case Verdict.APPROVE:
            return "needs 1 more approval" if judgement.approvals == 1 else f"needs {judgement.approvals} more approvals"
        case Verdict.DENY:
            return "denied"


def describe_demand(judgements: Sequence[Judgement]) -> str:
    """What policy asks of whoever applies: `denied because of H911`, `2 more approvals because of H901, H902`; empty when
    it asks for nothing."""
    if denied(judgements):
        return f"denied because of {_codes(denied(judgements))}"
    count = approvals_demanded(judgements)
    if count == 0:
        return ""
    return f"{count} more approval{'s' if count > 1 else ''} because of {_codes(demanding(judgements))}"


def _codes(judgements: Iterable[Judgement]) -> str:
    return ", ".join(sorted({judgement.hazard.code for judgement in judgements}))


def _judgement(hazard: Hazard, rules: Sequence[Rule]) -> Judgement:
    # The last built-in rule is for every hazard.
    rule = next(rule for rule in rules if rule.decides(hazard.code))
    return Judgement(hazard, rule.verdict, rule.approvals if rule.verdict is Verdict.APPROVE else 0, rule.reason)
