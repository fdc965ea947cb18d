"""The approval is a file in the pull request, each line of the design's section of that name: what a plan.lock approves
(exactly its plan, once), and what it takes for one to be merged. Through the command line; git, registry and Delta are real.
"""

from pathlib import Path

import pytest

from reconciler import __version__
from tests.acceptance.git_shop import ONE, THREE, TWO, Shop, applied_shop, refused

pytestmark = pytest.mark.both_ways


@pytest.fixture
def applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return applied_shop(tmp_path, capsys)


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


def test_a_lock_of_another_plan_is_refused(applied: Shop) -> None:
    applied.write(TWO)
    applied.reconcile("plan", "shop", "--write-lock")
    applied.write(THREE)
    applied.commit("changed after review")
    refused(applied, "files changed since it was written")


def test_a_lock_that_is_not_needed_is_not_written_and_that_is_told(applied: Shop) -> None:
    said = applied.reconcile("plan", "shop", "--write-lock")
    assert "shop: wrote no plan.lock; approval: not needed: nothing changes\n" in said
    applied.write(TWO, policy="allow")
    applied.reconcile("plan", "shop", "--write-lock")
    assert applied.lock.exists()
    applied.write(ONE)
    told = applied.reconcile("plan", "shop", "--write-lock")
    assert "removed pipelines/shop/plan.lock\n" in told
    assert "wrote no plan.lock" not in told
    applied.write(ONE, policy="allow")
    applied.lock_and_commit()
    applied.reconcile("apply", "shop")
    applied.lock.unlink()
    applied.write(TWO, policy="allow")
    told = applied.reconcile("plan", "shop", "--write-lock")
    assert "shop: wrote no plan.lock; approval: not needed (bootstrap_policy: allow)\n" in told
    assert not applied.lock.exists()


def test_a_first_apply_needs_no_lock_and_a_rejected_plan_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Shop(tmp_path / "repository", capsys)
    shop.write(ONE, policy="reject")
    shop.commit("modified by nobody")
    told = shop.reconcile("plan", "shop", "--write-lock")
    assert "shop: wrote no plan.lock; approval: not needed: a first apply invalidates nothing\n" in told
    shop.reconcile("apply", "shop")
    shop.write(TWO, policy="reject")
    told = shop.reconcile("plan", "shop", "--write-lock")
    assert "shop: bootstrap_policy rejects this plan; a lock can't approve it\n" in told
    assert not shop.lock.exists()


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
    refused(applied, f"reconciler 99.{__version__} wrote plan.lock")


def test_a_lock_under_another_policy_is_refused(applied: Shop) -> None:
    applied.write(TWO)
    (applied.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: .reconcile/warehouse}}\n")
    applied.reconcile("plan", "shop", "--write-lock")
    (applied.root / "reconcile.yaml").write_text(
        "environments: {dev: {warehouse: .reconcile/warehouse, first_apply: await_approval}}\n"
    )
    applied.commit("other policy")
    refused(applied, "policies in force changed")


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


def test_no_lock_serves_twice(applied: Shop) -> None:
    """A, B, A: whoever applies the commit of B again (a job that is run again) is refused."""
    for program in (TWO, ONE):
        applied.write(program)
        applied.reconcile("plan", "shop", "--write-lock")
        applied.commit("change")
        applied.reconcile("apply", "shop")
    applied.git("checkout", "-q", "--detach", "HEAD~1")
    refused(applied, "something else was applied since it was written")


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


BOTH_ENVIRONMENTS = (
    "default: dev\nenvironments:\n  dev: {warehouse: .reconcile/warehouse}\n  prod: {warehouse: .reconcile/prod}\n"
)


def test_a_lock_of_a_removal_goes_once_nobody_needs_it(applied: Shop) -> None:
    (applied.root / "reconcile.yaml").write_text(BOTH_ENVIRONMENTS)
    applied.commit("two environments")
    applied.reconcile("apply", "shop", "--env", "prod")
    lock = applied.root / "plan.lock"
    applied.git("rm", "-rq", "pipelines/shop")
    applied.reconcile("plan", "--write-lock")
    applied.reconcile("plan", "--write-lock", "--env", "prod")
    whole = lock.read_text()
    # As long as the removal awaits its merge, the lock stays as it is.
    applied.reconcile("plan", "--write-lock")
    assert lock.read_text() == whole
    applied.commit("removed")
    applied.reconcile("apply")
    assert "wrote plan.lock: it had locks of removals that are done with" in applied.reconcile("plan", "--write-lock")
    assert "[shop / dev]" not in lock.read_text()
    assert whole.endswith(lock.read_text().partition("\n\n")[2])
    applied.commit("the lock of dev is done with")
    applied.reconcile("apply", "--env", "prod")
    assert "removed plan.lock" in applied.reconcile("plan", "--write-lock", "--env", "prod")
    assert not lock.exists()
    assert "plan.lock" not in applied.reconcile("plan", "--write-lock")


def test_a_lock_of_a_removal_goes_once_the_pipeline_has_a_folder_again(applied: Shop) -> None:
    applied.git("rm", "-rq", "pipelines/shop")
    applied.reconcile("plan", "--write-lock")
    applied.write(TWO)
    told = applied.reconcile("plan", "shop", "--write-lock")
    assert "removed plan.lock" in told
    assert "wrote pipelines/shop/plan.lock" in told
    assert not (applied.root / "plan.lock").exists()
