"""What every engine promises of values: one that would become another one does not fit its column. Part of
ingest_contract.py.
"""

import json
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, TableTarget
from tests.engine.asking import Storage, Tables, ingest_files, json_files, write


class FittingContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

    def test_what_would_become_another_value_does_not_fit_at_any_depth(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (
            ColumnType("id", "INT"),
            ColumnType("at", "TIMESTAMP"),
            ColumnType("st", "STRUCT<i: INT, l: BIGINT, d: DECIMAL(6,2), f: DOUBLE, b: BOOLEAN, day: DATE, at: TIMESTAMP>"),
            ColumnType("ar", "ARRAY<INT>"),
            ColumnType("m", "MAP<STRING,INT>"),
        )
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        fits: tuple[dict[str, Any], ...] = (
            {"st": {"i": 1, "l": 9223372036854775807, "d": 1.505, "f": 1.5, "b": True, "day": "2026-01-31"}},
            {"st": {"i": -1, "d": "1.5", "at": "2026-01-31T12:00:00"}, "at": "2026-01-31 12:00:00"},
            {"ar": [1, None, 2], "m": {"k": 1}},
        )
        does_not: tuple[dict[str, Any], ...] = (
            {"st": {"i": 1.5}},
            {"st": {"i": -1.9}},
            {"st": {"i": True}},
            {"st": {"l": 0.000001}},
            {"st": {"d": False}},
            {"st": {"f": True}},
            {"st": {"b": 2}},
            {"st": {"day": 20260131}},
            {"st": {"at": 1700000000}},
            {"st": {"at": "12:00"}},
            {"st": {"at": "T07:30:00Z"}},
            {"ar": [1, 2.9]},
            {"m": {"k": 1.5}},
            {"at": "12:00"},
            {"at": " 7:30:00"},
        )
        write(tmp_path / "a.json", *({"id": number, **one} for number, one in enumerate((*fits, *does_not))))
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        rejected = ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters).rejected

        assert sorted(row[0] for row in storage.rows(target.location)) == [*range(len(fits))]
        assert rejected == len(does_not)

    def test_the_smallest_and_the_largest_integer_of_each_type_fit_and_the_next_ones_do_not(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        bits = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
        plain = [ColumnType(kind.lower(), kind) for kind in bits]
        nested = [ColumnType(f"{kind.lower()}s", f"ARRAY<{kind}>") for kind in bits]
        columns = (ColumnType("id", "INT"), *plain, *nested)
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        bounds = [(kind.lower(), -(2 ** (count - 1)), 2 ** (count - 1) - 1) for kind, count in bits.items()]
        fits = [{name: number} for name, least, most in bounds for number in (least, most)]
        does_not = [{name: number} for name, least, most in bounds for number in (least - 1, most + 1)]
        within = [{f"{name}s": [number] for name, number in one.items()} for one in (*fits, *does_not)]
        rows = [*fits, *within[: len(fits)], *does_not, *within[len(fits) :]]
        write(tmp_path / "a.json", *({"id": number, **one} for number, one in enumerate(rows)))
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        rejected = ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters).rejected

        assert sorted(row[0] for row in storage.rows(target.location)) == [*range(2 * len(fits))]
        assert rejected == 2 * len(does_not)

    def test_what_is_finer_than_its_column_does_not_fit_at_any_depth(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        kinds = {"t": "TIMESTAMP", "n": "TIMESTAMP_NTZ", "day": "DATE", "f": "FLOAT", "d": "DOUBLE"}
        inner = f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in kinds.items())}>"
        columns = (
            ColumnType("id", "INT"),
            *(ColumnType(name, kind) for name, kind in kinds.items()),
            ColumnType("st", inner),
            ColumnType("ar", f"ARRAY<{inner}>"),
            ColumnType("m", f"MAP<STRING,{inner}>"),
        )
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        moment = "2024-01-01T10:00:00"
        fits = (
            f'"t":"{moment}.1234560000Z","n":"{moment}.123456000","day":"2024-01-01T00:00:00.0000000"',
            f'"t":"{moment}.123456+01:00","n":"{moment}.123456"',
            '"f":0,"d":0',
            '"f":-0.0,"d":0.0e-400',
            '"f":"0e-99","d":"0.0"',
            f'"f":1e-45,"d":5e-324,"n":"{moment}"',
        )
        does_not = (
            f'"t":"{moment}.1234561Z"',
            f'"t":"{moment}.1234560001"',
            f'"n":"{moment}.9999999"',
            f'"n":"{moment}.00000000000000000001"',
            '"day":"2024-01-01T00:00:00.0000001"',
            '"d":1e-400',
            '"d":-1E-400',
            f'"d":0.{"0" * 400}1',
            '"d":"1e-400"',
            '"f":1e-50',
            '"f":1e-400',
            '"f":"-1e-50"',
        )
        wraps = ("{}", '"st":{{{}}}', '"ar":[null,{{{}}}]', '"m":{{"k":{{{}}}}}')
        rows = [wrap.format(one) for one in fits for wrap in wraps], [wrap.format(one) for one in does_not for wrap in wraps]
        good = [f'{{"id":{number},{row}}}' for number, row in enumerate(rows[0])]
        bad = [f'{{"id":-1,{row}}}' for row in rows[1]]
        for name, space in (("a", ""), ("b", " ")):
            # With blanks the length of a record proves nothing.
            (tmp_path / f"{name}.json").write_text(
                "\n".join(one.replace(",", f",{space}") for one in (*good, *bad)), "utf-8"
            )
        updates = [f'{{"op":"u","before":{{"id":0}},"after":{one}}}' for one in bad]
        (tmp_path / "c.json").write_text("\n".join(updates), "utf-8")
        flat = [f'"{json.loads(f"{{{one}}}").popitem()[0]}"' for one in does_not]
        values = [one.partition(":")[2].strip('"') for one in does_not]
        lines = [
            ",".join(["-1", *(value if column == f'"{name}"' else "" for name in kinds)])
            for column, value in zip(flat, values, strict=True)
        ]
        lines.append(f"1000,{moment}.1234560000Z,{moment}.1234560,2024-01-01,0.0,0e-400")
        (tmp_path / "d.csv").write_text("\n".join([",".join(["id", *kinds]), *lines]), "utf-8")
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
        csv = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "d.csv")}}, "format": {"name": "csv"}}

        for step, name in enumerate("ab", 1):
            assert ingest_files(engine, target, json_files(tmp_path / f"{name}.json"), step, letters).rejected == len(bad)
        debezium = json_files(tmp_path / "c.json", update_format="debezium")
        keyed = replace(target, location=str(tmp_path / "keyed"), primary_key=("id",))
        storage.create(keyed.location, columns)
        assert ingest_files(engine, keyed, debezium, 3, letters).rejected == len(bad)
        assert ingest_files(engine, target, csv, 4, letters).rejected == len(does_not)

        assert sorted(row[0] for row in storage.rows(target.location)) == sorted(
            [*range(len(good)), *range(len(good)), 1000]
        )
        assert {row[4].partition(":")[0] for row in storage.rows(letters.location)} == {"X712"}

    def test_what_has_a_zone_does_not_fit_a_column_without_one(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        inner = "STRUCT<n: TIMESTAMP_NTZ, d: DATE, t: TIMESTAMP, f: FLOAT>"
        columns = (
            ColumnType("id", "INT"),
            ColumnType("n", "TIMESTAMP_NTZ"),
            ColumnType("d", "DATE"),
            ColumnType("t", "TIMESTAMP"),
            ColumnType("f", "FLOAT"),
            ColumnType("st", inner),
        )
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        fits: tuple[dict[str, Any], ...] = (
            {"n": "2024-01-02T23:00:00", "d": "2024-01-02", "t": "2024-01-02T23:00:00-05:00", "f": 3.4e38},
            {"n": "2024-1-2 23:00", "d": "2024-1-2T00:00:00.000", "t": "2024-01-02 23:00:00Z", "f": "Infinity"},
            {"n": "2024-01-02", "d": "2024-01-02 00:00", "t": "2024-01-02", "f": "-1e-3"},
        )
        zoned = ("2024-01-02T23:00:00-05:00", "2024-01-02T23:00:00Z", "2024-01-02 00:00:00+00:00")
        does_not: tuple[dict[str, Any], ...] = (
            *({column: text} for column in "nd" for text in zoned),
            {"d": "2024-01-02T23:00:00"},
            *({column: value} for column in "ndt" for value in ("2024", "2024-03", 2024, 19723, "2024-01-02 foo")),
            {"f": 1e39},
            {"f": "1e400"},
        )
        number, everything = 0, []
        for good, wanted in ((fits, True), (does_not, False)):
            for one in good:
                for row in (one, {"st": one}):
                    everything.append({"id": number if wanted else -1, **row})
                    number += 1
        write(tmp_path / "a.json", *everything)
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
        lines = [
            "id,n,d",
            "100,2024-01-02T23:00:00Z,",
            "101,,2024-01-02T00:00:00+01:00",
            "102,2024-01-02 03:04:05.6,2024-01-02",
        ]
        (tmp_path / "b.csv").write_text("\n".join(lines), "utf-8")
        csv = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}}, "format": {"name": "csv"}}

        rejected = ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters).rejected
        assert ingest_files(engine, target, csv, 2, letters).rejected == 2

        rows = {row[0]: row for row in storage.rows(target.location)}
        assert sorted(rows) == [*range(2 * len(fits)), 102]
        assert rejected == 2 * len(does_not)
        assert rows[0][1:3] == (datetime.fromisoformat("2024-01-02T23:00:00"), date(2024, 1, 2))
        assert rows[102][1:3] == (datetime.fromisoformat("2024-01-02T03:04:05.600000"), date(2024, 1, 2))
        assert [str(rows[5][5][name])[:10] for name in "nd"] == ["2024-01-02"] * 2
        assert {row[4].partition(":")[0] for row in storage.rows(letters.location)} == {"X712"}

    def test_a_number_for_a_text_is_the_number_as_it_was_written(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (
            ColumnType("s", "STRING"),
            ColumnType("st", "STRUCT<i: INT, d: DECIMAL(6,2), s: STRING, ar: ARRAY<STRING>, m: MAP<STRING,VARCHAR(30)>>"),
        )
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        long, longer = "12345678901234567890.123", "0.1234567890123456789012345678901234567890123"
        inner = f'{{"i":7,"d":1.50,"S":1.50,"ar":[{long},{longer},"1.50",null,7],"m":{{"k":-1.00}}}}'
        (tmp_path / "a.json").write_text(f'{{"s":1.50,"st":{inner}}}\n{{"s":{long}}}\n{{"s":1e400}}', "utf-8")

        ingest_files(engine, target, json_files(tmp_path / "a.json"), 1)

        first, other, large = storage.rows(target.location)
        assert (first[0], other[0], large[0].upper().replace("+", "")) == ("1.50", long, "1E400")
        nested = first[1]
        assert (nested["i"], nested["s"], nested["ar"]) == (7, "1.50", [long, longer, "1.50", None, "7"])
        assert (Decimal(str(nested["d"])), dict(nested["m"])) == (Decimal("1.5"), {"k": "-1.00"})

    def test_numbers_lose_no_fraction_where_the_source_has_types(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (
            ColumnType("id", "INT"),
            ColumnType("n", "DOUBLE"),
            ColumnType("d", "DECIMAL(6,2)"),
            ColumnType("st", "STRUCT<i: DOUBLE, ar: ARRAY<DOUBLE>>"),
        )
        source = TableTarget("source", str(tmp_path / "source"), columns)
        storage.create(source.location, columns)
        write(
            tmp_path / "a.json",
            {"id": 1, "n": 4.0, "d": 5.00, "st": {"i": -2.0, "ar": [1.0, None]}},
            {"id": 2, "n": 1.5},
            {"id": 3, "n": -2.9},
            {"id": 4, "d": 0.25},
            {"id": 5, "st": {"i": 1.5}},
            {"id": 6, "st": {"ar": [1.0, 2.5]}},
        )
        ingest_files(engine, source, json_files(tmp_path / "a.json"), 1)
        columns = (
            ColumnType("id", "INT"),
            ColumnType("n", "INT"),
            ColumnType("d", "BIGINT"),
            ColumnType("st", "STRUCT<i: INT, ar: ARRAY<BIGINT>>"),
        )
        target = TableTarget("copy", str(tmp_path / "copy"), columns)
        storage.create(target.location, columns)
        settings = {"transport": {"name": "delta_table_input", "config": {"uri": source.location, "mode": "snapshot"}}}
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        assert ingest_files(engine, target, settings, 1, letters).rejected == 5

        ((id_, n, d, st),) = storage.rows(target.location)
        assert (id_, n, d, dict(st)) == (1, 4, 5, {"i": -2, "ar": [1, None]})
