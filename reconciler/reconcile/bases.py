"""The base branch: what is merged, and so binds whoever changes it. It says the policy, and what environments ask for.

Which branch that is:
- the environment's `branch`, as reconcile.yaml on the default branch says it; where that file says nothing of the
  environment, as the working tree's does;
- else the default branch: origin/HEAD, else origin's `main` or `master`, else its only branch; in a repository without an
  origin the branch `main` or `master`, else HEAD.
Where there is an origin, it says what a branch holds. A base branch that is not known here is an error (U816).

What an environment asks for (its `branch`, its `first_apply`) is what the working tree says *and* what the default branch
says: of the environment, and of any other with the same warehouse, since another name for a place is no way around it. A
folder is the same whatever leads to it, a place on S3 by bucket and key (`manifest.warehouses`), whatever options are set. A
reconcile.yaml that can't be read there is an error.
Outside of git, and before the first commit, nothing can have been merged.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

from reconciler.delta.opening import is_local, local_path
from reconciler.diagnostics import errors_among
from reconciler.errors import ManifestInvalid, ReconcileError
from reconciler.manifest.environment import Environment, Project
from reconciler.reconcile.repository import LOCAL, MAXIMUM_FILE, ORIGIN, PLAIN_FILES, Repository, open_repository
from reconciler.reconcile.source import PROJECT_FILE
from reconciler.reconcile.target import Target, warehouse_location

_USUAL: Final = ("main", "master")


def required_branches(target: Target) -> tuple[str, ...]:
    """The branches that files have to be on to be applied to the target, sorted."""
    return tuple(sorted({one.branch for one in (target.environment, *_as_merged(target)) if one.branch is not None}))


def asks_for_first_apply(target: Target, repository: Repository | None) -> bool:
    """Whether even a first apply needs an approval. `repository` is the target's; None outside of git."""
    merged = _as_merged_in(repository, target) if repository is not None else ()
    return any(one.first_apply == "await_approval" for one in (target.environment, *merged))


def base_reference(repository: Repository, target: Target) -> str:
    """The reference of the base branch. Raises ReconcileError (U816)."""
    default = _default(repository)
    branch = _named_branch(repository, target, default)
    if branch is None:
        if default is None:
            raise _unknown("the default branch of origin")
        return default
    reference = (ORIGIN if repository.has_origin else LOCAL) + branch
    if commit_at(repository, reference) is None:
        raise _unknown(f"branch {branch} of environment {target.environment.name}")
    return reference


def commit_at(repository: Repository, reference: str) -> str | None:
    """The commit that a reference stands for; None when there is no such reference."""
    return repository.head if reference == "HEAD" else repository.branches.get(reference)


def text_at(repository: Repository, root: Path, commit: str, name: str) -> str | None:
    """The text of a file of the repository in a commit, None when there is none. Raises ReconcileError (U813)."""
    return _text_at(repository.top, root.resolve(), commit, name)


@lru_cache(maxsize=64)
def _text_at(top: Path, root: Path, commit: str, name: str) -> str | None:
    """Cached, because a commit never changes: it is asked once, for all pipelines."""
    path = (root / name).relative_to(top).as_posix()
    described = f"{path} of commit {commit[:12]}"
    with Repository(top) as repository:
        entry = repository.entry(commit, path)
        if entry is None:
            return None
        if entry.mode not in PLAIN_FILES:
            raise ReconcileError("U813", f"{described} is not a file that can be read")
        content = repository.content(entry)
    if content is None:
        raise ReconcileError("U813", f"{described} is larger than {MAXIMUM_FILE} bytes")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ReconcileError("U813", f"{described} is not UTF-8: {error}", "save it as UTF-8") from error


def _as_merged(target: Target) -> tuple[Environment, ...]:
    """The environments of the default branch's reconcile.yaml that are the target's: by name, or by warehouse."""
    repository = open_repository(target.root)
    if repository is None:
        return ()
    with repository:
        return _as_merged_in(repository, target)


def _as_merged_in(repository: Repository, target: Target) -> tuple[Environment, ...]:
    project = _project(repository, target, _default(repository))
    if project is None:
        return ()
    return tuple(one for name, one in project.environments.items() if name == target.environment.name or _is_at(target, one))


def _is_at(target: Target, environment: Environment) -> bool:
    try:
        place = warehouse_location(environment, target.root)
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


def _default(repository: Repository) -> str | None:
    """The reference of the default branch; None when there is an origin and it can't be told."""
    if not repository.has_origin:
        local = (LOCAL + name for name in _USUAL)
        return next((one for one in local if one in repository.branches), "HEAD")
    pointed = repository.pointed_at(f"{ORIGIN}HEAD")
    candidates = [*([pointed] if pointed is not None else []), *(ORIGIN + name for name in _USUAL)]
    found = next((one for one in candidates if one in repository.branches), None)
    if found is not None:
        return found
    names = [name for name in repository.branches if name.startswith(ORIGIN) and name != f"{ORIGIN}HEAD"]
    return names[0] if len(names) == 1 else None


def _named_branch(repository: Repository, target: Target, default: str | None) -> str | None:
    """The environment's branch. The default branch's reconcile.yaml says it, so that a pull request can't name its own."""
    project = _project(repository, target, default)
    environment = project.environments.get(target.environment.name) if project is not None else None
    return environment.branch if environment is not None else target.environment.branch


def _project(repository: Repository, target: Target, default: str | None) -> Project | None:
    """What reconcile.yaml of the default branch says; None where there is none. Raises ManifestInvalid for one with errors:
    who can't be understood has not asked for nothing."""
    commit = commit_at(repository, default) if default is not None else None
    text = text_at(repository, target.root, commit, PROJECT_FILE) if commit is not None else None
    shown = (default or "").removeprefix("refs/remotes/").removeprefix(LOCAL)
    return _parsed(text, f"{shown}:{PROJECT_FILE}") if text is not None else None


@lru_cache(maxsize=16)
def _parsed(text: str, file: str) -> Project:
    from reconciler.manifest.project import read_project

    read = read_project(text, file)
    if read.project is None:
        raise ManifestInvalid(errors_among(read.diagnostics))
    return read.project


def _unknown(what: str) -> ReconcileError:
    return ReconcileError(
        "U816",
        f"{what} is not known in this copy of the repository, and policy.yaml is read from there",
        "fetch it (in CI: all branches), run `git remote set-head origin --auto`, or name it as branch of the environment",
    )
