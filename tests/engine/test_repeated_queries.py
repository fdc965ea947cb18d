"""Queries over few rows that were planned once, and are run again over other rows, against what Spark gives of these."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from reconciler.base.errors import EngineError
from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.delta.arrow_writes import all_nullable, put_table
from reconciler.engine.protocol import Built, ColumnType, Engine, Selection, ViewBuild
from reconciler.engine.sources import EmptySource, FunctionSource, InlineSource, LogSource, StoredSource
from reconciler.engine.spark import repeated_queries, small_rows, small_views, views
from reconciler.engine.spark.repeated_queries import RepeatedQueries
from reconciler.engine.spark.session import start
from reconciler.engine.spark.small_rows import Code, PlannedQuery, collected, frame_of
from reconciler.engine.spark.small_views import SmallViews
from reconciler.engine.spark.views import isolated, register, result_of
from tests.cells import mostly_slow
from tests.engine.engines import jobs

pytestmark = pytest.mark.spark

KINDS = {"k": "long", "g": "integer", "v": "decimal(12,2)", "w": "string", "d": "date"}
SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in KINDS.items()],
}
ROUNDS = 4
"""The first two plan the query; those after them run it again."""


@pytest.fixture(autouse=True)
def started(spark_engine: Engine) -> None:
    spark_engine.select(Selection("SELECT 1", (), {}))


def some_rows(chosen: random.Random, count: int) -> pa.Table:
    """Keys that come again, NULLs, rows that are equal."""

    def maybe(value: Any) -> Any:
        return None if chosen.random() < 0.1 else value

    rows = [
        {
            "k": maybe(chosen.randrange(12)),
            "g": maybe(chosen.randrange(3)),
            "v": maybe(chosen.randrange(-500, 500)),
            "w": maybe(chosen.choice(["", "a", "b", "ä"])),
            "d": maybe(chosen.randrange(20_000)),
        }
        for _ in range(count)
    ]
    columns = {name: [row[name] for row in rows] for name in KINDS}
    return pa.table(
        {
            "k": pa.array(columns["k"], pa.int64()),
            "g": pa.array(columns["g"], pa.int32()),
            "v": pa.array(columns["v"], pa.int64()).cast(pa.decimal128(20, 0)).cast(pa.decimal128(12, 2)),
            "w": pa.array(columns["w"], pa.string()),
            "d": pa.array(columns["d"], pa.int32()).cast(pa.date32()),
        }
    )


class Rounds:
    """One view, computed again and again over other rows of its relations."""

    def __init__(self, place: Path, query: str, settings: dict[str, str] | None = None) -> None:
        self.place = place
        self.query = query
        self.settings = settings or {}
        self.small = SmallViews()

    def build(self, at: str, way: str, tables: dict[str, pa.Table]) -> ViewBuild:
        sources = []
        for name, rows in tables.items():
            place = str(self.place / name / at)
            if plain_table(place) is None:
                put_table(place, SCHEMA, rows)
            sources.append(StoredSource(name, place, 0))
        inline = InlineSource("by_g", "SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g")
        empty = EmptySource("e", (ColumnType("x", "INT"),))
        return ViewBuild("v", self.query, (), (*sources, empty, inline), str(self.place / way / at), self.settings)

    def of(self, at: str, tables: dict[str, pa.Table]) -> tuple[Built | None, int]:
        """The view of a round, and how many jobs of Spark it took."""
        before = jobs()
        built = self.small.build(start, self.build(at, "small", tables))
        return built, jobs() - before

    def require_equal(self, at: str, tables: dict[str, pa.Table]) -> None:
        """By Spark over the same rows in three partitions, which it exchanges."""
        wanted = self.build(at, "large", tables)
        # Adaptive planning gives jobs for stages that turned out to be needed by nobody, some time later.
        fixed = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "3"}
        session = isolated(start, {**wanted.settings, **fixed})

        def in_three(session: SparkSession, source: StoredSource | LogSource) -> DataFrame:
            return frame_of(session, SCHEMA, tables[source.name]).repartition(3)

        register(session, wanted.sources, stored=in_three)
        frame = result_of(session, wanted)
        rows = collected(frame, all_nullable(frame.schema.jsonValue()), 100_000, 1 << 30)
        assert rows is not None
        assert rows_at(self.place / "small" / at) == texts_of(rows)


def rows_at(place: Path) -> list[str]:
    table = plain_table(str(place))
    assert table is not None
    rows = rows_of(table)
    assert rows is not None
    return texts_of(rows)


def texts_of(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


JOINED = "FROM t JOIN u ON t.k = u.k JOIN s ON u.g = s.g AND t.w = s.w"
REPEATED = [
    f"SELECT t.k, u.v, s.d {JOINED}",
    # Each side of the union says that it has its rows by g; put together, they are no such thing.
    f"""SELECT g, sum(n) AS n FROM (SELECT t.g, count(*) AS n {JOINED} GROUP BY t.g
    UNION ALL SELECT u.g, -count(*) FROM u JOIN s ON u.k = s.k JOIN t ON s.g = t.g GROUP BY u.g) GROUP BY g""",
    # As what is kept of groups is checked.
    "SELECT k, v FROM t WHERE CASE WHEN k < 0 THEN raise_error('less') WHEN g = 0 THEN false ELSE true END",
    "SELECT t.k, u.w FROM t LEFT JOIN u ON t.k = u.k AND u.v > 0 WHERE t.g IS NOT NULL",
    "SELECT coalesce(t.k, u.k) AS k, t.v, u.v AS uv FROM t FULL JOIN u ON t.k = u.k",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.g = 1) AND k IN (SELECT k FROM s)",
    "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT k, v FROM t EXCEPT SELECT k, v FROM u",
    "SELECT w, count(DISTINCT k) AS n, sum(DISTINCT v) AS s, max(d) AS m FROM t GROUP BY w HAVING count(*) > 1",
    "SELECT g, w, sum(v) AS s, grouping_id() AS i FROM t GROUP BY CUBE (g, w)",
    "SELECT g, percentile(v, 0.5) AS m, sort_array(collect_list(k)) AS ks FROM t GROUP BY g",
    "SELECT k, v, row_number() OVER (PARTITION BY g ORDER BY v, k, w, d) AS at FROM t",
    "SELECT * FROM t ORDER BY v DESC, k, g, w, d LIMIT 3",
    "SELECT k, x FROM (SELECT k, explode(array(g, g + 1)) AS x FROM t) WHERE x > 1 + 1",
    "SELECT b.g, b.s, u.w FROM by_g b JOIN u ON b.g = u.g LEFT JOIN e ON e.x = b.n",
    "SELECT count(*) AS n, min(w) AS w FROM t WHERE d >= DATE '1970-01-01' + INTERVAL 1 YEAR AND d < '2030-1-1'",
    "SELECT k FROM t WHERE d <= DATE '2020-12-01' - INTERVAL 90 DAY AND d > DATE '1971-01-31' - INTERVAL 1 MONTH",
    # What is compared for each group reads the groups.
    "SELECT t.* FROM t WHERE v > (SELECT avg(v) FROM u WHERE u.k = t.k)",
]
PLANNED_EACH_TIME = [
    "SELECT * FROM t WHERE v = (SELECT max(v) FROM u)",
    "SELECT * FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
    "SELECT t.k, u.k AS uk FROM t LEFT JOIN u ON t.k > u.k",
    "SELECT k FROM t WHERE d < current_date()",
    "SELECT k, current_timestamp() AS at FROM t WHERE k < 0",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.d < current_date())",
    "SELECT k FROM t WHERE d < DATE 'today'",
    "SELECT k FROM t WHERE d < 'tomorrow'",
    "SELECT k FROM t WHERE d < CAST(concat('to', 'day') AS DATE)",
    "SELECT k FROM t WHERE d < CAST(TIMESTAMP ' NOW ' AS DATE)",
    "SELECT k, current_user() AS by FROM t",
    "SELECT count(*) AS n FROM t JOIN u ON t.k < u.k AND t.d > u.d",
    *(
        f"SELECT k, {value} AS x FROM t"
        for value in (
            # Texts without a date are times of today.
            "TIMESTAMP '10:30:00'",
            "TIMESTAMP_LTZ /* at */ 'T10:30'",
            "CAST('10:30' AS TIMESTAMP)",
            "to_timestamp('10:30')",
            "date_trunc('DAY', '10:30')",
            "CAST(array('10:30') AS ARRAY<TIMESTAMP>)[0]",
            """from_json('{"a": "10:30"}', 'a TIMESTAMP').a""",
            "to_date('tod' || 'ay')",
            "date_add(try_to_date(lower('TOD') || 'ay'), 1)",
            "DATE 'tod\\u0061y'",
            # It takes a number by chance, once.
            "hex(aes_encrypt('x', '0000111122223333'))",
        )
    ),
    "SELECT t.k, one.at FROM t JOIN VALUES (TIMESTAMP '11:00') AS one(at) ON t.k > 3",
    "SELECT t.k, one.x FROM t JOIN (SELECT hex(x) AS x FROM VALUES (aes_encrypt('x', '0000111122223333')) AS v(x)) AS one",
]
"""Their plans keep what a subquery or an exchange gave, what the clock or chance said, or who asked. How long a join takes
that compares all with all depends on the rows."""


def tables_of(seed: int, round_: int) -> dict[str, pa.Table]:
    chosen = random.Random(f"{seed} {round_}")
    # More rows than are interpreted come once in a while, and none.
    return {name: some_rows(chosen, chosen.choice([0, 1, 20, 40, 60])) for name in ("t", "u", "s")}


@pytest.mark.parametrize("query", mostly_slow(REPEATED, *REPEATED[:3], REPEATED[9]))
def test_a_query_that_was_planned_runs_again_over_other_rows(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_queries, "_WORTH_CODE", 2)
    rounds = Rounds(tmp_path, query)
    took = []
    for round_ in range(7):
        tables = tables_of(1, round_)
        built, count = rounds.of(str(round_), tables)
        assert built is not None
        took.append(count)
        rounds.require_equal(str(round_), tables)
    # Spark was asked to plan it, then for nothing, then to plan it with code.
    assert took == [1, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    "query", mostly_slow(PLANNED_EACH_TIME, *PLANNED_EACH_TIME[:2], *PLANNED_EACH_TIME[5:8], *PLANNED_EACH_TIME[-3:])
)
def test_what_keeps_something_or_asks_the_clock_is_planned_each_time(query: str, tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, query, {"spark.sql.session.timeZone": "Asia/Tokyo"})
    for round_ in range(ROUNDS):
        tables = tables_of(2, round_)
        built, count = rounds.of(str(round_), tables)
        assert built is not None
        assert count > 0
        if not any(word in query for word in ("current_timestamp", "aes_encrypt")):
            rounds.require_equal(str(round_), tables)


def test_what_fails_is_left_to_spark_which_says_why_and_the_query_goes_on(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "SELECT g, 10 / k AS x FROM t", {"spark.sql.ansi.enabled": "true"})
    tables = {"t": some_rows(random.Random(3), 40)}
    some = {"t": tables["t"].filter(pa.compute.greater(tables["t"]["k"], 0))}
    for at in ("a", "b", "c"):
        assert rounds.of(at, some)[0] is not None
    assert rounds.of("d", tables)[0] is None
    with pytest.raises(EngineError, match="Division by zero"):
        views.build(start, rounds.build("d", "large", tables))
    # What failed is let go, and planned again.
    assert [rounds.of(at, some)[1] for at in ("e", "f")] == [1, 0]
    rounds.require_equal("f", some)


def test_other_columns_or_settings_are_another_query(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "SELECT hour(timestamp_seconds(k * 3600)) AS h FROM t")
    tables = tables_of(4, 1)
    assert [rounds.of(at, tables)[1] for at in ("a", "b", "c")] == [1, 1, 0]
    rounds.settings = {"spark.sql.session.timeZone": "Asia/Tokyo"}
    assert rounds.of("d", tables)[1] == 1
    rounds.require_equal("d", tables)
    place = str(tmp_path / "wider")
    first, *others = SCHEMA["fields"]
    schema = {**SCHEMA, "fields": [first, *others, {**first, "name": "more"}]}
    put_table(place, schema, tables["t"].append_column("more", tables["t"]["k"]))
    build = ViewBuild("v", rounds.query, (), (StoredSource("t", place, 0),), str(tmp_path / "small" / "e"), {})
    before = jobs()
    assert rounds.small.build(start, build) is not None
    assert jobs() - before == 1


def test_two_at_once_do_not_mix_their_rows(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, f"SELECT t.k, count(*) AS n {JOINED} GROUP BY t.k")
    tables = {str(at): tables_of(5, at) for at in range(12)}
    for at in ("0", "1", "2"):
        rounds.of(at, tables[at])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: rounds.of(*one), list(tables.items())[3:]))
    for at, one in tables.items():
        rounds.require_equal(at, one)


def test_a_function_in_sql_is_part_of_the_query(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "SELECT f(g) AS x FROM t")
    tables = tables_of(6, 3)

    def built(at: str, body: str) -> tuple[list[str], int]:
        function = FunctionSource("f", (ColumnType("x", "INT"),), "INT", body)
        build = rounds.build(at, "small", tables)
        before = jobs()
        assert rounds.small.build(start, ViewBuild("v", build.query, (), build.sources, build.staging, {}, (function,)))
        return rows_at(tmp_path / "small" / at), jobs() - before

    first, *others = (built(at, "x + 1") for at in ("a", "b", "c"))
    assert [count for _, count in others] == [1, 0]
    assert all(rows == first[0] for rows, _ in others)
    assert built("d", "x + 2")[1] == 1


def test_a_query_that_compares_all_with_all_is_left_to_spark_where_that_takes_long(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "SELECT count(*) AS n FROM t JOIN u ON t.k < u.k AND t.d > u.d")
    few, many = some_rows(random.Random(7), 50), some_rows(random.Random(8), 500)
    assert rounds.of("a", {"t": few, "u": few})[0] is not None
    large = {"t": few, "u": pa.concat_tables([many] * 40)}
    assert rounds.of("b", large)[0] is None


def test_what_is_planned_for_few_rows_does_not_run_over_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (small_rows, small_views):
        monkeypatch.setattr(module, "MOST_AT_ONCE", 100)
    monkeypatch.setattr(small_views, "_MOST_INTERPRETED", 10)
    rounds = Rounds(tmp_path, "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g")
    took = []
    for round_, count in enumerate([5, 50, 150] * 4):
        tables = {"t": some_rows(random.Random(round_), count)}
        took.append(rounds.of(str(round_), tables)[1])
        rounds.require_equal(str(round_), tables)
    # Each is planned twice. Then few rows take no job; many do, which somebody may stop.
    assert took == [1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1]


def test_few_are_kept_those_that_were_used_last_and_of_one_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_queries, "_MOST", 2)

    class Java:
        def keep(self, is_of_few_rows: bool) -> bool:
            return True

    def kept(spark: SparkContext, key: str) -> bool:
        with queries.taken(spark, key) as found:
            return found is not None

    query = PlannedQuery(Java(), {}, Code.OF_THE_PLAN)
    queries = RepeatedQueries()
    one, other = (cast(SparkContext, object()) for _ in range(2))
    for key in ("a", "b", "c"):
        assert not kept(one, key)
        queries.keep(one, key, query)
        assert not kept(one, key), "asked once"
    for key in ("a", "b"):
        queries.keep(one, key, query)
    assert kept(one, "a")
    queries.keep(one, "c", query)
    assert [kept(one, key) for key in ("a", "b", "c")] == [True, False, True]
    assert not kept(other, "a")
    queries.keep(one, "a", query)
    assert not kept(other, "a"), "of a Spark that has ended"


def test_one_query_at_a_time_is_planned_with_code_once_it_ran_often() -> None:
    class Java:
        def keep(self, is_of_few_rows: bool) -> bool:
            return True

    now = 100.0
    spark, queries = cast(SparkContext, object()), RepeatedQueries(lambda: now)

    def runs(key: str) -> int:
        """How often a query runs before it is to be planned with code; 99: never."""
        for count in range(99):
            with queries.taken(spark, key) as found:
                if found is None:
                    return count
        return 99

    for key in "aabbcc":
        assert runs(key) in (0, 99)
        queries.keep(spark, key, PlannedQuery(Java(), {}, Code.OF_THE_PLAN if key == "c" else Code.NONE))
    assert runs("c") == 99, "one that has code"
    assert [runs(key) for key in "ab"] == [repeated_queries._WORTH_CODE] * 2
    assert queries.wants_code("a")
    assert not queries.wants_code("b"), "not so soon"
    queries.keep(spark, "b", PlannedQuery(Java(), {}, Code.NONE))
    queries.keep(spark, "a", PlannedQuery(Java(), {}, Code.OF_THE_PLAN))
    assert runs("b") == runs("a") == 99
    now += repeated_queries._PAUSE
    assert runs("b") == 0
    assert queries.wants_code("b")
    # It came to nothing.
    now += repeated_queries._PAUSE
    queries.keep(spark, "b", PlannedQuery(Java(), {}, Code.NONE))
    assert runs("b") == repeated_queries._WORTH_CODE


def test_who_has_a_query_has_it_alone_and_one_that_fails_is_let_go() -> None:
    spark = cast(SparkContext, object())
    queries = RepeatedQueries()
    with queries.taken(spark, "a"):
        pass
    queries._keep(spark, "a", PlannedQuery(None, {}, Code.NONE))
    with queries.taken(spark, "a") as mine, queries.taken(spark, "a") as theirs:
        assert mine is not None
        assert theirs is None
    with pytest.raises(ValueError, match="x"), queries.taken(spark, "a"):
        raise ValueError("x")
    with queries.taken(spark, "a") as gone:
        assert gone is None
