"""`reconcile approve`: an approval of one plan digest, recorded in the registry."""

import getpass

import click

from reconciler.apply.giving_approval import record_approval
from reconciler.apply.requiring_approval import missing_approvals
from reconciler.base.digest import short
from reconciler.cli.options import pipeline_argument, target_of, target_options
from reconciler.cli.output import say
from reconciler.plan.words import summarise


@click.command()
@pipeline_argument
@click.argument("digest")
@target_options
@click.option("--by", help="The approver. [the current user]")
@click.option("--comment", default="", help="The reason, for the record.")
@click.option("--override-rejection", "overrides", is_flag=True, help="Approve it although others rejected it.")
def command(
    pipeline: str, digest: str, repo: str, environment: str | None, by: str | None, comment: str, overrides: bool
) -> int:
    """Record an approval of the plan with DIGEST (as `plan` shows it), for work without a pull request.

    The approval is for that plan only: if the files or the registry change, the plan has another digest.

    Example: reconcile approve student_grades 3f9c2d1e8a77
    """
    target = target_of(repo, environment)
    approver = getpass.getuser() if by is None else by
    given = record_approval(target, pipeline, digest, approver, comment, overrides=overrides)
    plan = given.plan
    say(f"approved plan {short(plan.digest)} of {pipeline} in {plan.environment}: {summarise(plan)}")
    for told in given.notes:
        say(told)
    missing = missing_approvals(target, plan)
    if missing is not None:
        say(missing)
    return 0
