"""`reconcile init`: what it writes, what it keeps, and what it refuses before it writes anything."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from click.shell_completion import ShellComplete

from reconciler.base.schema_files import schema_names, schemas_of_files
from reconciler.cli.main import cli, run
from reconciler.project.manifest.project import read_project
from reconciler.service.new_repository import begin, name_of
from reconciler.testing.crashes import Crash, crash_at
from tests.github.host import WORKFLOW, read
from tests.small_disk import small_disk

EXAMPLE = ["data/shop/january.csv", "pipelines/shop/pipeline.yaml", "pipelines/shop/program.sql"]
SCHEMAS = [f"schemas/{name}" for name in schemas_of_files()]
EVERYTHING = sorted([".gitignore", "reconcile.yaml", *EXAMPLE, *SCHEMAS])


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


class Init:
    """Calls `reconcile init`, and gives stdout and stderr together."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        self._capsys.readouterr()
        found = run(["init", *map(str, words)])
        printed = self._capsys.readouterr()
        assert found == code, printed.err
        return printed.out + printed.err

    def refused(self, *words: str | Path) -> str:
        return self(*words, code=1)


@pytest.fixture
def init(capsys: pytest.CaptureFixture[str]) -> Init:
    return Init(capsys)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a repository is begun, from the folder above it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "shop"


def test_a_new_repository_has_what_a_plan_needs(init: Init, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    told = init("shop")

    assert sorted(tree(shop)) == EVERYTHING
    assert (shop / ".gitignore").read_text() == ".reconcile/\n"
    assert "wrote pipelines/shop/pipeline.yaml\n" in told
    assert f"wrote schemas/ ({len(SCHEMAS)} files, for editors)\n" in told
    assert run(["validate", "--repo", str(shop)]) == 0


def test_what_to_do_next_can_be_pasted(init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    told = init("My Shop")

    assert "now try:\n  cd 'My Shop'\n  reconcile plan my-shop\n  reconcile apply my-shop\n" in told
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "now try:\n  reconcile plan here\n" in init()


def test_twice_it_does_nothing(init: Init, shop: Path) -> None:
    init("shop", "--github", "acme/reconciler")
    before = tree(shop)

    assert init("shop", "--github", "acme/reconciler") == "nothing to write: everything is there\n"
    assert init("shop") == "nothing to write: everything is there\n"
    assert init("shop", "--name", "shop") == "nothing to write: everything is there\n"
    assert tree(shop) == before


def test_a_checkout_with_other_ends_of_lines_is_the_same(init: Init, shop: Path) -> None:
    init("shop")
    for path in shop.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert init("shop") == "nothing to write: everything is there\n"


def test_what_is_there_is_kept(init: Init, shop: Path) -> None:
    init("shop")
    (shop / "reconcile.yaml").write_text("environments: {mine: {warehouse: w}}\n")
    (shop / "pipelines/shop/program.sql").rename(shop / "pipelines/shop/tables.sql")
    (shop / "data/shop/january.csv").unlink()
    (shop / "schemas/policy.schema.json").unlink()
    before = tree(shop)

    told = init("shop")

    assert "wrote schemas/ (1 files, for editors)\nkept reconcile.yaml\n" in told
    assert "now try" not in told
    assert tree(shop).items() >= before.items()
    assert tree(shop).keys() - before.keys() == {"schemas/policy.schema.json"}


def test_a_complete_example_is_not_added_to(init: Init, shop: Path) -> None:
    init("shop")
    (shop / "data/shop/january.csv").rename(shop / "data/shop/february.csv")
    (shop / "pipelines/shop/plan.lock").write_text("a lock")
    before = tree(shop)

    assert init("shop") == "nothing to write: everything is there\n"
    assert tree(shop) == before


def test_a_repository_with_pipelines_gets_no_example_unasked(init: Init, shop: Path) -> None:
    (shop / "pipelines/tax").mkdir(parents=True)
    (shop / "pipelines/tax/tables.sql").write_text("CREATE TABLE t (a INT);")

    told = init("shop")

    assert "wrote no example, because there are pipelines (tax); to add it: --name NAME\n" in told
    assert sorted(path for path in tree(shop) if path.startswith(("pipelines", "data"))) == ["pipelines/tax/tables.sql"]
    assert "wrote pipelines/more/pipeline.yaml\n" in init("shop", "--name", "more")
    assert run(["plan", "more", "--repo", str(shop)]) == 0


def test_the_workflow_comes_later_too(init: Init, shop: Path) -> None:
    init("shop")
    (shop / "pipelines/shop/program.sql").write_text("CREATE TABLE t (a INT);")
    (shop / "reconcile.yaml").write_text("environments: {production: {warehouse: w}}\n")

    told = init("shop", "--github", "acme/reconciler@0123abc")

    assert told == "wrote .github/workflows/pipelines.yml\nkept reconcile.yaml\n"
    called = yaml.safe_load((shop / ".github/workflows/pipelines.yml").read_text())["jobs"]["production"]
    assert called["uses"] == "acme/reconciler/.github/workflows/reconcile.yml@0123abc"
    assert called["with"]["environment"] == "production"


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True, capture_output=True)


def in_git(shop: Path, *branches: str) -> None:
    """A repository of git with these branches, of which the last one is checked out."""
    shop.mkdir()
    git(shop, "init", "-q", "-b", branches[0])
    git(shop, "commit", "-q", "--allow-empty", "-m", "first")
    for name in branches[1:]:
        git(shop, "checkout", "-q", "-b", name)


def applied_branches(init: Init, shop: Path) -> object:
    init("shop", "--github", "acme/reconciler")
    return yaml.safe_load((shop / ".github/workflows/pipelines.yml").read_text().replace("on:", "when:"))["when"]["push"]


@pytest.mark.parametrize("branch", ["main", "master", "trunk", "release/1.0", "1.0", "null", "a,b", "on", "!x"])
def test_the_workflow_names_the_branch_of_the_repository(branch: str, init: Init, shop: Path) -> None:
    in_git(shop, branch)
    assert applied_branches(init, shop) == {"branches": [branch.replace("!", r"\!")]}
    assert init("shop", "--github", "acme/reconciler") == "nothing to write: everything is there\n"


def test_before_the_first_commit_it_is_the_branch_that_will_have_it(init: Init, shop: Path) -> None:
    shop.mkdir()
    git(shop, "init", "-q", "-b", "trunk")
    assert applied_branches(init, shop) == {"branches": ["trunk"]}


def test_outside_of_git_it_is_the_usual_one(init: Init, shop: Path) -> None:
    assert applied_branches(init, shop) == {"branches": ["main"]}


def test_a_branch_on_which_the_workflow_is_begun_is_not_that_one(init: Init, shop: Path) -> None:
    in_git(shop, "master", "begin-reconcile")
    assert applied_branches(init, shop) == {"branches": ["master"]}


def test_origin_says_which_its_default_branch_is(init: Init, shop: Path, tmp_path: Path) -> None:
    in_git(tmp_path / "origin", "develop")
    git(tmp_path / "origin", "branch", "main")
    git(tmp_path, "clone", "-q", str(tmp_path / "origin"), "shop")
    git(shop, "checkout", "-q", "-b", "begin-reconcile")
    assert applied_branches(init, shop) == {"branches": ["develop"]}


def test_an_environment_s_own_branch_is_the_one_that_is_applied(init: Init, shop: Path) -> None:
    in_git(shop, "main")
    (shop / "reconcile.yaml").write_text("environments: {production: {warehouse: w, branch: live}}\n")
    assert applied_branches(init, shop) == {"branches": ["live"]}


@pytest.mark.parametrize("ref", ["v0.1.0", "1.0", "0123456789", "feature/on"])
def test_the_workflow_calls_ours_as_it_is_to_be_called(ref: str, init: Init, shop: Path) -> None:
    init("shop", "--github", f"acme/reconciler@{ref}")
    text = (shop / ".github/workflows/pipelines.yml").read_text()
    # With what is commented out, too.
    for written in (text, re.sub(r"^( +)# (?=protection|secrets|  \w+_credentials)", r"\1", text, flags=re.MULTILINE)):
        call = read(WORKFLOW)["on"]["workflow_call"]
        job = yaml.safe_load(written)["jobs"]["dev"]
        assert set(job["with"]) <= set(call["inputs"])
        assert {name for name, one in call["inputs"].items() if one.get("required")} <= set(job["with"])
        assert set(job.get("secrets", ())) <= set(call["secrets"])
        assert job["with"]["reconciler-ref"] == ref
        assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "plan_credentials: ${{ secrets.REGISTRY_READ }}" in text


def test_what_a_new_environment_is_told_to_take_holds(init: Init, shop: Path) -> None:
    init("shop")
    text = (shop / "reconcile.yaml").read_text()
    begun = text.index("  # prod:")

    read_in = read_project(text[:begun] + re.sub(r"^  # ", "  ", text[begun:], flags=re.MULTILINE))

    assert "Uncomment the lines below" in text[:begun]
    assert read_in.diagnostics == ()
    assert read_in.project is not None
    assert read_in.project.default == "dev"
    assert read_in.project.environments["prod"].branch == "main"
    assert read_in.project.environments["prod"].first_apply == "await_approval"


def test_editors_find_the_schemas(init: Init, shop: Path) -> None:
    init("shop")
    for file in (shop / "reconcile.yaml", shop / "pipelines/shop/pipeline.yaml"):
        first = file.read_text().splitlines()[0]
        assert (file.parent / first.removeprefix("# yaml-language-server: $schema=")).is_file(), first
    for file in (shop / "schemas").iterdir():
        for reference in re.findall(r'"\$ref": "([^"#]+)', file.read_text()):
            assert (shop / "schemas" / reference).is_file(), reference
    assert (shop / "schemas/policy.schema.json").is_file()
    assert set(schema_names()) - set(schemas_of_files()) == {"explain.schema.json", "plan.schema.json"}


def test_schemas_of_another_version_are_kept_until_they_are_asked_for(init: Init, shop: Path) -> None:
    init("shop")
    wanted = tree(shop)
    schema = shop / "schemas/pipeline.schema.json"
    schema.write_text(json.dumps(json.loads(schema.read_text()) | {"title": "older"}, indent=2))
    (shop / "pipelines/shop/program.sql").unlink()

    assert "to replace them: reconcile init --schemas" in init("shop", "--name", "more")
    assert "older" in schema.read_text()
    assert init("shop", "--schemas") == "wrote schemas/ (1 files, for editors)\n"
    assert tree(shop)["schemas/pipeline.schema.json"] == wanted["schemas/pipeline.schema.json"]
    assert not (shop / "pipelines/shop/program.sql").exists()
    assert init("shop", "--schemas") == "nothing to write: everything is there\n"
    assert "--schemas accepts no other option" in init.refused("shop", "--schemas", "--name", "x")


def test_a_file_that_is_no_schema_of_ours_stays(init: Init, shop: Path) -> None:
    (shop / "schemas").mkdir(parents=True)
    (shop / "schemas/pipeline.schema.json").write_text("{}")

    told = init.refused("shop", "--schemas")

    assert "U823: nothing was written, because these paths are taken: schemas/pipeline.schema.json" in told
    assert list(tree(shop)) == ["schemas/pipeline.schema.json"]


def workflow_of_others(shop: Path) -> list[str]:
    (shop / ".github/workflows").mkdir(parents=True)
    (shop / ".github/workflows/pipelines.yml").write_text("name: mine\n")
    return ["--github", "acme/reconciler"]


def pipeline_of_others(shop: Path) -> list[str]:
    (shop / "pipelines/shop").mkdir(parents=True)
    (shop / "pipelines/shop/program.sql").write_text("CREATE TABLE t (a INT);")
    return ["--name", "shop"]


def file_beside_the_example(shop: Path) -> list[str]:
    (shop / "pipelines/shop").mkdir(parents=True)
    (shop / "pipelines/shop/more.sql").write_text("CREATE TABLE t (a INT);")
    return ["--name", "shop"]


def data_of_others(shop: Path) -> list[str]:
    (shop / "data/shop").mkdir(parents=True)
    (shop / "data/shop/december.csv").write_text("a\n1\n")
    return []


def other_data(shop: Path) -> list[str]:
    (shop / "data/shop").mkdir(parents=True)
    (shop / "data/shop/january.csv").write_text("a\n1\n")
    return []


def file_for_a_folder(shop: Path) -> list[str]:
    shop.mkdir()
    (shop / "schemas").write_text("mine")
    return []


def file_for_a_pipelines_folder(shop: Path) -> list[str]:
    (shop / "pipelines").mkdir(parents=True)
    (shop / "pipelines/shop").write_text("mine")
    return ["--name", "shop"]


def folder_for_the_line(shop: Path) -> list[str]:
    (shop / ".gitignore").mkdir(parents=True)
    return []


IN_THE_WAY = {
    workflow_of_others: ".github/workflows/pipelines.yml",
    pipeline_of_others: "pipelines/shop/program.sql",
    file_beside_the_example: "pipelines/shop/more.sql",
    data_of_others: "data/shop/december.csv",
    other_data: "data/shop/january.csv",
    file_for_a_folder: "schemas",
    file_for_a_pipelines_folder: "pipelines/shop",
    folder_for_the_line: ".gitignore",
}


@pytest.mark.parametrize("prepare", IN_THE_WAY, ids=lambda prepare: prepare.__name__)
def test_what_is_in_the_way_is_named_and_nothing_is_written(prepare, init: Init, shop: Path) -> None:  # type: ignore[no-untyped-def]
    words = prepare(shop)
    before = tree(shop)

    told = init.refused("shop", *words)

    assert f"U823: nothing was written, because these paths are taken: {IN_THE_WAY[prepare]}\n" in told
    assert "hint:" in told
    assert tree(shop) == before


@pytest.mark.parametrize("link", ["schemas", "pipelines", "data", "pipelines/shop", ".gitignore"])
def test_nothing_is_written_through_a_link(link: str, init: Init, shop: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "ignored").write_text("mine")
    (shop / link).parent.mkdir(parents=True)
    (shop / link).symlink_to(elsewhere / "ignored" if link == ".gitignore" else elsewhere)
    if link == "pipelines/shop":
        (elsewhere / "ignored").unlink()
    before = tree(elsewhere)

    assert f"because these paths are taken: {link}\n" in init.refused("shop")
    assert tree(elsewhere) == before
    assert tree(shop).keys() <= {".gitignore"}


def test_a_file_that_is_a_link_is_kept(init: Init, shop: Path, tmp_path: Path) -> None:
    shop.mkdir()
    (shop / "reconcile.yaml").symlink_to(tmp_path / "nowhere")

    assert "kept reconcile.yaml\n" in init("shop")
    assert not (tmp_path / "nowhere").exists()


def test_what_stands_where_a_file_is_written_first_is_not_written_through(init: Init, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("mine")
    shop.mkdir()
    (shop / ".reconcile.yaml.tmp").symlink_to(tmp_path / "keys")

    init("shop")

    assert (tmp_path / "keys").read_text() == "mine"
    assert sorted(tree(shop)) == EVERYTHING


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b".reconcile/\n"),
        (b"*.pyc\n", b"*.pyc\n.reconcile/\n"),
        (b"*.pyc", b"*.pyc\n.reconcile/\n"),
        (b"*.pyc\r\n", b"*.pyc\r\n.reconcile/\r\n"),
        (b"\xff\n", b"\xff\n.reconcile/\n"),
        (b"# .reconcile/\n", b"# .reconcile/\n.reconcile/\n"),
        (b"/.reconcile\n", b"/.reconcile\n"),
        (b".reconcile/  \r\n*.pyc", b".reconcile/  \r\n*.pyc"),
    ],
)
def test_gitignore_gets_the_line_that_it_lacks(before: bytes, after: bytes, init: Init, shop: Path) -> None:
    shop.mkdir()
    (shop / ".gitignore").write_bytes(before)

    told = init("shop")

    assert (shop / ".gitignore").read_bytes() == after
    assert ("added .reconcile/ to .gitignore\n" in told) is (before != after)


def test_inside_another_repository_it_is_refused(init: Init, shop: Path, tmp_path: Path) -> None:
    init("shop")
    subprocess.run(["git", "init", "--quiet", str(shop)], check=True)
    (shop / "notes").mkdir()
    before = tree(shop)

    for folder in (shop / "notes", shop / "pipelines" / "tax"):
        told = init.refused(folder)
        assert f"U822: {folder} is inside the repository {shop}, which has a reconcile.yaml\n" in told
        assert f"reconcile init {shop} --name {folder.name}\n" in told
    assert f"reconcile init {shop} --name vat\n" in init.refused(shop / "notes", "--name", "vat")
    assert tree(shop) == before


def test_a_git_repository_of_its_own_may_stand_anywhere(init: Init, shop: Path) -> None:
    init("shop")
    subprocess.run(["git", "init", "--quiet", str(shop / "other")], check=True)
    (shop / "other/deep").mkdir()

    init(shop / "other/deep")

    assert "reconcile.yaml" in tree(shop / "other/deep")


def test_in_a_folder_of_a_git_repository_there_is_no_workflow(init: Init, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)

    told = init.refused(tmp_path / "shop", "--github", "acme/reconciler")

    assert f"is inside the git repository {tmp_path}, and GitHub looks for workflows only at the top of it" in told
    assert not (tmp_path / "shop").exists()
    init(tmp_path / "shop")
    init(tmp_path, "--name", "all", "--github", "acme/reconciler")


def test_a_workflow_needs_an_environment_that_can_be_read(init: Init, shop: Path) -> None:
    shop.mkdir()
    (shop / "reconcile.yaml").write_text("environments: {}\n")

    assert "reconcile.yaml:1:15: error M116" in init.refused("shop", "--github", "acme/reconciler")
    assert list(tree(shop)) == ["reconcile.yaml"]


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("shop", "shop"),
        ("My Shop", "my-shop"),
        ("2024_sales.git", "sales-git"),
        ("été", "t"),
        ("数据", "example"),
        ("a" * 80, "a" * 63),
        ("--x--", "x"),
        ("", "example"),
    ],
)
def test_an_example_is_named_like_its_folder(folder: str, name: str) -> None:
    assert name_of(Path("/") / folder) == name


@pytest.mark.parametrize("name", ["on", "null", "true", "y", "a-b_c1"])
def test_names_that_yaml_takes_for_something_else_are_names(name: str, init: Init, shop: Path) -> None:
    init("shop", "--name", name)

    assert run(["plan", name, "--repo", str(shop)]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--name", "Shop"], "lower-case letter"),
        (["--name", "../x"], "lower-case letter"),
        (["--name", ""], "lower-case letter"),
        (["--github", "reconciler"], "OWNER/NAME@REF"),
        (["--github", "a/b@c d"], "OWNER/NAME@REF"),
        (["--github", "a/b\n- x"], "OWNER/NAME@REF"),
    ],
)
def test_what_can_be_no_name_is_refused(words: list[str], said: str, init: Init, shop: Path) -> None:
    assert said in init.refused("shop", *words)
    assert not shop.exists()


def boundaries(folder: Path) -> list[str]:
    seen: list[str] = []
    begin(folder, None, None, seen.append)
    return seen


def test_killed_anywhere_it_completes_when_run_again(init: Init, shop: Path, tmp_path: Path) -> None:
    points = boundaries(tmp_path / "whole/shop")
    whole = tree(tmp_path / "whole/shop")
    assert len(points) == 2 * (len(EVERYTHING) - 1)
    for number, point in enumerate(points):
        root = tmp_path / f"{number}/shop"
        with pytest.raises(Crash):
            begin(root, None, None, crash_at(point))
        # A file that was being written.
        for name in (".program.sql.tmp", f".program.sql.{uuid4().hex}.tmp"):
            half = root / "pipelines/shop" / name
            if half.parent.is_dir() and not (root / "pipelines/shop/program.sql").exists():
                half.write_text("CREATE TA")

        init(root)

        assert tree(root) == whole, point


def test_a_process_that_is_killed_is_completed_by_the_next(shop: Path) -> None:
    def reconcile(crash: str) -> int:
        return subprocess.run(
            [sys.executable, "-c", "from reconciler.cli.main import main; main()", "init", str(shop)],
            env={**os.environ, "RECONCILE_CRASH_AT": crash},
            check=False,
        ).returncode

    assert reconcile("init:pipelines/shop/pipeline.yaml:intended") == -signal.SIGKILL
    assert sorted(tree(shop)) == [".gitignore", "data/shop/january.csv", "pipelines/shop/program.sql"]
    assert reconcile("") == 0
    assert sorted(tree(shop)) == EVERYTHING


def test_where_nothing_may_be_written_nothing_is(init: Init, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        disk.forbid_writing()
        for folder in (disk.root, disk.root / "shop"):
            told = init.refused(folder)
            assert re.match(rf"G608: {disk.root}\S*: Read-only file system\n", told), told
        disk.allow_writing()
        assert tree(disk.root) == {}


def test_on_a_full_disk_it_says_so_and_completes_later(init: Init, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        disk.fill(leave=16 * 1024)
        assert "No space left on device" in init.refused(disk.root / "shop")
        disk.make_room()
        init(disk.root / "shop")
        assert sorted(tree(disk.root / "shop")) == EVERYTHING


def test_a_file_is_no_folder(init: Init, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")

    assert "is a file" in init.refused(tmp_path / "notes")
    assert "U823" in init.refused(tmp_path / "notes" / "shop")


@pytest.fixture
def completed() -> ShellComplete:
    return ShellComplete(cli, {}, "reconcile", "_RECONCILE_COMPLETE")


def test_it_is_completed(completed: ShellComplete) -> None:
    assert [item.value for item in completed.get_completions([], "in")] == ["init"]
    assert [item.type for item in completed.get_completions(["init"], "s")] == ["dir"]
    assert [item.value for item in completed.get_completions(["init"], "--g")] == ["--github"]


def test_a_folder_without_a_repository_is_told_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--repo", str(tmp_path), "--env", "prod"]) == 1
    assert "or create a repository: reconcile init\n" in capsys.readouterr().err
