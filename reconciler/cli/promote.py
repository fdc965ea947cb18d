"""`reconcile promote`: what was staged becomes active."""

import click

from reconciler.apply.applying import ApplyResult
from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.cli.options import format_option, project_of, target_options
from reconciler.cli.output import choose_colour, end_unread, paint, say, say_painted, show_json, terminal_width
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.text_form import render_text
from reconciler.registry.model import Staged
from reconciler.service.pipeline import Pipeline
from reconciler.service.planned_change import PlannedChange
from reconciler.service.project import Project
from reconciler.state.staged import staged_names


@click.command()
@click.argument("name", required=False, metavar="[[PIPELINE.]NAME[@VERSION]]")
@target_options
@format_option("text", "json")
@click.option("--pipeline", metavar="PIPELINE", help="Everything staged of a pipeline, in place of NAME.")
@click.option("--plan", "--dry-run", "only_plan", is_flag=True, help="Only show the plan.")
@click.option("--color/--no-color", "colour", default=None, help="Use colours. [on terminals, unless NO_COLOR is set]")
def command(
    name: str | None,
    repo: str,
    environment: str | None,
    form: str,
    pipeline: str | None,
    only_plan: bool,
    colour: bool | None,
) -> int:
    """Activate the versions that `reconcile apply --no-promote` staged, all of them together.

    A view whose inputs have not changed since is not recomputed; others are, and the command says so. The approval for
    staging counts for promoting, too.

    Example: reconcile promote revenue@v3
    """
    choose_colour(colour)
    if only_plan:
        end_unread()
    with project_of(repo, environment) as project:
        found, staged = staged_of(project, name, pipeline)
        change = found.promotion(staged)
        if form == "text":
            rejections = [one.words for one in change.rejections()]
            say_painted(render_text(change.plan, paint, terminal_width(), change.impact(), rejections=rejections), end="")
        if only_plan:
            if form == "json":
                show_json(_as_json(change, "planned", staged, None))
            return EXIT_DONE
        result = change.carry_out()
        if form == "json":
            show_json(_as_json(change, "unchanged" if result.did_nothing else "promoted", staged, result))
        else:
            say(f"{found.name}: {'nothing to do' if result.did_nothing else f'promoted: {staged_names(staged)}'}")
    return EXIT_DONE


def staged_of(project: Project, name: str | None, pipeline: str | None) -> tuple[Pipeline, Staged]:
    """What NAME or --pipeline names: the pipeline, and what is staged of it. Raises ReconcileError (U840), NotFound."""
    if (name is None) == (pipeline is None):
        hint = "reconcile promote revenue@v3; reconcile promote --pipeline sales"
        raise ReconcileError("U840", "name either a staged version or a --pipeline", hint)
    if name is not None:
        return project.find_staged(name)
    found = project.new_pipeline(pipeline or "")
    return found, found.staged()


def _as_json(change: PlannedChange, outcome: str, staged: Staged, result: ApplyResult | None) -> dict[str, object]:
    return {
        "form": "reconciler/promote/v1",
        "outcome": outcome,
        "versions": {key.partition(":")[2]: f"v{number}" for key, number in sorted(staged.numbers.items())},
        "plan": plan_to_json(change.plan, change.impact(), [one.told for one in change.rejections()]),
        "steps": list(result.steps) if result is not None else [],
    }
