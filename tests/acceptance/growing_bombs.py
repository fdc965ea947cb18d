"""Small files that are made to grow when they are read: by name, each a pipeline's files by their paths.

What grows: columns that `*` and joins bring, suggestions for what is unknown, texts that are put in many times, problems.
"""

from collections.abc import Callable
from typing import Final

HEAD: Final = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
TABLE: Final = "CREATE TABLE t (a INT, b INT, s STRING);\n"


def wide(count: int, prefix: str = "c", kind: str = "INT") -> str:
    """A table of so many columns."""
    return f"CREATE TABLE t ({', '.join(f'{prefix}{number} {kind}' for number in range(count))});\n"


def _lines(line: str, count: int, first: int = 0) -> str:
    return "".join(line.format(number, number - 1) + "\n" for number in range(first, count))


def _list(item: str, count: int, first: int = 0) -> str:
    return ", ".join(item.format(number, number - 1) for number in range(first, count))


def _doubled(links: int) -> str:
    """Queries of which each has twice the columns of the one before."""
    chain = _list("c{0} AS (SELECT x.*, y.* FROM c{1} x, c{1} y)", links, 1)
    return f"{TABLE}CREATE VIEW v AS WITH c0 AS (SELECT a FROM t), {chain} SELECT 1 AS one FROM c{links - 1};"


def _joined(columns: int, joins: int, join: str) -> str:
    return f"{wide(columns)}CREATE VIEW v AS SELECT * FROM t {' '.join(join.format(number) for number in range(joins))};"


def _pivot(aggregates: int, values: int) -> str:
    return f"t PIVOT ({_list('max(b) AS m{0}', aggregates)} FOR a IN ({_list('{0}', values)}))"


def _using(keys: int) -> str:
    return f"JOIN t AS t{{0}} USING ({_list('c{0}', keys)})"


def _of_those_before(back: int, views: int) -> str:
    """Views of which each adds up what the ones before it give, as far back as that."""
    lines: list[str] = []
    for number in range(views):
        before = [f"v{one}" for one in range(max(0, number - back), number)] or ["t"]
        total = "+".join(f"{name}.a" for name in before)
        lines.append(f"CREATE VIEW v{number} AS SELECT {total} AS a FROM {', '.join(before)};\n")
    return TABLE + "".join(lines)


def _programs() -> dict[str, Callable[[], str]]:
    struct = f"STRUCT<{_list('field_{0}: INT', 30_000)}>"
    return {
        "columns doubled 22 times": lambda: _doubled(22),
        "columns doubled 40 times": lambda: _doubled(40),
        "views of the 390 before": lambda: _of_those_before(390, 403),
        "views of the 390 before, as many as are taken": lambda: _of_those_before(390, 220),
        "views of the 60 before": lambda: _of_those_before(60, 1_200),
        "views of the 5 before": lambda: _of_those_before(5, 8_800),
        "views of the 5 before, as many as are taken": lambda: _of_those_before(5, 3_100),
        "views of the 2 before, as many as are taken": lambda: _of_those_before(2, 4_950),
        "views of the 2 before, as many as are declared": lambda: _of_those_before(2, 9_990),
        "views that join the one before with itself": lambda: (
            f"{TABLE}CREATE VIEW v0 AS SELECT a FROM t;\n"
            + _lines("CREATE VIEW v{0} AS SELECT x.a FROM v{1} x JOIN v{1} y ON x.a = y.a;", 9_000, 1)
        ),
        "stars": lambda: f"{wide(300)}CREATE VIEW v AS SELECT {_list('*', 9_000)} FROM t;",
        "more stars": lambda: f"{wide(8_000)}CREATE VIEW v AS SELECT {_list('*', 15_000)} FROM t;",
        "stars in subqueries": lambda: (
            wide(8_000) + _lines(f"CREATE VIEW v{{0}} AS SELECT count(*) AS n FROM (SELECT {_list('*', 900)} FROM t);", 50)
        ),
        "columns of queries within queries": lambda: (
            wide(8_000) + _lines(f"CREATE VIEW v{{0}} AS SELECT c{{0}} FROM {'(SELECT * FROM ' * 300}t{')' * 300};", 150)
        ),
        "natural joins": lambda: _joined(2_000, 100, "NATURAL JOIN t AS t{0}"),
        "many natural joins of few columns": lambda: _joined(20, 390, "NATURAL JOIN t AS t{0}"),
        "joins by many columns": lambda: _joined(3_000, 180, _using(60)),
        "joins by all columns": lambda: _joined(90, 180, _using(90)),
        "joins of wide tables": lambda: _joined(200, 390, "JOIN t AS t{0} ON t.c0 = t{0}.c0"),
        "views of a wide table": lambda: wide(3_000) + _lines("CREATE VIEW v{0} AS SELECT * FROM t;", 500),
        "many views of a table": lambda: wide(900) + _lines("CREATE VIEW v{0} AS SELECT * FROM t;", 20_000),
        "views of a few columns of a wide table": lambda: (
            wide(3_000) + _lines("CREATE VIEW v{0} AS SELECT c1 FROM t;", 20_000)
        ),
        "wide views that read each other": lambda: (
            wide(1_000)
            + "CREATE VIEW v0 AS SELECT * FROM t;\n"
            + _lines("CREATE VIEW v{0} AS SELECT * FROM v{1};", 3_000, 1)
        ),
        "views that read each other": lambda: (
            TABLE
            + "CREATE VIEW v0 AS SELECT a, b, s FROM t;\n"
            + _lines("CREATE VIEW v{0} AS SELECT a, b, s FROM v{1};", 18_000, 1)
        ),
        "views of a column of a long type": lambda: (
            wide(1, kind=struct) + _lines("CREATE VIEW v{0} AS SELECT * FROM t;", 10_000)
        ),
        "functions that call one of chance, each the one before": lambda: (
            TABLE
            + "CREATE FUNCTION f0(x INT) RETURNS DOUBLE AS rand();\n"
            + _lines("CREATE FUNCTION f{0}(x INT) RETURNS DOUBLE AS f{1}(x);", 4_990, 1)
        ),
        "functions": lambda: _lines("CREATE FUNCTION f{0}(x INT) RETURNS INT AS x;", 21_000),
        "functions that view after view calls": lambda: (
            TABLE
            + _lines("CREATE FUNCTION f{0}(x INT) RETURNS INT AS x;", 3_000)
            + _lines("CREATE VIEW v{0} AS SELECT f{0}(a) AS z FROM t;", 3_000)
        ),
        "columns made of many columns": lambda: (
            f"{wide(3_000)}CREATE VIEW v AS SELECT {_list('g + {0} AS g{0}', 5_000)} FROM "
            f"(SELECT {' + '.join(f'c{number}' for number in range(3_000))} AS g FROM t);"
        ),
        "many columns of many relations": lambda: (
            f"{TABLE}CREATE TABLE u (z INT);\n"
            f"CREATE VIEW v AS SELECT {_list('z AS z{0}', 4_000)} FROM u, {_list('t AS t{0}', 4_000)};"
        ),
        "many aggregates": lambda: f"{TABLE}CREATE VIEW v AS SELECT {_list('sum(a) AS s{0}', 5_500)} FROM t GROUP BY b;",
        "names of a view's columns": lambda: f"{TABLE}CREATE VIEW v ({_list('c{0}', 120_000)}) AS SELECT a FROM t;",
        "columns of a pivot": lambda: f"{TABLE}CREATE VIEW v AS SELECT * FROM {_pivot(900, 3_000)};",
        "columns of a pivot by two columns": lambda: (
            f"{TABLE}CREATE VIEW v AS SELECT * FROM t PIVOT "
            f"(max(s) FOR a IN ({_list('{0}', 1_500)}) FOR b IN ({_list('{0}', 1_500)}));"
        ),
        "columns of pivots of a query": lambda: (
            f"{TABLE}CREATE VIEW v AS SELECT 1 AS one FROM {', '.join(_pivot(60, 60) + f' AS p{one}' for one in range(40))};"
        ),
        "columns of pivots of many views": lambda: (
            TABLE + "".join(f"CREATE VIEW v{one} AS SELECT 1 AS one FROM {_pivot(99, 100)};\n" for one in range(210))
        ),
        "calls in calls of what may be a type": lambda: (
            f"{TABLE}CREATE VIEW v AS SELECT {'struct(' * 200}a{')' * 200} AS s FROM t;\n"
            f"CREATE VIEW w AS SELECT {'date(string(' * 90}a{'))' * 90} AS d FROM t;"
        ),
        "calls in calls, as deep as they are taken, many times": lambda: (
            TABLE + "CREATE VIEW v AS SELECT " + _list("date(timestamp(string(a))) AS x{0}", 1_200) + " FROM t;"
        ),
        "relations": lambda: _lines("CREATE TABLE t{0} (a INT);", 32_000),
        "relations of one name": lambda: "CREATE TABLE t (a INT);\n" * 35_000,
        "views in a circle": lambda: _lines("CREATE VIEW v{0} AS SELECT a FROM v{1};", 20_000, 1),
        "misspelt columns": lambda: (
            wide(3_000, "some_column_") + f"CREATE VIEW v AS SELECT {_list('smoe_colunm_{0}', 1_500)} FROM t;"
        ),
        "more misspelt columns": lambda: (
            wide(6_000, "some_column_") + f"CREATE VIEW v AS SELECT {_list('smoe_colunm_{0}', 19_000)} FROM t;"
        ),
        "misspelt columns of a relation": lambda: (
            wide(3_000, "some_column_") + f"CREATE VIEW v AS SELECT {_list('t.smoe_colunm_{0}', 9_000)} FROM t;"
        ),
        "misspelt columns of many views": lambda: (
            wide(8_000, "some_column_") + _lines("CREATE VIEW v{0} AS SELECT smoe_colunm_{0} FROM t;", 8_000)
        ),
        "misspelt columns of many views of a narrow table": lambda: (
            wide(40, "some_column_") + _lines("CREATE VIEW v{0} AS SELECT smoe_colunm_{0} FROM t;", 9_000)
        ),
        "misspelt tables": lambda: (
            _lines("CREATE TABLE known_table_{0} (a INT);", 4_000)
            + _lines("CREATE VIEW v{0} AS SELECT a FROM knwon_tabel_{0};", 5_000)
        ),
        "more misspelt tables": lambda: (
            _lines("CREATE TABLE known_table_{0} (a INT);", 8_000)
            + _lines("CREATE VIEW v{0} AS SELECT a FROM knwon_tabel_{0};", 8_000)
        ),
        "misspelt functions of the pipeline": lambda: (
            TABLE
            + _lines("CREATE FUNCTION known_fun_{0}(x INT) RETURNS INT AS x;", 3_000)
            + _lines("CREATE VIEW v{0} AS SELECT knwon_fnu_{0}(a) AS z FROM t;", 6_000)
        ),
        "misspelt functions": lambda: TABLE + _lines("CREATE VIEW v{0} AS SELECT knwon_fnu_{0}(a) AS z FROM t;", 9_000),
        "misspelt columns of keys": lambda: _lines(
            "CREATE TABLE t{0} (some_column_1 INT, some_column_2 INT, PRIMARY KEY (smoe_colunm_{0}));", 9_000
        ),
        "misspelt types": lambda: f"CREATE TABLE t ({_list('c{0} INTEEGR', 60_000)});",
        "misspelt words": lambda: _lines("CRAETE TABLE t{0} (a INT);", 30_000),
        "problems": lambda: "x;" * 400_000,
        "problems of columns": lambda: f"CREATE TABLE t ({'a NOPE, ' * 100_000}b INT);",
        "problems of queries": lambda: TABLE + f"CREATE VIEW v AS SELECT {_list('sum(a, b)', 4_000)} FROM t;\n" * 25,
    }


def _documents() -> dict[str, Callable[[], dict[str, str]]]:
    def tables(line: str, count: int) -> str:
        return HEAD + "spec:\n  tables:\n" + _lines(line, count)

    def connectors(line: str, count: int) -> str:
        return HEAD + "spec:\n  connectors:\n" + _lines(line, count)

    def moves(line: str, count: int) -> str:
        return HEAD + "spec:\n  moved:\n" + _lines(line, count)

    def with_inputs(columns: int, count: int) -> str:
        one = '{{"name": "file{0}", "transport": {{"name": "file_input", "config": {{"path": "x"}}}}, '
        one += '"format": {{"name": "csv"}}}}'
        return wide(columns).removesuffix(";\n") + f" WITH ('connectors' = '[{_list(one, count)}]');\n"

    known = _lines("CREATE TABLE known_table_{0} (a INT);", 8_000)
    file = "transport: {{name: file_input, config: {{path: '{path}'}}}}, format: {{name: csv}}}}"
    several = "    - {{name: c{0}, table: t, " + file.replace("{path}", "${{var:x}}" * 60)
    misspelt = "    - {{name: c{0}, table: t, " + file.replace("{path}", "${{var:knwon_vraiable_{0}}}")
    variables = ", ".join(f"known_variable_{number}: x" for number in range(8_000))
    return {
        "misspelt tables": lambda: {
            "pipeline.yaml": tables("    knwon_tabel_{0}: {{protect: true}}", 8_000),
            "program.sql": known,
        },
        "misspelt tables of connectors": lambda: {
            "pipeline.yaml": connectors("    - {{name: c{0}, table: knwon_tabel_{0}, x: 1}}", 4_500),
            "program.sql": known,
        },
        "misspelt keys": lambda: {"pipeline.yaml": HEAD + "spec:\n" + _lines("  bootstrap_polcy{0}: x", 9_000)},
        "misspelt functions": lambda: {
            "pipeline.yaml": HEAD + "spec:\n  functions:\n" + _lines("    knwon_fnu_{0}: {{deterministic: true}}", 6_000),
            "program.sql": TABLE + _lines("CREATE FUNCTION known_fun_{0}(x INT) RETURNS INT AS x;", 8_000),
        },
        "misspelt moves": lambda: {
            "pipeline.yaml": moves("    - {{from: a{0}, to: knwon_tabel_{0}}}", 5_000),
            "program.sql": known,
        },
        "moves in a chain": lambda: {"pipeline.yaml": moves("    - {{from: t.n{0}, to: t.n{1}}}", 6_000)},
        "sources of columns that there are not": lambda: {
            "pipeline.yaml": moves("    - {{from: t.a{0}, to: t.knwon_{0}, source: x}}", 4_500),
            "program.sql": wide(20_000, "known_"),
        },
        "sources of columns of many inputs": lambda: {
            "pipeline.yaml": moves("    - {{from: t.a{0}, to: t.c{0}, source: x{0}}}", 4_500),
            "program.sql": with_inputs(20_000, 1_000),
        },
        "sources of columns of an input": lambda: {
            "pipeline.yaml": moves("    - {{from: t.a{0}, to: t.c{0}, source: x{0}}}", 4_500),
            "program.sql": with_inputs(20_000, 1),
        },
        "a source of a column of many inputs": lambda: {
            "pipeline.yaml": moves("    - {{from: t.a{0}, to: t.c{0}, source: x{0}}}", 1),
            "program.sql": with_inputs(20_000, 1_000),
        },
        "a variable put in many times": lambda: {
            "../../reconcile.yaml": f"environments: {{dev: {{warehouse: w, variables: {{x: '{'y' * 100_000}'}}}}}}\n",
            "pipeline.yaml": connectors(several, 1_000),
        },
        "misspelt variables": lambda: {
            "../../reconcile.yaml": f"environments: {{dev: {{warehouse: w, variables: {{{variables}}}}}}}\n",
            "pipeline.yaml": connectors(misspelt, 2_000),
        },
    }


def _functions() -> dict[str, Callable[[], dict[str, str]]]:
    def functions(count: int, module: str) -> dict[str, str]:
        modules = {f"udf/m{number}.py": f"import big\ndef f{number}(x):\n    return x\n" for number in range(count)}
        declared = _lines("CREATE FUNCTION f{0}(x INT) RETURNS INT;", count)
        return {"program.sql": TABLE + declared, "udf/big.py": module, **modules}

    return {
        "one module of many functions": lambda: functions(150, "y = [\n" + "1,\n" * 100_000 + "]\n"),
        "one module of as many functions as are taken": lambda: functions(80, "y = [\n" + "a,\n" * 100_000 + "]\n"),
        "one module of very many functions": lambda: functions(1_500, "y = [\n" + "a,\n" * 100_000 + "]\n"),
        "a small module of very many functions": lambda: functions(3_000, "y = 1\n" * 500),
        "many functions in one module": lambda: {
            "program.sql": TABLE + _lines("CREATE FUNCTION f{0}(x INT) RETURNS INT;", 5_000),
            "udf/all.py": _lines("def f{0}(x):\n    return x", 5_000),
        },
        "misspelt modules": lambda: {
            "program.sql": TABLE + _lines("CREATE FUNCTION f{0}(x INT) RETURNS INT;", 200),
            **{
                f"udf/known_module_{number}.py": f"import knwon_modlue_{number}\ndef f{number}(x): return x\n"
                for number in range(2_000)
            },
        },
        "misspelt definitions": lambda: {
            "program.sql": TABLE + _lines("CREATE FUNCTION knwon_fnu_{0}(x INT) RETURNS INT;", 5_000),
            "udf/all.py": _lines("def known_fun_{0}(x):\n    return x", 5_000),
        },
        "problems of a module": lambda: functions(150, "eval('1')\n" * 20_000),
    }


def growing_bombs() -> dict[str, Callable[[], dict[str, str]]]:
    """By name: what gives the files of the pipeline."""

    def program(text: Callable[[], str]) -> dict[str, str]:
        return {"pipeline.yaml": HEAD, "program.sql": text()}

    def whole(files: Callable[[], dict[str, str]]) -> dict[str, str]:
        return {"pipeline.yaml": HEAD, "program.sql": TABLE, **files()}

    return {
        **{f"program grows: {name}": lambda text=text: program(text) for name, text in _programs().items()},  # type: ignore[misc]
        **{f"yaml grows: {name}": lambda files=files: whole(files) for name, files in _documents().items()},  # type: ignore[misc]
        **{f"python grows: {name}": lambda files=files: whole(files) for name, files in _functions().items()},  # type: ignore[misc]
    }
