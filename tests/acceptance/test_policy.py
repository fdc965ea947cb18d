"""policy.yaml through the command line: what is denied is not applied, and what needs more approvals waits for them.

As in git_shop, tables and plain views only, so that no step needs an engine: git, registry and Delta are real.
"""

from pathlib import Path

import pytest

from reconciler.base.errors import PlanRejected
from reconciler.registry.protocol import History
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.git_shop import ONE, Shop
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

pytestmark = pytest.mark.both_ways

WITHOUT_VIEW = ONE.splitlines()[0] + "\n"
OTHER = "CREATE TABLE other (id BIGINT) WITH ('materialized' = 'true');\n"


def policy(*rules: str, more: str = "") -> str:
    lines = "".join(f"  - {{{rule}}}\n" for rule in rules)
    return f"apiVersion: reconciler/v1\nkind: Policy\nrules:\n{lines}{more}"


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    root = tmp_path / "repository"
    root.mkdir()
    return Shop(root, capsys)


@pytest.fixture
def applied(shop: Shop) -> Shop:
    shop.reconcile("apply", "shop")
    return shop


def set_policy(shop: Shop, text: str) -> None:
    (shop.root / "policy.yaml").write_text(text)
    shop.commit("policy")


def refused(shop: Shop, code: str, *words: str, expect: int) -> str:
    """Apply refuses, and leaves every byte as it was."""
    before = shop.fingerprint()
    text = shop.reconcile("apply", "shop", expect=expect)
    for word in (code, *words):
        assert word in text
    assert shop.fingerprint() == before
    return text


def lock_and_commit(shop: Shop) -> None:
    shop.reconcile("plan", "shop", "--write-lock")
    shop.commit("change and lock")


def digest(shop: Shop) -> str:
    return str(shop.plan()["digest"])


def test_what_is_denied_is_not_applied_whoever_approved_it(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: deny, reason: somebody reads it"))
    applied.write(WITHOUT_VIEW)
    said = applied.reconcile("plan", "shop", "--write-lock")
    assert "shop: policy.yaml denies this plan; a lock can't approve it\n" in said
    applied.commit("change and lock")
    assert "denied" in applied.lock.read_text()
    refused(applied, "A508", "H903", "view totals is removed", "(somebody reads it)", expect=1)
    assert "A508" in applied.reconcile("approve", "shop", digest(applied), expect=1)
    assert "denied by policy.yaml" in applied.reconcile("status", "shop")
    set_policy(applied, policy("hazard: H903, verdict: warn"))
    lock_and_commit(applied)
    applied.reconcile("apply", "shop")


def test_bootstrap_policy_allow_does_not_override_what_is_denied(applied: Shop) -> None:
    applied.write(ONE, policy="allow")
    lock_and_commit(applied)
    applied.reconcile("apply", "shop")
    set_policy(applied, policy("hazard: H903, verdict: deny"))
    applied.write(WITHOUT_VIEW, policy="allow")
    refused(applied, "A508", expect=1)


def test_rules_are_for_the_pipelines_that_they_name(applied: Shop) -> None:
    set_policy(applied, policy('hazard: "*", pipelines: "other_*", verdict: deny'))
    applied.write(WITHOUT_VIEW)
    lock_and_commit(applied)
    applied.reconcile("apply", "shop")


def test_first_applies_are_judged_too(shop: Shop) -> None:
    set_policy(shop, policy("hazard: H908, verdict: deny", "hazard: H909, verdict: approve"))
    shop.write(ONE + "CREATE VIEW lottery AS SELECT id, rand() AS ticket FROM orders;\n")
    shop.commit("first")
    refused_first(shop, "A508", 1)
    shop.write(ONE + "CREATE VIEW pairs AS SELECT a.id FROM orders a CROSS JOIN orders b;\n")
    shop.commit("first")
    refused_first(shop, "A509", 2)
    shop.reconcile("approve", "shop", digest(shop), "--by", "Bob")
    shop.reconcile("apply", "shop")


def refused_first(shop: Shop, code: str, expect: int) -> None:
    assert code in shop.reconcile("apply", "shop", expect=expect)
    assert not (shop.root / ".reconcile").exists()


def test_a_pull_request_is_judged_by_the_policy_of_the_base_branch(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: deny"))
    applied.git("checkout", "-q", "-b", "change")
    applied.write(WITHOUT_VIEW)
    (applied.root / "policy.yaml").unlink()
    lock_and_commit(applied)
    refused(applied, "A508", expect=1)
    (applied.root / "policy.yaml").write_text(policy("hazard: H903, verdict: allow"))
    lock_and_commit(applied)
    refused(applied, "A508", expect=1)


def test_a_policy_with_a_mistake_stops_plan_and_apply(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H999, verdict: deny"))
    applied.write(WITHOUT_VIEW)
    for command in ("plan", "apply"):
        text = applied.reconcile(command, "shop", expect=1)
        assert "main:policy.yaml:4:14" in text
        assert "M150" in text


def test_more_approvals_are_asked_for_besides_the_lock(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: approve, approvals: 2, reason: two pairs of eyes"))
    applied.write(WITHOUT_VIEW)
    lock_and_commit(applied)
    assert "policy: 2 more approvals because of H903" in applied.lock.read_text()
    refused(applied, "A509", "Missing: 2 (approved by nobody so far)", "(two pairs of eyes)", expect=2)
    assert "AwaitingApproval" in applied.reconcile("status", "shop")
    assert "Missing: 1 (approved so far by Bob)" in applied.reconcile("approve", "shop", digest(applied), "--by", "Bob")
    for again in ("bo\u200bb ", "Bob <bob@example.org>", "<bob@example.org>"):
        applied.reconcile("approve", "shop", digest(applied), "--by", again)
    refused(applied, "A509", "Missing: 1", "Bob", expect=2)
    applied.reconcile("approve", "shop", digest(applied), "--by", "Cleo")
    applied.reconcile("apply", "shop")


@pytest.mark.parametrize("author", ["Ann", "ann@example.org", "Ann <ann@example.org>", "<ann@example.org>"])
def test_who_made_the_change_does_not_count(author: str, applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: approve"))
    applied.write(WITHOUT_VIEW)
    lock_and_commit(applied)
    before = applied.fingerprint()
    said = applied.reconcile("approve", "shop", digest(applied), "--by", author, expect=1)
    assert "A582" in said
    assert f"{author} made the change" in said
    assert applied.fingerprint() == before
    refused(applied, "A509", "approved by nobody so far", expect=2)
    applied.reconcile("approve", "shop", digest(applied), "--by", "Bob")
    applied.reconcile("apply", "shop")


@pytest.fixture
def allowing(shop: Shop) -> Shop:
    """Applied; nothing but policy.yaml asks for an approval."""
    shop.write(ONE, policy="allow")
    set_policy(shop, policy("hazard: H903, verdict: approve"))
    shop.reconcile("apply", "shop")
    return shop


def test_nobody_approves_what_is_not_committed(allowing: Shop) -> None:
    """Git knows nobody of it, so nobody is known not to have made it."""
    allowing.write(WITHOUT_VIEW, policy="allow")
    before = allowing.fingerprint()
    for name in ("Ann", "Mallory"):
        said = allowing.reconcile("approve", "shop", digest(allowing), "--by", name, expect=1)
        assert "A583" in said
        assert "not committed: pipelines/shop/program.sql\n" in said
        assert "hint: commit the change" in said
    assert allowing.fingerprint() == before


STAGINGS = {"dirty": (), "staged": ("add", "-A"), "on an orphan": ("checkout", "--orphan", "other")}


@pytest.mark.parametrize("staging", STAGINGS.values(), ids=STAGINGS)
def test_an_approval_of_what_is_not_committed_does_not_count(allowing: Shop, staging: tuple[str, ...]) -> None:
    allowing.write(WITHOUT_VIEW, policy="allow")
    if staging:
        allowing.git(*staging)
    refused(allowing, "A509", "hint: commit the change so that git records its author", expect=2)
    plan, target = digest(allowing), Project.open(allowing.root).target
    row = {
        "plan_digest": plan,
        "environment": target.environment.name,
        "by": "Mallory",
        "at": "2026-01-01",
        "comment": "",
        "lifts": "",
    }
    target.registry.record(History.APPROVALS, "shop", [row], "approval:of what was not committed")
    refused(allowing, "A583", "not committed: ", expect=1)
    # Once it is committed, git knows: the same plan, the same approval.
    allowing.commit("the change")
    assert digest(allowing) == plan
    allowing.reconcile("apply", "shop")


def test_who_made_the_change_is_told_where_his_approval_stands_for_the_lock_only(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: approve"))
    applied.write(WITHOUT_VIEW)
    applied.commit("no lock")
    said = applied.reconcile("approve", "shop", digest(applied), "--by", "Ann")
    assert "Ann made the change: the approval replaces plan.lock, but does not count towards the approvals" in said
    refused(applied, "A509", "Missing: 1", expect=2)
    assert "ann has already approved this plan" in applied.reconcile("approve", "shop", digest(applied), "--by", "ann")
    applied.reconcile("approve", "shop", digest(applied), "--by", "Bob")
    applied.reconcile("apply", "shop")


def test_hints_are_of_the_environment_that_was_asked_for(applied: Shop) -> None:
    (applied.root / "reconcile.yaml").write_text(
        "default: dev\nenvironments:\n  dev: {warehouse: .reconcile/warehouse}\n  prod: {warehouse: .reconcile/prod}\n"
    )
    applied.reconcile("apply", "shop", "--env", "prod")
    applied.write(WITHOUT_VIEW)
    applied.commit("no lock")
    said = applied.reconcile("apply", "shop", "--env=prod", expect=2)
    assert "`reconcile plan --env prod shop --write-lock`" in said
    command = said.split("or `reconcile ")[1].split("`")[0].split()
    assert command[:3] == ["approve", "--env", "prod"]
    applied.reconcile(*command, "--by", "Bob")
    assert "run: reconcile plan --env prod shop --write-lock" in applied.reconcile(
        "plan", "shop", "--env", "prod", "--check-lock", expect=2
    )
    applied.reconcile("apply", "shop", "--env", "prod")


def test_more_approvals_alone_stand_for_no_lock(applied: Shop) -> None:
    """Without a lock one recorded approval stands for it; policy asks for those beyond."""
    set_policy(applied, policy("hazard: H903, verdict: approve"))
    applied.write(WITHOUT_VIEW)
    applied.commit("no lock")
    refused(applied, "A501", expect=2)
    applied.reconcile("approve", "shop", digest(applied), "--by", "Bob")
    refused(applied, "A509", "Missing: 1", expect=2)
    applied.reconcile("approve", "shop", digest(applied), "--by", "Cleo")
    applied.reconcile("apply", "shop")


def test_approvals_of_an_earlier_plan_do_not_count(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: approve"))
    applied.write(WITHOUT_VIEW)
    lock_and_commit(applied)
    applied.reconcile("approve", "shop", digest(applied), "--by", "Bob")
    applied.write(WITHOUT_VIEW + OTHER)
    lock_and_commit(applied)
    refused(applied, "A509", "nobody", expect=2)


def test_a_lock_made_under_another_policy_is_void(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H903, verdict: warn"))
    applied.write(WITHOUT_VIEW)
    lock_and_commit(applied)
    set_policy(applied, policy("hazard: H903, verdict: allow"))
    refused(applied, "A501", "policies in force changed", expect=2)


def test_a_protected_table_survives_the_deletion_of_its_folder(applied: Shop) -> None:
    applied.write(ONE, "  tables: {orders: {protect: true}}\n")
    applied.commit("protected")
    applied.reconcile("apply", "shop")
    applied.git("rm", "-rq", "pipelines/shop")
    applied.commit("removed")
    applied.reconcile("plan", "--write-lock")
    applied.commit("lock")
    refused(applied, "A508", "H911", "table orders is protected, and is removed", expect=1)
    applied.write(ONE.splitlines()[1].replace("FROM orders", "FROM (SELECT 1 AS amount)"), "  tables: {}\n")
    lock_and_commit(applied)
    refused(applied, "A508", "H911", expect=1)
    applied.write(ONE, "  tables: {orders: {protect: false}}\n")
    applied.commit("no longer protected")
    refused(applied, "A501", "1 safeguard to loosen", expect=2)
    lock_and_commit(applied)
    assert "H926" in applied.lock.read_text()
    applied.reconcile("apply", "shop")
    applied.git("rm", "-rq", "pipelines/shop")
    applied.commit("removed")
    applied.reconcile("plan", "--write-lock")
    applied.commit("lock")
    applied.reconcile("apply", "shop")


def test_a_method_can_be_demanded_of_new_views(applied: Shop) -> None:
    set_policy(applied, policy("hazard: H942, verdict: deny, reason: large views follow"))
    applied.write(ONE + "CREATE MATERIALIZED VIEW listed AS SELECT collect_list(id) AS ids FROM orders;\n")
    said = applied.reconcile("plan", "shop", "--write-lock")
    assert "H942 view listed is computed from its query in each step (COLLECT_LIST has no rule" in said
    applied.commit("change and lock")
    refused(applied, "A508", "H942", "(large views follow)", expect=1)


LARGE = policy("hazard: H912, verdict: deny", more="limits: {large_rows: 2}\n")
TABLE = "CREATE TABLE t (id BIGINT) WITH ('materialized' = 'true');\n"
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"


@pytest.mark.parametrize(("rows", "stops"), [(2, False), (3, True)])
def test_a_view_that_reads_more_than_the_limit_is_judged_by_what_is_there(rows: int, stops: bool, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(LARGE)
    write_shop(tmp_path, TABLE)
    pipeline = Project.open(tmp_path, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    pipeline.apply()
    pipeline.execute(f"INSERT INTO t VALUES {', '.join(f'({number})' for number in range(rows))}")
    write_shop(tmp_path, TABLE + VIEW)
    assert pipeline.plan().judgements == ()
    if stops:
        with pytest.raises(PlanRejected) as caught:
            pipeline.apply()
        assert caught.value.code == "A508"
        assert f"H912 view v is computed from {rows} rows" in caught.value.message
    else:
        pipeline.apply()
