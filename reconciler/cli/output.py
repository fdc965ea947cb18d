"""Shared ways of showing results: lines, JSON, tables, colours, progress.

Every command shows what it has to say through this module. So nothing that others wrote (names, messages of Spark, values of
rows) reaches a terminal or a log as anything but text: control characters are written out. And commands that a message names
are of the environment that the command was asked for (`pasted_commands`), but for what others wrote. `say_painted` alone
trusts its text: it is for forms that are put together from printable pieces and `paint`.
A message or result whose reader is gone is lost, and keeps nobody from going on: what a command does is done whoever looks
on, and its exit code says what became of it. A command that only shows something ends then, as any program before a pipe
does (`end_unread`).
Credentials within texts are replaced, whoever wrote them (`redaction.masked_in_code`). Only rows that were asked for
(`show_rows`, `show_csv`, `data` of JSON) are data and stand as they are, in CSV for a file or a pipe with what would act.

What few commands show is imported where it is shown: the size of a terminal, CSV and decimals take a twentieth of a plan in
which nothing changed.
"""

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from reconciler.base.errors import EXIT_ERROR, ManifestInvalid, ReconcileError
from reconciler.base.pasted_commands import in_environment
from reconciler.base.printing import printable, printable_json, printable_lines
from reconciler.base.secrets.redaction import masked_in_code, masked_within

if TYPE_CHECKING:
    from reconciler.environment.progress import Progress

_ENDS: Final = "reconciler.ends_unread"
_STYLES: dict[str, dict[str, Any]] = {
    "added": {"fg": "green"},
    "modified": {"fg": "yellow"},
    "removed": {"fg": "red"},
    "hazard": {"fg": "red", "bold": True},
    "title": {"bold": True},
}


def paint(text: str, style: str) -> str:
    """Text in a style of plans; click takes the colours out when the output is piped."""
    return click.style(printable_lines(text), **_STYLES[style])


def end_unread() -> None:
    """The running command ends when nobody reads its results any more: it is there for these alone."""
    click.get_current_context().meta[_ENDS] = True


def say(text: str = "") -> None:
    """Lines on stdout."""
    say_unchanged(_here(text))


def say_unchanged(text: str) -> None:
    """Lines on stdout that somebody else wrote: commands that they name are theirs."""
    _echo(_shown(text))


def say_painted(text: str, *, end: str = "\n") -> None:
    """Lines on stdout that are printable already, with styles of `paint` among them."""
    _echo(masked_in_code(text)[0] + end, nl=False)


def clear_screen() -> None:
    """Make room on a terminal for what is shown next, in place of what was."""
    _echo("\x1b[2J\x1b[H", nl=False)


def choose_colour(chosen: bool | None) -> None:
    """Whether the running command colours what it shows: as chosen; else not where NO_COLOR is set; else on terminals."""
    colour = False if chosen is None and os.environ.get("NO_COLOR") else chosen
    click.get_current_context().color = colour


def terminal_width() -> int | None:
    """The columns of the terminal that stdout is; None for a pipe or a file, whose lines are left as they are."""
    return _columns() if sys.stdout.isatty() else None


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def show_json(value: Any, data: Mapping[str, Any] | None = None) -> None:
    """A result as JSON on stdout, an object with entries of `data` if there are any. Decimals and times are texts, so that
    nothing is rounded."""
    shown = masked_within(value)
    _echo(printable_json(shown if data is None else {**shown, **data}, indent=2, default=_text))


def note(message: str, environment: str | None = None) -> None:
    """Something to know, on stderr. `environment` is the one that was asked for, where no command runs that could tell."""
    _echo(_shown(_here(message, environment)), err=True)


def show_error(error: ReconcileError, environment: str | None = None) -> None:
    """An error on stderr: its diagnostics if it has them, its message and hint. `environment` is the one that was asked for,
    where no command runs any more that could tell."""
    if isinstance(error, ManifestInvalid):
        from reconciler.base.diagnostics import listed, render_diagnostic

        for diagnostic in listed(error.diagnostics):
            note(render_diagnostic(diagnostic), environment)
    _echo(paint(f"{error.code}: ", "hazard") + _shown(_here(error.message, environment)), err=True)
    if error.hint:
        note(f"    hint: {error.hint}", environment)


def show_usage(error: click.ClickException) -> None:
    """What is wrong with the words of a command, on stderr."""
    told = io.StringIO()
    error.show(told)
    note(told.getvalue().rstrip("\n"))


def _shown(text: str) -> str:
    return printable_lines(masked_in_code(text)[0])


def _echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        _unread(sys.stderr if err else sys.stdout)


def _unread(stream: TextIO) -> None:
    """Nobody reads a stream any more: what is in its buffer, and all that comes, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    context = click.get_current_context(silent=True)
    if stream is sys.stdout and context is not None and context.meta.get(_ENDS):
        raise click.exceptions.Exit(EXIT_ERROR)


def asked_environment() -> str | None:
    """What `--env` says to the command that runs."""
    context = click.get_current_context(silent=True)
    return context.params.get("environment") if context is not None else None


def _here(text: str, environment: str | None = None) -> str:
    """The text with its commands as they are to be pasted: of the environment that was asked for by name."""
    return in_environment(text, environment or asked_environment())


def as_text(value: Any) -> str:
    """A value of a row as text: NULL for null, decimals as written, times in ISO 8601."""
    from decimal import Decimal

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
    """A table in aligned columns on stdout."""
    show_rows(names, [[masked_in_code(cell)[0] for cell in row] for row in rows])


def show_rows(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows of data in aligned columns on stdout."""
    shown = [[printable(cell) for cell in row] for row in (names, *rows)]
    widths = [max(len(row[index]) for row in shown) for index in range(len(names))]
    for row in (shown[0], ["-" * width for width in widths], *shown[1:]):
        _echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def show_csv(names: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO | None = None) -> None:
    """Rows as CSV on stdout. It has no escapes: a file or a program gets names and values as they are, control characters
    too; a terminal, which would act on some, gets them written out."""
    import csv

    out = out or sys.stdout
    writer = csv.writer(out, lineterminator="\n")
    fit = printable if out.isatty() else str
    try:
        writer.writerows([fit(cell) for cell in row] for row in (names, *rows))
        out.flush()
    except BrokenPipeError:
        _unread(out)


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
        line = f"{bar} {finished}/{progress.total} {printable(f'{progress.step}{_detail(progress)}')}"
        # A line that wraps could not be redrawn.
        width = _columns() - 1
        _echo(f"\r\x1b[2K{line if len(line) <= width else line[: width - 1] + '…'}", err=True, nl=False)
        if progress.done and progress.number == progress.total:
            _echo("", err=True)


def _detail(progress: "Progress") -> str:
    return f" ({progress.detail})" if progress.detail else ""


def _text(value: Any) -> str:
    from decimal import Decimal

    match value:
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)
