"""TPC-H: its 22 queries (`tpch/`), its tables at a small scale, and changes of these by chance.

ORDER BY names columns enough before a LIMIT that nothing ties, and a few constants are others than the benchmark's, so that
there are rows at this scale.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from reconciler.incremental.derive import derived
from reconciler.incremental.model import Maintenance

FOLDER: Final = Path(__file__).parent / "tpch"
QUERIES: Final = tuple(sorted(path.stem for path in FOLDER.glob("q*.sql")))
SCALE: Final = "0.001"
_ARROW: Final = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "DECIMAL(15,2)": pa.decimal128(15, 2),
}


def columns() -> dict[str, dict[str, str | None]]:
    """The tables: their columns with their types."""
    found: dict[str, dict[str, str | None]] = {}
    for line in (FOLDER / "schema.sql").read_text().splitlines():
        name, _, listed = line.removeprefix("CREATE TABLE ").removesuffix(");").partition(" (")
        found[name] = {column: kind for column, _, kind in (one.partition(" ") for one in listed.split(", "))}
    return found


def query(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text().strip()


def method(name: str) -> Maintenance:
    """How a query is maintained."""
    return derived(query(name), tuple((table, tuple(of.items())) for table, of in columns().items()))


def tables(folder: Path) -> dict[str, pa.Table]:
    """The rows of all tables, made in a folder."""
    command = [str(Path(sys.executable).parent / "tpchgen-cli"), "parquet", "-s", SCALE, f"--output-dir={folder}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = {}
    for table, of in columns().items():
        schema = pa.schema([(name, _ARROW[str(kind)]) for name, kind in of.items()])
        found[table] = pq.read_table(folder / f"{table}.parquet", columns=[*of]).cast(schema)
    return found


def changed_by_chance(chance: Random, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """A table after some rows went, came and changed, and what changed: rows with `__change`."""
    listed = rows.to_pylist()
    many = max(1, min(20, len(listed) // 10))
    gone = {chance.randrange(len(listed)) for _ in range(many)}
    came = [dict(_changed(chance, listed[at])) for at in gone if chance.random() < 0.6]
    came += [dict(listed[chance.randrange(len(listed))]) for _ in range(many // 2)]
    now = pa.Table.from_pylist([row for at, row in enumerate(listed) if at not in gone] + came, rows.schema)
    told = [{**listed[at], "__change": "delete"} for at in gone] + [{**row, "__change": "insert"} for row in came]
    return now, pa.Table.from_pylist(told, rows.schema.append(pa.field("__change", pa.string())))


def _changed(chance: Random, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The row with other numbers, or NULL in place of a text."""
    for name, value in row.items():
        if isinstance(value, Decimal) and chance.random() < 0.5:
            yield name, value + Decimal(chance.randrange(-500, 500)) / 100
        elif isinstance(value, str) and chance.random() < 0.1:
            yield name, None
        else:
            yield name, value
