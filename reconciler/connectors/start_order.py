"""The order in which inputs start: `labels` and `start_after`.

A connector with `start_after` begins when every connector that bears one of those labels has come to its end. A label
that nobody bears would be waited for without end, and so would a circle; both are errors.
"""

from collections.abc import Iterable, Sequence

from reconciler.diagnostics import Diagnostic
from reconciler.digest import JsonObject
from reconciler.names import did_you_mean
from reconciler.places import Path, Places


def start_after_labels(settings: JsonObject) -> tuple[str, ...]:
    """The labels that a connector waits for, as a tuple whichever way they are written."""
    waits_for = settings.get("start_after", ())
    return (waits_for,) if isinstance(waits_for, str) else tuple(waits_for)


def check_start_order(connectors: Sequence[tuple[JsonObject, Places]], labels: Iterable[str]) -> list[Diagnostic]:
    """Problems between connectors. `labels` are those of all connectors, also of some that have errors of their own."""
    found: list[Diagnostic] = []
    known = sorted(set(labels))
    bearers: dict[str, list[int]] = {}
    for index, (settings, _) in enumerate(connectors):
        for label in settings.get("labels", ()):
            bearers.setdefault(label, []).append(index)
    waits: dict[int, list[int]] = {}
    for index, (settings, places) in enumerate(connectors):
        for position, label in enumerate(start_after_labels(settings)):
            if label not in known:
                path: Path = ("start_after",)
                if not isinstance(settings["start_after"], str):
                    path = ("start_after", position)
                hint = did_you_mean(label, known) or "give the connector to wait for this label"
                message = f"start_after: no connector has the label {label!r}"
                found.append(Diagnostic("C415", message, places.of_value(path), hint))
            waits.setdefault(index, []).extend(bearers.get(label, ()))
    for index in _in_circles(waits):
        message = "start_after: this connector waits, directly or through others, for itself"
        found.append(Diagnostic("C416", message, connectors[index][1].of_value(("start_after",))))
    return found


def _in_circles(waits: dict[int, list[int]]) -> list[int]:
    """Those that reach themselves."""
    circular: list[int] = []
    for start in sorted(waits):
        reached: set[int] = set()
        ahead = list(waits[start])
        while ahead:
            index = ahead.pop()
            if index not in reached:
                reached.add(index)
                ahead.extend(waits.get(index, ()))
        if start in reached:
            circular.append(start)
    return circular
