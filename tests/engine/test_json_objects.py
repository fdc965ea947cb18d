"""Records read by their columns give what reading them by keys gives, be they as nasty as they may.

A table with a nested column has no ordinary records, so the same file into two tables compares the two ways.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, TableTarget
from tests.cells import mostly_slow
from tests.engine.contract import ingest_files, json_files
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark

COLUMNS = (
    ColumnType("number", "INT", nullable=False),
    ColumnType("a", "BIGINT"),
    ColumnType("s", "STRING"),
    ColumnType("d", "DECIMAL(10,2)"),
    ColumnType("x", "DOUBLE"),
    ColumnType("t", "TIMESTAMP"),
    ColumnType("y", "DATE"),
    ColumnType("f", "BOOLEAN"),
    ColumnType("v", "VARCHAR(4)"),
    ColumnType("h", "SMALLINT"),
    ColumnType("p", "DECIMAL(5,0)"),
    ColumnType("q", "DECIMAL(30,18)"),
)
NESTED = (*COLUMNS, ColumnType("n", "ARRAY<INT>"))
# The first of each is ordinary.
VALUES: Mapping[str, tuple[str, ...]] = {
    "a": ("1", "-0", "5.0", '"7"', "1e3", "9223372036854775808", "null", "true", '" 8 "', '""', "007", "{}", "[1]"),
    "s": (
        *('"x"', '"a:b}c"', '"{\\"k\\":1}"', "1.10", "5", "true", "null", '{"q": 1.50}', "[1, 2]", '"\\u003a\\u007d"'),
        *('"1.10"', '""', '"q\\"b\\":null"', "1e5", "12345678901234567890123", '"-1.5"', '"é漢"', "0.1", '"\\n\\t"', "-0"),
        *("1e400", "-1e400", '"\\""', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\\\ud83d"', "Infinity"),
    ),
    "d": (
        *("1.10", "1", '"2.5"', "12345678901234567.125", "0.125", "1e2", "99999999.999", "null", '"x"', "1.005", "1e400"),
        *("-0.00", "0.1234567890123456789", "1e1000000000", "-7.25", "0.145", "-0.145", "2.675", "1.00499999999999999999"),
        *('"1,5"', "99999999.995", "99999999.99", "-100000000", "1.1000000000000000001", "5E-1", "1E-400", "0.005", "NaN"),
        *("12345678.905", "12345678.90499999999", "1.10000000000001", "1.1000000000000001"),
    ),
    "p": (
        "12345",
        "99999.5",
        "99999.49999999999",
        "100000",
        "-0.5",
        "0.5",
        "1e4",
        '"7"',
        "1.0",
        "null",
        "12345678901234567890",
    ),
    "q": ("3", "0.000001", "0.000000000000000001", "123456789012.000000000000000001", "-5e-18", "0.1", "1e12", "null"),
    "x": ("1.5", "1", "NaN", '"NaN"', '"Infinity"', "-Infinity", "1e400", "-1e400", '"1.5"', "null", "-0", "-0.0", "1E-400"),
    "t": ('"2024-01-02T03:04:05Z"', '"2024-01-02"', "1.5", "5", "null", '"bad"', '"2024-01-02 03:04:05.123456+02:00"'),
    "y": (
        '"2024-01-02"',
        '"2024-01-02T00:00:00"',
        '"2024-01-02T00:00:00Z"',
        "2024",
        '"2024"',
        '"2024-1-2"',
        "20240102",
        "null",
        '"x"',
    ),
    "f": ("true", "false", '"true"', "1", "null", '"yes"'),
    "v": ('"abcd"', '"abcde"', "1.10", "null", "12345"),
    "h": ("1", "40000", '"2"', "1.5", "null"),
}
WHOLE = (
    *(
        "{0} x",
        "{0}{{}}",
        "{0}}}",
        "{0} ",
        " {0}",
        "\ufeff{0}",
        "[{0}]",
        '{0} "x"}}',
        "{0},{{}}",
        '{0} ,"a":1}}',
        "{0}],{{}}",
    ),
    *("5", '"x"', "null", "{{}}", "{{ junk }}", "{{", "[]", "{{,}}"),
)


SHORT = (
    # A bare NaN is shorter than the text that it becomes: there is room for a key that stands twice.
    '{"number":1,"s":NaN,"a":1,"a":2}',
    '{"number":1,"s":-Infinity,"x":1,"x":2}',
    '{"number":1,"t":NaN,"h":1,"h":2}',
    '{"number":1,"x":NaN}',
    '{"number":1,"x":"NaN"}',
    # -0 is the whole number 0, whatever else stands in its record.
    '{"number":1,"x":-0,"s":-0,"a":-0,"d":-0}',
    '{"number":1,"x":-0,"s":-0,"a":-0,"d":-0,"q":0.000001}',
    '{"number":1,"x":-0.0,"s":-0.0}',
    '{"number":1,"x":-0.0,"s":-0.0,"q":0.000001}',
    '{"number":1,"s":[-0,1,-0.5,-07]}',
    '{"number":1,"s":[-0,1,-0.5,1-0]}',
    '{"number":1,"s":[-0,1,-0.5,-0e1]}',
)


def record(chance: random.Random, number: int) -> str:
    """Most have some part that is not as it should be."""
    is_tame = chance.random() < 0.4
    parts = [f'"number":{number}']
    for name in chance.sample(sorted(VALUES), chance.randint(1, len(VALUES))):
        value = VALUES[name][0] if is_tame and chance.random() < 0.8 else chance.choice(VALUES[name])
        dice = chance.random()
        key = name.upper() if dice < 0.04 else f"\\u00{ord(name):02x}" if dice < 0.06 else "zz" if dice < 0.08 else name
        quote = "'" if chance.random() < 0.03 else '"'
        parts.append(f"{quote}{key}{quote}{chance.choice((':', ':', ' : ', ': '))}{value}")
        if chance.random() < 0.03:
            again = chance.choice((name, name.upper(), "other"))
            colon = chance.choice((":", " :", "\t:", ": "))
            parts.append(f'"{again}"{colon}{chance.choice(VALUES[name])}')
    chance.shuffle(parts)
    text = "{" + chance.choice((",", ", ")).join(parts) + "}"
    return chance.choice(WHOLE).format(text) if chance.random() < 0.1 else text


DEFAULTS = ({}, {"a": "7", "s": "'given'", "x": "2.5"})


@pytest.mark.parametrize(
    ("records", "defaults"),
    mostly_slow([(records, defaults) for records in (300, 3000) for defaults in DEFAULTS], (300, DEFAULTS[1])),
)
def test_ordinary_records_are_what_they_are_anyway(
    records: int, defaults: dict[str, str], spark_engine: Engine, tmp_path: Path
) -> None:
    chance = random.Random(7)
    lines = [*(record(chance, number) for number in range(records)), *SHORT]
    (tmp_path / "in.json").write_text("\n".join(lines), "utf-8")
    storage = DeltaStorage()
    found: list[list[tuple[Any, ...]]] = []
    letters: list[list[tuple[Any, ...]]] = []
    for name, columns in (("plain", COLUMNS), ("nested", NESTED)):
        target = TableTarget("t", str(tmp_path / name), columns, defaults=defaults)
        storage.create(target.location, columns)
        dead = DeadLetters(f"{target.location}-dead-letters", 1)
        written = ingest_files(spark_engine, target, json_files(tmp_path / "in.json"), 1, dead)
        found.append([row[: len(COLUMNS)] for row in storage.rows(target.location)])
        letters.append(sorted(row[4:6] for row in storage.rows(dead.location)))
        assert len(found[-1]) + written.rejected == len(lines)

    assert [repr(row) for row in found[0]] == [repr(row) for row in found[1]]
    assert letters[0] == letters[1]
    assert records / 10 < len(found[0]) < records
