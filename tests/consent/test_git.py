"""What is read of git is what its objects say: nothing of the repository's settings runs, and nothing else has a say."""

# ruff: noqa: E501 (names of settings, as many as there are)

import os
import zlib
from pathlib import Path

import pytest

from reconciler.apply.planning import plan_between
from reconciler.apply.requiring_approval import require_approval
from reconciler.apply.wanted import from_files
from reconciler.base.errors import ApprovalRequired, ManifestInvalid, PlanRejected, ReconcileError
from reconciler.environment.bases import branches_under, required_branches
from reconciler.environment.commit_authors import authors_since
from reconciler.environment.commits import commit_of
from reconciler.environment.homes import Homes
from reconciler.environment.policies import what_is_asked
from reconciler.environment.repository import MAXIMUM_FILE, open_repository
from reconciler.environment.source import files_of
from reconciler.state.applied import read_applied
from tests.consent.cell import GIT, Cell
from tests.consent.places import merged, on_side
from tests.consent.things import THINGS

DENIES = 'apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: "*", verdict: deny}]\n'
ALLOWS = DENIES.replace("deny", "allow")


def denies(cell: Cell) -> bool:
    policy = what_is_asked(cell.project().target, Homes())[0]
    return policy is not None and policy.rules[0].verdict.value == "deny"


def test_nothing_of_the_repositorys_settings_runs(cell: Cell) -> None:
    """Whatever git could be told to start leaves a mark here; a fetch of what is missing would, too."""
    mark = cell.home / "mark"
    script = cell.home / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    hooks = cell.home / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).symlink_to(script)
    (cell.root / ".gitattributes").write_text("* filter=f diff=f merge=f\n")
    cell.commit("attributes")
    for name in (
        "filter.f.clean", "filter.f.smudge", "filter.f.process", "diff.f.textconv", "diff.f.command", "diff.external", "core.fsmonitor",
        "core.pager", "pager.log", "gpg.program", "core.sshCommand", "core.gitProxy", "core.askPass", "credential.helper", "core.editor",
        "alias.cat-file", "alias.log", "uploadpack.packObjectsHook", "core.alternateRefsCommand",
    ):  # fmt: skip
        cell.git("config", name, f"!{script}" if name.startswith("alias") else str(script))
    cell.git("config", "core.hooksPath", str(hooks))
    cell.git("config", "log.showSignature", "true")
    cell.git("config", "extensions.partialClone", "far")
    cell.git("config", "remote.far.promisor", "true")
    cell.git("config", "remote.far.url", f"ext::{script}")
    cell.git("config", "protocol.ext.allow", "always")
    mark.unlink(missing_ok=True)
    THINGS["a description"].edit(cell.root)
    head = cell.git("rev-parse", "HEAD")
    with pytest.raises(ApprovalRequired, match="not committed"):
        cell.project().pipeline("shop").apply()
    assert commit_of(cell.root, "shop", files_of(cell.root, "shop")) == f"{head}+"
    assert authors_since(cell.root, head, (cell.root,)) == {"Ann", "ann@example.org"}
    assert authors_since(cell.root, "0" * 40, (cell.root,)) is None
    repository = open_repository(cell.root)
    assert repository is not None
    with repository, pytest.raises(ReconcileError, match="there is no blob"):
        repository.content(type(next(iter(repository.entries_below(head, "pipelines")))[1])("100644", "1" * 40))
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["blob", "tree", "commit"])
def test_an_object_that_is_not_what_its_name_says_is_an_error(kind: str, cell: Cell) -> None:
    merged(cell, THINGS["a description"])
    names = {"blob": "HEAD:pipelines/shop/program.sql", "tree": "HEAD^{tree}", "commit": "HEAD"}
    name = cell.git("rev-parse", names[kind])
    other = cell.git("rev-parse", names[kind].replace("HEAD", "HEAD~"))
    if kind == "blob":
        other = cell.git("hash-object", "-w", "--stdin", said="CREATE TABLE other (id BIGINT);")
    objects = cell.root / ".git" / "objects"
    file = objects / name[:2] / name[2:]
    content = (objects / other[:2] / other[2:]).read_bytes()
    file.chmod(0o644)
    file.write_bytes(content)
    if kind == "blob":
        (cell.root / "pipelines/shop/program.sql").write_bytes(zlib.decompress(content).partition(b"\0")[2])
    repository = open_repository(cell.root)
    assert repository is not None
    main = cell.git("rev-parse", "refs/heads/main")
    with repository, pytest.raises(ReconcileError) as refusal:
        [repository.content(entry) for _, entry in repository.entries_below(main, "pipelines")]
    assert refusal.value.code == "A581"


def test_repositories_that_name_objects_by_sha_256(tmp_path: Path) -> None:
    cell = Cell(tmp_path)
    cell.root.mkdir()
    cell.git("init", "-q", "-b", "main", "--object-format=sha256")
    folder = cell.root / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "program.sql").write_text("CREATE TABLE t (id BIGINT);\n")
    commit = cell.commit("first")
    assert len(commit) == 64
    assert commit_of(cell.root, "shop", files_of(cell.root, "shop")) == commit
    (folder / "program.sql").write_text("CREATE TABLE u (id BIGINT);\n")
    assert commit_of(cell.root, "shop", files_of(cell.root, "shop")) == f"{commit}+"


def test_packed_objects_and_names_that_are_not_plain(cell: Cell) -> None:
    folder = cell.root / "pipelines" / "shop" / "ü \t'q"
    folder.mkdir()
    (folder / "ä b.sql").write_text("CREATE VIEW more AS SELECT 1 AS one;\n")
    commit = cell.commit("odd names")
    cell.git("gc", "-q")
    assert commit_of(cell.root, "shop", files_of(cell.root, "shop")) == commit


def test_a_file_that_is_too_large_is_not_read_into_memory(cell: Cell) -> None:
    (cell.root / "large").write_bytes(b"x" * (MAXIMUM_FILE + 1))
    commit = cell.commit("large")
    repository = open_repository(cell.root)
    assert repository is not None
    with repository:
        entry = repository.entry(commit, "large")
        assert entry is not None
        assert repository.content(entry) is None
        assert repository.entry(commit, "large/below") is None


def test_no_policy_is_read_from_a_replacement(cell: Cell) -> None:
    (cell.root / "policy.yaml").write_text(DENIES)
    cell.commit("policy")
    assert denies(cell)
    (cell.root / "other").write_text(ALLOWS)
    cell.git("replace", cell.git("rev-parse", "HEAD:policy.yaml"), cell.git("hash-object", "-w", "other"))
    (cell.root / "other").unlink()
    assert denies(cell)


def test_no_policy_is_read_from_where_variables_point(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell.root / "policy.yaml").write_text(DENIES)
    cell.commit("policy")
    other = cell.home / "other"
    other.mkdir()
    cell.git("init", "-q", "-b", "main", at=other)
    (other / "policy.yaml").write_text(ALLOWS)
    cell.commit("policy", at=other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert denies(cell)


def test_a_branch_without_commits_is_under_the_policy_of_the_base_branch(cell: Cell) -> None:
    (cell.root / "policy.yaml").write_text(DENIES)
    cell.commit("policy")
    cell.git("checkout", "-q", "--orphan", "empty")
    (cell.root / "policy.yaml").write_text(ALLOWS)
    assert denies(cell)
    THINGS["a table is dropped"].edit(cell.root)
    with pytest.raises(PlanRejected):
        cell.project().pipeline("shop").apply()


def test_what_an_approval_does_not_cover_has_to_be_merged(cell: Cell) -> None:
    """The digest that was approved says nothing of descriptions."""
    THINGS["a view's query"].edit(cell.root)
    pipeline = cell.project().pipeline("shop")
    digest = pipeline.plan().digest
    pipeline.approve(digest, "Bob")
    THINGS["a description"].edit(cell.root)
    pipeline = cell.project().pipeline("shop")
    assert pipeline.plan().digest == digest
    with pytest.raises(ApprovalRequired) as refusal:
        pipeline.apply()
    assert refusal.value.code == "A580"
    cell.commit("merged")
    cell.project().pipeline("shop").apply()


def test_what_was_staged_is_promoted_with_its_own_settings_only(cell: Cell) -> None:
    stored = "CREATE MATERIALIZED VIEW stored AS SELECT id FROM orders;\n"
    sql = cell.root / "pipelines/shop/program.sql"
    sql.write_text(sql.read_text() + stored)
    on_side(cell, THINGS["a comment"])
    cell.merge("side")
    cell.project().pipeline("shop").stage()
    THINGS["a description"].edit(cell.root)
    with pytest.raises(ApprovalRequired):
        cell.project().pipeline("shop").apply()
    cell.project().pipeline("shop").promote()
    head = cell.project().target.registry.head("shop")
    assert head is not None
    assert head.value.staged is None


def test_whether_a_first_apply_is_approved_says_the_base_branch_too(cell: Cell) -> None:
    project = cell.root / "reconcile.yaml"
    text = project.read_text()
    project.write_text(text.replace("branch: main", "first_apply: await_approval"))
    cell.commit("first applies are approved")
    cell.git("checkout", "-q", "-b", "side")
    project.write_text(text.replace("branch: main, ", ""))
    THINGS["a first apply"].edit(cell.root)
    cell.commit("none of that")
    with pytest.raises(ApprovalRequired):
        cell.project().pipeline("fresh").apply()


@pytest.mark.parametrize("second", ["s3://lake/wh", "s3://lake/wh/", "s3a://lake/wh", "s3a://lake/wh//"])
def test_an_environment_at_the_same_place_on_s3_is_asked_for_the_same(second: str, cell: Cell) -> None:
    """Whatever else is set there: a place is a bucket and a key."""
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("../warehouse", "s3://lake/wh"))
    cell.commit("on S3")
    cell.git("checkout", "-q", "-b", "side")
    settings = '{"spark.hadoop.fs.s3a.endpoint": "http://elsewhere"}'
    project.write_text(f"{project.read_text()}  mine: {{warehouse: '{second}', spark: {settings}}}\n")
    cell.commit("another name")
    cell.environment = "mine"
    assert branches_under(cell.project().target, Homes()) == ("main",)


@pytest.mark.parametrize(
    "second", ["s3://lake/./wh", "s3://lake/x/../wh", "s3://lake//wh", "s3://lake/w%68", "s3n://lake/wh"]
)
def test_another_spelling_of_a_place_on_s3_is_refused(second: str, cell: Cell) -> None:
    project = cell.root / "reconcile.yaml"
    project.write_text(f"{project.read_text()}  mine: {{warehouse: '{second}'}}\n")
    cell.environment = "mine"
    with pytest.raises(ManifestInvalid) as refusal:
        cell.project()
    assert [one.code for one in refusal.value.diagnostics] == ["M133"]


@pytest.mark.parametrize(
    "second", ["../link", "../repository/../warehouse/", "file://../warehouse", "../other/../warehouse"]
)
def test_an_environment_of_the_same_folder_is_asked_for_the_same(second: str, cell: Cell) -> None:
    (cell.home / "link").symlink_to(cell.home / "warehouse")
    (cell.home / "other").symlink_to(cell.home / "repository")
    project = cell.root / "reconcile.yaml"
    project.write_text(f"{project.read_text()}  mine: {{warehouse: '{second}'}}\n")
    cell.environment = "mine"
    assert required_branches(cell.project().target, "free") == ("main",)


def test_a_reconcile_yaml_of_the_base_branch_that_can_not_be_read_does_not_ask_for_nothing(cell: Cell) -> None:
    project = cell.root / "reconcile.yaml"
    text = project.read_text()
    project.write_text(text + "  third: {warehouse: 's3://lake/./wh'}\n")
    cell.commit("broken")
    cell.git("checkout", "-q", "-b", "side")
    project.write_text(text.replace("branch: main, ", ""))
    THINGS["a view of who allows"].edit(cell.root)
    cell.commit("side")
    with pytest.raises(ManifestInvalid) as refusal:
        cell.project().pipeline("free").apply()
    assert [(one.code, one.location and one.location.file) for one in refusal.value.diagnostics] == [
        ("M133", "main:reconcile.yaml")
    ]


def test_nobody_approves_where_git_can_not_tell_who_made_the_change(cell: Cell) -> None:
    """In a shallow copy the commit of a merge looks as if it had made everything, and who made the change as if he had not."""
    (cell.root / "policy.yaml").write_text(DENIES.replace("deny", "approve"))
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main, ", ""))
    cell.commit("policy")
    cell.git("checkout", "-q", "-b", "side")
    THINGS["a table dropped of who allows"].edit(cell.root)
    cell.git("-c", "user.name=Mallory", "commit", "-qam", "dropped", "--author", "Mallory <mallory@example.org>")
    cell.merge("side")
    digest = cell.project().pipeline("free").plan().digest
    with pytest.raises(ReconcileError, match="Mallory made the change") as barred:
        cell.project().pipeline("free").approve(digest, "Mallory")
    assert barred.value.code == "A582"
    whole = cell.root
    cell.git("clone", "-q", "--depth", "1", f"file://{cell.root}", str(cell.home / "clone"))
    cell.root = cell.home / "clone"
    before = cell.warehouse()
    with pytest.raises(ReconcileError) as refusal:
        cell.project().pipeline("free").approve(digest, "Mallory")
    assert refusal.value.code == "A583"
    assert cell.warehouse() == before
    cell.root = whole
    cell.project().pipeline("free").approve(digest, "Bob")
    cell.root = cell.home / "clone"
    with pytest.raises(ReconcileError) as needed:
        cell.project().pipeline("free").apply()
    assert needed.value.code == "A583"
    cell.root = whole
    assert not cell.project().pipeline("free").apply().did_nothing


def test_where_git_is_not_installed_nothing_counts_as_merged(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cell.home))
    with pytest.raises(ReconcileError) as refusal:
        cell.project().pipeline("shop").plan()
    assert refusal.value.code == "A581"
    assert "PATH" in GIT
    assert os.environ["PATH"] == str(cell.home)


def test_what_is_compared_is_what_was_read(cell: Cell) -> None:
    """Files that are put back while an apply looks at them are not those that it applies."""
    THINGS["a description"].edit(cell.root)
    target = cell.project().target
    applied = read_applied(target, "shop")
    found = from_files(target, "shop", applied)
    plan = plan_between(target, "shop", applied, found.snapshot)
    cell.git("checkout", "-q", "--", ".")
    with pytest.raises(ApprovalRequired, match=r"not committed: pipelines/shop/pipeline\.yaml"):
        require_approval(target, plan, (), found.files)
