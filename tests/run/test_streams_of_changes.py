"""Streams over the changes of a table with a key: each step gives what differs from the step before, and what follows from
that for whoever aggregates it."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Engine
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project

PROGRAM = """\
CREATE TABLE orders (id INT PRIMARY KEY, customer STRING, amount INT, at TIMESTAMP);
CREATE MATERIALIZED VIEW spent AS
  SELECT customer, sum(amount) AS amount, count(*) AS orders FROM orders GROUP BY customer;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  streams:
    - name: changes
      assign_timestamps_and_watermarks: {input: orders, event_time: at, delay: 30d, read: changes}
    - name: running
      running_aggregate:
        input: changes
        keys: [customer]
        aggregates:
          amount_so_far: sum(CASE change WHEN 'insert' THEN amount ELSE -amount END)
          orders_so_far: sum(CASE change WHEN 'insert' THEN 1 ELSE -1 END)
        expiry: 365d
"""
AT = "TIMESTAMP '2026-01-01 10:00:00Z'"
Table = dict[int, tuple[str, int]]


def open_shop(root: Path, engine: Engine) -> Pipeline:
    return Project.open(root, engine=engine).pipeline("shop")


def write_shop(root: Path, yaml: str = YAML) -> None:
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(yaml)
    (folder / "program.sql").write_text(PROGRAM)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")


def put(rows: Table) -> str:
    """An insert replaces the row of its key."""
    values = ", ".join(f"({number}, '{customer}', {amount}, {AT})" for number, (customer, amount) in rows.items())
    return f"INSERT INTO orders VALUES {values}"


def changed(random: Random, table: Table) -> tuple[str, Table]:
    """A statement, and the table after it."""
    kind = random.choice(("insert", "update", "delete", "rewrite"))
    if kind == "insert" or not table:
        new = {max(table, default=0) + one: (random.choice("ab"), random.randint(1, 9)) for one in (1, 2, 3)}
        return put(new), {**table, **new}
    some = random.sample(sorted(table), k=min(len(table), 2))
    where = f"WHERE id IN ({', '.join(map(str, some))})"
    if kind == "update":
        after = {number: ("a", amount + 1) for number, (_, amount) in table.items() if number in some}
        return put(after), {**table, **after}
    if kind == "rewrite":
        return put({number: table[number] for number in some}), table
    return f"DELETE FROM orders {where}", {number: row for number, row in table.items() if number not in some}


def difference(before: Table, after: Table) -> Counter[tuple[Any, ...]]:
    had, has = (Counter((number, *row) for number, row in table.items()) for table in (before, after))
    found = Counter({(*row, "insert"): count for row, count in (has - had).items()})
    return found + Counter({(*row, "delete"): count for row, count in (had - has).items()})


def require_agreement(shop: Pipeline) -> None:
    """What the changes come to is what the table has."""
    total = "CASE change WHEN 'insert' THEN 1 ELSE -1 END"
    summed = f"SELECT customer, sum(amount * {total}) AS amount, sum({total}) AS orders FROM running GROUP BY customer"
    found = shop.query(f"SELECT * FROM ({summed}) WHERE orders != 0 ORDER BY customer")
    assert [*found] == [*shop.query("SELECT * FROM spent ORDER BY customer")]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_each_step_gives_what_changed(seed: int, tmp_path: Path, spark_engine: Engine) -> None:
    random, table = Random(seed), dict[int, tuple[str, int]]()
    write_shop(tmp_path)
    open_shop(tmp_path, spark_engine).apply()
    expected: Counter[tuple[Any, ...]] = Counter()
    for number in range(6):
        statement, after = changed(random, table)
        open_shop(tmp_path, spark_engine).execute(statement)
        if number == 3:
            # A step that is withdrawn changes nothing, and is not among the changes of the next one.
            with pytest.raises(EngineError, match="no more"):
                open_shop(tmp_path, spark_engine).observed(boundary=fail).execute(changed(random, after)[0])
        expected += difference(table, after)
        table = after
        query = "SELECT id, customer, amount, change FROM running"
        found = Counter(tuple(row.values()) for row in open_shop(tmp_path, spark_engine).query(query))
        assert found == expected, statement
    require_agreement(open_shop(tmp_path, spark_engine))
    assert open_shop(tmp_path, spark_engine).plan().diff.is_empty

    # What is computed anew goes by the table as it is.
    write_shop(tmp_path, YAML.replace("keys: [customer]", "keys: [customer, id]"))
    open_shop(tmp_path, spark_engine).apply()
    rows = open_shop(tmp_path, spark_engine).query("SELECT id, customer, amount, change FROM running")
    assert Counter(tuple(row.values()) for row in rows) == difference({}, table)


def fail(name: str) -> None:
    if name == "view:effected":
        raise EngineError("X700", "no more")


def test_a_row_that_changes_is_deleted_before_it_is_inserted(tmp_path: Path, spark_engine: Engine) -> None:
    write_shop(tmp_path, YAML.replace("aggregates:\n", "aggregates:\n          last_amount: last(amount)\n"))
    open_shop(tmp_path, spark_engine).apply()
    for amount in (10, 3, 7):
        open_shop(tmp_path, spark_engine).execute(put({1: ("a", amount)}))
    query = "SELECT amount, change, amount_so_far, last_amount FROM running ORDER BY ALL"
    assert [tuple(row.values()) for row in open_shop(tmp_path, spark_engine).query(query)] == [
        (3, "delete", 0, 3),
        (3, "insert", 3, 3),
        (7, "insert", 7, 7),
        (10, "delete", 0, 10),
        (10, "insert", 10, 10),
    ]
