"""A view of which a version is kept up to date, by the command line over real Delta tables, with the recording engine."""

from pathlib import Path

from reconciler.engine.protocol import Selection, ViewBuild
from reconciler.engine.sources import StoredSource
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import open_shop, write_shop
from tests.acceptance.versioned_shop import READS, VersionedShop
from tests.engine.delta_writer import DeltaWriter

MAINTAINED = READS + "  views:\n    total: {versions: {v0: {maintain: true}}}\n"


def program(query: str, more: str = "") -> str:
    orders = "CREATE TABLE orders (id BIGINT, price INT);\n"
    return orders + f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM orders;\n" + more


FIRST, SECOND = program("SUM(price)"), program("COUNT(*)")
READER = "CREATE MATERIALIZED VIEW both AS SELECT o.total AS old, n.total AS new FROM `total@v0` o CROSS JOIN total n;\n"


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = MAINTAINED

    def read(self, name: str, *options: str) -> list[tuple[object, ...]]:
        """The rows that a query of a relation reads."""
        self("query", "shop", f"SELECT * FROM {name}", *options)
        selection = next(call for call in reversed(self.engine.calls) if isinstance(call, Selection))
        (source,) = selection.sources
        assert isinstance(source, StoredSource)
        return sorted(DeltaWriter().read(source.location, source.version).rows)

    def location(self, view: str, source: str) -> str:
        """Where a view read a source, the last time that it was computed."""
        builds = [call for call in self.engine.calls if isinstance(call, ViewBuild) and call.view == view]
        return next(one.location for one in builds[-1].sources if one.name == source).rpartition("/shop/")[2]  # type: ignore[union-attr]


def apply_first(root: Path) -> None:
    """The first program, applied, with rows."""
    write_shop(root, FIRST, "allow", READS)
    pipeline = open_shop(root, RecordingEngine(DeltaWriter()))
    pipeline.apply()
    pipeline.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")


def apply_second(root: Path) -> None:
    """The second program, with version 0 of `total` kept up to date, applied over the first one."""
    write_shop(root, SECOND, "allow", MAINTAINED)
    open_shop(root, RecordingEngine(DeltaWriter())).apply()
