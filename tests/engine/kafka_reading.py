"""A `kafka_input` connector and its table, driven as the shell drives them, over a real broker."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import (
    Available,
    ColumnType,
    DeadLetters,
    Engine,
    Ingestion,
    TableTarget,
    Transaction,
    Written,
)
from tests.kafka.broker import Broker

COLUMNS = (ColumnType("id", "BIGINT"), ColumnType("Name", "STRING"))
EVERYTHING = [*range(10), *range(100, 105)]
"""The ids of `three_partitions`."""


@dataclass
class Reading:
    """A connector and its table, as the shell drives them."""

    engine: Engine
    folder: Path
    settings: JsonObject
    columns: tuple[ColumnType, ...] = COLUMNS
    primary_key: tuple[str, ...] = ()
    position: JsonObject | None = None
    step: int = 0

    def __post_init__(self) -> None:
        create_table(self.target.location, self.columns, Transaction("create", 1))

    @property
    def target(self) -> TableTarget:
        return TableTarget("t", str(self.folder / "t"), self.columns, self.primary_key)

    def look(self) -> Available | None:
        return self.engine.discover("t.live", self.settings, self.position)

    def take(self, available: Available | None, dead_letters: DeadLetters | None = None) -> Written:
        """One step."""
        assert available is not None
        self.step += 1
        transaction = Transaction("reconcile/step/t.live", self.step)
        ingestion = Ingestion(self.target, "t.live", self.settings, available.range, transaction, dead_letters)
        written = self.engine.ingest(ingestion)
        self.position = available.position
        return written

    def take_all(self) -> int:
        """Steps until nothing is there; how many."""
        steps = 0
        while (available := self.look()) is not None:
            self.take(available)
            steps += 1
            assert steps < 100, "it finds more without end"
        return steps

    @property
    def offsets(self) -> JsonObject:
        """The next offset of each partition, as the position has them."""
        assert self.position is not None
        offsets: JsonObject = self.position["offsets"]
        return offsets

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted((tuple(row.values()) for row in rows_of(Path(self.target.location))), key=repr)

    def ids(self) -> list[int]:
        return sorted(row[0] for row in self.rows())

    def refusal(self) -> EngineError:
        with pytest.raises(EngineError) as raised:
            self.look()
        return raised.value


class Connector:
    """Makes readings of topics; `options` are further settings of the transport, `more` of the connector."""

    def __init__(self, engine: Engine, broker: Broker, folder: Path) -> None:
        self._engine, self._broker, self._folder, self._count = engine, broker, folder, 0

    def __call__(
        self,
        topic: str,
        start_from: Any = None,
        format_: JsonObject | None = None,
        options: JsonObject | None = None,
        key: tuple[str, ...] = (),
        columns: tuple[ColumnType, ...] = COLUMNS,
        **more: Any,
    ) -> Reading:
        config = {"topic": topic, "bootstrap.servers": self._broker.bootstrap, **(options or {})}
        if start_from is not None:
            config["start_from"] = start_from
        settings = {
            "transport": {"name": "kafka_input", "config": config},
            "format": {"name": "json", "config": {"update_format": "raw"} if format_ is None else format_},
            **more,
        }
        self._count += 1
        return Reading(self._engine, self._folder / str(self._count), settings, columns, key)


def objects(first: int, until: int) -> list[JsonObject]:
    return [{"id": number, "name": f"n{number}"} for number in range(first, until)]


def three_partitions(broker: Broker) -> str:
    """A topic with three partitions: 0 holds ids 0 to 9, 1 holds 100 to 104, 2 nothing."""
    name = broker.create_topic(partitions=3)
    broker.produce(name, objects(0, 10), partition=0)
    broker.produce(name, objects(100, 105), partition=1)
    return name


def rows_of(location: Path) -> list[dict[str, Any]]:
    """The rows of a Delta table."""
    from deltalake import DeltaTable, QueryBuilder

    found = QueryBuilder().register("t", DeltaTable(str(location))).execute("SELECT * FROM t").read_all()
    columns = {name: found[name].to_pylist() for name in found.schema.names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
