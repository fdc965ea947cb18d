"""An upgrade of Spark, and the environment's settings: planned, approved and recorded like any change; nothing is computed
with what was not planned."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.apply.applying import apply_pipeline
from reconciler.apply.wanted import Desired, Wanted
from reconciler.base.errors import EngineError
from reconciler.engine.installed import installed_spark
from reconciler.engine.resources import process_settings
from reconciler.environment.resources import applied_resources, desired_resources
from reconciler.environment.session import Session
from reconciler.environment.source import files_of
from reconciler.plan.model import Plan
from reconciler.plan.text_form import render_text
from reconciler.project.program.settings import before_environments
from reconciler.project.snapshot.model import take_snapshot
from reconciler.registry.codec import head_to_json
from reconciler.service.project import Project
from reconciler.state.applied import AppliedState
from reconciler.testing.recording import RecordingEngine
from reconciler.workspace.desired import compile_desired
from tests.engine.delta_writer import DeltaWriter

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: shop}}\nspec: {{bootstrap_policy: {policy}}}\n"
PROGRAM = """\
CREATE TABLE t (a BIGINT, b STRING);
CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a;
CREATE MATERIALIZED VIEW w AS SELECT n FROM v;
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository" / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(YAML.format(policy="allow"))
    (folder / "program.sql").write_text(PROGRAM)
    environment(tmp_path / "repository", "{}")
    return tmp_path / "repository"


def environment(root: Path, spark: str) -> None:
    (root / "reconcile.yaml").write_text(f"environments: {{dev: {{warehouse: .reconcile/warehouse, spark: {spark}}}}}\n")


def project(root: Path, spark: str | None = None) -> Project:
    opened = Project.open(root, engine=RecordingEngine(DeltaWriter()))
    if spark is not None:
        opened.target = replace(opened.target, spark_version=spark)
    return opened


def plan(root: Path, spark: str | None = None) -> Plan:
    return project(root, spark).pipeline("shop").plan()


def modified(plan: Plan) -> dict[str, str]:
    return {change.name: change.action.value for change in plan.diff.relations}


def test_the_version_is_known_without_spark() -> None:
    import pyspark

    assert installed_spark() == pyspark.__version__


def test_an_upgrade_of_spark_modifies_the_views_and_says_so(root: Path) -> None:
    project(root).pipeline("shop").apply()
    assert plan(root).changes_nothing
    found = plan(root, "4.3.0")
    assert modified(found) == {"v": "modified", "w": "modified"}
    assert "settings that decide results changed: Spark: 4.2 → 4.3" in render_text(found)

    project(root, "4.3.0").pipeline("shop").apply()
    assert plan(root, "4.3.0").changes_nothing
    # A downgrade is one, too.
    assert modified(plan(root)) == {"v": "modified", "w": "modified"}


def test_a_patch_of_spark_is_told_and_modifies_nothing(root: Path) -> None:
    project(root).pipeline("shop").apply()
    found = plan(root, "4.2.7")
    assert found.is_empty
    assert not found.changes_nothing
    assert "version of Spark of shop: 4.2.0 → 4.2.7" in render_text(found)


def test_nothing_is_computed_with_another_spark_than_was_planned_for(root: Path) -> None:
    project(root).pipeline("shop").apply()
    newer = project(root, "4.3.0").pipeline("shop")
    for work in (lambda: newer.run_once(), lambda: newer.execute("INSERT INTO t VALUES (1, 'x')")):
        before = head(root)
        with pytest.raises(EngineError) as refused:
            work()
        assert refused.value.code == "X780"
        assert "planned for Spark 4.2.0, but Spark 4.3.0 is installed" in refused.value.message
        assert head(root) == before
    newer.apply()
    newer.execute("INSERT INTO t VALUES (1, 'x')")
    newer.run_once()


def test_a_rollback_waits_for_the_upgrade(root: Path) -> None:
    project(root).pipeline("shop").apply()
    (root / "pipelines" / "shop" / "program.sql").write_text(PROGRAM.replace("count(*)", "count(a)"))
    project(root).pipeline("shop").apply()
    before = head(root)
    with pytest.raises(EngineError) as refused:
        project(root, "4.3.0").pipeline("shop").rollback("v@v0")
    assert refused.value.code == "X780"
    assert head(root) == before


def head(root: Path) -> object:
    stored = project(root).target.registry.head("shop")
    assert stored is not None
    return head_to_json(stored.value)


def apply_as_recorded_before(root: Path) -> None:
    """Apply as it was done before environments were recorded."""
    target = project(root).target

    def desired(applied: AppliedState) -> Desired:
        snapshot = compile_desired(target, "shop", files_of(root, "shop"), applied=applied.snapshot)
        assert snapshot is not None
        program = replace(snapshot.program, settings=before_environments(snapshot.program.settings))
        return Desired(take_snapshot(program), lambda: "")

    apply_pipeline(target, "shop", Session(RecordingEngine(DeltaWriter())), Wanted(desired))


@pytest.mark.parametrize("spark", ["{spark.jars: evil.jar}", "{}"])
def test_none_starts_where_a_value_that_may_be_secret_is_not_the_applied_one(root: Path, spark: str) -> None:
    environment(root, "{spark.jars: ours.jar}")
    project(root).pipeline("shop").apply()
    environment(root, spark)
    with pytest.raises(EngineError) as refused:
        process(root)
    assert refused.value.code == "X780"
    assert "spark.jars" in refused.value.message
    assert ".jar" not in refused.value.message.replace("spark.jars", "")
    environment(root, "{spark.jars: ours.jar}")
    assert process(root)["spark.jars"] == "ours.jar"


class TestEnvironment:
    def test_a_setting_that_is_not_known_to_be_neutral_modifies_the_views(self, root: Path) -> None:
        project(root).pipeline("shop").apply()
        environment(root, "{spark.jars: other.jar}")
        found = plan(root)
        assert modified(found) == {"v": "modified", "w": "modified"}
        assert "spark.jars" in render_text(found)
        assert "other.jar" not in render_text(found)

    def test_one_that_is_neutral_is_told(self, root: Path) -> None:
        project(root).pipeline("shop").apply()
        environment(root, "{spark.master: 'spark://elsewhere:7077', spark.sql.shuffle.partitions: 3}")
        found = plan(root)
        assert found.is_empty
        assert not found.changes_nothing
        assert "the environment's spark.master of shop: not set → spark://elsewhere:7077" in render_text(found)

    def test_credentials_are_neither_recorded_nor_told(self, root: Path) -> None:
        project(root).pipeline("shop").apply()
        environment(root, "{spark.hadoop.fs.s3a.secret.key: hush}")
        assert plan(root).changes_nothing
        assert process(root)["spark.hadoop.fs.s3a.secret.key"] == "hush"

    def test_a_process_starts_with_what_is_applied(self, root: Path) -> None:
        environment(root, "{spark.jars: ours.jar, spark.master: 'local[3]', spark.sql.shuffle.partitions: 3}")
        project(root).pipeline("shop").apply()
        environment(root, "{spark.jars: ours.jar, spark.master: yarn, spark.plugins: Evil, spark.sql.shuffle.partitions: 4}")
        assert process(root) == {"spark.jars": "ours.jar", "spark.master": "local[3]", "spark.sql.shuffle.partitions": "4"}

    def test_whoever_applies_has_the_approval_before_spark_starts(self, root: Path) -> None:
        environment(root, "{spark.jars: ours.jar}")
        project(root).pipeline("shop").apply()
        environment(root, "{spark.jars: evil.jar}")
        target = project(root).target
        asked = desired_resources(target, "shop")
        assert process_settings(target.environment.spark, asked)["spark.jars"] == "evil.jar"

    def test_what_was_applied_before_it_was_recorded_plans_no_change(self, root: Path) -> None:
        environment(root, "{spark.sql.files.ignoreCorruptFiles: true, spark.jars: a.jar, spark.sql.ansi.enabled: false}")
        apply_as_recorded_before(root)
        for _ in range(2):
            assert plan(root).changes_nothing
        assert process(root)["spark.jars"] == "a.jar"

        # What was recorded of it is compared.
        environment(root, "{spark.sql.files.ignoreCorruptFiles: true, spark.jars: a.jar}")
        assert "spark.sql.ansi.enabled: false → true" in render_text(plan(root))
        environment(root, "{spark.sql.files.ignoreCorruptFiles: true, spark.jars: a.jar, spark.sql.ansi.enabled: false}")

        # The next change records the rest, and says so.
        (root / "pipelines" / "shop" / "program.sql").write_text(PROGRAM.replace("SELECT n FROM", "SELECT n + 1 AS n FROM"))
        found = plan(root)
        assert modified(found) == {"w": "modified"}
        assert "the environment's settings of Spark of shop: not recorded → recorded" in render_text(found)
        project(root).pipeline("shop").apply()
        assert plan(root).changes_nothing
        environment(root, "{spark.sql.files.ignoreCorruptFiles: true, spark.jars: b.jar, spark.sql.ansi.enabled: false}")
        assert modified(plan(root)) == {"v": "modified", "w": "modified"}

    def test_how_inputs_are_read_is_a_hazard(self, root: Path) -> None:
        project(root).pipeline("shop").apply()
        environment(root, "{spark.sql.files.ignoreCorruptFiles: true}")
        assert [hazard.code for hazard in plan(root).hazards if hazard.code != "H941"] == ["H920"]


def process(root: Path) -> dict[str, str]:
    target = project(root).target
    return process_settings(target.environment.spark, applied_resources(target, "shop"))
