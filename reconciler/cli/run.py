"""`reconcile run`: a running pipeline."""

import signal
from contextlib import suppress
from typing import NoReturn

import click

from reconciler.base.errors import EXIT_DONE, EXIT_INTERRUPTED
from reconciler.base.long_lives import load_deltalake, look_for_circles
from reconciler.cli.options import format_option, pipeline_argument, project_of, target_options
from reconciler.cli.output import note, say, show_json
from reconciler.run.forced_stops import REPLAYED
from reconciler.state.stopping import end_this_process


@click.command()
@pipeline_argument
@target_options
@format_option("text", "json")
@click.option("--once", is_flag=True, help="Ingest the available input, update every view, and end.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.05),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest time between two looks for new input.",
)
def command(pipeline: str, repo: str, environment: str | None, form: str, once: bool, interval: float) -> int:
    """Ingest from the input connectors and update every view, until stopped or --once.

    Runs the applied program, never the files. Hands over to `reconcile apply` between steps, then goes on. Ctrl-C or
    SIGTERM ends the run after the current step, a second one at once.

    Example: reconcile run tpch --once
    """
    stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        if stopped:
            _end(f"{pipeline} ends at once after a second signal; {REPLAYED}", EXIT_INTERRUPTED)
        stopped = True

    if not once:
        look_for_circles()
        load_deltalake()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    with project_of(repo, environment) as project:
        result = project.pipeline(pipeline).run(
            once=once,
            interval_seconds=interval,
            stop=lambda: stopped,
            abandon=lambda why: _end(why, EXIT_DONE),
        )
    for connector, reason in sorted(result.skipped.items()):
        note(f"{connector}: {reason}")
    if form == "json":
        steps = [{"step": s.step, "rows": dict(s.rows), "views": list(s.views)} for s in result.steps]
        show_json(
            {
                "pipeline": pipeline,
                "steps": steps,
                "skipped": result.skipped,
                "step_count": result.step_count,
                "row_count": result.row_count,
            }
        )
    else:
        say(f"{pipeline}: {result.step_count} step(s), {result.row_count} row(s) ingested")
    return 0


def _end(why: str, code: int) -> NoReturn:
    """End this process now, and say why: the result that a run shows at its end does not come any more."""
    # Whoever is in the middle of a line can't be told in between; that keeps nobody from ending.
    with suppress(Exception):
        note(why)
    end_this_process(code)
