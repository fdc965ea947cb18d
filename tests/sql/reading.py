"""Small ways to say what a test expects: diagnostics by code and place, places by a mark in the text."""

from collections.abc import Iterable

from reconciler.base.diagnostics import Diagnostic

MARK = "¦"


def without_marks(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and the line and column (from 1) of the character after each."""
    places: list[tuple[int, int]] = []
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        while (index := line.find(MARK)) >= 0:
            places.append((number, index + 1))
            line = line[:index] + line[index + 1 :]
        lines.append(line)
    return "\n".join(lines), places


def found(diagnostics: Iterable[Diagnostic]) -> list[tuple[str, tuple[int, int] | None]]:
    """Code and place of each diagnostic."""
    return [(one.code, (one.location.line, one.location.column) if one.location else None) for one in diagnostics]
