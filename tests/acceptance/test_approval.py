"""What needs approval and what does not: by the plan, by the environment and by the pipeline's bootstrap policy. Through the
command line; how it is given: test_approval_by_lock and test_approval_recorded. What policy.yaml says: test_policy."""

import json
from pathlib import Path

import pytest

from tests.acceptance.git_shop import CONNECTOR, ONE, TWO, Shop, applied_shop, make_pipeline, refused

pytestmark = pytest.mark.both_ways


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return Shop(tmp_path / "repository", capsys)


@pytest.fixture
def applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return applied_shop(tmp_path, capsys)


def test_a_first_apply_needs_no_approval_and_the_second_does_nothing(shop: Shop) -> None:
    assert "applied: 0 to bootstrap, 2 to add" in shop.reconcile("apply", "shop")
    before = shop.fingerprint()
    assert "nothing to do" in shop.reconcile("apply", "shop")
    assert shop.fingerprint() == before
    assert shop.plan()["changes_pending"] is False


def test_a_first_apply_needs_approval_if_the_environment_asks_for_it(shop: Shop) -> None:
    (shop.root / "reconcile.yaml").write_text(
        "default: prod\nenvironments:\n  prod: {warehouse: .reconcile/prod, first_apply: await_approval}\n"
    )
    shop.reconcile("apply", "shop", expect=2)
    assert not (shop.root / ".reconcile").exists()
    assert "needed (first_apply: await_approval)" in shop.reconcile("plan", "shop", "--write-lock")
    said = shop.reconcile("apply", "shop", expect=2)
    assert "write-lock" not in said
    assert "hint: plan.lock matches this plan: have it reviewed and merged; or `reconcile approve shop" in said
    shop.commit("lock")
    shop.reconcile("apply", "shop")


@pytest.mark.parametrize("change", ["connector", "removal"])
def test_plans_of_connectors_only_and_of_removals_only_need_approval(change: str, applied: Shop) -> None:
    if change == "connector":
        applied.write(ONE, CONNECTOR)
    else:
        applied.write(ONE.splitlines()[0] + "\n")
    applied.commit("change")
    refused(applied, "there is no plan.lock")
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("lock")
    applied.reconcile("apply", "shop")


def test_without_a_lock_the_pipeline_awaits_approval(applied: Shop) -> None:
    applied.write(TWO)
    applied.commit("no lock")
    refused(applied, "there is no plan.lock")
    assert "AwaitingApproval" in applied.reconcile("status")
    status = json.loads(applied.reconcile("status", "shop", "--format", "json"))
    assert status["pipelines"][0]["state"] == "AwaitingApproval"


def test_settings_of_the_environment_that_decide_results_are_planned_and_approved(applied: Shop) -> None:
    text = "environments: {{dev: {{warehouse: .reconcile/warehouse, spark: {{spark.sql.{}}}}}}}\n"
    (applied.root / "reconcile.yaml").write_text(text.format("session.timeZone: Asia/Tokyo"))
    assert "spark.sql.session.timeZone" in applied.reconcile("plan", "shop")
    applied.commit("another time zone")
    refused(applied, "there is no plan.lock")
    (applied.root / "reconcile.yaml").write_text(text.format("shuffle.partitions: 4"))
    applied.reconcile("plan", "shop", "--detailed-exitcode")


def test_a_change_of_description_is_applied_without_approval(applied: Shop) -> None:
    applied.write("-- a comment\n" + ONE)
    applied.reconcile("plan", "shop", "--check-lock", "--detailed-exitcode")
    applied.reconcile("apply", "shop")
    before = applied.fingerprint()
    applied.reconcile("apply", "shop")
    assert applied.fingerprint() == before


def test_one_pipeline_that_awaits_does_not_hold_up_another(applied: Shop) -> None:
    applied.write(TWO)
    make_pipeline(applied.root, "other")
    text = applied.reconcile("apply", expect=2)
    assert "other: applied" in text
    assert "A501" in text


def test_allow_applies_without_a_lock(applied: Shop) -> None:
    applied.write(ONE, policy="allow")
    refused(applied, "there is no plan.lock")
    applied.lock_and_commit()
    applied.reconcile("apply", "shop")
    applied.write(TWO, policy="allow")
    applied.reconcile("apply", "shop")
    assert "approval: policy" in applied.reconcile("status", "shop")


def test_a_change_cannot_loosen_the_policy_that_it_is_judged_by(applied: Shop) -> None:
    applied.write(TWO, policy="allow")
    applied.commit("the policy and a change at once")
    refused(applied, "there is no plan.lock")
    applied.reconcile("plan", "shop", "--check-lock", expect=2)


def test_allow_and_first_applies_too_are_of_the_branch_that_the_environment_names(shop: Shop) -> None:
    (shop.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse, branch: main}}\n")
    shop.write(ONE, policy="allow")
    refused(shop, "not committed", "A580")
    shop.commit("on main")
    shop.reconcile("apply", "shop")
    shop.git("checkout", "-q", "-b", "elsewhere")
    shop.write(TWO, policy="allow")
    shop.commit("on a branch")
    refused(shop, "not on branch main", "A580")


def test_reject_lists_the_modifications_and_leaves_everything_as_it_is(applied: Shop) -> None:
    applied.write(TWO, policy="reject")
    before = applied.fingerprint()
    text = applied.reconcile("apply", "shop", expect=1)
    assert "A502" in text
    assert "view totals modified" in text
    assert applied.fingerprint() == before
    applied.write(ONE, policy="reject")
    applied.reconcile("apply", "shop")
    applied.reconcile("approve", "shop", "sha256:" + "0" * 64, expect=1)


def test_reject_cannot_be_overridden_by_an_approval(applied: Shop) -> None:
    applied.write(TWO, policy="reject")
    applied.reconcile("approve", "shop", str(applied.plan()["digest"]), expect=1)
    applied.reconcile("apply", "shop", expect=1)
