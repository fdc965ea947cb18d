"""A pipeline whose objects have versions, by the command line over real Delta tables, with the recording engine: what tests
of pins, rollbacks, staging and versions that are kept up to date ask of it."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from reconciler import Project
from reconciler.base.boundaries import Boundary
from reconciler.engine.protocol import ViewBuild
from reconciler.registry.model import Head
from reconciler.registry.protocol import Registry
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

READS = "  versions: {reads: true}\n"


class VersionedShop(CommandLine):
    """A repository and its command line; `engine` records what is computed."""

    settings: ClassVar[str] = ""
    """What stands below `spec` unless it is said."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.engine = RecordingEngine(DeltaWriter())
        super().__init__(root, capsys, self.engine)

    def write(self, program: str, more: str | None = None, policy: str = "allow") -> None:
        """Write the pipeline's files; `more` goes below `spec`."""
        write_shop(self.root, program, policy, self.settings if more is None else more)

    def head(self) -> Head:
        stored = Project.open(self.root).target.registry.head("shop")
        assert stored is not None
        return stored.value

    def built(self) -> list[str]:
        """The views computed since this was asked for last."""
        found = [call.view for call in self.engine.calls if isinstance(call, ViewBuild)]
        self.engine.calls.clear()
        return found

    def states(self, name: str = "total") -> dict[str, str]:
        """Of each version that is listed, its state."""
        lines = self("versions", "list", name).splitlines()
        at = lines[0].index("STATE")
        return {line.split()[0]: line[at:].strip() for line in lines[2:] if line.startswith("v")}

    def active(self, name: str = "total") -> str:
        """The version that is active, and its state."""
        (found,) = [f"{number} {state}" for number, state in self.states(name).items() if state.startswith("active")]
        return found


def made_once(kept: Path, root: Path, make: Callable[[Path], object]) -> Path:
    """A copy at `root` of what `make` makes. It is made for the first test that asks, and lies at `kept` for the others."""
    if not kept.exists():
        beside = kept.with_suffix(".new")
        make(beside)
        beside.rename(kept)
    return Path(shutil.copytree(kept, root))


def once_at(boundary: str, action: Callable[[], object]) -> Boundary:
    """A boundary at which something else happens, the first time that it is come to."""
    has_happened = threading.Event()

    def reached(name: str) -> None:
        if name == boundary and not has_happened.is_set():
            has_happened.set()
            action()

    return reached


@contextmanager
def held_by_a_run(registry: Registry, pipeline: str = "shop") -> Iterator[None]:
    """A live run holds the pipeline, and hands it over when it is asked to."""
    held = threading.Event()

    def run() -> None:
        with hold_lease(registry, pipeline, this_process("run")) as lease:
            held.set()
            while not lease.wanted():
                threading.Event().wait(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    assert held.wait(30)
    yield
    thread.join(60)
    assert not thread.is_alive()
