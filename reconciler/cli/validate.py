"""`reconcile validate`: every problem of the files at once."""

import click

from reconciler.base.diagnostics import Diagnostic, Severity, diagnostic_to_json, listed, render_diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EXIT_DONE, EXIT_ERROR
from reconciler.base.pasted_commands import in_environment
from reconciler.cli.options import format_option, pipelines_argument, target_of, target_options
from reconciler.cli.output import asked_environment, end_unread, say, show_json
from reconciler.environment.policies import validate_policy
from reconciler.environment.source import pipeline_names, require_pipeline
from reconciler.project.manifest.verdicts import POLICY_FILE
from reconciler.workspace.desired import validate_pipelines


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json")
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str) -> int:
    """Check the files of pipelines (all by default), and policy.yaml, and report every problem with file, line, column and a
    hint.

    Example: reconcile validate student_grades
    """
    end_unread()
    target = target_of(repo, environment)
    known = pipeline_names(target.root)
    for name in pipelines:
        require_pipeline(name, known)
    found = validate_pipelines(target, pipelines or known)
    # Once merged it will judge every plan; a mistake in it would stop them all.
    of_policy = validate_policy(target.root)
    if of_policy:
        found[POLICY_FILE] = of_policy
    everything = [diagnostic for diagnostics in found.values() for diagnostic in diagnostics]
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in everything)
    if form == "json":
        show_json({name: [_as_json(item) for item in listed(items)] for name, items in found.items()})
    else:
        for diagnostic in listed(everything):
            say(render_diagnostic(diagnostic))
        say(f"{len(pipelines or known)} pipeline(s): {errors} error(s), {len(everything) - errors} warning(s)")
    return EXIT_ERROR if errors else EXIT_DONE


def _as_json(item: Diagnostic) -> JsonObject:
    told = diagnostic_to_json(item)
    return told if item.hint is None else {**told, "hint": in_environment(item.hint, asked_environment())}
