"""What every engine promises of inputs: each record once, in what form it comes, what is no row, and changes of rows.

Part of contract.py; changes at large: changes_contract.py.
"""

import json
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction
from tests.cells import mostly_slow
from tests.engine.asking import GRADES, Storage, Tables, change, ingest_files, json_files, write

NO_LINE_FEEDS = ("\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\ufeff")
"""Signs that end a line elsewhere."""

WRAPPED = mostly_slow(
    [(form, array) for form in ("raw", "insert_delete", "debezium") for array in (False, True)],
    ("raw", False),
    ("insert_delete", True),
    ("debezium", False),
)
"""What stands around a row: each form once in every run, in lines and in an array."""


class IngestContract(Tables):
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

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ('{"student_id": 1}\n{"student_id": "x"}\n', "X712"),
            ('{"student_id": 1}\n{"student_id": \n', "X714"),
            ('[{"student_id": 1}]\n', "X714"),
            ("5\n", "X714"),
        ],
    )
    def test_a_bad_record_writes_nothing(
        self, text: str, code: str, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.json").write_text(text, "utf-8")
        settings = json_files(tmp_path / "in")
        available = engine.discover("c", settings, None)
        assert available is not None

        with pytest.raises(EngineError) as raised:
            engine.ingest(Ingestion(grades, "c", settings, available.range, Transaction("c", 1)))

        assert raised.value.code == code
        assert storage.version(grades.location) == 0

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

    def test_changes_of_a_keyed_table_the_last_of_each_key_counts(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(students, "INSERT INTO students VALUES (1, 'a'), (2, 'b'), (3, 'c')", 1))
        lines = [
            {"delete": {"ID": 1}},
            {"insert": {"id": 2, "name": "x"}},
            {"insert": {"id": 2, "name": "y"}},
            {"delete": {"id": 3}},
            {"insert": {"id": 3, "name": "z"}},
            {"insert": {"id": 4, "name": "q"}},
            {"delete": {"id": 4}},
            {"delete": {"id": 5, "name": "longer than five"}},
        ]
        write(tmp_path / "a.json", *lines)

        written = ingest_files(engine, students, json_files(tmp_path / "a.json", update_format="insert_delete"), 2)

        assert storage.rows(students.location) == [(2, "y"), (3, "z")]
        # The row of key 4 came and went; it is only that of key 5 that nobody ever had.
        assert (written.version, written.unmatched, written.rejected) == (2, 1, 0)

    def test_changes_of_a_table_without_key_are_those_of_a_multiset(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL), (1, 'a', 1, NULL), (2, NULL, 2, NULL)"))
        one, two = {"student_id": 1, "class": "a", "grade": 1}, {"student_id": 2, "grade": "2.00"}
        three, four = {"student_id": 3}, {"student_id": 4}
        changes = [("delete", one), ("delete", two), ("delete", two), ("insert", two), ("delete", three), ("insert", three)]
        changes += [("insert", four), ("insert", four), ("delete", four)]
        write(tmp_path / "a.json", *({kind: row} for kind, row in changes))

        written = ingest_files(engine, grades, json_files(tmp_path / "a.json", update_format="insert_delete"), 2)

        kept = [
            (1, "a", Decimal("1.00"), None),
            (2, None, Decimal("2.00"), None),
            (3, None, None, None),
            (4, None, None, None),
        ]
        assert storage.rows(grades.location) == kept
        assert (written.version, written.unmatched) == (2, 2)

    def test_inserts_and_deletes_that_find_nothing_add_rows_only(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(
            tmp_path / "a.json", {"insert": {"student_id": 1}}, {"insert": {"student_id": 1}}, {"delete": {"student_id": 2}}
        )

        written = ingest_files(engine, grades, json_files(tmp_path / "a.json", update_format="insert_delete"), 2)

        assert storage.rows(grades.location) == [(1, None, None, None)] * 2
        assert written.unmatched == 1

    def test_change_events_of_debezium(
        self, engine: Engine, storage: Storage, students: TableTarget, grades: TableTarget, tmp_path: Path
    ) -> None:
        def row(number: int, text: str) -> dict[str, Any]:
            return {"id": number, "name": text, "student_id": number, "class": text}

        write(
            tmp_path / "a.json",
            {"payload": {"op": "c", "before": None, "after": row(1, "a")}, "schema": {}},
            {"op": "r", "after": row(2, "b")},
            {"op": "u", "before": row(1, "a"), "after": row(1, "A")},
            {"op": "u", "before": row(2, "b"), "after": row(3, "B")},
            {"op": "c", "after": row(4, "d")},
            {"op": "d", "before": row(4, "d"), "after": None},
        )
        settings = json_files(tmp_path / "a.json", update_format="debezium")

        ingest_files(engine, students, settings, 2)
        ingest_files(engine, grades, settings, 2)

        assert storage.rows(students.location) == [(1, "A"), (3, "B")]
        assert storage.rows(grades.location) == [(1, "A", None, None), (3, "B", None, None)]

    def test_a_record_that_is_no_row_goes_to_the_dead_letters_and_the_others_go_on(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        lines = ['{"id": 1, "name": "a"}', '{"id": "x"}', '{"id": 2', '{"id": null}', "5", '{"id":3,"ID":3}', '{"id":4}']
        (tmp_path / "a.json").write_text("\n".join(lines), "utf-8")
        letters = DeadLetters(str(tmp_path / "dead-letters"), 7, 5)
        settings = json_files(tmp_path / "a.json")

        written = ingest_files(engine, students, settings, 1, letters)
        again = ingest_files(engine, students, settings, 1, letters)

        assert storage.rows(students.location) == [(1, "a"), (4, None)]
        assert (written.rejected, again.rejected, again.reused) == (5, 5, True)
        assert storage.version(students.location) == 1
        found = storage.rows(letters.location)
        assert len(found[0]) == len(DEAD_LETTER_COLUMNS)
        assert sorted((row[5], row[4][:4]) for row in found) == sorted(
            zip(lines[1:6], ["X712", "X714", "X713", "X714", "X714"], strict=True)
        )
        assert {row[:3] for row in found} == {(7, "c", "Students")}
        places = {row[5]: json.loads(row[3]) for row in found}
        assert places == {lines[n]: {"file": str(tmp_path / "a.json"), "line": n + 1} for n in range(1, 6)}

    def test_a_dead_letter_says_which_record_of_its_file_it_is(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        (tmp_path / "in").mkdir()
        bad = '{"id": "x"}\n'
        (tmp_path / "in" / "a.json").write_text('{"id": 1}\n\n' + bad, "utf-8")
        (tmp_path / "in" / "b.json").write_text(bad + '{"id": 2}\n' * 2000 + bad, "utf-8")
        (tmp_path / "c.json").write_text('\n{"insert": {"id": 1}}\n{"insert": {"id": "x"}}\n', "utf-8")
        (tmp_path / "d.json").write_text('[{"id": 1}, {"id": "x"}]', "utf-8")
        (tmp_path / "in" / "e.csv").write_text("id,name\n1,a\n\n2,b\nx,c\n3\n" + "4," * 30_000 + "\n", "utf-8")
        (tmp_path / "in" / "f.csv").write_text("name,id\nd,x\n", "utf-8")

        def csv(path: str) -> dict[str, Any]:
            transport = {"name": "file_input", "config": {"path": str(tmp_path / path)}}
            return {"transport": transport, "format": {"name": "csv"}}

        def places(settings: dict[str, Any]) -> list[dict[str, Any]]:
            letters = DeadLetters(str(tmp_path / f"letters{len(asked)}"), 1)
            asked.append(settings)
            ingest_files(engine, students, settings, len(asked), letters)
            found = [json.loads(row[3]) for row in storage.rows(letters.location)]
            return sorted(({**one, "file": Path(one["file"]).name} for one in found), key=json.dumps)

        asked: list[dict[str, Any]] = []
        lines = [{"file": "a.json", "line": 3}, {"file": "b.json", "line": 1}, {"file": "b.json", "line": 2002}]
        assert places(json_files(tmp_path / "in" / "*.json")) == lines
        assert places(json_files(tmp_path / "c.json", update_format="insert_delete")) == [{"file": "c.json", "line": 3}]
        assert places(json_files(tmp_path / "d.json", array=True)) == [{"file": "d.json", "element": 2}]
        records = [{"file": "e.csv", "record": number} for number in (3, 4, 5)]
        assert places(csv("in/*.csv")) == [*records, {"file": "f.csv", "record": 1}]

    def test_dead_letters_that_are_missing_are_written_when_a_range_is_repeated(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(tmp_path / "a.json", {"student_id": "x"}, {"student_id": 1})
        settings, letters = json_files(tmp_path / "a.json"), DeadLetters(str(tmp_path / "dead-letters"), 1)
        ingest_files(engine, grades, settings, 1, letters)
        engine.remove(letters.location)

        again = ingest_files(engine, grades, settings, 1, letters)

        assert (again.reused, again.rejected, again.version) == (True, 1, 1)
        assert len(storage.rows(letters.location)) == 1

    def test_too_many_rejected_records_are_an_error(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(tmp_path / "a.json", {"student_id": "x"}, {"student_id": 1}, {"student_id": "y"})
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1, 1)

        with pytest.raises(EngineError, match=r"2 record.*at most 1.*a\.json.*X712.*x") as raised:
            ingest_files(engine, grades, json_files(tmp_path / "a.json"), 1, letters)

        assert raised.value.code == "X724"
        assert storage.version(letters.location) is None

    @pytest.mark.parametrize("mark", mostly_slow([",", "|", "\t", " "], ","))
    def test_a_line_whose_quotes_do_not_match_is_no_record(
        self, mark: str, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        good = ['1,"a"', "2,", '3,"a,b"', '4,"""a"""', '"5","x"', '"6",""', '7,""""']
        bad = [
            '11,"open',
            '12,second"',
            '13,a"b',
            '14,"a"b',
            '15,"a""',
            '16,"a""",b"',
            'second","third',
            '"17,"a"',
            '18,"x"" ,"y',
        ]
        lines = [line.replace(",", mark) for line in ("id,name", *good, *bad)]
        (tmp_path / "a.csv").write_text("\n".join(lines), "utf-8")
        transport = {"name": "file_input", "config": {"path": str(tmp_path / "a.csv")}}
        csv = {"transport": transport, "format": {"name": "csv", "config": {"delimiter": mark}}}
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        ingest_files(engine, students, csv, 1, letters)

        assert [row[0] for row in storage.rows(students.location)] == [1, 2, 3, 4, 5, 6, 7]
        assert [row[1] for row in storage.rows(students.location)][2:5] == [f"a{mark}b", '"a"', "x"]
        rejected = storage.rows(letters.location)
        assert sorted(row[5] for row in rejected) == sorted(line.replace(",", mark) for line in bad)
        assert {row[4][:40] for row in rejected} == {"X714: the quotes of a line do not match:"}

    @pytest.mark.parametrize(("update_format", "array"), WRAPPED)
    def test_the_reason_of_a_dead_letter_begins_with_one_code(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path, array: bool, update_format: str
    ) -> None:
        (tmp_path / "a.json").write_text("{no json", "utf-8")
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        ingest_files(engine, students, json_files(tmp_path / "a.json", array, update_format), 1, letters)

        what = "the text is not an array of JSON objects" if array else "a record is not a JSON object"
        assert [row[4] for row in storage.rows(letters.location)] == [f"X714: {what}"]

    @pytest.mark.parametrize("array", mostly_slow([False, True], True))
    def test_a_key_that_stands_twice_around_the_row_is_a_problem_of_the_record(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path, array: bool
    ) -> None:
        wrapped = [
            '{"insert": {"id": 1}, "insert": {"id": 2}}',
            '{"insert": {"id": 3}}',
            '{"\\u0069nsert": {"id": 4}, "Insert": null, "other": [1.25]}',
            '{"delete": {"id": 5}, "delete": {"id": 6}}',
            '{"insert": {"id": 7}, "other": 1, "other": 2}',
            '{"insert": {"id": 8, "name": "a"}, "source": {"x": 1.5}}',
        ]
        events = [
            '{"op": "c", "after": {"id": 10}, "after": {"id": 11}}',
            '{"payload": {"op": "c", "after": {"id": 12}}, "payload": {"op": "c", "after": {"id": 13}}}',
            '{"payload": {"op": "u", "before": {"id": 3}, "after": {"id": 14}, "op": "u"}}',
            '{"payload": null, "op": "u", "before": {"id": 3}, "after": {"id": 15, "name": 1.50}}',
            '{"payload": {"op": "c", "after": {"id": 16}, "source": {"a": 1}}, "schema": {"a": 1}}',
        ]
        for name, texts in (("a.json", wrapped), ("b.json", events)):
            (tmp_path / name).write_text(f"[{','.join(texts)}]" if array else "\n".join(texts), "utf-8")
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        ingest_files(engine, students, json_files(tmp_path / "a.json", array, "insert_delete"), 1, letters)
        assert [row[0] for row in storage.rows(students.location)] == [3, 8]
        ingest_files(engine, students, json_files(tmp_path / "b.json", array, "debezium"), 2, letters)

        assert storage.rows(students.location) == [(15, "1.50"), (16, None), (8, "a")]
        assert [row[4] for row in storage.rows(letters.location)] == ["X714: a record has a key twice"] * 7

    def test_an_append_only_table_rejects_deletes_and_both_rows_of_an_update(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        target, letters = replace(grades, append_only=True), DeadLetters(str(tmp_path / "dead-letters"), 1)
        one, two = {"student_id": 1}, {"student_id": 2}
        write(
            tmp_path / "a.json",
            {"op": "c", "after": one},
            {"op": "u", "before": one, "after": two},
            {"op": "d", "before": one},
        )

        written = ingest_files(engine, target, json_files(tmp_path / "a.json", update_format="debezium"), 1, letters)

        assert storage.rows(grades.location) == [(1, None, None, None)]
        assert {row[4][:4] for row in storage.rows(letters.location)} == {"X722"}
        assert (written.rejected, len(storage.rows(letters.location))) == (2, 2)

    def test_an_update_is_both_rows_or_none(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, NULL, NULL, NULL)"))
        write(tmp_path / "a.json", {"op": "u", "before": {"student_id": 1}, "after": {"student_id": "x"}})
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        ingest_files(engine, grades, json_files(tmp_path / "a.json", update_format="debezium"), 2, letters)

        assert storage.rows(grades.location) == [(1, None, None, None)]

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

    def test_json_is_what_its_standard_says(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        columns = (ColumnType("id", "INT"), ColumnType("s", "STRING"), ColumnType("st", "STRUCT<s: STRING, f: DOUBLE>"))
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        fits = ['{"id":1,"s":"it\'s /*x*/ //"}', '{"id":2,"st":{"s":"NaN","f":"NaN"}}', ' { "id" : 3 } ']
        does_not = [
            "{'id':11}",
            '{"id":12,"s":NaN}',
            '{"id":13,"st":{"f":NaN}}',
            '{"id":14,"st":{"f":-Infinity}}',
            '{"id":15,"s":\'x\'}',
            '{"id":16,"st":{\'s\':"x"}}',
            '{"id":017}',
            '{"id":+18}',
            '{"id":19,"st":{"f":.5}}',
            '{"id":20,"st":{"f":5.}}',
            '{"id":21} // comment',
            '{"id":22, /* comment */ "s":"x"}',
            '{"id":23,}',
            "{id:24}",
            '{"id":25,"s":"a\tb"}',
            '{"id":26,"s":"\\\'"}',
            '{"id":27,"s":"a\0b"}',
        ]
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
        (tmp_path / "a.json").write_text("\n".join([*fits, *does_not]), "utf-8")
        wrapped = [f'{{"insert":{text}}}' for text in (*fits, *does_not)]
        (tmp_path / "b.json").write_text("\n".join(wrapped), "utf-8")

        plain = ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters)
        inserts = ingest_files(engine, target, json_files(tmp_path / "b.json", update_format="insert_delete"), 2, letters)

        assert (plain.rejected, inserts.rejected) == (len(does_not), len(does_not))
        assert [row[0] for row in storage.rows(target.location)] == [1, 1, 2, 2, 3, 3]
        reasons = {row[4] for row in storage.rows(letters.location)}
        assert reasons == {"X714: a record is not a JSON object"}

    def test_a_text_that_is_not_what_was_sent_does_not_fit(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        columns = (ColumnType("id", "INT"), ColumnType("s", "STRING"), ColumnType("st", "STRUCT<a: ARRAY<STRING>>"))
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        fits = [
            rb'{"id":1,"s":"\ud83d\ude00 \\ud800 \u0000"}',
            rb'{"id":2,"st":{"a":["\\\ud83d\ude00\\\"", "\\ufdd2"]}}',
            '{"id":3,"s":"\ufdd0\ufdd1\ufffd"}'.encode(),
        ]
        halves = [
            rb'{"id":11,"s":"a\ud800"}',
            rb'{"id":12,"s":"\uDC00\uD800"}',
            rb'{"id":13,"s":"\ud800\\\udc00"}',
            rb'{"id":14,"st":{"a":["\ud800"]}}',
            rb'{"id":15,"st":{"a":["x"],"\udc00":1}}',
            rb'{"id":16,"other":"\ud83d"}',
        ]
        others = [b'{"id":21,"s":"a\xffb"}', b'{"id":22,"s":"\xed\xa0\x80"}', b'{"id":23,"st":{"a":["\xc0\x80"]}}']
        marks = ['{"id":31,"s":"\ufdd2"}'.encode(), rb'{"id":32,"s":"\uFdd2"}']
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
        (tmp_path / "a.json").write_bytes(b"\n".join([*fits, *halves, *others, *marks]))
        lines = [b"id,s", "1,\u00e9".encode(), b"2,a\xffb", b'3,"\0"', "4,\ufdd0".encode(), rb"5,\ufdd0"]
        (tmp_path / "b.csv").write_bytes(b"\n".join(lines))
        csv = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}}, "format": {"name": "csv"}}

        ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters)
        rejected = storage.rows(letters.location)
        ingest_files(engine, target, csv, 2, letters)

        found = {row[0]: row for row in storage.rows(target.location) if row[1] != "\u00e9"}
        assert sorted(found) == [1, 2, 3, 5]
        assert [found[1][1], found[3][1]] == ["\U0001f600 \\ud800 \0", "\ufdd0\ufdd1\ufffd"]
        assert found[2][2] == {"a": ['\\\U0001f600\\"', "\\ufdd2"]}
        told = {row[4]: [other[5] for other in rejected if other[4] == row[4]] for row in rejected}
        assert {reason.partition(":")[0]: None for reason in told} == {"X714": None}
        assert sorted(map(len, told.values())) == [len(marks), len(others), len(halves)]
        assert f"not UTF-8, in hexadecimal digits: {others[0].hex().upper()}" in {row[5] for row in rejected}
        assert len(storage.rows(letters.location)) - len(rejected) == 3

    def test_a_text_that_shows_bytes_is_a_text(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        told = "not UTF-8, in hexadecimal digits: FF"
        columns = (ColumnType("id", "STRING"), ColumnType("s", "STRING"))
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
        (tmp_path / "a.csv").write_text(f"id;s\n{told};1\n2;{told}\n")
        (tmp_path / "b.json").write_text(f'{told}\n{{"id":"3","s":"{told}"}}\n')
        (tmp_path / "c.json").write_text(told)
        csv: dict[str, Any] = {"transport": {"name": "file_input", "config": {"path": str(tmp_path / "a.csv")}}}
        csv["format"] = {"name": "csv", "config": {"delimiter": ";"}}

        ingest_files(engine, target, csv, 1, letters)
        ingest_files(engine, target, json_files(tmp_path / "b.json"), 2, letters)
        ingest_files(engine, target, json_files(tmp_path / "c.json", array=True), 3, letters)

        assert sorted(storage.rows(target.location)) == [("2", told), ("3", told), (told, "1")]
        assert sorted((row[4], row[5]) for row in storage.rows(letters.location)) == [
            ("X714: a record is not a JSON object", told),
            ("X714: the text is not an array of JSON objects", told),
        ]

    @pytest.mark.parametrize(("update_format", "array"), WRAPPED)
    def test_bytes_that_are_no_text_are_told_by_any_format(
        self, engine: Engine, storage: Storage, tmp_path: Path, update_format: str, array: bool
    ) -> None:
        columns = (ColumnType("id", "STRING"), ColumnType("s", "STRING"))
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        row = b'{"id":"1","s":"a\xffb"}'
        wrapped = {"raw": row, "insert_delete": b'{"insert":%b}' % row, "debezium": b'{"op":"c","after":%b}' % row}
        record = b"[%b]" % wrapped[update_format] if array else wrapped[update_format]
        (tmp_path / "a.json").write_bytes(record)
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        ingest_files(engine, target, json_files(tmp_path / "a.json", array, update_format), 1, letters)

        assert storage.rows(target.location) == []
        told = f"not UTF-8, in hexadecimal digits: {record.hex().upper()}"
        assert [row[4:6] for row in storage.rows(letters.location)] == [("X714: the text is not UTF-8", told)]

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

    def test_maps_cannot_be_compared(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        columns = (ColumnType("m", "MAP<STRING,STRING>"),)
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        write(tmp_path / "a.json", {"delete": {"m": {"a": "b"}}})

        with pytest.raises(EngineError, match="MAP") as raised:
            ingest_files(engine, target, json_files(tmp_path / "a.json", update_format="insert_delete"), 1)

        assert raised.value.code == "X716"
