"""Shared ways of showing results: JSON, tables, colours, progress."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reconciler.reconcile.applying import Progress

_STYLES: dict[str, dict[str, Any]] = {
    "added": {"fg": "green"},
    "modified": {"fg": "yellow"},
    "removed": {"fg": "red"},
    "hazard": {"fg": "red", "bold": True},
    "title": {"bold": True},
}


def paint(text: str, style: str) -> str:
    """Text in a style of plans; click takes the colours out when the output is piped."""
    return click.style(text, **_STYLES[style])


def choose_colour(chosen: bool | None) -> None:
    """Whether the running command colours what it shows: as chosen; else not where NO_COLOR is set; else on terminals."""
    colour = False if chosen is None and os.environ.get("NO_COLOR") else chosen
    click.get_current_context().color = colour


def terminal_width() -> int | None:
    """The columns of the terminal that stdout is; None for a pipe or a file, whose lines are left as they are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show_json(value: Any) -> None:
    """A result as JSON on stdout. Decimals and times are texts, so that nothing is rounded."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_text))


def note(message: str) -> None:
    """Something to know, on stderr."""
    click.echo(message, err=True)


def as_text(value: Any) -> str:
    """A value of a row as text: NULL for null, decimals as written, times in ISO 8601."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=_text)
        case datetime() | date() | bytes() | Decimal():
            return _text(value)
        case _:
            return str(value)


def show_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows in aligned columns on stdout."""
    widths = [max([len(name), *(len(row[index]) for row in rows)]) for index, name in enumerate(names)]
    for row in (names, ["-" * width for width in widths], *rows):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


class ProgressLines:
    """Progress of an apply on stderr: a bar that redraws itself on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()

    def __call__(self, progress: "Progress") -> None:
        if self._terminal:
            self._bar(progress)
        elif progress.done:
            note(f"  [{progress.number}/{progress.total}] {progress.step}{_detail(progress)}")

    def _bar(self, progress: "Progress") -> None:
        finished = progress.number if progress.done else progress.number - 1
        filled = 24 * finished // progress.total
        bar = "█" * filled + "░" * (24 - filled)
        line = f"{bar} {finished}/{progress.total} {progress.step}{_detail(progress)}"
        # A line that wraps could not be redrawn.
        width = shutil.get_terminal_size().columns - 1
        click.echo(f"\r\x1b[2K{line if len(line) <= width else line[: width - 1] + '…'}", err=True, nl=False)
        if progress.done and progress.number == progress.total:
            click.echo("", err=True)


def _detail(progress: "Progress") -> str:
    return f" ({progress.detail})" if progress.detail else ""


def _text(value: Any) -> str:
    match value:
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)
