"""What the shell asks of a registry. Two implementations share the tests in tests/registry: `delta` and `memory`.

Compare-and-set: `replace_*` succeeds only if the token is that of the newest document (None: there is none yet), else
RegistryConflict and nothing is written. `write_id` makes a repeated call after a lost answer succeed.
Histories are appended once per batch id and never changed. A column that came later is empty in rows from before. Those in
SERIAL are written by whoever holds the lease, one row after the other, each with a number that only rises instead of a batch
id: they may become long, and cost the same then.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from reconciler.base.digest import JsonObject
    from reconciler.registry.home import Home
    from reconciler.registry.model import Head, Stored

Value = TypeVar("Value")


class History(StrEnum):
    """The histories of a pipeline; each row is a record of texts (columns in `HISTORY_COLUMNS`)."""

    APPLIES = "applies"
    JOURNAL = "journal"
    APPROVALS = "approvals"
    REJECTIONS = "rejections"
    AUDIT = "audit"
    STEPS = "steps"
    EVENTS = "events"
    CHECKPOINTS = "checkpoints"
    VERSIONS = "versions"
    ACTIVATIONS = "activations"
    RENAMES = "renames"
    PRUNES = "prunes"


NUMBERS = frozenset({"step", "number", "epoch"})
"""The columns that `last_rows` takes for whole numbers; all others are texts."""

HISTORY_COLUMNS: Mapping[History, tuple[str, ...]] = {
    History.APPLIES: (
        "apply_id",
        "digest",
        "record",
        "plan_digest",
        "at",
        "by",
        "commit",
        "approval",
        "reconciler",
        "summary",
    ),
    History.JOURNAL: ("apply_id", "entry", "step", "intent", "result", "at"),
    # `lifts`: the ids of rejections that it takes back or overrules, as JSON; empty where there are none.
    History.APPROVALS: ("plan_digest", "environment", "by", "at", "comment", "lifts"),
    History.REJECTIONS: ("rejection_id", "plan_digest", "environment", "by", "at", "reason"),
    History.AUDIT: ("event", "at", "by", "details"),
    # `relations` and `positions` as JSON: those that moved in this step, or all of them where `whole` is "true". `told` is
    # what else is told of the step, as JSON: empty in rows of versions that told nothing.
    History.STEPS: ("step", "at", "kind", "record", "epoch", "whole", "relations", "positions", "told"),
    History.EVENTS: ("at", "event", "subject", "step", "details"),
    History.CHECKPOINTS: ("name", "at", "step", "record", "cause", "relations", "positions", "outputs"),
    # One row a version of an object, written once: what it is, and what brought it. `step` is that of its first switch.
    History.VERSIONS: (
        "object",
        "number",
        "name",
        "at",
        "step",
        "by",
        "commit",
        "author",
        "approval",
        "approved_by",
        "plan_digest",
        "apply_id",
        "reconciler",
        "fingerprint",
        "definition",
        "content",
    ),
    # From which step on which version of an object was active; the number is empty from when it was no more.
    History.ACTIVATIONS: ("object", "number", "name", "at", "step", "by", "commit", "apply_id"),
    # From which step on an object had another name, or columns of a table had: `columns` as JSON (`ObjectVersions.columns`).
    History.RENAMES: ("object", "name", "columns", "at", "step", "apply_id"),
    # What may be gone of all steps up to `step`. `what` is "version": the rows of a version of an object; or "folder": all
    # Delta versions of a folder but those from `since` on and `versions` (JSON). `retention` is what asked for it, in words.
    History.PRUNES: (
        "prune_id",
        "at",
        "by",
        "step",
        "what",
        "object",
        "number",
        "name",
        "location",
        "since",
        "versions",
        "retention",
    ),
}


class Glance(NamedTuple):
    """The little of a head that says whether anything changed since the last apply: the record of what is applied (None:
    nothing is), the digest of the plan applied last, and whether an apply is open; `reads` are the pipelines that what is
    published was computed from. `home` and `commit` are those of what is applied. `has_staged`: something is staged beside
    it. `stands` has of what is published the folder below the warehouse, the Delta version, and the table's id, if known."""

    record: str | None
    follows: str | None
    is_open: bool
    reads: tuple[str, ...] = ()
    home: "Home | None" = None
    commit: str = ""
    has_staged: bool = False
    stands: tuple[tuple[str, int, str | None], ...] = ()


class Registry(Protocol):
    """See the module. Every method raises RegistryError when the registry can't be read or written."""

    def pipelines(self) -> tuple[str, ...]:
        """The names of all pipelines that were ever applied, sorted."""
        ...

    def head(self, pipeline: str) -> "Stored[Head] | None":
        """The head, or None when the pipeline was never applied."""
        ...

    def glance(self, pipeline: str) -> Glance | None:
        """A glance at the head, or None when the pipeline was never applied."""
        ...

    def replace_head(self, token: int | None, head: "Head", write_id: str) -> "Stored[Head]":
        """Compare-and-set of the head."""
        ...

    def document(self, pipeline: str, kind: type[Value]) -> "Stored[Value] | None":
        """The document of that kind beside the head (`codec.DOCUMENTS`), or None when nobody ever wrote one."""
        ...

    def replace_document(self, pipeline: str, token: int | None, document: Value, write_id: str) -> "Stored[Value]":
        """Compare-and-set of a document beside the head."""
        ...

    def report(self, pipeline: str) -> "JsonObject | None":
        """What the last run told of itself, or None when none ever did."""
        ...

    def replace_report(self, pipeline: str, report: "JsonObject") -> None:
        """Tell of a run. The last to write wins: only who holds the lease should."""
        ...

    def update_report(self, pipeline: str, change: "Callable[[JsonObject | None], JsonObject | None]") -> None:
        """Have what `change` makes of the report (None: it stays) in its place. What others write meanwhile is not lost:
        then `change` is asked again, of what they wrote. Raises RegistryConflict where somebody is always faster."""
        ...

    def snapshot(self, pipeline: str, record: str) -> tuple[Mapping[str, Any], ...]:
        """The stored definitions of that record: {kind, name, definition}, sorted by kind and name. Raises RegistryError
        when they are not there, or are not those whose canonical JSON has that digest."""
        ...

    def write_snapshot(self, pipeline: str, record: str, objects: Sequence[Mapping[str, Any]]) -> None:
        """Store definitions under their record digest; a repeat is no change."""
        ...

    def record(self, history: History, pipeline: str, rows: Sequence[Mapping[str, str]], batch: str) -> None:
        """Append rows to a history, once per batch id."""
        ...

    def append(self, history: History, pipeline: str, rows: Sequence[Mapping[str, str]], serial: int | None) -> None:
        """Append rows to a history in SERIAL, unless it has that serial or a later one. None: without that check, so that a
        repeat appends again."""
        ...

    def history(self, history: History, pipeline: str, **equal: str) -> tuple[Mapping[str, Any], ...]:
        """Rows whose columns equal the given texts, sorted by time where there is one."""
        ...

    def last_rows(
        self,
        history: History,
        pipeline: str,
        columns: Sequence[str],
        by: str,
        limit: int | None,
        between: tuple[int, int] | None = None,
        **equal: str,
    ) -> tuple[Mapping[str, Any], ...]:
        """Of the rows whose columns equal the given texts the last ones by a column of NUMBERS, or by `at`, in their order,
        and of them these columns; with `between` only those whose number is one of the two or lies between them. Who asks
        for few rows out of many pays for those."""
        ...
