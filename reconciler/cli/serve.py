"""`reconcile serve`: the server of a repository."""

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

import click

import reconciler
from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.base.long_lives import load_deltalake
from reconciler.cli.options import target_of, target_options
from reconciler.cli.output import note, say
from reconciler.environment.target import Target
from reconciler.rest.serving import LOOPBACK, WantedHttp, listener_at, serve_http
from reconciler.server.background import start_in_background
from reconciler.server.listening import Http, Processes, Server, Taken, Wanted, only_server, stop_server
from reconciler.server.places import Place, place_of
from reconciler.service.engines import shared_spark

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NO_COMMANDS = ("reconciler.testing", "reconciler.job")
_LIBRARIES = (
    "anyio._backends._asyncio",
    "git",
    "jsonschema",
    "pyarrow.compute",
    "pyarrow.fs",
    "pyarrow.parquet",
    "pyspark.testing",
    "sqlglot",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
"""What commands import when they first need it."""
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
    help=f"End after so long without a command, query or pipeline. [{_IDLE_MINUTES:.0f} with --background, else never]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Where the API listens on this machine; 0: any free port. [8080, or the next that is free]",
)
@click.option(
    "--host",
    default=LOOPBACK,
    metavar="ADDRESS",
    help="Where others reach the API; it needs --tokens, --certificate and --key. [this machine alone]",
)
@click.option("--tokens", type=_FILE, metavar="FILE", help="Who may use the API, with which role.")
@click.option("--certificate", type=_FILE, metavar="FILE", help="The certificate of the API, for TLS.")
@click.option("--key", type=_FILE, metavar="FILE", help="The key of the certificate.")
@click.option("--no-api", is_flag=True, help="Serve commands only.")
@click.option("--flat-diff", is_flag=True, help="Tell a plan that awaits approval as clients before 0.322 read it.")
def command(
    repo: str,
    environment: str | None,
    background: bool,
    stopping: bool,
    idle_minutes: float | None,
    port: int | None,
    host: str,
    tokens: Path | None,
    certificate: Path | None,
    key: Path | None,
    no_api: bool,
    flat_diff: bool,
) -> int:
    """Keep one Spark warm for this repository, and run its pipelines for whoever asks over HTTP.

    While it does, `query`, `execute`, `apply`, `run --once`, `promote`, `rollback`, `prune`, `versions diff --data`,
    `versions refresh` and `checkpoint restore` use it: the same commands with the same results, without the wait for Spark.

    Only this machine can reach it, unless --host says more. RECONCILE_OWN_SPARK=1 has a command start a Spark of its own.

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
    service = WantedHttp(host, port, tokens, certificate, key, nests=not flat_diff)
    http = None if no_api else _http(target, place, service)
    where = "" if http is None else f"; API at {service.address(http.listener)}"
    if background:
        return _in_background(place, wanted, http, where)
    with only_server(place):
        ready = f"ready, for {target.root}; commands of this repository use it{where}. Ctrl-C ends it"
        _serve(place, wanted, http, lambda why: note(_no_spark(why) if why else ready))
    return EXIT_DONE


def _http(target: Target, place: Place, wanted: WantedHttp) -> Http:
    """The service over HTTP. Raises ReconcileError (U863) where it can't listen, U864 where it must not."""
    try:
        listener = listener_at(wanted)
    except OSError as error:
        where = f"{wanted.host}, port {wanted.port}"
        message = f"the API can't listen at {where}: {error.strerror}"
        raise ReconcileError("U863", message, "give another --host or --port") from None
    return Http(listener, lambda taken: serve_http(target, place, taken, wanted))


def _serve(place: Place, wanted: Wanted, http: Http | None, ready: Callable[[str], None]) -> None:
    from reconciler.cli.main import run_alone
    from reconciler.rest.work import WORK, carry_out

    def run(arguments: list[str]) -> int:
        # What `serve` was asked for (its --env, say) is nothing that the command was asked for.
        with click.Context(click.Command("served")):
            return carry_out(arguments) if arguments[:1] == [WORK] else run_alone(arguments)

    load_commands()
    Server(place, wanted, Processes(run, http=http), note, ready).serve()


def _in_background(place: Place, wanted: Wanted, http: Http | None, where: str) -> int:
    def serve(ready: Callable[[str], None]) -> None:
        def told(why: str) -> None:
            note(_no_spark(why) if why else "ready")
            ready(why)

        _serve(place, wanted, http, told)

    try:
        process, why = start_in_background(place, serve)
    except Taken as taken:
        say(taken.message)
        note("nothing of that server has changed; to give it other options: `reconcile serve --stop`, then start it anew")
        return EXIT_DONE
    say(f"ready: process {process}{where}; `reconcile serve --stop` ends it")
    if why:
        note(_no_spark(why))
    return EXIT_DONE


def load_commands() -> None:
    """Import all that a command may need, once for all commands."""
    load_deltalake()
    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if not module.name.startswith(_NO_COMMANDS):
            importlib.import_module(module.name)
    for name in _LIBRARIES:
        importlib.import_module(name)


def _no_spark(why: str) -> str:
    return f"commands start a Spark of their own: {why}"
