"""`reconcile status`: what pipelines are doing."""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from itertools import count

import click

from reconciler.base.digest import JsonObject, canonical_json, short
from reconciler.base.errors import EXIT_DONE, EXIT_ERROR, ReconcileError
from reconciler.cli.options import format_option, pipelines_argument, target_of, target_options
from reconciler.cli.output import clear_screen, end_unread, say, say_painted, show_error, show_json, show_table
from reconciler.environment.commits import short_commit
from reconciler.environment.progress import in_failed_calls
from reconciler.environment.target import Target
from reconciler.incremental.words import WAYS
from reconciler.plan.impact_words import bytes_words, rows_words, seconds_words
from reconciler.service.status import read_status
from reconciler.service.status_model import ConnectorStatus, PipelineStatus, RunStatus, StreamStatus
from reconciler.versions.allowed import describe_allowed
from reconciler.workspace.pipelines import known_pipelines

_PLAN_EVERY = 10
"""While it watches, status plans in each tenth round only."""


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json", "prometheus")
@click.option("--watch", is_flag=True, help="Refresh every second, until Ctrl-C.")
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str, watch: bool) -> int:
    """Show the state, the applied snapshot and pending changes; with a pipeline, also its relations and connectors.

    Needs no Java.

    Example: reconcile status student_grades --format json
    """
    end_unread()
    target = target_of(repo, environment)
    before: dict[str, PipelineStatus] = {}
    for number in count():
        known = {} if number % _PLAN_EVERY == 0 else before
        before, code = _read(target, pipelines or known_pipelines(target), known)
        if watch and sys.stdout.isatty():
            clear_screen()
        _show(tuple(before.values()), form, named=bool(pipelines))
        if not watch:
            return code
        try:
            time.sleep(1)
        except KeyboardInterrupt:
            return code
        if form == "text":
            say()
    raise AssertionError("unreachable")


def _read(
    target: Target, pipelines: tuple[str, ...], before: Mapping[str, PipelineStatus]
) -> tuple[dict[str, PipelineStatus], int]:
    found: dict[str, PipelineStatus] = {}
    code = EXIT_DONE
    for name in pipelines:
        try:
            found[name] = read_status(target, name, before.get(name))
        except ReconcileError as error:
            show_error(error)
            code = EXIT_ERROR
    return found, code


def _show(statuses: tuple[PipelineStatus, ...], form: str, *, named: bool) -> None:
    if form == "json":
        show_json({"form": "reconciler/status/v1", "pipelines": [asdict(status) for status in statuses]})
    elif form == "prometheus":
        from reconciler.service.prometheus import prometheus_text

        say_painted(prometheus_text(statuses), end="")
    elif named:
        for status in statuses:
            _show_one(status)
    else:
        rows = [[s.pipeline, s.state.value, _applied(s), s.pending, s.detail] for s in statuses]
        show_table(["PIPELINE", "STATE", "APPLIED", "PENDING", "DETAIL"], rows)


def _applied(status: PipelineStatus) -> str:
    applied = status.applied
    return short(applied.digest) if applied is not None and applied.digest is not None else "nothing"


def _show_one(status: PipelineStatus) -> None:
    say(f"{status.pipeline} ({status.environment}): {status.state.value}")
    if status.detail:
        say(f"  {status.detail}")
    if status.applied is not None and status.applied.digest is not None:
        applied = status.applied
        commit = f", commit {short_commit(applied.commit)}" if applied.commit else ""
        say(f"  applied: {short(applied.digest or '')} at {applied.at} by {applied.by or 'unknown'}{commit}")
        say(f"  approval: {describe_allowed(applied.approval.kind, applied.approval.by)}")
    say(f"  pending: {status.pending}")
    for rejection in status.rejections:
        say(f"  rejected: {rejection.words} ({rejection.at})")
    _show_changes(status.pending_diff or {})
    if status.rolled_back:
        say(f"  rolled back: {', '.join(status.rolled_back)}")
    if status.staged:
        say(f"  staged: {status.staged}")
    if status.step is not None:
        say(f"  published step: {status.step}")
    if status.run is not None and status.run.steps:
        _show_steps(status.run)
    if status.relations:
        say()
        rows = [[r.name, r.kind, "" if r.rows is None else str(r.rows), _version(r.version)] for r in status.relations]
        show_table(["RELATION", "KIND", "ROWS", "DELTA VERSION"], rows)
        for relation in status.relations:
            for one in relation.failed_calls:
                say(f"  {relation.name}: {in_failed_calls(one)}")
            if relation.stream is not None:
                say(f"  {relation.name}: {_stream(relation.stream)}")
            elif relation.kind == "stream" and relation.version is not None:
                say(f"  {relation.name}: was computed as a whole; what it remembers is computed with its next step")
    if status.connectors:
        say()
        names = ["CONNECTOR", "DIRECTION", "TRANSPORT", "ACTIVITY", "ROWS", "ROWS/S", "BACKLOG", "REJECTED", "POSITION"]
        show_table(names, [_line(connector) for connector in status.connectors])
        for connector in status.connectors:
            _show_troubles(connector)


def _stream(stream: StreamStatus) -> str:
    """What a stream remembers, and how far its watermark is."""
    told = [f"remembers {rows_words(stream.rows)}, {bytes_words(stream.bytes)}"]
    if stream.watermark is None:
        told.append("no watermark yet")
    else:
        away = stream.behind_seconds or 0.0
        told.append(f"watermark {stream.watermark}, {seconds_words(abs(away))} {'behind' if away >= 0 else 'ahead of'} now")
    if stream.furthest_behind is not None:
        told.append(f"it waits for {stream.furthest_behind}")
    if stream.late:
        told.append(f"{rows_words(stream.late)} came too late")
    if stream.uneven_keys is not None:
        told.append(f"warning: {stream.uneven_keys}")
    return "; ".join(told)


def _show_changes(diff: JsonObject) -> None:
    """What the files would change, by what becomes of what: only what there is."""
    lists = {**(diff.get("program_diff") or {}), **{name: names for name, names in diff.items() if name != "program_diff"}}
    for name, names in sorted(lists.items()):
        if names:
            say(f"    {name.replace('_', ' ')}: {', '.join(names)}")


def _show_steps(run: RunStatus) -> None:
    last, average = run.phases.get("last", {}), run.phases.get("average", {})
    phases = ", ".join(f"{name} {seconds:.2f} s ({average.get(name, 0.0):.2f})" for name, seconds in sorted(last.items()))
    say(f"  last step (average): {phases or 'unknown'}; {run.steps} step(s) since {run.started_at}")
    names = "unknown" if run.without_spark is None else ", ".join(run.without_spark) or "none"
    say(f"  written without Spark in the last step: {names}")
    ways = ", ".join(f"{name} {WAYS[way]}" for name, way in sorted(run.ways.items()) if way in WAYS)
    if ways:
        say(f"  views in the last step: {ways}; the others by their queries")
    say(f"  freshness: {_freshness(run.freshness)}")


def _freshness(of: JsonObject) -> str:
    last = "unknown" if of.get("last") is None else f"{of['last']:.2f} s"
    if not of.get("steps"):
        return last
    return f"{last}; of {of['steps']} step(s): median {of['median']:.2f} s, highest {of['highest']:.2f} s"


def _line(connector: ConnectorStatus) -> list[str]:
    return [
        connector.name,
        connector.direction,
        connector.transport,
        connector.activity,
        str(connector.rows),
        f"{connector.rows_per_second:g}",
        " ".join(f"{part}:{waiting}" for part, waiting in sorted(connector.backlog.items())),
        str(connector.rejected) if connector.rejected else "",
        _position(connector.position),
    ]


def _show_troubles(connector: ConnectorStatus) -> None:
    failing = connector.activity == "failing"
    if connector.reason and not failing:
        say(f"  {connector.name}: {connector.reason}")
    if connector.waiting_since is not None:
        waits = "" if connector.waiting_seconds is None else f" ({connector.waiting_seconds:.1f} s)"
        say(f"  {connector.name}: the oldest change that it has not read is of {connector.waiting_since}{waits}")
    if connector.unmatched:
        deletes = "1 delete" if connector.unmatched == 1 else f"{connector.unmatched} deletes"
        say(f"  {connector.name}: {deletes} found no row")
    if connector.late:
        records = "1 record was" if connector.late == 1 else f"{connector.late} records were"
        say(f"  {connector.name}: {records} late, and left out")
    if connector.unknown_fields:
        fields = ", ".join(
            f"{name} (in {rows} row{'' if rows == 1 else 's'})" for name, rows in connector.unknown_fields.items()
        )
        say(f"  {connector.name}: no column reads {fields}")
    if connector.missing_fields:
        say(f"  {connector.name}: the input has no {', '.join(connector.missing_fields)}")
    if connector.skipped_files:
        files = connector.skipped_files
        say(f"  {connector.name}: leaves out {len(files)} file(s): {', '.join(files)}")
    if connector.files_read_once:
        files = connector.files_read_once
        say(f"  {connector.name}: leaves out later changes of {len(files)} file(s) that it read: {', '.join(files)}")
    if connector.dropped:
        say(f"  {connector.name}: {connector.dropped} deleted row(s) were not sent; its format has no deletes")
    error = connector.last_error
    if error is not None:
        retry = f"; next try at {connector.retry_at}" if connector.retry_at else ""
        when = "is failing, last" if failing else "failed last"
        # Reports of older versions do not have it.
        recovered = f"; it recovered at {error['recovered_at']}" if error.get("recovered_at") else ""
        say(f"  {connector.name} {when} at {error['at']}: {error['code']}: {error['message']}{recovered}{retry}")
        if error["hint"] and failing:
            say(f"    hint: {error['hint']}")


def _version(version: int | None) -> str:
    return "" if version is None else str(version)


def _position(position: object) -> str:
    if position is None:
        return "not started"
    text = canonical_json(position)
    return text if len(text) <= 60 else text[:57] + "..."
