"""`reconcile explain`: what a pipeline or a relation is, and why it is or is not in the plan."""

import click

from reconciler.apply.explaining import Explanation, explain
from reconciler.base.errors import EXIT_DONE
from reconciler.cli.options import format_option, pipeline_argument, target_of, target_options
from reconciler.cli.output import end_unread, note, paint, say_painted, show_json, terminal_width
from reconciler.plan.words import summarise


@click.command()
@pipeline_argument
@click.argument("relation", required=False, metavar="[RELATION]")
@target_options
@format_option("text", "json")
def command(pipeline: str, relation: str | None, repo: str, environment: str | None, form: str) -> int:
    """Show the tables and views of a pipeline in dependency order, and why the plan does or does not include each. With
    a table or view, also show its columns and their lineage, its fingerprint, its readers, and where it is stored.

    Needs no Java. If the files have errors, the command explains the applied program.

    Example: reconcile explain student_grades avg_grade
    """
    end_unread()
    found = explain(target_of(repo, environment), pipeline, relation)
    if found.problems:
        note(f"the files of {pipeline} have {len(found.problems)} error(s); run: reconcile validate {pipeline}")
    summary = summarise(found.plan) if found.plan is not None else None
    if form == "json":
        from reconciler.plan.explain.json_form import explanation_to_json

        show_json(explanation_to_json(found.pipeline, found.environment, summary, found.relations, found.relation))
    else:
        say_painted(_text(found, summary), end="")
    return EXIT_DONE


def _text(found: Explanation, summary: str | None) -> str:
    from reconciler.plan.explain.text_form import render_lines, render_relation

    width = terminal_width()
    if found.relation is not None:
        return render_relation(f"{found.pipeline}, {found.environment}", found.relation, paint, width)
    title = f"{found.pipeline} ({found.environment}): {summary or 'no plan, because the files have errors'}"
    return render_lines(title, found.relations, paint, width)
