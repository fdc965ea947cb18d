"""The base branch: what is merged, and so binds whoever changes it. It says the policy, and what environments ask for.

Which branch that is:
- the environment's `branch`, as reconcile.yaml on the default branch says it; where that file says nothing of the
  environment, as the working tree's does;
- else the default branch: origin/HEAD, else the one that the warehouse remembers, else origin's `main` or `master` if it has
  one of them, else its only branch; in a repository without an origin the branch `main` or `master`, else HEAD.
Where there is an origin, it says what a branch holds. A base branch that is not known here is an error (U816), and so is a
default branch that can't be told: anybody who may push a branch could have pushed another `main`.

What an environment asks for (its `branch`, its `first_apply`) is what the working tree says *and* what the default branch
says: of the environment, and of any other with the same warehouse, since another name for a place is no way around it. A
folder is the same whatever leads to it, a place on S3 by bucket and key (`manifest.warehouses`), whatever options are set. A
reconcile.yaml that can't be read there is an error.

A checkout can be at another place, and a project be moved within it, so that neither name nor place leads to the merged
project. The warehouse remembers which one it is (`homes`): what that says on the default branch is asked as well, and its
policy is the one in force. Where it no longer exists, what was recorded of it stands, until the pipeline is applied
from where it was merged to. Homes of other pipelines, which a new one is under, count where they are of this repository.
Outside of git, and before the first commit, nothing can have been merged.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import errors_among
from reconciler.base.errors import ManifestInvalid, ReconcileError
from reconciler.delta.opening import is_local, local_path
from reconciler.environment.commits import NOT_COMMITTED
from reconciler.environment.homes import Homes, homes_of
from reconciler.environment.repository import LOCAL, MAXIMUM_FILE, ORIGIN, PLAIN_FILES, Repository, open_repository
from reconciler.environment.source import MANIFEST_FILE, PIPELINES_FOLDER, PROJECT_FILE
from reconciler.environment.target import Target, warehouse_location
from reconciler.project.manifest.environment import Environment, Project, project_without_file
from reconciler.project.manifest.verdicts import POLICY_FILE
from reconciler.registry.home import Home

_USUAL: Final = ("main", "master")


def required_branches(target: Target, pipeline: str) -> tuple[str, ...]:
    """The branches that files have to be on to be applied to the target, sorted."""
    return branches_under(target, homes_of(target, pipeline))


def branches_under(target: Target, homes: Homes) -> tuple[str, ...]:
    """`required_branches` of what is under these homes."""
    repository = open_repository(target.root)
    if repository is None:
        return _asked(target, None, homes).branches
    with repository:
        return _asked(target, repository, homes).branches


def asks_for_first_apply(target: Target, repository: Repository | None, homes: Homes) -> bool:
    """Whether even a first apply needs an approval. `repository` is the target's; None outside of git."""
    return _asked(target, repository, homes).first_apply


def home_now(target: Target, before: Home | None) -> Home | None:
    """The home of what is applied from the working tree: its project, as the default branch knows it. `before` is the one
    that it had, and stays where that branch doesn't know the project."""
    repository = open_repository(target.root)
    if repository is None:
        return before
    with repository:
        folder = folder_in(repository, target.root)
        default = _default(repository, Homes(before))
        project = _project(repository, folder, default)
        name = target.environment.name
        if project is None or name not in project.environments:
            return before
        merged = _matching(project, target, target.root, name)
        base = default.removeprefix(ORIGIN) if repository.has_origin else (before.base if before is not None else "")
        return Home(folder, name, _branches(merged), _first_apply(merged), base)


def is_at_home(target: Target, pipeline: str) -> bool:
    """Whether the working tree has the project in the folder that the pipeline was applied from, as far as that is known."""
    home, repository = homes_of(target, pipeline).own, open_repository(target.root)
    return home is None or repository is None or folder_in(repository, target.root) == home.folder


def project_that_has(target: Target, pipeline: str) -> str | None:
    """Where the project is that a pipeline was applied from, for people: if it is another one of this repository than the
    working tree's, and has the pipeline's files on its base branch; else None. Raises ReconcileError (U816)."""
    home, repository = homes_of(target, pipeline).own, open_repository(target.root)
    if home is None or repository is None:
        return None
    with repository:
        if folder_in(repository, target.root) == home.folder:
            return None
        reference, _ = base_of(repository, target, Homes(home))
        commit = commit_at(repository, reference)
        files = f"{home.folder}/{PIPELINES_FOLDER}/{pipeline}" if home.folder else f"{PIPELINES_FOLDER}/{pipeline}"
        is_there = commit is not None and repository.entry(commit, f"{files}/{MANIFEST_FILE}") is not None
        return (f"in folder {home.folder}" if home.folder else "at the top of the repository") if is_there else None


def is_of_another_repository(target: Target, pipeline: str) -> bool:
    """Whether a pipeline was applied from a repository that this one is no copy of, as far as a whole copy can tell."""
    glance, repository = target.registry.glance(pipeline), open_repository(target.root)
    if glance is None or glance.home is None:
        return False
    if repository is None:
        return True
    with repository:
        commit = glance.commit.removesuffix(NOT_COMMITTED)
        return bool(commit) and not repository.cut_commits and not _is_of(repository, commit)


def base_of(repository: Repository, target: Target, homes: Homes) -> tuple[str, str]:
    """The reference of the base branch, and the folder of the project there. Raises ReconcileError (U816)."""
    default = _default(repository, homes)
    governing = _governing(repository, target, default, homes)
    return _base_reference(repository, target, default, governing.branch), governing.folder


@dataclass(frozen=True, slots=True)
class _Governing:
    """The merged project whose policy is in force, and the branch that it asks for."""

    folder: str
    branch: str | None


def _governing(repository: Repository, target: Target, default: str, homes: Homes) -> _Governing:
    """The default branch says it, so that a pull request can't name its own: the project of the pipeline's own home; else
    the one of this folder, if its warehouse is the target's; else the first home of others, one of this folder before the
    rest; else the one of this folder by the environment's name; else the working tree."""
    here = folder_in(repository, target.root)
    others = sorted((home for home, _ in homes.others), key=lambda home: home.folder != here)
    merged = _project(repository, here, default)
    known = merged.environments if merged is not None else {}
    at_the_place = [one for one in known.values() if _is_at(target, target.root, one)]
    of_the_name = known.get(target.environment.name)

    own = _at_home(repository, target, default, homes.own) if homes.own is not None else None
    if own is not None:
        return own
    if at_the_place:
        return _Governing(here, min(at_the_place, key=lambda one: one.name != target.environment.name).branch)
    found = next(filter(None, (_at_home(repository, target, default, home) for home in others)), None)
    return found or _Governing(here, (of_the_name or target.environment).branch)


def _at_home(repository: Repository, target: Target, default: str, home: Home) -> _Governing | None:
    """The project of a home; None where it is not on the default branch any more."""
    project = _project(repository, home.folder, default)
    if project is None:
        return None
    merged = _matching(project, target, repository.top / home.folder, home.environment)
    if merged:
        return _Governing(home.folder, min(merged, key=lambda one: one.name != home.environment).branch)
    return _Governing(home.folder, next(iter(home.branches), None))


def _base_reference(repository: Repository, target: Target, default: str, branch: str | None) -> str:
    if branch is None:
        return default
    reference = (ORIGIN if repository.has_origin else LOCAL) + branch
    if commit_at(repository, reference) is None:
        raise _unknown(f"branch {branch} of environment {target.environment.name}")
    return reference


def commit_at(repository: Repository, reference: str) -> str | None:
    """The commit that a reference stands for; None when there is no such reference."""
    return repository.head if reference == "HEAD" else repository.branches.get(reference)


def folder_in(repository: Repository, root: Path) -> str:
    """The folder of a project in its repository; empty for the top."""
    folder = root.resolve().relative_to(repository.top).as_posix()
    return "" if folder == "." else folder


def text_at(repository: Repository, folder: str, commit: str, name: str) -> str | None:
    """The text of a file of a folder in a commit, None when there is none. Raises ReconcileError (U813)."""
    return _text_at(repository.top, f"{folder}/{name}" if folder else name, commit)


@lru_cache(maxsize=64)
def _text_at(top: Path, path: str, commit: str) -> str | None:
    """Cached, because a commit never changes: it is asked once, for all pipelines."""
    described = f"{path} of commit {commit[:12]}"
    with Repository(top) as repository:
        entry = repository.entry(commit, path)
        if entry is None:
            return None
        if entry.mode not in PLAIN_FILES:
            raise ReconcileError("U813", f"{described} is not a readable file")
        content = repository.content(entry)
    if content is None:
        raise ReconcileError("U813", f"{described} is larger than {MAXIMUM_FILE} bytes")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ReconcileError("U813", f"{described} is not UTF-8: {error}", "save it as UTF-8") from error


@dataclass(frozen=True, slots=True)
class _Asked:
    branches: tuple[str, ...]
    first_apply: bool


def _asked(target: Target, repository: Repository | None, homes: Homes) -> _Asked:
    environments = [target.environment]
    standing = list(homes.all())
    if repository is not None:
        default = _default(repository, homes)
        here = _project(repository, folder_in(repository, target.root), default)
        environments += _matching(here, target, target.root, target.environment.name)
        standing = [homes.own] if homes.own is not None else []
        standing += [home for home, commit in homes.others if _is_of(repository, commit)]
        for home in homes.all():
            project = _project(repository, home.folder, default)
            environments += _matching(project, target, repository.top / home.folder, home.environment)
            if project is not None and home.environment in project.environments and home in standing:
                standing.remove(home)
    return _Asked(
        tuple(sorted({*_branches(environments), *(branch for home in standing for branch in home.branches)})),
        _first_apply(environments) or any(home.first_apply for home in standing),
    )


def _is_of(repository: Repository, commit: str) -> bool:
    return bool(commit) and repository.has_commit(commit)


def _branches(environments: Iterable[Environment]) -> tuple[str, ...]:
    return tuple(sorted({one.branch for one in environments if one.branch is not None}))


def _first_apply(environments: Iterable[Environment]) -> bool:
    return any(one.first_apply == "await_approval" for one in environments)


def _matching(project: Project | None, target: Target, root: Path, name: str) -> tuple[Environment, ...]:
    """The environments of a project at a root that are the target's: the one of the name, and those of its warehouse."""
    found = project.environments.items() if project is not None else ()
    return tuple(one for known, one in found if known == name or _is_at(target, root, one))


def _is_at(target: Target, root: Path, environment: Environment) -> bool:
    try:
        place = warehouse_location(environment, root)
    except ReconcileError:
        return False
    if is_local(place) and is_local(target.warehouse):
        return _is_one_folder(Path(local_path(place)), Path(local_path(target.warehouse)))
    return place == target.warehouse


def _is_one_folder(place: Path, other: Path) -> bool:
    """Whether two paths lead to one folder: by links, by a second mount, or by the letter case of its name."""
    if place.resolve() == other.resolve():
        return True
    try:
        return place.samefile(other)
    except OSError:
        # A folder that is not there yet has one name only.
        return False


def _default(repository: Repository, homes: Homes) -> str:
    """The reference of the default branch. Raises ReconcileError (U816) when there is an origin and it can't be told."""
    if not repository.has_origin:
        local = (LOCAL + name for name in _USUAL)
        return next((one for one in local if one in repository.branches), "HEAD")
    pointed = repository.pointed_at(f"{ORIGIN}HEAD")
    certain = [*([pointed] if pointed is not None else []), *(ORIGIN + home.base for home in homes.all() if home.base)]
    usual = [ORIGIN + name for name in _USUAL if ORIGIN + name in repository.branches]
    every = [name for name in repository.branches if name.startswith(ORIGIN) and name != f"{ORIGIN}HEAD"]
    guesses = usual or every
    found = next((one for one in certain if one in repository.branches), guesses[0] if len(guesses) == 1 else None)
    if found is None:
        raise _unknown("the default branch of origin")
    return found


def likely_default_branch(root: Path) -> str | None:
    """The name of the branch to which changes of a repository are most likely merged: the default branch, and where that
    can't be told the one that is checked out. None outside of git. Nothing that has to be certain asks this."""
    found = open_repository(root)
    if found is None:
        return None
    with found as repository:
        with suppress(ReconcileError):
            default = _default(repository, Homes())
            if default != "HEAD":
                return default.removeprefix(ORIGIN).removeprefix(LOCAL)
        return repository.checked_out


def _project(repository: Repository, folder: str, default: str) -> Project | None:
    """The project of a folder on the default branch; None where there is none. Raises ManifestInvalid for a reconcile.yaml
    with errors: who can't be understood has not asked for nothing."""
    commit = commit_at(repository, default)
    if commit is None:
        return None
    text = text_at(repository, folder, commit, PROJECT_FILE)
    if text is None:
        return project_without_file() if text_at(repository, folder, commit, POLICY_FILE) is not None else None
    shown = default.removeprefix("refs/remotes/").removeprefix(LOCAL)
    return _parsed(text, f"{shown}:{PROJECT_FILE}")


@lru_cache(maxsize=16)
def _parsed(text: str, file: str) -> Project:
    from reconciler.project.manifest.project import read_project

    read = read_project(text, file)
    if read.project is None:
        raise ManifestInvalid(errors_among(read.diagnostics))
    return read.project


def _unknown(what: str) -> ReconcileError:
    return ReconcileError(
        "U816",
        f"this clone of the repository does not have {what}, and policy.yaml is read from it",
        "fetch the branch (in CI: all branches), run `git remote set-head origin --auto`, or set `branch` of "
        "the environment",
    )
