"""The policy in force: policy.yaml as it stands on the base branch (`bases`), never as a pull request would have it. A
pipeline that was applied is under the policy of its home there, wherever the working tree has its project.

Outside of git, and before the first commit, nothing can have been merged, and the working tree's file is in force.

A file that can't be read, or has errors, is an error, and so is a base branch that is not known here: never "no policy".
Where there is none, one of ours under another name in the working tree, such as `policy.yml`, is an error (M154).
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from reconciler.base.diagnostics import Diagnostic, Location, errors_among
from reconciler.base.errors import ManifestInvalid, ReconcileError
from reconciler.environment.bases import asks_for_first_apply, base_of, commit_at, text_at
from reconciler.environment.homes import Homes
from reconciler.environment.repository import LOCAL, Repository, open_repository
from reconciler.environment.source import read_optional
from reconciler.environment.target import Target
from reconciler.project.manifest.verdicts import POLICY_FILE, Policy

_REMOTES = "refs/remotes/"
_MISNAMED = re.compile(r"\.?polic(y|ies)\.ya?ml", re.IGNORECASE)
_OURS = re.compile(r"^[\"']?apiVersion[\"']?\s*:\s*[\"']?reconciler/", re.MULTILINE)


def what_is_asked(target: Target, homes: Homes) -> tuple[Policy | None, bool]:
    """The policy in force, None when the base branch has none, and whether even a first apply needs an approval; git is
    asked once for both. Raises ManifestInvalid, and ReconcileError (A581, U813, U816)."""
    if target.asked is None:
        return _look_up(target, homes)
    if homes not in target.asked:
        target.asked[homes] = _look_up(target, homes)
    found: tuple[Policy | None, bool] = target.asked[homes]
    return found


def _look_up(target: Target, homes: Homes) -> tuple[Policy | None, bool]:
    root = target.root.resolve()
    repository = open_repository(root)
    if repository is None:
        return _of_working_tree(root), asks_for_first_apply(target, None, homes)
    with repository:
        if repository.has_no_commit:
            return _of_working_tree(root), asks_for_first_apply(target, None, homes)
        return _of_base_branch(target, root, repository, homes), asks_for_first_apply(target, repository, homes)


def _require_no_other_name(root: Path) -> None:
    misnamed = tuple(misnamed_policies(root))
    if misnamed:
        raise ManifestInvalid(misnamed)


def _of_working_tree(root: Path) -> Policy | None:
    text = read_optional(root / POLICY_FILE, root)
    if text is None:
        _require_no_other_name(root)
    return _parsed(text, POLICY_FILE)


def _of_base_branch(target: Target, root: Path, repository: Repository, homes: Homes) -> Policy | None:
    reference, folder = base_of(repository, target, homes)
    commit = commit_at(repository, reference)
    if commit is None:
        message = f"{reference} has no commit, and {POLICY_FILE} is read from it"
        raise ReconcileError("U816", message, "check out a branch")
    text = text_at(repository, folder, commit, POLICY_FILE)
    if text is None:
        _require_no_other_name(root)
    shown = reference.removeprefix(LOCAL).removeprefix(_REMOTES)
    return _parsed(text, f"{shown}:{POLICY_FILE}")


def validate_policy(root: Path) -> tuple[Diagnostic, ...]:
    """What is wrong with the working tree's policy.yaml, which will be in force once it is merged. Raises ReconcileError
    (U813)."""
    from reconciler.project.manifest.policy import read_policy

    text = read_optional(root.resolve() / POLICY_FILE, root)
    return read_policy(text).diagnostics if text is not None else tuple(misnamed_policies(root))


def misnamed_policies(root: Path) -> Iterator[Diagnostic]:
    """Files that look like a policy and are none, where there is no policy.yaml: nobody is asked what stands there."""
    for path in sorted(root.resolve().iterdir()):
        if path.name == POLICY_FILE or _MISNAMED.fullmatch(path.name) is None or not path.is_file():
            continue
        # Other tools have files of these names, too.
        if _OURS.search(read_optional(path, root) or "") is not None:
            message = f"{path.name} is not read: only {POLICY_FILE} is a policy file"
            yield Diagnostic("M154", message, Location(path.name, 1, 1), f"rename it: git mv {path.name} {POLICY_FILE}")


@lru_cache(maxsize=64)
def _parsed(text: str | None, file: str) -> Policy | None:
    """Cached, because every pipeline of a repository is under one policy."""
    if text is None:
        return None
    from reconciler.project.manifest.policy import read_policy

    read = read_policy(text, file)
    if read.policy is None:
        raise ManifestInvalid(errors_among(read.diagnostics))
    return read.policy
