"""`reconcile init`: a repository is begun."""

import os
import re
import shlex
from pathlib import Path

import click

from reconciler.base.boundaries import boundary_from_environment
from reconciler.base.version import __version__
from reconciler.cli.output import say
from reconciler.service.new_file_texts import IGNORED, QUERY, Origin
from reconciler.service.new_repository import IGNORE_FILE, PIPELINE_NAME, SCHEMAS_FOLDER, Begun, begin, renew_schemas

_ORIGIN = re.compile(r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+)(?:@(?P<ref>[A-Za-z0-9_][A-Za-z0-9_./-]*))?")


def _name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not PIPELINE_NAME.fullmatch(value):
        raise click.BadParameter("use a lower-case letter, then up to 62 lower-case letters, digits, - or _")
    return value


def _origin(ctx: click.Context, param: click.Parameter, value: str | None) -> Origin | None:
    if value is None:
        return None
    found = _ORIGIN.fullmatch(value)
    if found is None:
        raise click.BadParameter("give the repository of reconciler: OWNER/NAME, or with a tag or commit OWNER/NAME@REF")
    return Origin(found["repository"], found["ref"] or f"v{__version__}")


@click.command()
@click.argument("folder", default=".", metavar="[FOLDER]", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", metavar="PIPELINE", callback=_name, help="The name of the example's pipeline. [the folder's name]")
@click.option(
    "--github",
    "origin",
    metavar="OWNER/NAME[@REF]",
    callback=_origin,
    help="Write the GitHub workflow, too; it installs reconciler from this repository.",
)
@click.option("--schemas", is_flag=True, help="Write only the schemas for editors; replace those of another version.")
def command(folder: Path, name: str | None, origin: Origin | None, schemas: bool) -> int:
    """Create a repository in FOLDER (here): reconcile.yaml, an example that runs at once, .gitignore, and the schemas by
    which editors check what you type. Existing files stay; init is safe to repeat.

    With --name, add the example as another pipeline to the existing repository.

    Example: reconcile init shop
    """
    boundary = boundary_from_environment(os.environ)
    if schemas:
        if name is not None or origin is not None:
            raise click.UsageError("--schemas accepts no other option: it writes only schemas")
        _show(renew_schemas(folder, boundary))
        return 0
    begun = begin(folder, name, origin, boundary)
    _show(begun)
    if begun.pipeline is not None:
        _show_what_next(begun)
    return 0


def _show(begun: Begun) -> None:
    if not begun.wrote and not begun.ignores:
        say("nothing to write: everything is there")
    if begun.ignores:
        say(f"added {IGNORED} to {IGNORE_FILE}")
    for what in _shortly(begun.wrote):
        say(f"wrote {what}")
    for what in _shortly(begun.kept):
        say(f"kept {what}")
    if any(map(_is_schema, begun.kept)):
        say("    hint: those schemas are of another version of reconciler; to replace them: reconcile init --schemas")
    if begun.others:
        say(f"wrote no example, because there are pipelines ({', '.join(begun.others)}); to add it: --name NAME")


def _show_what_next(begun: Begun) -> None:
    words = [] if begun.root == Path.cwd() else [f"cd {shlex.quote(_shown(begun.root))}"]
    name = begun.pipeline
    words += [f"reconcile plan {name}", f"reconcile apply {name}", f"reconcile run {name} --once"]
    say()
    say("now try:")
    for line in [*words, f'reconcile query {name} "{QUERY}"']:
        say(f"  {line}")


def _shown(folder: Path) -> str:
    """A folder as it is named from here."""
    here = Path.cwd()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)


def _shortly(paths: tuple[str, ...]) -> list[str]:
    """Files, and the schemas among them together."""
    schemas = [path for path in paths if _is_schema(path)]
    told = [path for path in paths if not _is_schema(path)]
    return [*told, *([f"{SCHEMAS_FOLDER}/ ({len(schemas)} files, for editors)"] if schemas else [])]


def _is_schema(path: str) -> bool:
    return path.startswith(f"{SCHEMAS_FOLDER}/")
