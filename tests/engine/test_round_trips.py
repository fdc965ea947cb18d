"""What `file_output` writes, `file_input` reads as the same values: odd texts, moments, numbers, by each format. On Spark.

Parquet is the reference: what it brings is what the others have to bring.
"""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, DeadLetters, TableTarget
from tests.cells import mostly_slow
from tests.engine.asking import ingest_files
from tests.engine.emissions import Versions, Views
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark

FLAT = (
    ColumnType("k", "INT"),
    ColumnType("s", "STRING"),
    ColumnType("at", "TIMESTAMP"),
    ColumnType("n", "TIMESTAMP_NTZ"),
    ColumnType("day", "DATE"),
    ColumnType("d", "DOUBLE"),
    ColumnType("f", "FLOAT"),
    ColumnType("p", "DECIMAL(38,10)"),
    ColumnType("b", "BOOLEAN"),
)
INNER = "STRUCT<s: STRING, at: TIMESTAMP, n: TIMESTAMP_NTZ, day: DATE, d: DOUBLE, p: DECIMAL(12,2)>"
NESTED = (*FLAT, ColumnType("st", INNER), ColumnType("ar", f"ARRAY<{INNER}>"), ColumnType("m", f"MAP<STRING, {INNER}>"))
BREAKS = ("\n", "\r", "a\r\nb", "a\rb", "\n\n", 'x"\n"y')
TEXTS = (
    *("", " ", "\t", " x ", "\tx\t", "\u00a0x\u2028", "\ufeffx", '"', '""', 'q"q', '"q"', "a\\", "\\", '\\"', '"\\', "\\n"),
    *("a,b", ",", ";", "a;b", "'", "NULL", "null", "#", "#x", "true", "1.50", "-0", "01", "{}", "[1]", "é\U0001f600\u0085"),
    *("\u0001", "\x1f", "k", "k,s", "1e5", "NaN", "2024-01-01"),
)
MOMENTS = (
    "2024-01-01 00:00:00.123456",
    "2024-01-01 00:00:00.123457",
    "2024-02-29 23:59:59.999999",
    "2024-01-01 00:00:00.1",
    "1969-12-31 23:59:59.000001",
    "0001-01-01 00:00:00",
    "1582-10-15 00:00:00",
    "9999-12-31 23:59:59.999999",
)
DAYS = ("2024-02-29", "0001-01-01", "1582-10-04", "9999-12-31")
DOUBLES = ("0", "1e300", "-4.9E-324", "0.1", "NaN", "Infinity", "-Infinity", "123456789.123456789", "1e-7")
FLOATS = ("0", "1e30", "1.4E-45", "0.1", "NaN", "-Infinity", "16777217")
DECIMALS = ("0", "1234567890123456789012345678.0123456789", "-0.0000000001", "1e3")


def literal(text: str) -> str:
    escaped = "".join(f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}" for one in text)
    return f"'{escaped}'"


def rows(texts: tuple[str, ...], *, nested: bool, seed: int = 7) -> str:
    """A query: each text, each moment, each number at least once, and NULLs."""
    chance = random.Random(seed)
    found = []

    def one(values: tuple[str, ...], kind: str, at: int) -> str:
        return "NULL" if at % 11 == 10 else f"CAST({literal(values[at % len(values)])} AS {kind})"

    def inner(at: int) -> str:
        parts = (one(texts, "STRING", at), one(MOMENTS, "TIMESTAMP", at), one(MOMENTS, "TIMESTAMP_NTZ", at))
        more = (one(DAYS, "DATE", at), one(DOUBLES, "DOUBLE", at), f"CAST({at}.25 AS DECIMAL(12,2))")
        names = ("s", "at", "n", "day", "d", "p")
        pairs = (f"'{name}', {value}" for name, value in zip(names, (*parts, *more), strict=True))
        return f"named_struct({', '.join(pairs)})"

    for number in range(len(texts) * 2):
        at = number if number < len(texts) else chance.randrange(1000)
        values = [
            str(number),
            # Each text once whatever is NULL.
            "NULL" if number >= len(texts) and at % 3 == 0 else literal(texts[at % len(texts)]),
            one(MOMENTS, "TIMESTAMP", at),
            one(MOMENTS, "TIMESTAMP_NTZ", at),
            one(DAYS, "DATE", at),
            one(DOUBLES, "DOUBLE", at),
            one(FLOATS, "FLOAT", at),
            one(DECIMALS, "DECIMAL(38,10)", at),
            ("true", "false", "CAST(NULL AS BOOLEAN)")[at % 3],
        ]
        if nested:
            values += [inner(at), f"array({inner(at)}, NULL)", f"map({literal(texts[0])}, {inner(at)})"]
        found.append(f"({', '.join(values)})")
    # One relation: Spark analyses as many SELECTs for seconds.
    names = ", ".join(column.name for column in (NESTED if nested else FLAT))
    return f"SELECT * FROM VALUES {', '.join(found)} AS t({names})"


FLAT_ROWS = rows(TEXTS, nested=False)
NESTED_ROWS = rows((*TEXTS, *BREAKS, "\0"), nested=True)


class Trip:
    """A view's rows, written and read back."""

    def __init__(self, views: Views, folder: Path) -> None:
        self.engine, self.folder, self.storage = views.engine, folder, DeltaStorage()
        self.versions = Versions(views, folder)

    def there_and_back(self, query: str, columns: tuple[ColumnType, ...], form: str, **config: Any) -> list[str]:
        """The rows that come back, as texts that tell all values apart."""
        out = self.folder / form
        transport = {"name": "file_output", "config": {"path": str(out)}}
        made = replace(
            self.versions.emission(None, query),
            settings={"transport": transport, "format": {"name": form, "config": config}},
        )
        self.engine.emit(made)
        target = TableTarget("t", str(self.folder / f"back-{form}"), columns, primary_key=("k",) if len(columns) > 2 else ())
        self.storage.create(target.location, columns)
        settings = {
            "transport": {"name": "file_input", "config": {"path": f"{out}/*/part-*"}},
            "format": {"name": form, "config": config},
        }
        letters = DeadLetters(str(self.folder / f"letters-{form}"), 1)
        assert ingest_files(self.engine, target, settings, 1, letters).rejected == 0, self.storage.rows(letters.location)[:3]
        return sorted(map(repr, self.storage.rows(target.location)))


@pytest.fixture(scope="module")
def flat(views: Views, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What Parquet brings back of flat rows."""
    return Trip(views, tmp_path_factory.mktemp("flat")).there_and_back(FLAT_ROWS, FLAT, "parquet")


@pytest.fixture(scope="module")
def nested(views: Views, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What Parquet brings back of nested rows."""
    return Trip(views, tmp_path_factory.mktemp("nested")).there_and_back(NESTED_ROWS, NESTED, "parquet")


@pytest.fixture
def trip(views: Views, tmp_path: Path) -> Trip:
    return Trip(views, tmp_path)


CSV: list[dict[str, Any]] = [
    {},
    {"delimiter": ";", "null_value": "\\N", "header": False},
    {"delimiter": "."},
    {"delimiter": "\t"},
    {"null_value": ' n,"l'},
]


@pytest.mark.parametrize("config", mostly_slow(CSV, CSV[1], CSV[3], CSV[4]))
def test_csv_brings_back_every_value(trip: Trip, flat: list[str], config: dict[str, Any]) -> None:
    assert len(flat) == 2 * len(TEXTS)
    assert trip.there_and_back(FLAT_ROWS, FLAT, "csv", **config) == flat


BLANK: list[dict[str, Any]] = [{}, {"delimiter": "\t", "null_value": "-"}, {"delimiter": " ", "null_value": " "}]


@pytest.mark.parametrize("config", mostly_slow(BLANK, BLANK[2]))
def test_csv_brings_back_a_row_of_nothing(trip: Trip, config: dict[str, Any]) -> None:
    """Readers pass over a line of blanks, of which a tab is one."""
    query = "SELECT CAST(NULL AS INT) AS k, CAST(NULL AS STRING) AS s UNION ALL SELECT 1, ''"
    columns = (ColumnType("k", "INT"), ColumnType("s", "STRING"))
    assert trip.there_and_back(query, columns, "csv", **config) == ["(1, '')", "(None, None)"]


# What stands around a row is read by ingest_contract.py in each form.
@pytest.mark.parametrize("update_format", mostly_slow(["raw", "insert_delete", "debezium"], "debezium"))
def test_json_brings_back_every_value(trip: Trip, nested: list[str], update_format: str) -> None:
    assert len(nested) == 2 * len((*TEXTS, *BREAKS, "\0"))
    assert trip.there_and_back(NESTED_ROWS, NESTED, "json", update_format=update_format) == nested


def test_a_line_break_in_csv_is_in_quotes_and_rejected_by_us(trip: Trip) -> None:
    query = "SELECT 1 AS k, 'a\\nb' AS s UNION ALL SELECT 2, 'c\\rd'"
    with pytest.raises(AssertionError, match="no field may hold a line break"):
        trip.there_and_back(query, FLAT[:2], "csv")
    written = "".join(part.read_bytes().decode() for part in (trip.folder / "csv").rglob("part-*"))
    assert '1,"a\nb"\n' in written
    assert '2,"c\rd"\n' in written


@pytest.mark.parametrize(
    ("query", "form", "config", "told"),
    [
        ("SELECT X'00FF' AS b", "json", {}, "bytes of column b"),
        ("SELECT array(named_struct('b', X'00FF')) AS a", "json", {"update_format": "raw"}, "bytes of column a"),
        ("SELECT 1 AS k, X'00FF' AS b", "csv", {}, "bytes of column b"),
        ("SELECT 1 AS k, array(1) AS a", "csv", {}, "no form for column a"),
        ("SELECT 1 AS k, '-' AS s", "csv", {"null_value": "-"}, "the value - would be read as NULL"),
        ("SELECT 1 AS k, ' x,' AS s", "csv", {"null_value": " x,"}, "read as NULL"),
        ("SELECT 0 AS k", "csv", {"null_value": "0"}, "the value 0 would be read as NULL"),
        ("SELECT 1 AS k, double('NaN') AS d", "csv", {"null_value": "NaN"}, "read as NULL"),
        ("SELECT 1 AS k, true AS b", "csv", {"null_value": "true"}, "read as NULL"),
        ("SELECT 1 AS k, DATE'9999-12-31' AS day", "csv", {"null_value": "9999-12-31"}, "read as NULL"),
        (
            "SELECT TIMESTAMP'1970-01-01 00:00:00Z' AS at",
            "csv",
            {"null_value": "1970-01-01T00:00:00.000000Z"},
            "read as NULL",
        ),
        ("SELECT CAST(NULL AS STRING) AS s", "csv", {}, "an empty or blank line"),
        ("SELECT CAST(NULL AS INT) AS a, CAST(NULL AS STRING) AS b", "csv", {"delimiter": "\t"}, "an empty or blank line"),
        ("SELECT CAST(NULL AS INT) AS a, CAST(NULL AS STRING) AS b", "csv", {"delimiter": " "}, "an empty or blank line"),
    ],
)
def test_what_has_no_form_is_refused(trip: Trip, query: str, form: str, config: dict[str, Any], told: str) -> None:
    with pytest.raises(EngineError, match=told) as caught:
        trip.there_and_back(query, FLAT, form, **config)
    assert caught.value.code == "X716"
