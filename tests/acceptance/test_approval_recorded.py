"""An approval that `reconcile approve` records: of one digest, and once. Through the command line."""

from pathlib import Path

import pytest

from reconciler.registry.protocol import History
from reconciler.service.project import Project
from tests.acceptance.git_shop import ONE, THREE, TWO, Shop, applied_shop, refused


@pytest.fixture
def applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return applied_shop(tmp_path, capsys)


def test_approve_records_an_approval_of_one_digest(applied: Shop) -> None:
    applied.write(TWO)
    digest = str(applied.plan()["digest"])
    applied.reconcile("approve", "shop", digest[:20], "--by", "Bob", "--comment", "seen")
    assert "approval: recorded by Bob" not in applied.reconcile("status", "shop")
    applied.reconcile("apply", "shop")
    assert "approval: recorded by Bob" in applied.reconcile("status", "shop")


def test_an_approval_is_of_one_digest_and_never_of_whatever_comes_next(applied: Shop) -> None:
    applied.write(TWO)
    digest = str(applied.plan()["digest"])
    applied.reconcile("approve", "shop", digest)
    applied.write(THREE)
    refused(applied, "there is no plan.lock")
    assert "A504" in applied.reconcile("approve", "shop", digest, expect=1)
    now = str(applied.plan()["digest"]).removeprefix("sha256:")[:12]
    said = applied.reconcile("approve", "shop", "sha256:", expect=1)
    assert f"has digest sha256: (give at least 12 digits of it); the plan of its files has digest {now}\n" in said
    applied.write(ONE)
    assert f"has digest {digest}; its files change nothing\n" in applied.reconcile("approve", "shop", digest, expect=1)


@pytest.mark.parametrize("nobody", ["", " ", "@", "@ann", " @example.org", "\u200b", "\u3164@example.org"])
def test_nobody_approves(applied: Shop, nobody: str) -> None:
    applied.write(TWO)
    before = applied.fingerprint()
    said = applied.reconcile("approve", "shop", str(applied.plan()["digest"]), "--by", nobody, expect=1)
    assert "A582: an approval records who gives it, and " in said
    assert ("write the name without @: --by ann" if nobody == "@ann" else "name the approver: --by NAME") in said
    assert applied.fingerprint() == before


def test_what_was_recorded_of_nobody_does_not_count(applied: Shop) -> None:
    applied.write(TWO)
    target = Project.open(applied.root).target
    row = {"plan_digest": str(applied.plan()["digest"]), "environment": target.environment.name, "at": "2026-01-01"}
    row |= {"by": "@ann", "comment": "", "lifts": ""}
    target.registry.record(History.APPROVALS, "shop", [row], "approval:of nobody")
    refused(applied, "there is no plan.lock")
    target.registry.record(History.APPROVALS, "shop", [{**row, "by": "Ann"}], "approval:of somebody")
    applied.reconcile("apply", "shop")


def test_no_recorded_approval_serves_twice(applied: Shop) -> None:
    for program in (TWO, ONE):
        applied.write(program)
        applied.reconcile("approve", "shop", str(applied.plan()["digest"]))
        applied.reconcile("apply", "shop")
    applied.write(TWO)
    refused(applied, "there is no plan.lock")
