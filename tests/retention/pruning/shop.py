"""A pipeline with versions over real Delta tables, whose prunes happen days from now."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import ReconcileError
from reconciler.delta.opening import open_table
from reconciler.environment.target import Target, open_target
from reconciler.registry.model import Head
from reconciler.retention.pruning import Pruning
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

FIRST = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE MATERIALIZED VIEW total AS SELECT SUM(price) AS total FROM orders;
CREATE VIEW dear AS SELECT id FROM orders WHERE price > 10;
"""
SECOND = FIRST.replace("SUM(price)", "SUM(price) * 2")
THIRD = FIRST.replace("SUM(price)", "SUM(price) * 3").replace("price > 10", "price > 100")
READS = "  versions: {reads: true}\n  evolution: evolve\n"
SHORT = READS + "  retention: {versions: 0, steps: 1h}\n"


class Shop:
    """A pipeline whose prunes happen days from now."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.engine = RecordingEngine(DeltaWriter())

    @property
    def pipeline(self) -> Pipeline:
        return Project.open(self.root, engine=self.engine).pipeline("shop")

    @property
    def target(self) -> Target:
        return open_target(self.root, None)

    @property
    def head(self) -> Head:
        stored = self.target.registry.head("shop")
        assert stored is not None
        return stored.value

    def apply(self, program: str, more: str = SHORT) -> None:
        write_shop(self.root, program, more=more)
        self.pipeline.apply()

    def insert(self, number: int) -> None:
        self.pipeline.execute(f"INSERT INTO orders VALUES ({number}, {number * 10})")

    def prune(self, days: float = 2, boundary: Boundary = no_boundary, dry_run: bool = False) -> Pruning:
        now = datetime.now(UTC) + timedelta(days=days)
        return self.pipeline.observed(boundary=boundary).prune(dry_run=dry_run, now=lambda: now)

    def rows(self, relation: str, step: int | None = None) -> list[tuple[Any, ...]]:
        return list(self.pipeline.select(f"SELECT * FROM {relation}", step).rows)

    def read(self, relation: str, step: int | None = None) -> str:
        """`read`, or the code of the error."""
        try:
            self.rows(relation, step)
        except ReconcileError as error:
            return error.code
        return "read"

    def states(self, name: str = "total") -> dict[int, str]:
        """What `versions list` has under STATE, but for aliases."""
        found = self.pipeline.versions(name)
        return {
            one.number: "active"
            if one.number == found.found.versions.active
            else "pruned"
            if one.number in found.pruned
            else ""
            for one in found.versions
        }

    def folder(self, relation: str = "total") -> Path:
        return Path(self.target.warehouse) / "shop" / relation

    def files(self, relation: str = "total") -> set[str]:
        root = self.folder(relation)
        paths = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return {path for path in paths if "_delta_log" not in path}


def pruned(pruning: Pruning) -> list[str]:
    return [f"{one.name}@v{one.number}" for one in pruning.decision.pruned]


def kept(pruning: Pruning) -> dict[str, tuple[str, ...]]:
    return {f"{one.version.name}@v{one.version.number}": one.why for one in pruning.decision.stays}


def files_at(shop: Shop, version: int, relation: str = "total") -> list[str]:
    table = open_table(str(shop.folder(relation)), version)
    assert table is not None
    return [str(path) for path in table.get_add_actions(flatten=True)["path"].to_pylist()]


def remaining(shop: Shop, version: int, relation: str = "total") -> bool:
    return all((shop.folder(relation) / path).exists() for path in files_at(shop, version, relation))
