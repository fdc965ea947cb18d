"""Programs of which one view, `o`, has an output, and each program with the letter case of one name turned.

`PROGRAMS` are texts in which Spark makes the names of `o`'s columns in many ways: of aliases, of words in other places, of
what is read. `turned` gives a program once for each of its words."""

import re
from collections.abc import Iterator
from typing import Final

from reconciler.base.declarations import ConnectorDeclaration, Manifest, Settings
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.sql.statements import read_sql

T: Final = "CREATE TABLE t (Id BIGINT, a INT, s STRING, arr ARRAY<INT>, day DATE); CREATE TABLE u (id BIGINT, B INT); "
QUERIES: Final = (
    "SELECT CAST(A AS STRING) FROM t",
    "SELECT A::STRING FROM t",
    "SELECT try_cast(A AS STRING) FROM t",
    "SELECT (A) FROM t",
    "SELECT arr[A] FROM t",
    "SELECT ARR[0] FROM t",
    "SELECT A, t.Id AS Z, s last FROM t",
    "SELECT Id, a FROM t GROUP BY ID, A",
    "SELECT DISTINCT A FROM t ORDER BY a",
    "SELECT Day, count(*) AS n FROM t GROUP BY ALL",
    "SELECT max(a) AS m, a FROM t GROUP BY 2 HAVING M > 1",
    "SELECT * FROM t",
    "SELECT T.*, B FROM t JOIN u ON t.ID = u.id",
    "SELECT * EXCEPT (ARR, Day) FROM t",
    "SELECT * FROM (SELECT Id, a FROM t) JOIN (SELECT id, B FROM u) USING (ID)",
    "SELECT * FROM (SELECT Id, a FROM t) FULL JOIN (SELECT id, B FROM u) USING (ID)",
    "SELECT * FROM (SELECT Id, a FROM t) RIGHT JOIN u USING (iD)",
    "SELECT ID, B FROM t JOIN u USING (id)",
    "SELECT t.ID, u.B FROM t LEFT JOIN u USING (Id)",
    "SELECT * FROM (SELECT Id, a FROM t) NATURAL JOIN u",
    "SELECT * FROM (SELECT id, 'x' AS s FROM t) PIVOT (max(id) AS Last, min(id) AS First FOR s IN ('x'))",
    "SELECT * FROM (SELECT Id, a, s FROM t) PIVOT (max(a) FOR s IN ('x' AS Ex, 'y'))",
    "FROM t |> SELECT A",
    "FROM t |> SELECT id |> SET ID = 1",
    "FROM t |> SELECT id |> EXTEND 1 AS Z",
    "FROM t |> AGGREGATE max(a) AS M GROUP BY ID",
    "FROM t |> SELECT Id, a |> WHERE A > 1 |> DROP A",
    "FROM t |> SELECT Id, a |> AS q |> SELECT q.A",
    "SELECT posexplode(arr) AS (P, Z) FROM t",
    "SELECT explode(arr) Item FROM t",
    "SELECT explode(arr) FROM t",
    "SELECT stack(2, A, 1) FROM t",
    "SELECT x.* FROM (SELECT CAST(ID AS INT) FROM t) x",
    "SELECT x.ID FROM (SELECT CAST(Id AS INT) FROM t) X",
    "SELECT * FROM (SELECT id, a FROM t) AS q(A, B)",
    "SELECT q.* FROM (SELECT Id AS One, A FROM t) AS Q",
    "SELECT * FROM t AS q(V, W, X, Y, Z)",
    "WITH c(A, B) AS (SELECT id, a FROM t) SELECT * FROM c",
    "WITH c AS (SELECT Id, A FROM t) SELECT * FROM C",
    "WITH c AS (SELECT Id, A FROM t) SELECT c.ID, C.a FROM c",
    "SELECT * FROM VALUES (1, 2) AS v(A, B)",
    "SELECT * FROM VALUES (1, 2)",
    "VALUES (1, 2)",
    "SELECT Id, p FROM t LATERAL VIEW explode(arr) X AS P",
    "SELECT * FROM (SELECT Id, arr FROM t) LATERAL VIEW posexplode(arr) X AS P, Q",
    "SELECT * FROM (SELECT id FROM t), LATERAL (SELECT ID AS Other)",
    "TABLE t",
    "TABLE u",
    "FROM u SELECT B",
    "SELECT Id FROM t UNION SELECT B FROM u",
    "(SELECT ID FROM t) UNION ALL (SELECT B AS Z FROM u)",
    "SELECT id, A FROM t EXCEPT SELECT Id, a FROM t",
    "SELECT id AS Total, (SELECT max(B) FROM u) AS Most FROM t",
    "SELECT * FROM range(3) AS r(Id)",
    "SELECT Id FROM range(3)",
    "SELECT 1 AS Z, Z + 1 AS Y",
    "SELECT 1 AS Z, z",
    "SELECT CASE WHEN A > 1 THEN 2 END AS C, `Id` FROM t",
    "SELECT `A`, t.`s` FROM `t`",
    "SELECT named_struct('Key', A) AS k FROM t",
    "SELECT n.KEY FROM (SELECT named_struct('Key', A) AS n FROM t)",
    "SELECT sum(a) OVER W AS S FROM t WINDOW W AS (PARTITION BY ID)",
    "SELECT e FROM (SELECT Id, EXPLODE(arr) AS E FROM t)",
    "SELECT * FROM (SELECT Id, a FROM t) TABLESAMPLE (50 PERCENT) AS Q",
)
PROGRAMS: Final = (
    *(f"{T}CREATE VIEW o AS {query};" for query in QUERIES),
    *(f"{T}CREATE {kind} VIEW b AS {query}; CREATE VIEW o AS SELECT * FROM b;"
      for kind in ("LOCAL", "MATERIALIZED")
      for query in ("SELECT CAST(A AS STRING) FROM t", "SELECT A FROM t", "FROM t |> SELECT id |> SET ID = 1")),
    f"{T}CREATE LOCAL VIEW b AS SELECT arr[A] FROM t; CREATE LOCAL VIEW c AS SELECT * FROM b; CREATE VIEW o AS TABLE c;",
    f"{T}CREATE VIEW b (One, Two) AS SELECT CAST(A AS INT), id FROM t; CREATE VIEW o AS SELECT b.* FROM b;",
    f"{T}CREATE VIEW o (One) AS SELECT CAST(A AS INT) FROM t;",
    f"{T}CREATE VIEW b AS SELECT Id, a FROM t; CREATE VIEW o AS SELECT * FROM b JOIN u USING (ID);",
    f"{T}CREATE VIEW b AS SELECT try_cast(A AS INT) FROM t; CREATE VIEW o AS SELECT a AS Z FROM b;",
    f"{T}CREATE VIEW b AS SELECT a FROM t; CREATE VIEW o AS SELECT CAST(a AS INT) FROM b;",
)  # fmt: skip

_WORD: Final = re.compile(r"'[^']*'|[A-Za-z_]+")
_OF_STATEMENT_LIST: Final = "create table local materialized view as bigint int string array date"
_OF_STATEMENTS: Final = frozenset(_OF_STATEMENT_LIST.split())


def turned(program: str) -> Iterator[str]:
    """The program with one word in the other letter case, for each word that is no keyword of a statement, but for names of
    tables and views where they are declared."""
    for found in _WORD.finditer(program):
        word = found.group()
        declared = re.search(r"(TABLE|VIEW) $", program[: found.start()]) and "(" in program[found.end() :][:2]
        if word[0] == "'" or word.lower() in _OF_STATEMENTS or declared:
            continue
        other = word.upper() if word != word.upper() else word.lower()
        yield program[: found.start()] + other + program[found.end() :]


def snapshot(program: str, output: bool = True) -> Snapshot:
    """The program, compiled as it is read from the registry: whatever is wrong with it."""
    read = read_sql(program, "p.sql")
    settings = {"transport": {"name": "file_output", "config": {"path": "out"}}, "format": {"name": "json"}}
    connectors = (ConnectorDeclaration("o", "out", 0, settings),) if output else ()
    return take_snapshot(compile_program(Manifest(Settings("shop"), read.tables, read.views, connectors)).program)
