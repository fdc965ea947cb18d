"""What policy says of hazards, and what of that reaches a plan, its digest and its lock."""

from dataclasses import replace

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.plan.lock import Matches, judge_lock, render_section, with_section
from reconciler.plan.make import make_plan
from reconciler.plan.model import Hazard, Judgement, Plan, Policies
from reconciler.plan.policy import codes_named, describe_demand, describe_judgement, judge, may_stop
from reconciler.project.manifest.read import read_manifest
from reconciler.project.manifest.verdicts import Limits, Policy, Rule, Verdict
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
TABLES = "CREATE TABLE t (id BIGINT);\nCREATE TABLE u (id BIGINT);\n"
HAZARD = Hazard("H901", "t", "table t is removed and its rows are deleted")
PROTECTED = Hazard("H911", "t", "table t is protected, and is removed")


def verdicts(policy: Policy | None, *hazards: Hazard, pipeline: str = "shop") -> list[Verdict]:
    return [judgement.verdict for judgement in judge(hazards, policy, pipeline)]


def test_without_a_policy_hazards_are_shown_and_protection_is_denied() -> None:
    assert verdicts(None, HAZARD, PROTECTED) == [Verdict.WARN, Verdict.DENY]
    assert verdicts(Policy(), HAZARD, PROTECTED) == [Verdict.WARN, Verdict.DENY]


def test_the_first_rule_that_matches_decides() -> None:
    rules = (Rule("H901", Verdict.ALLOW, "shop"), Rule("H901", Verdict.DENY), Rule("*", Verdict.APPROVE, approvals=2))
    assert verdicts(Policy(rules), HAZARD, PROTECTED) == [Verdict.ALLOW, Verdict.APPROVE]
    assert verdicts(Policy(rules), HAZARD, PROTECTED, pipeline="other") == [Verdict.DENY, Verdict.APPROVE]


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [("shop", True), ("sh*", True), ("*p", True), ("s?op", True), ("shop?", False), ("hop", False), ("sho", False)],
)
def test_patterns(pattern: str, matches: bool) -> None:
    found = verdicts(Policy((Rule("*", Verdict.DENY, pattern),)), HAZARD)
    assert found == [Verdict.DENY if matches else Verdict.WARN]


def test_codes_that_rules_name_are_asked_for() -> None:
    policy = Policy((Rule("H942", Verdict.DENY, "prod_*"), Rule("H901", Verdict.WARN), Rule("*", Verdict.APPROVE)))
    assert codes_named(policy, "prod_shop") == {"H942", "H901"}
    assert codes_named(policy, "shop") == {"H901"}
    assert codes_named(None, "shop") == frozenset()


def test_a_judgement_says_how_many_and_why() -> None:
    (found,) = judge([HAZARD], Policy((Rule("H901", Verdict.APPROVE, approvals=2, reason="dear"),)), "shop")
    assert found == Judgement(HAZARD, Verdict.APPROVE, 2, "dear")
    (found,) = judge([HAZARD], Policy((Rule("H901", Verdict.DENY, reason="dear"),)), "shop")
    assert found == Judgement(HAZARD, Verdict.DENY, 0, "dear")


def test_judgements_in_words() -> None:
    one, two = Judgement(HAZARD, Verdict.APPROVE, 1), Judgement(PROTECTED, Verdict.APPROVE, 2)
    assert describe_judgement(one) == "needs 1 more approval"
    assert describe_judgement(two) == "needs 2 more approvals"
    assert describe_demand((one, two)) == "2 more approvals because of H901, H911"
    assert describe_demand((two, Judgement(HAZARD, Verdict.DENY))) == "denied because of H901"
    assert describe_demand((Judgement(HAZARD, Verdict.WARN), Judgement(HAZARD, Verdict.ALLOW))) == ""


def test_what_would_stop_nobody_need_not_be_measured() -> None:
    assert not may_stop(None, "shop", "H912")
    policy = Policy((Rule("H912", Verdict.WARN, "dev"), Rule("H912", Verdict.DENY)))
    assert may_stop(policy, "shop", "H912")
    assert not may_stop(policy, "dev", "H912")


def snapshot(sql: str) -> Snapshot:
    files = {"pipelines/shop/pipeline.yaml": YAML, "pipelines/shop/program.sql": sql}
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None
    return take_snapshot(compile_program(read.manifest).program)


def plan(policy: Policy | None) -> Plan:
    policies = Policies(BootstrapPolicy.AWAIT_APPROVAL, False, policy)
    return make_plan("shop", "dev", snapshot(TABLES), snapshot(TABLES.splitlines()[0]), policies)


DENY = Policy((Rule("H901", Verdict.DENY, reason="no"),))


def test_a_plan_knows_whether_it_is_denied_and_what_more_it_needs() -> None:
    assert [one.hazard for one in plan(DENY).judgements] == list(plan(DENY).hazards)
    assert plan(DENY).is_denied
    assert not plan(None).is_denied
    assert plan(None).extra_approvals == 0
    assert plan(Policy((Rule("H901", Verdict.APPROVE, approvals=3),))).extra_approvals == 3


def test_the_digest_covers_rules_of_this_pipeline_and_limits_and_no_more() -> None:
    base = plan(DENY).digest
    changed = [
        None,
        Policy(),
        Policy((Rule("H901", Verdict.WARN),)),
        Policy((Rule("H902", Verdict.DENY),)),
        Policy((*DENY.rules, Rule("H902", Verdict.DENY))),
        Policy((Rule("H901", Verdict.APPROVE),)),
        Policy((Rule("H901", Verdict.APPROVE, approvals=2),)),
        replace(DENY, limits=Limits(large_rows=5)),
    ]
    digests = {plan(policy).digest for policy in changed}
    assert len({base, *digests}) == len(changed) + 1
    same = [
        Policy((Rule("H901", Verdict.DENY, reason="other words"),)),
        Policy((Rule("H901", Verdict.DENY, "sh*"),)),
        Policy((Rule("*", Verdict.ALLOW, "other"), *DENY.rules)),
    ]
    assert {plan(policy).digest for policy in same} == {base}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((), ["  H901 table u is removed and its rows are deleted"]),
        ((Rule("H901", Verdict.ALLOW),), ["  H901 table u is removed and its rows are deleted [allowed]"]),
        (
            (Rule("H901", Verdict.DENY, reason="no"),),
            ["  H901 table u is removed and its rows are deleted [denied]", "policy: denied because of H901"],
        ),
        (
            (Rule("H901", Verdict.APPROVE, approvals=2),),
            [
                "  H901 table u is removed and its rows are deleted [needs 2 more approvals]",
                "policy: 2 more approvals because of H901",
            ],
        ),
    ],
)
def test_the_lock_shows_what_policy_asks_for(rules: tuple[Rule, ...], expected: list[str]) -> None:
    found = plan(Policy(rules))
    lines = render_section(found, "1").splitlines()
    assert [line for line in lines if "H901" in line] == expected
    assert judge_lock(with_section(None, found, "1", "shop", "dev"), found, "1") == Matches()
