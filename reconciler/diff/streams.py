"""Streams compared: which settings of a definition differ, and whether the stream can go on.

A stream's query says what it means, but for what decides how it goes on from step to step: when a window fires again, how
long late rows are waited for, how long a key is remembered. So those are compared as they are, and the rest by the query, as
of any view: that knows renames, and which texts mean the same.

A changed stream goes on with the rows that it gave and with what it remembers, where that serves the new definition:

- The expiry is another. What was forgotten stays forgotten; from now on, keys and cached rows are remembered as long as the
  new definition says. (Of a join, rows are matched by the new expiry from now on, too.)
- A window over event time that accumulates fires `after_watermark` before and after the change, with other `early` or `late`
  counts. What it fires from now on is counted by the new ones; nothing that fires once can be missed.

Any other change needs rows, or says something else of rows, that the state does not have any more. Then the stream is
computed anew from its table, which has all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.names import fold
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.diff.causes import StreamChanged
from reconciler.diff.moves import Renames
from reconciler.project.program.model import Stream, View
from reconciler.project.snapshot.fingerprint import beside_the_names
from reconciler.streams.model import Accumulation, AfterWatermark, AggregateOverWindow, Hopping, Transformation, Tumbling


def stream_cause(applied: View, desired: View, renames: Renames, *, is_written_anew: bool) -> StreamChanged | None:
    """What of a stream's definition changed. `is_written_anew`: its query means something else. None: its definition means
    the same, or one of the two is no stream."""
    if applied.stream is None or desired.stream is None:
        return None
    if not is_written_anew and beside_the_names(applied.stream) == beside_the_names(desired.stream):
        return None
    known, now = (dict(_settings(view.declaration.stream or {})) for view in (applied, desired))
    differing = sorted(path for path in {*known, *now} if known.get(path) != now.get(path))
    if not differing:
        return None
    settings = tuple(_setting(path, known.get(path), now.get(path)) for path in differing)
    return StreamChanged(settings, goes_on(_renamed(applied.stream, renames), desired.stream))


def _renamed(stream: Stream, renames: Renames) -> Stream:
    """An applied stream with the names that what it reads has in desired. Where columns have other names, it is another."""
    names = {old: new for new, old in renames.relations.items()}

    def key(name: str) -> str:
        return names.get(fold(name), fold(name))

    inputs = {fold(one.name): key(one.name) for one in stream.inputs}
    settings: dict[str, Any] = {
        one.name: inputs.get(fold(value), value)
        for one in fields(stream.transformation)
        if one.name in ("input", "left", "right") and isinstance(value := getattr(stream.transformation, one.name), str)
    }
    return replace(
        stream,
        transformation=replace(stream.transformation, **settings),
        inputs=tuple(replace(one, name=key(one.name)) for one in stream.inputs),
        bases=tuple(map(key, stream.bases)),
        clocks=tuple(replace(one, assigned=key(one.assigned), table=key(one.table)) for one in stream.clocks),
    )


def goes_on(applied: Stream, desired: Stream) -> bool:
    """Whether a stream goes on with what it remembers; see the module."""
    inputs = [[replace(one, name=fold(one.name)) for one in stream.inputs] for stream in (applied, desired)]
    if inputs[0] != inputs[1] or (applied.bases, applied.clocks) != (desired.bases, desired.clocks):
        return False
    before, after = applied.transformation, desired.transformation
    if type(before) is not type(after):
        return False
    differing = {one.name for one in fields(before) if _folded(before, one.name) != _folded(after, one.name)}
    return differing <= {"expiry", "trigger"} and ("trigger" not in differing or (_counts(before) and _counts(after)))


def _folded(transformation: Transformation, name: str) -> object:
    value = getattr(transformation, name)
    return fold(value) if name in ("input", "left", "right") else value


def _counts(transformation: Transformation) -> bool:
    """Whether what a window fires before and after the watermark can be counted otherwise from now on."""
    return (
        isinstance(transformation, AggregateOverWindow)
        and isinstance(transformation.window, Tumbling | Hopping)
        and isinstance(transformation.trigger, AfterWatermark)
        and transformation.accumulation is Accumulation.ACCUMULATING
    )


def _setting(path: str, applied: str | None, desired: str | None) -> tuple[str, str | None, str | None]:
    """A setting without what may be secret in its expression: no later part of the program sees that."""
    before, after = masked_in_code(applied or "", desired or "")
    return path, before if applied is not None else None, after if desired is not None else None


def _settings(definition: JsonObject) -> Iterator[tuple[str, str]]:
    """Each setting by its path, as it is written. The kind of a stream is part of no path but its own."""
    for kind, settings in definition.items():
        yield "kind", kind
        yield from _leaves("", settings)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, member in value.items():
            yield from _leaves(f"{path}.{name}" if path else str(name), member)
    elif isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value):
        for item in value:
            yield from _leaves(path, item)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(map(str, value))
    else:
        yield path, value if isinstance(value, str) else canonical_json(value)
