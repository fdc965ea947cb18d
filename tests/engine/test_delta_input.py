"""`delta_table_input` on real Delta tables: what changed between two versions is told exactly, whoever wrote it.

What the input gives is applied here to a multiset and to rows by key, so that these tests are about reading alone; the last
ones write it through the engine.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from reconciler.base.errors import EngineError
from reconciler.base.moments import moment_of, seconds_between
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import (
    Available,
    ColumnType,
    DeadLetters,
    Engine,
    Ingestion,
    Selection,
    TableTarget,
    Transaction,
    Written,
)
from reconciler.engine.spark.ingest.delta_table import discover, read
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.writes import ORDER
from reconciler.run.failures import addressed
from tests.cells import mostly_slow

pytestmark = pytest.mark.spark

COLUMNS = (ColumnType("Id", "BIGINT"), ColumnType("name", "STRING"), ColumnType("marks", "ARRAY<INT>"))


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> SparkSession:
    spark_engine.select(Selection("SELECT 1", (), {}))
    from reconciler.engine.spark.session import start

    return start().newSession()


class Source:
    """A Delta table that somebody else writes: rows (id, name, marks)."""

    def __init__(self, session: SparkSession, path: Path, properties: str = "") -> None:
        self.session, self.path = session, path
        self.reference = f"delta.`file://{path}`"
        rows = session.sql("SELECT id, 'old' AS name, array(1, NULL) AS marks FROM range(0)")
        writer = rows.write.format("delta")
        for pair in filter(None, properties.split(",")):
            name, _, value = pair.partition("=")
            writer = writer.option(name, value)
        writer.save(f"file://{path}")

    def sql(self, text: str) -> "Source":
        self.session.sql(text.replace("SOURCE", self.reference))
        return self

    def add(self, first: int, until: int, name: str = "new", files: int = 1) -> "Source":
        rows = self.session.sql(f"SELECT id, '{name}' AS name, array(1, NULL) AS marks FROM range({first}, {until})")
        rows.repartition(files).write.format("delta").mode("append").save(f"file://{self.path}")
        return self

    def rows(self, version: int | None = None) -> list[tuple[Any, ...]]:
        reader = self.session.read.format("delta")
        reader = reader if version is None else reader.option("versionAsOf", str(version))
        return as_rows(reader.load(f"file://{self.path}").select("id", "name", "marks").collect())

    @property
    def version(self) -> int:
        return max(int(found.stem) for found in (self.path / "_delta_log").glob("*.json"))

    def operation(self, version: int) -> str:
        """What its writer did, and how it wrote."""
        entries = map(json.loads, (self.path / "_delta_log" / f"{version:020d}.json").read_text("utf-8").splitlines())
        said = next(entry["commitInfo"] for entry in entries if "commitInfo" in entry)
        return f"{said['operation']} {said['operationParameters'].get('mode', '')}".strip()

    def settings(self, mode: str = "follow", **config: Any) -> dict[str, Any]:
        return {"transport": {"name": "delta_table_input", "config": {"uri": str(self.path), "mode": mode, **config}}}

    def range(self, first: int, last: int) -> dict[str, Any]:
        return {"uri": str(self.path), "from": first, "to": last}


def as_rows(found: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(tuple(part) if isinstance(part, list) else part for part in row) for row in found), key=repr)


def target(*columns: ColumnType, **more: Any) -> TableTarget:
    return TableTarget("copy", "/nowhere", columns or COLUMNS, **more)


def reading(source: Source, range_: Any, into: TableTarget | None = None, **config: Any) -> Incoming:
    incoming = told(source, range_, into, **config)
    assert incoming is not None
    return incoming


def told(source: Source, range_: Any, into: TableTarget | None = None, **config: Any) -> Incoming | None:
    settings = source.settings(**config)
    ingestion = Ingestion(
        into or target(), "copy.history", settings, range_, Transaction("t", 1), commit={"pipeline": "shop"}
    )
    return read(source.session, ingestion, settings)


def says_nothing(source: Source, range_: Any) -> bool:
    return told(source, range_) is None


def changes(incoming: Incoming, *columns: str) -> list[tuple[bool, tuple[Any, ...]]]:
    """What an input gives, in its order: (whether it deletes, the row)."""
    names = columns or ("id", "name", "marks")
    values = [incoming.given[name].expression if name in incoming.given else "NULL" for name in names]
    order = [f"`{ORDER}`"] if ORDER in incoming.kept else []
    frame = incoming.rows.selectExpr(f"{incoming.deletes or 'false'} AS d", f"struct({', '.join(values)}) AS r", *order)
    if order:
        frame = frame.orderBy(f"`{ORDER}`")
    return [
        (bool(row[0]), tuple(tuple(part) if isinstance(part, list) else part for part in row[1])) for row in frame.collect()
    ]


def applied(rows: list[tuple[Any, ...]], given: list[tuple[bool, tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """A multiset with these changes. Every delete must find its row."""
    held = Counter(rows)
    for deletes, row in given:
        assert not deletes or held[row] > 0, row
        held[row] += -1 if deletes else 1
    return sorted(held.elements(), key=repr)


def applied_by_key(rows: list[tuple[Any, ...]], given: list[tuple[bool, tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    held = {row[0]: row for row in rows}
    for deletes, row in given:
        if deletes:
            held.pop(row[0], None)
        else:
            held[row[0]] = row
    return sorted(held.values(), key=repr)


def following(source: Source, position: Any, mode: str = "follow", **config: Any) -> Available | None:
    return discover(lambda: source.session, source.settings(mode, **config), position)


def refused(act: Callable[[], Any]) -> EngineError:
    with pytest.raises(EngineError) as raised:
        act()
    return raised.value


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("delta.enableDeletionVectors=false", marks=pytest.mark.slow),
        "delta.enableDeletionVectors=true",
    ],
)
def worn(request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A table that everything was done to that can be done to a table; its ids are unique at every version."""
    source = Source(session, tmp_path_factory.mktemp("worn") / "t", request.param)
    source.add(0, 20, "first", files=2).add(20, 30, "second")
    source.sql("DELETE FROM SOURCE WHERE id % 7 = 3")
    source.sql("UPDATE SOURCE SET name = NULL, marks = NULL WHERE id < 5")
    source.sql(
        "MERGE INTO SOURCE AS t USING (SELECT id, 'merged' AS name, array(2) AS marks FROM range(25, 35)) AS s "
        "ON t.id = s.id "
        "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    source.sql("OPTIMIZE SOURCE")
    source.sql("UPDATE SOURCE SET name = 'back' WHERE id = 1").sql("UPDATE SOURCE SET name = NULL WHERE id = 1")
    source.sql("ALTER TABLE SOURCE SET TBLPROPERTIES ('x' = 'y')")
    rows = session.sql("SELECT id, 'again' AS name, array(3) AS marks FROM range(30, 40)")
    rows.write.format("delta").mode("overwrite").save(f"file://{source.path}")
    source.sql("RESTORE TABLE SOURCE TO VERSION AS OF 4")
    source.sql("DELETE FROM SOURCE WHERE id = 8").add(50, 52)
    return source


def those_that_put_much_in_place_of_much(worn: Source) -> list[tuple[int, int]]:
    """What adds, deletes and updates alone is followed by the test below."""
    operations = {"MERGE", "WRITE Overwrite", "RESTORE"}
    return [(version - 1, version) for version in range(1, worn.version + 1) if worn.operation(version) in operations]


def each_to_the_next(worn: Source) -> list[tuple[int, int]]:
    return [(version, version + 1) for version in range(worn.version)]


def some_to_the_last(worn: Source) -> list[tuple[int, int]]:
    return [(version, worn.version) for version in range(0, worn.version, 3)]


@pytest.mark.parametrize(
    "pairs",
    mostly_slow(
        [those_that_put_much_in_place_of_much, each_to_the_next, some_to_the_last], those_that_put_much_in_place_of_much
    ),
)
def test_from_any_version_to_any_later_one_the_changes_are_the_difference(
    worn: Source, pairs: Callable[[Source], list[tuple[int, int]]]
) -> None:
    chosen = pairs(worn)
    assert len(chosen) >= 3
    states = {version: worn.rows(version) for version in {version for pair in chosen for version in pair}}
    for first, last in chosen:
        incoming = told(worn, worn.range(first, last))
        given = [] if incoming is None else changes(incoming)
        assert applied(states[first], given) == states[last], (first, last)
        assert applied_by_key(states[first], given) == states[last], (first, last)
        kinds = [deletes for deletes, _ in given]
        assert kinds == sorted(kinds, reverse=True), (first, last)
        # Nothing is touched that is the same before and after.
        assert not {row for deletes, row in given if deletes} & {row for deletes, row in given if not deletes}


def test_a_follower_sees_what_a_reader_sees_whenever_it_looks(worn: Source) -> None:
    held, position = worn.rows(1), {"version": 1}
    steps = 0
    for end in (2, 3, 6, 7, worn.version):
        found = following(worn, position, end_version=end)
        assert found is not None
        incoming = told(worn, found.range)
        held = applied(held, [] if incoming is None else changes(incoming))
        assert held == worn.rows(end)
        assert (found.end_of_input, found.position["complete"]) == (True, True)
        position = {"version": found.position["version"], "table": found.position["table"]}
        steps += 1
    assert steps == 5
    assert following(worn, position) is None


def test_what_was_only_added_comes_without_deletes_and_optimize_not_at_all(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 10).add(10, 12).add(12, 14)
    first, last = source.version - 2, source.version

    incoming = reading(source, source.range(first, last))

    assert incoming.deletes is None
    assert incoming.kept == ()
    assert sorted(row[0] for _, row in changes(incoming)) == [10, 11, 12, 13]
    assert len(incoming.rows.inputFiles()) == 2
    source.sql("OPTIMIZE SOURCE")
    assert source.version == last + 1
    assert says_nothing(source, source.range(last, last + 1))
    assert sorted(row[0] for _, row in changes(reading(source, source.range(first, last + 1)))) == [10, 11, 12, 13]


def test_equal_rows_are_counted(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(1, 2).add(1, 2).add(1, 2).add(5, 6)
    before = source.version
    source.sql("DELETE FROM SOURCE").add(1, 2)

    given = changes(reading(source, source.range(before, source.version)))

    assert [deletes for deletes, row in given if row[0] == 1] == [True, True]
    assert applied(source.rows(before), given) == source.rows()


def test_a_snapshot_then_what_follows(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 3)

    snapshot = following(source, None, "snapshot_and_follow")
    assert snapshot is not None
    source.add(3, 5)
    changed = following(source, snapshot.position, "snapshot_and_follow")

    assert changed is not None
    assert (snapshot.end_of_input, changed.end_of_input) == (False, False)
    assert [row[0] for _, row in sorted(changes(reading(source, snapshot.range)))] == [0, 1, 2]
    assert [row[0] for _, row in sorted(changes(reading(source, changed.range)))] == [3, 4]
    assert changed.backlog == {"versions": 1}
    assert changed.range == {"uri": str(source.path), "from": 1, "to": 2, "table": snapshot.position["table"]}
    assert following(source, changed.position, "snapshot_and_follow") is None
    assert changed.position == json.loads(json.dumps(changed.position))


def test_without_a_version_following_begins_now_and_now_is_pinned(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 3)

    pinned = following(source, None)
    assert pinned is not None
    assert (pinned.range["from"], pinned.range["to"], pinned.end_of_input) == (1, 1, False)
    assert says_nothing(source, pinned.range)
    assert following(source, pinned.position) is None
    source.add(3, 4)
    changed = following(source, pinned.position)
    assert changed is not None
    assert [row[0] for _, row in changes(reading(source, changed.range))] == [3]


def test_versions_and_times_say_where_it_begins_and_ends(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 1).add(1, 2).add(2, 3)
    times = {row["version"]: row["timestamp"] for row in session.sql(f"DESCRIBE HISTORY {source.reference}").collect()}

    found = following(source, None, version=1)
    assert found is not None
    assert (found.range["from"], found.range["to"], found.backlog) == (1, 3, {"versions": 2})
    snapshot = following(source, None, "snapshot", version=1)
    assert snapshot is not None
    for since, version in ((found.since, 2), (found.waiting_since, 2), (snapshot.since, 1)):
        # Delta's history has the time of the file, which is written just after the commit has told its own.
        told = seconds_between(since, moment_of(times[version].replace(tzinfo=UTC)))
        assert told is not None
        assert told < 1
    assert following(source, None, version=3) is None
    ended = following(source, None, version=1, end_version=2)
    assert ended is not None
    assert (ended.range["to"], ended.end_of_input) == (2, True)
    assert following(source, ended.position, version=1, end_version=2) is None
    at_once = following(source, None, "snapshot_and_follow", version=2, end_version=2)
    assert at_once is not None
    assert at_once.end_of_input
    waiting = following(source, None, version=1, end_version=9)
    assert waiting is not None
    assert not waiting.end_of_input
    for name in ("timestamp", "datetime"):
        by_time = following(source, None, "snapshot_and_follow", **{name: f"{times[2].isoformat()}Z"})
        assert by_time is not None
        assert by_time.range["version"] == 2
    assert refused(lambda: following(source, None, version=4)).code == "X710"
    assert refused(lambda: following(source, None, timestamp="2001-01-01")).code == "X710"


def test_a_position_that_a_user_asks_for(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 1).add(1, 2).add(2, 3)

    back, latest = following(source, {"version": 1}), following(source, {"version": "latest"})

    assert back is not None
    assert latest is not None
    assert sorted(row[0] for _, row in changes(reading(source, back.range))) == [1, 2]
    assert says_nothing(source, latest.range)
    assert latest.position == back.position
    assert set(latest.position) == {"version", "table"}


def test_filters_hold_for_what_comes_and_for_what_goes(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 10)
    even = "ID % 2 = 0"

    snapshot = following(source, None, "snapshot_and_follow")
    assert snapshot is not None
    read_first = changes(reading(source, snapshot.range, filter=even, snapshot_filter="id < 5"))
    source.sql("UPDATE SOURCE SET id = id + 1 WHERE id IN (2, 3)").add(20, 22)
    given = changes(reading(source, source.range(1, source.version), filter=even))

    assert sorted(row[0] for _, row in read_first) == [0, 2, 4]
    assert sorted((deletes, row[0]) for deletes, row in given) == [(False, 4), (False, 20), (True, 2)]


def test_a_column_may_order_the_snapshot(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 5, files=3)

    incoming = reading(source, {"uri": str(source.path), "version": 1}, mode="snapshot", timestamp_column="ID")

    assert [row[0] for _, row in changes(incoming)] == [0, 1, 2, 3, 4]
    error = refused(lambda: reading(source, {"uri": str(source.path), "version": 1}, timestamp_column="at"))
    assert (error.code, "no column at" in error.message) == ("X710", True)


def test_what_a_vacuum_took_is_an_error_that_says_how_to_go_on(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t", "delta.enableDeletionVectors=false").add(0, 5)
    source.sql("UPDATE SOURCE SET name = 'x' WHERE id = 1").add(5, 6).sql("UPDATE SOURCE SET name = 'y' WHERE id = 5")
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        source.sql("VACUUM SOURCE RETAIN 0 HOURS")
    finally:
        session.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")

    for first, last in ((1, 2), (1, source.version), (2, 3)):
        error = refused(lambda first=first, last=last: reading(source, source.range(first, last)))
        assert error.code == "X747"
        assert f"after version {first} of" in error.message
        hint = addressed(error, "shop", "copy.history").hint
        assert "reconcile connector seek shop copy.history --to latest" in str(hint)
        assert f"from version {first + 1}" in str(error.hint)
    assert says_nothing(source, source.range(source.version - 1, source.version))


@pytest.mark.slow
def test_what_log_clean_up_took_is_the_same_error(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t", "delta.checkpointInterval=4")
    for number in range(6):
        source.add(number, number + 1)
    source.sql("UPDATE SOURCE SET name = 'x' WHERE id = 1")
    log = source.path / "_delta_log"
    for number in range(4):
        for ending in ("json", "crc"):
            (log / f"{number:020d}.{ending}").unlink()

    error = refused(lambda: reading(source, source.range(2, source.version)))

    assert error.code == "X747"
    assert "version 2 is no longer in its log" in error.message
    assert changes(reading(source, source.range(4, 6))) != []
    assert applied(source.rows(5), changes(reading(source, source.range(5, source.version)))) == source.rows()


def test_another_table_in_the_same_place_is_noticed(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 1).add(1, 2)
    pinned = following(source, None)
    assert pinned is not None
    shutil.rmtree(source.path)
    assert refused(lambda: following(source, pinned.position)).code == "X748"

    source = Source(session, source.path).add(0, 1)
    assert refused(lambda: following(source, pinned.position)).code == "X748"
    source.add(1, 2).add(2, 3)
    found = following(source, pinned.position)
    assert found is not None
    error = refused(lambda: reading(source, found.range))
    assert (error.code, "recreated" in error.message) == ("X748", True)


def test_columns_of_the_source_come_go_and_are_renamed(session: SparkSession, tmp_path: Path) -> None:
    mapping = "delta.columnMapping.mode=name"
    source = Source(session, tmp_path / "t", mapping).add(0, 3)
    more = (*COLUMNS, ColumnType("more", "INT"))
    names = ("id", "name", "marks", "more")
    before = [(*row, None) for row in source.rows()]

    source.sql("ALTER TABLE SOURCE ADD COLUMNS (MORE INT, unknown STRING)")
    added = source.version
    assert changes(reading(source, source.range(1, added), target(*more))) == []
    source.sql("INSERT INTO SOURCE VALUES (9, 'x', NULL, 7, 'u')").sql("UPDATE SOURCE SET more = 5 WHERE id = 1")
    given = changes(reading(source, source.range(1, source.version), target(*more)), *names)
    assert sorted(row[3] or 0 for row in applied(before, given)) == [0, 0, 5, 7]

    # Where the target put its default into the rows that lacked the column, they change when it comes.
    defaults = target(*more, defaults={"more": "42"})
    given = changes(reading(source, source.range(1, added), defaults), *names)
    assert applied([(*row[:3], 42) for row in before], given) == sorted(before, key=repr)

    dropped = source.version
    source.sql("ALTER TABLE SOURCE DROP COLUMN more").sql("ALTER TABLE SOURCE RENAME COLUMN name TO more")
    given = changes(reading(source, source.range(dropped, source.version), target(*more[:2])), "id", "name")
    old = as_rows(source.session.read.format("delta").option("versionAsOf", dropped).load(str(source.path)).collect())
    assert applied([row[:2] for row in old], given) == sorted(((row[0], None) for row in old), key=repr)

    required = target(replace(COLUMNS[1], nullable=False))
    error = refused(lambda: reading(source, source.range(dropped, source.version), required))
    assert (error.code, "NOT NULL column name" in error.message) == ("X713", True)


def test_looking_starts_no_spark_job(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 3).add(3, 4)
    position = {"version": 1}

    def no_session() -> SparkSession:
        raise AssertionError("Spark was asked for")

    for mode in ("snapshot", "follow", "snapshot_and_follow"):
        assert discover(no_session, source.settings(mode), None) is not None
    assert discover(no_session, source.settings(), position) is not None
    assert discover(no_session, source.settings(version=2), None) is None
    assert discover(no_session, source.settings(), {"version": 2}) is None


def test_a_source_without_checksums_is_known_by_its_commits(session: SparkSession, tmp_path: Path) -> None:
    source = Source(session, tmp_path / "t").add(0, 3).add(3, 4)
    whole = following(source, {"version": 1})
    for checksum in (source.path / "_delta_log").glob("*.crc"):
        checksum.unlink()

    assert following(source, {"version": 1}) == whole
    assert whole is not None
    assert [row[0] for _, row in changes(reading(source, whole.range))] == [3]
    other = {**whole.range, "table": "another"}
    assert refused(lambda: reading(source, other)).code == "X748"


# In every run delta_input_contract.py follows a table through the engine, and the tests above tell what MERGE, OPTIMIZE and
# overwriting change.
@pytest.mark.slow
@pytest.mark.parametrize("key", [(), ("Id",)])
def test_a_table_that_follows_becomes_what_the_source_is(
    key: tuple[str, ...], spark_engine: Engine, session: SparkSession, tmp_path: Path
) -> None:
    source = Source(session, tmp_path / "t", "delta.enableDeletionVectors=true").add(0, 10, files=2)
    columns = (replace(COLUMNS[0], nullable=not key), *COLUMNS[1:])
    into = TableTarget("copy", str(tmp_path / "copy"), columns, primary_key=key)
    create_table(into.location, columns, Transaction("create", 1))
    wanted = source.settings("snapshot_and_follow")
    merge = (
        "MERGE INTO SOURCE AS t USING (SELECT id, 'merged' AS name, array(2) AS marks FROM range(8, 12)) AS s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    overwrite = "INSERT OVERWRITE SOURCE SELECT * FROM SOURCE"
    position: Any = None
    touched = []
    statements = ["", "DELETE FROM SOURCE WHERE id IN (2, 3)", merge, "OPTIMIZE SOURCE", overwrite]
    for step, statement in enumerate(statements):
        if statement:
            source.sql(statement)
        found = spark_engine.discover("copy.history", wanted, position)
        assert found is not None
        ingestion = Ingestion(into, "copy.history", wanted, found.range, Transaction("step", step))
        written = spark_engine.ingest(ingestion)
        assert written.unmatched == 0
        again = spark_engine.ingest(ingestion)
        # A step that changed nothing leaves no mark, and is found to change nothing once more.
        assert (again.version, again.reused or not written.rows) == (written.version, True)
        copy = session.read.format("delta").load(f"file://{into.location}").select("id", "name", "marks")
        assert as_rows(copy.collect()) == source.rows()
        position = json.loads(json.dumps(found.position))
        touched.append(written.rows)
    # Of each key the last change counts: an update is one row there, and two where there is no key.
    assert touched == [10, 2, 4 if key else 6, 0, 0]
    assert spark_engine.discover("copy.history", wanted, position) is None


@pytest.mark.parametrize("mode", ["snapshot", "follow"])
def test_a_column_of_a_type_that_does_not_fit_is_named(
    mode: str, spark_engine: Engine, session: SparkSession, tmp_path: Path
) -> None:
    source = Source(session, tmp_path / "t").add(0, 3)
    columns = (COLUMNS[0], ColumnType("marks", "INT"))
    into = TableTarget("copy", str(tmp_path / "copy"), columns)
    create_table(into.location, columns, Transaction("create", 1))
    wanted = source.settings(mode, version=1 if mode == "snapshot" else 0)
    found = spark_engine.discover("copy.history", wanted, None)
    assert found is not None

    error = refused(
        lambda: spark_engine.ingest(Ingestion(into, "copy.history", wanted, found.range, Transaction("step", 1)))
    )

    message = "connector copy.history into copy: the values for column marks do not fit INT: they are of type array<int>"
    assert (error.code, error.message) == ("X712", message)


@pytest.mark.slow
@pytest.mark.parametrize("key", [(), ("Id",)])
def test_fields_within_columns_are_followed_by_name_whatever_order_the_source_gives_them(
    key: tuple[str, ...], spark_engine: Engine, session: SparkSession, tmp_path: Path
) -> None:
    path = f"file://{tmp_path / 't'}"
    columns = (ColumnType("Id", "BIGINT", nullable=not key), ColumnType("st", "ARRAY<STRUCT<a: INT, b: INT>>"))
    into = TableTarget("copy", str(tmp_path / "copy"), columns, primary_key=key)
    create_table(into.location, columns, Transaction("create", 1))
    config = {"uri": str(tmp_path / "t"), "mode": "snapshot_and_follow"}
    wanted = {"transport": {"name": "delta_table_input", "config": config}}
    position: Any = None

    def put(*rows: str, mode: str = "append", **options: str) -> None:
        query = " UNION ALL ".join(f"SELECT {row}" for row in rows)
        session.sql(query).coalesce(1).write.format("delta").mode(mode).options(**options).save(path)

    def follow(step: int) -> list[tuple[Any, ...]]:
        nonlocal position
        found = spark_engine.discover("copy.history", wanted, position)
        assert found is not None
        position = found.position
        spark_engine.ingest(Ingestion(into, "copy.history", wanted, found.range, Transaction("step", step)))
        stored = session.read.format("delta").load(f"file://{into.location}").selectExpr("Id", "st[0].a", "st[0].b")
        return as_rows(stored.collect())

    put("1L AS id, array(named_struct('b', 10, 'a', 20)) AS st", "2L, array(named_struct('b', 11, 'a', 21))")
    assert follow(1) == [(1, 20, 10), (2, 21, 11)]
    put("3L AS id, array(named_struct('b', 12, 'a', 22)) AS st")
    assert follow(2) == [(1, 20, 10), (2, 21, 11), (3, 22, 12)]
    session.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    assert follow(3) == [(1, 20, 10), (3, 22, 12)]
    put("4L AS id, array(named_struct('b', 13, 'a', 23, 'c', 33)) AS st", mergeSchema="true")
    session.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
    assert follow(4) == [(3, 22, 12), (4, 23, 13)]
    same = "4L AS id, array(named_struct('c', 33, 'a', 23, 'b', 13)) AS st"
    put(same, "5L, array(named_struct('c', 0, 'a', 24, 'b', 14))", mode="overwrite", overwriteSchema="true")
    assert follow(5) == [(4, 23, 13), (5, 24, 14)]


@pytest.mark.parametrize("key", [(), pytest.param(("Id",), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("before", "after", "values"),
    [
        ("INT", "STRING", ["'0'", "'1'", "'many'", "NULL", "' 4 '"]),
        pytest.param("STRING", "DATE", ["DATE '2026-01-01'", "NULL"], marks=pytest.mark.slow),
        pytest.param("DECIMAL(20,2)", "STRING", ["'0.00'", "'9007199254740993.25'", "'NaN'"], marks=pytest.mark.slow),
    ],
)
def test_values_of_a_column_that_changed_its_type_fit_or_are_rejected_one_by_one(
    key: tuple[str, ...],
    before: str,
    after: str,
    values: list[str],
    spark_engine: Engine,
    session: SparkSession,
    tmp_path: Path,
) -> None:
    """As the values of any other input. What went and what stays as it was is known by its value, in whatever type."""
    source = tmp_path / "t"
    old = {"INT": "CAST(id AS INT)", "STRING": "if(id = 0, '2026-01-01', 'soon')"}
    was = old.get(before, f"CAST(if(id = 1, 9007199254740993.25BD, 0.00BD) AS {before})")
    session.sql(f"SELECT id, {was} AS amount FROM range(2)").write.format("delta").save(f"file://{source}")
    kind = "INT" if before == "INT" else "STRING" if before == "STRING" else before
    columns = (ColumnType("Id", "BIGINT", nullable=not key), ColumnType("amount", kind))
    into = TableTarget("copy", str(tmp_path / "copy"), columns, primary_key=key)
    create_table(into.location, columns, Transaction("create", 1))
    config = {"uri": str(source), "mode": "snapshot_and_follow"}
    wanted = {"transport": {"name": "delta_table_input", "config": config}}
    letters = DeadLetters(str(tmp_path / "letters"), 1, 100)
    position: Any = None

    def follow(step: int) -> Written:
        nonlocal position
        found = spark_engine.discover("copy.history", wanted, position)
        assert found is not None
        position = found.position
        ingestion = Ingestion(
            into, "copy.history", wanted, found.range, Transaction("step", step), replace(letters, step=step)
        )
        return spark_engine.ingest(ingestion)

    def stored(place: str) -> list[tuple[Any, ...]]:
        return as_rows(session.read.format("delta").load(f"file://{place}").collect())

    follow(1)
    new = " UNION ALL ".join(
        f"SELECT {number}L AS id, CAST({value} AS {after}) AS amount" for number, value in enumerate(values)
    )
    session.sql(new).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(f"file://{source}")
    written = follow(2)

    fits = [(number, session.sql(f"SELECT try_cast({value} AS {kind})").first()[0]) for number, value in enumerate(values)]  # type: ignore[index]
    wrong = {number for number, value in enumerate(values) if value in ("'many'", "'NaN'")}
    rejected = 0 if kind == "STRING" else len(wrong)
    assert (written.rejected, written.unmatched) == (rejected, 0)
    gone = {number for number in (0, 1) if number >= len(values)}
    assert stored(into.location) == as_rows(row for row in fits if row[0] not in wrong | gone)
    if rejected:
        assert "amount does not fit" in str(stored(letters.location))
