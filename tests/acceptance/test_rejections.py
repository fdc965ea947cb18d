"""A plan that somebody rejected is not carried out until he approves it, or somebody overrules him. Through the command line
and from Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import ApprovalRequired
from reconciler.registry.protocol import History
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash
from tests.acceptance.git_shop import ONE, THREE, TWO, Shop, applied_shop, refused
from tests.consent.test_reached import At


@pytest.fixture
def applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return applied_shop(tmp_path, capsys)


def digest_of(shop: Shop) -> str:
    return str(shop.plan()["digest"])


def rejected(shop: Shop, by: str = "Ann", reason: str = "not before Friday") -> str:
    """The digest of the plan of a change that somebody rejected."""
    digest = digest_of(shop)
    assert "rejected plan" in shop.reconcile("reject", "shop", digest[:20], "--by", by, "--reason", reason)
    return digest


def test_a_rejection_is_of_one_digest(applied: Shop) -> None:
    applied.write(TWO)
    digest = rejected(applied)
    applied.write(THREE)
    assert "A504" in applied.reconcile("reject", "shop", digest, "--reason", "no", expect=1)
    applied.reconcile("approve", "shop", digest_of(applied))
    applied.reconcile("apply", "shop")


def test_nobody_rejects_and_nothing_is_rejected(applied: Shop) -> None:
    before = applied.fingerprint()
    assert "nothing to reject" in applied.reconcile("reject", "shop", digest_of(applied), "--reason", "no", expect=1)
    applied.write(TWO)
    digest = digest_of(applied)
    assert "A582" in applied.reconcile("reject", "shop", digest, "--reason", "no", "--by", "@ann", expect=1)
    assert applied.fingerprint() == before


@pytest.mark.parametrize("consent", ["lock", "recorded", "policy"])
def test_nothing_that_allows_a_plan_carries_a_rejected_one_out(consent: str, applied: Shop) -> None:
    policy = "allow" if consent == "policy" else "await_approval"
    if consent == "policy":
        applied.write(ONE, policy="allow")
        applied.lock_and_commit()
        applied.reconcile("apply", "shop")
    applied.write(TWO, policy=policy)
    if consent == "recorded":
        applied.reconcile("approve", "shop", digest_of(applied), "--by", "Bob")
    if consent == "lock":
        applied.lock_and_commit()
    rejected(applied)
    refused(applied, "Ann rejected this plan: not before Friday", "A585")


def test_who_rejected_takes_it_back_by_approving(applied: Shop) -> None:
    applied.write(TWO)
    digest = rejected(applied)
    # Another Ann, for all that is known: she has to say that she overrules.
    assert "A585" in applied.reconcile("approve", "shop", digest, "--by", "Ann <ann@example.org>", expect=2)
    assert "taken back: Ann rejected this plan" in applied.reconcile("approve", "shop", digest, "--by", "ann")
    applied.reconcile("apply", "shop")


def test_who_overruled_may_change_his_mind(applied: Shop) -> None:
    applied.write(TWO)
    digest = rejected(applied)
    applied.reconcile("approve", "shop", digest, "--by", "Bob", "--override-rejection")
    rejected(applied, by="Bob", reason="on second thought")
    refused(applied, "is rejected: Bob rejected this plan: on second thought", "A585")


def test_somebody_else_has_to_say_that_he_overrules(applied: Shop) -> None:
    applied.write(TWO)
    digest = rejected(applied)
    before = applied.fingerprint()
    said = applied.reconcile("approve", "shop", digest, "--by", "Bob", expect=2)
    assert "A585" in said
    assert "--override-rejection" in said
    assert applied.fingerprint() == before
    assert "overruled: Ann" in applied.reconcile("approve", "shop", digest, "--by", "Bob", "--override-rejection")
    applied.reconcile("apply", "shop")
    assert "approval: recorded by Bob" in applied.reconcile("status", "shop")


def test_who_overruled_is_told_also_where_no_approval_was_asked_for(applied: Shop) -> None:
    """In the status, in the history and with the versions."""
    applied.write(ONE, policy="allow")
    applied.lock_and_commit()
    applied.reconcile("apply", "shop")
    applied.write(TWO, policy="allow")
    digest = rejected(applied)
    applied.reconcile("approve", "shop", digest, "--by", "Cleo", "--override-rejection")
    rejected(applied, by="Cleo")
    applied.reconcile("approve", "shop", digest, "--by", "Bob", "--override-rejection")
    applied.reconcile("approve", "shop", digest, "--by", "Dora")
    applied.reconcile("apply", "shop")
    assert "approval: policy; approved by Bob, Dora\n" in applied.reconcile("status", "shop")
    first, _, last = json.loads(applied.reconcile("history", "shop", "--format", "json"))["applies"]
    assert (first["approval"], first["approved_by"]) == ("first", "")
    assert (last["approval"], last["approved_by"]) == ("policy", "Bob, Dora")
    assert "  policy; approved by Bob, Dora  " in applied.reconcile("history", "shop")
    assert "  policy; approved by Bob, Dora  " in applied.reconcile("versions", "list", "shop.totals")


def test_who_made_the_change_overrules_nobody_where_policy_asks_for_others(applied: Shop) -> None:
    rule = "{hazard: H903, verdict: approve}"
    (applied.root / "policy.yaml").write_text(f"apiVersion: reconciler/v1\nkind: Policy\nrules:\n  - {rule}\n")
    applied.commit("policy")
    applied.write(ONE.splitlines()[0] + "\n")
    applied.lock_and_commit()
    digest = rejected(applied, by="Bob")
    said = applied.reconcile("approve", "shop", digest, "--by", "Ann", "--override-rejection", expect=1)
    assert "Ann made the change and can't overrule" in said
    # His own no is his to take back, whatever his approval counts for.
    rejected(applied, by="Ann")
    applied.reconcile("approve", "shop", digest, "--by", "Cleo", "--override-rejection")
    rejected(applied, by="Ann")
    applied.reconcile("approve", "shop", digest, "--by", "Ann")
    applied.reconcile("apply", "shop")


@pytest.mark.parametrize(("verdict", "may"), [("approve", False), ("warn", True)])
def test_nor_where_policy_asks_for_others_only_of_what_is_large(verdict: str, may: bool, applied: Shop) -> None:
    rule = f"{{hazard: H912, verdict: {verdict}}}"
    (applied.root / "policy.yaml").write_text(f"apiVersion: reconciler/v1\nkind: Policy\nrules:\n  - {rule}\n")
    applied.commit("policy")
    applied.write(TWO)
    applied.lock_and_commit()
    digest = rejected(applied, by="Bob")
    said = applied.reconcile("approve", "shop", digest, "--by", "Ann", "--override-rejection", expect=0 if may else 1)
    assert ("Ann made the change and can't overrule" in said) is not may


def test_it_is_shown_as_long_as_it_stops_the_plan(applied: Shop) -> None:
    applied.write(TWO)
    digest = rejected(applied)
    words = "Ann rejected this plan: not before Friday"
    assert f"  Rejected: {words}" in applied.reconcile("plan", "shop")
    assert f"**Rejected.** `shop`: {words}" in applied.reconcile("plan", "shop", "--format", "markdown")
    (told,) = list(applied.plan()["rejections"])  # type: ignore[call-overload]
    assert (told["by"], told["reason"]) == ("Ann", "not before Friday")
    assert words in applied.reconcile("status", "shop")
    assert "AwaitingApproval" in applied.reconcile("status", "shop")
    assert "not before Friday" in applied.reconcile("history", "shop")
    applied.reconcile("approve", "shop", digest, "--by", "Ann")
    assert "rejections" not in applied.plan()
    assert "rejected" not in applied.reconcile("status", "shop")
    # What was said stays said.
    (row,) = listed(applied)
    assert row["plan_digest"] == digest


def listed(shop: Shop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shop.reconcile("history", "shop", "--format", "json"))["rejections"]
    return found


def test_what_an_earlier_console_stored_as_text_is_read(applied: Shop) -> None:
    applied.write(TWO)
    digest = digest_of(applied)
    row = {"event": "plan rejected", "at": "2026-01-01T00:00:00.000+00:00", "by": "Ann", "details": f"{digest} too low"}
    Project.open(applied.root).target.registry.record(History.AUDIT, "shop", [row], "rejected:of before")
    refused(applied, "Ann rejected this plan: too low", "A585")
    (told,) = listed(applied)
    assert (told["plan_digest"], told["reason"], told["at"]) == (digest, "too low", row["at"])
    applied.reconcile("approve", "shop", digest, "--by", "ann")
    applied.reconcile("apply", "shop")


def test_it_is_the_same_from_python(applied: Shop) -> None:
    applied.write(TWO)
    pipeline = Project.open(applied.root).pipeline("shop")
    plan = pipeline.reject(pipeline.plan().digest, "not before Friday", by="Ann")
    (rejection,) = pipeline.rejections()
    assert (rejection.plan_digest, rejection.by) == (plan.digest, "Ann")
    assert pipeline.status().rejections == (rejection,)
    with pytest.raises(ApprovalRequired, match="Ann rejected this plan"):
        pipeline.approve(plan.digest, by="Bob")
    pipeline.approve(plan.digest, by="Bob", override_rejection=True)
    pipeline.apply()
    assert pipeline.status().rejections == ()


def test_who_rejects_while_the_journal_is_opened_is_heard(applied: Shop) -> None:
    applied.write(TWO)
    applied.lock_and_commit()
    pipeline = Project.open(applied.root).pipeline("shop")
    before = pipeline.target.registry.head("shop")
    with pytest.raises(ApprovalRequired, match="Ann rejected this plan"):
        pipeline.observed(boundary=At("open:before", lambda: rejected(applied))).apply()
    after = pipeline.target.registry.head("shop")
    assert before is not None
    assert after is not None
    assert after.value.journal is None
    assert after.value.applied == before.value.applied


def test_who_died_before_he_heard_of_it_is_not_finished(applied: Shop) -> None:
    applied.write(TWO)
    applied.lock_and_commit()
    pipeline = Project.open(applied.root).pipeline("shop")
    with pytest.raises(Crash):
        pipeline.observed(boundary=At("open:before", lambda: rejected(applied), crash="open:recorded")).apply()
    refused_now = applied.reconcile("apply", "shop", expect=2)
    assert "does not start: Ann rejected this plan: not before Friday" in refused_now
    assert "A585" in refused_now


def test_who_rejects_what_is_being_carried_out_is_told_that_it_may_be_too_late(applied: Shop) -> None:
    applied.write(TWO)
    applied.lock_and_commit()
    digest, said = digest_of(applied), []

    def reject() -> None:
        said.append(applied.reconcile("reject", "shop", digest, "--by", "Bob", "--reason", "no"))

    pipeline = Project.open(applied.root).pipeline("shop")
    assert not pipeline.observed(boundary=At("commit_snapshot:intended", reject)).apply().did_nothing
    assert "note: Ann began to apply this plan at " in said[0]
    assert "may come too late" in said[0]


def test_who_rejects_a_restore_while_it_is_prepared_is_heard(applied: Shop) -> None:
    applied.reconcile("checkpoint", "create", "shop", "--name", "good")
    applied.write(TWO)
    applied.lock_and_commit()
    applied.reconcile("apply", "shop")
    digest = applied.reconcile("checkpoint", "restore", "shop", "good", expect=2).split("reconcile approve shop ")[1][:12]

    def reject() -> None:
        applied.reconcile("reject", "shop", digest, "--by", "Bob", "--reason", "TWO is right")

    pipeline = Project.open(applied.root).pipeline("shop")
    with pytest.raises(ApprovalRequired, match="Bob rejected this plan"):
        pipeline.observed(boundary=At("restore_intent:before", reject)).restore("good", approve_as="Ann")
    assert "nothing to do" in applied.reconcile("apply", "shop")
