"""`reconcile plan`: what would change, in the form asked for; the lock file, if asked for."""

import click

from reconciler import __version__
from reconciler.cli.main import show_error
from reconciler.cli.options import format_option, pipelines_argument, target_of, target_options
from reconciler.cli.output import note, paint, show_json
from reconciler.errors import EXIT_DONE, EXIT_ERROR, EXIT_PENDING, ReconcileError
from reconciler.plan.lock import Matches, with_section
from reconciler.plan.model import Plan
from reconciler.reconcile.approving import describe_lock, read_lock_state
from reconciler.reconcile.pipelines import known_pipelines, require_known
from reconciler.reconcile.planning import plan_pipeline
from reconciler.reconcile.source import lock_path, read_optional, write_text
from reconciler.reconcile.target import Target


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json", "markdown")
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 when something would change.")
@click.option("--write-lock", is_flag=True, help="Write plan.lock, whose merge approves the plan.")
@click.option("--check-lock", is_flag=True, help="Exit 2 when a plan that needs approval has no valid plan.lock.")
def command(
    pipelines: tuple[str, ...],
    repo: str,
    environment: str | None,
    form: str,
    detailed_exitcode: bool,
    write_lock: bool,
    check_lock: bool,
) -> int:
    """Compare the files of pipelines (all by default) with what is applied, and show what would change and why.

    Needs no Java and executes nothing from the repository.

    Example: reconcile plan student_grades --write-lock
    """
    target = target_of(repo, environment)
    for name in pipelines:
        require_known(target, name)
    plans: list[Plan] = []
    failed = False
    for name in pipelines or known_pipelines(target):
        try:
            plans.append(plan_pipeline(target, name))
        except ReconcileError as error:
            failed = True
            show_error(error)
    _show(plans, form)
    if write_lock:
        for plan in plans:
            _write_lock(target, plan)
    stale = check_lock and not all(_lock_is_good(target, plan) for plan in plans)
    if failed:
        return EXIT_ERROR
    changes = detailed_exitcode and not all(plan.is_empty for plan in plans)
    return EXIT_PENDING if stale or changes else EXIT_DONE


def _show(plans: list[Plan], form: str) -> None:
    match form:
        case "json":
            from reconciler.plan.json_form import plan_to_json

            show_json({"form": "reconciler/plans/v1", "plans": [plan_to_json(plan) for plan in plans]})
        case "markdown":
            from reconciler.plan.markdown_form import LIMIT, render_markdown

            share = LIMIT // max(1, len(plans))
            click.echo("\n".join(render_markdown(plan, share - 1) for plan in plans), nl=False)
        case _:
            from reconciler.plan.text_form import render_text

            click.echo("\n".join(render_text(plan, paint) for plan in plans), nl=False)


def _write_lock(target: Target, plan: Plan) -> None:
    path = lock_path(target.root, plan.pipeline)
    before = read_optional(path, target.root)
    after = with_section(before, plan if plan.needs_approval else None, __version__, plan.pipeline, plan.environment)
    if after != before:
        write_text(path, after)
        note(f"{'wrote' if after is not None else 'removed'} {path.relative_to(target.root).as_posix()}")


def _lock_is_good(target: Target, plan: Plan) -> bool:
    if not plan.needs_approval:
        return True
    state = read_lock_state(target, plan)
    if isinstance(state, Matches):
        return True
    note(f"{plan.pipeline}: {describe_lock(state)}; run: reconcile plan {plan.pipeline} --write-lock")
    return False
