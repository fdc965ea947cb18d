"""`reconcile setup`: what Spark needs on this machine."""

from pathlib import Path

import click

from reconciler.cli.output import end_unread, note, say


@click.command()
@click.option("--s3", is_flag=True, help="Also fetch the jars for S3.")
@click.option("--jars", is_flag=True, help="Only print the jars, as spark-submit --jars reads them.")
@click.option("--job", is_flag=True, help="Only print the path of the program for spark-submit.")
def command(s3: bool, jars: bool, job: bool) -> int:
    """Fetch the jars that Spark needs and prepare its quick start, once per installation. Safe to repeat.

    Example: reconcile setup
    """
    if job or jars:
        end_unread()
    if job:
        say(str(Path(__file__).resolve().parents[1] / "job.py"))
    elif jars:
        from reconciler.engine.spark.installation import installation

        place = installation()
        place.require_jars()
        if s3:
            place.require_s3()
        say(",".join(map(str, (*place.jars, *place.jars_for_s3))))
    else:
        from reconciler.engine.spark.setup import install

        install(note, s3)
    return 0
