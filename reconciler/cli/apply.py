"""`reconcile apply`: carry out approved plans."""

import os

import click

from reconciler.cli.main import show_error
from reconciler.cli.options import format_option, pipelines_argument, project_of, target_options
from reconciler.cli.output import ProgressLines, note, show_json
from reconciler.errors import EXIT_DONE, EXIT_ERROR, EXIT_PENDING, ReconcileError
from reconciler.plan.words import summarise
from reconciler.reconcile.applying import ApplyResult
from reconciler.reconcile.boundaries import boundary_from_environment
from reconciler.reconcile.pipelines import require_known


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json")
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str) -> int:
    """Derive the plans of pipelines (all by default) again, check their approval, and carry them out; each after those that
    it reads.

    Killed anywhere, it finishes when run again. A plan that is not approved touches nothing: exit 2.

    Example: reconcile apply student_grades
    """
    outcomes: list[dict[str, object]] = []
    worst = EXIT_DONE
    with project_of(repo, environment) as project:
        for name in pipelines:
            require_known(project.target, name)
        for name in project.in_order(pipelines or project.pipelines()):
            try:
                result = project.pipeline(name).apply(ProgressLines(), note, boundary_from_environment(os.environ))
            except ReconcileError as error:
                show_error(error)
                outcomes.append({"pipeline": name, "outcome": "refused", "code": error.code, "message": error.message})
                worst = error.exit_code if worst != EXIT_ERROR else worst
                continue
            outcomes.append({"pipeline": name, "outcome": _outcome(result), "steps": list(result.steps)})
            if form == "text":
                click.echo(f"{name}: {_describe(result)}")
    if form == "json":
        show_json({"form": "reconciler/apply/v1", "pipelines": outcomes})
    assert worst in (EXIT_DONE, EXIT_ERROR, EXIT_PENDING)
    return worst


def _outcome(result: ApplyResult) -> str:
    return "unchanged" if result.did_nothing else "applied"


def _describe(result: ApplyResult) -> str:
    if result.did_nothing:
        return "nothing to do"
    if result.plan is None or result.plan.changes_nothing:
        return "finished an earlier apply"
    return f"applied: {summarise(result.plan)}"
