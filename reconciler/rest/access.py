"""Who may do what: callers with tokens, each with a role.

| role | may |
|---|---|
| viewer | look: states, plans, rows, figures |
| operator | also start, stop, pause and resume what needs no approval, send and delete rows, write checkpoints |
| approver | also approve and reject plans, and roll back |
| admin | also make, change, clear and delete pipelines |

Without a file of tokens there is one caller, the user whose process this is, who may do everything; and then the service
listens on this machine alone. What a request needs is told by its method and path; one that is not known needs an admin.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.rest.work import is_change

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_LOOKS: Final = re.compile(r"/v0/(validate_program|pipelines/[^/]+/(diff|egress/[^/]+))")
_DECIDES: Final = re.compile(r"/(v0|console)/pipelines/[^/]+/(approve|reject|rollback)")
_MAKES: Final = re.compile(r"/v0/pipelines|/v0/pipelines/[^/]+(/clear|/update_runtime|/testing)?")
_OPERATES: Final = re.compile(r"/(v0|console)/pipelines/[^/]+/.+")


class Role(IntEnum):
    """See the module; each may do what those before it may."""

    VIEWER = 1
    OPERATOR = 2
    APPROVER = 3
    ADMIN = 4


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who may ask: what stands in records of him, and what he may do."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Callers:
    """The callers by the SHA-256 of their tokens. None at all: everybody is `alone`."""

    alone: Caller
    by_digest: Mapping[str, Caller]

    def known(self, token: str | None) -> Caller | None:
        """The caller with a token. None: nobody has it."""
        if not self.by_digest:
            return self.alone
        given = hashlib.sha256((token or "").encode()).hexdigest()
        found = None
        for digest, caller in self.by_digest.items():
            # Of all, so that time tells nothing.
            if hmac.compare_digest(digest, given):
                found = caller
        return found


asking: ContextVar[str] = ContextVar("asking", default="")
"""The name of who asks, while a request is answered."""

role_of_asking: ContextVar[Role] = ContextVar("role_of_asking", default=Role.ADMIN)
"""What who asks may do, while a request is answered."""


def callers_of(user: str, token: str, file: Path | None) -> Callers:
    """The callers that a file of tokens names, and whoever knows `token`, who is the user himself. Raises ReconcileError
    (U864)."""
    found: dict[str, Caller] = {}
    if token:
        found[hashlib.sha256(token.encode()).hexdigest()] = Caller(user, Role.ADMIN)
    if file is not None:
        for entry in _entries(file):
            found[_text(file, entry, "sha256")] = Caller(_text(file, entry, "name"), _role(file, entry))
    return Callers(Caller(user, Role.ADMIN), found)


def needed(method: str, path: str, query: Mapping[str, str]) -> Role:
    """What a request needs."""
    if method in ("GET", "HEAD"):
        # The client sends statements so.
        return Role.OPERATOR if path.endswith("/query") and is_change(query.get("sql", "")) else Role.VIEWER
    if method != "POST":
        return Role.ADMIN
    if _LOOKS.fullmatch(path):
        return Role.VIEWER
    if _DECIDES.fullmatch(path) or (path.endswith("/start") and query.get("bootstrap_policy") == "allow"):
        return Role.APPROVER
    if _MAKES.fullmatch(path):
        return Role.ADMIN
    return Role.OPERATOR if _OPERATES.fullmatch(path) else Role.ADMIN


def may_do(act: str) -> bool:
    """Whether who asks may do that in the console with a pipeline."""
    return role_of_asking.get() >= needed("POST", f"/console/pipelines/one/{act}", {})


def _entries(file: Path) -> Sequence[Any]:
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise _unfit(file, f"it can't be read: {error}") from error
    if not isinstance(found, list) or not found:
        raise _unfit(file, "it is no list of callers")
    return found


def _text(file: Path, entry: Any, name: str) -> str:
    value = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(value, str) or not value.strip() or (name == "sha256" and not _SHA256.fullmatch(value)):
        raise _unfit(file, f"a caller has no {name} that can be used")
    return value.strip()


def _role(file: Path, entry: Mapping[str, Any]) -> Role:
    try:
        return Role[str(entry.get("role")).upper()]
    except KeyError:
        raise _unfit(file, f"{entry.get('role')!r} is none of: viewer, operator, approver, admin") from None


def _unfit(file: Path, why: str) -> ReconcileError:
    hint = "a caller is: {name: ann, role: approver, sha256: …}, with the SHA-256 of a token"
    return ReconcileError("U864", f"the file of tokens {file}: {why}", hint)
