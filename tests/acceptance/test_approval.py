"""The approval: each line of the design's section "The approval is a file in the pull request", through the command line.

The pipelines here have tables and plain views only, so that no step needs an engine: git, registry and Delta are real.
"""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run

ONE = """\
CREATE TABLE orders (id BIGINT, amount DECIMAL(10,2)) WITH ('materialized' = 'true');
CREATE VIEW totals AS SELECT SUM(amount) AS total FROM orders;
"""
TWO = ONE.replace("SUM(amount)", "MAX(amount)")
THREE = ONE.replace("SUM(amount)", "MIN(amount)")
CONNECTOR = """\
  connectors:
    - name: history
      table: orders
      transport: {name: delta_table_input, config: {uri: somewhere, mode: snapshot}}
"""


class Shop:
    """A git repository with one pipeline, driven through the command line."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.folder = root / "pipelines" / "shop"
        self.lock = self.folder / "plan.lock"
        self._capsys = capsys
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        (root / ".gitignore").write_text(".reconcile/\n")
        self.write(ONE)
        self.commit("first")

    def git(self, *arguments: str, ok: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is ok, done.stdout + done.stderr
        return done.stdout

    def write(self, program: str, spec: str = "", policy: str = "await_approval") -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "program.sql").write_text(program)
        (self.folder / "pipeline.yaml").write_text(
            "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
            f"spec:\n  bootstrap_policy: {policy}\n{spec}"
        )

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def reconcile(self, *arguments: str, expect: int = 0) -> str:
        self._capsys.readouterr()
        code = run([*arguments, "--repo", str(self.root)])
        captured = self._capsys.readouterr()
        text = captured.out + captured.err
        assert code == expect, f"exit {code}\n{text}"
        return text

    def plan(self) -> dict[str, object]:
        text = self.reconcile("plan", "shop", "--format", "json")
        plan: dict[str, object] = json.loads(text)["plans"][0]
        return plan

    def fingerprint(self) -> dict[str, str]:
        """Every byte under the warehouse."""
        folder = self.root / ".reconcile"
        return {
            str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    root = tmp_path / "repository"
    root.mkdir()
    return Shop(root, capsys)


@pytest.fixture
def applied(shop: Shop) -> Shop:
    shop.reconcile("apply", "shop")
    return shop


def refused(shop: Shop, reason: str) -> None:
    """Apply refuses with exit 2 and this reason, and leaves every byte as it was."""
    before = shop.fingerprint()
    text = shop.reconcile("apply", "shop", expect=2)
    assert "A501" in text
    assert reason in text
    assert shop.fingerprint() == before


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
    shop.reconcile("plan", "shop", "--write-lock")
    shop.commit("lock")
    shop.reconcile("apply", "shop")


def test_a_merged_lock_approves_exactly_its_plan(applied: Shop) -> None:
    applied.git("checkout", "-q", "-b", "change")
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--check-lock", expect=2)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.reconcile("plan", "shop", "--check-lock")
    applied.commit("change")
    applied.git("checkout", "-q", "main")
    applied.git("merge", "-q", "--no-ff", "change", "-m", "merged")
    assert "applied: 0 to bootstrap, 0 to add, 1 to modify" in applied.reconcile("apply", "shop")
    assert "pending: no changes" in applied.reconcile("status", "shop")
    assert "approval: lock" in applied.reconcile("status", "shop")


@pytest.mark.parametrize("how", ["squash", "rebase"])
def test_the_approval_survives(how: str, applied: Shop) -> None:
    applied.git("checkout", "-q", "-b", "change")
    applied.write(TWO)
    applied.commit("the change")
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("its lock")
    applied.git("checkout", "-q", "main")
    (applied.root / "unrelated").write_text("meanwhile on main")
    applied.commit("meanwhile")
    if how == "squash":
        applied.git("merge", "-q", "--squash", "change")
        applied.commit("squashed")
    else:
        applied.git("rebase", "-q", "main", "change")
        applied.git("checkout", "-q", "main")
        applied.git("merge", "-q", "--ff-only", "change")
    applied.reconcile("apply", "shop")


def test_two_pull_requests_on_one_pipeline_conflict_in_the_lock(applied: Shop) -> None:
    for branch, program in (("one", TWO), ("two", ONE + "CREATE VIEW other AS SELECT id FROM orders;\n")):
        applied.git("checkout", "-q", "-b", branch, "main")
        applied.write(program)
        applied.reconcile("plan", "shop", "--write-lock")
        applied.commit(branch)
    applied.git("checkout", "-q", "main")
    applied.git("merge", "-q", "one")
    applied.git("merge", "-q", "two", ok=False)
    assert "plan.lock" in applied.git("diff", "--name-only", "--diff-filter=U")


def test_a_lock_with_conflict_markers_is_refused(applied: Shop) -> None:
    test_two_pull_requests_on_one_pipeline_conflict_in_the_lock(applied)
    applied.write(TWO)
    applied.commit("committed as it was")
    refused(applied, "conflict markers")


def test_without_a_lock_the_pipeline_awaits_approval(applied: Shop) -> None:
    applied.write(TWO)
    applied.commit("no lock")
    refused(applied, "there is no plan.lock")
    assert "AwaitingApproval" in applied.reconcile("status")
    status = json.loads(applied.reconcile("status", "shop", "--format", "json"))
    assert status["pipelines"][0]["state"] == "AwaitingApproval"


def test_a_lock_of_another_plan_is_refused(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.write(THREE)
    applied.commit("changed after review")
    refused(applied, "files changed since it was written")


def test_an_edited_lock_is_refused(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.lock.write_text(applied.lock.read_text().replace("~ view totals:", "~ view nothing_to_see:"))
    applied.commit("edited")
    refused(applied, "its text was edited")


@pytest.mark.parametrize("edit", ["# a remark\n{}", "{}\n", "{}trailing"])
def test_a_lock_edited_anywhere_is_refused(edit: str, applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.lock.write_text(edit.format(applied.lock.read_text()))
    applied.commit("edited")
    refused(applied, "plan.lock")


def test_a_lock_made_before_somebody_elses_change_is_refused(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    mine = applied.lock.read_text()
    applied.lock.unlink()
    applied.write(ONE + "CREATE VIEW other AS SELECT id FROM orders;\n")
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("somebody else's")
    applied.reconcile("apply", "shop")
    applied.write(TWO)
    applied.lock.write_text(mine)
    applied.commit("mine, late")
    refused(applied, "something else was applied since it was written")


def test_a_lock_of_another_version_says_so(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.lock.write_text(applied.lock.read_text().replace("reconciler: ", "reconciler: 99."))
    applied.commit("written by another version")
    refused(applied, "written by reconciler 99.")


def test_a_lock_under_another_policy_is_refused(applied: Shop) -> None:
    applied.write(TWO)
    (applied.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse}}\n")
    applied.reconcile("plan", "shop", "--write-lock")
    (applied.root / "reconcile.yaml").write_text(
        "environments: {dev: {warehouse: .reconcile/warehouse, first_apply: await_approval}}\n"
    )
    applied.commit("other policy")
    refused(applied, "policies in force changed")


def test_a_lock_that_is_not_committed_was_merged_by_nobody(applied: Shop) -> None:
    applied.write(TWO)
    applied.commit("the change")
    applied.reconcile("plan", "shop", "--write-lock")
    refused(applied, "not committed: pipelines/shop/plan.lock")
    (applied.root / ".gitignore").write_text(".reconcile/\nplan.lock\n")
    refused(applied, "not committed: pipelines/shop/plan.lock")


def test_files_that_are_not_committed_void_the_lock(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.git("add", str(applied.lock))
    applied.git("commit", "-q", "-m", "only the lock")
    refused(applied, "not committed: pipelines/shop/program.sql")


def test_outside_of_git_nobody_can_have_merged_a_lock(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    (applied.root / ".git").rename(applied.root.parent / "git")
    refused(applied, "not a git repository")


def test_a_lock_counts_only_on_the_branch_that_the_environment_names(applied: Shop) -> None:
    (applied.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse, branch: main}}\n")
    applied.commit("branch named")
    applied.git("checkout", "-q", "-b", "change")
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("on a branch")
    refused(applied, "not on branch main")
    applied.git("checkout", "-q", "main")
    applied.git("merge", "-q", "change")
    applied.git("checkout", "-q", "--detach")
    applied.reconcile("apply", "shop")


def test_an_empty_plan_needs_no_lock_and_a_spent_one_is_no_error(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("change")
    applied.reconcile("apply", "shop")
    assert applied.lock.exists()
    assert "nothing to do" in applied.reconcile("apply", "shop")
    applied.reconcile("plan", "shop", "--check-lock", "--detailed-exitcode")
    applied.reconcile("plan", "shop", "--write-lock")
    assert not applied.lock.exists()


def test_a_revert_needs_its_lock_written_again_and_the_message_says_so(applied: Shop) -> None:
    for program in (TWO, THREE):
        applied.write(program)
        applied.reconcile("plan", "shop", "--write-lock")
        applied.commit("change")
        applied.reconcile("apply", "shop")
    applied.git("revert", "--no-edit", "HEAD")
    refused(applied, "revert")
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("lock written again")
    applied.reconcile("apply", "shop")


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


def test_the_lock_of_a_deleted_folder_stands_at_the_root(applied: Shop) -> None:
    applied.git("rm", "-rq", "pipelines/shop")
    applied.commit("removed")
    refused(applied, "there is no plan.lock")
    applied.reconcile("plan", "--write-lock")
    assert "H906" in (applied.root / "plan.lock").read_text()
    applied.commit("lock")
    applied.reconcile("apply")
    assert not (applied.root / ".reconcile/warehouse/shop/orders").exists()
    assert applied.reconcile("plan") == ""
    applied.write(ONE)
    applied.commit("back again")
    applied.reconcile("apply", "shop")


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
    applied.reconcile("approve", "shop", "sha256:", expect=1)


def test_an_approval_of_one_environment_is_none_of_another(applied: Shop) -> None:
    (applied.root / "reconcile.yaml").write_text(
        "default: dev\nenvironments:\n  dev: {warehouse: .reconcile/warehouse}\n  prod: {warehouse: .reconcile/prod}\n"
    )
    applied.reconcile("apply", "shop", "--env", "prod")
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("lock for dev")
    applied.reconcile("apply", "shop", "--env", "prod", expect=2)
    applied.reconcile("plan", "shop", "--write-lock", "--env", "prod")
    assert "[shop / dev]" in applied.lock.read_text()
    applied.commit("lock for both")
    applied.reconcile("apply", "shop", "--env", "prod")
    applied.reconcile("apply", "shop")


def test_allow_applies_without_a_lock(applied: Shop) -> None:
    applied.write(ONE, policy="allow")
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
    refused(shop, "not committed")
    shop.commit("on main")
    shop.reconcile("apply", "shop")
    shop.git("checkout", "-q", "-b", "elsewhere")
    shop.write(TWO, policy="allow")
    shop.commit("on a branch")
    refused(shop, "not on branch main")


def test_no_lock_serves_twice(applied: Shop) -> None:
    """A, B, A: whoever applies the commit of B again (a job that is run again) is refused."""
    for program in (TWO, ONE):
        applied.write(program)
        applied.reconcile("plan", "shop", "--write-lock")
        applied.commit("change")
        applied.reconcile("apply", "shop")
    applied.git("checkout", "-q", "--detach", "HEAD~1")
    refused(applied, "something else was applied since it was written")


def test_no_recorded_approval_serves_twice(applied: Shop) -> None:
    for program in (TWO, ONE):
        applied.write(program)
        applied.reconcile("approve", "shop", str(applied.plan()["digest"]))
        applied.reconcile("apply", "shop")
    applied.write(TWO)
    refused(applied, "there is no plan.lock")


def test_a_removal_that_was_approved_once_is_not_approved_for_ever(applied: Shop) -> None:
    for program in (ONE.splitlines()[0], ONE):
        applied.write(program + "\n")
        applied.reconcile("plan", "shop", "--write-lock")
        applied.commit("change")
        applied.reconcile("apply", "shop")
    applied.git("rm", "-rq", "pipelines/shop")
    for _ in range(2):
        applied.reconcile("plan", "--write-lock")
        applied.commit("removed")
        applied.reconcile("apply")
        removal = applied.git("rev-parse", "HEAD").strip()
        applied.write(ONE)
        applied.commit("back")
        applied.reconcile("apply", "shop")
        applied.git("checkout", "-q", "--detach", removal)
        applied.reconcile("apply", "shop", expect=2)
        applied.git("checkout", "-q", "main")
        applied.git("rm", "-rq", "pipelines/shop")


def test_reconcile_yaml_is_part_of_what_must_be_committed(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("change")
    (applied.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse}}\n")
    refused(applied, "not committed: reconcile.yaml")


def test_what_git_is_told_to_overlook_is_looked_at(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("change")
    applied.git("update-index", "--assume-unchanged", "pipelines/shop/program.sql", "pipelines/shop/plan.lock")
    applied.write(THREE)
    applied.reconcile("plan", "shop", "--write-lock")
    refused(applied, "not committed: pipelines/shop/plan.lock, pipelines/shop/program.sql")


def test_where_there_is_an_origin_it_says_what_is_merged(applied: Shop) -> None:
    (applied.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse, branch: main}}\n")
    applied.commit("branch named")
    origin = applied.root.parent / "origin.git"
    applied.git("clone", "-q", "--bare", ".", str(origin))
    applied.git("remote", "add", "origin", str(origin))
    applied.git("fetch", "-q", "origin")
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.commit("on the local main only")
    refused(applied, "not on branch main")
    applied.git("push", "-q", "origin", "main")
    applied.reconcile("apply", "shop")


@pytest.mark.parametrize("kind", ["not UTF-8", "a folder", "a link that leads out", "a link to nowhere"])
def test_a_lock_that_cannot_be_read_is_an_error_with_a_code(kind: str, applied: Shop) -> None:
    applied.write(TWO)
    match kind:
        case "not UTF-8":
            applied.lock.write_bytes(b"\xff\xfe")
        case "a folder":
            applied.lock.mkdir()
        case "a link that leads out":
            (applied.root.parent / "lock").write_text("")
            applied.lock.symlink_to(applied.root.parent / "lock")
        case _:
            applied.lock.symlink_to("nowhere")
    for arguments in (["apply"], ["plan", "--check-lock"], ["plan", "--write-lock"]):
        assert "U813" in applied.reconcile(*arguments, "shop", expect=1)


def test_a_pipeline_whose_manifest_cannot_be_found_is_a_mistake_and_no_removal(applied: Shop) -> None:
    (applied.folder / "pipeline.yaml").unlink()
    (applied.folder / "pipeline.yaml").symlink_to("nowhere")
    assert "pipeline.yaml" in applied.reconcile("plan", "shop", expect=1)
    (applied.folder / "pipeline.yaml").unlink()
    assert "M121" in applied.reconcile("validate", expect=1)
    assert "M121" in applied.reconcile("apply", "shop", expect=1)


def test_settings_of_the_environment_that_decide_results_are_planned_and_approved(applied: Shop) -> None:
    text = "environments: {{dev: {{warehouse: .reconcile/warehouse, spark: {{spark.sql.{}}}}}}}\n"
    (applied.root / "reconcile.yaml").write_text(text.format("session.timeZone: Asia/Tokyo"))
    assert "spark.sql.session.timeZone" in applied.reconcile("plan", "shop")
    applied.commit("another time zone")
    refused(applied, "there is no plan.lock")
    (applied.root / "reconcile.yaml").write_text(text.format("shuffle.partitions: 4"))
    applied.reconcile("plan", "shop", "--detailed-exitcode")


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


def test_a_warehouse_on_an_object_store_is_refused_by_name(shop: Shop) -> None:
    (shop.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: 'gs://bucket/warehouse'}}\n")
    assert "U815" in shop.reconcile("plan", "shop", expect=1)


def test_a_lost_registry_is_an_error_and_never_an_everything_is_new_plan(applied: Shop) -> None:
    (applied.root / ".reconcile/warehouse/_registry").rename(applied.root / "registry-lost")
    assert "A505" in applied.reconcile("plan", "shop", expect=1)
    assert "A505" in applied.reconcile("apply", "shop", expect=1)


def test_damage_to_one_pipeline_is_no_damage_to_another(applied: Shop, make_pipeline: Callable[[Path, str], None]) -> None:
    make_pipeline(applied.root, "other")
    applied.reconcile("apply", "other")
    for commit in (applied.root / ".reconcile/warehouse/_registry/shop/head/_delta_log").glob("*.json"):
        commit.write_text("damaged")
    assert "no changes" in applied.reconcile("plan", "other")
    applied.reconcile("apply", "other")
    text = applied.reconcile("plan", expect=1)
    assert "G602" in text
    assert "other (dev)\n  no changes" in text
    text = applied.reconcile("status", expect=1)
    assert "G602" in text
    assert "other" in text
    assert "G602" in applied.reconcile("apply", "shop", expect=1)


def test_a_change_of_description_is_applied_without_approval(applied: Shop) -> None:
    applied.write("-- a comment\n" + ONE)
    applied.reconcile("plan", "shop", "--check-lock", "--detailed-exitcode")
    applied.reconcile("apply", "shop")
    before = applied.fingerprint()
    applied.reconcile("apply", "shop")
    assert applied.fingerprint() == before


def test_one_pipeline_that_awaits_does_not_hold_up_another(
    applied: Shop, make_pipeline: Callable[[Path, str], None]
) -> None:
    applied.write(TWO)
    make_pipeline(applied.root, "other")
    text = applied.reconcile("apply", expect=2)
    assert "other: applied" in text
    assert "A501" in text


@pytest.fixture
def make_pipeline() -> Callable[[Path, str], None]:
    def make(root: Path, name: str) -> None:
        folder = root / "pipelines" / name
        folder.mkdir(parents=True)
        (folder / "pipeline.yaml").write_text(f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: {name}}}\n")
        (folder / "program.sql").write_text(ONE)

    return make
