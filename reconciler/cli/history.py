"""`reconcile history`: what was applied when, and the program as it was."""

from dataclasses import asdict
from typing import Any

import click

from reconciler.base.digest import canonical_json, short
from reconciler.base.secrets.redaction import masked_within
from reconciler.cli.options import format_option, pipelines_argument, target_of, target_options
from reconciler.cli.output import end_unread, note, paint, say, say_painted, say_unchanged, show_json, show_table
from reconciler.connectors.catalogue import shown_settings
from reconciler.environment.commits import short_commit
from reconciler.project.manifest.spark_values import shown_program_settings
from reconciler.service.past_applies import list_applies
from reconciler.sql.shown_definitions import without_connectors
from reconciler.state.rejections import list_rejections
from reconciler.versions.history import PastObject, PastProgram, programs_at, time_of
from reconciler.workspace.pipelines import require_known

_NOT_SHOWN = ("sql", "name")


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json")
@click.option("--at", "at", metavar="TIME", help="Show the whole program of each pipeline as it was then (UTC, ISO 8601).")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="The last N applies, and the last N rejections.",
)
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str, at: str | None, limit: int) -> int:
    """List the applies: when, by whom, from which commit, and what approved them; then the plans that somebody rejected.
    VERSION is the registry version, which `rollback --pipeline` accepts.

    Needs no Java.

    Example: reconcile history tpch --at 2026-01-31
    """
    end_unread()
    target = target_of(repo, environment)
    for name in pipelines:
        if target.registry.head(name) is None:
            require_known(target, name)
    # Also of pipelines that are gone: it may be that which somebody wants to know.
    chosen = tuple(dict.fromkeys(pipelines)) or target.registry.pipelines()
    if at is not None:
        time = time_of(at)
        found = programs_at(target, chosen, time, all_of_them=bool(pipelines))
        if form == "json":
            programs = [_as_json(one) for one in found]
            show_json({"form": "reconciler/program/v1", "at": time.isoformat(), "pipelines": programs})
        else:
            for program in found:
                _show(program)
        return 0
    found_applies = list_applies(target, chosen, limit + 1)
    applies, is_whole = found_applies[-limit:], len(found_applies) <= limit
    found_rejections = list_rejections(target.registry, chosen, limit + 1)
    rejections = found_rejections[-limit:]
    is_whole = is_whole and len(found_rejections) <= limit
    if form == "json":
        listed = {name: [asdict(one) for one in rows] for name, rows in (("applies", applies), ("rejections", rejections))}
        show_json({"form": "reconciler/history/v1", **listed, "whole": is_whole})
        return 0
    show_table(
        ["VERSION", "APPLIED", "PIPELINE", "BY", "COMMIT", "APPROVAL", "WHAT"],
        [
            [str(one.number), one.at, one.pipeline, one.by, short_commit(one.commit), one.allowed_by, one.summary]
            for one in applies
        ],
    )
    if rejections:
        say()
        show_table(
            ["REJECTED", "PIPELINE", "BY", "PLAN", "REASON"],
            [[one.at, one.pipeline, one.by, short(one.plan_digest), one.reason] for one in rejections],
        )
    if not is_whole:
        note(f"the last {limit}; older ones with --limit")
    return 0


def _as_json(program: PastProgram) -> dict[str, Any]:
    objects = [
        {**asdict(one), "version": None if one.version is None else f"v{one.version}", "definition": _definition(one)}
        for one in program.objects
    ]
    return {**asdict(program.applied), "objects": objects}


def _show(program: PastProgram) -> None:
    applied = program.applied
    by = f" by {applied.by}" if applied.by else ""
    commit = f" from {short_commit(applied.commit)}" if applied.commit else ""
    say_painted(paint(f"{applied.pipeline}, applied {applied.at}{by}{commit}", "title"))
    for one in program.objects:
        say()
        say_unchanged(_text(one))


def _definition(one: PastObject) -> dict[str, Any]:
    """What was recorded, without what may be secret."""
    if one.kind == "settings":
        return dict(masked_within(shown_program_settings(one.definition)))
    if one.kind != "connector":
        sql = {"sql": without_connectors(one.definition["sql"])} if "sql" in one.definition else {}
        return {**one.definition, **sql}
    return {**one.definition, "settings": shown_settings(one.definition["settings"])}


def _text(one: PastObject) -> str:
    title = f"-- {one.kind} {one.definition.get('name', one.name)}{'' if one.version is None else f' v{one.version}'}"
    if "sql" in one.definition:
        return f"{title}\n{_definition(one)['sql'].strip()}"
    if one.kind == "connector":
        return f"-- connector {one.name}\n{canonical_json(_definition(one)['settings'])}"
    shown = _definition(one)
    return f"{title}\n{canonical_json({key: value for key, value in shown.items() if key not in _NOT_SHOWN})}"
