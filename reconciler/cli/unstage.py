"""`reconcile unstage`: what was staged is dropped."""

import click

from reconciler.base.errors import EXIT_DONE
from reconciler.cli.options import format_option, project_of, target_options
from reconciler.cli.output import say, show_json
from reconciler.cli.promote import staged_of
from reconciler.state.staged import staged_names


@click.command()
@click.argument("name", required=False, metavar="[[PIPELINE.]NAME[@VERSION]]")
@target_options
@format_option("text", "json")
@click.option("--pipeline", metavar="PIPELINE", help="Everything staged of a pipeline, in place of NAME.")
def command(name: str | None, repo: str, environment: str | None, form: str, pipeline: str | None) -> int:
    """Drop the versions that `reconcile apply --no-promote` staged, all of them together, with their rows.

    The versions keep their numbers, and their definitions stay in `reconcile versions`.

    Example: reconcile unstage revenue@v3
    """
    with project_of(repo, environment) as project:
        found, _ = staged_of(project, name, pipeline)
        which, dropped = found.name, found.unstage()
        if form == "json":
            numbers = {key.partition(":")[2]: f"v{number}" for key, number in sorted(dropped.numbers.items())}
            show_json({"form": "reconciler/unstage/v1", "pipeline": which, "dropped": numbers})
        else:
            say(f"{which}: dropped: {staged_names(dropped)}")
    return EXIT_DONE
