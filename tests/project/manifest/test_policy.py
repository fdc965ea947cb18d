"""policy.yaml as values, and every mistake in it at its place."""

import re
from pathlib import Path

import pytest

from reconciler.base.diagnostics import render_diagnostic
from reconciler.project.manifest.policy import read_policy
from reconciler.project.manifest.verdicts import Limits, Policy, Rule, Verdict

START = "apiVersion: reconciler/v1\nkind: Policy\n"
PAGE = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")


def test_everything_is_read() -> None:
    read = read_policy(
        START + "rules:\n"
        '  - {hazard: H902, pipelines: "prod_*", verdict: deny, reason: no}\n'
        "  - {hazard: H901, verdict: approve, approvals: 2}\n"
        '  - {hazard: "*", verdict: warn}\n'
        "limits: {removed_share: 1, large_rows: 10, large_bytes: 20}\n"
    )

    assert read.diagnostics == ()
    assert read.policy == Policy(
        (
            Rule("H902", Verdict.DENY, "prod_*", 1, "no"),
            Rule("H901", Verdict.APPROVE, "*", 2, ""),
            Rule("*", Verdict.WARN),
        ),
        Limits(1.0, 10, 20),
    )


def test_what_is_not_said_has_its_default() -> None:
    assert read_policy(START).policy == Policy((), Limits(0.5, 100_000_000, 100_000_000_000))
    assert read_policy(START + "limits: {large_rows: 1}").policy == Policy((), Limits(large_rows=1))


def rule(text: str, earlier: str = "") -> str:
    return START + "rules:\n" + (f"  - {{{earlier}}}\n" if earlier else "") + f"  - {{{text}}}\n"


def test_a_long_pattern_is_not_quoted_whole() -> None:
    (found,) = read_policy(rule(f"hazard: H902, verdict: deny, pipelines: {'a' * 5000}")).diagnostics
    assert found.code == "M152"
    assert found.message.endswith(f"{'a' * 57}…'")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1:1 M106"]),
        ("[]", ["1:1 M112"]),
        ("kind: Policy\n", ["1:1 M111"]),
        (START.replace("Policy", "Pipeline"), ["2:7 M113"]),
        (START + "rule: []\n", ["3:1 M110"]),
        (START + "rules: {}\n", ["3:8 M112"]),
        (rule("hazard: H902"), ["4:5 M111"]),
        (rule("hazard: h902, verdict: deny"), ["4:14 M114"]),
        (rule("hazard: H902, verdict: forbid"), ["4:29 M113"]),
        (rule("hazard: H902, verdict: deny, pipeline: a"), ["4:35 M110"]),
        (rule("hazard: H902, verdict: approve, approvals: 0"), ["4:49 M115"]),
        (rule("hazard: H902, verdict: deny, reason: 1"), ["4:43 M112"]),
        (rule("hazard: H999, verdict: deny"), ["4:14 M150"]),
        (rule("hazard: A501, verdict: deny"), ["4:14 M114"]),
        (rule("hazard: H902, verdict: deny, pipelines: Prod*"), ["4:46 M152"]),
        (rule("hazard: H902, verdict: deny, pipelines: prod/*"), ["4:46 M152"]),
        (rule("hazard: H902, verdict: deny, pipelines: prod."), ["4:46 M152"]),
        (rule("hazard: H902, verdict: deny, pipelines: 9*"), ["4:46 M152"]),
        (rule(f"hazard: H902, verdict: deny, pipelines: {'a' * 64}"), ["4:46 M152"]),
        (rule("hazard: H902, verdict: deny, approvals: 2"), ["4:35 M153"]),
        (rule("hazard: H902, verdict: deny", 'hazard: "*", verdict: warn'), ["5:5 M151"]),
        (rule("hazard: H902, verdict: deny", "hazard: H902, verdict: warn"), ["5:5 M151"]),
        (rule("hazard: H902, verdict: deny, pipelines: a_b", "hazard: H902, pipelines: a_*, verdict: warn"), ["5:5 M151"]),
        (START + "limits: {removed_share: 2}\n", ["3:25 M115"]),
        (START + "limits: {large_rows: 1.5}\n", ["3:22 M112"]),
        (START + "limits: {large_bytes: 100GB}\n", ["3:23 M112"]),
        (START + "limits: {rows: 1}\n", ["3:10 M110"]),
        ("kind: [\n", ["2:1 M101"]),
    ],
)
def test_a_mistake_leaves_no_policy_and_is_found_at_its_place(text: str, expected: list[str]) -> None:
    read = read_policy(text, "main:policy.yaml")
    found = [f"{one.location.line}:{one.location.column} {one.code}" for one in read.diagnostics if one.location]

    assert read.policy is None
    assert found == expected
    assert all(one.location and one.location.file == "main:policy.yaml" for one in read.diagnostics)


def test_the_hint_says_which_of_two_rules_goes_first() -> None:
    (found,) = read_policy(rule("hazard: H902, verdict: deny", 'hazard: "*", verdict: warn')).diagnostics
    assert found.code == "M151"
    assert found.hint == "put the more specific rule first"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("hazard: H901, verdict: warn", "hazard: H902, verdict: deny"),
        ("hazard: H902, verdict: warn", 'hazard: "*", verdict: deny'),
        ("hazard: H902, pipelines: a_b, verdict: warn", "hazard: H902, pipelines: a_*, verdict: deny"),
        ("hazard: H902, pipelines: a_?, verdict: warn", "hazard: H902, pipelines: a_*, verdict: deny"),
        ("hazard: H902, pipelines: a_*, verdict: warn", "hazard: H902, pipelines: b_*, verdict: deny"),
    ],
)
def test_a_rule_that_decides_something_is_no_mistake(earlier: str, later: str) -> None:
    assert read_policy(rule(later, earlier)).diagnostics == ()


def test_every_example_of_the_page_holds() -> None:
    examples = re.findall(r"^```yaml policy\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    problems = [problem for example in examples for problem in read_policy(example).diagnostics]

    assert len(examples) >= 3
    assert [render_diagnostic(problem) for problem in problems] == []
