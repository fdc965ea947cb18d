"""`reconcile query`: one SELECT at the published step."""

import csv
import sys

import click

from reconciler.cli.options import format_option, pipeline_argument, project_of, target_options
from reconciler.cli.output import as_text, show_json, show_table


@click.command()
@pipeline_argument
@click.argument("sql")
@target_options
@format_option("table", "json", "csv")
def command(pipeline: str, sql: str, repo: str, environment: str | None, form: str) -> int:
    """Run one SELECT over tables and views, all at the last published step. Never blocks a writer.

    Example: reconcile query student_grades "SELECT * FROM avg_grade_enriched ORDER BY student_name, class"
    """
    with project_of(repo, environment) as project:
        result = project.pipeline(pipeline).select(sql)
    names = [column.name for column in result.columns]
    match form:
        case "json":
            show_json(list(result.as_dictionaries()))
        case "csv":
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(["" if value is None else as_text(value) for value in row] for row in result.rows)
        case _:
            show_table(names, [[as_text(value) for value in row] for row in result.rows])
            click.echo(f"({len(result.rows)} row{'' if len(result.rows) == 1 else 's'})")
    return 0
