"""`reconcile query`: one SELECT at one published step."""

import click

from reconciler.base.errors import ReconcileError
from reconciler.cli.options import format_option, pipeline_argument, project_of, target_options
from reconciler.cli.output import as_text, end_unread, note, say, show_csv, show_json, show_rows
from reconciler.versions.history import time_of


@click.command()
@pipeline_argument
@click.argument("sql")
@target_options
@format_option("table", "json", "csv")
@click.option("--at-step", type=click.IntRange(0), metavar="N", help="Read as of this step. [the last published step]")
@click.option("--at", "time", metavar="TIME", help="Read as of the last step that was published before this time.")
def command(
    pipeline: str, sql: str, repo: str, environment: str | None, form: str, at_step: int | None, time: str | None
) -> int:
    """Run one SELECT over tables and views, all at one published step. Never blocks a writer.

    The result says which step was read. NAME@v2 reads a version of a table or view, if spec.versions.reads allows it.

    Example: reconcile query student_grades "SELECT * FROM avg_grade_enriched ORDER BY student_name, class"
    """
    end_unread()
    if at_step is not None and time is not None:
        raise ReconcileError("U850", "--at-step and --at exclude each other", "remove one of them")
    with project_of(repo, environment) as project:
        if time is not None:
            at_step = project.pipeline(pipeline).step_at(time_of(time))
        answer = project.pipeline(pipeline).answer(sql, at_step)
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
    return 0
