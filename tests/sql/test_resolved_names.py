"""Which columns a query has and what its names mean: where several relations, aliases and blocks have one name.

Spark is asked about all of them. What reads, types and lineage say is taken from one walk, so they are held against each
other.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.sql.check import QueryAnalysis, analyse_query
from tests.engine.engines import session_of

RELATIONS = {
    "t": {"id": "INT", "z": "INT", "f": "INT"},
    "u": {"id": "INT", "k": "INT", "c": "INT"},
    "s": {"x": "STRUCT<f:INT>", "id": "INT"},
    "x": {"id": "INT", "g": "INT"},
    "a": {"x": "INT", "y": "INT", "p": "INT"},
    "b": {"x": "INT", "q": "INT"},
    "c": {"y": "INT", "x": "INT", "r": "INT"},
    "upper": {"ID": "INT", "v": "INT"},
}

# query → its columns, in Spark's order
COLUMNS = {
    # What is joined by USING comes first: what the last one joins, in its own order
    "SELECT * FROM a JOIN b USING (x) JOIN c USING (y)": "y x p q x r",
    "SELECT * FROM a JOIN b USING (x) JOIN c USING (x)": "x y p q y r",
    "SELECT * FROM a JOIN c USING (y, x)": "y x p r",
    "SELECT * FROM c JOIN a USING (x, y)": "x y r p",
    # and once, but for a column of that name of a relation that is joined otherwise
    "SELECT * FROM a JOIN b USING (x) JOIN c ON true": "x y p q y x r",
    "SELECT w.* FROM (SELECT * FROM a JOIN c USING (y)) w": "y x p x r",
    "SELECT b.* FROM a JOIN b USING (x)": "x q",
    "SELECT * FROM t RIGHT JOIN upper USING (id)": "ID z f v",
    "SELECT * FROM t FULL JOIN upper USING (id)": "id z f v",
    "SELECT * FROM t RIGHT JOIN upper USING (id) JOIN u USING (id)": "ID z f v k c",
    "SELECT * FROM (a JOIN b USING (x)) JOIN c USING (y)": "y x p q x r",
    "SELECT * FROM c JOIN (a JOIN b USING (x)) ON true": "y x r x y p q",
    "SELECT * FROM c JOIN (a JOIN b ON a.x = b.x) USING (y)": "y x r x p x q",
    "SELECT * FROM c JOIN ((a JOIN b USING (x)) JOIN u ON true) ON true": "y x r x y p q id k c",
    "SELECT * FROM ((SELECT * FROM a) w JOIN b USING (x)) JOIN u ON true": "x y p q id k c",
    "SELECT * FROM ((SELECT * FROM a) JOIN b USING (x))": "x y p q",
    "SELECT z.q, z.* FROM ((a JOIN b USING (x)) z)": "q x y p q",
    "SELECT * FROM ((SELECT * FROM a)) JOIN b USING (x)": "x y p q",
    # Of several that have the name the first is joined
    "SELECT * FROM c, a JOIN b USING (x)": "x y r x y p q",
    "SELECT * FROM u, a NATURAL JOIN c": "x y id k c p r",
    "SELECT * FROM c, a NATURAL JOIN b": "x y r x y p q",
    "SELECT * FROM a JOIN b ON a.x = b.x JOIN c USING (x)": "x y p x q y r",
    "SELECT * FROM b JOIN (SELECT c.x, a.* FROM a JOIN c ON true) w USING (x)": "x q x y p",
    "SELECT * FROM u CROSS JOIN (SELECT * FROM a) w JOIN b USING (x)": "x id k c y p q",
    "SELECT * FROM u CROSS JOIN a JOIN b USING (x)": "x id k c y p q",
    "SELECT * FROM a NATURAL JOIN c": "x y p r",
    "SELECT * FROM b NATURAL JOIN c NATURAL JOIN a": "x y q r p",
    "SELECT * FROM t NATURAL RIGHT JOIN upper": "ID z f v",
    "SELECT * FROM a LEFT SEMI JOIN c USING (y)": "y x p",
    "SELECT * FROM a LEFT ANTI JOIN c USING (Y, x)": "y x p",
    "SELECT * FROM u LEFT SEMI JOIN (SELECT c FROM u) w USING (c) JOIN b ON true": "c id k x q",
    # EXCEPT leaves out a column of one of them
    "SELECT * EXCEPT (a.x) FROM a": "y p",
    "SELECT * EXCEPT (a.x) FROM a JOIN b ON a.x = b.x": "y p x q",
    "SELECT c.*, b.* EXCEPT (b.x, q) FROM b JOIN c ON b.x = c.x": "y x r",
    "SELECT * EXCEPT (a.x, r, c.y) FROM a JOIN b ON a.x = b.x JOIN c ON b.x = c.x": "y p x q x",
    # Two relations of one name
    "SELECT n.* FROM t AS n JOIN u AS n ON true": "id z f id k c",
    "SELECT n.k FROM t AS n JOIN u AS n ON true": "k",
    # Generators with names
    "SELECT posexplode(array(1)) AS (i, v) FROM t": "i v",
    "SELECT * FROM range(3)": "id",
}

# EXCEPT leaves out a field of a structure, or one side of what is joined.
LEFT_OUT = (
    "SELECT * EXCEPT (x.f) FROM s",
    "SELECT * EXCEPT (s.x.f) FROM s",
    "SELECT * EXCEPT (a.x) FROM a JOIN b USING (x)",
)

# query → what it reads
READS = {
    # A column of the block itself goes before a relation around it
    "SELECT (SELECT max(x.f) FROM s) AS m FROM x": "s.x",
    # A relation around the block, where the one of that name within it lacks the column
    "SELECT (SELECT max(u.k) FROM u, c AS n WHERE n.z = 1) AS m FROM t AS n": "t.z u.k",
    # Names of the select list are seen by the items after them, and not by WHERE
    "SELECT (SELECT max(u.id) AS z FROM u WHERE z > 1) AS m FROM t": "t.z u.id",
    "SELECT (SELECT z + 1 AS z FROM u LIMIT 1) AS m FROM t": "t.z",
    # A column without a name is none that this may be
    "SELECT (SELECT max(w.id) FROM (SELECT count(*), id FROM u GROUP BY id) w WHERE w.id = z) AS m FROM t": "t.z u.id",
    # Which columns are joined depends on all of them where some are not known
    "SELECT 1 AS o FROM a NATURAL JOIN (SELECT * FROM b PIVOT (max(q) FOR x IN (1, 2)))": "a.p a.x a.y b.q b.x",
}

# query → a column whose values decide what it gives
DECIDING = {
    # A comparison is no name of a field
    "SELECT struct(z = f) AS v FROM t": "t.z",
    "SELECT `struct`(1, z == f).col2 AS v FROM t": "t.z",
    # A field of a structure has a name for the items after it
    "SELECT (SELECT max(h) FROM (SELECT s.x.f, f + 1 AS h FROM s)) AS m FROM t": "s.x",
    # After the select list, what it gives goes before a relation of that name
    "SELECT id FROM (SELECT n.x AS n, id FROM (SELECT x, id, 1 AS f FROM s) AS n ORDER BY n.f LIMIT 1)": "s.x",
    "SELECT id FROM (SELECT max(n.x) AS n, id FROM (SELECT x, id, 1 AS f FROM s) AS n GROUP BY id HAVING n.f > 1)": "s.x",
    # A column that USING joined goes before none that has the name of its relation
    "WITH w AS (SELECT struct(z AS id) AS x, id FROM t) SELECT x.id AS v FROM w JOIN x USING (id)": "t.z",
    "WITH w AS (SELECT struct(z AS id) AS x, id FROM t) SELECT x.id FROM w NATURAL JOIN (SELECT id FROM x) AS x": "t.z",
    "WITH w AS (SELECT struct(z AS id) AS x, id FROM t) SELECT w.id FROM w LEFT JOIN x USING (id) WHERE x.id > 1": "t.z",
    # The order of a query in parentheses sees what the query sees
    "(SELECT id FROM t) ORDER BY z LIMIT 1": "t.z",
    "SELECT id FROM ((SELECT id FROM t) ORDER BY t.z LIMIT 1)": "t.z",
    "SELECT (SELECT max(o) FROM ((SELECT id AS o FROM u) ORDER BY k LIMIT 1)) AS m FROM (SELECT z AS k FROM t)": "u.k",
}


def _analysed(query: str) -> QueryAnalysis:
    analysis = analyse_query(query, None, RELATIONS)
    assert [one.message for one in analysis.diagnostics] == []
    return analysis


def _read(analysis: QueryAnalysis) -> set[tuple[str, str]]:
    return {(read.relation, column.lower()) for read in analysis.reads for column in read.columns}


@pytest.mark.parametrize("query", COLUMNS)
def test_columns(query: str) -> None:
    assert " ".join(name for name, _ in _analysed(query).columns) == COLUMNS[query]


@pytest.mark.parametrize("query", COLUMNS)
def test_each_column_descends_from_those_of_its_name(query: str) -> None:
    lineage = _analysed(query).lineage
    assert lineage is not None
    for one in lineage.outputs:
        assert {column for _, column in one.sources} <= {one.name.lower()}


@pytest.mark.parametrize("query", LEFT_OUT)
def test_what_of_it_is_left_out_is_sparks_to_say(query: str) -> None:
    assert (_analysed(query).columns, _analysed(query).lineage) == ((), None)


def test_a_relation_lacks_what_is_left_out() -> None:
    analysis = analyse_query("SELECT * EXCEPT (a.q) FROM a JOIN b USING (x)", None, RELATIONS)
    assert [one.message for one in analysis.diagnostics] == ["a has no column 'q'"]


@pytest.mark.parametrize("query", READS)
def test_reads(query: str) -> None:
    assert " ".join(sorted(map(".".join, _read(_analysed(query))))) == READS[query]


@pytest.mark.parametrize("query", [*COLUMNS, *READS])
def test_lineage_names_what_is_read(query: str) -> None:
    analysis = _analysed(query)
    if analysis.lineage is not None:
        named = {*analysis.lineage.rows, *(source for one in analysis.lineage.outputs for source in one.sources)}
        assert named <= _read(analysis)


@pytest.mark.parametrize("query", DECIDING)
def test_lineage_names_what_decides(query: str) -> None:
    lineage = _analysed(query).lineage
    assert lineage is not None
    named = {*lineage.rows, *(source for one in lineage.outputs for source in one.sources)}
    assert DECIDING[query] in set(map(".".join, named))


@pytest.fixture(scope="module")
def session(spark_engine: Engine) -> Iterator[Any]:
    session = session_of(spark_engine).newSession()
    for name, columns in RELATIONS.items():
        items = ", ".join(f"CAST(NULL AS {kind}) AS {column}" for column, kind in columns.items())
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT {items}")
    yield session
    for name in RELATIONS:
        session.catalog.dropTempView(name)


@pytest.mark.spark
def test_spark_has_these_columns(session: Any) -> None:
    assert {query: " ".join(session.sql(query).columns) for query in COLUMNS} == COLUMNS


@pytest.mark.spark
def test_spark_takes_what_is_left_out(session: Any) -> None:
    assert [session.sql(query).columns for query in LEFT_OUT] == [["x", "id"], ["x", "id"], ["y", "p", "q"]]


@pytest.mark.spark
def test_spark_reads_these_columns(session: Any) -> None:
    """A query means something else, or nothing, once a column that it reads has another name."""
    for query, reads in READS.items():
        assert session.sql(query).columns
        if "NATURAL" in query:
            continue
        for relation, column in (one.split(".") for one in reads.split()):
            left = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in RELATIONS[relation].items() if name != column]
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {relation} AS SELECT {', '.join([*left, 'NULL AS other'])}")
            assert not _is_accepted(session, query), (query, column)
            whole = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in RELATIONS[relation].items()]
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {relation} AS SELECT {', '.join(whole)}")


@pytest.mark.spark
def test_these_columns_decide_what_spark_gives(session: Any) -> None:
    for query, column in DECIDING.items():
        given = []
        for other in ("", column):
            for name, columns in RELATIONS.items():
                values = [
                    ", ".join(_value(row, kind, f"{name}.{one}" == other) for one, kind in columns.items()) for row in (1, 2)
                ]
                rows = " UNION ALL ".join(f"SELECT * FROM VALUES ({one}) AS q({', '.join(columns)})" for one in values)
                session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {rows}")
            given.append(session.sql(query).collect())
        assert given[0] != given[1], query


def _value(row: int, kind: str, is_other: bool) -> str:
    number = str(3 - 2 * row if is_other else row)
    return f"named_struct('f', {number})" if kind.startswith("STRUCT") else number


def _is_accepted(session: Any, query: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        return bool(session.sql(query).columns)
    except PySparkException:
        return False
