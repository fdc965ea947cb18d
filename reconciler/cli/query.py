"""`reconcile query`: SELECTs, each at one published step."""

import sys

import click

from reconciler.base.errors import ReconcileError
from reconciler.cli.options import format_option, pipeline_argument, project_of, target_options
from reconciler.cli.output import as_text, end_unread, note, say, show_csv, show_json, show_rows
from reconciler.cli.prompt import run_prompt, waited_for
from reconciler.query.querying import Answer
from reconciler.versions.history import time_of


@click.command()
@pipeline_argument
@click.argument("sql", required=False)
@target_options
@format_option("table", "json", "csv")
@click.option("--at-step", type=click.IntRange(0), metavar="N", help="Read as of this step. [the last published step]")
@click.option("--at", "time", metavar="TIME", help="Read as of the last step that was published before this time.")
def command(
    pipeline: str, sql: str | None, repo: str, environment: str | None, form: str, at_step: int | None, time: str | None
) -> int:
    """Run a SELECT over tables and views, all at one published step. Never blocks a writer.

    Without SQL it is a prompt, which takes one SELECT after the other; where stdin is no terminal, they are read from there.

    The result says which step was read. NAME@v2 reads a version of a table or view, if spec.versions.reads allows it.

    Example: reconcile query student_grades "SELECT * FROM avg_grade_enriched ORDER BY student_name, class"
    """
    end_unread()
    if at_step is not None and time is not None:
        raise ReconcileError("U850", "--at-step and --at exclude each other", "remove one of them")
    with project_of(repo, environment) as project:
        asked = project.pipeline(pipeline)
        step = asked.step_at(time_of(time)) if time is not None else at_step

        def show(written: str) -> None:
            _show(waited_for(lambda: asked.answer(written, step), project.interrupt), form, step)

        if sql is not None:
            show(sql)
            return 0
        return run_prompt(pipeline, asked.readable, show, is_on=sys.stdin.isatty() and sys.stdout.isatty())


def _show(answer: Answer, form: str, at_step: int | None) -> None:
    result = answer.rows
    names = [column.name for column in result.columns]
    match form:
        case "json":
            versions = {"versions": dict(answer.versions)} if answer.versions else {}
            show_json({"step": answer.step, **versions}, {"rows": list(result.as_dictionaries())})
        case "csv":
            show_csv(names, [["" if value is None else as_text(value) for value in row] for row in result.rows])
            if at_step is not None:
                note(f"step {answer.step}")
        case _:
            show_rows(names, [[as_text(value) for value in row] for row in result.rows])
            say(f"({len(result.rows)} row{'' if len(result.rows) == 1 else 's'}, step {answer.step})")
    for name, step in answer.versions.items():
        if step != answer.step:
            note(f"{name} as of step {step}")
