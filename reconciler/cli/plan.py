"""`reconcile plan`: what would change, in the form asked for; the lock file, if asked for.

Where nothing changed, which is told by a glance at files and head, next to nothing is imported.
"""

import click

from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.cli.options import format_option, pipelines_argument, target_of, target_options
from reconciler.cli.output import choose_colour, end_unread, paint, say_painted
from reconciler.cli.own_pipelines import own_pipelines_told
from reconciler.environment.source import files_of
from reconciler.environment.target import Target
from reconciler.plan.unchanged_text import render_unchanged
from reconciler.workspace.outlines import find_unchanged
from reconciler.workspace.pipelines import require_known


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json", "markdown", "mermaid", "dot")
@click.option("--all", "whole", is_flag=True, help="Text: show every change and step.")
@click.option("--color/--no-color", "colour", default=None, help="Use colours. [on terminals, unless NO_COLOR is set]")
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 if something would change.")
@click.option("--write-lock", is_flag=True, help="Write plan.lock, whose merge approves the plan.")
@click.option("--check-lock", is_flag=True, help="Exit 2 if a plan that needs approval has no valid plan.lock.")
def command(
    pipelines: tuple[str, ...],
    repo: str,
    environment: str | None,
    form: str,
    whole: bool,
    colour: bool | None,
    detailed_exitcode: bool,
    write_lock: bool,
    check_lock: bool,
) -> int:
    """Compare the files of pipelines (all by default) with what is applied, and show what would change and why.

    Needs no Java and executes nothing from the repository.

    Example: reconcile plan student_grades --write-lock
    """
    choose_colour(colour)
    if not write_lock:
        end_unread()
    target = target_of(repo, environment)
    for name in pipelines:
        require_known(target, name)
    names = pipelines or own_pipelines_told(target)
    files: dict[str, dict[str, str]] = {}
    if form == "text" and not write_lock and not check_lock and _all_unchanged(target, names, files):
        say_painted("\n".join(render_unchanged(name, target.environment.name, paint) for name in names), end="")
        return EXIT_DONE
    from reconciler.cli.plan_output import PlanOptions, plan_and_show

    return plan_and_show(target, names, files, PlanOptions(form, whole, detailed_exitcode, write_lock, check_lock))


def _all_unchanged(target: Target, pipelines: tuple[str, ...], into: dict[str, dict[str, str]]) -> bool:
    """Whether the files of all pipelines are known to be those that are applied. Files that are read on the way are kept
    for whoever plans; what can't be told is told by them, too."""
    try:
        for name in pipelines:
            files = files_of(target.root, name)
            if files is not None:
                into[name] = files
            if find_unchanged(target, name, files) is None:
                return False
    except ReconcileError:
        return False
    return True
