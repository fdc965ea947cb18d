"""Options and arguments that several commands share, and the target that they name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reconciler.base.boundaries import boundary_from_environment
from reconciler.environment.source import find_root, pipeline_names
from reconciler.environment.target import Target, open_target

if TYPE_CHECKING:
    from reconciler.service.project import Project

Command = TypeVar("Command", bound=Callable[..., Any])


def _complete_pipeline(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    try:
        names = pipeline_names(find_root(Path(ctx.params.get("repo") or ".")))
    except Exception:  # completion must never disturb the shell
        return []
    return [name for name in names if name.startswith(incomplete)]


def target_options(command: Command) -> Command:
    """--repo and --env."""
    command = click.option("--env", "environment", metavar="NAME", help="An environment of reconcile.yaml. [its default]")(
        command
    )
    return click.option(
        "--repo",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        metavar="DIR",
        help="The repository. [the nearest parent with reconcile.yaml]",
    )(command)


def format_option(*formats: str) -> Callable[[Command], Command]:
    """--format with these choices, the first by default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="The format of the result.",
    )


def pipelines_argument(command: Command) -> Command:
    """[PIPELINE]..."""
    return click.argument("pipelines", nargs=-1, metavar="[PIPELINE]...", shell_complete=_complete_pipeline)(command)


def pipeline_argument(command: Command) -> Command:
    """PIPELINE"""
    return click.argument("pipeline", metavar="PIPELINE", shell_complete=_complete_pipeline)(command)


def project_of(repo: str, environment: str | None) -> "Project":
    """The project that --repo and --env name, on the engine that the command was run with, if any. What it does is told on
    stderr."""
    from reconciler.cli.output import ProgressLines, note
    from reconciler.environment.observer import Observer
    from reconciler.service.project import Project

    observer = Observer(ProgressLines(), note, boundary_from_environment(os.environ))
    return Project(target_of(repo, environment), click.get_current_context().obj, observer)


def target_of(repo: str, environment: str | None) -> Target:
    """The target that --repo and --env name."""
    return open_target(find_root(Path(repo)), environment)
