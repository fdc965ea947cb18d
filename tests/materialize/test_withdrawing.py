"""What a step that is withdrawn may have written."""

import time

from reconciler.materialize.withdrawing import transactions_of
from reconciler.registry.intents import Intent, RunStatement
from tests.diff.test_hidden_changes import snapshot
from tests.pace import at_usual_pace

_MANY = 2_000
_INTENT = Intent(3, RunStatement("DELETE FROM t", "t", ("t",)), "2026-01-01T00:00:00Z")


def test_it_may_have_written_what_reads_the_table_directly_or_through_views() -> None:
    program = snapshot(
        """CREATE TABLE t (a INT); CREATE TABLE u (a INT);
        CREATE VIEW plain AS SELECT a FROM T;
        CREATE MATERIALIZED VIEW below AS SELECT a FROM plain;
        CREATE MATERIALIZED VIEW far AS SELECT below.a FROM below JOIN u USING (a);
        CREATE MATERIALIZED VIEW other AS SELECT a FROM u;"""
    ).program
    assert list(transactions_of(program, _INTENT)) == ["below", "far", "t"]


def test_long_chains_take_no_square() -> None:
    links = "".join(f"CREATE MATERIALIZED VIEW v{n} AS SELECT a FROM v{n - 1};\n" for n in range(1, _MANY))
    sql = f"CREATE TABLE t (a INT);\nCREATE MATERIALIZED VIEW v0 AS SELECT a FROM t;\n{links}"
    program = snapshot(sql).program
    began = time.process_time()
    assert len(transactions_of(program, _INTENT)) == _MANY + 1
    assert at_usual_pace(time.process_time() - began) < 1
