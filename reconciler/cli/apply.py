"""`reconcile apply`: carry out approved plans."""

import click

from reconciler.apply.applying import ApplyResult
from reconciler.apply.staging import StageResult
from reconciler.base.errors import EXIT_DONE, EXIT_ERROR, EXIT_PENDING, ReconcileError
from reconciler.base.names import is_version
from reconciler.cli.options import format_option, pipelines_argument, project_of, target_options
from reconciler.cli.output import say, show_error, show_json
from reconciler.cli.own_pipelines import own_pipelines_told
from reconciler.plan.words import summarise
from reconciler.state.staged import staged_names
from reconciler.workspace.pipelines import require_known


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json")
@click.option("--no-promote", "only_stage", is_flag=True, help="Stage: build new versions of views beside the active ones.")
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str, only_stage: bool) -> int:
    """Plan pipelines (all by default) again, check the approval of each plan, and carry the plans out, upstream pipelines
    first.

    An apply that was killed is finished by the next one. A plan that is not approved changes nothing: exit 2.

    With --no-promote, apply builds and approves new versions of views, but does not activate them. `reconcile promote`,
    or another apply of the same files, activates them without recomputing them.

    Example: reconcile apply student_grades
    """
    outcomes: list[dict[str, object]] = []
    worst = EXIT_DONE
    with project_of(repo, environment) as project:
        for name in pipelines:
            require_known(project.target, name)
        for name in project.in_order(pipelines or own_pipelines_told(project.target)):
            try:
                pipeline = project.pipeline(name)
                if only_stage:
                    staged = pipeline.stage()
                    outcomes.append(_staged_as_json(staged))
                    if form == "text":
                        say(f"{name}: {_describe_staged(staged)}")
                    continue
                result = pipeline.apply()
            except ReconcileError as error:
                show_error(error)
                outcomes.append({"pipeline": name, "outcome": "refused", "code": error.code, "message": error.message})
                worst = error.exit_code if worst != EXIT_ERROR else worst
                continue
            outcomes.append({"pipeline": name, "outcome": _outcome(result), "steps": list(result.steps)})
            if form == "text":
                say(f"{name}: {_describe(result)}")
    if form == "json":
        show_json({"form": "reconciler/apply/v1", "pipelines": outcomes})
    assert worst in (EXIT_DONE, EXIT_ERROR, EXIT_PENDING)
    return worst


def _staged_as_json(result: StageResult) -> dict[str, object]:
    staged = result.staged
    numbers = {key.partition(":")[2]: f"v{number}" for key, number in staged.numbers.items()} if staged is not None else {}
    outcome = "unchanged" if result.did_nothing else "staged"
    return {"pipeline": result.pipeline, "outcome": outcome, "staged": numbers}


def _describe_staged(result: StageResult) -> str:
    if result.staged is None:
        return "nothing to do"
    words = staged_names(result.staged)
    return f"already staged: {words}" if result.did_nothing else f"staged: {words} (reconcile promote {_first(result)})"


def _first(result: StageResult) -> str:
    names = staged_names(result.staged).split(", ") if result.staged is not None else []
    return f"{result.pipeline}.{names[0]}" if is_version(names[0]) else f"--pipeline {result.pipeline}"


def _outcome(result: ApplyResult) -> str:
    return "unchanged" if result.did_nothing else "applied"


def _describe(result: ApplyResult) -> str:
    if result.did_nothing:
        return "nothing to do"
    if result.plan is None or result.plan.changes_nothing:
        return "finished an earlier apply"
    return f"applied: {summarise(result.plan, result.carried_out)}"
