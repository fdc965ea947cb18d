"""Ranges of other Delta tables that are surely read without Spark are what Spark reads: tables by chance, whose rows come,
go and change by chance, written by Spark and by deltalake.

Both ways write a table of their own, range by range. Where a range is left to Spark, it writes both.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.delta.tables import create_table
from reconciler.engine.arrow.equal_rows import plain_type
from reconciler.engine.arrow.ingest import ingest
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, Selection, TableTarget, Transaction
from reconciler.engine.spark.commit_log import read_commit
from reconciler.engine.spark.locations import LocalFolder
from tests.cells import mostly_slow

pytestmark = pytest.mark.spark

VALUES: dict[str, Sequence[str]] = {
    "TINYINT": ("0", "-128", "127", "5"),
    "SMALLINT": ("0", "-32768", "300", "5"),
    "INT": ("0", "-2147483648", "70000", "5"),
    "BIGINT": ("0", "-9223372036854775808", "9007199254740993", "5"),
    "DECIMAL(12,3)": ("0", "-0.001", "123456789.125", "5", "7.500"),
    "BOOLEAN": ("true", "false"),
    "STRING": ("''", "'a'", "'it\\'s'", "'5'", "'2025-01-02'", "'é😀'", "'\\u2028x'", "repeat('long', 30)"),
    "DATE": ("DATE '2025-01-02'", "DATE '0001-01-01'", "DATE '1582-10-10'", "DATE '9999-12-31'"),
    "TIMESTAMP": (
        "TIMESTAMP '2025-01-02 03:04:05.678901Z'",
        "TIMESTAMP '0001-01-01 00:00:00Z'",
        "TIMESTAMP '1899-12-31 23:59:59Z'",
        "TIMESTAMP '9999-12-31 23:59:59.999999Z'",
    ),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2025-01-02 03:04:05.678901'", "TIMESTAMP_NTZ '1500-01-01 00:00:00'"),
    "DOUBLE": ("0.5D", "1e300D", "-3.25D", "0.1D"),
    "FLOAT": ("CAST(0.1 AS FLOAT)", "CAST(-1e-40 AS FLOAT)", "CAST(16777217 AS FLOAT)"),
}
ODD: dict[str, Sequence[str]] = {
    "DOUBLE": ("-0.0D", "double('NaN')", "double('Infinity')", "0.0D"),
    "FLOAT": ("float('NaN')", "CAST('-0.0' AS FLOAT)"),
    "STRING": ("'true'", "CAST(X'ff' AS STRING)"),
}
TAKEN_AS: dict[str, Sequence[str]] = {
    "TINYINT": ("INT", "STRING", "DECIMAL(5,2)"),
    "SMALLINT": ("BIGINT", "TINYINT", "VARCHAR(6)"),
    "INT": ("BIGINT", "SMALLINT", "DECIMAL(12,0)", "STRING", "DOUBLE"),
    "BIGINT": ("INT", "STRING", "DECIMAL(20,1)"),
    "DECIMAL(12,3)": ("DECIMAL(20,5)", "DECIMAL(12,1)", "STRING", "BIGINT"),
    "BOOLEAN": ("STRING", "INT"),
    "STRING": ("VARCHAR(40)", "BIGINT", "DATE", "BOOLEAN"),
    "DATE": ("STRING", "TIMESTAMP"),
    "TIMESTAMP": ("STRING",),
    "TIMESTAMP_NTZ": ("STRING",),
    "DOUBLE": ("FLOAT",),
    "FLOAT": ("DOUBLE",),
}


CHANGES = ("insert", "insert", "update", "delete", "optimise", "overwrite", "delete here", "append here")


@dataclass
class Source:
    """A table of columns by chance, and what becomes of it."""

    session: SparkSession
    path: Path
    chance: random.Random
    has_key: bool
    is_odd: bool
    columns: dict[str, str] = field(default_factory=dict)
    next: int = 1

    def create(self) -> None:
        some = self.chance.sample(sorted(VALUES), self.chance.randint(2, 5))
        self.columns = {"number": "BIGINT", **{f"c{at}": kind for at, kind in enumerate(some)}}
        said = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        features = self.chance.choice(
            ("", "", "'delta.enableDeletionVectors' = true", "'delta.enableChangeDataFeed' = true")
        )
        properties = f" TBLPROPERTIES ({features})" if features else ""
        self.session.sql(f"CREATE TABLE {self.name} ({said}) USING delta{properties}")

    @property
    def name(self) -> str:
        return f"delta.`file://{self.path}`"

    def value(self, kind: str) -> str:
        if self.chance.random() < 0.15:
            return "NULL"
        odd = self.is_odd and kind in ODD and self.chance.random() < 0.05
        return self.chance.choice(ODD[kind] if odd else VALUES[kind])

    def insert(self) -> None:
        rows = []
        for _ in range(self.chance.randint(1, 6)):
            is_new = self.has_key and not (self.is_odd and self.chance.random() < 0.05)
            number = self.next if is_new else self.chance.randint(1, self.next)
            self.next += 1
            values = [self.value(kind) for kind in list(self.columns.values())[1:]]
            rows.append(f"({', '.join([f'{number}L', *values])})")
        self.session.sql(f"INSERT INTO {self.name} VALUES {', '.join(rows)}")

    def some(self) -> str:
        return f"number % {self.chance.randint(2, 4)} = {self.chance.randint(0, 2)}"

    def change(self) -> None:
        name = self.chance.choice([*self.columns][1:])
        match self.chance.choice(
            ("insert", "insert", "update", "delete", "optimise", "overwrite", "delete here", "append here")
        ):
            case "insert":
                self.insert()
            case "update":
                self.session.sql(f"UPDATE {self.name} SET {name} = {self.value(self.columns[name])} WHERE {self.some()}")
            case "delete":
                self.session.sql(f"DELETE FROM {self.name} WHERE {self.some()}")
            case "optimise":
                self.session.sql(f"OPTIMIZE {self.name}")
            case "overwrite":
                self.session.sql(f"INSERT OVERWRITE {self.name} SELECT * FROM {self.name} WHERE NOT {self.some()}")
            case "delete here" if self.is_plain():
                DeltaTable(self.path).delete(self.some())
            case "append here" if self.is_plain():
                rows = all_rows(str(self.path))
                if rows.num_rows and not self.has_key:
                    write_deltalake(self.path, rows.slice(0, self.chance.randint(1, 2)), mode="append")

    def is_plain(self) -> bool:
        return DeltaTable(self.path).protocol().min_writer_version < 4

    def target(self, path: Path) -> TableTarget:
        columns = [ColumnType("number", "BIGINT", nullable=not self.has_key)]
        for name, kind in list(self.columns.items())[1:]:
            other = self.is_odd and self.chance.random() < 0.2
            if self.chance.random() < 0.85:
                spelled = name.upper() if self.chance.random() < 0.2 else name
                columns.append(ColumnType(spelled, self.chance.choice(TAKEN_AS[kind]) if other else kind))
        defaults = {}
        if self.chance.random() < 0.3:
            columns.append(ColumnType("more", "STRING"))
            defaults = {"more": "'none'"} if self.chance.random() < 0.5 else {}
        return TableTarget("t", str(path), tuple(columns), ("number",) if self.has_key else (), defaults)


def all_rows(location: str) -> Any:
    table = plain_table(location)
    assert table is not None
    found = rows_of(table)
    assert found is not None
    return found


def stored(location: str) -> list[tuple[Any, ...]]:
    """Rows with days and moments as numbers, and texts as their bytes."""
    columns = [column.cast(plain_type(column.type)).to_pylist() for column in all_rows(location).columns]
    return sorted(zip(*columns, strict=True), key=repr)


def ranges(engine: Engine, source: Source, mode: str, steps: int) -> Iterator[Any]:
    """One after the other; between them the table changes."""
    settings = {"transport": {"name": "delta_table_input", "config": {"uri": str(source.path), "mode": mode}}}
    position = None
    for _ in range(steps):
        found = engine.discover("c", settings, position)
        if found is not None:
            yield settings, found.range
            position = json.loads(json.dumps(found.position))
        for _ in range(source.chance.randint(1, 2)):
            source.change()


CASES = [(seed, has_key, is_odd, 6) for seed in range(20) for has_key in (False, True) for is_odd in (False, True)]
SHORT = [(0, True, False, 2), (1, False, True, 3)]
"""How two of them begin, in every run."""


@pytest.mark.parametrize(("seed", "has_key", "is_odd", "steps"), mostly_slow([*SHORT, *CASES], *SHORT))
def test_a_range_is_read_and_written_as_spark_does_it(
    seed: int, has_key: bool, is_odd: bool, steps: int, spark_engine: Engine, tmp_path: Path
) -> None:
    """Rows, counts, what a repeat is told, and what the commit says. Odd are values and types that leave a choice."""
    chance = random.Random(seed)
    spark_engine.select(Selection("SELECT 1", (), {}))
    from reconciler.engine.spark.session import start

    source = Source(start().newSession(), tmp_path / "source", chance, has_key, is_odd)
    source.create()
    source.insert()
    here = source.target(tmp_path / "here")
    there = replace(here, location=str(tmp_path / "there"))
    for one in (here, there):
        create_table(one.location, one.columns, Transaction("create", 1))
    sure = 0
    for number, (settings, range_) in enumerate(ranges(spark_engine, source, "snapshot_and_follow", steps), 1):
        letters = [DeadLetters(f"{one.location}-letters", number) for one in (here, there)]
        ours = Ingestion(here, "c", settings, range_, Transaction("c", number), letters[0], commit={"step": number})
        theirs = replace(ours, target=there, dead_letters=letters[1])
        by_spark = spark_engine.ingest(theirs)

        written = ingest(ours)

        if written is None:
            written = spark_engine.ingest(ours)
        else:
            sure += 1
            assert written == replace(by_spark, without_spark=True), (range_, source.columns, here.columns)
        assert stored(here.location) == stored(there.location)
        assert spark_engine.ingest(ours) == spark_engine.ingest(theirs)
        commits = [read_commit(LocalFolder(Path(one.location)), written.version) for one in (here, there)]
        said = [(one.said, one.transactions) for one in commits if one is not None]
        assert len(said) == 2
        assert said[0] == said[1]
    assert is_odd or sure > number / 2
