"""`reconcile serve`: the server of a repository."""

import importlib
import os
import pkgutil
import sys
from contextlib import suppress
from pathlib import Path

import click

import reconciler
from reconciler.base.errors import EXIT_DONE, EXIT_ERROR, ReconcileError
from reconciler.cli.options import target_of, target_options
from reconciler.cli.output import note, say
from reconciler.environment.target import Target
from reconciler.server.listening import Server, Taken, Wanted, only_server, stop_server
from reconciler.server.places import Place, place_of
from reconciler.service.engines import shared_spark

_NO_COMMANDS = ("reconciler.testing", "reconciler.job", "reconciler.__main__")
_IDLE_MINUTES = 60.0


@click.command()
@target_options
@click.option("--background", is_flag=True, help="Return when Spark is ready; the server goes on until it is idle.")
@click.option("--stop", "stopping", is_flag=True, help="End the server of this repository after what it is doing.")
@click.option(
    "--idle",
    "idle_minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MINUTES",
    help=f"End after this time without a command. [{_IDLE_MINUTES:.0f} with --background, else never]",
)
def command(repo: str, environment: str | None, background: bool, stopping: bool, idle_minutes: float | None) -> int:
    """Keep one Spark warm for this repository.

    While it does, `query`, `execute`, `apply`, `run --once`, `promote`, `rollback`, `prune`, `versions diff --data` and
    `checkpoint restore` use it: the same commands with the same results, without the wait for Spark.

    Only you can reach it, on this machine. RECONCILE_OWN_SPARK=1 has a command start a Spark of its own.

    Example: reconcile serve --background
    """
    target = target_of(repo, environment)
    place = place_of(target.root)
    if stopping:
        stopped = stop_server(place)
        say("no server of this repository runs" if stopped is None else f"process {stopped} has ended")
        return EXIT_DONE
    settings, needs_s3 = shared_spark(target)
    minutes = idle_minutes if idle_minutes is not None or not background else _IDLE_MINUTES
    wanted = Wanted(settings, needs_s3, None if minutes is None else minutes * 60)
    return _in_background(place, wanted) if background else _serve(target, place, wanted)


def _serve(target: Target, place: Place, wanted: Wanted) -> int:
    from reconciler.cli.main import run

    with only_server(place):
        load_commands()
        ready = f"ready, for {target.root}; commands of this repository use it. Ctrl-C ends it"
        Server(place, wanted, run, note, lambda why: note(_no_spark(why) if why else ready)).serve()
    return EXIT_DONE


def _in_background(place: Place, wanted: Wanted) -> int:
    from reconciler.cli.main import run

    hearing, telling = os.pipe()
    if os.fork() == 0:
        os.close(hearing)
        starter = _Starter(telling)
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        code = EXIT_ERROR
        try:
            with only_server(place):
                _detach(place.log)
                load_commands()
                Server(place, wanted, run, note, lambda why: starter.told(f"{os.getpid()} {why}")).serve()
            code = EXIT_DONE
        except Taken as taken:
            starter.told(f"taken {taken.message}")
        except ReconcileError as error:
            starter.told(f"{error.code} {error.message}" + (f" ({error.hint})" if error.hint else ""))
        os._exit(code)
    os.close(telling)
    with os.fdopen(hearing, encoding="utf-8") as answer:
        # Spark's process holds the other end, too: there is one line, and no end.
        first, _, rest = answer.readline().strip().partition(" ")
    if first == "taken":
        say(rest)
    elif not first.isdigit():
        raise ReconcileError(first or "U860", rest or f"the server did not start; see {place.log}")
    else:
        say(f"ready: process {first}; `reconcile serve --stop` ends it")
        if rest:
            note(_no_spark(rest))
    return EXIT_DONE


def load_commands() -> None:
    """Import all that a command may need, once for all commands."""
    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if not module.name.startswith(_NO_COMMANDS):
            importlib.import_module(module.name)


def _no_spark(why: str) -> str:
    return f"commands start a Spark of their own: {why}"


def _detach(log: Path) -> None:
    """Leave the caller's terminal; what there is to say goes to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    nothing, written = os.open(os.devnull, os.O_RDWR), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for file, replacement in ((0, nothing), (1, written), (2, written)):
        os.dup2(replacement, file)
    os.close(nothing)
    os.close(written)


class _Starter:
    """Whoever started the server and waits: hears one thing, once."""

    def __init__(self, file: int) -> None:
        self._file: int | None = file

    def told(self, text: str) -> None:
        if self._file is None:
            note(text)
            return
        with suppress(OSError):
            os.write(self._file, f"{text}\n".encode("utf-8", "replace"))
        os.close(self._file)
        self._file = None
