"""The seed's example, with the real client against `reconcile serve` on real Spark; and what only Spark can show."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from feldera import FelderaClient
from feldera.enums import BootstrapPolicy, PipelineStatus
from feldera.pipeline_builder import PipelineBuilder
from feldera.rest.errors import FelderaAPIError
from feldera.runtime_config import RuntimeConfig

from tests.acceptance.test_seed_example import (
    ADDITIONAL_VIEW,
    AFTER,
    AFTER_ALL_COURSES,
    ALL_COURSES,
    BEFORE,
    ENRICHED,
    EXPECTED_DIFF,
    GRADES,
    PIPELINE,
    STUDENTS,
)
from tests.rest.conftest import ROOT, new_repository

pytestmark = [pytest.mark.spark]
# The service lives for less than a minute: to compile twice what it runs often would take a quarter of what it costs.
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
_COMMAND = [sys.executable, "-c", "from reconciler.cli.main import main; main()"]


def reconcile(root: Path, *words: str, crash_at: str = "") -> str:
    """What a command says; `crash_at` as in `base.boundaries`."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = subprocess.run(
        [*_COMMAND, *words],
        cwd=root,
        env=environment | {"PYTHONPATH": str(ROOT), "RECONCILE_CRASH_AT": crash_at, "JDK_JAVA_OPTIONS": _ONE_COMPILER},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FelderaClient]:
    root = new_repository(tmp_path_factory.mktemp("served"))
    said = reconcile(root, "serve", "--background", "--port", "0")
    address = re.search(r"API at (http://localhost:\d+);", said)
    assert address is not None
    yield FelderaClient(address[1])
    reconcile(root, "serve", "--stop")


def sql_between(start: str, end: str) -> str:
    text = (PIPELINE / "program.sql").read_text(encoding="utf-8")
    assert (text.count("2025-09-01"), text.count("2025-12-15")) == (1, 1)
    return text.replace("2025-09-01", start).replace("2025-12-15", end)


def test_the_example_of_the_seed(client: FelderaClient) -> None:
    pipeline = PipelineBuilder(
        client,
        "student_grades",
        sql=sql_between("2025-09-01", "2025-12-15"),
        runtime_config=RuntimeConfig(dev_tweaks={"backfill_avoidance": True}),
    ).create_or_replace()
    pipeline.start()
    assert pipeline.status() == PipelineStatus.RUNNING
    pipeline.execute(STUDENTS)
    pipeline.execute(GRADES)
    assert list(pipeline.query(ENRICHED)) == BEFORE

    pipeline.stop(force=True)
    pipeline.modify(sql=sql_between("2025-09-01", "2026-06-10") + ADDITIONAL_VIEW)
    pipeline.start(bootstrap_policy=BootstrapPolicy.AWAIT_APPROVAL)
    assert pipeline.status() == PipelineStatus.AWAITINGAPPROVAL
    assert pipeline.deployment_runtime_status_details() == {"approval_diff": EXPECTED_DIFF}
    pipeline.approve()
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=300)
    assert list(pipeline.query(ENRICHED)) == AFTER
    assert list(pipeline.query(ALL_COURSES)) == AFTER_ALL_COURSES

    listener = pipeline.listen("avg_grade_enriched")
    token = pipeline.input_json("grades", {"student_id": 1, "class": "art", "grade": 80, "class_date": "2025-10-01"})
    listener.wait_for_token(token, 120)
    (row,) = listener.to_dict()
    assert (row["student_name"], row["class"], row["class_avg"], row["insert_delete"]) == ("Alice", "art", Decimal(80), 1)
    fields = {field["name"]: field["columntype"] for view in pipeline.views() for field in view.fields}
    assert fields["class_avg"] == {"type": "DECIMAL", "nullable": True, "precision": 9, "scale": 6}
    (batch,) = pipeline.query_arrow(ALL_COURSES)
    assert batch.to_pylist()[1]["avg"] == Decimal("91.75")

    # Statements of a transaction come with its commit.
    assert pipeline.start_transaction() == 1
    pipeline.execute("INSERT INTO students VALUES (3, 'Cy'), (4, NULL)")
    pipeline.execute("INSERT INTO students (id) SELECT id + 10 FROM students WHERE name = 'Bob'")
    pipeline.execute("DELETE FROM students AS s WHERE s.id = 1")
    with pytest.raises(FelderaAPIError, match="X722"):
        pipeline.execute("INSERT INTO students VALUES (3)")
    assert [row["id"] for row in pipeline.query("SELECT id FROM students ORDER BY id")] == [1, 2]
    pipeline.commit_transaction(1)
    assert [row["id"] for row in pipeline.query("SELECT id FROM students ORDER BY id")] == [2, 3, 4, 12]
    pipeline.stop(force=False)
    pipeline.delete(clear_storage=True)


def test_a_statement_of_a_transaction_brings_the_very_values(client: FelderaClient) -> None:
    """The same INSERTs and DELETEs, with a transaction and without, leave the same rows."""
    columns = "(id BIGINT, b VARBINARY, d DOUBLE, f REAL, t TIMESTAMP, a ARRAY<INT>, n BIGINT DEFAULT 7)"
    keyed = "CREATE TABLE keyed (id BIGINT PRIMARY KEY, n INT DEFAULT 7);"
    sql = f"CREATE TABLE one {columns}; CREATE TABLE other {columns}; {keyed}"
    pipeline = PipelineBuilder(client, "values", sql).create()
    pipeline.start()

    def changes(table: str) -> None:
        pipeline.execute(
            f"INSERT INTO {table} VALUES (1, X'0C22FF', DOUBLE('NaN'), FLOAT('-Infinity'), TIMESTAMP '2026-01-02 03:04:05', "
            "ARRAY(1), 1), (2, X'', DOUBLE('Infinity'), FLOAT('NaN'), NULL, NULL, 2), "
            "(3, X'5B5D', -1e300D, NULL, NULL, ARRAY(NULL), 3)"
        )
        pipeline.execute(f"INSERT INTO {table} (id) VALUES (4)")

    changes("one")
    pipeline.execute("INSERT INTO keyed VALUES (1, NULL)")
    pipeline.start_transaction()
    changes("other")
    pipeline.execute("DELETE FROM keyed WHERE id = 1")
    with pytest.raises(FelderaAPIError, match="column n can't be given NULL"):
        pipeline.execute("INSERT INTO other (id, n) VALUES (6, 6), (5, NULL)")
    pipeline.commit_transaction()
    hashes = {
        pipeline.query_hash(f"SELECT id, hex(b) AS b, string(d) AS d, string(f) AS f, t, a, n FROM {one}")
        for one in ("one", "other")
    }
    assert len(hashes) == 1
    assert list(pipeline.query("SELECT * FROM keyed")) == []
    pipeline.stop(force=True)
