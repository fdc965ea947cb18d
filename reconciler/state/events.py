"""The event log: what happened to a pipeline while it ran, in order, for people who ask later.

One row an event: when, what, of whom (a connector, or empty: the pipeline), at which step, and a few details as JSON. It is
told, not decided upon: a row that can't be written never fails a step. Rows of one writer never bear the same time, so
their order is that of what happened.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryError
from reconciler.base.secrets.known_values import without_secrets_within
from reconciler.registry.protocol import HISTORY_COLUMNS, History, Registry


class Event(StrEnum):
    """What can happen. The values are in the registry: they are permanent."""

    RUN_STARTED = "run started"
    RUN_STOPPED = "run stopped"
    RUN_FAILED = "run failed"
    PAUSED = "paused"
    RESUMED = "resumed"
    HANDED_OVER = "handed over"
    TAKEN_BACK = "taken back"
    STEP_PUBLISHED = "step published"
    STEP_REPLAYED = "step replayed"
    STEP_WITHDRAWN = "step withdrawn"
    CONNECTOR_STARTED = "connector started"
    CONNECTOR_ENDED = "connector reached its end"
    CONNECTOR_PAUSED = "connector paused"
    CONNECTOR_RESUMED = "connector resumed"
    CONNECTOR_FAILING = "connector failing"
    CONNECTOR_RECOVERED = "connector recovered"
    CONNECTOR_SOUGHT = "connector put at a position"
    FIELDS_UNKNOWN = "fields without a column"
    FIELDS_MISSING = "fields missing"
    EMITTED = "emission"
    CHECKPOINT = "checkpoint"
    APPLY_SWITCHED = "apply switched"
    APPLY_FAILED = "apply failed"
    RESTORE_FAILED = "restore failed"
    RESTORED = "checkpoint restored"
    PRUNED = "pruned"
    PRUNE_FAILED = "prune failed"


@dataclass(frozen=True, slots=True)
class Happened:
    """One event. `subject` is a connector's qualified name, or empty."""

    event: Event
    subject: str = ""
    step: int | None = None
    details: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One row of the log."""

    at: str
    event: str
    subject: str
    step: int | None
    details: JsonObject


class EventLog:
    """The log of one pipeline, as one process writes it."""

    def __init__(
        self,
        registry: Registry,
        pipeline: str,
        tell: Callable[[str], None] = lambda message: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._registry = registry
        self._pipeline = pipeline
        self._tell = tell
        self._now = now
        self._last: datetime | None = None

    def record(
        self, event: Event, subject: str = "", step: int | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        """Write one event."""
        self.record_all([Happened(event, subject, step, dict(details or {}))])

    def record_all(self, events: Iterable[Happened]) -> None:
        """Write events in their order, in one commit."""
        rows = [
            {
                "at": self._moment().isoformat(timespec="microseconds"),
                "event": one.event.value,
                "subject": one.subject,
                "step": "" if one.step is None else str(one.step),
                "details": canonical_json(without_secrets_within(one.details)),
            }
            for one in events
        ]
        if not rows:
            return
        try:
            self._registry.append(History.EVENTS, self._pipeline, rows, None)
        except (RegistryError, OSError) as error:
            self._tell(f"the event log can't be written: {error}")

    def _moment(self) -> datetime:
        moment = self._now()
        if self._last is not None and moment <= self._last:
            moment = self._last + timedelta(microseconds=1)
        self._last = moment
        return moment


def read_events(registry: Registry, pipeline: str, limit: int | None = None) -> tuple[LoggedEvent, ...]:
    """The last events, oldest first; all of them without a limit."""
    rows = registry.last_rows(History.EVENTS, pipeline, HISTORY_COLUMNS[History.EVENTS], "at", limit)
    return tuple(_logged(row) for row in rows)


def _logged(row: Mapping[str, Any]) -> LoggedEvent:
    step = int(row["step"]) if row["step"] else None
    return LoggedEvent(row["at"], row["event"], row["subject"], step, json.loads(row["details"]))
