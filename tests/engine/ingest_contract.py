"""What every engine promises of inputs: each record once, in what form it comes, and which column takes what of it.

Part of contract.py. What is no row: dead_letter_contract.py; what is another value: fitting_contract.py; changes of rows:
update_contract.py; what is late: late_contract.py; requests over HTTP: http_input_contract.py.
"""

import json
import os
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction
from tests.cells import mostly_slow
from tests.engine.asking import GRADES, Storage, change, ingest_files, json_files, write
from tests.engine.dead_letter_contract import DeadLetterContract
from tests.engine.fitting_contract import FittingContract
from tests.engine.http_input_contract import HttpInputContract
from tests.engine.late_contract import LateContract
from tests.engine.update_contract import UpdateContract

NO_LINE_FEEDS = ("\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\ufeff")
"""Signs that end a line elsewhere."""


class IngestContract(UpdateContract, DeadLetterContract, LateContract, FittingContract, HttpInputContract):
    """Inherit, and give the fixtures `engine` and `storage`."""

    def test_columns_that_rows_lack_get_their_defaults(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        target = replace(grades, defaults={"class": "'it\\'s \\\\n'", "grade": "-1.5", "class_date": "DATE '2025-01-02'"})
        engine.execute(change(target, "INSERT INTO grades (student_id, class) VALUES (1, NULL)", 1))
        engine.execute(change(target, "INSERT INTO grades VALUES (2, NULL, NULL, NULL)", 2))
        write(tmp_path / "in" / "a.json", {"student_id": 3, "class": "x", "grade": None}, {"student_id": 4})
        ingest_files(engine, target, json_files(tmp_path / "in"), 3)
        (tmp_path / "b.csv").write_text("student_id,grade\n5,\n", "utf-8")
        csv = {
            "transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}},
            "format": {"name": "csv", "config": {}},
        }
        ingest_files(engine, target, csv, 4)

        default, day = Decimal("-1.50"), date(2025, 1, 2)
        assert storage.rows(grades.location) == [
            (1, None, default, day),
            (2, None, None, None),
            (3, "x", default, day),
            (4, "it's \\n", default, day),
            (5, "it's \\n", None, day),
        ]

    def test_a_delta_table_that_lacks_a_column_gives_its_default(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, NULL, 1, NULL)"))
        columns = (*GRADES, ColumnType("more", "BOOLEAN", nullable=False))
        target = TableTarget("copy", str(tmp_path / "copy"), columns, defaults={"more": "TRUE", "class": "'x'"})
        storage.create(target.location, columns)
        settings = {"transport": {"name": "delta_table_input", "config": {"uri": grades.location, "mode": "snapshot"}}}
        ingest_files(engine, target, settings, 1)

        assert storage.rows(target.location) == [(1, None, Decimal("1.00"), None, True)]

    def test_files_are_read_once_each(self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path) -> None:
        folder = tmp_path / "in"
        settings = json_files(folder)
        write(folder / "a 1[%].json", {"STUDENT_ID": 1, "grade": 1.10, "class": "a", "other": 5}, {"student_id": "2"})
        write(folder / "_hidden.json", {"student_id": 9})
        first = engine.discover("c", settings, None)
        assert first is not None
        assert not first.end_of_input
        assert engine.ingest(Ingestion(grades, "c", settings, first.range, Transaction("c", 1))).rows == 2
        assert engine.discover("c", settings, first.position) is None

        write(folder / "deeper" / "b.json", {"student_id": 3, "class_date": "2025-01-02"})
        second = engine.discover("c", settings, json.loads(json.dumps(first.position)))
        assert second is not None
        ingestion = Ingestion(grades, "c", settings, second.range, Transaction("c", 2))
        assert engine.ingest(ingestion).version == 2
        assert engine.ingest(ingestion).reused

        assert storage.rows(grades.location) == [
            (1, "a", Decimal("1.10"), None),
            (2, None, None, None),
            (3, None, None, date(2025, 1, 2)),
        ]
        assert engine.discover("c", settings, second.position) is None

    def test_the_oldest_file_says_since_when_something_waits(self, engine: Engine, tmp_path: Path) -> None:
        times = {"a": 1_700_000_300.5, "b": 1_700_000_100, "c": 1_700_000_200}
        for name, time in times.items():
            write(tmp_path / "in" / f"{name}.json", {"student_id": 1})
            os.utime(tmp_path / "in" / f"{name}.json", (time, time))
        settings = {**json_files(tmp_path / "in"), "max_batch_size": 1}

        found = engine.discover("c", settings, None)
        assert found is not None
        assert (found.since, found.waiting_since) == ("2023-11-14T22:18:20.500+00:00", "2023-11-14T22:15:00.000+00:00")
        found = engine.discover("c", settings, found.position)
        assert found is not None
        assert (found.since, found.waiting_since) == ("2023-11-14T22:15:00.000+00:00",) * 2
        os.utime(tmp_path / "in" / "c.json", (0, 0))
        found = engine.discover("c", settings, found.position)
        assert found is not None
        assert (found.since, found.waiting_since) == (None, None), "nobody knows"

    def test_a_repeat_reads_nothing(self, engine: Engine, grades: TableTarget, tmp_path: Path) -> None:
        settings = json_files(tmp_path / "in")
        write(tmp_path / "in" / "a.json", {"student_id": 1})
        available = engine.discover("c", settings, None)
        assert available is not None
        ingestion = Ingestion(grades, "c", settings, available.range, Transaction("c", 1))
        engine.ingest(ingestion)
        (tmp_path / "in" / "a.json").unlink()

        assert engine.ingest(ingestion).reused

    def test_a_file_that_changes_after_it_was_read_is_an_error(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        settings = json_files(tmp_path / "in")
        file = write(tmp_path / "in" / "a.json", {"student_id": 1})
        available = engine.discover("c", settings, None)
        assert available is not None
        write(file, {"student_id": 1}, {"student_id": 2})

        for attempt in (
            lambda: engine.ingest(Ingestion(grades, "c", settings, available.range, Transaction("c", 1))),
            lambda: engine.discover("c", settings, available.position),
        ):
            with pytest.raises(EngineError, match=r"a\.json") as raised:
                attempt()
            assert raised.value.code == "X711"
        assert storage.version(grades.location) == 0

    def test_one_file_ends_and_a_pattern_does_not(self, engine: Engine, tmp_path: Path) -> None:
        file = write(tmp_path / "in" / "a.json", {"student_id": 1})

        single, pattern = (
            engine.discover("c", json_files(file), None),
            engine.discover("c", json_files(file.parent / "*.json"), None),
        )

        assert single is not None
        assert single.end_of_input
        assert pattern is not None
        assert not pattern.end_of_input
        assert pattern.range == single.range
        assert engine.discover("c", json_files(tmp_path / "in" / "*.csv"), None) is None

    def test_arrays_and_csv(self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(
            '[{"id": 1, "name": "q"},\n {"id": 2, "name": "r"}, {"id": 1, "name": "z"}]', "utf-8"
        )
        (tmp_path / "b.csv").write_text('NAME;id\n"a ""b""";3\n;4\n', "utf-8")
        ingest_files(engine, students, json_files(tmp_path / "a.json", array=True), 1)
        csv = {
            "transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}},
            "format": {"name": "csv", "config": {"delimiter": ";"}},
        }
        ingest_files(engine, students, csv, 2)

        assert storage.rows(students.location) == [(1, "z"), (2, "r"), (3, 'a "b"'), (4, None)]

    @pytest.mark.parametrize("sign", mostly_slow(NO_LINE_FEEDS, "\u2028", "\x1c", "\ufeff"))
    def test_only_line_feeds_end_lines(
        self, sign: str, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        """Delta writes the least and greatest texts into its log as they are, so that every later step reads them there."""
        (tmp_path / "a.json").write_text(json.dumps({"id": 1, "name": f"a{sign}b"}, ensure_ascii=sign < " ") + "\n", "utf-8")
        (tmp_path / "b.csv").write_text(f"id,name\n2,{sign}c\n3,d{sign}e\n", "utf-8")
        csv = {
            "transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}},
            "format": {"name": "csv", "config": {}},
        }
        for step, settings in enumerate((json_files(tmp_path / "a.json"), csv), 1):
            assert not ingest_files(engine, students, settings, step).reused
            assert ingest_files(engine, students, settings, step).reused

        assert storage.rows(students.location) == [(1, f"a{sign}b"), (2, f"{sign}c"), (3, f"d{sign}e")]

    def test_a_delta_table_is_read_once_at_its_version(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, '2025-01-01')", 1))
        target = TableTarget("copy", str(tmp_path / "copy"), GRADES)
        storage.create(target.location, GRADES)
        settings = {"transport": {"name": "delta_table_input", "config": {"uri": grades.location, "mode": "snapshot"}}}

        available = engine.discover("c", settings, None)
        assert available is not None
        assert available.end_of_input
        assert available.range["version"] == 1
        engine.execute(change(grades, "INSERT INTO grades VALUES (2, 'b', 2, NULL)", 2))
        engine.ingest(Ingestion(target, "c", settings, available.range, Transaction("c", 1)))

        assert storage.rows(target.location) == [(1, "a", Decimal("1.00"), date(2025, 1, 1))]
        assert engine.discover("c", settings, available.position) is None

    @pytest.mark.parametrize(
        "transport",
        [
            {"name": "delta_table_input", "config": {"uri": "/nowhere/at/all"}},
            {"name": "file_input", "config": {"path": "/nowhere/at/all"}},
        ],
    )
    def test_a_missing_source_is_an_error(self, transport: dict[str, Any], engine: Engine) -> None:
        with pytest.raises(EngineError, match="/nowhere/at/all") as raised:
            engine.discover("c", {"transport": transport}, None)

        assert raised.value.code == "X710"

    def test_a_secret_that_is_not_set_is_named(self, engine: Engine) -> None:
        settings = {"transport": {"name": "file_input", "config": {"path": "${secret:NO_SUCH_SECRET}"}}}

        with pytest.raises(EngineError, match="NO_SUCH_SECRET") as raised:
            engine.discover("c", settings, None)

        assert raised.value.code == "X715"

    def test_a_column_takes_the_field_that_its_connector_names(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        renamed: dict[str, Any] = {"columns": {"NAME": {"source": "label"}, "id": {"source": "no. (1)"}}}
        write(tmp_path / "a.json", {"No. (1)": 1, "label": "a"}, {"no. (1)": 2, "label": "b", "name": "x"}, {"id": 3})
        write(tmp_path / "b.json", {"insert": {"no. (1)": 5, "label": "e"}}, {"delete": {"no. (1)": 1}})
        write(tmp_path / "c.json", {"op": "u", "before": {"no. (1)": 2}, "after": {"no. (1)": 4, "label": "d"}})
        (tmp_path / "d.csv").write_text("label,no. (1)\nf,6\n", "utf-8")
        csv = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "d.csv")}}, "format": {"name": "csv"}}
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        first = ingest_files(engine, students, json_files(tmp_path / "a.json") | renamed, 1, letters)
        assert storage.rows(students.location) == [(1, "a"), (2, "b")]
        ingest_files(engine, students, json_files(tmp_path / "b.json", update_format="insert_delete") | renamed, 2)
        ingest_files(engine, students, json_files(tmp_path / "c.json", update_format="debezium") | renamed, 3)
        last = ingest_files(engine, students, csv | renamed, 4)

        assert storage.rows(students.location) == [(4, "d"), (5, "e"), (6, "f")]
        assert (first.rejected, dict(first.unknown)) == (1, {"id": 1, "name": 1})
        assert (last.missing, dict(last.unknown)) == ((), {})

    def test_a_column_of_a_delta_table_may_have_another_name(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL)"))
        columns = (ColumnType("id", "BIGINT"), ColumnType("class", "STRING"), ColumnType("more", "STRING"))
        target = TableTarget("copy", str(tmp_path / "copy"), columns)
        storage.create(target.location, columns)
        transport = {"name": "delta_table_input", "config": {"uri": grades.location, "mode": "snapshot"}}
        settings = {"transport": transport, "columns": {"Id": {"source": "Student_id"}}}

        written = ingest_files(engine, target, settings, 1)

        assert storage.rows(target.location) == [(1, "a", None)]
        assert (dict(written.unknown), written.missing) == ({"class_date": 1, "grade": 1}, ("more",))

    def test_fields_within_a_column_are_taken_by_name(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        kind = "STRUCT<b: INT, A: INT, more: STRUCT<x: INT, y: INT>, only: INT>"
        columns = (
            ColumnType("st", kind),
            ColumnType("ar", "ARRAY<STRUCT<b: INT, a: INT>>"),
            ColumnType("m", f"MAP<STRING,{kind}>"),
        )
        source = TableTarget("source", str(tmp_path / "source"), columns)
        storage.create(source.location, columns)
        one = {"b": 1, "A": 2, "more": {"x": 3, "y": 4}, "only": 5}
        write(tmp_path / "a.json", {"st": one, "ar": [{"b": 6, "a": 7}, None], "m": {"k": one, "n": None}}, {"st": None})
        ingest_files(engine, source, json_files(tmp_path / "a.json"), 1)
        kind = "STRUCT<a: BIGINT, lacks: STRING, b: INT, more: STRUCT<y: INT, x: INT>>"
        columns = (
            ColumnType("ar", "ARRAY<STRUCT<a: INT, b: INT>>"),
            ColumnType("renamed", kind),
            ColumnType("m", f"MAP<STRING,{kind}>"),
        )
        target = TableTarget("copy", str(tmp_path / "copy"), columns)
        storage.create(target.location, columns)
        transport = {"name": "delta_table_input", "config": {"uri": source.location, "mode": "snapshot"}}
        settings = {"transport": transport, "columns": {"renamed": {"source": "st"}}}

        written = ingest_files(engine, target, settings, 1)

        same = {"a": 2, "lacks": None, "b": 1, "more": {"y": 4, "x": 3}}
        [empty, (ar, st, m)] = sorted(storage.rows(target.location), key=lambda row: row[0] is not None)
        assert empty == (None, None, None)
        assert (ar, st) == ([{"a": 7, "b": 6}, None], same)
        assert dict(m) == {"k": same, "n": None}
        assert (dict(written.unknown), written.missing) == ({"m.only": 2, "st.only": 2}, ("m.lacks", "st.lacks"))

    def test_keys_of_objects_are_fields_without_regard_to_case_at_any_depth(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        kind = "STRUCT<a: INT, Deep: ARRAY<STRUCT<x: STRING>>, m: MAP<STRING,STRUCT<y: DECIMAL(4,2)>>>"
        columns = (ColumnType("id", "INT"), ColumnType("st", kind))
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        write(
            tmp_path / "a.json",
            {
                "id": 1,
                "ST": {"A": 1, "deep": [{"X": "Q"}, None, {"x": None, "other": 1}], "M": {"K": {"Y": 1.5}, "n": None}},
            },
            {"id": 2, "st": {"b": 1}},
            {"id": 3, "st": None},
            {"id": 4, "st": {"a": 1, "A": 2}},
            {"id": 5, "st": {"A": "x"}},
            {"id": 6, "st": {"deep": [{"x": "1", "X": "2"}]}},
        )
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        assert ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters).rejected >= 2

        (one, first), *others = storage.rows(target.location)[:3]
        assert (one, first["a"], first["Deep"]) == (1, 1, [{"x": "Q"}, None, {"x": None}])
        assert {key: part and Decimal(str(part["y"])) for key, part in dict(first["m"]).items()} == {
            "K": Decimal("1.5"),
            "n": None,
        }
        assert others == [(2, {"a": None, "Deep": None, "m": None}), (3, None)]

    def test_a_structure_without_any_field_of_its_column_is_an_error(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (ColumnType("st", "ARRAY<STRUCT<a: INT, deep: STRUCT<net: INT>>>"),)
        source = TableTarget("source", str(tmp_path / "source"), columns)
        storage.create(source.location, columns)
        columns = (ColumnType("st", "ARRAY<STRUCT<a: INT, deep: STRUCT<gross: INT>>>"),)
        target = TableTarget("copy", str(tmp_path / "copy"), columns)
        storage.create(target.location, columns)
        settings = {"transport": {"name": "delta_table_input", "config": {"uri": source.location, "mode": "snapshot"}}}

        with pytest.raises(
            EngineError, match=r"the values for column st\.deep have no field of .*they are of type"
        ) as raised:
            ingest_files(engine, target, settings, 1)

        assert raised.value.code == "X712"

    def test_fields_that_no_column_takes_are_counted(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(tmp_path / "a.json", {"student_id": 1}, {"student_id": 2, "Mark": 1}, {"student_id": "x", "Mark": 1, "é": 2})
        write(tmp_path / "b.json", *({"insert": {"student_id": n, f"key {n}": n}} for n in range(30)))
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.csv").write_text("student_id,mark\n5,1\n6,1\n7\n", "utf-8")
        (tmp_path / "in" / "b.csv").write_text("class,student_id,grade,class_date\na,1,1,\n", "utf-8")
        csv = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "in")}}, "format": {"name": "csv"}}
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        plain = ingest_files(engine, grades, json_files(tmp_path / "a.json"), 1, letters)
        changes = ingest_files(engine, grades, json_files(tmp_path / "b.json", update_format="insert_delete"), 2, letters)
        lines = ingest_files(engine, grades, csv, 3, letters)

        assert (dict(plain.unknown), plain.missing) == ({"Mark": 2, "é": 1}, ())
        assert dict(changes.unknown) == {f"key {n}": 1 for n in range(30)}
        assert (dict(lines.unknown), lines.missing) == ({"mark": 2}, ("class", "class_date", "grade"))
