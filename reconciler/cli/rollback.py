"""`reconcile rollback`: an earlier version in force again, until the files say something else."""

import getpass

import click

from reconciler.apply.applying import ApplyResult
from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.cli.options import format_option, project_of, target_options
from reconciler.cli.output import choose_colour, end_unread, note, paint, say, say_painted, show_json, terminal_width
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.text_form import render_text
from reconciler.project.snapshot.objects import KINDS
from reconciler.service.pipeline import Pipeline
from reconciler.service.planned_change import PlannedChange
from reconciler.service.project import Project
from reconciler.versions.rollbacks import Rollback


@click.command()
@click.argument("name", required=False, metavar="[[PIPELINE.]NAME[@VERSION]]")
@target_options
@format_option("text", "json")
@click.option("--pipeline", metavar="PIPELINE", help="The whole pipeline, in place of NAME.")
@click.option(
    "--to", "to", metavar="VERSION|TIME", help="--pipeline: the registry version, as `history` counts them, or a time."
)
@click.option(
    "--end", is_flag=True, help="End the rollback of NAME, or all rollbacks of --pipeline: the files decide again."
)
@click.option("--plan", "--dry-run", "only_plan", is_flag=True, help="Only show the plan.")
@click.option("--approve", "approves", is_flag=True, help="Approve the plan in your own name, and apply it.")
@click.option(
    "--kind", type=click.Choice(KINDS), help="The kind of object, if a relation and a function have the same name."
)
@click.option("--color/--no-color", "colour", default=None, help="Use colours. [on terminals, unless NO_COLOR is set]")
def command(
    name: str | None,
    repo: str,
    environment: str | None,
    form: str,
    pipeline: str | None,
    to: str | None,
    end: bool,
    only_plan: bool,
    approves: bool,
    kind: str | None,
    colour: bool | None,
) -> int:
    """Return a table, view or function to an earlier version, or a pipeline to the definitions of an earlier registry
    version.

    Without a version, NAME returns to the version that was active before. A rollback is a plan like any other: it is shown,
    approved (if policy requires that: by --approve, or by `reconcile approve` after this command ended with exit 2), and
    carried out. Rows that are kept and current are put back without a Spark job. The rollback holds until the files
    redefine the object.

    Example: reconcile rollback revenue@v1
    """
    choose_colour(colour)
    if only_plan:
        end_unread()
    with project_of(repo, environment) as project:
        found, rollback = _rollback(project, name, pipeline, to, end, kind)
        change = found.rolling_back(rollback)
        if form == "text":
            say_painted(_text(change), end="")
        if only_plan:
            if form == "json":
                show_json(_as_json(change, "planned", None))
            return EXIT_DONE
        if approves and (change.plan.needs_approval or change.plan.extra_approvals):
            for told in change.approve(getpass.getuser()).notes:
                note(told)
        result = change.carry_out()
        if form == "json":
            show_json(_as_json(change, "unchanged" if result.did_nothing else "applied", result))
        else:
            say(f"{found.name}: {_outcome(result)}")
    return EXIT_DONE


def _rollback(
    project: Project, name: str | None, pipeline: str | None, to: str | None, end: bool, kind: str | None
) -> tuple[Pipeline, Rollback]:
    if (name is None) == (pipeline is None):
        raise _unclear("name either an object or a --pipeline")
    if end:
        if to is not None or (name is not None and "@" in name):
            raise _unclear("--end accepts no version: the files decide the version")
        if name is not None:
            return project.find_end_of_rollback(name, kind)
        found = project.new_pipeline(pipeline or "")
        return found, found.end_of_rollback(kind=kind)
    if name is not None:
        if to is not None:
            raise _unclear("--to needs --pipeline; write an object's version after its name")
        return project.find_rollback(name, kind)
    if to is None:
        raise _unclear("--pipeline needs --to, or --end")
    found = project.new_pipeline(pipeline or "")
    return found, found.rollback_of_all(to)


def _unclear(message: str) -> ReconcileError:
    hint = "reconcile rollback revenue@v1; reconcile rollback --pipeline sales --to 3; reconcile rollback --end revenue"
    return ReconcileError("U830", message, hint)


def _outcome(result: ApplyResult) -> str:
    if result.plan is None or result.plan.changes_nothing:
        return "finished an earlier apply" if result.finished else "nothing to do"
    return result.plan.rollback


def _text(change: PlannedChange) -> str:
    rejections = [one.words for one in change.rejections()]
    return render_text(change.plan, paint, terminal_width(), change.impact(), rejections=rejections)


def _as_json(change: PlannedChange, outcome: str, result: ApplyResult | None) -> dict[str, object]:
    return {
        "form": "reconciler/rollback/v1",
        "outcome": outcome,
        "plan": plan_to_json(change.plan, change.impact(), [one.told for one in change.rejections()]),
        "steps": list(result.steps) if result is not None else [],
    }
