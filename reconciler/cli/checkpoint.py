"""`reconcile checkpoint`: list, write and restore durable points of a pipeline."""

import getpass

import click

from reconciler.cli.options import format_option, pipeline_argument, project_of, target_options
from reconciler.cli.output import end_unread, note, say, show_json, show_table
from reconciler.service.pipeline import Pipeline
from reconciler.state.checkpoints import Checkpoint


@click.command()
@click.argument("action", type=click.Choice(["list", "create", "restore"]), metavar="list|create|restore")
@pipeline_argument
@click.argument("checkpoint", required=False, metavar="[CHECKPOINT]")
@target_options
@format_option("text", "json")
@click.option("--name", metavar="NAME", help="create: the checkpoint's name. [step-N]")
@click.option("--from", "source", metavar="PIPELINE", help="restore: take another pipeline's checkpoint and copy its rows.")
@click.option(
    "--replace", "replaces", is_flag=True, help="restore: let another pipeline's checkpoint replace what is applied here."
)
@click.option("--approve", "approves", is_flag=True, help="restore: approve the plan of the restore in your own name.")
def command(
    action: str,
    pipeline: str,
    checkpoint: str | None,
    repo: str,
    environment: str | None,
    form: str,
    name: str | None,
    source: str | None,
    replaces: bool,
    approves: bool,
) -> int:
    """List the checkpoints of a pipeline, create one of its last step, or restore one.

    A restore returns tables, views, input positions and the applied program to the checkpoint; the next plan shows how
    the files differ from it. It takes the pipeline over from a live run between two steps, as an apply does. If the
    restore changes the program, it needs approval like a plan: by --approve, or by `reconcile approve` (exit 2 until
    then).

    Example: reconcile checkpoint restore student_grades before-the-change
    """
    _check_usage(action, checkpoint, name, source, replaces, approves)
    with project_of(repo, environment) as project:
        found = project.new_pipeline(pipeline) if source else project.pipeline(pipeline)
        match action:
            case "list":
                end_unread()
                return _show(found, form)
            case "create":
                written = found.checkpoint(name)
                if form == "json":
                    show_json(_as_json(written))
                else:
                    say(f"checkpoint {written.name} of {pipeline} at step {written.step}")
                return 0
        restored = found.restore(
            checkpoint or "",
            source,
            replaces=replaces,
            approve_as=getpass.getuser() if approves else None,
        )
    if form == "json":
        values = {"pipeline": pipeline, "checkpoint": restored.checkpoint, "from": restored.source, "step": restored.step}
        outputs = [
            {"name": one.connector, "address": one.address, "outcome": one.outcome, "reason": one.reason}
            for one in restored.outputs
        ]
        show_json({**values, "relations": list(restored.relations), "outputs": outputs})
    else:
        whose = f" of {restored.source}" if restored.source != pipeline else ""
        say(f"{pipeline} was restored to checkpoint {restored.checkpoint}{whose}, as step {restored.step}")
        note(f"to see how the files differ: reconcile plan {pipeline}")
    return 0


def _check_usage(
    action: str, checkpoint: str | None, name: str | None, source: str | None, replaces: bool, approves: bool
) -> None:
    if (action == "restore") != (checkpoint is not None):
        raise click.UsageError(
            "restore needs the name of a checkpoint" if checkpoint is None else f"{action} accepts no CHECKPOINT"
        )
    if name is not None and action != "create":
        raise click.UsageError(f"{action} accepts no --name")
    if (source is not None or replaces or approves) and action != "restore":
        raise click.UsageError(f"{action} accepts neither --from, --replace nor --approve")
    if replaces and source is None:
        raise click.UsageError("--replace needs --from")


def _show(pipeline: Pipeline, form: str) -> int:
    found = pipeline.checkpoints()
    if form == "json":
        show_json([_as_json(one) for one in found])
    else:
        show_table(["name", "step", "at", "cause"], [[one.name, str(one.step), one.at, one.cause] for one in found])
    return 0


def _as_json(checkpoint: Checkpoint) -> dict[str, object]:
    return {
        "name": checkpoint.name,
        "step": checkpoint.step,
        "at": checkpoint.at,
        "cause": checkpoint.cause,
        "record": checkpoint.record,
        "relations": {key: place.version for key, place in checkpoint.relations.items()},
        "positions": dict(checkpoint.positions),
    }
