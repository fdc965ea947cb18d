import pytest

from reconciler.base.diagnostics import Diagnostic
from reconciler.sql.adhoc import Delete, Insert, Select, read_change, read_select


@pytest.mark.parametrize(
    ("sql", "relations"),
    [
        ("SELECT * FROM avg_grade_enriched order by student_name, class;", ("avg_grade_enriched",)),
        ("select 1", ()),
        ("SELECT * FROM Orders o JOIN items ON o.id = items.id", ("items", "Orders")),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c", ("t",)),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", ("t",)),
        ("SELECT * FROM t WHERE id IN (SELECT id FROM u)", ("t", "u")),
        ("(SELECT * FROM t) UNION SELECT * FROM `u`", ("t", "u")),
        ("VALUES (1)", ()),
        ("SELECT * FROM t |> WHERE id > 1", ("t",)),
    ],
)
def test_selects(sql: str, relations: tuple[str, ...]) -> None:
    assert read_select(sql) == Select(sql.rstrip(";"), relations)


@pytest.mark.parametrize(
    "sql", ["", "-- nothing", "DELETE FROM t", "SELECT 1; SELECT 2", "SELECT (1", "SELECT '", "SELECT ?", "SHOW TABLES"]
)
def test_what_is_no_select(sql: str) -> None:
    read = read_select(sql)
    assert isinstance(read, Diagnostic)
    assert (read.code, read.location) == ("S240", None)
    assert read.hint is not None


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("SELEC 1", "not one SELECT: the statement begins with 'SELEC'", "for example: SELECT * FROM t WHERE …"),
        ("DELETE FROM t", "not one SELECT: the statement begins with 'DELETE'", "to change rows, run: reconcile execute"),
        ("SELECT 1; SELECT 2", "not one SELECT: several statements", "run one at a time"),
    ],
)
def test_what_is_said_of_no_select_speaks_of_no_view(sql: str, message: str, hint: str) -> None:
    read = read_select(sql)
    assert isinstance(read, Diagnostic)
    assert (read.message, read.hint) == (message, hint)


def test_inserts_of_the_seeds() -> None:
    assert read_change("insert into students values (1, 'Alice'), (2, 'Bob')") == Insert("students", ())


@pytest.mark.parametrize(
    ("sql", "insert"),
    [
        ("INSERT INTO t (a, `b`) SELECT a, b FROM u;", Insert("t", ("u",))),
        ("INSERT INTO TABLE t VALUES (1)", Insert("t", ())),
        ("INSERT INTO t (SELECT a FROM u)", Insert("t", ("u",))),
        ("INSERT INTO `t` SELECT a FROM t", Insert("t", ("t",))),
        ("INSERT INTO t WITH c AS (SELECT 1 AS x) SELECT * FROM c", None),
    ],
)
def test_inserts(sql: str, insert: Insert | None) -> None:
    expected = insert or Insert("t", ())
    assert read_change(sql) == expected


@pytest.mark.parametrize(
    ("sql", "delete"),
    [
        ("DELETE FROM t", Delete("t", ())),
        ("delete from `T`;", Delete("T", ())),
        ("DELETE FROM t WHERE id > 1 AND name = 'a;b'", Delete("t", ())),
        ("DELETE FROM t WHERE id IN (SELECT id FROM u)", Delete("t", ("u",))),
    ],
)
def test_deletes(sql: str, delete: Delete) -> None:
    assert read_change(sql) == delete


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 1",
        "INSERT t VALUES (1)",
        "INSERT OVERWRITE t VALUES (1)",
        "INSERT INTO",
        "INSERT INTO t",
        "INSERT INTO t (a, 1) VALUES (1)",
        "INSERT INTO db.t VALUES (1)",
        "INSERT INTO t@v2 VALUES (1)",
        "INSERT INTO t VALUES (1); DELETE FROM t",
        "INSERT INTO t SELECT '",
        "INSERT INTO t UPDATE x",
        "DELETE t",
        "DELETE FROM",
        "DELETE FROM t WHERE",
        "DELETE FROM t USING u",
        "DELETE FROM t WHERE (id = 1",
        "UPDATE t SET a = 1",
        "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE",
        "DROP TABLE t",
        "CREATE TABLE t (a int)",
        "TRUNCATE TABLE t",
    ],
)
def test_what_is_no_change(sql: str) -> None:
    read = read_change(sql)
    assert isinstance(read, Diagnostic)
    assert (read.code, read.location) == ("S241", None)
    assert read.hint is not None
    for end in range(len(sql)):
        read_change(sql[:end])
        read_select(sql[:end])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM IDENTIFIER('csv.`/etc/passwd`')",
        "SELECT identifier /* x */ ('a') FROM t",
        "SELECT java_method('java.lang.System', 'exit', 0)",
        "SELECT TRANSFORM(id) USING 'cat' AS (b) FROM orders",
        "SELECT * FROM t WHERE `Reflect`('a', 'b') = 'c'",
        "SELECT try_reflect('a', 'b') FROM t |> WHERE true",
        "SELECT \"reflect\"('a', 'b')",
        "SELECT * FROM csv.`/etc/passwd` |> WHERE true",
        "TABLE delta.`/in`",
        "SELECT * FROM table_changes_by_path('/in', 0)",
        "SELECT * FROM system.builtin.`Table_Changes` ('t', 0)",
        "SELECT * FROM t, LATERAL table_changes('t', 0) |> WHERE true",
        "SELECT from_xml(x, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) FROM t",
        "SELECT `From_XML`(x, 'a INT', map('mode', 'PERMISSIVE', 'rowvalidationxsdpath', 'http://h/x')) FROM t",
        "SELECT from_xml(x, 'a INT', map('row' 'ValidationXSDPath', '/x')) FROM t",
        "SELECT from_xml(x, 'a INT', map('\\u0072owValidationXSDPath', '/x')) FROM t |> WHERE true",
        "SELECT from_xml(x, 'a INT', map(concat('rowValidation', 'XSDPath'), '/x')) FROM t",
        "SELECT from_xml(x, 'a INT', str_to_map('rowValidationXSDPath:/x')) FROM t",
        "SELECT from_xml(x, schema_of_xml('<a/>', map('rowValidationXSDPath', '/x'))) FROM t",
        "SELECT builtin.schema_of_xml('<a/>', (map('mode', 'x'))) FROM t",
    ],
)
def test_what_is_not_allowed(query: str) -> None:
    changes = (f"INSERT INTO t {query}", f"DELETE FROM t WHERE id IN ({query})")
    for read in (read_select(query), *(read_change(change) for change in changes)):
        assert isinstance(read, Diagnostic)
        assert (read.code, read.location) == ("S216", None)
        assert read.hint is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT identifier, reflect FROM t",
        "SELECT 'reflect(1)' AS x -- identifier(",
        "SELECT identifier IN (1) FROM t",
        "SELECT from_xml(x, 'a INT') FROM t",
        "SELECT from_xml(x, 'a INT, b INT', map('rowTag', 'a,b', \"mode\", 'PERMISSIVE')) FROM t",
        "SELECT from_xml(x, schema_of_xml('<a/>', map('mode', 'PERMISSIVE')), map()) FROM t",
        "SELECT 'rowValidationXSDPath' AS from_xml FROM t",
    ],
)
def test_what_only_looks_like_it(query: str) -> None:
    assert isinstance(read_select(query), Select)


@pytest.mark.parametrize("character", ["\0", "\x1b", "\u202e"])
def test_what_shows_nothing_is_refused(character: str) -> None:
    for read in (read_select(f"SELECT 'a{character}'"), read_change(f"INSERT INTO t VALUES ('{character}')")):
        assert isinstance(read, Diagnostic)
        assert (read.code, read.location) == ("S280", None)


@pytest.mark.parametrize("query", ["SELECT * FROM parquet.`/in/x.parquet`", "SELECT * FROM t JOIN delta.`a.b` USING (id)"])
def test_no_query_reads_files(query: str) -> None:
    read = read_select(query)
    assert isinstance(read, Diagnostic)
    assert read.code == "S216"
    assert "reads files directly" in read.message
