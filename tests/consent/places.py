"""Where a change may come from: each place says whether its files count as merged to the environment's branch, and whether a
valid lock of the change is merged with them. `arrange` makes the place in a cell's repository.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.consent.cell import Cell
from tests.consent.things import Thing

WAITS: Final = frozenset({"A501", "A580"})
UNREADABLE: Final = frozenset({"U813", "M100"})


@dataclass(frozen=True, slots=True)
class Place:
    """See the module. `codes`: how apply refuses."""

    merged: bool
    locked: bool
    arrange: Callable[[Cell, Thing], None]
    codes: frozenset[str] = WAITS


def change(cell: Cell, thing: Thing, *, locked: bool = True) -> None:
    thing.edit(cell.root)
    if locked:
        cell.lock(thing.pipeline)


def on_side(cell: Cell, thing: Thing, *, locked: bool = True) -> str:
    """The change in a commit of a branch `side`, which is checked out."""
    cell.git("checkout", "-q", "-b", "side")
    change(cell, thing, locked=locked)
    return cell.commit("side")


def merged(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing)
    cell.merge("side")


def squashed(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing)
    cell.merge("side", "--squash")
    cell.commit("squashed")


def rebased(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing)
    cell.git("checkout", "-q", "main")
    (cell.root / "unrelated").write_text("meanwhile")
    cell.commit("meanwhile")
    cell.git("rebase", "-q", "main", "side")
    cell.merge("side", "--ff-only")


def detached(cell: Cell, thing: Thing) -> None:
    merged(cell, thing)
    cell.git("checkout", "-q", "--detach")


def worktree(cell: Cell, thing: Thing) -> None:
    merged(cell, thing)
    cell.git("worktree", "add", "-q", "--detach", str(cell.home / "worktree"), "main")
    cell.root = cell.home / "worktree"


def cloned(cell: Cell, thing: Thing) -> None:
    merged(cell, thing)
    cell.git("clone", "-q", str(cell.root), str(cell.home / "clone"))
    cell.root = cell.home / "clone"


def shallow(depth: int) -> Callable[[Cell, Thing], None]:
    def arrange(cell: Cell, thing: Thing) -> None:
        merged(cell, thing)
        cell.git("clone", "-q", "--depth", str(depth), f"file://{cell.root}", str(cell.home / "clone"))
        cell.root = cell.home / "clone"

    return arrange


def as_a_submodule(cell: Cell, thing: Thing) -> None:
    """The whole repository is a submodule of another one, which decides nothing."""
    merged(cell, thing)
    outer = cell.home / "outer"
    outer.mkdir()
    cell.git("init", "-q", "-b", "trunk", at=outer)
    cell.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(cell.root), "inner", at=outer)
    cell.root = outer / "inner"
    shutil.copytree(cell.home / "warehouse", outer / "warehouse")
    shutil.rmtree(cell.home / "warehouse")
    (cell.home / "warehouse").symlink_to(outer / "warehouse")


def below_another_folder(cell: Cell, thing: Thing) -> None:
    """What is planned stands in a folder of the repository of git."""
    deep = cell.root / "deep" / "er"
    deep.mkdir(parents=True)
    for name in ("pipelines", "reconcile.yaml"):
        cell.git("mv", name, f"deep/er/{name}")
    project = deep / "reconcile.yaml"
    project.write_text(project.read_text().replace("../", "../../../"))
    cell.root = deep
    cell.commit("moved")
    on_side(cell, thing)
    cell.merge("side")


def pushed(cell: Cell, thing: Thing) -> None:
    with_origin(cell)
    merged(cell, thing)
    cell.git("push", "-q", "origin", "main")


def beside_a_tag(cell: Cell, thing: Thing) -> None:
    """A tag has the branch's name, and is of another commit."""
    cell.git("tag", "main")
    on_side(cell, thing)
    cell.git("checkout", "-q", "refs/heads/main")
    cell.git("checkout", "-q", "-B", "main", "refs/heads/main")
    cell.git("merge", "-q", "--no-ff", "--no-edit", "side")


def with_crlf(cell: Cell, thing: Thing) -> None:
    """The checkout has the other ends of lines."""
    merged(cell, thing)
    for file in (cell.root / "pipelines").rglob("*.*"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))


def with_origin(cell: Cell) -> None:
    cell.git("clone", "-q", "--bare", ".", str(cell.home / "origin.git"))
    cell.git("remote", "add", "origin", str(cell.home / "origin.git"))
    cell.git("fetch", "-q", "origin")


def merged_without_its_lock(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing, locked=False)
    cell.merge("side")


def with_the_lock_of_another_environment(cell: Cell, thing: Thing) -> None:
    cell.environment = "dev"
    for name in ("shop", "free"):
        cell.project().pipeline(name).apply()
    on_side(cell, thing)
    cell.merge("side")
    cell.environment = "prod"


def with_an_edited_lock(cell: Cell, thing: Thing) -> None:
    change(cell, thing)
    lock = cell.root / "pipelines" / thing.pipeline / "plan.lock"
    if lock.exists():
        lock.write_text(lock.read_text().replace("steps:", "steps (harmless):"))
    cell.commit("edited")


def approved(cell: Cell, thing: Thing) -> None:
    """Somebody has approved the plan by its digest, if it needs that."""
    pipeline = cell.project().pipeline(thing.pipeline)
    plan = pipeline.plan()
    if plan.needs_approval:
        pipeline.approve(plan.digest, "Bob")


def approved_and_merged(cell: Cell, thing: Thing) -> None:
    merged_without_its_lock(cell, thing)
    approved(cell, thing)


def approved_and_dirty(cell: Cell, thing: Thing) -> None:
    change(cell, thing, locked=False)
    approved(cell, thing)


def approved_on_a_side_branch(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing, locked=False)
    approved(cell, thing)


def dirty(cell: Cell, thing: Thing) -> None:
    change(cell, thing)


def lock_only(cell: Cell, thing: Thing) -> None:
    """The lock is merged; the files are not."""
    change(cell, thing)
    lock = cell.root / "pipelines" / thing.pipeline / "plan.lock"
    if lock.exists():
        cell.git("add", "-f", str(lock))
        cell.git("commit", "-q", "-m", "only the lock")


def staged(cell: Cell, thing: Thing) -> None:
    lock_only(cell, thing)
    cell.git("add", "-A")


def ignored(cell: Cell, thing: Thing) -> None:
    """Beside what is merged stands a file that git is told to ignore."""
    (cell.root / ".gitignore").write_text("hidden.sql\n")
    merged(cell, thing)
    (cell.root / "pipelines" / thing.pipeline / "hidden.sql").write_text("CREATE VIEW hidden AS SELECT 1 AS one;\n")


def untracked(cell: Cell, thing: Thing) -> None:
    merged(cell, thing)
    (cell.root / "pipelines" / thing.pipeline / "new.sql").write_text("CREATE VIEW new AS SELECT 1 AS one;\n")


def side(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing)


def local_main_ahead(cell: Cell, thing: Thing) -> None:
    with_origin(cell)
    merged(cell, thing)


def origin_without_the_branch(cell: Cell, thing: Thing) -> None:
    """Origin's main was never fetched; a local branch of that name is nobody's word."""
    with_origin(cell)
    cell.git("push", "-q", "origin", "main:trunk")
    cell.git("fetch", "-q", "origin")
    cell.git("remote", "set-head", "origin", "trunk")
    merged(cell, thing)
    cell.git("update-ref", "-d", "refs/remotes/origin/main")


def old_commit(cell: Cell, thing: Thing) -> None:
    """It was merged and applied, and undone by a later commit that was applied; the old job is run again."""
    merged(cell, thing)
    cell.project().pipeline(thing.pipeline).apply()
    old = cell.git("rev-parse", "HEAD")
    cell.git("checkout", "-q", "HEAD~", "--", ".")
    if thing.pipeline == "fresh":
        (cell.root / "pipelines/fresh/program.sql").write_text("CREATE TABLE t (id BIGINT);\nCREATE TABLE u (id BIGINT);\n")
    cell.lock(thing.pipeline)
    cell.commit("undone")
    cell.project().pipeline(thing.pipeline).apply()
    cell.git("checkout", "-q", "--detach", old)


def before_another_commit(cell: Cell, thing: Thing) -> None:
    """Another change was merged before the job of this one ran."""
    merged(cell, thing)
    (cell.root / "unrelated").write_text("meanwhile")
    cell.commit("meanwhile")
    cell.git("checkout", "-q", "--detach", "HEAD~")


def first_of_a_fast_forward(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing)
    (cell.root / "unrelated").write_text("more")
    cell.commit("more")
    cell.merge("side", "--ff-only")
    cell.git("checkout", "-q", "--detach", "HEAD~")


def side_of_a_merge(cell: Cell, thing: Thing) -> None:
    """Its files are those of main, its commit is none at which main stood."""
    merged(cell, thing)
    cell.git("checkout", "-q", "side")


def undone_before_it_was_merged(cell: Cell, thing: Thing) -> None:
    """A later commit of the branch takes it back, and the merge shows nothing of it."""
    side = on_side(cell, thing)
    cell.git("revert", "--no-edit", "HEAD")
    (cell.root / "unrelated").write_text("docs")
    cell.commit("docs")
    cell.merge("side")
    cell.git("checkout", "-q", "--detach", side)


def merged_by_ours(cell: Cell, thing: Thing) -> None:
    """It was turned down: main has its commit, and nothing of it."""
    on_side(cell, thing)
    cell.merge("side", "-s", "ours", "--no-edit")
    cell.git("checkout", "-q", "side")


def undone_before_it_was_applied(cell: Cell, thing: Thing) -> None:
    """Main stood at it, but its job never ran; that of the commit that undoes it found nothing to do."""
    merged(cell, thing)
    merge = cell.git("rev-parse", "HEAD")
    cell.git("revert", "--no-edit", "-m", "1", "HEAD")
    for name in ("free", "shop"):
        assert cell.project().pipeline(name).apply().did_nothing
    cell.git("checkout", "-q", "--detach", merge)


def tag_of_the_branchs_name(cell: Cell, thing: Thing) -> None:
    on_side(cell, thing)
    cell.git("tag", "main")
    cell.git("checkout", "-q", "--detach")


def branch_named_like_a_reference(cell: Cell, thing: Thing) -> None:
    """The branch `main` is gone; another is called `refs/heads/main`, a tag `heads/main`."""
    with_project_of_trunk(cell)
    on_side(cell, thing)
    commit = cell.git("rev-parse", "HEAD")
    cell.git("update-ref", "refs/heads/refs/heads/main", commit)
    cell.git("update-ref", "refs/tags/refs/heads/main", commit)
    cell.git("update-ref", "refs/tags/heads/main", commit)
    cell.git("checkout", "-q", "--detach")
    cell.git("update-ref", "-d", "refs/heads/main")


def with_project_of_trunk(cell: Cell) -> None:
    """The default branch is `master`, so that it says which branch the environment has."""
    cell.git("branch", "master")


def another_remotes_main(cell: Cell, thing: Thing) -> None:
    commit = on_side(cell, thing)
    cell.git("update-ref", "refs/remotes/fork/main", commit)
    cell.git("config", "remote.fork.url", str(cell.home / "fork"))


def orphan(cell: Cell, thing: Thing) -> None:
    """A branch without any commit is checked out."""
    cell.git("checkout", "-q", "--orphan", "empty")
    change(cell, thing)
    cell.git("add", "-A")


def nested_repository(cell: Cell, thing: Thing) -> None:
    """The folder is a repository of its own, where everything is merged to main."""
    change(cell, thing)
    folder = cell.root / "pipelines" / thing.pipeline
    cell.git("init", "-q", "-b", "main", at=folder)
    cell.commit("nested", at=folder)


def submodule_in_the_folder(cell: Cell, thing: Thing) -> None:
    """The folder is a submodule, and that it is one is merged; what it has, the commit does not say."""
    change(cell, thing)
    folder = cell.root / "pipelines" / thing.pipeline
    cell.git("rm", "-rqf", "--cached", "--ignore-unmatch", f"pipelines/{thing.pipeline}")
    cell.git("init", "-q", "-b", "main", at=folder)
    cell.commit("nested", at=folder)
    cell.git("-c", "advice.addEmbeddedRepo=false", "add", f"pipelines/{thing.pipeline}")
    cell.git("add", "-A")
    cell.git("commit", "-q", "-m", "a submodule")


def link_to_a_file_elsewhere(cell: Cell, thing: Thing) -> None:
    change(cell, thing)
    file = cell.root / "pipelines" / thing.pipeline / "program.sql"
    file.rename(cell.root / "program.sql")
    file.symlink_to("../../program.sql")
    cell.commit("a link")


def link_within_the_folder(cell: Cell, thing: Thing) -> None:
    """What a link of a commit leads to is no file of it."""
    change(cell, thing)
    file = cell.root / "pipelines" / thing.pipeline / "program.sql"
    file.rename(file.with_name("program.txt"))
    file.symlink_to("program.txt")
    cell.commit("a link")


def folder_that_is_a_link(cell: Cell, thing: Thing) -> None:
    change(cell, thing)
    folder = cell.root / "pipelines" / thing.pipeline
    folder.rename(cell.root / "elsewhere")
    folder.symlink_to("../elsewhere")
    cell.commit("a link")


def with_sql_at(path: Callable[[Cell], str]) -> Callable[[Cell, Thing], None]:
    def arrange(cell: Cell, thing: Thing) -> None:
        """pipeline.yaml names SQL that stands elsewhere."""
        change(cell, thing)
        (cell.home / "outside.sql").write_text("CREATE VIEW outside AS SELECT 1 AS one;\n")
        yaml = cell.root / "pipelines" / thing.pipeline / "pipeline.yaml"
        text = yaml.read_text()
        text = text if "spec:" in text else text + "spec:\n"
        sql = f'sql: [program.sql, "{path(cell)}"]'
        yaml.write_text(
            text.replace("spec: {", f"spec: {{{sql}, ")
            if "spec: {" in text
            else text.replace("spec:\n", f"spec:\n  {sql}\n")
        )
        cell.commit("elsewhere")

    return arrange


def replaced_commit(cell: Cell, thing: Thing) -> None:
    """Main's commit is replaced by the side's, and checked out so."""
    main, side = cell.git("rev-parse", "main"), on_side(cell, thing)
    cell.git("checkout", "-q", "main")
    cell.git("replace", main, side)
    cell.git("checkout", "-q", "-f", "main")
    cell.git("reset", "-q", "--hard")


def replaced_parent(cell: Cell, thing: Thing) -> None:
    """Main's commit is replaced by one that came after the side's."""
    main, side = cell.git("rev-parse", "main"), on_side(cell, thing)
    tree = cell.git("rev-parse", f"{main}^{{tree}}")
    cell.git("replace", main, cell.git("commit-tree", tree, "-p", side, "-m", "after it"))


def replaced_files(cell: Cell, thing: Thing) -> None:
    """Each file of main's commit that the change has otherwise is replaced by that one."""
    lock_only(cell, thing)
    for name in cell.git("diff", "--name-only").splitlines():
        cell.git("replace", cell.git("rev-parse", f"HEAD:{name}"), cell.git("hash-object", "-w", "--no-filters", name))


def grafted(cell: Cell, thing: Thing) -> None:
    main, side = cell.git("rev-parse", "main"), on_side(cell, thing)
    (cell.root / ".git" / "info").mkdir(exist_ok=True)
    (cell.root / ".git" / "info" / "grafts").write_text(f"{main} {side}\n")


def filtered(cell: Cell, thing: Thing) -> None:
    """A filter gives git the files of the commit, whatever stands there."""
    (cell.root / ".gitattributes").write_text("* filter=lie\n")
    cell.git("config", "filter.lie.clean", "git cat-file blob HEAD:%f 2>/dev/null || cat")
    cell.git("add", ".gitattributes")
    cell.git("commit", "-q", "-m", "attributes")
    lock_only(cell, thing)


def told_to_overlook(how: str) -> Callable[[Cell, Thing], None]:
    def arrange(cell: Cell, thing: Thing) -> None:
        lock_only(cell, thing)
        names = cell.git("ls-files").splitlines()
        cell.git("update-index", how, *names)

    return arrange


def sparse(cell: Cell, thing: Thing) -> None:
    """Git has no file of the folder here; the files that stand there are somebody's."""
    lock_only(cell, thing)
    shutil.copytree(cell.root, cell.home / "kept", symlinks=True)
    cell.git("sparse-checkout", "set", "--no-cone", "unrelated")
    for name in ("pipelines", "reconcile.yaml"):
        shutil.rmtree(cell.root / name, ignore_errors=True)
        shutil.move(cell.home / "kept" / name, cell.root / name)


def with_variables(*names: str) -> Callable[[Cell, Thing], None]:
    def arrange(cell: Cell, thing: Thing) -> None:
        """Variables point git at a repository where everything is merged."""
        shutil.copytree(cell.root, cell.home / "other", symlinks=True)
        other, own = Cell(cell.home), cell.root
        other.root = cell.home / "other"
        merged(other, thing)
        lock_only(cell, thing)
        at = {
            "GIT_DIR": other.root / ".git",
            "GIT_COMMON_DIR": other.root / ".git",
            "GIT_WORK_TREE": own,
            "GIT_INDEX_FILE": other.root / ".git" / "index",
            "GIT_OBJECT_DIRECTORY": other.root / ".git" / "objects",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": other.root / ".git" / "objects",
        }
        cell.variables = {name: str(at[name]) for name in names}

    return arrange


def with_configured_work_tree(cell: Cell, thing: Thing) -> None:
    shutil.copytree(cell.root, cell.home / "other", symlinks=True)
    lock_only(cell, thing)
    cell.git("config", "core.worktree", str(cell.home / "other"))


def its_own_branch(cell: Cell, thing: Thing) -> None:
    """The change has its reconcile.yaml ask for no branch."""
    cell.git("checkout", "-q", "-b", "side")
    project = cell.root / "reconcile.yaml"
    thing.edit(cell.root)
    project.write_text(project.read_text().replace("branch: main, ", ""))
    cell.lock(thing.pipeline)
    cell.commit("side")


def another_name_for_the_place(cell: Cell, thing: Thing) -> None:
    """The change has another environment with the same warehouse, which asks for no branch."""
    cell.git("checkout", "-q", "-b", "side")
    thing.edit(cell.root)
    project = cell.root / "reconcile.yaml"
    line = next(line for line in project.read_text().splitlines() if line.startswith("  prod:"))
    mine = line.replace("prod:", "mine:").replace("branch: main, ", "").replace("../warehouse", "../repository/../warehouse")
    project.write_text(f"{project.read_text()}{mine}\n")
    cell.environment = "mine"
    cell.lock(thing.pipeline)
    cell.commit("side")


def moved_within_the_repository(cell: Cell, thing: Thing) -> None:
    """The change moves the project to another folder, where its reconcile.yaml asks for no branch."""
    cell.git("checkout", "-q", "-b", "side")
    thing.edit(cell.root)
    deep = cell.root / "team" / "data"
    deep.mkdir(parents=True)
    for file in ("pipelines", "reconcile.yaml"):
        (cell.root / file).rename(deep / file)
    project = deep / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main, ", "").replace("../", "../../../"))
    cell.root = deep
    cell.lock(thing.pipeline)
    cell.commit("side")


def another_name_from_elsewhere(cell: Cell, thing: Thing) -> None:
    """In a clone at another place the merged relative path leads elsewhere; an environment of the clone's own leads here."""
    elsewhere = cell.home / "some" / "where"
    cell.git("clone", "-q", str(cell.root), str(elsewhere))
    cell.root = elsewhere
    cell.git("checkout", "-q", "-b", "side")
    thing.edit(cell.root)
    project = cell.root / "reconcile.yaml"
    line = next(line for line in project.read_text().splitlines() if line.startswith("  prod:"))
    mine = line.replace("prod:", "mine:").replace("branch: main, ", "")
    project.write_text(f"{project.read_text()}{mine.replace('../warehouse', str(cell.home / 'warehouse'))}\n")
    cell.environment = "mine"
    cell.lock(thing.pipeline)
    cell.commit("side")


PLACES: Final = {
    # place: (merged, with a valid lock)
    "merged": Place(True, True, merged),
    "squashed": Place(True, True, squashed),
    "rebased": Place(True, True, rebased),
    "main, detached": Place(True, True, detached),
    "a worktree of main": Place(True, True, worktree),
    "a clone of main": Place(True, True, cloned),
    "a shallow clone of main": Place(True, True, shallow(3)),
    "a shallow clone without what is applied": Place(False, False, shallow(1)),
    "before another commit of main": Place(True, True, before_another_commit),
    "the first of several commits, fast-forwarded": Place(True, True, first_of_a_fast_forward),
    "a submodule, at its own main": Place(True, True, as_a_submodule),
    "a folder of a repository": Place(True, True, below_another_folder),
    "pushed to origin's main": Place(True, True, pushed),
    "beside a tag `main`": Place(True, True, beside_a_tag),
    "checked out with other ends of lines": Place(True, True, with_crlf),
    "approved by its digest, merged": Place(True, True, approved_and_merged),
    "approved by its digest, dirty": Place(False, False, approved_and_dirty),
    "approved by its digest, on a side branch": Place(False, False, approved_on_a_side_branch),
    "merged without its lock": Place(True, False, merged_without_its_lock),
    "the lock of another environment": Place(True, False, with_the_lock_of_another_environment),
    "an edited lock": Place(True, False, with_an_edited_lock),
    "dirty": Place(False, False, dirty),
    "dirty, its lock merged": Place(False, False, lock_only),
    "staged, its lock merged": Place(False, False, staged),
    "an ignored file beside it": Place(False, False, ignored, WAITS | {"A502"}),
    "an untracked file beside it": Place(False, False, untracked, WAITS | {"A502"}),
    "a side branch": Place(False, False, side),
    "local main before origin's": Place(False, False, local_main_ahead),
    "origin's main is not known": Place(False, False, origin_without_the_branch, WAITS | {"U816"}),
    "an old commit of main": Place(False, False, old_commit),
    "the side of a merge": Place(False, False, side_of_a_merge),
    "undone before it was merged": Place(False, False, undone_before_it_was_merged),
    "merged by `ours`": Place(False, False, merged_by_ours),
    "undone before it was applied": Place(False, False, undone_before_it_was_applied),
    "a tag `main`": Place(False, False, tag_of_the_branchs_name),
    "a branch `refs/heads/main`": Place(False, False, branch_named_like_a_reference, WAITS | {"U816"}),
    "main of another remote": Place(False, False, another_remotes_main),
    "a branch without commits": Place(False, False, orphan),
    "a nested repository": Place(False, False, nested_repository),
    "a submodule in the folder": Place(False, False, submodule_in_the_folder),
    "a link to a file elsewhere": Place(False, False, link_to_a_file_elsewhere, UNREADABLE),
    "a link within the folder": Place(False, False, link_within_the_folder),
    "a folder that is a link": Place(False, False, folder_that_is_a_link, UNREADABLE),
    "`..` in sql": Place(False, False, with_sql_at(lambda cell: "../../../outside.sql"), UNREADABLE),
    "an absolute path in sql": Place(False, False, with_sql_at(lambda cell: str(cell.home / "outside.sql")), UNREADABLE),
    "git replace of main": Place(False, False, replaced_commit),
    "git replace of main's parent": Place(False, False, replaced_parent),
    "git replace of files": Place(False, False, replaced_files),
    "a graft": Place(False, False, grafted),
    "a clean filter": Place(False, False, filtered),
    "assume-unchanged": Place(False, False, told_to_overlook("--assume-unchanged")),
    "skip-worktree": Place(False, False, told_to_overlook("--skip-worktree")),
    "a sparse checkout": Place(False, False, sparse),
    "GIT_DIR": Place(False, False, with_variables("GIT_DIR")),
    "GIT_DIR and GIT_WORK_TREE": Place(False, False, with_variables("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")),
    "GIT_COMMON_DIR": Place(False, False, with_variables("GIT_COMMON_DIR")),
    "GIT_OBJECT_DIRECTORY": Place(False, False, with_variables("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")),
    "core.worktree": Place(False, False, with_configured_work_tree, WAITS | {"A581"}),
    "a reconcile.yaml that asks for no branch": Place(False, False, its_own_branch),
    "another environment of the same warehouse": Place(False, False, another_name_for_the_place),
    "a project moved within the repository": Place(False, False, moved_within_the_repository),
    "another environment, named from elsewhere": Place(False, False, another_name_from_elsewhere),
}
