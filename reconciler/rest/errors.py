"""What the client is told of an error: a status of HTTP, a code that it may look at, a message for people, details.
Credentials in messages are masked, as commands mask them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import render_diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.errors import LeaseHeld, ManifestInvalid, NotFound, ReconcileError, RegistryError
from reconciler.base.secrets.known_values import without_secrets
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.delta.opening import NOTHING_DAMAGED

UNKNOWN_PIPELINE: Final = "UnknownPipelineName"
"""The client looks at this code: to it, a pipeline is not there."""
_PASSES: Final = frozenset({"G603", "G604"})
_NO_PIPELINE: Final = "U812"
COME_AGAIN_SECONDS: Final = "5"
"""The client comes again three times: that is as long as with the waits that it chooses by itself."""


@dataclass(frozen=True, slots=True)
class Told:
    """An error as it is sent."""

    status: int
    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def headers(self) -> Mapping[str, str]:
        """When to come again, where that helps."""
        return {"Retry-After": COME_AGAIN_SECONDS} if self.status == 503 else {}

    def to_json(self) -> JsonObject:
        """The body of the answer."""
        return {"message": self.message, "error_code": self.code, "details": dict(self.details)}


class Refused(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        self.told = Told(status, code, message, details or {})
        super().__init__(message)


def no_such_pipeline(name: str) -> Refused:
    """404, in the client's words."""
    return Refused(404, UNKNOWN_PIPELINE, f"Unknown pipeline name '{name}'", {"pipeline_name": name})


def told_of(error: ReconcileError) -> Told:
    """An error of reconciler. Its permanent code is the code, and stands before the message, where people look for it."""
    details: dict[str, Any] = {"hint": error.hint} if error.hint else {}
    message = masked_in_code(f"{error.code}: {error.message}")[0]
    match error:
        case NotFound(code="U812"):
            return Told(404, UNKNOWN_PIPELINE, message, details)
        case ManifestInvalid(diagnostics=diagnostics):
            return Told(400, error.code, masked_in_code("\n".join(map(render_diagnostic, diagnostics)))[0], details)
        case NotFound(code="A506"):
            return Told(404, error.code, message, {"hint": "start the pipeline: that applies it"})
        case LeaseHeld():
            return Told(409, error.code, message, details)
        case NotFound():
            return Told(404, error.code, message, details)
    return Told(400, error.code, message + (f" ({error.hint})" if error.hint else ""), details)


def told_of_any(error: Exception) -> Told:
    """Whatever was raised."""
    match error:
        case Refused(told=told):
            return told
        case ReconcileError():
            return told_of(error)
    words = without_secrets((str(error).splitlines() or [""])[0])
    return Told(500, "U890", masked_in_code(f"U890: unexpected error: {type(error).__name__}: {words}")[0])


def may_pass(error: Exception) -> bool:
    """Whether an error may be gone in a moment: the registry was out of reach, or somebody else wrote meanwhile."""
    if not isinstance(error, RegistryError):
        return False
    return error.code in _PASSES or (error.hint or "").startswith(NOTHING_DAMAGED)
