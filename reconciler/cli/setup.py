"""`reconcile setup`: what Spark needs on this machine."""

import click

from reconciler.cli.output import note


@click.command()
def command() -> int:
    """Fetch the jars that Spark needs and prepare its quick start, once per installation. Safe to repeat.

    Example: reconcile setup
    """
    from reconciler.engine.spark.setup import install

    install(note)
    return 0
