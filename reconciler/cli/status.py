"""`reconcile status`: what pipelines are doing."""

import click

from reconciler.cli.main import show_error
from reconciler.cli.options import format_option, pipelines_argument, target_of, target_options
from reconciler.cli.output import show_json, show_table
from reconciler.digest import canonical_json, short
from reconciler.errors import EXIT_DONE, EXIT_ERROR, ReconcileError
from reconciler.reconcile.pipelines import known_pipelines
from reconciler.reconcile.status import PipelineStatus, read_status, status_to_json


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json")
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str) -> int:
    """Show state, applied snapshot, pending changes; of a pipeline that is named, also its relations and connectors.

    Needs no Java.

    Example: reconcile status student_grades --format json
    """
    target = target_of(repo, environment)
    found: list[PipelineStatus] = []
    code = EXIT_DONE
    for name in pipelines or known_pipelines(target):
        try:
            found.append(read_status(target, name))
        except ReconcileError as error:
            show_error(error)
            code = EXIT_ERROR
    if form == "json":
        show_json({"form": "reconciler/status/v1", "pipelines": [status_to_json(status) for status in found]})
    elif pipelines:
        for status in found:
            _show_one(status)
    else:
        rows = [[s.pipeline, s.state.value, _applied(s), s.pending, s.detail] for s in found]
        show_table(["PIPELINE", "STATE", "APPLIED", "PENDING", "DETAIL"], rows)
    return code


def _applied(status: PipelineStatus) -> str:
    applied = status.applied
    return short(applied.digest) if applied is not None and applied.digest is not None else "nothing"


def _show_one(status: PipelineStatus) -> None:
    click.echo(f"{status.pipeline} ({status.environment}): {status.state.value}")
    if status.detail:
        click.echo(f"  {status.detail}")
    if status.applied is not None and status.applied.digest is not None:
        applied = status.applied
        commit = f", commit {applied.commit[:12]}" if applied.commit else ""
        click.echo(f"  applied: {short(applied.digest or '')} at {applied.at} by {applied.by or 'unknown'}{commit}")
        click.echo(f"  approval: {applied.approval.kind}{f' by {applied.approval.by}' if applied.approval.by else ''}")
    click.echo(f"  pending: {status.pending}")
    if status.step is not None:
        click.echo(f"  published step: {status.step}")
    if status.relations:
        click.echo("")
        rows = [[r.name, r.kind, "" if r.rows is None else str(r.rows), _version(r.version)] for r in status.relations]
        show_table(["RELATION", "KIND", "ROWS", "DELTA VERSION"], rows)
    if status.connectors:
        click.echo("")
        lines = [[c.name, c.direction, c.transport, _position(c.position)] for c in status.connectors]
        show_table(["CONNECTOR", "DIRECTION", "TRANSPORT", "POSITION"], lines)


def _version(version: int | None) -> str:
    return "" if version is None else str(version)


def _position(position: object) -> str:
    if position is None:
        return "not started"
    text = canonical_json(position)
    return text if len(text) <= 60 else text[:57] + "..."
