"""The report of a run: what it does right now, in one small document that `status` shows.

Only the run writes it, at most once a second and when its state changes, and only when something in it is new: an idle
run writes nothing. What is in it: the run's process and state; of each connector what it does and why, rows in all and per
second (over the last ten), the backlog by part of the input and since when it waits, how fresh it is, records rejected and
deletes that found nothing, fields that no column takes and fields that were missing, the last failure, and of an output the
last step that it was sent, which the head learns later; of the steps their number and their time by phase, how fresh they
are, and what of the last one was written without Spark. Counts go on from the report of the run before: they are those of
the connector's life, as long as it stays in the program. Whatever dies where, a report never says less of them than the one
before: until the program is known, what that one says of connectors is told again; and nothing is told before that one was
read. What a run that is killed published in its last second may not be
counted. A report that can't be written stops nothing.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError, RegistryError
from reconciler.base.moments import moment_of
from reconciler.base.names import fold
from reconciler.connectors.columns import field_of
from reconciler.project.program.model import Connector, Program
from reconciler.registry.protocol import Registry
from reconciler.run.emitting import EmissionResult
from reconciler.run.freshness import Freshness
from reconciler.run.orchestration import Activity, Decision
from reconciler.run.stepping import StepResult
from reconciler.sql.structures import paths, shape_of
from reconciler.state.failed_commands import error_to_json
from reconciler.state.lease import Holder
from reconciler.state.lifecycle import State

REPORT_FORM: Final = "reconciler/report/v1"
_COUNTS: Final = ("rows", "inserted", "deleted", "rejected", "unmatched", "late", "dropped", "batches", "without_spark")
MOST_FIELDS: Final = 100
RECOVERED_AT: Final = "recovered_at"
"""Of the last failure, since when the connector has worked again."""
OTHER_FIELDS: Final = "…"
"""Stands for the fields of a connector beyond so many."""
_WINDOW_SECONDS: Final = 10.0
_WRITE_EVERY_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Figures:
    """What is known of one connector. `recent` holds (start, end, rows) of the batches within the window."""

    name: str
    direction: str
    decision: Decision
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    backlog: Mapping[str, int] = field(default_factory=dict)
    error: JsonObject | None = None
    retry_at: str | None = None
    recent: deque[tuple[float, float, int]] = field(default_factory=deque)
    waiting_since: str | None = None
    freshness: float | None = None
    unknown: dict[str, int] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    sent_step: int | None = None


@dataclass(frozen=True, slots=True)
class NewFields:
    """Of the fields that a connector's records have without a column, and that they lack, those not told before."""

    unknown: tuple[str, ...]
    missing: tuple[str, ...]


class Reporter:
    """The report of one run of one pipeline; see the module."""

    def __init__(
        self,
        registry: Registry,
        pipeline: str,
        holder: Holder,
        *,
        once: bool,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._registry = registry
        self._pipeline = pipeline
        self._clock = clock
        self._now = now
        self._began = clock()
        self._written_at: float | None = None
        self._written: JsonObject = {}
        self._before: Mapping[str, Any] | None = None
        self._figures: dict[str, _Figures] | None = None
        self._phases: dict[str, float] = {}
        self._last_phases: dict[str, float] = {}
        self._freshness = Freshness()
        self._without_spark: set[str] = set()
        self._ways: dict[str, str] = {}
        self._steps = 0
        self._step: int | None = None
        self._error: JsonObject | None = None
        self._doing: JsonObject | None = None
        self._late: threading.Timer | None = None
        self._writing = threading.Lock()
        self._state = State.INITIALIZING
        self._since = self._text()
        self._read_before()
        self._run = {"process": holder.process, "host": holder.host, "once": once, "started_at": self._since}

    @property
    def state(self) -> State:
        return self._state

    def activity_before(self, key: str) -> Activity | None:
        """What a connector did when the run before told of it last."""
        told = (self._before or {}).get(key)
        known = told.get("activity") if isinstance(told, Mapping) else None
        return Activity(known) if known in list(Activity) else None

    def set_state(self, state: State) -> None:
        """Another state; written at once."""
        if state is not self._state:
            self._state, self._since = state, self._text()
        self.write(at_once=True)

    def set_program(self, program: Program, step: int | None) -> None:
        """The connectors that there are now. Those that stay keep their figures."""
        kept, self._step = self._figures or {}, step
        self._figures = {
            key: kept.get(key) or self._figures_of(key, connector.qualified_name, connector.direction.value)
            for key, connector in sorted(program.connectors.items())
        }
        for key, figures in self._figures.items():
            self._forget_fields(figures, program, program.connectors[key])

    def _of(self, key: str) -> _Figures:
        if self._figures is None:
            raise ValueError(f"nothing is known of {key} before the program is")
        return self._figures[key]

    def decided(self, decisions: Mapping[str, Decision]) -> None:
        """What each connector does now."""
        for key, decision in decisions.items():
            self._of(key).decision = decision

    def backlog(self, key: str, backlog: Mapping[str, int], since: str | None = None) -> None:
        """How much of an input waits to be read, and since when the oldest of it could be seen, if that is known."""
        figures = self._of(key)
        figures.backlog, figures.waiting_since = dict(sorted(backlog.items())), since

    def moved(self, key: str, seconds: float, **counts: int) -> None:
        """A batch that a connector moved, by what is counted of it."""
        figures, now = self._of(key), self._clock()
        for name, count in counts.items():
            figures.counts[name] += count
        figures.counts["batches"] += 1
        figures.recent.append((now - seconds, now, counts.get("rows", 0)))

    def found_fields(self, key: str, unknown: Mapping[str, int], missing: Iterable[str]) -> NewFields:
        """Fields without a column that came, in how many rows, and those that a header or schema lacked; which of both
        nobody was told of yet. More than MOST_FIELDS are counted as one, without their names."""
        figures, new = self._of(key), []
        for name, rows in sorted(unknown.items()):
            if name not in figures.unknown and len(figures.unknown) >= MOST_FIELDS:
                name = OTHER_FIELDS
            if name not in figures.unknown:
                new.append(name)
            figures.unknown[name] = figures.unknown.get(name, 0) + rows
        lacking = tuple(sorted(set(missing) - figures.missing))
        figures.missing |= set(lacking)
        return NewFields(tuple(new), lacking)

    def failed(self, key: str, error: ReconcileError, retry_at: datetime | None) -> None:
        """A connector failed; it stays in the report after it has recovered, with its time."""
        figures = self._of(key)
        figures.error = error_to_json(error, self._text())
        figures.retry_at = None if retry_at is None else moment_of(retry_at)

    def recovered(self, key: str) -> None:
        """A connector moved something, or looked for something without failing: whatever failed before, it works again."""
        figures = self._of(key)
        figures.retry_at = None
        if figures.error is not None and RECOVERED_AT not in figures.error:
            figures.error = {**figures.error, RECOVERED_AT: self._text()}

    def failing_as_a_whole(self, error: ReconcileError | None) -> None:
        """Why the run itself can't go on, or None when it can."""
        self._error = None if error is None else error_to_json(error, self._text())

    def doing(self, step: int, what: str, number: int, of: int) -> None:
        """A step comes to a part of it. Told when that takes long: nothing else is told until it is done."""
        self.done()
        self._doing = {"step": step, "what": what, "number": number, "of": of, "since": self._text()}
        self._late = threading.Timer(_WRITE_EVERY_SECONDS, self._write_doing, (self._doing,))
        self._late.daemon = True
        self._late.start()

    def done(self) -> None:
        """That part is not under way any more, however it ended."""
        with self._writing:
            self._doing = None
        if self._late is not None:
            self._late.cancel()

    def _write_doing(self, doing: JsonObject) -> None:
        with self._writing:
            if self._doing is doing:
                self._write(at_once=True)

    def stepped(self, result: StepResult) -> None:
        """A step was published."""
        self._steps += 1
        self._step, self._last_phases = result.step, dict(result.seconds)
        self._without_spark = set(result.without_spark)
        self._ways = dict(sorted(result.ways.items()))
        self._add(result.seconds)
        self._freshness.add(result.freshness)
        for name, seconds in result.freshness.items():
            figures = (self._figures or {}).get(fold(name))
            if figures is not None:
                # What is left of the backlog is told by the next look.
                figures.freshness, figures.waiting_since = seconds, None

    def sent(self, result: EmissionResult) -> None:
        """What an output was sent after the last step was published."""
        self._last_phases["emit"] = self._last_phases.get("emit", 0.0) + result.seconds
        self._add({"emit": result.seconds})
        self._of(fold(result.connector)).sent_step = result.step
        if result.without_spark:
            self._without_spark.add(result.connector)

    def write(self, *, at_once: bool = False) -> None:
        """Write the report, if there is something new and the last one is a second old."""
        with self._writing:
            self._write(at_once=at_once)

    def _write(self, *, at_once: bool) -> None:
        now = self._clock()
        if not at_once and self._written_at is not None and now - self._written_at < _WRITE_EVERY_SECONDS:
            return
        if not self._read_before():
            # What can't be read can't be gone on from; it is tried again with the next one.
            return
        report = self._report(now)
        if report == self._written:
            return
        # What can't be told stops nothing; the next one may succeed.
        with suppress(RegistryError, OSError):
            self._registry.replace_report(self._pipeline, {**report, "updated_at": self._text()})
            self._written, self._written_at = report, now

    def _add(self, phases: Mapping[str, float]) -> None:
        for name, seconds in phases.items():
            self._phases[name] = self._phases.get(name, 0.0) + seconds

    def _figures_of(self, key: str, name: str, direction: str) -> _Figures:
        figures = _Figures(name, direction, Decision(Activity.RUNNING))
        self._go_on(figures, (self._before or {}).get(key))
        return figures

    def _go_on(self, figures: _Figures, before: object) -> None:
        if isinstance(before, Mapping) and before.get("direction") == figures.direction:
            for part in _COUNTS:
                figures.counts[part] += int(before.get(part) or 0)
            figures.error = figures.error or before.get("last_error")
            if figures.freshness is None:
                figures.freshness = before.get("freshness")
            if figures.sent_step is None:
                figures.sent_step = before.get("sent_step")
            for field_, rows in (before.get("unknown_fields") or {}).items():
                figures.unknown[str(field_)] = figures.unknown.get(str(field_), 0) + int(rows)
            figures.missing |= set(before.get("missing_fields") or ())

    def _read_before(self) -> bool:
        """Read what the run before told of connectors, unless that is known; whether it is now."""
        if self._before is not None:
            return True
        try:
            found = (self._registry.report(self._pipeline) or {}).get("connectors")
        except (RegistryError, OSError):
            return False
        self._before = found if isinstance(found, Mapping) else {}
        for key, figures in (self._figures or {}).items():
            self._go_on(figures, self._before.get(key))
        return True

    def _forget_fields(self, figures: _Figures, program: Program, connector: Connector) -> None:
        """What is told of fields is of those that no column takes now, and of those that one takes: tables change."""
        table = program.tables.get(fold(connector.relation))
        if table is None:
            return
        fields = ((field_of(connector.settings, column.name), shape_of(column.type)) for column in table.columns)
        taken = {fold(path) for name, shape in fields for path in (name, *paths(shape, name))}
        figures.unknown = {name: rows for name, rows in figures.unknown.items() if fold(name) not in taken}
        figures.missing = {name for name in figures.missing if fold(name) in taken}

    def _report(self, now: float) -> JsonObject:
        averages = {name: round(seconds / self._steps, 3) for name, seconds in self._phases.items()} if self._steps else {}
        return {
            "form": REPORT_FORM,
            **self._run,
            "state": self._state.value,
            "since": self._since,
            "step": self._step,
            "steps": self._steps,
            "phases": {"last": _rounded(self._last_phases), "average": dict(sorted(averages.items()))},
            "freshness": self._freshness.to_json(),
            "without_spark": sorted(self._without_spark),
            "ways": self._ways,
            "error": self._error,
            "doing": self._doing,
            "connectors": self._connectors(now),
        }

    def _connectors(self, now: float) -> JsonObject:
        if self._figures is not None:
            return {key: self._connector(figures, now) for key, figures in self._figures.items()}
        nothing_moves = {"rows_per_second": 0.0, "retry_at": None}
        return {key: {**told, **nothing_moves} for key, told in (self._before or {}).items() if isinstance(told, Mapping)}

    def _connector(self, figures: _Figures, now: float) -> JsonObject:
        return {
            "name": figures.name,
            "direction": figures.direction,
            "activity": figures.decision.activity.value,
            "reason": figures.decision.reason,
            "rows_per_second": self._rate(figures, now),
            **figures.counts,
            "backlog": dict(figures.backlog),
            "waiting_since": figures.waiting_since,
            "freshness": figures.freshness,
            "unknown_fields": dict(sorted(figures.unknown.items())),
            "missing_fields": sorted(figures.missing),
            "last_error": figures.error,
            "retry_at": figures.retry_at,
            "sent_step": figures.sent_step,
        }

    def _rate(self, figures: _Figures, now: float) -> float:
        while figures.recent and figures.recent[0][1] < now - _WINDOW_SECONDS:
            figures.recent.popleft()
        if not figures.recent:
            return 0.0
        # A batch that took longer than the window counts for all the time that it took.
        span = max(now - figures.recent[0][0], min(_WINDOW_SECONDS, now - self._began), 1.0)
        return round(sum(rows for _, _, rows in figures.recent) / span, 1)

    def _text(self) -> str:
        return moment_of(self._now())


def _rounded(phases: Mapping[str, float]) -> dict[str, float]:
    return {name: round(seconds, 3) for name, seconds in sorted(phases.items())}
