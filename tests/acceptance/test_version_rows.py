"""Rows of two versions compared, on Spark: by key and as multisets, with counts and samples."""

import json
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.base.errors import ReconcileError
from reconciler.engine.protocol import Engine
from reconciler.query.rows import ChangedRow
from reconciler.service.pipeline import Pipeline
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop
from tests.served import run

pytestmark = pytest.mark.both_ways

READS = "  versions: {reads: true}\n  evolution: evolve\n"
FIRST = """\
CREATE TABLE people (id BIGINT NOT NULL PRIMARY KEY, age INT);
CREATE MATERIALIZED VIEW ages AS SELECT id % 2 AS side, age FROM people;
"""
SECOND = FIRST.replace("age INT", "age BIGINT, name STRING").replace("side, age", "side, nullif(age, 7) AS age, 1 AS one")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """Table and view have two versions each; a row came, one went and one changed after the second was there."""
    root = tmp_path_factory.mktemp("people")

    def apply(program: str) -> Pipeline:
        write_shop(root, program, more=READS)
        pipeline = Project.open(root, engine=spark_engine).pipeline("shop")
        pipeline.apply()
        return pipeline

    shop = apply(FIRST)
    shop.execute("INSERT INTO people VALUES (1, 10), (2, 7), (3, 10), (4, 10), (5, NULL)")
    shop = apply(SECOND)
    shop.execute("DELETE FROM people WHERE id = 4")
    shop.execute("INSERT INTO people VALUES (6, 10, 'new'), (3, 11, 'changed'), (5, NULL, 'only a column that is new')")
    return root


@pytest.fixture
def shop(root: Path, spark_engine: Engine) -> Pipeline:
    return Project.open(root, engine=spark_engine).pipeline("shop")


def test_a_table_by_its_key(shop: Pipeline) -> None:
    found = shop.compare_rows("people@v0", "people@v1")
    assert (found.key, found.columns) == (("id",), ("id", "age"))
    assert (found.added, found.removed, found.changed) == (1, 1, 1)
    assert found.sample == (
        ChangedRow({"id": 3, "age": 10}, {"id": 3, "age": 11}),
        ChangedRow({"id": 4, "age": 10}, None),
        ChangedRow(None, {"id": 6, "age": 10}),
    )
    assert found.steps == (1, 4)


def test_a_view_as_a_multiset(shop: Pipeline) -> None:
    found = shop.compare_rows("ages@v0", "ages@v1")
    assert (found.key, found.columns) == ((), ("side", "age"))
    # Before: (1,10) twice, (0,7), (0,10), (1,NULL); after: (1,10), (0,NULL), (1,11), (1,NULL), (0,10).
    assert (found.added, found.removed, found.changed) == (2, 2, 0)
    assert {(str(one.before), str(one.after), one.copies) for one in found.sample} == {
        ("None", "{'side': 0, 'age': None}", 1),
        ("{'side': 0, 'age': 7}", "None", 1),
        ("{'side': 1, 'age': 10}", "None", 1),
        ("None", "{'side': 1, 'age': 11}", 1),
    }


def test_copies_are_counted_and_samples_are_as_many_as_are_asked_for(shop: Pipeline) -> None:
    shown = shop.compare_rows("ages@v0", "ages@v1", samples=1)
    assert (shown.added, shown.removed, len(shown.sample)) == (2, 2, 1)
    assert shop.compare_rows("ages@v0", "ages@v1", samples=0).sample == ()
    assert shop.compare_rows("ages@v0", "ages@v0").is_empty


def test_a_key_that_tells_no_rows_apart_is_an_error(shop: Pipeline) -> None:
    with pytest.raises(ReconcileError) as caught:
        shop.compare_rows("ages@v0", "ages@v1", key=("side",))
    assert caught.value.code == "X731"
    assert "side = 0 occurs more than once" in caught.value.message


def test_a_key_that_one_version_lacks(shop: Pipeline) -> None:
    with pytest.raises(ReconcileError) as caught:
        shop.compare_rows("people@v0", "people@v1", key=("name",))
    assert caught.value.code == "X722"


def test_the_command(root: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run([*words, "--repo", str(root)], spark_engine) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    said = call("versions", "diff", "people@v0", "people@v1", "--data", "--sample", "2")
    assert "rows, by id: 1 added, 1 removed, 1 changed\n  ~ id 3, age 10 → 11\n  - id 4, age 10\n1 more" in said
    assert "as of steps 1 and 4" in said
    assert "  ~ age INT → BIGINT\n  + name STRING" in said
    assert "X731" in call("versions", "diff", "ages@v0", "--data", "--key", "side, age", code=1)
    capsys.readouterr()
    assert run(["versions", "diff", "ages@v0", "--data", "--format", "json", "--repo", str(root)], spark_engine) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"]["added"], found["rows"]["removed"], len(found["rows"]["sample"])) == (2, 2, 4)


@pytest.mark.slow
def test_a_version_that_is_kept_up_to_date_is_compared_as_it_is(
    tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    said = CommandLine(tmp_path, capsys, spark_engine)
    table = "CREATE TABLE people (id BIGINT NOT NULL PRIMARY KEY, age INT);\n"
    view = "CREATE MATERIALIZED VIEW ages AS SELECT id, age FROM people{};\n"
    maintained = "  views: {ages: {versions: {v0: {maintain: true}}}}\n"
    write_shop(tmp_path, table + view.format(""), more=READS)
    said("apply", "shop")
    said("execute", "shop", "INSERT INTO people VALUES (1, 10), (2, 20)")
    write_shop(tmp_path, table + view.format(" WHERE age > 15"), more=READS + maintained)
    said("apply", "shop")
    said("execute", "shop", "INSERT INTO people VALUES (3, 5), (4, 30)")
    told = said("versions", "diff", "ages@v0", "ages@v1", "--data", "--key", "id")
    assert "rows, by id: 0 added, 2 removed, 0 changed\n  - id 1, age 10\n  - id 3, age 5" in told
    assert "as of steps 3 and 3" in told
    # It stays as it was once nobody keeps it.
    write_shop(tmp_path, table + view.format(" WHERE age > 15"), more=READS)
    said("apply", "shop")
    told = said("versions", "diff", "ages@v0", "ages@v1", "--data", "--key", "id")
    assert "rows, by id: 1 added, 1 removed, 0 changed" in told
    assert "as of steps 1 and 4" in told
