"""`reconcile`: the group of commands, and how errors leave it.

Conventions for every command: results on stdout, everything else on stderr; exit 0 done, 1 error, 2 changes pending or
approval awaited. A command's module is imported when the command is called, so that `plan` pays for nothing else.
"""

import contextlib
import errno
import gc
import importlib
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from reconciler.base.errors import EXIT_ERROR, EXIT_INTERRUPTED, ReconcileError
from reconciler.base.version import __version__
from reconciler.cli.output import note, show_error, show_usage
from reconciler.server.places import is_served

if TYPE_CHECKING:
    from reconciler.engine.protocol import Engine

_OF_THE_SYSTEM = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE}
)
"""What a system may say to any program that reads or writes a file; anything else is a mistake of this one."""

_COMMANDS = {
    "init": "Create a repository with an example that runs.",
    "validate": "Check the files of pipelines; report every problem with its location.",
    "plan": "Show what would change, why, and at what cost.",
    "explain": "Show the lineage of a table or view, and why the plan does or does not include it.",
    "approve": "Record an approval of one plan, for work without a pull request.",
    "reject": "Record that somebody rejects one plan, which stops it.",
    "apply": "Carry out approved plans.",
    "promote": "Activate the versions that `apply --no-promote` staged.",
    "unstage": "Drop the staged versions.",
    "rollback": "Return a table, view, function or whole pipeline to an earlier version.",
    "run": "Ingest from connectors and bring views up to date.",
    "stop": "End a live run after its step, or by force.",
    "pause": "Pause a pipeline: it reads no input until it is resumed.",
    "resume": "Let a paused pipeline read input again.",
    "connector": "Pause or resume one connector, or change its position.",
    "execute": "Run an INSERT or DELETE on a table.",
    "query": "Run a SELECT at the last published step.",
    "status": "Show what pipelines do, what is applied, and what is pending.",
    "events": "Show the events of a pipeline.",
    "versions": "List, show and compare versions of tables, views and functions.",
    "history": "List the applies, and show the program as it was.",
    "prune": "Delete the rows of versions and steps that retention does not keep.",
    "checkpoint": "List, create and restore checkpoints of a pipeline.",
    "serve": "Keep Spark warm for commands; serve the API and the console.",
    "setup": "Fetch the jars that Spark needs, once per installation.",
    "completion": "Print a shell's completion script.",
}


class Commands(click.Group):
    """Finds commands by name without importing the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"reconciler.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # click takes it for a reader of stdout that is gone, and says nothing. `output` knows of readers: this one is of
            # a connection.
            raise ConnectionError(str(error)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from reconciler.base.names import did_you_mean

            hint = did_you_mean(args[0], _COMMANDS) if args else None
            raise click.UsageError(f"{error.message} ({hint})" if hint else error.message, error.ctx) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="reconcile")
def cli() -> None:
    """Declarative GitOps for data pipelines: plan on a pull request, apply on merge.

    Example: reconcile plan student_grades
    """


def main(arguments: list[str] | None = None, engine: "Engine | None" = None) -> None:
    """The console script. Exits the process. `engine` as in `run`: for a command that is run here."""
    words = sys.argv[1:] if arguments is None else arguments
    if is_served(words):
        from reconciler.server.client import run_served

        try:
            served = run_served(words)
        except ReconcileError as error:
            show_error(error, _environment(words))
            served = error.exit_code
        if served is not None:
            os._exit(served)
    code = run_alone(words, engine)
    if "pyspark" not in sys.modules:
        # Nothing is held that must be let go. Taking a large plan apart, object by object, would take as long as a tenth of
        # making it.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run_alone(arguments: list[str], engine: "Engine | None" = None) -> int:
    """Run a command in a process that is there for nothing else, and return its exit code."""
    # A command lives shortly and makes many small values that live as long: looking for rubbish among them costs a tenth.
    gc.set_threshold(200_000, 20, 20)
    sys.excepthook = _show_traceback
    threading.excepthook = lambda raised: _show_traceback(raised.exc_type, raised.exc_value, raised.exc_traceback)
    return run(arguments, engine)


def run(arguments: list[str] | None = None, engine: "Engine | None" = None) -> int:
    """Run a command and return its exit code; errors are shown on stderr, never as a traceback.

    `engine` is for programs that run several commands over one Spark; without it each command starts its own on demand.
    """
    try:
        result: Any = cli.main(args=arguments, prog_name="reconcile", standalone_mode=False, obj=engine)
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except (click.Abort, KeyboardInterrupt):
        note("interrupted")
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        show_usage(error)
        return EXIT_ERROR
    except ReconcileError as error:
        show_error(error, _environment(sys.argv[1:] if arguments is None else arguments))
        return error.exit_code
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM:
            place = f"{error.filename}: " if error.filename else ""
            show_error(ReconcileError("G608", f"{place}{error.strerror}", "it is safe to run the command again"))
            return EXIT_ERROR
        if isinstance(error, UnicodeEncodeError) and (word := _no_text(sys.argv[1:] if arguments is None else arguments)):
            show_error(ReconcileError("U870", f"'{word}' holds bytes that are not UTF-8", "write it in UTF-8"))
            return EXIT_ERROR
        if os.environ.get("RECONCILE_TRACEBACK"):
            raise
        words = (str(error).splitlines() or [""])[0]
        hint = "this is a bug in reconciler; RECONCILE_TRACEBACK=1 shows where. It is safe to run the command again"
        show_error(ReconcileError("U890", f"unexpected error: {type(error).__name__}: {words}", hint))
        return EXIT_ERROR
    return result if isinstance(result, int) else 0


def _show_traceback(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """What Python shows of an exception that nobody handles, here or in another thread: as printable as all else."""
    if error is not None and not issubclass(kind, SystemExit):
        note("".join(traceback.format_exception(kind, error, trace)).rstrip())


def _no_text(arguments: Sequence[str]) -> str | None:
    """The first word that holds bytes that are not UTF-8, shown as `\\xff`. Python has half of a surrogate for each."""
    found = next((word for word in arguments if any("\ud800" <= one <= "\udfff" for one in word)), None)
    return found if found is None else os.fsencode(found).decode("utf-8", "backslashreplace")


def _environment(arguments: Sequence[str]) -> str | None:
    """What `--env` says, where it stands."""
    for number, word in enumerate(arguments):
        if word == "--env":
            return arguments[number + 1] if number + 1 < len(arguments) else None
        if word.startswith("--env="):
            return word.removeprefix("--env=")
    return None
