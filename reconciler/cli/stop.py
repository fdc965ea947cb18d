"""`reconcile stop`: end a live run."""

import getpass

import click

from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import note, say
from reconciler.state.controls import read_controls
from reconciler.state.stopping import stop_run
from reconciler.workspace.pipelines import require_known


@click.command()
@pipeline_argument
@target_options
@click.option("--force", is_flag=True, help="Drop the current step instead of waiting for it. The next run replays it.")
def command(pipeline: str, repo: str, environment: str | None, force: bool) -> int:
    """Ask the live run to finish its step, write a checkpoint and end; wait until it has ended. Needs no Java.

    Example: reconcile stop tpch
    """
    target = target_of(repo, environment)
    require_known(target, pipeline)
    stopped = stop_run(target, pipeline, getpass.getuser(), force=force, tell=note)
    if not stopped:
        say(f"{pipeline} has no live run: nothing to stop")
    elif read_controls(target.registry, pipeline).paused:
        say(f"{pipeline} is stopped and stays paused; to let its next run read input: reconcile resume {pipeline}")
    else:
        say(f"{pipeline} is stopped")
    return 0
