"""`reconcile execute`: one INSERT or DELETE."""

import click

from reconciler.cli.options import format_option, pipeline_argument, project_of, target_options
from reconciler.cli.output import say, show_json


@click.command()
@pipeline_argument
@click.argument("sql")
@target_options
@format_option("text", "json")
def command(pipeline: str, sql: str, repo: str, environment: str | None, form: str) -> int:
    """Run one INSERT or DELETE on a table of the applied program, and update every view.

    Example: reconcile execute student_grades "INSERT INTO students VALUES (1, 'Alice')"
    """
    with project_of(repo, environment) as project:
        result = project.pipeline(pipeline).execute(sql)
    if form == "json":
        show_json({"step": result.step, "rows": dict(result.rows), "views": list(result.views)})
    else:
        from reconciler.run.step_words import describe_views

        rows = ", ".join(f"{name}: {count} row(s)" for name, count in sorted(result.rows.items()))
        say(f"{rows}; brought up to date: {describe_views(result)}")
    return 0
