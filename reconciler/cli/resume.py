"""`reconcile resume`: a paused pipeline goes on."""

import getpass

import click

from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import say
from reconciler.state.controls import resume
from reconciler.state.stopping import live_run
from reconciler.workspace.pipelines import require_known


@click.command()
@pipeline_argument
@target_options
def command(pipeline: str, repo: str, environment: str | None) -> int:
    """Let a paused pipeline read input again. Starts no run by itself, and needs no Java.

    Example: reconcile resume tpch
    """
    target = target_of(repo, environment)
    require_known(target, pipeline)
    if resume(target.registry, pipeline, getpass.getuser()):
        live = live_run(target.registry, pipeline) is not None
        say(f"{pipeline} goes on" if live else f"{pipeline} is resumed; to run it: reconcile run {pipeline}")
    else:
        say(f"{pipeline} is not paused")
    return 0
