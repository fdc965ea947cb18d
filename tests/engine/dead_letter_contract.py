"""What every engine promises of records that are no row: what is none, and what the dead letters say of it. Part of
ingest_contract.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction
from tests.cells import mostly_slow
from tests.engine.asking import Storage, Tables, ingest_files, json_files, write

WRAPPED = mostly_slow(
    [(form, array) for form in ("raw", "insert_delete", "debezium") for array in (False, True)],
    ("raw", False),
    ("insert_delete", True),
    ("debezium", False),
)
"""What stands around a row: each form once in every run, in lines and in an array."""


class DeadLetterContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

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
