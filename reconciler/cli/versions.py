"""`reconcile versions`: look at the versions of tables, views and functions."""

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import click

from reconciler.base.errors import ReconcileError
from reconciler.cli.options import format_option, project_of, target_of, target_options
from reconciler.cli.output import end_unread, note, paint, say, say_painted, say_unchanged, show_json, show_table
from reconciler.cli.version_differences import show_difference
from reconciler.environment.commits import short_commit
from reconciler.environment.target import Target
from reconciler.project.snapshot.objects import KINDS, object_key
from reconciler.query.rows import RowDifference
from reconciler.registry.model import AliasMove
from reconciler.state.pruned import Pruned
from reconciler.state.staged import staged_number
from reconciler.versions.aliases import alias_moves, put_alias, take_alias_away
from reconciler.versions.looking import (
    FoundObject,
    ObjectVersion,
    VersionDifference,
    VersionList,
    aliases_by_number,
    compare_versions,
    find_object,
    list_versions,
    python_sources,
    read_version,
    version_number,
    versioned_name,
)

_ACTIONS: Final = ("list", "show", "diff", "alias", "unalias", "refresh")
_ONLY_SHOW: Final = ("list", "show", "diff")


@click.command()
@click.argument("action", type=click.Choice(_ACTIONS), metavar="|".join(_ACTIONS))
@click.argument("name", metavar="[PIPELINE.]NAME[@VERSION]")
@click.argument("other", required=False, metavar="[NAME@VERSION]")
@target_options
@format_option("text", "json")
@click.option(
    "--kind", type=click.Choice(KINDS), help="The kind of object, if a relation and a function have the same name."
)
@click.option("--data", is_flag=True, help="diff: compare the rows as well. Needs Java.")
@click.option(
    "--key",
    metavar="COLUMN,…",
    help="diff --data: the key that identifies rows. [a table's key; else none: rows as multisets]",
)
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
    """List the versions of a table, view or function, show one, compare two, give one an alias, or recompute one.

    VERSION is v2, or an alias. Without a version, `show` shows the active one; `diff` with one name compares that version
    with the active one. `alias revenue@stable v2` makes revenue@stable an alias of revenue@v2.

    `refresh revenue@v1` recomputes an inactive version of a view once, from the published rows: revenue@v1 reads these
    rows from then on.

    Needs no Java, except for --data and refresh.

    Example: reconcile versions diff revenue@v1 revenue@v3
    """
    if (other is not None) and action not in ("diff", "alias"):
        raise click.UsageError(f"{action} accepts one name")
    if action == "alias" and other is None:
        raise click.UsageError("alias needs a version: reconcile versions alias revenue@stable v2")
    if data and action != "diff":
        raise click.UsageError(f"{action} accepts no --data")
    if key is not None and not data:
        raise click.UsageError("--key needs --data")
    if action in _ONLY_SHOW:
        end_unread()
    target = target_of(repo, environment)
    match action:
        case "list":
            return _list(target, name, kind, form, limit)
        case "alias" | "unalias":
            return _alias(target, name, other, kind, form)
        case "refresh":
            return _refresh(name, repo, environment, form)
        case "show":
            return _show(_version(target, name, kind), form)
        case _:
            before = _version(target, name, kind)
            after = _version(target, _other_name(name, other), kind)
            difference = compare_versions(before, after)
            if not data:
                return _diff(difference, form, None)
            with project_of(repo, environment) as project:
                by = tuple(one.strip() for one in key.split(",")) if key else ()
                rows = project.pipeline(before.found.pipeline).rows_between(before, after, by, sample)
            return _diff(difference, form, rows)


def _refresh(text: str, repo: str, environment: str | None, form: str) -> int:
    name = versioned_name(text)
    if name.version is None:
        raise ReconcileError("U818", f"{text!r} names no version", f"reconcile versions refresh {text}@v0")
    with project_of(repo, environment) as project:
        found = find_object(project.target, name)
        done = project.pipeline(found.pipeline).refresh_version(f"{name.name}@{name.version}")
    if form == "json":
        said = {"pipeline": done.pipeline, "name": done.name, "version": f"v{done.number}"}
        rows = done.refreshed.result.rows
        show_json({"form": "reconciler/refresh/v1", **said, "step": done.refreshed.step, "rows": rows})
        return 0
    say(f"{done.pipeline}.{done.name}@v{done.number} is up to date as of step {done.refreshed.step}")
    return 0


def _alias(target: Target, text: str, version: str | None, kind: str | None, form: str) -> int:
    name, by = versioned_name(text), getpass.getuser()
    if name.version is None:
        raise ReconcileError("U818", f"{text!r} names no alias", f"{text}@stable")
    found = find_object(target, name, kind)
    if version is None:
        move = take_alias_away(target, found, name.version, by)
    else:
        move = put_alias(target, found, name.version, _version_of(target, found, version, kind), by)
    if form == "json":
        show_json({"form": "reconciler/alias/v1", "pipeline": found.pipeline, "name": found.name, **asdict(move)})
        return 0
    before = f", and was v{move.before}" if move.before not in (None, move.after) else ""
    stands = f"is now v{move.after}{before}" if move.after is not None else f"is removed{before}"
    say(f"{found.pipeline}.{found.name}@{move.alias} {stands}")
    return 0


def _version_of(target: Target, found: FoundObject, text: str, kind: str | None) -> str:
    """The version in `v2`, or in `revenue@v2`, which has to be of the same object."""
    if "@" not in text:
        return text
    other = versioned_name(text)
    if find_object(target, other, kind).versions.id != found.versions.id:
        message = f"{text} is a version of another object than {found.pipeline}.{found.name}"
        raise ReconcileError("A521", message, "reconcile versions alias revenue@stable v2")
    return other.version or ""


def _other_name(name: str, other: str | None) -> str:
    """The second name of `diff`: as it is, the same object at another version (`v2`), or the active version."""
    own = name.partition("@")[0]
    if other is None:
        return own
    return f"{own}@{other}" if version_number(other) is not None else other


def _version(target: Target, text: str, kind: str | None) -> ObjectVersion:
    name = versioned_name(text)
    return read_version(target, find_object(target, name, kind), name.version)


def _list(target: Target, text: str, kind: str | None, form: str, limit: int) -> int:
    name = versioned_name(text)
    if name.version is not None:
        raise ReconcileError("U818", f"{text!r} names one version", f"reconcile versions show {text}")
    found = list_versions(target, find_object(target, name, kind), limit)
    is_rolled_back = object_key(found.found.kind, found.found.name) in found.found.head.held
    if form == "json":
        moves = alias_moves(target, found.found)
        show_json({**_list_as_json(found, moves), "rolled_back": is_rolled_back})
        return 0
    active = found.found.versions.active
    names = aliases_by_number(found.aliases)
    words = "active (rolled back)" if is_rolled_back else "active"

    staged = staged_number(found.found.head, object_key(found.found.kind, found.found.name))

    def state(number: int) -> str:
        told = (
            [words] if number == active else ["staged"] if number == staged else ["pruned"] if number in found.pruned else []
        )
        told += ["maintained"] if number in found.maintained else []
        told += [f"refreshed at step {found.refreshed[number]}"] if number in found.refreshed else []
        return ", ".join([*told, *names.get(number, ())])

    rows = [
        [f"v{one.number}", one.at, one.author or one.by, short_commit(one.commit), one.allowed_by, state(one.number)]
        for one in reversed(found.versions)
    ]
    show_table(["VERSION", "RECORDED", "AUTHOR", "COMMIT", "APPROVAL", "STATE"], rows)
    if active is None:
        why = (
            "is rolled back to before it existed"
            if is_rolled_back
            else "is staged, and not active yet"
            if staged is not None and staged == found.found.versions.last == 0
            else f"is no longer part of {found.found.pipeline}"
        )
        note(f"{found.found.name} {why}")
    if not found.is_whole:
        note(f"the last {limit}; older ones with --limit")
    return 0


def _list_as_json(found: VersionList, moves: Sequence[AliasMove]) -> dict[str, Any]:
    active = found.found.versions.active
    staged = staged_number(found.found.head, object_key(found.found.kind, found.found.name))
    return {
        "form": "reconciler/versions/v1",
        **_object_as_json(found.found),
        "staged": None if staged is None else f"v{staged}",
        "versions": [
            {
                **asdict(one),
                "version": f"v{one.number}",
                "active": one.number == active,
                "maintained": one.number in found.maintained,
                "pruned": _pruned_as_json(found.pruned.get(one.number)),
                "refreshed": found.refreshed.get(one.number),
            }
            for one in found.versions
        ],
        "whole": found.is_whole,
        "aliases": {alias: f"v{number}" for alias, number in sorted(found.aliases.items())},
        "alias_moves": [asdict(move) for move in moves],
    }


def _pruned_as_json(pruned: Pruned | None) -> dict[str, Any] | None:
    return None if pruned is None else {"at": pruned.at, "by": pruned.by, "retention": pruned.retention}


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
    say_painted(paint(f"{version.found.kind} {version.found.pipeline}.{summary.name}@v{summary.number}{active}", "title"))
    for label, value in (
        ("recorded", f"{summary.at}, step {summary.step}"),
        ("applied by", summary.by),
        ("author", summary.author),
        ("commit", summary.commit),
        ("approval", summary.allowed_by),
        ("plan", summary.plan_digest),
        ("fingerprint", version.fingerprint),
    ):
        if value:
            say(f"{label + ':':<13}{value}")
    say_unchanged(f"\n{version.sql.strip()}")
    for path, text in sorted(python_sources(version).items()):
        say_unchanged(f"\n{path}:\n{text.rstrip()}")
    if "canonical" in version.content:
        say_unchanged(f"\ncanonical:\n{version.content['canonical']}")
    return 0


def _as_json(version: ObjectVersion) -> dict[str, Any]:
    return {
        **_object_as_json(version.found),
        "version": f"v{version.summary.number}",
        **asdict(version.summary),
        "reconciler": version.reconciler,
        "fingerprint": version.fingerprint,
        "definition": {**version.definition, "sql": version.sql},
        "content": version.content,
    }


def _diff(difference: VersionDifference, form: str, rows: RowDifference | None) -> int:
    if form == "json":
        show_json(_diff_as_json(difference), None if rows is None else {"rows": asdict(rows)})
    else:
        show_difference(difference, rows)
    return 0


def _number(number: int | None) -> str | None:
    return None if number is None else f"v{number}"


def _diff_as_json(difference: VersionDifference) -> dict[str, Any]:
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
        "settings": {name: {"before": old, "after": new} for name, (old, new) in difference.settings.items()},
        "sources": list(difference.sources),
        "parts": {name: {"before": old, "after": new} for name, (old, new) in difference.parts.items()},
        "functions": {
            name: {"before": _number(old), "after": _number(new)} for name, (old, new) in difference.functions.items()
        },
        "definition": list(difference.written_otherwise),
    }
