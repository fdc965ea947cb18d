"""Statements are read as declared, mistakes are placed exactly. `¦` stands before each place where one is expected."""

import pytest

from reconciler.base.declarations import ColumnDeclaration, ViewKind
from reconciler.sql.statements import read_sql
from tests.sql.reading import found, without_marks

LINEITEM = """CREATE TABLE LINEITEM (
        L_ORDERKEY    INTEGER NOT NULL,
        L_EXTENDEDPRICE  DECIMAL(15,2) NOT NULL,
        L_RETURNFLAG  CHAR(1) NOT NULL,
        L_COMMENT      VARCHAR(44) NOT NULL
) WITH (
 'connectors' = '[
  {
    "labels": ["lineitem.historical"],
    "transport": {"name": "delta_table_input", "config": {"uri": "s3://bucket/lineitem", "mode": "snapshot"}}
  },
  {
    "name": "live",
    "start_after": "lineitem.historical",
    "transport": {"name": "kafka_input", "config": {"start_from": {"offsets": [42]}}}
  }]');
"""

GRADES = """create table students (
id bigint,
name varchar
) with (
'materialized' = 'true'
);

-- Average grade per student.
create view avg_grade as
select student_id, avg(grade) as class_avg -- the mean
from grades
where class_date >= date '2025-09-01';

create materialized view by_name (student, "avg") with ('connectors' = '[]') as
select name, class_avg from avg_grade join students on avg_grade.student_id = students.id
"""


def test_a_table_of_the_seeds() -> None:
    read = read_sql(LINEITEM, "p.sql")
    assert read.diagnostics == ()
    (table,) = read.tables
    assert [(column.name, column.type, column.nullable) for column in table.columns] == [
        ("L_ORDERKEY", "INT", False),
        ("L_EXTENDEDPRICE", "DECIMAL(15,2)", False),
        ("L_RETURNFLAG", "CHAR(1)", False),
        ("L_COMMENT", "VARCHAR(44)", False),
    ]
    assert (table.name, table.primary_key, table.materialized, table.append_only) == ("LINEITEM", (), False, False)
    assert table.sql == LINEITEM.strip().removesuffix(";")


def test_connectors_of_the_seeds() -> None:
    first, second = read_sql(LINEITEM, "p.sql").connectors
    assert (first.relation, first.name, first.ordinal) == ("LINEITEM", None, 0)
    assert (second.relation, second.name, second.ordinal) == ("LINEITEM", "live", 1)
    assert sorted(first.settings) == ["labels", "transport"]
    assert second.settings["transport"]["config"] == {"start_from": {"offsets": [42]}}
    assert [str(one.location) for one in (first, second)] == ["p.sql:8:3", "p.sql:12:3"]


def test_views_of_the_seeds() -> None:
    read = read_sql(GRADES, "p.sql")
    assert read.diagnostics == ()
    plain, stored = read.views
    assert (plain.name, plain.kind, plain.column_names) == ("avg_grade", ViewKind.PLAIN, ())
    assert plain.query.startswith("select student_id")
    assert plain.query.endswith("date '2025-09-01'")
    assert "-- the mean" in plain.query
    assert plain.sql.startswith("create view")
    assert (str(plain.location), str(plain.query_location)) == ("p.sql:9:1", "p.sql:10:1")
    assert (stored.name, stored.kind, stored.column_names) == ("by_name", ViewKind.MATERIALIZED, ("student", "avg"))
    assert read.tables[0].materialized


def test_primary_keys_are_spelled_as_columns_and_not_nullable() -> None:
    read = read_sql("create table t (Id int, b int null, primary key (ID, B)); create table u (k int primary key)", "p.sql")
    assert read.diagnostics == ()
    assert [table.primary_key for table in read.tables] == [("Id", "b"), ("k",)]
    assert [column.nullable for column in read.tables[0].columns] == [False, False]


def test_quoted_names_and_words_as_names() -> None:
    read = read_sql(
        'create table "T" (`date` date, "key" int, class string, primary int); create local view `V` as select 1', "p"
    )
    assert read.diagnostics == ()
    assert read.tables[0].name == "T"
    assert [column.name for column in read.tables[0].columns] == ["date", "key", "class", "primary"]
    assert (read.views[0].name, read.views[0].kind) == ("V", ViewKind.LOCAL)


@pytest.mark.parametrize("type_", ["row(c int not null)", "STRUCT<a: INT NOT NULL>", "ARRAY<STRUCT<a: STRING NOT NULL>>"])
def test_not_null_is_for_columns(type_: str) -> None:
    (found,) = read_sql(f"CREATE TABLE t (b {type_});", "p").diagnostics
    assert (found.code, found.hint) == ("S208", "remove it: only columns can be NOT NULL, not the fields inside them")


def test_types_that_nest() -> None:
    read = read_sql("create table t (a array<map<string, struct<x: int, y decimal(3,1)>>>, b row(c int), d int array)", "p")
    assert read.diagnostics == ()
    assert [column.type for column in read.tables[0].columns] == [
        "ARRAY<MAP<STRING,STRUCT<x:INT,y:DECIMAL(3,1)>>>",
        "STRUCT<c:INT>",
        "ARRAY<INT>",
    ]


def test_a_string_in_a_query_may_hold_anything() -> None:
    read = read_sql(
        """create view v as select ';' as a, "b;""c" as b, 'it\\'s; create view' as c, r'\\' as d;
        create view w as select 1""",
        "p",
    )
    assert read.diagnostics == ()
    assert [view.name for view in read.views] == ["v", "w"]


def test_a_backslash_in_connectors_is_json() -> None:
    read = read_sql("""create table t (a int) with ('connectors' = '[{"name": "c", "x": "a\\"b''c\\n"}]')""", "p")
    assert read.diagnostics == ()
    assert read.connectors[0].settings == {"x": "a\"b'c\n"}


def test_nothing_but_comments() -> None:
    read = read_sql("-- nothing\n/* here */ ;;\n", "p")
    assert (read.tables, read.views, read.connectors, read.diagnostics) == ((), (), (), ())


BAD = {
    "an unknown statement": ("S202", "¦SELECT 1;"),
    "a misspelt CREATE": ("S202", "¦CRAETE TABLE t (a int);"),
    "an unknown thing to create": ("S202", "CREATE ¦SCHEMA s;"),
    "an INSERT": ("S202", "¦INSERT INTO t VALUES (1);"),
    "OR REPLACE": ("S203", "CREATE ¦OR REPLACE VIEW v AS SELECT 1;"),
    "IF NOT EXISTS": ("S203", "CREATE TABLE ¦IF NOT EXISTS t (a int);"),
    "a TEMPORARY view": ("S203", "CREATE ¦TEMPORARY VIEW v AS SELECT 1;"),
    "a table without columns": ("S203", "CREATE TABLE t ¦;"),
    "an empty column list": ("S203", "CREATE TABLE t (¦);"),
    "a table from a query": ("S203", "CREATE TABLE t ¦AS SELECT 1;"),
    "a table with USING": ("S203", "CREATE TABLE t (a int) ¦USING delta;"),
    "a missing comma": ("S203", "CREATE TABLE t (\n  a int\n  ¦b int\n);"),
    "a missing parenthesis": ("S203", "CREATE TABLE t (a int¦;"),
    "a comma too many": ("S203", "CREATE TABLE t (a int, ¦);"),
    "a missing type": ("S203", "CREATE TABLE t (a¦, b int);"),
    "NOT without NULL": ("S203", "CREATE TABLE t (a int not ¦, b int);"),
    "both NULL and NOT NULL": ("S203", "CREATE TABLE t (a int null ¦not null);"),
    "a type that is not closed": ("S203", "CREATE TABLE t (a array<int¦;"),
    "an unknown type": ("S208", "CREATE TABLE t (a ¦strng);"),
    "a decimal too wide": ("S208", "CREATE TABLE t (a ¦DECIMAL(39, 2));"),
    "a column twice": ("S209", "CREATE TABLE t (a int, ¦A string);"),
    "a key of an unknown column": ("S210", "CREATE TABLE t (ab int, primary key (¦b));"),
    "a key column twice": ("S210", "CREATE TABLE t (a int, primary key (a, ¦A));"),
    "two keys": ("S210", "CREATE TABLE t (a int primary key, ¦primary key (a));"),
    "two key columns": ("S210", "CREATE TABLE t (a int primary key, b int ¦primary key);"),
    "a version in a name": ("S211", "CREATE VIEW ¦v@v2 AS SELECT 1;"),
    "a qualified name": ("S211", "CREATE TABLE ¦db.t (a int);"),
    "a name with a blank": ("S211", "CREATE TABLE ¦`a b` (a int);"),
    "a column with a blank": ("S211", "CREATE TABLE t (¦`a b` int);"),
    "an empty name": ("S211", 'CREATE TABLE ¦"" (a int);'),
    "CHECK": ("S212", "CREATE TABLE t (a int ¦CHECK (a > 0));"),
    "a default that is a call": ("S261", "CREATE TABLE t (a timestamp DEFAULT ¦CURRENT_TIMESTAMP);"),
    "a default that is a sum": ("S261", "CREATE TABLE t (a int DEFAULT 1 ¦+ 1);"),
    "a default that is called": ("S261", "CREATE TABLE t (a int DEFAULT ¦abs(1));"),
    "a default with a type's letter": ("S261", "CREATE TABLE t (a bigint DEFAULT ¦5L);"),
    "no default": ("S261", "CREATE TABLE t (a int DEFAULT¦);"),
    "a date without text": ("S261", "CREATE TABLE t (a date DEFAULT ¦DATE 2025);"),
    "a default out of range": ("S262", "CREATE TABLE t (a tinyint DEFAULT ¦-129);"),
    "a default that is no whole number": ("S262", "CREATE TABLE t (a int DEFAULT ¦1.5);"),
    "a default with too many digits": ("S262", "CREATE TABLE t (a decimal(5,2) DEFAULT ¦1.005);"),
    "a default that is too large": ("S262", "CREATE TABLE t (a decimal(5,2) DEFAULT ¦1e3);"),
    "a default that is too long": ("S262", "CREATE TABLE t (a varchar(2) DEFAULT ¦'abc');"),
    "a text for a number": ("S262", "CREATE TABLE t (a int DEFAULT ¦'1');"),
    "a number for a text": ("S262", "CREATE TABLE t (a string DEFAULT ¦1);"),
    "a number for a list": ("S262", "CREATE TABLE t (a array<int> DEFAULT ¦1);"),
    "a truth for a number": ("S262", "CREATE TABLE t (a int DEFAULT ¦TRUE);"),
    "a date that is none": ("S262", "CREATE TABLE t (a date DEFAULT ¦DATE '2025-02-30');"),
    "a date for a timestamp": ("S262", "CREATE TABLE t (a timestamp DEFAULT ¦DATE '2025-02-03');"),
    "a zone where there is none": (
        "S262",
        "CREATE TABLE t (a timestamp_ntz DEFAULT ¦TIMESTAMP_NTZ '2025-02-03 00:00:00Z');",
    ),
    "half a byte": ("S262", "CREATE TABLE t (a binary DEFAULT ¦X'1');"),
    "a default NULL where none may be": ("S262", "CREATE TABLE t (a int NOT NULL DEFAULT ¦NULL);"),
    "a lateness without bound": ("S263", "CREATE TABLE t (a timestamp LATENESS¦);"),
    "a lateness without unit": ("S263", "CREATE TABLE t (a timestamp LATENESS INTERVAL '4'¦);"),
    "a lateness in months": ("S263", "CREATE TABLE t (a timestamp LATENESS INTERVAL '4' MONTHS¦);"),
    "a negative lateness": ("S263", "CREATE TABLE t (a int LATENESS ¦-4);"),
    "a lateness of a text": ("S264", "CREATE TABLE t (a string LATENESS ¦INTERVAL 1 HOUR);"),
    "a number of a timestamp": ("S264", "CREATE TABLE t (a timestamp LATENESS ¦5);"),
    "an interval of a number": ("S264", "CREATE TABLE t (a int LATENESS ¦INTERVAL 1 HOUR);"),
    "two defaults": ("S265", "CREATE TABLE t (a int DEFAULT 1 NOT NULL ¦DEFAULT 1);"),
    "two comments": ("S265", "CREATE TABLE t (a int COMMENT 'x' ¦COMMENT 'x');"),
    "a comment that is no text": ("S203", "CREATE TABLE t (a int COMMENT ¦x);"),
    "FOREIGN KEY": ("S212", "CREATE TABLE t (a int, ¦FOREIGN KEY (a) REFERENCES u (b));"),
    "a function with a name of Spark's": ("S250", "CREATE FUNCTION ¦round(x int) RETURNS int;"),
    "a function named like a word": ("S250", "CREATE FUNCTION ¦partition(x int) RETURNS int;"),
    "a function without parameters' parentheses": ("S203", "CREATE FUNCTION f ¦RETURNS int;"),
    "a function without RETURNS": ("S203", "CREATE FUNCTION f(x int) ¦AS x;"),
    "a function with an option": ("S203", "CREATE FUNCTION f(x int) RETURNS int ¦DETERMINISTIC AS x;"),
    "a function that is not deterministic": ("S203", "CREATE FUNCTION f(x int) RETURNS int ¦NOT DETERMINISTIC AS x;"),
    "a parameter with a default": ("S203", "CREATE FUNCTION f(x int ¦DEFAULT 3) RETURNS int;"),
    "a parameter twice": ("S209", "CREATE FUNCTION f(x int, ¦X int) RETURNS int;"),
    "a parameter without type": ("S203", "CREATE FUNCTION f(x¦) RETURNS int;"),
    "a return type that is unknown": ("S208", "CREATE FUNCTION f(x int) RETURNS ¦itn;"),
    "a function with a qualified name": ("S211", "CREATE FUNCTION ¦db.f(x int) RETURNS int;"),
    "a function of nothing": ("S251", "CREATE FUNCTION f(x int) RETURNS int AS ¦;"),
    "a missing semicolon after a function": (
        "S203",
        "CREATE FUNCTION f(x int) RETURNS int AS x\n¦CREATE VIEW w AS SELECT 2;",
    ),
    "CREATE TYPE": ("S212", "CREATE ¦TYPE money AS DECIMAL(15, 2);"),
    "an unknown property": ("S204", "CREATE TABLE t (a int) WITH (¦'materialised' = 'true');"),
    "a table's property on a view": ("S204", "CREATE VIEW v WITH (¦'append_only' = 'true') AS SELECT 1;"),
    "a property that is no boolean": ("S205", "CREATE TABLE t (a int) WITH ('materialized' = ¦'yes');"),
    "a property without quotes": ("S205", "CREATE TABLE t (a int) WITH ('materialized' = ¦true);"),
    "a property twice": ("S205", "CREATE TABLE t (a int) WITH ('append_only' = 'true', ¦'append_only' = 'true');"),
    "a number as property": ("S203", "CREATE TABLE t (a int) WITH ('materialized' = ¦1);"),
    "a property without =": ("S203", "CREATE TABLE t (a int) WITH ('materialized' ¦'true');"),
    "JSON with a comma too many": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[\n  {\"name\": \"c\"¦,\n  }]');"),
    "JSON with single quotes": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[{¦''name'': 1}]');"),
    "JSON after doubled quotes": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[{\"a\": \"it''s\" ¦\"b\"}]');"),
    "JSON that ends early": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[{\"a\": 1}¦');"),
    "JSON that goes on": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[] ¦x');"),
    "a JSON key twice": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[¦{\"a\": 1, \"a\": 2}]');"),
    "JSON with NaN": ("S206", "CREATE TABLE t (a int) WITH ('connectors' = '[¦{\"a\": NaN}]');"),
    "connectors that are one object": ("S207", "CREATE TABLE t (a int) WITH ('connectors' = '¦{\"name\": \"c\"}');"),
    "connectors that are empty": ("S207", "CREATE TABLE t (a int) WITH ('connectors' = '¦');"),
    "a connector that is a text": ("S207", 'CREATE TABLE t (a int) WITH (\'connectors\' = \'[{"name": "c"}, ¦"d"]\');'),
    "a connector's name that is a number": ("S207", "CREATE TABLE t (a int) WITH ('connectors' = '[¦{\"name\": 1}]');"),
    "a connector's name with a point": ("S211", "CREATE TABLE t (a int) WITH ('connectors' = '[¦{\"name\": \"a.b\"}]');"),
    "a view without AS": ("S203", "CREATE VIEW v ¦SELECT 1;"),
    "a view without a query": ("S213", "CREATE VIEW v AS ¦;"),
    "a view at the end without a query": ("S213", "CREATE VIEW v AS -- nothing\n¦"),
    "a view of an INSERT": ("S213", "CREATE VIEW v AS ¦INSERT INTO t SELECT 1;"),
    "a view with typed columns": ("S203", "CREATE VIEW v (a ¦int) AS SELECT 1;"),
    "a view's column twice": ("S209", "CREATE VIEW v (a, ¦A) AS SELECT 1, 2;"),
    "a missing semicolon after a view": ("S203", "CREATE VIEW v AS SELECT 1\n¦CREATE VIEW w AS SELECT 2;"),
    "a missing semicolon after a table": ("S203", "CREATE TABLE t (a int)\n¦CREATE VIEW w AS SELECT 2;"),
    "a template in a query": ("S215", "CREATE VIEW v AS SELECT ¦{{ column }} FROM t;"),
    "a variable in a query": ("S215", "CREATE VIEW v AS SELECT ¦${column} FROM t;"),
    "a template in a table": ("S215", "CREATE TABLE ¦{{ name }} (a int);"),
    "an unclosed string in a query": ("S201", "CREATE VIEW v AS SELECT ¦'abc FROM t;"),
    "an unclosed string in WITH": ("S201", "CREATE TABLE t (a int) WITH ('connectors' = ¦'[]);"),
    "an unclosed name": ("S201", "CREATE TABLE ¦`t (a int);"),
    "an unclosed comment": ("S201", "CREATE TABLE t (a int); ¦/* x /* y */"),
    "an unclosed comment in a query": ("S201", "CREATE VIEW v AS SELECT 1 ¦/* x"),
}


def _column(text: str) -> ColumnDeclaration:
    read = read_sql(f"CREATE TABLE t (a {text});", "p")
    assert read.diagnostics == ()
    return read.tables[0].columns[0]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("int default + 5 not null", "5"),
        ("tinyint DEFAULT -128", "-128"),
        ("decimal(5,2) DEFAULT 1.500", "1.500"),
        ("double DEFAULT 1e-3", "1E-3"),
        ("varchar(4) DEFAULT 'it''s'", r"'it\'s'"),
        (r"string DEFAULT 'a\n'", r"'a\\n'"),
        ("boolean DEFAULT true", "TRUE"),
        ("date DEFAULT date '2025-01-31'", "DATE '2025-01-31'"),
        ("timestamp DEFAULT TIMESTAMP '2025-01-31 10:00:00Z'", "TIMESTAMP '2025-01-31 10:00:00Z'"),
        ("binary DEFAULT x'ff'", "X'FF'"),
        ("int DEFAULT NULL", None),
        ("int COMMENT 'x' DEFAULT 7", "7"),
    ],
)
def test_defaults_are_canonical(text: str, canonical: str | None) -> None:
    assert _column(text).default == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("timestamp LATENESS INTERVAL '4' HOURS", "INTERVAL '4' HOUR"),
        ("date lateness interval 01 day", "INTERVAL '1' DAY"),
        ("timestamp_ntz LATENESS INTERVAL '90 seconds'", "INTERVAL '90' SECOND"),
        ("bigint LATENESS 100", "100"),
        ("decimal(5,2) LATENESS 1.50", "1.5"),
        ("bigint LATENESS 0", "0"),
    ],
)
def test_lateness_is_canonical(text: str, canonical: str) -> None:
    assert _column(text).lateness == canonical


def test_clauses_and_constraints_stand_in_any_order() -> None:
    column = _column(
        "timestamp COMMENT 'it''s' LATENESS INTERVAL 1 HOUR NOT NULL DEFAULT TIMESTAMP '2025-01-01' PRIMARY KEY"
    )
    assert (column.comment, column.nullable, column.default) == ("it's", False, "TIMESTAMP '2025-01-01'")


@pytest.mark.parametrize("claim", BAD)
def test_mistakes_are_placed(claim: str) -> None:
    code, marked = BAD[claim]
    text, (place,) = without_marks(marked)
    assert found(read_sql(text, "p.sql").diagnostics) == [(code, place)]


@pytest.mark.parametrize("claim", BAD)
def test_reading_goes_on_with_the_next_statement(claim: str) -> None:
    code, marked = BAD[claim]
    text, _ = without_marks(marked)
    if code == "S201" or not text.endswith(";"):
        return
    read = read_sql(text + "\nCREATE TABLE after_it (a int);", "p.sql")
    assert [one.code for one in read.diagnostics] == [code]
    assert read.tables[-1].name == "after_it"


def test_all_mistakes_of_a_file_are_found() -> None:
    text, places = without_marks(
        "CREATE TABLE t (a ¦strng, b ¦flot) WITH (¦'x' = 'y', 'materialized' = ¦'no');\n"
        "¦DROP TABLE t;\nCREATE VIEW v AS ¦UPDATE t SET a = 1;"
    )
    read = read_sql(text, "p.sql")
    assert found(read.diagnostics) == list(zip(["S208", "S208", "S204", "S205", "S202", "S213"], places, strict=True))
    assert [column.type for column in read.tables[0].columns] == ["UNKNOWN", "UNKNOWN"]


@pytest.mark.parametrize("claim", BAD)
def test_every_prefix_of_a_file_is_read_without_raising(claim: str) -> None:
    text, _ = without_marks(BAD[claim][1])
    for end in range(len(text)):
        read_sql(text[:end], "p.sql")


@pytest.mark.parametrize("character", ["\0", "\x08", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ud800"])
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (id INT); -- a ¦comment\nCREATE VIEW v AS SELECT 1 AS x FROM t",
        "CREATE TABLE t (id INT COMMENT 'a¦b');",
        "CREATE VIEW v AS\nSELECT 'a¦b' AS x",
        "CREATE VIEW v AS SELECT `a¦` FROM t",
        "CREATE TABLE t (id INT) WITH ('connectors' = '[¦]')",
        "¦",
    ],
)
def test_what_shows_nothing_is_refused(text: str, character: str) -> None:
    text, ((line, column),) = without_marks(text)
    lines = text.split("\n")
    lines[line - 1] = lines[line - 1][: column - 1] + character + lines[line - 1][column - 1 :]
    assert found(read_sql("\n".join(lines), "p.sql").diagnostics) == [("S280", (line, column))]


@pytest.mark.parametrize("character", ["\t", "\r\n", "\f", "\u00a0", "ä", "\u200f", "😀"])
def test_what_is_seen_or_means_nothing_is_read(character: str) -> None:
    assert read_sql(f"CREATE VIEW v AS SELECT 'a{character}b' AS x", "p.sql").diagnostics == ()
