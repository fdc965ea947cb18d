"""`reconcile connector`: pause, resume or put one connector somewhere."""

import getpass

import click

from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import note
from reconciler.reconcile.pausing import pause_connector, put_connector
from reconciler.reconcile.pipelines import require_known
from reconciler.reconcile.seeking import seek_value


@click.command()
@click.argument("action", type=click.Choice(["pause", "resume", "seek"]), metavar="pause|resume|seek")
@pipeline_argument
@click.argument("connector", metavar="CONNECTOR")
@target_options
@click.option("--to", metavar="VALUE", help="seek: earliest, latest, a version, or offsets as JSON.")
def command(action: str, pipeline: str, connector: str, repo: str, environment: str | None, to: str | None) -> int:
    """Pause or resume one connector, or have an input read on from elsewhere. Needs no Java.

    CONNECTOR is named table.connector, or by its own name where no other has it. What is said of a connector holds over
    restarts. Rows that were read stay, wherever an input is put.

    Example: reconcile connector pause lineitem lineitem.live
    """
    if (action == "seek") != (to is not None):
        raise click.UsageError("seek needs --to VALUE" if to is None else f"{action} takes no --to")
    target, user = target_of(repo, environment), getpass.getuser()
    require_known(target, pipeline)
    if to is not None:
        found, done = put_connector(target, pipeline, connector, seek_value(to), user, note)
        when = "now" if done else "as soon as the live run has finished its step"
        click.echo(f"{found.qualified_name} reads on from {to}, {when}")
        return 0
    found = pause_connector(target, pipeline, connector, action == "pause", user)
    click.echo(f"{found.qualified_name} is {'paused' if action == 'pause' else 'resumed'}")
    return 0
