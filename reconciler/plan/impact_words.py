"""What a plan costs, in words that every form shares. What is not known is called so, never zero."""

from typing import TypeGuard

from reconciler.base.printing import printable
from reconciler.plan.impact import Impact, ReadImpact, TableImpact, ViewImpact
from reconciler.plan.model import Plan

_FATES = {"cleared": "deleted", "dropped": "deleted", "evolved": "rewritten"}


def is_told(impact: Impact | None, plan: Plan) -> TypeGuard[Impact]:
    """Whether people are told what a plan costs: not of a first apply, which reads tables that are still empty, and not of
    one that computes no view and touches no rows of a table."""
    if impact is None or plan.diff.keeps_meaning or plan.is_first:
        return False
    return bool(impact.views or impact.tables)


def describe_totals(impact: Impact) -> str:
    """For example: `reads 1.2 M rows (340 MB) · deletes 12,000 rows · about 40 s (learnt from earlier runs; Spark's start
    comes on top)`. Where no view is computed, nothing is read, and only what becomes of rows of tables is told."""
    known = "" if impact.is_complete else "at least "
    parts = [f"reads {known}{rows_words(impact.rows_read)} ({bytes_words(impact.bytes_read)})"] if impact.views else []
    if impact.views and not impact.is_complete and impact.rows_read == 0:
        parts = ["number of rows to read not known yet"]
    rewritten = [table for table in impact.tables if table.fate == "evolved"]
    if rewritten:
        parts.append(f"rewrites {_sum_words(rewritten)}")
    if impact.rows_deleted or any(table.fate != "evolved" for table in impact.tables):
        parts.append(
            f"deletes {_sum_words([table for table in impact.tables if table.fate != 'evolved'], impact.rows_deleted)}"
        )
    if impact.views:
        parts.append(_time(impact))
    return " · ".join(parts)


def describe_view(view: ViewImpact) -> str:
    """For example: `revenue reads orders (1.2 M rows, 340 MB); replaces 400 rows; lake receives the difference`."""
    reads = ", ".join(f"{read.relation} ({_measure(read)})" for read in view.reads) or "no table"
    parts = [f"{view.view} reads {reads}", "is new" if view.rows is None else f"replaces {rows_words(view.rows)}"]
    parts += [f"{output.connector} receives {output.receives}" for output in view.outputs]
    if view.seconds is not None:
        parts.append(_about(view.seconds))
    return printable("; ".join(parts))


def describe_table(table: TableImpact) -> str:
    """For example: `orders is cleared: 1.2 M rows deleted (340 MB)`."""
    fate = _FATES.get(table.fate, table.fate)
    if table.rows is None:
        return printable(f"{table.table} is {table.fate}: an unknown number of rows {fate}")
    size = "" if table.bytes is None else f" ({bytes_words(table.bytes)})"
    return printable(f"{table.table} is {table.fate}: {rows_words(table.rows)} {fate}{size}")


def rows_words(rows: int) -> str:
    """`950 rows`, `340,112 rows`, `1.2 M rows`, `3.4 bn rows`."""
    if rows == 1:
        return "1 row"
    if rows < 999_950:
        return f"{rows:,} rows"
    return f"{_scaled(rows, 1_000_000, (' M', ' bn'))} rows"


def bytes_words(size: int) -> str:
    """`512 B`, `340 kB`, `1.2 GB`."""
    return f"{size} B" if size < 1000 else _scaled(size, 1000, (" kB", " MB", " GB", " TB", " PB"))


def seconds_words(seconds: float) -> str:
    """`less than 1 s`, `40 s`, `3 min`, `2 h 10 min`, `12 days`."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours >= 72:
        return f"{hours // 24:,} days"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def _time(impact: Impact) -> str:
    """Of some views nothing may be known: then the sum is told as theirs that are known."""
    if impact.seconds is None:
        return "time unknown"
    known, count = sum(view.seconds is not None for view in impact.views), len(impact.views)
    some = "" if known == count else f" for {known} of {count} views, unknown for the others"
    return f"{_about(impact.seconds)}{some} (estimated from earlier runs, without Spark's start)"


def _sum_words(tables: list[TableImpact], rows: int | None = None) -> str:
    known = rows if rows is not None else sum(table.rows for table in tables if table.rows is not None)
    least = "at least " if any(table.rows is None for table in tables) else ""
    return f"{least}{rows_words(known)}"


def _measure(read: ReadImpact) -> str:
    if read.rows is None:
        return "size not known yet"
    return rows_words(read.rows) + ("" if read.bytes is None else f", {bytes_words(read.bytes)}")


def _scaled(number: int, unit: int, names: tuple[str, ...]) -> str:
    value = number / unit
    for name in names[:-1]:
        if value < 999.5:
            return _digits(value) + name
        value /= 1000
    return _digits(value) + names[-1]


def _digits(value: float) -> str:
    text = f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"
    return text.removesuffix(".0")


def _about(seconds: float) -> str:
    return f"about {seconds_words(seconds)}".replace("about less", "less")
