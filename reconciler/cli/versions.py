"""`reconcile versions`: look at the versions of tables, views and functions."""

import difflib
import getpass
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import click

from reconciler.cli.options import format_option, project_of, target_of, target_options
from reconciler.cli.output import as_text, note, paint, show_json, show_table
from reconciler.digest import canonical_json
from reconciler.errors import ReconcileError
from reconciler.reconcile.aliases import put_alias, take_alias_away
from reconciler.reconcile.target import Target
from reconciler.reconcile.version_rows import RowDifference, compare_rows
from reconciler.reconcile.versions import (
    ColumnDifference,
    FoundObject,
    ObjectVersion,
    VersionDifference,
    VersionList,
    VersionSummary,
    aliases_by_number,
    compare_versions,
    find_object,
    list_versions,
    read_version,
    versioned_name,
)
from reconciler.snapshot.objects import KINDS

_ACTIONS: Final = ("list", "show", "diff", "alias", "unalias")


@click.command()
@click.argument(
    "action", type=click.Choice(["list", "show", "diff", "alias", "unalias"]), metavar="list|show|diff|alias|unalias"
)
@click.argument("name", metavar="[PIPELINE.]NAME[@VERSION]")
@click.argument("other", required=False, metavar="[NAME@VERSION]")
@target_options
@format_option("text", "json")
@click.option("--kind", type=click.Choice(KINDS), help="What it is, where a name is that of a relation and of a function.")
@click.option("--data", is_flag=True, help="diff: compare the rows as well. Needs Java.")
@click.option("--key", metavar="COLUMN,…", help="diff --data: what tells rows apart. [a table's key; else multisets]")
@click.option(
    "--sample", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="--data: show N rows."
)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="list: the last N.")
def command(
    action: str,
    name: str,
    other: str | None,
    repo: str,
    environment: str | None,
    form: str,
    kind: str | None,
    data: bool,
    key: str | None,
    sample: int,
    limit: int,
) -> int:
    """List the versions of a table, view or function, show one of them, compare two, or give one a name.

    VERSION is v2, or an alias. What is shown without one is the active version; `diff` with one name compares that version
    with the active one. `alias revenue@stable v2` has revenue@stable stand for revenue@v2 from now on.

    Needs no Java, but for --data.

    Example: reconcile versions diff revenue@v1 revenue@v3
    """
    if (other is not None) and action not in ("diff", "alias"):
        raise click.UsageError(f"{action} takes one name")
    if action == "alias" and other is None:
        raise click.UsageError("alias needs a version: reconcile versions alias revenue@stable v2")
    if data and action != "diff":
        raise click.UsageError(f"{action} takes no --data")
    if key is not None and not data:
        raise click.UsageError("--key goes with --data")
    target = target_of(repo, environment)
    match action:
        case "list":
            return _list(target, name, kind, form, limit)
        case "alias" | "unalias":
            return _alias(target, name, other, kind, form)
        case "show":
            return _show(_version(target, name, kind), form)
        case _:
            before = _version(target, name, kind)
            after = _version(target, other if other is not None else name.partition("@")[0], kind)
            difference = compare_versions(before, after)
            if not data:
                return _diff(difference, form)
            with project_of(repo, environment) as project:
                by = tuple(one.strip() for one in key.split(",")) if key else ()
                rows = compare_rows(target, project.engine_for(before.found.pipeline), before, after, by, sample)
            return _diff(difference, form, rows)


def _alias(target: Target, text: str, version: str | None, kind: str | None, form: str) -> int:
    name, by = versioned_name(text), getpass.getuser()
    if name.version is None:
        raise ReconcileError("U818", f"{text!r} names no alias", f"{text}@stable")
    found = find_object(target, name, kind)
    if version is None:
        move = take_alias_away(target, found, name.version, by)
    else:
        move = put_alias(target, found, name.version, version.rpartition("@")[2], by)
    if form == "json":
        show_json({"form": "reconciler/alias/v1", "pipeline": found.pipeline, "name": found.name, **asdict(move)})
        return 0
    before = f", and stood for v{move.before}" if move.before not in (None, move.after) else ""
    stands = f"stands for v{move.after}{before}" if move.after is not None else f"is no more{before}"
    click.echo(f"{found.pipeline}.{found.name}@{move.alias} {stands}")
    return 0


def _version(target: Target, text: str, kind: str | None) -> ObjectVersion:
    name = versioned_name(text)
    return read_version(target, find_object(target, name, kind), name.version)


def _list(target: Target, text: str, kind: str | None, form: str, limit: int) -> int:
    name = versioned_name(text)
    if name.version is not None:
        raise ReconcileError("U818", f"{text!r} names one version", f"reconcile versions show {text}")
    found = list_versions(target, find_object(target, name, kind), limit)
    if form == "json":
        show_json(_list_as_json(found))
        return 0
    active = found.found.versions.active
    names = aliases_by_number(found.aliases)

    def state(number: int) -> str:
        return ", ".join([*(["active"] if number == active else []), *names.get(number, ())])

    rows = [
        [f"v{one.number}", one.at, one.by, one.commit[:12], _approval(one), state(one.number)]
        for one in reversed(found.versions)
    ]
    show_table(["VERSION", "RECORDED", "BY", "COMMIT", "APPROVAL", "STATE"], rows)
    if active is None:
        note(f"{found.found.name} is not part of {found.found.pipeline} any more")
    if not found.is_whole:
        note(f"the last {limit}; older ones with --limit")
    return 0


def _list_as_json(found: VersionList) -> dict[str, Any]:
    active = found.found.versions.active
    return {
        "form": "reconciler/versions/v1",
        **_object_as_json(found.found),
        "versions": [{**asdict(one), "version": f"v{one.number}", "active": one.number == active} for one in found.versions],
        "whole": found.is_whole,
        "aliases": {alias: f"v{number}" for alias, number in sorted(found.aliases.items())},
    }


def _object_as_json(found: FoundObject) -> dict[str, Any]:
    return {
        "pipeline": found.pipeline,
        "kind": found.kind,
        "name": found.name,
        "active": None if found.versions.active is None else f"v{found.versions.active}",
    }


def _show(version: ObjectVersion, form: str) -> int:
    if form == "json":
        show_json({"form": "reconciler/version/v1", **_as_json(version)})
        return 0
    summary = version.summary
    active = ", active" if version.found.versions.active == summary.number else ""
    click.echo(paint(f"{version.found.kind} {version.found.pipeline}.{summary.name}@v{summary.number}{active}", "title"))
    for label, value in (
        ("recorded", f"{summary.at}, step {summary.step}"),
        ("by", summary.by),
        ("commit", summary.commit),
        ("approval", _approval(summary)),
        ("plan", summary.plan_digest),
        ("fingerprint", version.fingerprint),
    ):
        if value:
            click.echo(f"{label + ':':<13}{value}")
    click.echo(f"\n{version.sql.strip()}")
    if "canonical" in version.content:
        click.echo(f"\ncanonical:\n{version.content['canonical']}")
    return 0


def _as_json(version: ObjectVersion) -> dict[str, Any]:
    return {
        **_object_as_json(version.found),
        "version": f"v{version.summary.number}",
        **asdict(version.summary),
        "reconciler": version.reconciler,
        "fingerprint": version.fingerprint,
        "definition": version.definition,
        "content": version.content,
    }


def _approval(one: VersionSummary) -> str:
    return f"{one.approval} by {one.approved_by}" if one.approved_by else one.approval


def _diff(difference: VersionDifference, form: str, rows: RowDifference | None = None) -> int:
    names = [f"{one.summary.name}@v{one.summary.number}" for one in (difference.before, difference.after)]
    if form == "json":
        show_json(_diff_as_json(difference) | ({} if rows is None else {"rows": asdict(rows)}))
        return 0
    if difference.same_meaning:
        click.echo(f"{names[0]} and {names[1]} mean the same")
    before, after = (one.sql.strip().splitlines() for one in (difference.before, difference.after))
    for line in difflib.unified_diff(before, after, names[0], names[1], lineterm=""):
        style = {"+": "added", "-": "removed"}.get(line[:1])
        click.echo(paint(line, style) if style else line)
    if difference.columns:
        click.echo("\ncolumns:")
        for column in difference.columns:
            click.echo(_column(column))
    if difference.reads:
        click.echo("\nreads:")
        for relation, columns in difference.reads.items():
            click.echo(_reads(relation, *columns))
    if rows is not None:
        _show_rows(rows)
    return 0


def _show_rows(rows: RowDifference) -> None:
    by = f"by {', '.join(rows.key)}" if rows.key else "as multisets"
    changed = f", {rows.changed} changed" if rows.key else ""
    click.echo(f"\nrows, {by}: {rows.added} added, {rows.removed} removed{changed}")
    for row in rows.sample:
        copies = f" ({row.copies} copies)" if row.copies > 1 else ""
        if row.before is None and row.after is not None:
            click.echo(paint(f"  + {_values(row.after)}{copies}", "added"))
        elif row.after is None and row.before is not None:
            click.echo(paint(f"  - {_values(row.before)}{copies}", "removed"))
        elif row.before is not None and row.after is not None:
            click.echo(paint(f"  ~ {_changed_values(row.before, row.after, rows.key)}", "modified"))
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


def _diff_as_json(difference: VersionDifference) -> dict[str, Any]:
    before, after = difference.before.definition, difference.after.definition
    return {
        "form": "reconciler/version-diff/v1",
        "same_meaning": difference.same_meaning,
        "before": _as_json(difference.before),
        "after": _as_json(difference.after),
        "columns": [asdict(one) for one in difference.columns],
        "reads": {
            name: {"before": None if old is None else list(old), "after": None if new is None else list(new)}
            for name, (old, new) in difference.reads.items()
        },
        "definition": sorted(
            part for part in {*before, *after} if canonical_json(before.get(part)) != canonical_json(after.get(part))
        ),
    }
