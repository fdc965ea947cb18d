"""The policy in force is the base branch's, in repositories of every shape; and who made a change, by git."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.base.errors import ManifestInvalid, ReconcileError
from reconciler.environment.bases import home_now
from reconciler.environment.commit_authors import authors_since
from reconciler.environment.homes import Homes
from reconciler.environment.policies import validate_policy, what_is_asked
from reconciler.environment.target import Target
from reconciler.project.manifest.project import Environment
from reconciler.project.manifest.verdicts import Policy, Rule, Verdict
from reconciler.registry.home import Home
from reconciler.testing.memory import MemoryRegistry

DENY = Policy((Rule("H901", Verdict.DENY),))
ALLOW = Policy((Rule("H901", Verdict.ALLOW),))


def text(verdict: str) -> str:
    return f"apiVersion: reconciler/v1\nkind: Policy\nrules:\n  - {{hazard: H901, verdict: {verdict}}}\n"


class Repository:
    """A repository, and the target that stands at its root or in a folder of it."""

    def __init__(self, root: Path, folder: str = ".", branch: str = "main") -> None:
        self.root = root
        self.folder = root / folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.target = Target(self.folder, Environment("dev", "warehouse"), "warehouse", MemoryRegistry())
        self.git("init", "-q", "-b", branch)
        self.as_user("Ann", "ann@example.org")

    def as_user(self, name: str, address: str) -> None:
        self.git("config", "user.name", name)
        self.git("config", "user.email", address)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, str | None], message: str = "change") -> str:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def on_branch(self, branch: str | None) -> Target:
        return replace(self.target, environment=replace(self.target.environment, branch=branch))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def clone(repository: Repository, to: Path, *options: str) -> Repository:
    subprocess.run(["git", "clone", "-q", *options, f"file://{repository.root}", str(to)], check=True)
    return Repository(to)


def code_of(target: Target) -> str:
    with pytest.raises(ReconcileError) as caught:
        what_is_asked(target, Homes())
    return caught.value.code


def test_the_base_branch_wins_over_the_pull_requests_file(repository: Repository) -> None:
    repository.commit({"policy.yaml": text("deny")})
    repository.git("checkout", "-q", "-b", "change")
    repository.commit({"policy.yaml": text("allow")})
    assert what_is_asked(repository.target, Homes())[0] == DENY


def test_a_pull_request_that_deletes_the_file_is_under_it(repository: Repository) -> None:
    repository.commit({"policy.yaml": text("deny")})
    repository.git("checkout", "-q", "-b", "change")
    repository.commit({"policy.yaml": None})
    assert what_is_asked(repository.target, Homes())[0] == DENY


def test_a_file_that_only_the_pull_request_has_is_not_in_force(repository: Repository) -> None:
    repository.commit({})
    repository.git("checkout", "-q", "-b", "change")
    repository.commit({"policy.yaml": text("allow")})
    assert what_is_asked(repository.target, Homes())[0] is None


def test_what_is_not_committed_is_not_in_force(repository: Repository) -> None:
    repository.commit({"policy.yaml": text("deny")})
    (repository.root / "policy.yaml").write_text("not: [yaml")
    assert what_is_asked(repository.target, Homes())[0] == DENY


def test_a_merged_change_is_in_force_at_once(repository: Repository) -> None:
    repository.commit({"policy.yaml": text("deny")})
    assert what_is_asked(repository.target, Homes())[0] == DENY
    repository.commit({"policy.yaml": text("allow")})
    assert what_is_asked(repository.target, Homes())[0] == ALLOW


def test_a_repository_of_other_branches_goes_by_what_is_checked_out(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", branch="trunk")
    repository.commit({"policy.yaml": text("deny")})
    assert what_is_asked(repository.target, Homes())[0] == DENY
    repository.git("branch", "master")
    repository.commit({"policy.yaml": text("allow")})
    assert what_is_asked(repository.target, Homes())[0] == DENY


def test_the_environments_branch_is_the_base(repository: Repository) -> None:
    project = "environments: {dev: {warehouse: w, branch: prod}}\n"
    repository.commit({"policy.yaml": text("allow"), "reconcile.yaml": project})
    repository.git("branch", "prod")
    repository.commit({"policy.yaml": text("deny")})
    assert what_is_asked(repository.target, Homes())[0] == ALLOW
    repository.commit({"reconcile.yaml": project.replace(", branch: prod", "")})
    assert what_is_asked(repository.target, Homes())[0] == DENY


def test_without_a_reconcile_yaml_there_the_default_branch_is_the_base(repository: Repository) -> None:
    """Else a pull request would bring one that names its own branch."""
    repository.commit({"policy.yaml": text("deny")})
    repository.git("checkout", "-q", "-b", "evil")
    repository.commit({"policy.yaml": text("allow")})
    assert what_is_asked(repository.on_branch("evil"), Homes())[0] == DENY


def test_what_is_at_the_place_of_an_environment_has_its_branch(repository: Repository) -> None:
    repository.commit({"policy.yaml": text("deny"), "reconcile.yaml": "environments: {prod: {warehouse: w}}\n"})
    repository.git("checkout", "-q", "-b", "evil")
    repository.commit({"policy.yaml": text("allow")})
    elsewhere = repository.on_branch("evil")
    assert what_is_asked(elsewhere, Homes())[0] == ALLOW
    assert what_is_asked(replace(elsewhere, warehouse=str(repository.root / "w")), Homes())[0] == DENY


def test_a_pipeline_is_under_the_policy_of_its_home(repository: Repository) -> None:
    project = "environments: {dev: {warehouse: w, branch: main}}\n"
    repository.commit({"data/policy.yaml": text("deny"), "data/reconcile.yaml": project})
    repository.git("checkout", "-q", "-b", "evil")
    repository.commit({"policy.yaml": text("allow"), "reconcile.yaml": project.replace("main", "evil")})
    target = repository.on_branch("evil")
    assert what_is_asked(target, Homes())[0] == ALLOW
    for homes in (Homes(Home("data", "dev")), Homes(None, ((Home("data", "dev"), ""),))):
        assert what_is_asked(target, homes)[0] == DENY


def test_the_default_branch_says_which_branch_the_environment_has(repository: Repository) -> None:
    """Else a pull request would name its own branch, and with it its own policy."""
    project = "environments: {dev: {warehouse: w}}\n"
    repository.commit({"policy.yaml": text("deny"), "reconcile.yaml": project})
    repository.git("checkout", "-q", "-b", "evil")
    repository.commit({"policy.yaml": text("allow")})
    assert what_is_asked(repository.on_branch("evil"), Homes())[0] == DENY
    repository.git("checkout", "-q", "main")
    repository.commit({"reconcile.yaml": project.replace("w}", "w, branch: evil}")})
    assert what_is_asked(repository.on_branch(None), Homes())[0] == ALLOW


def test_where_there_is_an_origin_it_says_what_a_branch_holds(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"policy.yaml": text("deny")})
    copy = clone(repository, tmp_path / "copy")
    copy.commit({"policy.yaml": text("allow")})
    assert what_is_asked(copy.target, Homes())[0] == DENY
    assert what_is_asked(copy.on_branch("main"), Homes())[0] == DENY
    copy.git("remote", "set-head", "origin", "--delete")
    assert what_is_asked(copy.target, Homes())[0] == DENY


def test_the_head_of_origin_may_have_any_name(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", branch="trunk")
    repository.commit({"policy.yaml": text("deny")})
    repository.git("branch", "release")
    copy = clone(repository, tmp_path / "copy")
    copy.commit({"policy.yaml": text("allow")})
    assert what_is_asked(copy.target, Homes())[0] == DENY
    copy.git("remote", "set-head", "origin", "--delete")
    assert code_of(copy.target) == "U816"


def test_a_copy_without_the_base_branch_is_an_error_and_no_missing_policy(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"policy.yaml": text("deny")})
    repository.git("branch", "prod")
    copy = clone(repository, tmp_path / "copy", "--depth", "1", "--branch", "main")
    assert what_is_asked(copy.target, Homes())[0] == DENY
    repository.commit({"reconcile.yaml": "environments: {dev: {warehouse: w, branch: prod}}\n"})
    copy = clone(repository, tmp_path / "another", "--depth", "1", "--branch", "main")
    assert code_of(copy.target) == "U816"
    copy.git("update-ref", "-d", "refs/remotes/origin/main")
    assert code_of(copy.target) == "U816"


def test_the_file_stands_beside_the_pipelines_and_not_at_gits_top(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", folder="data")
    repository.commit({"policy.yaml": text("deny"), "../policy.yaml": text("allow")})
    assert what_is_asked(repository.target, Homes())[0] == DENY


@pytest.mark.parametrize("kind", ["outside of git", "before the first commit"])
def test_where_nothing_can_have_been_merged_the_file_itself_is_in_force(kind: str, tmp_path: Path) -> None:
    if kind == "outside of git":
        target = Target(tmp_path, Environment("dev", "w"), "w", MemoryRegistry())
    else:
        target = Repository(tmp_path).target
    assert what_is_asked(target, Homes())[0] is None
    (tmp_path / "policy.yaml").write_text(text("deny"))
    assert what_is_asked(target, Homes())[0] == DENY
    (tmp_path / "policy.yaml").write_text("kind: Policy")
    assert code_of(target) == "M100"


def test_a_policy_with_a_mistake_is_none_at_all(repository: Repository) -> None:
    repository.commit({"policy.yaml": text("forbid")})
    repository.git("checkout", "-q", "-b", "change")
    repository.commit({"policy.yaml": None})
    with pytest.raises(ManifestInvalid) as caught:
        what_is_asked(repository.target, Homes())
    (problem,) = caught.value.diagnostics
    assert (problem.code, str(problem.location)) == ("M113", "main:policy.yaml:4:29")


@pytest.mark.parametrize("kind", ["a link", "a folder", "not UTF-8", "too long"])
def test_a_policy_that_cannot_be_read_is_an_error(kind: str, repository: Repository) -> None:
    path = repository.root / "policy.yaml"
    match kind:
        case "a link":
            path.symlink_to("elsewhere")
        case "a folder":
            path.mkdir()
            (path / "file").touch()
        case "not UTF-8":
            path.write_bytes(b"\xff\xfe")
        case _:
            path.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    repository.commit({})
    assert code_of(repository.target) == "U813"


def test_the_working_trees_file_can_be_checked_before_it_is_merged(repository: Repository) -> None:
    assert validate_policy(repository.root) == ()
    repository.commit({"policy.yaml": text("deny")})
    (repository.root / "policy.yaml").write_text(text("forbid"))
    assert [problem.code for problem in validate_policy(repository.root)] == ["M113"]


@pytest.mark.parametrize("name", ["policy.yml", "Policy.yaml", "POLICY.YML", "policies.yaml", ".policy.yaml"])
def test_a_policy_under_another_name_is_an_error(repository: Repository, name: str) -> None:
    repository.commit({name: text("deny")})
    assert code_of(repository.target) == "M100"
    assert [problem.code for problem in validate_policy(repository.root)] == ["M154"]
    repository.commit({"policy.yaml": text("deny")})
    assert validate_policy(repository.root) == ()
    assert what_is_asked(repository.target, Homes())[0] == DENY


def test_a_policy_of_another_tool_is_left_alone(repository: Repository) -> None:
    repository.commit({"policy.yml": "policies: [{name: ec2, resource: ec2}]\n", "policies.yaml": "apiVersion: other/v1\n"})
    assert validate_policy(repository.root) == ()
    assert what_is_asked(repository.target, Homes())[0] is None


def test_authors_are_those_who_changed_it_since(repository: Repository) -> None:
    paths = (repository.root / "pipelines" / "shop",)
    first = repository.commit({"pipelines/shop/a.sql": "1"})
    repository.as_user("Bob Brown", "bob@example.org")
    repository.commit({"pipelines/shop/a.sql": "2"}, "two\n\nCo-authored-by: Cleo <cleo@example.org>\n")
    repository.as_user("Dan", "dan@example.org")
    last = repository.commit({"pipelines/other/a.sql": "1"})
    those = {"Bob Brown", "bob@example.org", "Cleo", "cleo@example.org"}
    assert authors_since(repository.root, first, paths) == those
    assert authors_since(repository.root, last, paths) == those
    assert authors_since(repository.root, "", paths) == those | {"Ann", "ann@example.org"}


def test_authors_are_told_only_where_all_of_them_are_known(repository: Repository, tmp_path: Path) -> None:
    """Of what a shallow copy leaves out, the commit before it looks as if it were the author's of all."""
    first = repository.commit({"pipelines/shop/a.sql": "1"})
    repository.as_user("Bob", "bob@example.org")
    repository.commit({"pipelines/shop/a.sql": "2"})
    repository.as_user("Cleo", "cleo@example.org")
    last = repository.commit({"pipelines/shop/b.sql": "3"})
    repository.as_user("Dan", "dan@example.org")
    repository.commit({"elsewhere": "1"})
    those = {"Cleo", "cleo@example.org"}
    for depth, told in ((1, {}), (2, {last: None}), (3, {last: those}), (9, {last: those})):
        copy = tmp_path / f"copy{depth}"
        repository.git("clone", "-q", "--depth", str(depth), f"file://{repository.root}", str(copy))
        paths = (copy / "pipelines" / "shop",)
        assert authors_since(copy, "0" * 40, paths) is None
        whole = {"Ann", "ann@example.org", "Bob", "bob@example.org", "Cleo", "cleo@example.org"}
        assert authors_since(copy, "", paths) == (whole if depth == 9 else None)
        assert authors_since(copy, first, paths) == (whole - {"Ann", "ann@example.org"} if depth == 9 else None)
        for since, names in told.items():
            assert authors_since(copy, since, paths) == names


def test_of_two_who_made_the_same_change_both_are_authors(repository: Repository) -> None:
    first = repository.commit({"pipelines/shop/a.sql": "1"})
    repository.git("checkout", "-q", "-b", "other")
    repository.as_user("Bot", "bot@example.org")
    repository.commit({"pipelines/shop/a.sql": "2"})
    repository.git("checkout", "-q", "-b", "one", first)
    repository.as_user("Ann", "ann@example.org")
    repository.commit({"pipelines/shop/a.sql": "2", "more": "1"})
    repository.as_user("Bob", "bob@example.org")
    repository.git("merge", "-q", "--no-ff", "-m", "both", "other")

    authors = authors_since(repository.root, first, (repository.root / "pipelines" / "shop",))

    assert authors == {"Ann", "ann@example.org", "Bot", "bot@example.org"}


def test_outside_of_git_nobody_is_known_to_have_made_it(tmp_path: Path) -> None:
    assert authors_since(tmp_path, "", (tmp_path / "pipelines",)) == frozenset()


def fetched(repository: Repository, to: Path) -> Repository:
    """A copy as CI makes it: nothing tells which branch is the default one."""
    to.mkdir()
    for words in (
        ("init", "-q", "-b", "checkout"),
        ("remote", "add", "origin", str(repository.root)),
        ("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"),
    ):
        subprocess.run(["git", *words], cwd=to, check=True)
    return Repository(to)


@pytest.mark.parametrize("trunk", ["master", "trunk"])
def test_a_branch_that_is_pushed_does_not_become_the_default_one(trunk: str, repository: Repository, tmp_path: Path) -> None:
    """What the warehouse remembers says which it is; where nothing does, nobody guesses."""
    project = "environments: {dev: {warehouse: w}}\n"
    repository.commit({"policy.yaml": text("deny"), "reconcile.yaml": project})
    repository.git("branch", "-m", trunk)
    first = fetched(repository, tmp_path / "first")
    first.git("checkout", "-q", f"origin/{trunk}")
    home = home_now(first.target, None)
    assert home == Home("", "dev", (), False, trunk)
    repository.git("checkout", "-q", "-b", "main")
    repository.commit({"policy.yaml": text("allow")})
    second = fetched(repository, tmp_path / "second")
    assert what_is_asked(second.target, Homes(home))[0] == DENY
    if trunk == "master":
        assert code_of(second.target) == "U816"
        assert code_of(second.on_branch("main")) == "U816"
