"""Two pipelines over real Delta tables and without Spark: `sales`, and `grades`, which reads it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Built, ViewBuild
from reconciler.environment.session import Session
from reconciler.registry.model import Head
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter

SALES = """\
CREATE TABLE orders (id BIGINT, customer STRING, price INT);
CREATE MATERIALIZED VIEW revenue AS SELECT customer, SUM(price) AS total, COUNT(*) AS number FROM orders GROUP BY customer;
"""
GRADES = """\
CREATE TABLE limits (customer STRING, least INT);
CREATE MATERIALIZED VIEW good AS
SELECT r.customer FROM sales.revenue r JOIN limits l ON l.customer = r.customer WHERE r.total >= l.least;
CREATE MATERIALIZED VIEW everybody AS SELECT customer FROM sales.orders;
CREATE MATERIALIZED VIEW bounds AS SELECT MAX(least) AS most FROM limits;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: {name}}}
spec:
  bootstrap_policy: {policy}
"""


@dataclass(slots=True)
class RefusingEngine(RecordingEngine):
    """The recording engine, which refuses to compute some views."""

    refused: set[str] = field(default_factory=set)

    def build_view(self, build: ViewBuild) -> Built:
        if build.view in self.refused:
            raise EngineError("X703", f"view {build.view} divides by zero")
        return RecordingEngine.build_view(self, build)


@dataclass(slots=True)
class Pair:
    """A repository with both pipelines."""

    root: Path
    engine: RefusingEngine
    policy: str = "allow"

    def write(self, name: str, program: str) -> None:
        """A pipeline's files."""
        folder = self.root / "pipelines" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pipeline.yaml").write_text(YAML.format(name=name, policy=self.policy))
        (folder / "program.sql").write_text(program)

    @property
    def project(self) -> Project:
        """With all state read anew."""
        return Project.open(self.root, engine=self.engine)

    def pipeline(self, name: str) -> Pipeline:
        return self.project.pipeline(name)

    def apply(self, *names: str) -> None:
        for name in names:
            self.pipeline(name).apply()

    def sell(self, *rows: tuple[int, str, int]) -> None:
        values = ", ".join(f"({number}, '{customer}', {price})" for number, customer, price in rows)
        self.pipeline("sales").execute(f"INSERT INTO orders VALUES {values}")

    def run(self, name: str = "grades", boundary: Boundary = no_boundary) -> list[str]:
        """Run once; what it told."""
        told: list[str] = []
        run_pipeline(self.project.target, name, Session(self.engine, tell=told.append, boundary=boundary), Pace(once=True))
        return told

    def read_steps(self) -> dict[str, int]:
        """By pipeline, at which step grades reads it."""
        published = self.head().published
        assert published is not None
        return {name: one.step for name, one in published.foreign.items()}

    def head(self, name: str = "grades") -> Head:
        stored = self.project.target.registry.head(name)
        assert stored is not None
        return stored.value

    def rows(self, relation: str, pipeline: str = "grades") -> list[tuple[Any, ...]]:
        """What our readers find: the published version."""
        published = self.head(pipeline).published
        assert published is not None
        placement = published.relations[relation]
        location = str(self.root / ".reconcile" / "warehouse" / placement.location)
        return sorted(DeltaWriter().read(location, placement.version).rows, key=repr)


def two_pipelines(root: Path, policy: str = "allow") -> Pair:
    """Both pipelines' files; nothing is applied."""
    pair = Pair(root, RefusingEngine(DeltaWriter()), policy)
    pair.write("sales", SALES)
    pair.write("grades", GRADES)
    return pair
