"""The service over HTTP without Spark, for tests: `python -m tests.rest.program ROOT LOG [FORM [TOKENS]]`.

It writes its address on a line. All is real but the engine, which is `testing.recording`'s on Delta tables: it takes INSERT,
DELETE and SELECT * FROM …, and a view has a row that tells whether what it reads has changed.

A process of it that comes to the boundary which the file ROOT/hold names writes its number into ROOT/held, and stays there
for as long as that file is there: so a test kills whom it likes at that moment.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reconciler.base.boundaries import boundary_from_environment
from reconciler.cli.serve import load_commands
from reconciler.environment.target import open_target
from reconciler.rest.serving import WantedHttp, listener_at, serve_http
from reconciler.rest.work import carry_out
from reconciler.server.listening import Http, Processes, Server, Wanted, only_server
from reconciler.server.places import place_of
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.server.program import no_spark


def main(root: str, _: str, form: str = "nested", tokens: str = "") -> None:
    """Serve until this process is told to end."""
    target = open_target(Path(root), None)
    place = place_of(target.root)
    certificate, _, key = os.environ.get("TLS_OF_TEST", "").partition(":")
    wanted = WantedHttp(
        port=0,
        tokens=Path(tokens) if tokens else None,
        certificate=Path(certificate) if certificate else None,
        key=Path(key) if key else None,
        nests=form != "flat",
    )
    listener = listener_at(wanted)

    boundary = _boundary(target.root)

    def run(arguments: list[str]) -> int:
        return carry_out(arguments, RecordingEngine(DeltaWriter()), boundary)

    # As the real one: what it forks has all modules.
    load_commands()
    http = Http(listener, lambda taken: serve_http(target, place, taken, wanted, boundary))
    with only_server(place):
        print(wanted.address(listener), flush=True)
        ignore = lambda message: None  # noqa: E731
        idle = os.environ.get("IDLE_OF_TEST")
        wanted_server = Wanted({}, False, None if idle is None else float(idle))
        Server(place, wanted_server, Processes(run, no_spark, http), ignore, ignore).serve()


def _boundary(root: Path) -> Callable[[str], None]:
    """Die once where RECONCILE_CRASH_AT says so; stay where ROOT/hold says so."""
    hold, held, died, dies = root / "hold", root / "held", root / "died", boundary_from_environment(os.environ)

    def boundary(name: str) -> None:
        if os.environ.get("RECONCILE_CRASH_AT") == name and not died.exists():
            died.touch()
            dies(name)
        if _named(hold) == name:
            held.write_text(str(os.getpid()))
            while _named(hold) == name:
                time.sleep(0.02)

    return boundary


def _named(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
