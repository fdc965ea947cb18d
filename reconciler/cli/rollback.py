"""`reconcile rollback`: an earlier version in force again, until the files say something else."""

import getpass
import os

import click

from reconciler.apply.applying import ApplyResult
from reconciler.apply.approvals import give_approval
from reconciler.apply.impact import impact_of_planned
from reconciler.apply.planning import Planned
from reconciler.apply.rolling_back import plan_rollback, roll_back
from reconciler.base.boundaries import boundary_from_environment
from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.cli.options import format_option, project_of, target_options
from reconciler.cli.output import (
    ProgressLines,
    choose_colour,
    end_unread,
    note,
    paint,
    say,
    say_painted,
    show_json,
    terminal_width,
)
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.text_form import render_text
from reconciler.project.snapshot.objects import KINDS
from reconciler.versions.looking import versioned_name
from reconciler.versions.rollbacks import Rollback, end_of, rollback_of, rollback_of_pipeline


@click.command()
@click.argument("name", required=False, metavar="[[PIPELINE.]NAME[@VERSION]]")
@target_options
@format_option("text", "json")
@click.option("--pipeline", metavar="PIPELINE", help="A whole pipeline, in place of NAME.")
@click.option(
    "--to", "to", metavar="VERSION|TIME", help="--pipeline: the registry version, as `history` counts them, or a time."
)
@click.option("--end", is_flag=True, help="Let the files hold again, of NAME or of all of --pipeline.")
@click.option("--plan", "--dry-run", "only_plan", is_flag=True, help="Only show the plan.")
@click.option("--approve", "approves", is_flag=True, help="Approve the plan, in your own name, and carry it out.")
@click.option("--kind", type=click.Choice(KINDS), help="What it is, where a name is that of a relation and of a function.")
@click.option("--color/--no-color", "colour", default=None, help="Colours. [on terminals, unless NO_COLOR is set]")
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
    """Give a table, view or function an earlier version, or a pipeline the definitions of an earlier registry version.

    Without a version NAME goes back to the one that was active before. It is a plan as any other: shown, approved (where
    policy asks for that: by --approve, or by somebody's `reconcile approve` once it was asked for, exit 2 until then),
    carried out. Rows that are kept and current are put
    back without a job of Spark. It stays so until the files define the object anew.

    Example: reconcile rollback revenue@v1
    """
    choose_colour(colour)
    if only_plan:
        end_unread()
    with project_of(repo, environment) as project:
        target = project.target
        rollback = _rollback(target, name, pipeline, to, end, kind)
        planned = plan_rollback(target, rollback)
        if form == "text":
            say_painted(_text(target, planned), end="")
        if only_plan:
            if form == "json":
                show_json(_as_json(target, planned, "planned", None))
            return EXIT_DONE
        if approves and (planned.plan.needs_approval or planned.plan.extra_approvals):
            for told in give_approval(target, planned.plan, getpass.getuser(), "").notes:
                note(told)
        engine = project.engine_for(rollback.pipeline)
        boundary = boundary_from_environment(os.environ)
        result = roll_back(target, rollback, Session(engine, report=ProgressLines(), tell=note, boundary=boundary))
        if form == "json":
            show_json(_as_json(target, planned, "unchanged" if result.did_nothing else "applied", result))
        else:
            say(f"{rollback.pipeline}: {_outcome(result)}")
    return EXIT_DONE


def _rollback(
    target: Target, name: str | None, pipeline: str | None, to: str | None, end: bool, kind: str | None
) -> Rollback:
    if (name is None) == (pipeline is None):
        raise _unclear("name either an object or a --pipeline")
    if end:
        if to is not None or (name is not None and "@" in name):
            raise _unclear("--end takes no version: the files say what holds again")
        return end_of(target, versioned_name(name) if name is not None else None, pipeline, kind)
    if name is not None:
        if to is not None:
            raise _unclear("--to goes with --pipeline; an object's version follows its name")
        return rollback_of(target, versioned_name(name), kind)
    if to is None:
        raise _unclear("--pipeline needs --to, or --end")
    return rollback_of_pipeline(target, pipeline or "", to)


def _unclear(message: str) -> ReconcileError:
    hint = "reconcile rollback revenue@v1; reconcile rollback --pipeline sales --to 3; reconcile rollback --end revenue"
    return ReconcileError("U830", message, hint)


def _text(target: Target, planned: Planned) -> str:
    return render_text(planned.plan, paint, terminal_width(), impact_of_planned(target, planned))


def _outcome(result: ApplyResult) -> str:
    if result.plan is None or result.plan.changes_nothing:
        return "finished an earlier apply" if result.finished else "nothing to do"
    return result.plan.rollback


def _as_json(target: Target, planned: Planned, outcome: str, result: ApplyResult | None) -> dict[str, object]:
    return {
        "form": "reconciler/rollback/v1",
        "outcome": outcome,
        "plan": plan_to_json(planned.plan, impact_of_planned(target, planned)),
        "steps": list(result.steps) if result is not None else [],
    }
