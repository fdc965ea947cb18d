"""Exceptions: what a caller could not have prevented by writing better files.

One small tree. Each carries a permanent code (see docs/errors.md), a message for people and, where there is one, the
next thing to do. The command line turns them into a line on stderr and an exit code; nothing else catches them broadly.
"""

from collections.abc import Sequence
from typing import Literal

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.secrets.known_values import without_secrets

EXIT_DONE = 0
EXIT_ERROR = 1
EXIT_PENDING = 2
EXIT_INTERRUPTED = 130


class ReconcileError(Exception):
    """The root. `exit_code` is the process's when this reaches the command line. Its message holds no secret that this
    process has resolved, whoever's words are in it: it is shown, and stands in events and reports that others read."""

    exit_code = EXIT_ERROR

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        self.code = code
        self.message = without_secrets(message)
        self.hint = None if hint is None else without_secrets(hint)
        super().__init__(self.message)


class ManifestInvalid(ReconcileError):
    """The files of a pipeline have errors; all of them are in `diagnostics`."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("M100", f"{len(diagnostics)} problem(s) in the pipeline's files", "run: reconcile validate")
        self.diagnostics = tuple(diagnostics)


class NotFound(ReconcileError):
    """A pipeline, relation or file that was asked for does not exist."""


class RegistryError(ReconcileError):
    """The registry can't be read, is newer than this version, or is damaged. Never read as 'nothing was applied'."""


class RegistryConflict(RegistryError):
    """Somebody else wrote first; nothing of ours was written."""


class LeaseHeld(ReconcileError):
    """Another process applies or runs this pipeline."""


class ApprovalRequired(ReconcileError):
    """The plan needs an approval that is missing, stale or for another plan. Nothing was touched."""

    exit_code = EXIT_PENDING


class PlanRejected(ReconcileError):
    """`bootstrap_policy: reject` and the plan modifies something. Nothing was touched."""


class UpstreamDiffers(ReconcileError):
    """Another pipeline, which this one reads, is not what the plan was made for: it is to be applied first. Nothing was
    touched."""

    exit_code = EXIT_PENDING


@dataclass(frozen=True, slots=True)
class Declared:
    """What an error is about, where that stands in a pipeline's files: a view or a function, by name."""

    kind: Literal["view", "function"]
    name: str


class EngineError(ReconcileError):
    """Spark refused or failed. The journal keeps what was done; applying again goes on from there. `about` is for whoever
    knows where it is declared (`workspace.declared`)."""

    def __init__(self, code: str, message: str, hint: str | None = None, about: Declared | None = None) -> None:
        super().__init__(code, message, hint)
        self.about = about


class RowsNotFound(EngineError):
    """Rows that a view needs were not found by their keys, and to read all would cost more than its query: that is to be
    asked."""


class IngestFailed(EngineError):
    """The engine could not read a connector's input or write it to its table. `connector` is its qualified name."""

    def __init__(self, connector: str, error: EngineError) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.connector = connector


class AnotherEmission(EngineError):
    """A sink has got an emission of this output that its head knows nothing of. `serial` is the highest number that the sink
    was found to have of the output."""

    def __init__(self, message: str, serial: int) -> None:
        super().__init__("X756", message)
        self.serial = serial


class SetUpMissing(ReconcileError):
    """The machine lacks something (Java, jars); the message names it."""
