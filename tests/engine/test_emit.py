"""Outputs to Delta tables on Spark: the contract of sinks, and what only Spark's values show, also where little is to be
written."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import AnotherEmission, EngineError
from reconciler.engine.protocol import Engine, TableTarget, ViewBuild
from tests.cells import mostly_slow
from tests.engine.emissions import Meanwhile, Versions
from tests.engine.emit_contract import EmitContract
from tests.engine.engines import DeltaStorage

pytestmark = pytest.mark.spark

BOTH_WAYS = True
"""What is small is tried without Spark, too (conftest.py)."""


class TestSparkEngine(EmitContract):
    @pytest.fixture(scope="class")
    def made(self, spark_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> TableTarget:
        """The view of the contract. Copy it; don't change it."""
        return self.make_view(spark_engine, DeltaStorage(), tmp_path_factory.mktemp("view"))

    @pytest.fixture
    def view(self, made: TableTarget, tmp_path: Path) -> TableTarget:
        """A copy of it."""
        return replace(made, location=str(shutil.copytree(made.location, tmp_path / "v")))


def test_values_are_equal_as_spark_groups_them(versions: Versions) -> None:
    """NaN is NaN, -0.0 is 0.0, maps are equal whatever the order of their entries, also within other values."""
    before = (
        "SELECT CAST('NaN' AS DOUBLE) AS d, map('a', 1, 'b', 2) AS m, named_struct('x', array(map(1, 'x'))) AS s, "
        "CAST(-0.0 AS FLOAT) AS z, CAST(NULL AS MAP<STRING, INT>) AS n FROM range(3)"
    )
    after = (
        "SELECT CAST('NaN' AS DOUBLE) AS d, map('b', 2, 'a', 1) AS m, named_struct('x', array(map(1, 'x'))) AS s, "
        "CAST(0.0 AS FLOAT) AS z, CAST(NULL AS MAP<STRING, INT>) AS n FROM range(2)"
    )
    versions.engine.emit(versions.emission(None, before))
    went = versions.engine.emit(versions.emission(before, after, 2))
    assert (went.inserted, went.deleted) == (0, 1)
    assert versions.rows("SELECT count(*), count(n) FROM sink") == [(2, 0)]
    other = after.replace("array(map(1, 'x'))", "array(map(1, 'y'))")
    changed = versions.engine.emit(versions.emission(after, other, 3))
    assert (changed.inserted, changed.deleted) == (2, 2)
    assert versions.rows("SELECT s.x[0][1], count(*) FROM sink GROUP BY 1") == [("y", 2)]


def test_changed_columns_overwrite_the_sink(versions: Versions) -> None:
    before, after = "SELECT id, 'a' AS name FROM range(3)", "SELECT id + 10 AS id, id * 2 AS twice FROM range(2)"
    versions.engine.emit(versions.emission(None, before))
    changed = versions.engine.emit(versions.emission(before, after, 2))
    assert (changed.inserted, changed.deleted) == (2, 3)
    assert sorted(versions.rows("SELECT * FROM sink")) == [(10, 0), (11, 2)]
    grown = "SELECT id + 10 AS id, id * 2 AS twice FROM range(3)"
    versions.engine.emit(versions.emission(after, grown, 3))
    assert sorted(versions.rows("SELECT * FROM sink")) == [(10, 0), (11, 2), (12, 4)]


@pytest.mark.slow
def test_a_sink_that_was_not_told_of_other_columns_gets_all_rows_with_the_next_difference(versions: Versions) -> None:
    versions.engine.emit(versions.emission(None, "SELECT id, 'a' AS name FROM range(3)"))
    skipped, after = "SELECT id, id * 2 AS twice FROM range(2)", "SELECT id, id * 2 AS twice FROM range(1, 3)"
    changed = versions.engine.emit(versions.emission(skipped, after, 2))
    assert (changed.inserted, changed.deleted) == (1, 1)
    assert sorted(versions.rows("SELECT * FROM sink")) == [(1, 2), (2, 4)]


def test_full_contents_under_other_columns_overwrite_what_the_connector_wrote(versions: Versions) -> None:
    versions.engine.emit(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(versions.emission(None, "SELECT 2 AS b", 2))
    assert versions.rows("SELECT * FROM sink") == [(2,)]


@pytest.mark.parametrize(
    ("mode", "query", "code", "expected"),
    [
        ("append", "SELECT id FROM range(2)", None, [(0,), (0,), (1,)]),
        pytest.param("append", "SELECT 'x' AS other", "X753", None, marks=pytest.mark.slow),
        pytest.param("truncate", "SELECT 'x' AS other", None, [("x",)], marks=pytest.mark.slow),
        ("error_if_exists", "SELECT id FROM range(2)", "X752", None),
    ],
)
def test_a_table_that_was_there(
    versions: Versions, mode: str, query: str, code: str | None, expected: list[tuple[Any, ...]] | None
) -> None:
    view = str(versions.folder / "sink")
    versions.engine.build_view(ViewBuild("old", "SELECT id FROM range(1)", (), (), view, {}))
    wanted = versions.emission(None, query, mode=mode)
    if code is not None:
        with pytest.raises(EngineError) as raised:
            versions.engine.emit(wanted)
        assert raised.value.code == code
        assert versions.rows("SELECT * FROM sink") == [(0,)]
        return
    versions.engine.emit(wanted)
    assert sorted(versions.rows("SELECT * FROM sink")) == expected
    versions.engine.emit(versions.emission(query, f"{query} UNION ALL {query}", 2, mode=mode))
    assert len(versions.rows("SELECT * FROM sink")) > len(expected or ()), "the mode counts once"


def test_the_commit_says_what_it_was_made_from(versions: Versions) -> None:
    versions.engine.emit(versions.emission(None, "SELECT 1 AS a"))
    versions.engine.emit(versions.emission("SELECT 1 AS a", "SELECT 2 AS a", 2))
    for version in (0, 1):
        log = (versions.folder / "sink" / "_delta_log" / f"{version:020d}.json").read_text()
        (info,) = [json.loads(line)["commitInfo"] for line in log.splitlines() if "commitInfo" in line]
        said = {"pipeline": "shop", "step": 0, "emission": f"{version + 1} by us"}
        assert json.loads(info["userMetadata"]) == said


def test_a_commit_that_is_too_long_ago_to_be_read_is_judged_by_its_number(versions: Versions) -> None:
    """Delta cleans its log up behind a checkpoint."""
    from deltalake import DeltaTable

    first = versions.emission(None, "SELECT 1 AS a")
    versions.engine.emit(first)
    sink = versions.folder / "sink"
    somebody = DeltaTable(str(sink))
    somebody.alter.set_table_properties({"somebody": "else"}, raise_if_not_exists=False)
    somebody.create_checkpoint()
    (sink / "_delta_log" / f"{0:020d}.json").unlink()
    assert versions.engine.emit(first).reused
    assert versions.engine.emit(replace(first, id="another")).reused


@pytest.mark.parametrize("serial", mostly_slow([2, 3], 3))
def test_what_comes_in_while_an_emission_is_computed_does_not_pass_for_it(versions: Versions, serial: int) -> None:
    """Delta passes over a write whose number came in meanwhile, and says nothing."""
    versions.engine.emit(versions.emission(None, "SELECT 1 AS a"))
    theirs = replace(versions.emission(None, "SELECT 2 AS a", serial), id="theirs")
    meanwhile = Meanwhile()
    meanwhile.act = lambda: versions.engine.emit(theirs)

    with pytest.raises(AnotherEmission) as caught:
        versions.engine.emit(replace(versions.emission(None, "SELECT 3 AS a", 2), warehouses=meanwhile))

    assert caught.value.serial == serial
    assert sorted(versions.rows("SELECT a FROM sink")) == [(1,), (2,)]


def test_a_commit_that_says_nothing_of_itself_is_no_repeat(versions: Versions) -> None:
    """All of ours say which emission they are, whatever Spark was told."""
    made = versions.emission(None, "SELECT 1 AS a")
    versions.engine.emit(made)
    log = versions.folder / "sink" / "_delta_log" / f"{0:020d}.json"
    (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if "commitInfo" not in line))

    with pytest.raises(AnotherEmission):
        versions.engine.emit(made)
