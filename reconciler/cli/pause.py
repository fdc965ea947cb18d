"""`reconcile pause`: a pipeline that is held and takes no input."""

import getpass

import click

from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import say
from reconciler.state.controls import pause
from reconciler.state.stopping import live_run
from reconciler.workspace.pipelines import require_known


@click.command()
@pipeline_argument
@target_options
def command(pipeline: str, repo: str, environment: str | None) -> int:
    """Pause a pipeline: it reads no input until it is resumed. A live run stays, and outputs finish. Needs no Java.

    The pause survives restarts: a run that starts meanwhile starts paused.

    Example: reconcile pause tpch
    """
    target = target_of(repo, environment)
    require_known(target, pipeline)
    pause(target.registry, pipeline, getpass.getuser())
    live = live_run(target.registry, pipeline) is not None
    say(f"{pipeline} pauses after the current step" if live else f"the next run of {pipeline} will start paused")
    return 0
