"""The shop whose outputs are put somewhere: runs over an engine that can break, and what its sinks hold."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Check, Emission, Emitted, unchecked
from reconciler.environment.observer import Observer
from reconciler.environment.session import Session
from reconciler.run.connector_controls import Put, put_connector
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.controls import seek_connector
from reconciler.state.events import read_events
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.recording_sinks import Message
from reconciler.testing.tables import Contents
from tests.engine.delta_writer import DeltaWriter
from tests.shops.emissions import Shop, files, lake, topic

SINKS: dict[str, Callable[[], str]] = {"v.lake": lake, "v.files": files, "v.topic": topic}
EVERY_SINK = pytest.mark.parametrize("output", list(SINKS))


class VacuumedWriter(DeltaWriter):
    """Real Delta tables; a version that can't be read any more is an error of the engine."""

    code = "X730"

    def read(self, location: str, version: int) -> Contents:
        try:
            return super().read(location, version)
        except Exception as error:
            # deltalake has several classes for a log and for files that are not there.
            raise EngineError(self.code, f"the table at {location} has no version {version}", "vacuum") from error


class FilesGone(VacuumedWriter):
    """The same, as it may be told where the log still knows the version."""

    code = "X714"


@dataclass(slots=True)
class HalfWriting(RecordingEngine):
    """An engine that fails in the middle of emissions of outputs that `breaking` names: a sink that keeps transactions has
    the whole then, any other the first half of it."""

    breaking: set[str] = field(default_factory=set)

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        emitted = RecordingEngine.emit(self, emission, check)
        if emission.connector in self.breaking:
            given = self.sinks.messages.get(emission.connector)
            if given:
                half = given[-1].inserted[: len(given[-1].inserted) // 2]
                given[-1] = replace(given[-1], inserted=half, deleted=())
            raise EngineError("X750", f"connector {emission.connector}: the sink went away")
        return emitted


class Sea(Shop):
    """The shop with an engine that can break, and runs instead of single emissions."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.engine: HalfWriting = HalfWriting(VacuumedWriter(), answers=self.answers)

    @property
    def target(self) -> Any:
        return self.pipeline.target

    def run(self, boundary: Boundary = no_boundary) -> str:
        """A run until nothing is new; the code that it ended with, if it did."""
        try:
            run_pipeline(self.target, "shop", Session(self.engine, boundary=boundary), Pace(once=True))
        except EngineError as error:
            return error.code
        return ""

    def seek(self, output: str, to: Any, boundary: Boundary = no_boundary) -> Put:
        return put_connector(self.target, "shop", output, to, "somebody", Observer(boundary=boundary))

    def wish(self, output: str, to: Any) -> None:
        seek_connector(self.target.registry, "shop", output, to, "somebody")

    def emissions(self, output: str) -> list[Emission]:
        return [one for one in self.engine.calls if isinstance(one, Emission) and one.connector == output]

    def wipe(self, output: str) -> None:
        shutil.rmtree(self.root / "lake", ignore_errors=True)
        self.engine.sinks.messages.pop(output, None)

    def held(self, output: str) -> list[int]:
        """What somebody who follows a sink from its beginning has now: for messages, those of a serial once, the last time
        that it was written."""
        if output == "v.lake":
            return [] if self.commits() is None else self.lake()
        last: dict[int, Message] = {}
        for message in self.messages(output):
            last[message.serial] = message
        found: list[int] = []
        for _, message in sorted(last.items()):
            found = [] if message.replaces else found
            for (gone,) in message.deleted:
                if gone in found:
                    found.remove(gone)
            found += [row[0] for row in message.inserted]
        return sorted(found)

    def sought(self) -> list[dict[str, Any]]:
        found = read_events(self.target.registry, "shop")
        return [dict(event.details) for event in found if event.event == "connector put at a position"]


def lagging(sea: Sea, output: str) -> None:
    """The output was sent (1, 2), and nothing of three steps since: 4 is pinned, 5 and then 1 are not."""
    sea.rows(1, 2)
    sea.apply(SINKS[output]())
    assert sea.run() == ""
    sea.engine.sinks.failing.add(output)
    sea.step(1, 2, 4)
    assert sea.run() == "X750"
    sea.step(1, 2, 4, 5)
    sea.step(2, 4, 5)
    sea.engine.sinks.failing.clear()


def vacuum(sea: Sea, relation: str = "v", log: bool = True) -> None:
    """Take all versions of a relation but the newest: log and files, or the files alone."""
    folder = sea.root / "warehouse" / sea.head().published.relations[relation].location  # type: ignore[union-attr]
    table = DeltaTable(str(folder))
    needed = {Path(uri).name for uri in table.file_uris()}
    files = [path for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts and path.name not in needed]
    assert files, "there is something to take"
    for path in files:
        path.unlink()
    if log:
        table.create_checkpoint()
        for path in (folder / "_delta_log").glob("*.json"):
            if int(path.stem) < table.version():
                path.unlink()
