"""Nothing is emitted that the stored head does not hold as pinned: not what a step or an apply publishes, nor what came
while a sink was away. Else a process that dies between the sink's commit and the head's could not repeat the same."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.engine.protocol import Check, Emission, Emitted, unchecked
from reconciler.environment.session import Session
from reconciler.registry.model import Sending
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.recorded import PIPELINE, YAML, feed, head_of, open_project, write_project

OUTPUT = "over_a.out"
WITH_OUTPUT = (
    YAML
    + """\
    - name: out
      view: over_a
      transport: {name: file_output, config: {path: out}}
      format: {name: json}
"""
)


@dataclass(slots=True)
class LooksAtTheHead(RecordingEngine):
    """Writes down what it was asked to emit, and what the stored head holds as pinned at that moment."""

    pinned: Callable[[], Sending | None] = lambda: None
    looked: list[tuple[Sending, Sending | None]] = field(default_factory=list)

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        before = None if emission.before is None else emission.before.version
        asked = Sending(
            before, emission.after.version, emission.replaces, emission.step, emission.transaction.version, emission.id
        )
        self.looked.append((asked, self.pinned()))
        # Not by super(): a dataclass with slots is another class than the one that a method was written in.
        return RecordingEngine.emit(self, emission, check)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write_project(tmp_path, yaml=WITH_OUTPUT)
    open_project(tmp_path).apply()
    return tmp_path


@pytest.fixture
def engine(shop: Path) -> LooksAtTheHead:
    return LooksAtTheHead(DeltaWriter(), pinned=lambda: pinned(shop))


def pinned(root: Path) -> Sending | None:
    """What the stored head says that the output is to send."""
    return head_of(root).outputs[OUTPUT].sending


def test_an_apply_pins_in_the_commit_that_switches(shop: Path) -> None:
    published = head_of(shop).published
    assert published is not None
    found = pinned(shop)
    assert found is not None
    assert found == Sending(None, published.relations["over_a"].version, False, published.step, 1, found.id)
    assert found.id


def test_a_step_pins_in_the_commit_that_publishes_it(shop: Path, engine: LooksAtTheHead) -> None:
    open_project(shop, engine).run_once()
    feed(shop, "left", "one", {"id": 1})
    at_publication: list[Sending | None] = []

    def look(boundary: str) -> None:
        if boundary == "step:recorded":
            at_publication.append(pinned(shop))

    target = open_project(shop, engine).target
    run_pipeline(target, PIPELINE, Session(engine, boundary=look), Pace(once=True))
    (first, second) = engine.looked
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert at_publication == [second[0]]
    assert pinned(shop) is None


def test_what_came_while_a_sink_was_away_is_pinned_before_it_is_written(shop: Path, engine: LooksAtTheHead) -> None:
    engine.sinks.failing.add(OUTPUT)
    for number in (1, 2):
        feed(shop, "left", str(number), {"id": number})
        with pytest.raises(EngineError, match="reached"):
            open_project(shop, engine).run_once()
    engine.looked.clear()
    engine.sinks.failing.clear()
    open_project(shop, engine).run_once()
    assert [asked.step for asked, _ in engine.looked] == [0, 2], "what was pinned, then the net of both steps"
    assert [asked for asked, _ in engine.looked] == [held for _, held in engine.looked]
    assert fold(OUTPUT) in head_of(shop).outputs
    assert pinned(shop) is None
