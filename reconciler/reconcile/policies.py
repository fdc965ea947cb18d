"""The policy in force: policy.yaml as it stands on the base branch, never as a pull request would have it.

Which branch that is:
- the environment's `branch`, as reconcile.yaml on the default branch says it; where that file says nothing of the
  environment, as the working tree's does;
- else the default branch: origin/HEAD, else origin's `main` or `master`, else its only branch; in a repository without an
  origin the branch `main` or `master`, else HEAD.
Where there is an origin, it says what a branch holds. Outside of git, and before the first commit, nothing can have been
merged, and the working tree's file is in force.

A file that can't be read, or has errors, is an error, and so is a base branch that is not known here: never "no policy".
"""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.diagnostics import Diagnostic, errors_among
from reconciler.errors import ManifestInvalid, ReconcileError
from reconciler.manifest.verdicts import POLICY_FILE, Policy
from reconciler.plan.model import PolicyOrigin
from reconciler.reconcile.commits import open_repository
from reconciler.reconcile.source import PROJECT_FILE, read_optional
from reconciler.reconcile.target import Target

if TYPE_CHECKING:
    from git import Repo

_LOCAL = "refs/heads/"
_REMOTES = "refs/remotes/"
_ORIGIN = "refs/remotes/origin/"
_USUAL = ("main", "master")
_PLAIN_FILES = ("100644", "100755")
_MAXIMUM_FILE = 4 * 1024 * 1024


def policy_in_force(target: Target) -> tuple[Policy | None, PolicyOrigin]:
    """The policy, None when the base branch has none, and where it was read. Raises ManifestInvalid, and ReconcileError
    (U813, U816)."""
    root = target.root.resolve()
    repository = open_repository(root)
    if repository is None:
        return _parsed(read_optional(root / POLICY_FILE, root), POLICY_FILE), PolicyOrigin("", "")
    with repository:
        if _commit(repository, "HEAD") is None:
            return _parsed(read_optional(root / POLICY_FILE, root), POLICY_FILE), PolicyOrigin("", "")
        reference = _base(repository, target)
        commit = _commit(repository, reference)
        assert commit is not None
        text = _text_at(root, commit, POLICY_FILE)
    shown = reference.removeprefix(_LOCAL).removeprefix(_REMOTES)
    return _parsed(text, f"{shown}:{POLICY_FILE}"), PolicyOrigin(shown, commit, differs_here=_differs(root, text))


def validate_policy(root: Path) -> tuple[Diagnostic, ...]:
    """What is wrong with the working tree's policy.yaml, which will be in force once it is merged. Raises ReconcileError
    (U813)."""
    from reconciler.manifest.policy import read_policy

    text = read_optional(root.resolve() / POLICY_FILE, root)
    return read_policy(text).diagnostics if text is not None else ()


@lru_cache(maxsize=64)
def _parsed(text: str | None, file: str) -> Policy | None:
    """Cached, because every pipeline of a repository is under one policy."""
    if text is None:
        return None
    from reconciler.manifest.policy import read_policy

    read = read_policy(text, file)
    if read.policy is None:
        raise ManifestInvalid(errors_among(read.diagnostics))
    return read.policy


def _differs(root: Path, text: str | None) -> bool:
    """Whether the working tree's file is another. One that can't be read is, and harms nobody."""
    try:
        return read_optional(root / POLICY_FILE, root) != text
    except ReconcileError:
        return True


def _base(repository: "Repo", target: Target) -> str:
    """The reference of the base branch."""
    default = _default(repository)
    branch = _named_branch(repository, target, default)
    if branch is None:
        if default is None:
            raise _unknown("the default branch of origin")
        return default
    reference = (_ORIGIN if _has_origin(repository) else _LOCAL) + branch
    if _commit(repository, reference) is None:
        raise _unknown(f"branch {branch} of environment {target.environment.name}")
    return reference


def _default(repository: "Repo") -> str | None:
    """The reference of the default branch; None when there is an origin and it can't be told."""
    if not _has_origin(repository):
        local = (_LOCAL + name for name in _USUAL)
        return next((one for one in local if _commit(repository, one) is not None), "HEAD")
    pointed = _pointed_at(repository, f"{_ORIGIN}HEAD")
    candidates = [*([pointed] if pointed is not None else []), *(_ORIGIN + name for name in _USUAL)]
    found = next((one for one in candidates if _commit(repository, one) is not None), None)
    if found is not None:
        return found
    paths = [one.path for one in repository.references if one.path.startswith(_ORIGIN) and one.path != f"{_ORIGIN}HEAD"]
    return paths[0] if len(paths) == 1 else None


def _has_origin(repository: "Repo") -> bool:
    """Where there is an origin, it says what is merged: a local branch may be ahead of it."""
    return any(remote.name == "origin" for remote in repository.remotes)


def _named_branch(repository: "Repo", target: Target, default: str | None) -> str | None:
    """The environment's branch. The default branch's reconcile.yaml says it, so that a pull request can't name its own."""
    from reconciler.manifest.project import read_project

    commit = _commit(repository, default) if default is not None else None
    text = _text_at(target.root.resolve(), commit, PROJECT_FILE) if commit is not None else None
    project = read_project(text).project if text is not None else None
    environment = project.environments.get(target.environment.name) if project is not None else None
    return environment.branch if environment is not None else target.environment.branch


def _pointed_at(repository: "Repo", path: str) -> str | None:
    """The reference that a symbolic one names."""
    from git import SymbolicReference

    try:
        return str(SymbolicReference(repository, path).reference.path)
    except (TypeError, ValueError):
        return None


def _commit(repository: "Repo", reference: str) -> str | None:
    """The commit that a reference stands for; None when there is no such reference."""
    from git import SymbolicReference

    try:
        return str(SymbolicReference.dereference_recursive(repository, reference))
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _text_at(root: Path, commit: str, name: str) -> str | None:
    """The text of a file of the repository in a commit, None when there is none. A commit never changes: it is asked
    once, for all pipelines."""
    from git import GitCommandError, Repo

    with Repo(root, search_parent_directories=True) as repository:
        top = Path(str(repository.working_tree_dir)).resolve()
        path = (root / name).relative_to(top).as_posix()
        described = f"{path} of commit {commit[:12]}"
        try:
            listing = repository.git.ls_tree("-z", "-l", "--full-tree", commit, "--", path).split("\0")[0]
            if not listing:
                return None
            mode, kind, blob, size = listing.partition("\t")[0].split()
            if kind != "blob" or mode not in _PLAIN_FILES:
                raise ReconcileError("U813", f"{described} is not a file that can be read")
            if int(size) > _MAXIMUM_FILE:
                raise ReconcileError("U813", f"{described} is larger than {_MAXIMUM_FILE} bytes")
            content = repository.git.cat_file("blob", blob, stdout_as_string=False, strip_newline_in_stdout=False)
            return bytes(content).decode("utf-8")
        except GitCommandError as error:
            raise ReconcileError("U813", f"{described} can't be read: {error.stderr.strip()}") from error
        except UnicodeDecodeError as error:
            raise ReconcileError("U813", f"{described} is not UTF-8: {error}", "save it as UTF-8") from error


def _unknown(what: str) -> ReconcileError:
    return ReconcileError(
        "U816",
        f"{what} is not known in this copy of the repository, and {POLICY_FILE} is read from there",
        "fetch it (in CI: all branches), run `git remote set-head origin --auto`, or name it as branch of the environment",
    )
