"""`reconcile prune`: what retention lets go is removed; what stays, and why."""

from datetime import datetime
from typing import Any

import click

from reconciler.base.errors import EXIT_DONE, EXIT_ERROR, ReconcileError
from reconciler.base.moments import moment_of
from reconciler.cli.options import format_option, pipelines_argument, project_of, target_options
from reconciler.cli.output import end_unread, note, say, show_json, show_table
from reconciler.cli.own_pipelines import own_pipelines_told
from reconciler.plan.impact_words import bytes_words
from reconciler.retention.pruning import Pruning
from reconciler.retention.rules import KnownVersion


@click.command()
@pipelines_argument
@target_options
@format_option("text", "json")
@click.option("--dry-run", is_flag=True, help="Show what a prune would delete. Deletes nothing and needs no Java.")
def command(pipelines: tuple[str, ...], repo: str, environment: str | None, form: str, dry_run: bool) -> int:
    """Delete the rows of inactive versions, and of past steps, that the retention of each pipeline (spec.retention) does
    not keep, and everything that was staged and never published.

    A prune keeps versions that are active, pinned or have an alias, named checkpoints, rows that outputs and other
    pipelines have yet to read, and the definition of every version. Without PIPELINE: all applied pipelines of this
    project.

    Example: reconcile prune sales --dry-run
    """
    if dry_run:
        end_unread()
    found: list[Pruning] = []
    code = EXIT_DONE
    with project_of(repo, environment) as project:
        registry = project.target.registry
        own = () if pipelines else own_pipelines_told(project.target)
        heads = {name: registry.head(name) for name in own}
        applied = tuple(name for name, head in heads.items() if head is not None and head.value.published is not None)
        for name in tuple(dict.fromkeys(pipelines)) or applied:
            pipeline = project.pipeline(name)
            try:
                pruning = pipeline.prune(dry_run=dry_run)
            except ReconcileError as error:
                if len(pipelines) == 1 or len(applied) == 1:
                    raise
                # The others are pruned all the same.
                note(f"{error.code}: {name}: {error.message}")
                code = EXIT_ERROR
                continue
            found.append(pruning)
            if form == "text":
                _show(pruning, dry_run)
    if form == "json":
        show_json({"form": "reconciler/prune/v1", "dry_run": dry_run, "pipelines": [_as_json(one) for one in found]})
    return code


def _show(pruning: Pruning, dry_run: bool) -> None:
    decision, name = pruning.decision, pruning.pipeline
    rows = [
        ["prune", *_shown(one), bytes_words(pruning.bytes.get((one.object, one.number), 0)), pruning.retention[one.object]]
        for one in decision.pruned
    ]
    rows += [["keep", *_shown(one.version), "", ", ".join(one.why)] for one in decision.stays]
    if rows:
        show_table(["WHAT", "VERSION", "ACTIVE UNTIL", "BYTES", "WHY"], rows)
    files = sum(len(folder.files) for folder in pruning.folders)
    size = bytes_words(sum(folder.bytes for folder in pruning.folders))
    if pruning.is_empty:
        say(f"{name}: nothing to prune")
        return
    versions = f"{len(decision.pruned)} version{'' if len(decision.pruned) == 1 else 's'}"
    say(f"{name}: {versions}, {files} file{'' if files == 1 else 's'} of {size} {'would go' if dry_run else 'went'}")
    if decision.first_step is not None:
        say(f"{name}: steps can be read from {decision.first_step} on (steps: {pruning.steps})")
    if dry_run and pruning.is_open:
        note(f"an apply or a step of {name} is unfinished; finish it before you prune")


def _shown(version: KnownVersion) -> list[str]:
    return [f"{version.name}@v{version.number}", _time(version.ended)]


def _time(time: datetime | None) -> str:
    return "" if time is None else moment_of(time)


def _as_json(pruning: Pruning) -> dict[str, Any]:
    decision = pruning.decision
    return {
        "pipeline": pruning.pipeline,
        "step": pruning.step,
        "first_step": decision.first_step,
        "pruned": [
            {
                **_version_as_json(one),
                "bytes": pruning.bytes.get((one.object, one.number), 0),
                "retention": pruning.retention[one.object],
            }
            for one in decision.pruned
        ],
        "kept": [{**_version_as_json(one.version), "why": list(one.why)} for one in decision.stays],
        "folders": [
            {"folder": folder.location, "files": len(folder.files), "bytes": folder.bytes} for folder in pruning.folders
        ],
        "open": pruning.is_open,
    }


def _version_as_json(version: KnownVersion) -> dict[str, Any]:
    kind, name = version.kind, version.name
    return {"kind": kind, "name": name, "version": f"v{version.number}", "active_until": _time(version.ended)}
