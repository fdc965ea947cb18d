"""What is wrong with a stream's definition: settings that have no meaning together, and state that would have to be kept for
good.

Rules:
- Each stateful transformation has keys, and state is kept by key.
- An expiry is asked for where state would go on growing with the keys that come, and refused where a window forgets by
  itself. The message says what the state would hold.
- A stream gives the same for the same rows whenever it is computed, so nothing in it may ask for the time or for chance.

What a schema can say (types, forms, unknown keys) `pipeline.schema.json` says; parts that have not the types they should
have are passed over here. Which relations, columns and functions there are, whoever knows the inputs says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.base.places import Path
from reconciler.streams.expressions import CLOCK, not_one_value, undetermined_calls
from reconciler.streams.model import Accumulation
from reconciler.streams.queries.running_forms import running_problem
from reconciler.streams.reading import (
    AFTER_WATERMARK,
    AGGREGATE,
    ASSIGN,
    CUSTOM,
    DEDUPLICATE,
    EVENT_TIME,
    JOIN,
    KINDS,
    PREVIOUS,
    RUNNING,
    WINDOW_CLOSE,
    duration,
)

_OF_WINDOWS: Final = ("window_start", "window_end")
_OF_FIRINGS: Final = ("firing", EVENT_TIME)
MOST_WINDOWS: Final = 10_000
"""So many windows of a kind a row may be in."""

_PROCESSING_TIME: Final = "processing_time"
_ON_EVENT_TIME: Final = f"use the time that rows carry: {ASSIGN} gives it to them"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at the part of a definition that `path` leads to: `at_key` at its key, else at its value. `code` is a
    key of `codes.CODES`; `lacks` the setting that is missing there, if that is what is wrong."""

    path: Path
    code: str
    message: str
    hint: str
    at_key: bool = False
    lacks: str | None = None


def definition_problems(definition: JsonObject) -> tuple[Problem, ...]:
    """What has no meaning, or would have to be kept for good. Parts that have not the types they should have are left to
    the schema. Paths lead through the definition."""
    found = list(_not_one_transformation(definition))
    for kind, settings in definition.items():
        if kind in KINDS and isinstance(settings, Mapping):
            found += (replace(problem, path=(kind, *problem.path)) for problem in _problems(kind, settings))
    return tuple(found)


def _not_one_transformation(definition: JsonObject) -> Iterator[Problem]:
    kinds = list(definition)
    if not kinds:
        yield Problem((), "M180", "a stream must have a transformation", f"write one of {', '.join(KINDS)}")
    for kind in kinds[1:]:
        message = f"a stream has one transformation, found {kinds[0]} and {kind}"
        yield Problem((kind,), "M180", message, "declare another stream, which reads this one", at_key=True)


def _problems(kind: str, settings: JsonObject) -> Iterator[Problem]:
    yield from _processing_time(settings, ())
    for path, text in _expressions(kind, settings):
        yield from _of_expression(kind, path, text)
    if kind != ASSIGN:
        yield from _of_keys(kind, settings)
    yield from _of_names(kind, settings)
    if kind == AGGREGATE:
        yield from _of_windows(settings)
    if "expiry" not in settings and (held := _held(kind, settings)) is not None:
        hint = "write how long after a key's last event time it is kept, such as expiry: 1d, and no longer than needed"
        if kind == JOIN:
            hint = "write how far apart in event time rows are joined, such as expiry: 1h: they are kept for so long"
        message = f"{kind} has no expiry, so its state would hold {held}"
        yield Problem((), "M182", message, hint, at_key=True, lacks="expiry")


def _processing_time(settings: JsonObject, path: Path) -> Iterator[Problem]:
    for key, value in settings.items():
        here = (*path, key)
        if _PROCESSING_TIME in key:
            yield _of_processing_time(here, key, at_key=True)
        elif key in ("window", "trigger") and isinstance(value, str) and _PROCESSING_TIME in value:
            yield _of_processing_time(here, value, at_key=False)
        elif key in ("window", "trigger", AFTER_WATERMARK, "early", "late") and isinstance(value, Mapping):
            yield from _processing_time(value, here)


def _of_processing_time(path: Path, name: str, *, at_key: bool) -> Problem:
    message = f"{name!r} asks for processing time, which is not supported: a replay could give quite other results"
    return Problem(path, "M187", message, _ON_EVENT_TIME, at_key)


def _expressions(kind: str, settings: JsonObject) -> Iterator[tuple[Path, str]]:
    if kind == ASSIGN and isinstance(settings.get("event_time"), str):
        yield ("event_time",), settings["event_time"]
    named = settings.get("aggregates")
    for name, text in named.items() if isinstance(named, Mapping) else ():
        if isinstance(text, str):
            yield ("aggregates", name), text


def _of_expression(kind: str, path: Path, text: str) -> Iterator[Problem]:
    for name in undetermined_calls(text):
        if name in CLOCK:
            yield _of_processing_time(path, name, at_key=False)
            continue
        message = f"{name!r} gives other values each time, so a replay would give other results"
        yield Problem(path, "M187", message, "use what the rows themselves hold")
    reason = not_one_value(text)
    if reason is not None:
        yield Problem(path, "M190", f"the expression is not one value: it {reason}", "write one expression of SQL")
    elif kind == RUNNING and (reason := running_problem(text)) is not None:
        message = f"the aggregate can't go on from what it had: {reason}"
        yield Problem(path, "M191", message, "aggregate over a window, which takes any aggregate")


def _of_keys(kind: str, settings: JsonObject) -> Iterator[Problem]:
    hint = "name the columns whose equal values share one state, such as keys: [device]"
    message = f"{kind} has no keys: a stateful transformation keeps its state by key"
    if "keys" not in settings:
        yield Problem((), "M181", message, hint, at_key=True, lacks="keys")
    elif settings["keys"] == []:
        yield Problem(("keys",), "M181", message, hint)


def _of_names(kind: str, settings: JsonObject) -> Iterator[Problem]:
    """Columns that the definition itself gives twice, and sides of a join that can't be told apart."""
    given = dict.fromkeys(_given_anyway(kind, settings), f"a column that {kind} gives anyway")
    keys = settings.get("keys")
    for index, name in enumerate(keys if isinstance(keys, list) else ()):
        if isinstance(name, str):
            yield from _given_twice(Problem(("keys", index), "M189", "", ""), name, "a key", given)
    for setting, what in (("aggregates", "an aggregate"), ("columns", "a column")):
        named = settings.get(setting)
        for name in named if isinstance(named, Mapping) else ():
            yield from _given_twice(Problem((setting, name), "M189", "", "", at_key=True), name, what, given)
    left, right = settings.get("left"), settings.get("right")
    if isinstance(left, str) and isinstance(right, str) and fold(left) == fold(right):
        message = f"left and right are both {right!r}, so their columns would have the same names"
        yield Problem(("right",), "M189", message, "join two streams; previous gives rows of one stream earlier rows")


def _given_anyway(kind: str, settings: JsonObject) -> tuple[str, ...]:
    """The columns that a transformation adds by itself."""
    if kind == AGGREGATE:
        return _OF_FIRINGS if _is_count(settings.get("window")) else (*_OF_WINDOWS, *_OF_FIRINGS)
    return (EVENT_TIME,) if kind == JOIN else ()


def _is_count(window: Any) -> bool:
    return isinstance(window, Mapping) and "count" in window


def _given_twice(problem: Problem, name: str, what: str, given: dict[str, str]) -> Iterator[Problem]:
    if fold(name) in given:
        message = f"{name!r} is already the name of {given[fold(name)]}"
        yield replace(problem, message=message, hint="choose another name: names are case-insensitive")
    given.setdefault(fold(name), what)


def _of_windows(settings: JsonObject) -> Iterator[Problem]:
    window = settings.get("window")
    if not isinstance(window, Mapping) or len(window) != 1:
        return
    ((kind, size),) = window.items()
    trigger, trigger_path = _named_trigger(settings.get("trigger"))
    if kind == "count":
        yield from _of_count_windows(settings, trigger, trigger_path)
        return
    if "expiry" in settings:
        message = f"a {kind} window forgets its rows when it closes, so an expiry says nothing"
        yield Problem(("expiry",), "M188", message, "remove it; allowed_lateness keeps windows open", at_key=True)
    if kind == "hopping" and isinstance(size, Mapping):
        yield from _of_hopping(size)
    if trigger == WINDOW_CLOSE and settings.get("accumulation") == Accumulation.DISCARDING:
        message = "window_close fires once for a window, so there is nothing to discard between firings"
        yield Problem(("accumulation",), "M186", message, "remove accumulation, or choose a trigger that fires more often")
    inner = settings["trigger"].get(trigger) if isinstance(settings.get("trigger"), Mapping) else None
    if trigger == AFTER_WATERMARK and isinstance(inner, Mapping) and "late" in inner and _takes_no_late_rows(settings):
        message = "late rows never reach a window without allowed_lateness, so a late trigger never fires"
        hint = "add allowed_lateness, such as allowed_lateness: 10m, or remove late"
        yield Problem((*trigger_path, "late"), "M184", message, hint, at_key=True)


def _named_trigger(trigger: Any) -> tuple[str | None, Path]:
    """The name of a trigger, and where it stands."""
    if isinstance(trigger, str):
        return trigger, ("trigger",)
    if isinstance(trigger, Mapping) and len(trigger) == 1:
        (name,) = trigger
        return name, ("trigger", name)
    return None, ("trigger",)


def _takes_no_late_rows(settings: JsonObject) -> bool:
    try:
        return duration(settings.get("allowed_lateness", "0s")) == 0
    except ValueError:
        return False


def _of_count_windows(settings: JsonObject, trigger: str | None, path: Path) -> Iterator[Problem]:
    if trigger in (AFTER_WATERMARK, WINDOW_CLOSE):
        message = f"a count window has no end that the watermark could pass, so {trigger} would never fire"
        yield Problem(path, "M183", message, "write trigger: {count: 1}", at_key=len(path) > 1)
    if "allowed_lateness" in settings:
        message = "a count window has no end, so no row can be late for it"
        yield Problem(("allowed_lateness",), "M183", message, "remove allowed_lateness", at_key=True)


def _of_hopping(size: JsonObject) -> Iterator[Problem]:
    try:
        length, every = duration(size.get("size")), duration(size.get("every"))
    except ValueError:
        return
    path = ("window", "hopping", "every")
    if not length or not every:
        return
    if every > length:
        message = f"windows of {size['size']} of which one begins every {size['every']} leave gaps, whose rows would be lost"
        yield Problem(path, "M185", message, "choose every no longer than size")
    elif length % every:
        message = f"{size['every']} does not divide {size['size']}, so rows would be in unequally many windows"
        yield Problem(path, "M185", message, "choose a size that is a multiple of every")
    elif length // every > MOST_WINDOWS:
        message = f"each row would be in {length // every:,} windows; at most {MOST_WINDOWS:,} are taken"
        yield Problem(path, "M192", message, "choose a longer every, or a shorter size")


def _held(kind: str, settings: JsonObject) -> str | None:
    """What the state would hold if nothing were ever forgotten; None where it can't grow like that."""
    keys = settings.get("keys")
    of_keys = (
        f" ({', '.join(keys)})" if isinstance(keys, list) and keys and all(isinstance(one, str) for one in keys) else ""
    )
    if kind == JOIN:
        return "every row of both sides that ever came"
    if kind == AGGREGATE and not _is_count(settings.get("window")):
        return None
    parts = {
        AGGREGATE: "the most recent rows of ",
        RUNNING: "the aggregates of ",
        PREVIOUS: "the last rows of ",
        CUSTOM: "what the function remembers of ",
        DEDUPLICATE: "",
    }
    return f"{parts[kind]}every key{of_keys} that ever came" if kind in parts else None
