"""What every engine promises of rows that are late for their table. Part of ingest_contract.py."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction, Written
from reconciler.project.program.lateness import Number
from tests.engine.asking import Storage, Tables, change, json_files, write

KINDS = ("TINYINT", "INT", "BIGINT", "DECIMAL(5,2)", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
TIMED = (ColumnType("id", "INT", nullable=False), *(ColumnType(f"c{n}", kind) for n, kind in enumerate(KINDS)))
DAY, SECOND = 86_400_000_000, 1_000_000
BOUNDS: list[tuple[str, Number, Any, Any]] = [
    ("TINYINT", 5, 5, 4),
    ("TINYINT", -300, -128, None),
    ("TINYINT", 300, None, 127),
    ("INT", -2_147_483_648, -2_147_483_648, None),
    ("BIGINT", 9_007_199_254_740_993, 9_007_199_254_740_993, 9_007_199_254_740_992),
    ("DECIMAL(5,2)", Decimal("1.005"), 1.01, 1.0),
    ("DECIMAL(5,2)", Decimal("-0.10"), "-0.10", "-0.11"),
    ("DECIMAL(5,2)", Decimal(10**20), None, 999.99),
    ("FLOAT", 0.5, 0.5, 0.25),
    ("DOUBLE", 0.1, 0.1, 0.09999999999999999),
    ("DOUBLE", -1e300, -1e300, -1.1e300),
    ("DATE", 20_000, "2024-10-04", "2024-10-03"),
    ("DATE", -1, "1969-12-31", "1969-12-30"),
    ("TIMESTAMP", 20_000 * DAY + SECOND + 1, "2024-10-04T00:00:01.000001Z", "2024-10-04T00:00:01Z"),
    ("TIMESTAMP", -1, "1969-12-31T23:59:59.999999Z", "1970-01-01T00:59:59.999998+01:00"),
    ("TIMESTAMP_NTZ", 20_000 * DAY, "2024-10-04T00:00:00", "2024-10-03T23:59:59.999999"),
]
"""By type: the first value that is on time, one that is, and one that is late."""
LATE: list[tuple[str, Number, Any, str]] = [
    ("c0", 5, 4, "4"),
    ("c3", Decimal("0.5"), -1.5, "-1.50"),
    ("c5", 0.5, 0.25, "0.25"),
    ("c6", 20_000, "2024-10-03", "2024-10-03"),
    ("c7", 20_000 * DAY, "2024-10-03T23:30:00+01:00", "2024-10-03 22:30:00Z"),
    ("c7", 20_000 * DAY, "1969-12-31T23:59:59.125Z", "1969-12-31 23:59:59.125Z"),
    ("c8", 20_000 * DAY, "2024-10-03T23:00:00", "2024-10-03 23:00:00"),
]
"""A column, its first value that is on time, one that is late, and what is said of that one."""


def _rounds() -> list[list[tuple[str, Number, Any, Any]]]:
    """The bounds, of each type one at a time: what is asked of several columns is asked in one range."""
    by_kind = [[bound for bound in BOUNDS if bound[0] == kind] for kind in KINDS]
    return [[of[turn] for of in by_kind if turn < len(of)] for turn in range(max(map(len, by_kind)))]


class LateContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

    @pytest.fixture
    def timed(self, storage: Storage, tmp_path: Path) -> TableTarget:
        target = TableTarget("timed", str(tmp_path / "timed"), TIMED)
        storage.create(target.location, target.columns)
        return target

    def test_what_is_below_the_first_value_on_time_is_left_out_and_counted(
        self, engine: Engine, storage: Storage, timed: TableTarget, tmp_path: Path
    ) -> None:
        kept: list[int] = []
        for number, bounds in enumerate(_rounds(), start=1):
            rows: list[dict[str, Any]] = []
            for place, (kind, _, on_time, late) in enumerate(bounds, start=1):
                column, id_ = f"c{KINDS.index(kind)}", number * 1000 + place * 10
                rows.append({"id": id_})
                rows += [{"id": id_ + 1, column: on_time}] if on_time is not None else []
                rows += [{"id": id_ + 2, column: late}] if late is not None else []
            file = write(tmp_path / f"{number}.json", *rows)

            written = _ingest(engine, timed, file, number, {f"c{KINDS.index(kind)}": first for kind, first, _, _ in bounds})

            kept += [row["id"] for row in rows if row["id"] % 10 < 2]
            assert [row[0] for row in storage.rows(timed.location)] == sorted(kept, key=lambda one: repr((one,))), bounds
            assert (written.late, written.rejected) == (sum(late is not None for *_, late in bounds), 0)

    def test_one_late_value_of_several_is_enough(
        self, engine: Engine, storage: Storage, timed: TableTarget, tmp_path: Path
    ) -> None:
        rows = [{"id": 1, "c1": 5, "c2": 5}, {"id": 2, "c1": 4, "c2": 5}, {"id": 3, "c1": 5, "c2": 4}, {"id": 4, "c1": 5}]

        written = _ingest(engine, timed, write(tmp_path / "a.json", *rows), 1, {"c1": 5, "c2": 5})

        assert (written.late, written.rows) == (2, 2)
        assert [row[0] for row in storage.rows(timed.location)] == [1, 4]

    def test_of_a_row_that_is_deleted_by_its_key_only_the_key_is_looked_at(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        keyed = TableTarget("keyed", str(tmp_path / "keyed"), TIMED, ("id",))
        storage.create(keyed.location, keyed.columns)
        before = [{"insert": {"id": one, "c1": 1}} for one in (1, 2, 3)]
        _ingest(engine, keyed, write(tmp_path / "a.json", *before), 1, {}, "insert_delete")
        changes = [{"delete": {"id": 2, "c1": 1}}, {"insert": {"id": 3, "c1": 1}}, {"delete": {"id": 1}}]

        written = _ingest(engine, keyed, write(tmp_path / "b.json", *changes), 2, {"c1": 5, "id": 2}, "insert_delete")

        assert (written.late, written.unmatched) == (2, 0)
        assert [row[0] for row in storage.rows(keyed.location)] == [1, 3]

    def test_an_update_is_late_as_a_whole(
        self, engine: Engine, storage: Storage, timed: TableTarget, tmp_path: Path
    ) -> None:
        _ingest(engine, timed, write(tmp_path / "a.json", {"id": 1, "c1": 5}, {"id": 2, "c1": 4}), 1, {})
        events = [
            {"op": "u", "before": {"id": 1, "c1": 5}, "after": {"id": 1, "c1": 3}},
            {"op": "u", "before": {"id": 2, "c1": 4}, "after": {"id": 2, "c1": 9}},
            {"op": "d", "before": {"id": 2, "c1": 4}, "after": None},
            {"op": "c", "before": None, "after": {"id": 3, "c1": 5}},
        ]

        written = _ingest(engine, timed, write(tmp_path / "b.json", *events), 2, {"c1": 5}, "debezium")

        assert (written.late, written.unmatched) == (3, 0)
        assert [(row[0], row[2]) for row in storage.rows(timed.location)] == [(1, 5), (2, 4), (3, 5)]

    def test_late_records_go_to_the_dead_letters_where_that_is_asked_for(
        self, engine: Engine, storage: Storage, timed: TableTarget, tmp_path: Path
    ) -> None:
        lines = [{"id": 1, "c6": "2024-10-04"}, {"id": 2, "c6": "2024-10-03"}, {"id": "x"}, {"id": 3, "c6": "2024-10-01"}]
        letters = DeadLetters(str(tmp_path / "dead-letters"), 7, 1, keeps_late=True)
        file = write(tmp_path / "a.json", *lines)

        written = _ingest(engine, timed, file, 1, {"c6": 20_000}, letters=letters)
        again = _ingest(engine, timed, file, 1, {"c6": 20_000}, letters=letters)

        assert (written.late, written.rejected, again.rejected, again.reused) == (2, 1, 1, True)
        names = [column.name for column in DEAD_LETTER_COLUMNS]
        told = [dict(zip(names, row, strict=True)) for row in storage.rows(letters.location)]
        late = [one for one in told if one["reason"].startswith("X725")]
        assert sorted((json.loads(one["record"])["id"], one["reason"]) for one in late) == [
            (2, "X725: the row is late: its c6 is 2024-10-03"),
            (3, "X725: the row is late: its c6 is 2024-10-01"),
        ]
        assert [one["reason"][:4] for one in told if one not in late] == ["X712"]

    def test_the_reason_says_which_value_was_late(
        self, engine: Engine, storage: Storage, timed: TableTarget, tmp_path: Path
    ) -> None:
        letters = DeadLetters(str(tmp_path / "dead-letters"), 7, 1, keeps_late=True)
        rows = [{"id": number, column: value} for number, (column, _, value, _) in enumerate(LATE)]
        first = {column: one for column, one, _, _ in LATE}

        _ingest(engine, timed, write(tmp_path / "a.json", *rows), 1, first, letters=letters)

        names = [one.name for one in DEAD_LETTER_COLUMNS]
        letter = [dict(zip(names, row, strict=True)) for row in storage.rows(letters.location)]
        assert {json.loads(one["record"])["id"]: one["reason"] for one in letter} == {
            number: f"X725: the row is late: its {column} is {told}" for number, (column, _, _, told) in enumerate(LATE)
        }
        assert len(letter) == len(LATE)

    def test_late_records_do_not_count_among_those_that_may_be_rejected(
        self, engine: Engine, storage: Storage, timed: TableTarget, tmp_path: Path
    ) -> None:
        file = write(tmp_path / "a.json", {"id": 1, "c1": 1}, {"id": 2, "c1": 2}, {"id": 3, "c1": 5})
        letters = DeadLetters(str(tmp_path / "dead-letters"), 7, 0)

        written = _ingest(engine, timed, file, 1, {"c1": 5}, letters=letters)
        none = _ingest(engine, timed, write(tmp_path / "b.json", {"id": 4, "c1": 1}, {"id": 5, "c1": 5}), 2, {"c1": 5})

        assert (written.late, written.rejected, none.late) == (2, 0, 1)
        assert [row[0] for row in storage.rows(timed.location)] == [3, 5]
        assert storage.version(letters.location) is None

    def test_late_rows_of_an_insert_are_left_out_and_counted(
        self, engine: Engine, storage: Storage, timed: TableTarget
    ) -> None:
        if "OnArrow" in {one.__name__ for one in type(self).__mro__}:
            pytest.skip("statements are Spark's to do")
        sql = (
            "INSERT INTO timed (id, c1, c6) VALUES (1, 5, NULL), (2, 4, NULL), (3, 9, '2024-10-03'), (4, NULL, '2024-10-04')"
        )

        written = engine.execute(replace(change(timed, sql), first_on_time={"c1": 5, "c6": 20_000}))

        assert (written.late, written.rows) == (2, 2)
        assert [row[0] for row in storage.rows(timed.location)] == [1, 4]


def _ingest(
    engine: Engine,
    target: TableTarget,
    file: Path,
    number: int,
    first: dict[str, Number],
    update_format: str = "raw",
    letters: DeadLetters | None = None,
) -> Written:
    settings = json_files(file, update_format=update_format)
    available = engine.discover("c", settings, None)
    assert available is not None
    return engine.ingest(
        Ingestion(target, "c", settings, available.range, Transaction("c", number), letters, first_on_time=first)
    )
