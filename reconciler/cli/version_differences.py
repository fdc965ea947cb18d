"""Two versions of an object compared, for reading."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.base.printing import printable
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.cli.output import as_text, note, paint, say, say_painted
from reconciler.query.rows import RowDifference
from reconciler.versions.looking import ColumnDifference, VersionDifference


def show_difference(difference: VersionDifference, rows: RowDifference | None) -> None:
    """The difference for reading: texts, what a function in Python is made of, which functions are called, columns, reads,
    settings, rows. It always says something: at the least that both mean the same."""
    names = [f"{one.summary.name}@v{one.summary.number}" for one in (difference.before, difference.after)]
    masked = masked_in_code(difference.before.sql.strip(), difference.after.sql.strip())
    before, after = (text.split("\n") for text in masked)
    texts = difflib.unified_diff(before, after, names[0], names[1], lineterm="")
    parts = [
        [f"{names[0]} and {names[1]} mean the same"] if difference.same_meaning else [],
        [_line(line) for line in texts],
        *(_source(path, *sides, names) for path, sides in difference.sources.items()),
        _titled("function", [_setting(name, *of) for name, of in difference.parts.items()]),
        _titled("calls", [_call(name, *numbers) for name, numbers in difference.functions.items()]),
        _titled("columns", [_column(column) for column in difference.columns]),
        _titled("reads", [_reads(relation, *columns) for relation, columns in difference.reads.items()]),
        _titled("settings that decide results", [_setting(name, *of) for name, of in difference.settings.items()]),
    ]
    if not any(parts):
        what = ", ".join(difference.written_otherwise) or "recorded details: compare both with --format json"
        parts = [[printable(f"{names[0]} and {names[1]} differ in {what}")]]
    say_painted("\n\n".join("\n".join(part) for part in parts if part))
    if rows is not None:
        _show_rows(rows)


def _titled(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *lines] if lines else []


def _line(line: str) -> str:
    style = {"+": "added", "-": "removed"}.get(line[:1])
    return paint(line, style) if style else printable(line)


def _source(path: str, before: str | None, after: str | None, names: list[str]) -> list[str]:
    """The difference of a file; one that a version does not have is empty there."""
    # Before lines of both are put one after another, or what is said over lines is not known for it.
    old, new = (text.splitlines() for text in masked_in_code(before or "", after or ""))
    lines = difflib.unified_diff(old, new, f"{names[0]} {path}", f"{names[1]} {path}", lineterm="")
    return [_line(line) for line in lines] or [printable(f"{path}: only the ends of lines differ")]


def _call(name: str, before: int | None, after: int | None) -> str:
    if before is None:
        return paint(f"  + {name}@v{after}", "added")
    if after is None:
        return paint(f"  - {name}@v{before}", "removed")
    return paint(f"  ~ {name}@v{before} → {name}@v{after}", "modified")


def _setting(name: str, before: str | None, after: str | None) -> str:
    if before is None:
        return paint(f"  + {name} {after}", "added")
    if after is None:
        return paint(f"  - {name} {before}", "removed")
    return paint(f"  ~ {name} {before} → {after}", "modified")


def _show_rows(rows: RowDifference) -> None:
    by = f"by {', '.join(rows.key)}" if rows.key else "as multisets"
    changed = f", {rows.changed} changed" if rows.key else ""
    say(f"\nrows, {by}: {rows.added} added, {rows.removed} removed{changed}")
    for row in rows.sample:
        copies = f" ({row.copies} copies)" if row.copies > 1 else ""
        if row.before is None and row.after is not None:
            say_painted(paint(f"  + {_values(row.after)}{copies}", "added"))
        elif row.after is None and row.before is not None:
            say_painted(paint(f"  - {_values(row.before)}{copies}", "removed"))
        elif row.before is not None and row.after is not None:
            say_painted(paint(f"  ~ {_changed_values(row.before, row.after, rows.key)}", "modified"))
    left = rows.added + rows.removed + rows.changed - sum(row.copies for row in rows.sample)
    if left:
        note(f"{left} more")
    note(f"as of steps {rows.steps[0]} and {rows.steps[1]}")


def _values(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {as_text(value)}" for name, value in row.items())


def _changed_values(before: Mapping[str, Any], after: Mapping[str, Any], key: Sequence[str]) -> str:
    parts = [f"{name} {as_text(after[name])}" for name in key]
    parts += [f"{name} {as_text(before[name])} → {as_text(after[name])}" for name in after if before[name] != after[name]]
    return ", ".join(parts)


def _column(column: ColumnDifference) -> str:
    if column.before is None:
        return paint(f"  + {column.name} {column.after}".rstrip(), "added")
    if column.after is None:
        return paint(f"  - {column.name} {column.before}".rstrip(), "removed")
    return paint(f"  ~ {column.name} {column.before} → {column.after}", "modified")


def _reads(relation: str, before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> str:
    if before is None:
        return paint(f"  + {relation} ({', '.join(after or ())})", "added")
    if after is None:
        return paint(f"  - {relation} ({', '.join(before)})", "removed")
    more = [f"+{name}" for name in after if name not in before] + [f"-{name}" for name in before if name not in after]
    return paint(f"  ~ {relation} ({', '.join(more)})", "modified")
