"""`reconcile connector`: pause, resume or put one connector somewhere, or have it go on without a file."""

import getpass
import os
from typing import Any

import click

from reconciler.base.boundaries import boundary_from_environment
from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import note, say
from reconciler.connectors.transport import Direction
from reconciler.environment.observer import Observer
from reconciler.run.connector_controls import Put, pause_connector, put_connector, skip_file
from reconciler.run.emitting import Place
from reconciler.run.seeking import seek_value
from reconciler.workspace.pipelines import require_known


@click.command()
@click.argument("action", type=click.Choice(["pause", "resume", "seek", "skip"]), metavar="pause|resume|seek|skip")
@pipeline_argument
@click.argument("connector", metavar="CONNECTOR")
@target_options
@click.option(
    "--to", metavar="VALUE", help="seek: earliest, latest, a version, offsets as JSON; an output: snapshot, latest."
)
@click.option("--file", metavar="FILE", help="skip: the file that a file_input leaves out.")
def command(
    action: str, pipeline: str, connector: str, repo: str, environment: str | None, to: str | None, file: str | None
) -> int:
    """Pause or resume one connector, change its position, or skip a file. Needs no Java.

    CONNECTOR is table.connector, or its own name if that name is unique. The setting survives restarts. Rows that were
    read stay, whatever the new position of an input. An output at snapshot sends all rows of its view; one at latest
    sends changes from then on. A skipped file is never read, even if it changes; status and the event log show it.

    Example: reconcile connector pause lineitem lineitem.live
    """
    if (action == "seek") != (to is not None):
        raise click.UsageError("seek needs --to VALUE" if to is None else f"{action} accepts no --to")
    if (action == "skip") != (file is not None):
        raise click.UsageError("skip needs --file FILE" if file is None else f"{action} accepts no --file")
    target, user = target_of(repo, environment), getpass.getuser()
    require_known(target, pipeline)
    observer = Observer(tell=note, boundary=boundary_from_environment(os.environ))
    if to is not None:
        place = seek_value(to)
        put = put_connector(target, pipeline, connector, place, user, observer)
        say(_input_words(put, to) if put.connector.direction is Direction.INPUT else _output_words(put, place))
        return 0
    if file is not None:
        put = skip_file(target, pipeline, connector, file, user, observer)
        what = f"without the changes of {file} since the connector read it" if put.was_read else f"without {file}"
        say(f"{put.connector.qualified_name} goes on {what}, {'now' if put.done else _when(put)}")
        return 0
    found = pause_connector(target, pipeline, connector, action == "pause", user)
    say(f"{found.qualified_name} is {'paused' if action == 'pause' else 'resumed'}")
    return 0


def _when(put: Put) -> str:
    return "after the current step of the live run" if put.live else "with the next run"


def _input_words(put: Put, to: str) -> str:
    return f"{put.connector.qualified_name} reads on from {to}, {'now' if put.done else _when(put)}"


def _output_words(put: Put, place: Any) -> str:
    """What becomes of an output, and what is lost to it, in one line. Only a run sends, whoever put it there."""
    name = put.connector.qualified_name
    if place == Place.SNAPSHOT:
        return f"{name} sends full contents, {_when(put)}"
    match put.lagged_steps:
        case None:
            lost = "it skips the changes that it has not sent, of an unknown number of steps"
        case 0:
            lost = "it had sent all changes"
        case steps:
            lost = f"it skips the changes that it has not sent: its lag was {steps} step{'s' if steps > 1 else ''}"
    return f"{name} sends changes from now on{'' if put.done else f', {_when(put)}'}; {lost}"
