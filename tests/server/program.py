"""A server without Spark, for tests: `python -m tests.server.program ROOT LOG [IDLE_SECONDS]`.

Its commands do what their second word says. In place of Spark a process writes to LOG what it is asked.
"""

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from reconciler.base.errors import ReconcileError
from reconciler.server.listening import Processes, Server, Wanted, only_server
from reconciler.server.messages import receive, send
from reconciler.server.places import place_of


def run(arguments: list[str]) -> int:
    """Do what the second word of a command says."""
    match arguments[1:]:
        case ["show"]:
            mask = os.umask(0)
            print(os.getcwd(), sys.argv[1:], os.environ.get("SHOWN"), oct(mask), os.environ.get("TZ"), time.tzname[0])
            print(sys.stdin.read(), end="")
            print("told", file=sys.stderr)
        case ["encoding"]:
            print(sys.stdout.encoding, sys.stdin.errors, sys.stdout.isatty())
        case ["end", code]:
            return int(code)
        case ["exit", "plainly"]:
            sys.exit()
        case ["exit", code]:
            sys.exit(int(code) if code.isdigit() else code)
        case ["raise"]:
            raise ValueError("an error of the command")
        case ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["wait", file]:
            Path(file).write_text(str(os.getpid()), "ascii")
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
                return 130
        case ["ask"]:
            from reconciler.engine.spark.sharing import offered

            print(offered())
        case ["alive"]:
            from reconciler.state.lease import this_writer

            print(this_writer().process.partition(":")[0], os.getpid(), os.getppid())
    return 0


def no_spark(wanted: Wanted, listener: socket.socket, alive: int, told: int) -> None:
    """Write down what is asked, until nobody is there."""
    log = Path(sys.argv[2])

    def answer(connection: socket.socket) -> None:
        with connection, log.open("a", 1, "ascii") as written:
            while (asked := receive(connection)) is not None:
                name, _ = next(iter(asked.items()))
                written.write(f"{name}\n")
                if name == "close":
                    send(connection, {"quiet": True})
            written.write("gone\n")

    def listen() -> None:
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    os.write(told, b"\n")
    os.close(told)
    os.read(alive, 1)
    with log.open("a", encoding="ascii") as written:
        written.write("ended\n")
    os._exit(0)


def failing_spark(wanted: Wanted, listener: socket.socket, alive: int, told: int) -> None:
    """Say that it can't start, or nothing, and end."""
    if sys.argv[3] == "fails":
        os.write(told, b"U801: no Java\n")
    os._exit(1)


def main(root: str, _: str, idle: str | None = None) -> None:
    """Serve, and say when it begins and ends. IDLE_SECONDS may be `fails` or `dies`: then Spark does not start."""

    def tell(text: str) -> None:
        print(text, flush=True)

    is_failing = idle in ("fails", "dies")
    wanted = Wanted({}, False, None if idle is None or is_failing else float(idle))
    work: Any = failing_spark if is_failing else no_spark
    try:
        with only_server(place_of(Path(root))):
            Server(place_of(Path(root)), wanted, Processes(run, work), tell, lambda why: tell(f"ready {why}")).serve()
    except ReconcileError as error:
        tell(f"{error.code}: {error.message}")
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
