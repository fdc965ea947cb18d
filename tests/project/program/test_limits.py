"""What queries bring along is counted, and stops with a message: for files, by the same count everywhere."""

import json
import time
from dataclasses import replace

import pytest

from reconciler.base.cache import Cache, NoCache
from reconciler.base.declarations import Manifest
from reconciler.base.diagnostics import Diagnostic
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import Compiled, compile_program
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.sql.statements import read_sql
from tests.pace import at_usual_pace

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"


class Kept(NoCache):
    """A cache in memory."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def recall(self, key: str) -> str | None:
        return self.known.get(key)

    def remember(self, key: str, value: str) -> None:
        self.known[key] = value


def manifest(sql: str, **files: str) -> Manifest:
    texts = {"pipelines/shop/pipeline.yaml": YAML, "pipelines/shop/p.sql": sql}
    read = read_manifest(
        "pipelines/shop", {**texts, **{f"pipelines/shop/{name}.sql": text for name, text in files.items()}}, {}
    )
    assert read.manifest is not None
    return read.manifest


def compiled(sql: str, cache: Cache | None = None, **files: str) -> Compiled:
    return compile_program(manifest(sql, **files), cache=cache)


def told(found: Compiled) -> list[tuple[str, str]]:
    return [(one.code, str(one.location)) for one in found.diagnostics]


def wide(count: int) -> str:
    return f"CREATE TABLE t ({', '.join(f'c{number} INT' for number in range(count))});\n"


def doubled(links: int) -> str:
    chain = ", ".join(f"c{link} AS (SELECT x.*, y.* FROM c{link - 1} x, c{link - 1} y)" for link in range(1, links))
    return (
        f"CREATE TABLE t (a INT);\nCREATE VIEW v AS WITH c0 AS (SELECT a FROM t), {chain} SELECT 1 AS one FROM c{links - 1};"
    )


def test_columns_that_double_stop_with_a_message() -> None:
    (problem,) = compiled(doubled(40)).diagnostics
    assert problem.code == "S292"
    assert problem.location is not None
    assert problem.location.line == 2
    assert "more than 100,000 columns to check" in problem.message
    assert problem.hint is not None
    assert compiled(doubled(12)).diagnostics == ()


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {', '.join(['*'] * 60)} FROM t",
        f"SELECT {', '.join(['t.*'] * 60)} FROM t",
        f"SELECT * FROM t {' '.join(f'NATURAL JOIN t AS t{number}' for number in range(60))}",
        f"SELECT * FROM t {' '.join(f'JOIN t AS t{number} USING (c0)' for number in range(60))}",
        f"SELECT 1 AS one FROM {'(SELECT * FROM ' * 60}t{')' * 60}",
        " UNION ALL ".join(["SELECT * FROM t"] * 60),
        f"SELECT 1 AS one WHERE {' AND '.join(['EXISTS (SELECT * FROM t)'] * 60)}",
        f"WITH x AS (SELECT * FROM t) SELECT 1 AS one FROM {', '.join(f'x AS x{number}' for number in range(60))}",
    ],
)
def test_whatever_brings_columns_is_counted(query: str) -> None:
    found = compiled(f"{wide(2_000)}CREATE VIEW v AS {query};")
    assert [one.code for one in found.diagnostics] == ["S292"]


def test_a_view_of_more_columns_than_are_taken_is_told() -> None:
    assert told(compiled(f"{wide(10_001)}CREATE VIEW v AS SELECT * FROM t;")) == [("S294", "pipelines/shop/p.sql:2:18")]
    assert told(compiled(f"{wide(10_000)}CREATE VIEW v AS SELECT * FROM t;")) == []


def test_a_query_of_more_relations_than_are_taken_is_told() -> None:
    relations = ", ".join(f"t AS t{number}" for number in range(402))
    assert [one.code for one in compiled(f"{wide(1)}CREATE VIEW v AS SELECT 1 AS x FROM {relations};").diagnostics] == [
        "S290"
    ]


@pytest.mark.parametrize(("views", "columns"), [(1_000, 100), (2_000, 50)])
def test_a_large_pipeline_passes(views: int, columns: int) -> None:
    sql = wide(columns) + "".join(f"CREATE VIEW v{number} AS SELECT * FROM t;\n" for number in range(views))
    assert compiled(sql).diagnostics == ()


def test_the_columns_of_a_pipeline_are_counted_together() -> None:
    views = "".join(f"CREATE VIEW v{number:03} AS SELECT * FROM t;\n" for number in range(200))
    cache = Kept()
    found = compiled(wide(3_000) + views, cache)
    assert [one.code for one in found.diagnostics] == ["P360"]
    assert found.diagnostics[0].hint is not None
    # Whatever is known already: the same view.
    assert compiled(wide(3_000) + views, cache).diagnostics == found.diagnostics


def test_a_pipeline_of_more_declarations_than_are_taken_is_told_once() -> None:
    tables = "".join(f"CREATE TABLE t{number} (a INT);\n" for number in range(10_001))
    found = compiled(tables, z="CREATE VIEW z AS SELECT a FROM t10000;")
    assert told(found) == [("P361", "pipelines/shop/p.sql:10001:1")]
    assert "10,002" in found.diagnostics[0].message


def test_a_pipeline_of_more_functions_than_are_taken_is_told_once() -> None:
    functions = "".join(f"CREATE FUNCTION f{number}(x INT) RETURNS INT AS x;\n" for number in range(5_001))
    found = compiled(functions + "CREATE TABLE t (a INT);\nCREATE VIEW v AS SELECT f1(a) AS x FROM t;")
    assert told(found) == [("P361", "pipelines/shop/p.sql:5001:1")]
    assert "5,001 functions" in found.diagnostics[0].message


def test_what_was_applied_above_a_limit_stays_readable() -> None:
    sql = doubled(16) + "CREATE VIEW w AS SELECT one FROM v;"
    cache = Kept()
    stored = encode_program(compile_program(manifest(sql), limited=False).program)
    program = decode_program(stored, cache)
    assert program.views["v"].column_names == ("one",)
    assert program.views["v"].lineage is not None
    # What was remembered of it is no way round the limit.
    assert [one.code for one in compiled(sql, cache).diagnostics] == ["S292"]


def test_a_query_of_which_nothing_is_right_is_told_by_its_first_problems() -> None:
    columns = ", ".join(f"d{number}" for number in range(2_000))
    found = compiled(f"{wide(10)}CREATE VIEW v AS SELECT {columns} FROM t;").diagnostics
    assert [one.code for one in found].count("S221") == 500
    assert found[-1].code == "S293"


def _hints(found: tuple[Diagnostic, ...]) -> list[str]:
    return [one.hint for one in found if one.hint is not None and one.hint.startswith("did you mean")]


def test_suggestions_end_after_some_and_are_the_same_each_time() -> None:
    views = "".join(f"CREATE VIEW v{number} AS SELECT total{number} FROM t;\n" for number in range(900))
    sql = "CREATE TABLE t (total INT, note STRING);\n" + views
    began = time.process_time()
    found = compiled(sql).diagnostics
    assert at_usual_pace(time.process_time() - began) < 5
    assert len(found) == 900
    assert 400 < len(_hints(found)) < 600
    assert compiled(sql).diagnostics == found


def test_inputs_that_wait_for_many_that_never_end_are_told_once_each() -> None:
    follow = {"name": "delta_table_input", "config": {"uri": "/lake", "mode": "follow"}}
    endless = [{"name": f"a{index}", "labels": ["x"], "transport": follow} for index in range(40)]
    waiting = [{"name": f"b{index}", "start_after": "x", "transport": follow} for index in range(30)]
    found = compiled(f"CREATE TABLE t (a INT) WITH ('connectors' = '{json.dumps([*endless, *waiting])}');")
    messages = [one.message for one in found.diagnostics if one.code == "P345"]
    assert len(messages) == 30
    assert messages[0] == "t.b0 starts after 'x', and t.a0 and 39 more with that label never end: it would wait forever"


def _seconds(start_after: str | None) -> float:
    """How long it takes to compile 1,200 inputs with a label and as many that start after it, if they do."""
    files = {"name": "file_input", "config": {"path": "in"}}
    first = [{"name": f"a{index}", "labels": ["x"], "transport": files} for index in range(1200)]
    waits = {"start_after": start_after} if start_after is not None else {}
    then = [{"name": f"b{index}", "transport": files, **waits} for index in range(1200)]
    sql = f"CREATE TABLE t (a INT) WITH ('connectors' = '{json.dumps([*first, *then])}');"
    before = time.process_time()
    compiled(sql)
    return time.process_time() - before


def test_that_many_inputs_wait_for_many_costs_next_to_nothing() -> None:
    assert min(_seconds("x") for _ in range(3)) < 2 * min(_seconds(None) for _ in range(3))


def _comparing(words: int) -> str:
    """A query of so many words and signs, an even number."""
    return f"SELECT a FROM t WHERE a IN ({', '.join(['1'] * ((words - 8) // 2))})"


def test_the_queries_of_a_file_have_so_many_words_in_all() -> None:
    def files(*sizes: int) -> dict[str, str]:
        views = "".join(f"CREATE VIEW v{number} AS {_comparing(size)};\n" for number, size in enumerate(sizes))
        texts = {"pipeline": YAML, "p": f"CREATE TABLE t (a INT);\n{views}", "other": "CREATE VIEW w AS SELECT a FROM v0;"}
        return {f"pipelines/shop/{name}.{'yaml' if text is YAML else 'sql'}": text for name, text in texts.items()}

    full = (*[30_000 - 16] * 4, 10_000 - 16, 10_000 - 16, 10_000 - 16)
    assert read_manifest("pipelines/shop", files(*full), {}).diagnostics == ()
    found = read_manifest("pipelines/shop", files(*full, 10, 10), {})
    assert [(one.code, str(one.location)) for one in found.diagnostics] == [("S296", "pipelines/shop/p.sql:9:19")]
    # Nothing is said of names that the file declares, since it was not read.
    assert found.manifest is not None
    assert compile_program(found.manifest, complete=found.complete).diagnostics == ()


def test_functions_count_too() -> None:
    body = " + ".join(["x"] * 2_000)
    sql = "".join(f"CREATE FUNCTION f{number}(x INT) RETURNS INT AS {body};\n" for number in range(50))
    found = read_sql(sql, "p.sql")
    assert [(one.code, str(one.location)) for one in found.diagnostics] == [("S296", "p.sql:38:43")]


def test_what_the_registry_holds_has_as_many_words_as_it_has() -> None:
    one = manifest(f"CREATE TABLE t (a INT); CREATE VIEW v AS {_comparing(38_000)};")
    many = replace(one, views=tuple(replace(one.views[0], name=f"v{number}") for number in range(4)))
    assert compile_program(many, limited=False).diagnostics == ()
