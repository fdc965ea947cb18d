"""A pipeline whose view `v` has the rows that a test says, and sinks of every kind; over the recording engine and real Delta
tables."""

from collections.abc import Callable
from pathlib import Path

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.engine.protocol import ColumnType
from reconciler.environment.session import Session
from reconciler.plan.model import Outcome
from reconciler.project.program.model import Program
from reconciler.registry.model import Head
from reconciler.run.emitting import EmissionResult, emit_pinned, pin_emissions
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.applied import read_snapshot
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.recording_sinks import Message
from reconciler.testing.tables import Contents
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

PROGRAM = """\
CREATE TABLE t (id BIGINT);
CREATE MATERIALIZED VIEW v AS SELECT id FROM t;
"""
OTHER_QUERY = PROGRAM.replace("SELECT id FROM t", "SELECT id FROM t WHERE id > 1")
COLUMNS = (ColumnType("id", "bigint"),)


def connector(name: str, transport: str, where: str, more: str = "") -> str:
    config = {"delta_table_output": "uri", "file_output": "path", "kafka_output": "bootstrap.servers: 'h:1', topic"}[
        transport
    ]
    form = "" if transport == "delta_table_output" else ", format: {name: json}"
    return f"    - {{name: {name}, view: v, transport: {{name: {transport}, config: {{{config}: {where}}}}}{form}{more}}}\n"


def lake(where: str = "lake", more: str = "") -> str:
    """A sink that keeps transactions and can delete."""
    return connector("lake", "delta_table_output", where, more)


def files(more: str = "") -> str:
    """A sink that takes everything, as often as it is given."""
    return connector("files", "file_output", "out", more)


def topic(more: str = "") -> str:
    """Another one that takes everything."""
    return connector("topic", "kafka_output", "totals", more)


class Shop:
    """A pipeline whose view `v` has the rows that a test says, and what its outputs have written."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.answers: dict[str, Contents] = {}
        self.engine = RecordingEngine(DeltaWriter(), answers=self.answers)
        self.rows()
        self._inserted = 0

    @property
    def pipeline(self) -> Pipeline:
        return Project.open(self.root, engine=self.engine).pipeline("shop")

    def rows(self, *ids: int) -> None:
        """What the view gives when it is computed next."""
        self.answers["v"] = Contents(COLUMNS, tuple((one,) for one in ids))

    def apply(self, *connectors: str, program: str = PROGRAM, more: str = "") -> dict[str, Outcome]:
        """Apply; what the plan said of each connector."""
        listed = "  connectors:\n" + "".join(connectors) if connectors else ""
        write_shop(self.root, program, more=more + listed)
        plan = self.pipeline.apply().plan
        assert plan is not None
        return {one.connector: one.outcome for one in plan.connectors}

    def step(self, *ids: int) -> None:
        """A step after which the view has these rows."""
        self.rows(*ids)
        self._inserted += 1
        self.pipeline.execute(f"INSERT INTO t VALUES ({self._inserted})")

    def head(self) -> Head:
        stored = self.pipeline.target.registry.head("shop")
        assert stored is not None
        return stored.value

    def program(self) -> Program:
        applied = self.head().applied
        assert applied is not None
        assert applied.record is not None
        return read_snapshot(self.pipeline.target, "shop", applied.record).program

    def emit(
        self,
        boundary: Boundary = no_boundary,
        leave_out: tuple[str, ...] = (),
        check: Callable[[], None] = lambda: None,
    ) -> dict[str, EmissionResult]:
        """Write what is pinned, then what may be pinned after that, as a run does step by step."""
        target = self.pipeline.target
        stored = target.registry.head("shop")
        assert stored is not None
        pinned = pin_emissions(stored.value, self.program())
        stored = target.registry.replace_head(stored.token, pinned, f"pin {stored.token}")
        head, results = emit_pinned(
            target, "shop", self.program(), pinned, Session(self.engine, boundary=boundary, check=check), leave_out
        )
        target.registry.replace_head(stored.token, head, f"emit {stored.token}")
        return {one.connector: one for one in results}

    def lake(self, where: str = "lake") -> list[int]:
        """The rows of the Delta sink."""
        version = self.engine.writer.latest(str(self.root / where))
        assert version is not None
        return sorted(row[0] for row in self.engine.writer.read(str(self.root / where), version).rows)

    def commits(self, where: str = "lake") -> int | None:
        return self.engine.writer.latest(str(self.root / where))

    def messages(self, name: str = "v.files") -> list[Message]:
        return self.engine.sinks.messages.get(name, [])


def counts(result: EmissionResult) -> tuple[int, int]:
    assert result.error is None
    return result.inserted, result.deleted
