"""`reconcile events`: what happened to a pipeline."""

from dataclasses import asdict

import click

from reconciler.base.digest import canonical_json
from reconciler.cli.options import format_option, pipeline_argument, target_of, target_options
from reconciler.cli.output import end_unread, show_json, show_table
from reconciler.state.events import read_events
from reconciler.workspace.pipelines import require_known


@click.command()
@pipeline_argument
@target_options
@format_option("text", "json")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="The last N events.")
def command(pipeline: str, repo: str, environment: str | None, form: str, limit: int) -> int:
    """Show the event log: runs, connectors that start, end, fail and recover, steps, emissions, checkpoints. Oldest first.

    Needs no Java.

    Example: reconcile events tpch --limit 20
    """
    end_unread()
    target = target_of(repo, environment)
    require_known(target, pipeline)
    events = read_events(target.registry, pipeline, limit)
    if form == "json":
        show_json({"form": "reconciler/events/v1", "pipeline": pipeline, "events": [asdict(event) for event in events]})
        return 0
    rows = [
        [
            event.at,
            event.event,
            event.subject,
            "" if event.step is None else str(event.step),
            canonical_json(event.details) if event.details else "",
        ]
        for event in events
    ]
    show_table(["AT", "EVENT", "CONNECTOR", "STEP", "DETAILS"], rows)
    return 0
