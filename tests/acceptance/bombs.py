"""Files of a megabyte that are made to keep a plan busy: by front end and name, each a pipeline's files by their paths."""

from collections.abc import Callable, Mapping
from typing import Final

SIZE: Final = 1_000_000
_HEAD: Final = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
_TABLE: Final = "CREATE TABLE t (a INT, b INT, s STRING, m MAP<STRING, INT>);\n"


def _many(piece: str, between: str, size: int = SIZE) -> str:
    """So many copies of a piece, numbered where it says `{0}`, that they have about that many characters."""
    count = max(1, size // (len(piece.format(size)) + len(between)))
    return between.join(piece.format(number) for number in range(count))


def _around(opening: str, inner: str, closing: str, size: int = SIZE) -> str:
    depth = size // (len(opening) + len(closing))
    return opening * depth + inner + closing * depth


def _view(query: str) -> str:
    return f"{_TABLE}CREATE VIEW v AS {query};"


def _chain(first: str, other: str, size: int) -> str:
    count = size // len(other.format(SIZE, SIZE))
    return first + "".join(other.format(number, number - 1) for number in range(1, count))


def _queries() -> Mapping[str, Callable[[], str]]:
    """Texts of queries; those of a megabyte, and those that are as large as is taken."""
    within = 75_000
    return {
        "names in a list beside the clock": lambda: (
            f"SELECT a FROM t WHERE now() > DATE '2020-01-01' AND a IN ({_many('b', ', ')})"
        ),
        "as many names as are taken": lambda: (
            f"SELECT a FROM t WHERE now() > DATE '2020-01-01' AND a IN ({_many('b', ', ', within)})"
        ),
        "numbers in a list": lambda: f"SELECT a FROM t WHERE a IN ({_many('{0}', ', ')})",
        "conditions after BETWEEN": lambda: f"SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND {_many('a > {0}', ' AND ')}",
        "as many conditions as are taken": lambda: (
            f"SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND {_many('a > {0}', ' AND ', within)}"
        ),
        "alternatives": lambda: f"SELECT a FROM t WHERE {_many('(a = {0} AND b = {0})', ' OR ', within)}",
        "sums": lambda: f"SELECT {_many('a', ' + ', within)} AS x FROM t",
        "signs": lambda: f"SELECT {'- ' * (within // 4)}a AS x FROM t",
        "negations": lambda: f"SELECT a FROM t WHERE {'NOT ' * (within // 4)}a = 1",
        "parentheses": lambda: f"SELECT {_around('(', 'a', ')')} AS x FROM t",
        "as many parentheses as are taken": lambda: f"SELECT {_around('(', 'a', ')', 35_000)} AS x FROM t",
        "calls within calls": lambda: f"SELECT {_around('abs(', 'a', ')', 60_000)} AS x FROM t",
        "CASE within CASE": lambda: f"SELECT {_around('CASE WHEN a = 1 THEN 1 ELSE ', '0', ' END', within)} AS x FROM t",
        "branches": lambda: f"SELECT CASE {_many('WHEN a = {0} THEN {0}', ' ', within)} END AS x FROM t",
        "columns": lambda: f"SELECT {_many('a AS c{0}', ', ', within)} FROM t",
        "columns made of the one before": lambda: f"SELECT a AS c0, {_many('c{0} + 1 AS d{0}', ', ', within)} FROM t",
        "joins": lambda: f"SELECT t.a FROM t {_many('JOIN t AS t{0} ON t.a = t{0}.a', ' ', 10_000)}",
        "joins by USING": lambda: f"SELECT a FROM t {'JOIN t USING (a) ' * 390}",
        "more joins than are taken": lambda: f"SELECT a FROM t {'JOIN t USING (a) ' * 5_000}",
        "relations": lambda: f"SELECT t.a FROM t, {_many('t AS t{0}', ', ', within)}",
        "set operations": lambda: _many("SELECT a FROM t", " UNION ALL ", within),
        "named queries": lambda: f"WITH {_many('c{0} AS (SELECT a FROM t)', ', ', within)} SELECT a FROM c0",
        "queries within queries": lambda: f"SELECT a FROM {_around('(SELECT a FROM ', 't', ')', within)}",
        "subqueries": lambda: (
            f"SELECT a FROM t WHERE {_many('EXISTS (SELECT 1 FROM t AS x WHERE x.a = t.b)', ' AND ', within)}"
        ),
        "fields": lambda: f"SELECT a{'.b' * 19_000} AS x FROM t",
        "paths": lambda: f"SELECT s{':a' * 19_000} AS x FROM t",
        "casts": lambda: f"SELECT a{'::INT' * 12_000} AS x FROM t",
        "windows": lambda: f"SELECT {_many('sum(a) OVER (PARTITION BY b ORDER BY a) AS w{0}', ', ', within)} FROM t",
        "groups": lambda: f"SELECT count(*) AS n FROM t GROUP BY GROUPING SETS ({_many('(a, b)', ', ', within)})",
        "rows": lambda: f"SELECT * FROM VALUES {_many('({0})', ', ', within)} AS x(a)",
        "generators": lambda: f"SELECT a FROM t {_many('LATERAL VIEW explode(array(1)) e{0} AS f{0}', ' ', within)}",
        "lambdas": lambda: f"SELECT {_around('transform(array(1), x -> ', 'x', ')', within)} AS y FROM t",
        "hints": lambda: f"SELECT /*+ {_many('BROADCAST(t{0})', ', ', within)} */ a FROM t",
        "columns left out": lambda: f"SELECT * EXCEPT ({_many('c{0}', ', ', within)}) FROM t",
        "one text": lambda: f"SELECT '{'x' * SIZE}' AS x FROM t",
        "one word": lambda: f"SELECT {'a' * SIZE} FROM t",
        "one number": lambda: f"SELECT {'1' * SIZE} AS x FROM t",
        "texts side by side": lambda: f"SELECT {chr(39)}a{chr(39)} {_many(repr('a'), ' ')} AS x FROM t",
        "quotes": lambda: f"SELECT '{chr(39) * SIZE}' AS x FROM t",
        "comments": lambda: f"SELECT {_many('/* */', ' ')} a FROM t",
        "comments within comments": lambda: f"SELECT {_around('/*', 'x', '*/')} a FROM t",
        "line comments": lambda: f"SELECT {'--' + chr(10)}{('--' + chr(10)) * (SIZE // 3)} a FROM t",
        "brackets": lambda: f"SELECT {'[' * SIZE}",
    }


def _programs() -> Mapping[str, Callable[[], str]]:
    return {
        "columns of a table": lambda: f"CREATE TABLE t ({_many('c{0} INT', ', ')});",
        "types within types": lambda: f"CREATE TABLE t (a {_around('ARRAY<', 'INT', '>')});",
        "structs within structs": lambda: f"CREATE TABLE t (a {_around('STRUCT<x: ', 'INT', '>')});",
        "semicolons": lambda: _TABLE + ";" * SIZE,
        "an open comment": lambda: _TABLE + "/*" * (SIZE // 2),
        "connectors that are no JSON": lambda: f"CREATE TABLE t (a INT) WITH ('connectors' = '{'[' * SIZE}');",
        "connectors": lambda: f"CREATE TABLE t (a INT) WITH ('connectors' = '[{_many('{{}}', ', ', 300_000)}]');",
        "a property": lambda: f"CREATE TABLE t (a INT) WITH ('materialized' = '{'x' * SIZE}');",
        "a function's body": lambda: f"CREATE FUNCTION f(x INT) RETURNS INT AS {_many('x', ' + ')};",
        "functions of many words": lambda: "".join(
            f"CREATE FUNCTION f{one}(x INT) RETURNS INT AS coalesce({_many('x + 1', ', ', 200)});\n" for one in range(4_700)
        ),
        "functions of many words, as many as are taken": lambda: "".join(
            f"CREATE FUNCTION f{one}(x INT) RETURNS INT AS coalesce({_many('x + 1', ', ', 200)});\n" for one in range(1_300)
        ),
        "no semicolons": lambda: _TABLE + _many("CREATE VIEW v{0} AS SELECT 1 AS a, 2 AS b, 2 AS b", "\n"),
        "no semicolons after functions": lambda: _TABLE + _many("CREATE FUNCTION f{0}(x INT) RETURNS INT AS x", "\n"),
        "no semicolons within parentheses": lambda: f"{_TABLE}CREATE VIEW v AS SELECT ({_many('CREATE VIEW v', ' ')}",
        "functions that call each other": lambda: _chain(
            "CREATE FUNCTION f0(x INT) RETURNS INT AS x;\n", "CREATE FUNCTION f{0}(x INT) RETURNS INT AS f{1}(x);\n", 100_000
        ),
        "a default": lambda: f"CREATE TABLE t (a STRING DEFAULT '{'x' * SIZE}');",
        "a key": lambda: f"CREATE TABLE t (a INT, PRIMARY KEY ({_many('a', ', ')}));",
    }


def _yaml() -> Mapping[str, Callable[[], str]]:
    return {
        "tags": lambda: f"{_HEAD[:-2]}, tags: [{_many('t{0}', ', ')}]}}\n",
        "lists within lists": lambda: f"{_HEAD[:-2]}, owner: {'[' * SIZE}\n",
        "a text": lambda: f"{_HEAD[:-2]}, description: {'x' * SIZE}}}\n",
        "escapes": lambda: f'{_HEAD[:-2]}, description: "{chr(92)}u0041{(chr(92) + "u0041") * (SIZE // 6)}"}}\n',
        "aliases": lambda: f"{_HEAD[:-2]}, x: &a [1], y: [{'*a, ' * (SIZE // 4)}]}}\n",
        "keys": lambda: f"{_HEAD[:-2]}, {_many('k{0}: 1', ', ')}}}\n",
        "settings": lambda: f"{_HEAD}spec: {{runtime: {{spark: {{{_many('spark.x{0}: 1', ', ')}}}}}}}\n",
        "moves": lambda: f"{_HEAD}spec: {{moved: [{_many('{{from: a{0}, to: b{0}}}', ', ', 300_000)}]}}\n",
        "one long line of masked text": lambda: f"{_HEAD}spec: {{bootstrap_policy: {'a' * SIZE}}}\n",
        "merge keys": lambda: f"{_HEAD}spec: {_around('{<<: ', '1', '}')}\n",
    }


def _python() -> Mapping[str, Callable[[], str]]:
    return {
        "one expression": lambda: f"def f(x):\n    return {_many('x', ' + ')}\n",
        "parentheses": lambda: f"def f(x):\n    return {_around('(', '1', ')')}\n",
        "imports": lambda: f"{_many('import json', chr(10))}\ndef f(x):\n    return x\n",
        "lines": lambda: f"{_many('x = 1', chr(10))}\ndef f(x):\n    return x\n",
        "one line": lambda: f"{_many('import json', '; ')}\ndef f(x):\n    return x\n",
        "blocks within blocks": lambda: "".join(f"{' ' * depth}if 1:\n" for depth in range(1_000)) + " " * 1_000 + "pass\n",
    }


def bombs() -> dict[str, Callable[[], dict[str, str]]]:
    """By name: what gives the files of the pipeline."""
    function = "CREATE FUNCTION f(x INT) RETURNS INT;\nCREATE VIEW v AS SELECT f(a) AS x FROM t;"

    def query(text: Callable[[], str]) -> dict[str, str]:
        return {"pipeline.yaml": _HEAD, "program.sql": _view(text())}

    def program(text: Callable[[], str]) -> dict[str, str]:
        return {"pipeline.yaml": _HEAD, "program.sql": text()}

    def manifest(text: Callable[[], str]) -> dict[str, str]:
        return {"pipeline.yaml": text(), "program.sql": _TABLE}

    def module(text: Callable[[], str]) -> dict[str, str]:
        return {"pipeline.yaml": _HEAD, "program.sql": _TABLE + function, "udf/f.py": text()}

    kinds = (
        ("query", _queries(), query),
        ("program", _programs(), program),
        ("yaml", _yaml(), manifest),
        ("python", _python(), module),
    )
    return {
        f"{kind}: {name}": lambda make=make, text=text: make(text)  # type: ignore[misc]
        for kind, texts, make in kinds
        for name, text in texts.items()
    }
