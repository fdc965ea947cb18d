"""A stream's definition as pipeline.yaml says it → its transformation as a value.

A definition is a JSON object with one key, the kind of the transformation, under which its settings stand:

    {"deduplicate": {"input": "readings", "keys": ["id"], "expiry": "1d"}}

Rules:
- A duration is a whole number and its unit: 500ms, 90s, 5m, 1h, 30d. Values have microseconds.
- Settings with a default may be missing. The trigger of a count window is `{count: 1}` by itself, that of others
  `after_watermark`. Where late rows are allowed and `after_watermark` says nothing of them, each of them fires.
- Aggregates and columns are given in the order of the file. JSON objects have none, so a normalised definition has a list of
  objects with one key each in their place; both forms are read.

What is wrong with a definition `problems` says. Names of relations and columns are looked at by whoever knows them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.streams.expressions import column_named
from reconciler.streams.model import (
    CHANGES,
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    AssignWatermarks,
    Count,
    CountTrigger,
    Custom,
    Deduplicate,
    Hopping,
    Matches,
    Named,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Transformation,
    Trigger,
    Tumbling,
    Window,
    WindowClose,
)

ASSIGN: Final = "assign_timestamps_and_watermarks"
AGGREGATE: Final = "aggregate_over_window"
JOIN: Final = "outer_caching_join"
RUNNING: Final = "running_aggregate"
SORT: Final = "sort"
DEDUPLICATE: Final = "deduplicate"
PREVIOUS: Final = "previous"
CUSTOM: Final = "custom"
EVENT_TIME: Final = "event_time"
"""What a column of event time is called that is not the input's own, where no other name is said."""
AFTER_WATERMARK: Final = "after_watermark"
WINDOW_CLOSE: Final = "window_close"
DROPPED: Final = "drop"
_LATE_ROWS: Final = "late_rows"
_NAMED: Final = ("aggregates", "columns")

_UNITS: Final = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_DURATION: Final = re.compile("([0-9]{1,6})(ms|s|m|h|d)")
_DEFAULTS: Final[Mapping[tuple[str, str], Any]] = {
    (AGGREGATE, "accumulation"): Accumulation.ACCUMULATING.value,
    (JOIN, "matches"): Matches.ALL.value,
    (PREVIOUS, "offset"): 1,
    (ASSIGN, "read"): "rows",
}


def read_transformation(definition: JsonObject) -> Transformation:
    """The transformation of a definition. Raises KeyError or ValueError for one that is not valid."""
    ((kind, settings),) = definition.items()
    return _READERS[kind](_mapping(settings))


def keeps_late_rows(definition: JsonObject) -> bool:
    """Whether the rows that come too late go to the dead letters. It means nothing for what the stream gives."""
    ((_, settings),) = definition.items()
    return bool(_mapping(settings).get(_LATE_ROWS, DROPPED) != DROPPED)


def normalised(definition: JsonObject) -> JsonObject:
    """A valid definition without what is default anyway, its aggregates and columns as lists. Durations stay as written."""
    ((kind, settings),) = definition.items()
    transformation = read_transformation(definition)
    kept = {key: _plain(value) for key, value in settings.items()}
    for (of_kind, key), default in _DEFAULTS.items():
        if of_kind == kind and kept.get(key) == default:
            del kept[key]
    if kept.get(_LATE_ROWS) == DROPPED:
        del kept[_LATE_ROWS]
    for key in _NAMED:
        if key in kept:
            kept[key] = [{name: text} for name, text in _named(settings, key)]
    if isinstance(transformation, AggregateOverWindow):
        kept.pop("trigger", None)
        if transformation.trigger != _default_trigger(transformation.window, transformation.allowed_lateness):
            kept["trigger"] = _written_trigger(transformation.trigger, transformation.allowed_lateness)
        if not transformation.allowed_lateness:
            kept.pop("allowed_lateness", None)
    if isinstance(transformation, AssignWatermarks) and _column_goes_without_saying(transformation):
        kept.pop("column", None)
    return {kind: kept}


def _column_goes_without_saying(transformation: AssignWatermarks) -> bool:
    if transformation.column == EVENT_TIME:
        # A column that is given a second time, under this name, would else be given under its own name only.
        return column_named(transformation.event_time) is None
    return transformation.column is None


def duration(text: Any) -> int:
    """The microseconds of a duration. Raises ValueError for what is none."""
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"no duration: {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def written_duration(microseconds: int) -> str:
    """A duration as one writes it, in its largest unit that is whole: 90m, 2h."""
    for unit, size in reversed(_UNITS.items()):
        if microseconds % size == 0:
            return f"{microseconds // size}{unit}"
    return f"{microseconds / 1_000:g}ms"


def _assign(settings: JsonObject) -> AssignWatermarks:
    written, said = _text(settings, "event_time"), settings.get("column")
    delay = duration(settings["delay"])
    idle_after = duration(settings["idle_after"]) if "idle_after" in settings else None
    read = CHANGES if settings.get("read") == CHANGES else None
    per = _keys(settings, "per") if "per" in settings else None
    name = column_named(written)
    if name is not None and (said is None or fold(_text(settings, "column")) == fold(name)):
        return AssignWatermarks(_text(settings, "input"), name, None, delay, idle_after, read, per)
    column = EVENT_TIME if said is None else _text(settings, "column")
    return AssignWatermarks(_text(settings, "input"), written, column, delay, idle_after, read, per)


def _aggregate(settings: JsonObject) -> AggregateOverWindow:
    window = _window(_mapping(settings["window"]))
    lateness = _lateness(settings)
    return AggregateOverWindow(
        input=_text(settings, "input"),
        keys=_keys(settings),
        window=window,
        aggregates=_named(settings, "aggregates"),
        trigger=_trigger(settings.get("trigger"), window, lateness),
        accumulation=Accumulation(settings.get("accumulation", Accumulation.ACCUMULATING)),
        allowed_lateness=lateness,
        expiry=duration(settings["expiry"]) if isinstance(window, Count) else None,
    )


def _lateness(settings: JsonObject) -> int:
    return duration(settings["allowed_lateness"]) if "allowed_lateness" in settings else 0


def _window(written: JsonObject) -> Window:
    ((kind, size),) = written.items()
    match kind:
        case "tumbling":
            return Tumbling(duration(size))
        case "hopping":
            return Hopping(duration(_mapping(size)["size"]), duration(_mapping(size)["every"]))
        case "session":
            return Session(duration(size))
        case "count":
            return Count(_number(size))
        case _:
            raise ValueError(f"no window: {kind!r}")


def _trigger(written: Any, window: Window, lateness: int) -> Trigger:
    if written is None:
        return _default_trigger(window, lateness)
    if written == WINDOW_CLOSE:
        return WindowClose()
    if written == AFTER_WATERMARK:
        written = {AFTER_WATERMARK: {}}
    ((kind, inner),) = _mapping(written).items()
    if kind == "count":
        return CountTrigger(_number(inner))
    if kind != AFTER_WATERMARK:
        raise ValueError(f"no trigger: {kind!r}")
    inner = _mapping(inner)
    late = _count_trigger(inner["late"]) if "late" in inner else _default_late(lateness)
    return AfterWatermark(_count_trigger(inner["early"]) if "early" in inner else None, late)


def _count_trigger(written: Any) -> CountTrigger:
    ((kind, rows),) = _mapping(written).items()
    if kind != "count":
        raise ValueError(f"no trigger: {kind!r}")
    return CountTrigger(_number(rows))


def _default_trigger(window: Window, lateness: int) -> Trigger:
    return CountTrigger(1) if isinstance(window, Count) else AfterWatermark(None, _default_late(lateness))


def _default_late(lateness: int) -> CountTrigger | None:
    return CountTrigger(1) if lateness else None


def _written_trigger(trigger: Trigger, lateness: int) -> Any:
    match trigger:
        case WindowClose():
            return WINDOW_CLOSE
        case CountTrigger():
            return {"count": trigger.rows}
        case AfterWatermark():
            late = None if trigger.late == _default_late(lateness) else trigger.late
            said = {"early": trigger.early, "late": late}
            return {AFTER_WATERMARK: {name: {"count": one.rows} for name, one in said.items() if one is not None}}


def _join(settings: JsonObject) -> OuterCachingJoin:
    left, right = _text(settings, "left"), _text(settings, "right")
    matches = Matches(settings.get("matches", Matches.ALL))
    return OuterCachingJoin(left, right, _keys(settings), duration(settings["expiry"]), matches)


def _running(settings: JsonObject) -> RunningAggregate:
    aggregates = _named(settings, "aggregates")
    return RunningAggregate(_text(settings, "input"), _keys(settings), aggregates, duration(settings["expiry"]))


def _previous(settings: JsonObject) -> Previous:
    columns, offset = _named(settings, "columns"), _number(settings.get("offset", 1))
    return Previous(_text(settings, "input"), _keys(settings), columns, offset, duration(settings["expiry"]))


_READERS: Final[Mapping[str, Callable[[JsonObject], Transformation]]] = {
    ASSIGN: _assign,
    AGGREGATE: _aggregate,
    JOIN: _join,
    RUNNING: _running,
    SORT: lambda settings: Sort(_text(settings, "input"), _keys(settings)),
    DEDUPLICATE: lambda settings: Deduplicate(_text(settings, "input"), _keys(settings), duration(settings["expiry"])),
    PREVIOUS: _previous,
    CUSTOM: lambda settings: Custom(
        _text(settings, "input"), _keys(settings), _text(settings, "function"), duration(settings["expiry"])
    ),
}
KINDS: Final = tuple(_READERS)
"""The kinds of transformations, as pipeline.yaml names them."""


def _mapping(value: Any) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ValueError(f"no mapping: {value!r}")
    return value


def _text(settings: JsonObject, key: str) -> str:
    value = settings[key]
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text: {value!r}")
    return value


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 1:
        raise ValueError(f"no number of rows: {value!r}")
    return int(value)


def _keys(settings: JsonObject, key: str = "keys") -> tuple[str, ...]:
    value = settings[key]
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise ValueError(f"no columns: {value!r}")
    return tuple(value)


def _named(settings: JsonObject, key: str) -> tuple[Named, ...]:
    value = settings[key]
    parts = value if isinstance(value, list) else [value]
    found = tuple((name, _text(part, name)) for part in parts for name in _mapping(part))
    if not found:
        raise ValueError(f"no {key}")
    return found


def _plain(value: Any) -> Any:
    """A value of YAML, where 10.0 is the whole number 10."""
    match value:
        case Mapping():
            return {key: _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case float() if value == int(value):
            return int(value)
        case _:
            return value
