"""Tables as Delta tables without a JVM: each change one commit, each repeat no change, each conflict an error."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.opening import is_vacant, open_table
from reconciler.delta.publishing import publish
from reconciler.delta.tables import (
    clear_table,
    create_table,
    extend_table,
    remove_local,
    statistics,
    table_columns,
    table_version,
    typed_columns,
)
from reconciler.engine.protocol import ColumnType, Transaction

COLUMNS = (
    ColumnType("id", "BIGINT", False),
    ColumnType("price", "DECIMAL(10,2)"),
    ColumnType("tags", "ARRAY<STRING>"),
    ColumnType("names", "MAP<STRING,STRUCT<first:STRING,last:INT>>"),
    ColumnType("code", "CHAR(3)"),
)


def stage(location: str, folder: str, ids: list[int]) -> None:
    """Write a Delta table of one column into a staging folder."""
    import arro3.core
    from deltalake import write_deltalake

    values = arro3.core.Array(ids, type=arro3.core.DataType.int64())
    write_deltalake(f"{location}/{folder}", arro3.core.Table.from_pydict({"id": values}))


def rows(location: str, version: int | None = None) -> list[Any]:
    from deltalake import QueryBuilder

    table = open_table(location, version)
    assert table is not None
    found = QueryBuilder().register("t", table).execute("select id from t order by id").read_all()
    ids: list[Any] = found["id"].to_pylist()
    return ids


def publish_days(location: str, days: list[int]) -> Any:
    """Publish a table of days since 1970, as such and within a structure; the statistics of its file."""
    import arro3.core
    from deltalake import write_deltalake

    kinds = arro3.core.DataType
    numbers = arro3.core.Array(days, type=kinds.int32())
    dates = numbers.cast(kinds.date32())
    moments = arro3.core.Array([day * 86_400_000_000 for day in days], type=kinds.int64()).cast(
        kinds.timestamp("us", tz="UTC")
    )
    fields = [arro3.core.Field("x.y", kinds.date32()), arro3.core.Field("n", kinds.int32())]
    within = arro3.core.struct_array([dates, numbers], fields=fields)
    rows = arro3.core.Table.from_pydict({"n": numbers, "day": dates, "at": moments, "within": within})
    write_deltalake(f"{location}/v-x", rows)
    publish(location, "v-x", None, at(1))
    log = Path(location, "_delta_log", f"{0:020}.json").read_text("utf-8").splitlines()
    (stats,) = (action["add"]["stats"] for action in map(json.loads, log) if "add" in action)
    return json.loads(stats)


def at(number: int) -> Transaction:
    return Transaction("reconcile/test", number)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "shop" / "t")


def test_a_created_table_has_the_declared_columns_and_a_repeat_changes_nothing(place: str) -> None:
    assert create_table(place, COLUMNS, at(1)) == 0
    assert create_table(place, COLUMNS, at(1)) == 0
    assert [name for name, _ in table_columns(place)] == [column.name for column in COLUMNS]
    found = statistics(place)
    assert found is not None
    assert (found.rows, found.files) == (0, 0)


def test_a_table_of_somebody_else_is_not_taken(place: str) -> None:
    create_table(place, COLUMNS, at(1))
    with pytest.raises(RegistryConflict):
        create_table(place, COLUMNS, at(2))


def test_no_writer_cleans_up_a_log_by_itself(place: str) -> None:
    """How far back a log must reach only retention knows."""
    create_table(place, COLUMNS, at(1))
    stage(place, "v-x", [1])
    publish(place, "v-x", 0, at(2))
    clear_table(place, COLUMNS, 1, at(3))
    published = f"{place}-published"
    stage(published, "v-x", [1])
    publish(published, "v-x", None, at(1))
    for location in (place, published):
        table = open_table(location)
        assert table is not None
        assert table.metadata().configuration == {"delta.enableExpiredLogCleanup": "false"}


def test_clearing_changes_columns_and_rows_in_one_commit(place: str) -> None:
    stage(place, "v-1", [1, 2])
    assert publish(place, "v-1", None, at(1)) == 0
    assert clear_table(place, COLUMNS, 0, at(2)) == 1
    assert clear_table(place, COLUMNS, 0, at(2)) == 1
    assert [name for name, _ in table_columns(place)] == [column.name for column in COLUMNS]
    assert rows(place) == []
    assert rows(place, 0) == [1, 2]


def test_an_order_of_columns_is_a_schema_of_its_own(place: str) -> None:
    """deltalake compares fields without regard to their order: a commit must say the new one all the same."""
    inner = "STRUCT<p:INT,q:INT>", "STRUCT<q:INT,p:INT>"
    first = (ColumnType("a", "INT"), ColumnType("b", "INT"), ColumnType("s", inner[0]))
    create_table(place, first, at(1))
    for number, (columns, names) in enumerate(
        (
            ((first[1], first[0], first[2]), ["b", "a", "s"]),
            ((first[0], first[1], first[2]), ["a", "b", "s"]),
            ((first[0], first[1], ColumnType("s", inner[1])), ["a", "b", "s"]),
        ),
        start=1,
    ):
        assert clear_table(place, columns, number - 1, at(number + 1)) == number
        assert [name for name, _ in table_columns(place)] == names
    assert [field["name"] for field in json.loads(dict(table_columns(place))["s"])["fields"]] == ["q", "p"]


def test_publishing_names_files_and_copies_none(place: str) -> None:
    stage(place, "v-1", [1, 2])
    before = sorted(path.name for path in Path(place).rglob("*.parquet"))
    assert table_version(place) is None
    assert publish(place, "v-1", None, at(1)) == 0
    assert sorted(path.name for path in Path(place).rglob("*.parquet")) == before
    stage(place, "v-2", [3])
    assert rows(place) == [1, 2]
    assert publish(place, "v-2", 0, at(2)) == 1
    assert publish(place, "v-2", 0, at(2)) == 1
    assert rows(place) == [3]
    assert rows(place, 0) == [1, 2]
    found = statistics(place)
    assert found is not None
    assert found.rows == 1


def test_publishing_on_another_version_than_expected_overwrites_nothing(place: str) -> None:
    stage(place, "v-1", [1])
    stage(place, "v-2", [2])
    publish(place, "v-1", None, at(1))
    for expected in (None, 5):
        with pytest.raises(RegistryConflict):
            publish(place, "v-2", expected, at(2))
    assert rows(place) == [1]


def test_publishing_what_is_not_staged_is_an_error(place: str) -> None:
    (Path(place) / "v-1").mkdir(parents=True)
    with pytest.raises(RegistryConflict):
        publish(place, "v-1", None, at(1))


def test_publishing_nothing_gives_an_empty_table(place: str) -> None:
    stage(place, "v-1", [])
    publish(place, "v-1", None, at(1))
    assert rows(place) == []


def log_of(place: str, version: int) -> list[dict[str, Any]]:
    text = (Path(place) / "_delta_log" / f"{version:020d}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_published_rows_of_a_table_have_its_declared_columns(place: str) -> None:
    declared = (ColumnType("id", "BIGINT", False),)
    create_table(place, (ColumnType("id", "INT"), ColumnType("old", "STRING")), at(1))
    stage(place, "v-1", [1, 2])
    assert publish(place, "v-1", 0, at(2), declared) == 1
    assert publish(place, "v-1", 0, at(2), declared) == 1
    table = open_table(place)
    assert table is not None
    assert [(field.name, field.type.type, field.nullable) for field in table.schema().fields] == [("id", "long", False)]
    assert rows(place) == [1, 2]


def test_staged_rows_of_other_columns_than_declared_are_not_published(place: str) -> None:
    stage(place, "v-1", [1])
    for columns in ((ColumnType("id", "INT"),), (ColumnType("no", "BIGINT"),), (*COLUMNS,)):
        with pytest.raises(RegistryConflict):
            publish(place, "v-1", None, at(1), columns)
    assert table_version(place) is None


def test_extending_is_one_commit_that_names_no_file(place: str) -> None:
    stage(place, "v-1", [1, 2])
    publish(place, "v-1", None, at(1))
    more = (ColumnType("note", "VARCHAR(5)"), ColumnType("at", "TIMESTAMP"))
    assert extend_table(place, more, 0, at(2)) == 1
    assert extend_table(place, more, 0, at(2)) == 1
    assert [name for name, _ in table_columns(place)] == ["id", "note", "at"]
    assert rows(place) == [1, 2]
    actions = {name for action in log_of(place, 1) for name in action}
    assert actions == {"commitInfo", "metaData", "txn"}
    assert not (Path(place) / "_delta_log" / f"{2:020d}.json").exists()


def test_a_first_time_without_zone_tells_readers_of_it_in_a_commit_before(place: str) -> None:
    create_table(place, (ColumnType("a", "INT"),), at(1))
    with_it = (ColumnType("a", "INT"), ColumnType("b", "TIMESTAMP_NTZ"))
    assert clear_table(place, with_it, 0, at(2)) == 2
    assert clear_table(place, with_it, 0, at(2)) == 2
    assert [name for name, _ in table_columns(place)] == ["a", "b"]
    assert clear_table(place, with_it, 2, at(3)) == 3


def test_whoever_died_after_that_commit_goes_on_from_it(place: str) -> None:
    create_table(place, (ColumnType("a", "INT"),), at(1))
    with_it = (ColumnType("a", "INT"), ColumnType("b", "TIMESTAMP_NTZ"))
    clear_table(place, with_it, 0, at(2))
    (Path(place) / "_delta_log" / f"{2:020d}.json").unlink()
    assert [name for name, _ in table_columns(place)] == ["a"]
    assert clear_table(place, with_it, 0, at(2)) == 2
    assert [name for name, _ in table_columns(place)] == ["a", "b"]


def test_whoever_wrote_after_that_commit_is_not_overwritten(place: str) -> None:
    create_table(place, (ColumnType("a", "INT"),), at(1))
    with_it = (ColumnType("a", "INT"), ColumnType("b", "TIMESTAMP_NTZ"))
    clear_table(place, with_it, 0, at(2))
    (Path(place) / "_delta_log" / f"{2:020d}.json").unlink()
    clear_table(place, COLUMNS, 1, Transaction("somebody/else", 1))
    with pytest.raises(RegistryConflict):
        clear_table(place, with_it, 0, at(2))


def features(place: str) -> set[str]:
    table = open_table(place)
    assert table is not None
    return set(table.protocol().writer_features or ())


def test_whoever_lists_features_lists_all_that_spark_asks_for(place: str) -> None:
    wanted = {"timestampNtz", "invariants", "appendOnly"}
    columns = (ColumnType("a", "INT", False), ColumnType("b", "TIMESTAMP_NTZ"))
    assert create_table(f"{place}/created", columns, at(1)) == 1
    assert create_table(f"{place}/created", columns, at(1)) == 1
    assert features(f"{place}/created") == wanted
    create_table(f"{place}/staged", columns, at(1))
    assert publish(place, "staged", None, at(2)) == 1
    assert publish(place, "staged", None, at(2)) == 1
    assert features(place) == wanted
    create_table(f"{place}/extended", columns[:1], at(1))
    assert features(f"{place}/extended") == set()
    assert extend_table(f"{place}/extended", columns[1:], 0, at(2)) == 2
    assert extend_table(f"{place}/extended", columns[1:], 0, at(2)) == 2
    assert features(f"{place}/extended") == wanted


def test_a_variant_brings_its_feature(place: str) -> None:
    columns = (ColumnType("a", "BIGINT", False), ColumnType("v", "VARIANT"), ColumnType("s", "STRUCT<v:ARRAY<VARIANT>>"))
    create_table(f"{place}/staged", columns, at(1))
    assert "variantType" in features(f"{place}/staged")
    create_table(place, columns[:1], at(1))
    publish(place, "staged", 0, at(2))
    assert "variantType" in features(place)
    assert [column.type for column in typed_columns(place)] == ["bigint", "variant", "struct<v:array<variant>>"]
    create_table(f"{place}/extended", columns[:1], at(1))
    extend_table(f"{place}/extended", columns[1:], 0, at(2))
    assert {"variantType", "invariants", "appendOnly"} <= features(f"{place}/extended")
    create_table(f"{place}/named", (ColumnType("variant", "STRING"),), at(1))
    assert features(f"{place}/named") == set()


def test_extending_what_somebody_else_wrote_changes_nothing(place: str) -> None:
    more = (ColumnType("note", "STRING"),)
    with pytest.raises(RegistryConflict):
        extend_table(place, more, 0, at(2))
    create_table(place, COLUMNS, at(1))
    for expected in (1, 7):
        with pytest.raises(RegistryConflict):
            extend_table(place, more, expected, at(2))
    assert [name for name, _ in table_columns(place)] == [column.name for column in COLUMNS]


def test_a_commit_says_what_it_was_made_from_where_readers_of_histories_look(place: str) -> None:
    stage(place, "v-1", [1])
    publish(place, "v-1", None, at(1), commit={"step": 7, "inputs": {"t": 3}})
    stage(place, "v-2", [2])
    publish(place, "v-2", 0, at(2), commit={"step": 8})
    table = open_table(place)
    assert table is not None
    assert [json.loads(commit["userMetadata"])["step"] for commit in table.history()] == [8, 7]
    assert table.history()[1]["reconcile.transaction"] == "reconcile/test@1"


def test_who_asks_for_an_earlier_transaction_than_the_table_has_was_taken_over(place: str) -> None:
    stage(place, "v-1", [1])
    publish(place, "v-1", None, at(5))
    stage(place, "v-2", [2])
    with pytest.raises(RegistryConflict):
        publish(place, "v-2", 0, at(4))
    assert rows(place) == [1]


def test_vacant_is_where_nothing_would_be_overwritten(place: str) -> None:
    assert is_vacant(place)
    stage(place, "v-1", [1])
    assert is_vacant(place)
    publish(place, "v-1", None, at(1))
    assert not is_vacant(place)
    assert remove_local(place)
    assert is_vacant(place)
    assert remove_local(place)


def test_a_damaged_log_is_an_error_and_never_an_absence(place: str) -> None:
    create_table(place, COLUMNS, at(1))
    next(Path(place).glob("_delta_log/*.json")).write_text("broken")
    with pytest.raises(RegistryError):
        table_version(place)


def test_what_python_has_no_date_for_is_published(place: str) -> None:
    """Spark and Arrow know years of six digits, and before year 1. One such row would stop the pipeline for good."""
    published = publish_days(place, [-800_000, 0, 6_674_000])
    assert published == {
        "numRecords": 3,
        "minValues": {"n": -800_000, "within": {"n": -800_000}},
        "maxValues": {"n": 6_674_000, "within": {"n": 6_674_000}},
        "nullCount": {"n": 0, "day": 0, "at": 0, "within": {"x.y": 0, "n": 0}},
    }


def test_statistics_of_dates_are_kept(place: str) -> None:
    published = publish_days(place, [-719_162, 2_932_896])
    assert published["minValues"]["day"] == published["minValues"]["within"]["x.y"] == "0001-01-01"
    assert published["maxValues"]["day"] == published["maxValues"]["within"]["x.y"] == "9999-12-31"
