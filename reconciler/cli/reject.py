"""`reconcile reject`: a rejection of one plan digest, recorded in the registry."""

import getpass

import click

from reconciler.apply.rejecting import reject_plan
from reconciler.base.digest import short
from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import say
from reconciler.plan.words import summarise


@click.command()
@pipeline_argument
@click.argument("digest")
@target_options
@click.option("--by", help="The person who rejects. [the current user]")
@click.option("--reason", required=True, help="The reason, for the record.")
def command(pipeline: str, digest: str, repo: str, environment: str | None, by: str | None, reason: str) -> int:
    """Record that somebody rejects the plan with DIGEST (as `plan` shows it). Nothing carries it out until that person
    approves it, or somebody overrules the rejection (`reconcile approve --override-rejection`).

    The rejection is of that plan only: if the files or the registry change, the plan has another digest.

    Example: reconcile reject student_grades 3f9c2d1e8a77 --reason "not before Friday"
    """
    target = target_of(repo, environment)
    made = reject_plan(target, pipeline, digest, getpass.getuser() if by is None else by, reason)
    plan = made.plan
    say(f"rejected plan {short(plan.digest)} of {pipeline} in {plan.environment}: {summarise(plan)}")
    for note in made.notes:
        say(f"note: {note}")
    return 0
