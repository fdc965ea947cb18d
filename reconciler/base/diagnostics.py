"""Diagnostics: what is wrong with what a user wrote, as values.

A mistake never throws. Readers and checkers collect diagnostics, so that one run reports every problem at once, each
with a permanent code, its place, what was found and expected, and a hint. Every code is declared once, in `codes.py`,
and explained in docs/errors.md.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject

MAXIMUM_LISTED: Final = 1_000


class Severity(StrEnum):
    """How bad it is: an error stops plan and apply, a warning is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file. `file` is relative to the repository root, with `/`; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. `code` is a key of `codes.CODES`."""

    code: str
    message: str
    location: Location | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Diagnostics by place, then code, then message, without repeats: the same on every machine."""

    def key(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
        place = diagnostic.location or Location("", 0, 0)
        return (place.file, place.line, place.column, diagnostic.code, diagnostic.message)

    return tuple(sorted(dict.fromkeys(diagnostics), key=key))


def errors_among(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those that stop a plan."""
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR)


def listed(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those that are shown: the first ones, errors before warnings, then how many more there are."""
    if len(diagnostics) <= MAXIMUM_LISTED:
        return tuple(diagnostics)
    errors = errors_among(diagnostics)
    others = (one for one in diagnostics if one.severity is not Severity.ERROR)
    first = (*errors, *others)[:MAXIMUM_LISTED]
    more = f"{len(diagnostics) - len(first):,} more problems, which are not listed"
    severity = Severity.ERROR if len(errors) > len(first) else Severity.WARNING
    return (*in_order(first), Diagnostic("S295", more, None, "begin with the first ones", severity))


def render_diagnostic(diagnostic: Diagnostic) -> str:
    """One diagnostic as one to two lines: `file:line:column: error M101: message`, then the hint."""
    place = f"{diagnostic.location}: " if diagnostic.location is not None else ""
    text = f"{place}{diagnostic.severity.value} {diagnostic.code}: {diagnostic.message}"
    return text if diagnostic.hint is None else f"{text}\n    hint: {diagnostic.hint}"


def diagnostic_to_json(diagnostic: Diagnostic) -> JsonObject:
    """{code, severity, message, hint, file, line, column}; absent parts are null."""
    place = diagnostic.location
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }
