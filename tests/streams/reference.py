"""What stateful transformations give, one row at a time: plain Python, written from the rules and not from the SQL.

A machine takes the steps of a history in turn. It looks at one row after the other, and keeps what it remembers in
dictionaries by key. Times and watermarks are microseconds; a watermark that is None has passed nothing. Rows are
dictionaries; the event time is in the column `ts`, None where there is none.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    Count,
    CountTrigger,
    Custom,
    Deduplicate,
    Hopping,
    Matches,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Stateful,
    Tumbling,
    WindowClose,
)

Row = dict[str, Any]
Key = tuple[Any, ...]

NEVER = float("-inf")


def _distinct(rows: Sequence[Row]) -> int:
    return len({row["v"] for row in rows} - {None})


def _sum(rows: Sequence[Row]) -> int | None:
    found = [row["v"] for row in rows if row["v"] is not None]
    return sum(found) if found else None


def _mean(rows: Sequence[Row]) -> float | None:
    found = [row["v"] for row in rows if row["v"] is not None]
    return sum(found) / len(found) if found else None


def _greatest(rows: Sequence[Row]) -> int | None:
    return max((row["v"] for row in rows if row["v"] is not None), default=None)


def _all_values(rows: Sequence[Row]) -> str:
    return ",".join(map(str, sorted(-1 if row["v"] is None else row["v"] for row in rows)))


AGGREGATES: dict[str, Callable[[Sequence[Row]], Any]] = {
    "count(*)": len,
    "sum(v)": _sum,
    "avg(v)": _mean,
    "max(v)": _greatest,
    "first(v)": lambda rows: rows[0]["v"],
    "count(*) FILTER (WHERE v > 2)": lambda rows: sum(1 for row in rows if row["v"] is not None and row["v"] > 2),
    "count(DISTINCT v)": _distinct,
    "count_if(reading = 'hot')": lambda rows: sum(1 for row in rows if row["reading"] == "hot"),
    "array_join(sort_array(collect_list(coalesce(v, -1))), ',')": _all_values,
}
"""What the aggregates of tests mean."""


@dataclass
class Given:
    """What a step gives: rows as tuples in the order in which they are given, and how many rows were late."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    late: int = 0


class Machine(Protocol):
    """A transformation that remembers. `before` and `after` are the watermarks of the step."""

    def step(self, inputs: Sequence[Sequence[Row]], before: int | None, after: int | None) -> Given: ...

    def remembered(self) -> int:
        """How many rows the state has."""


def machine(of: Stateful) -> Machine:
    """A transformation that has not begun."""
    match of:
        case AggregateOverWindow(window=Tumbling() | Hopping()):
            return TimeWindows(of)
        case AggregateOverWindow(window=Session()):
            return Sessions(of)
        case AggregateOverWindow():
            return CountWindows(of)
        case OuterCachingJoin():
            return CachingJoin(of)
        case RunningAggregate():
            return Running(of)
        case Sort():
            return Sorting()
        case Deduplicate():
            return Deduplicating(of)
        case Previous():
            return LookingBack(of)
        case Custom():
            return Following(of)


def going_on(before: Machine, of: Stateful) -> Machine:
    """What goes on with another definition from what a machine remembers."""
    after = machine(of)
    for name in {"seen", "panes", "kept", "cached", "came"} & vars(before).keys():
        setattr(after, name, getattr(before, name))
    return after


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of one step: by event time, then by all columns in turn, nothing first."""
    return sorted(rows, key=lambda row: (_ordered(row["ts"]), *map(_ordered, row.values())))


def _ordered(value: Any) -> tuple[bool, Any]:
    return (value is not None, 0 if value is None else value)


def _key(row: Row, keys: Sequence[str]) -> Key:
    return tuple(row[name] for name in keys)


def _time(watermark: int | None) -> float:
    return NEVER if watermark is None else watermark


def _aggregated(of: AggregateOverWindow | RunningAggregate, rows: Sequence[Row]) -> tuple[Any, ...]:
    return tuple(AGGREGATES[expression](rows) for _, expression in of.aggregates)


@dataclass
class _Pane:
    """A window of a key: its rows, those of them that were not given yet, and how many came in either phase."""

    rows: list[Row] = field(default_factory=list)
    unfired: list[Row] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"early": 0, "late": 0, "count": 0, "close": 0})


class TimeWindows:
    def __init__(self, of: AggregateOverWindow) -> None:
        assert isinstance(of.window, Tumbling | Hopping)
        self.of, self.size = of, of.window.size
        self.every = of.window.every if isinstance(of.window, Hopping) else of.window.size
        self.panes: dict[tuple[Key, int], _Pane] = {}
        self.kept: list[Row] = []

    def step(self, inputs: Sequence[Sequence[Row]], before: int | None, after: int | None) -> Given:
        given = Given()
        for row in in_order(inputs[0]):
            open_ends = (
                [] if row["ts"] is None else [end for end in self.ends(row["ts"]) if _time(before) < self.closes(end)]
            )
            if not open_ends:
                given.late += 1
                continue
            self.kept.append(row)
            for end in open_ends:
                self.take(row, end, _time(before) >= end, given)
        for (key, end), pane in sorted(self.panes.items(), key=lambda one: (one[0][1], repr(one[0][0]))):
            # Where only what is new is given, there may be nothing.
            has_more = bool(pane.unfired) or self.of.accumulation is Accumulation.ACCUMULATING
            if isinstance(self.of.trigger, AfterWatermark) and _time(before) < end <= _time(after) and has_more:
                self.fire(key, end, pane, "on_time", given)
            if self.closes(end) <= _time(after):
                if isinstance(self.of.trigger, WindowClose):
                    self.fire(key, end, pane, "close", given)
                del self.panes[key, end]
        self.kept = [row for row in self.kept if any(self.closes(end) > _time(after) for end in self.ends(row["ts"]))]
        return given

    def ends(self, time: int) -> list[int]:
        """The ends of the windows that a time is in: all windows that could be are tried."""
        nearest = time // self.every * self.every
        starts = [nearest - self.every * back for back in range(self.size // self.every + 2)]
        return sorted(start + self.size for start in starts if start <= time < start + self.size)

    def closes(self, end: int) -> int:
        return end + self.of.allowed_lateness

    def take(self, row: Row, end: int, comes_late: bool, given: Given) -> None:
        key = _key(row, self.of.keys)
        pane = self.panes.setdefault((key, end), _Pane())
        pane.rows.append(row)
        pane.unfired.append(row)
        phase, every = _phase(self.of, comes_late)
        pane.counts[phase] += 1
        if every is not None and pane.counts[phase] % every == 0:
            self.fire(key, end, pane, phase, given)

    def fire(self, key: Key, end: int, pane: _Pane, why: str, given: Given) -> None:
        rows = pane.rows if self.of.accumulation is Accumulation.ACCUMULATING else pane.unfired
        rows = pane.rows if why == "close" else rows
        given.rows.append((*key, end - self.size, end, *_aggregated(self.of, rows), why, end - 1))
        pane.unfired = []

    def remembered(self) -> int:
        return len(self.kept)

    def windows(self) -> int:
        """How many are open."""
        return len(self.panes)


def _phase(of: AggregateOverWindow, comes_late: bool) -> tuple[str, int | None]:
    """What a row's firing would be called, and with which rows of that kind it happens (None: with none)."""
    if isinstance(of.trigger, CountTrigger):
        return "count", of.trigger.rows
    if isinstance(of.trigger, WindowClose):
        return "close", None
    counting = of.trigger.late if comes_late else of.trigger.early
    return ("late" if comes_late else "early"), None if counting is None else counting.rows


@dataclass
class _Session:
    """Rows that are remembered, those of them with which the session has not fired since, and those that come in this
    step."""

    rows: list[Row]
    unfired: list[Row]
    came: list[Row]

    def times(self) -> list[int]:
        return [row["ts"] for row in (*self.rows, *self.came)]


class Sessions:
    def __init__(self, of: AggregateOverWindow) -> None:
        assert isinstance(of.window, Session)
        self.of, self.gap = of, of.window.gap
        self.sessions: dict[Key, list[_Session]] = {}

    def step(self, inputs: Sequence[Sequence[Row]], before: int | None, after: int | None) -> Given:
        given = Given(late=sum(1 for row in inputs[0] if row["ts"] is None))
        for row in inputs[0]:
            if row["ts"] is not None:
                self.put(_key(row, self.of.keys), row)
        for key in sorted(self.sessions, key=repr):
            remaining = []
            for session in sorted(self.sessions[key], key=lambda one: min(one.times())):
                if self.is_closed(max(session.times()), before):
                    given.late += len(session.came)
                    continue
                self.take(key, session, before, after, given)
                if not self.is_closed(max(session.times()), after):
                    remaining.append(session)
            self.sessions[key] = remaining
        return given

    def is_closed(self, last: int, watermark: int | None) -> bool:
        return _time(watermark) > last + self.gap + self.of.allowed_lateness

    def put(self, key: Key, row: Row) -> None:
        """The row joins all sessions that it is near enough to, and makes them one."""
        joined = _Session([], [], [row])
        apart = []
        for session in self.sessions.get(key, []):
            times = session.times()
            if min(times) - self.gap <= row["ts"] <= max(times) + self.gap:
                joined = _Session(joined.rows + session.rows, joined.unfired + session.unfired, joined.came + session.came)
            else:
                apart.append(session)
        self.sessions[key] = [*apart, joined]

    def take(self, key: Key, session: _Session, before: int | None, after: int | None, given: Given) -> None:
        waiting = in_order(session.came)
        session.came = []
        for row in waiting:
            session.rows.append(row)
            session.unfired.append(row)
            end = max(session.times()) + self.gap
            why, every = _phase(self.of, _time(before) > end)
            if every is not None and len(session.unfired) >= every:
                self.fire(key, session, why, given)
        end = max(session.times()) + self.gap
        has_more = bool(session.unfired) or self.of.accumulation is Accumulation.ACCUMULATING
        if isinstance(self.of.trigger, AfterWatermark) and _time(before) <= end < _time(after) and has_more:
            self.fire(key, session, "on_time", given)
        if isinstance(self.of.trigger, WindowClose) and self.is_closed(max(session.times()), after):
            self.fire(key, session, "close", given)

    def fire(self, key: Key, session: _Session, why: str, given: Given) -> None:
        accumulating = self.of.accumulation is Accumulation.ACCUMULATING or why == "close"
        times = session.times()
        rows = session.rows if accumulating else session.unfired
        end = max(times) + self.gap
        given.rows.append((*key, min(times), end, *_aggregated(self.of, rows), why, end))
        session.unfired = []

    def remembered(self) -> int:
        return sum(len(session.rows) for sessions in self.sessions.values() for session in sessions)

    def windows(self) -> int:
        """How many are open."""
        return sum(map(len, self.sessions.values()))


@dataclass
class _Seen:
    """What is remembered of a key."""

    rows: list[Row] = field(default_factory=list)
    last: int = 0
    count: int = 0
    fired: int = 0


class _ByKey:
    """Keys that are forgotten once the watermark has passed their last event time by more than the expiry."""

    def __init__(self, keys: tuple[str, ...], expiry: int) -> None:
        self.keys, self.expiry = keys, expiry
        self.seen: dict[Key, _Seen] = {}

    def step(self, inputs: Sequence[Sequence[Row]], before: int | None, after: int | None) -> Given:
        given = Given()
        for row in in_order(inputs[0]):
            if row["ts"] is None or row["ts"] < _time(before) - self.expiry:
                given.late += 1
                continue
            key = _key(row, self.keys)
            is_new = key not in self.seen
            seen = self.seen.setdefault(key, _Seen(last=row["ts"]))
            seen.last = max(seen.last, row["ts"])
            seen.count += 1
            self.take(key, row, seen, is_new, given)
        self.seen = {key: seen for key, seen in self.seen.items() if not _time(after) > seen.last + self.expiry}
        return given

    def take(self, key: Key, row: Row, seen: _Seen, is_new: bool, given: Given) -> None:
        raise NotImplementedError

    def remembered(self) -> int:
        return len(self.seen)


class CountWindows(_ByKey):
    def __init__(self, of: AggregateOverWindow) -> None:
        super().__init__(of.keys, of.expiry or 0)
        assert isinstance(of.window, Count)
        assert isinstance(of.trigger, CountTrigger)
        self.of, self.size, self.every = of, of.window.rows, of.trigger.rows

    def take(self, key: Key, row: Row, seen: _Seen, is_new: bool, given: Given) -> None:
        seen.rows = [*seen.rows, row][-self.size :]
        if seen.count % self.every == 0:
            since = seen.count - seen.fired
            rows = seen.rows[-since:] if self.of.accumulation is Accumulation.DISCARDING else seen.rows
            given.rows.append((*key, *_aggregated(self.of, rows), "count", row["ts"]))
            seen.fired = seen.count

    def remembered(self) -> int:
        return sum(min(seen.count, max(self.size - 1, 1)) for seen in self.seen.values())


class Running(_ByKey):
    def __init__(self, of: RunningAggregate) -> None:
        super().__init__(of.keys, of.expiry)
        self.of = of

    def take(self, key: Key, row: Row, seen: _Seen, is_new: bool, given: Given) -> None:
        seen.rows.append(row)
        given.rows.append((*row.values(), *_aggregated(self.of, seen.rows)))


class Following(_ByKey):
    """What the function of `histories.FOLLOW` makes of rows: it gives those of great value, with their number."""

    def __init__(self, of: Custom) -> None:
        super().__init__(of.keys, of.expiry)

    def take(self, key: Key, row: Row, seen: _Seen, is_new: bool, given: Given) -> None:
        if row["v"] is not None and row["v"] > 2:
            seen.fired += 1
            given.rows.append((*key, row["ts"], row["v"], seen.fired))


class Deduplicating(_ByKey):
    def __init__(self, of: Deduplicate) -> None:
        super().__init__(of.keys, of.expiry)

    def take(self, key: Key, row: Row, seen: _Seen, is_new: bool, given: Given) -> None:
        if is_new:
            given.rows.append(tuple(row.values()))


class LookingBack(_ByKey):
    def __init__(self, of: Previous) -> None:
        super().__init__(of.keys, of.expiry)
        self.of = of

    def take(self, key: Key, row: Row, seen: _Seen, is_new: bool, given: Given) -> None:
        before = seen.rows[-self.of.offset] if len(seen.rows) >= self.of.offset else None
        given.rows.append((*row.values(), *(before[name] if before else None for _, name in self.of.columns)))
        seen.rows.append(row)

    def remembered(self) -> int:
        return sum(min(seen.count, self.of.offset) for seen in self.seen.values())


class Sorting:
    def __init__(self) -> None:
        self.waiting: list[Row] = []

    def step(self, inputs: Sequence[Sequence[Row]], before: int | None, after: int | None) -> Given:
        given = Given()
        for row in in_order(inputs[0]):
            if row["ts"] is None or row["ts"] < _time(before):
                given.late += 1
                given.rows.append(tuple(row.values()))
            else:
                self.waiting.append(row)
        ready = [row for row in self.waiting if row["ts"] < _time(after)]
        self.waiting = [row for row in self.waiting if row["ts"] >= _time(after)]
        given.rows += [tuple(row.values()) for row in in_order(ready)]
        return given

    def remembered(self) -> int:
        return len(self.waiting)


@dataclass
class _Cached:
    """A row that waits for others, and whether it found one."""

    side: int
    row: Row
    came: int
    matched: bool = False


class CachingJoin:
    def __init__(self, of: OuterCachingJoin) -> None:
        self.of = of
        self.cached: list[_Cached] = []
        self.came = 0

    def step(self, inputs: Sequence[Sequence[Row]], before: int | None, after: int | None) -> Given:
        given = Given()
        coming = [(row, side) for side, rows in enumerate(inputs) for row in in_order(rows)]
        # Rows of the left come before those of the right that have their event time; those of one side are in order.
        for row, side in sorted(coming, key=lambda one: (_ordered(one[0]["ts"]), one[1])):
            if row["ts"] is None or row["ts"] + self.of.expiry < _time(before):
                given.late += 1
                continue
            self.came += 1
            self.take(_Cached(side, row, self.came), given)
        remaining = []
        for one in self.cached:
            if one.row["ts"] + self.of.expiry >= _time(after):
                remaining.append(one)
            elif not one.matched:
                self.give(one, None, given)
        self.cached = remaining
        return given

    def take(self, new: _Cached, given: Given) -> None:
        found = [other for other in self.cached if self.fits(new, other)]
        if found and self.of.matches is Matches.LATEST:
            found = [max(found, key=lambda other: (other.row["ts"], other.came))]
        for other in found:
            new.matched = other.matched = True
            self.give(new, other, given)
        self.cached.append(new)

    def fits(self, new: _Cached, other: _Cached) -> bool:
        keys, others = _key(new.row, self.of.keys), _key(other.row, self.of.keys)
        near = abs(new.row["ts"] - other.row["ts"]) <= self.of.expiry
        return new.side != other.side and None not in keys and keys == others and near

    def give(self, one: _Cached, other: _Cached | None, given: Given) -> None:
        sides: list[Row | None] = [None, None]
        for cached in (one, other):
            if cached is not None:
                sides[cached.side] = cached.row
        names = [name for name in one.row if name not in self.of.keys]
        values = [None if row is None else row[name] for row in sides for name in names]
        time = max(cached.row["ts"] for cached in (one, other) if cached is not None)
        given.rows.append((*_key(one.row, self.of.keys), *values, time))

    def remembered(self) -> int:
        return len(self.cached)
