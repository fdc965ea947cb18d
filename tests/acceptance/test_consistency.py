"""Whoever reads several relations reads them at one step: money only moves, so a reader that looks while steps pass never
sees some of it missing or twice. Real Spark and Delta; reader and writer at the same time."""

import json
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project

pytestmark = pytest.mark.spark

ACCOUNTS = 7
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: bank}
spec:
  bootstrap_policy: allow
  connectors:
    - name: bookings
      table: bookings
      transport: {name: file_input, config: {path: in}}
      format: {name: json}
"""
PROGRAM = """\
CREATE TABLE bookings (source BIGINT, target BIGINT, amount DECIMAL(12,2));
CREATE MATERIALIZED VIEW sent AS SELECT source AS account, SUM(amount) AS amount FROM bookings GROUP BY source;
CREATE MATERIALIZED VIEW received AS SELECT target AS account, SUM(amount) AS amount FROM bookings GROUP BY target;
CREATE MATERIALIZED VIEW balances AS
SELECT account, SUM(amount) AS balance
FROM (SELECT account, amount FROM received UNION ALL SELECT account, -amount FROM sent) AS moved
GROUP BY account;
CREATE MATERIALIZED VIEW how_many AS SELECT COUNT(*) AS bookings, SUM(amount) AS amount FROM bookings;
"""


@pytest.fixture
def bank(tmp_path: Path, spark_engine: Engine) -> Path:
    folder = tmp_path / "pipelines" / "bank"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(PROGRAM)
    (tmp_path / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    (tmp_path / "in").mkdir()
    open_bank(tmp_path, spark_engine).apply()
    return tmp_path


def open_bank(root: Path, engine: Engine) -> Pipeline:
    return Project.open(root, engine=engine).pipeline("bank")


def book(root: Path, number: int) -> None:
    """A file of as many bookings as its number says, all between known accounts."""
    rows = [
        {"source": (number + one) % ACCOUNTS, "target": (number * 3 + one * 5) % ACCOUNTS, "amount": f"{one + 1}.25"}
        for one in range(number % 4 + 1)
    ]
    (root / "in" / f"{number:05d}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def agrees(found: dict[str, tuple[tuple[object, ...], ...]]) -> bool:
    """Whether these relations are all of one step."""
    ((count, total),) = found["how_many"]
    bookings = found["bookings"]
    moved = sum((Decimal(str(row[2])) for row in bookings), Decimal(0))
    sums = [sum((Decimal(str(row[1])) for row in found[name]), Decimal(0)) for name in ("sent", "received", "balances")]
    return count == len(bookings) and (total or 0) == moved and sums == [moved, moved, Decimal(0)]


def test_relations_of_different_steps_are_told_apart() -> None:
    then = {
        "bookings": ((1, 2, 5),),
        "sent": ((1, 5),),
        "received": ((2, 5),),
        "balances": ((1, -5), (2, 5)),
        "how_many": ((1, 5),),
    }
    assert agrees(then)
    for name, rows in (("sent", ()), ("balances", ((2, 5),)), ("how_many", ((2, 9),)), ("bookings", ())):
        assert not agrees({**then, name: rows}), name


# In every run, without Spark: tests/state/test_step_history.py.
@pytest.mark.slow
@pytest.mark.parametrize(("reads", "steps"), [(4, 2), (500, 3)])
def test_a_reader_sees_one_step_whatever_passes_meanwhile(reads: int, steps: int, bank: Path, spark_engine: Engine) -> None:
    over = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        number = 0
        try:
            while not over.is_set():
                number += 1
                book(bank, number)
                open_bank(bank, spark_engine).run_once()
        except BaseException as error:
            failures.append(error)
            raise

    writer = threading.Thread(target=work)
    writer.start()
    seen: list[int] = []
    try:
        reader = open_bank(bank, spark_engine)
        names = ["balances", "sent", "bookings", "received", "how_many"]
        while len(seen) < reads or len(set(seen)) < steps:
            assert failures == []
            if len(seen) % 2:
                found = reader.read_step(names)
                assert agrees({name: tuple(rows.rows) for name, rows in found.relations.items()}), f"at step {found.step}"
                seen.append(found.step)
                continue
            # The same in one query, over what a step writes at different moments.
            answer = reader.answer(
                "SELECT (SELECT SUM(balance) FROM balances), (SELECT COUNT(*) FROM bookings),"
                " (SELECT bookings FROM how_many)"
            )
            ((balance, counted, known),) = answer.rows.rows
            assert (balance or 0, counted) == (0, known), f"at step {answer.step}"
            seen.append(answer.step)
    finally:
        over.set()
        writer.join(120)
    assert failures == []
    assert seen == sorted(seen)

    for step in sorted(set(seen))[:2]:
        then = reader.read_step(names, step)
        assert agrees({name: tuple(rows.rows) for name, rows in then.relations.items()}), f"later, at step {step}"
