"""Another version of reconciler, or a changed setting, as the command line has it: a version that writes every canonical
text otherwise plans nothing by itself, whatever a cache holds; a setting that decides results is seen with a warm cache."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import PIPELINE_YAML, write_shop
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.shops.another_version import REPOSITORY, run_version, write_another_version

PROGRAM = """\
CREATE FUNCTION doubled(x BIGINT) RETURNS BIGINT AS x * 2;
CREATE TABLE t (a BIGINT, b STRING, at TIMESTAMP);
CREATE VIEW p AS SELECT doubled(a) AS a, b FROM t;
CREATE LOCAL VIEW l AS SELECT a FROM p WHERE a > 1;
CREATE MATERIALIZED VIEW v AS SELECT a FROM l GROUP BY a;
CREATE MATERIALIZED VIEW w AS SELECT a.*, COUNT(*) OVER (PARTITION BY b) AS n FROM p AS a;
CREATE MATERIALIZED VIEW days AS SELECT CAST(at AS DATE) AS day FROM t;
"""


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pipelines, applied."""
    root = tmp_path_factory.mktemp("applied")
    write_shop(root, PROGRAM)
    shutil.copytree(root / "pipelines" / "shop", root / "pipelines" / "other")
    file = root / "pipelines" / "other" / "pipeline.yaml"
    file.write_text(file.read_text().replace("name: shop", "name: other"))
    project = Project.open(root, engine=RecordingEngine(DeltaWriter()))
    for name in ("shop", "other"):
        project.pipeline(name).apply()
    return root


@pytest.fixture
def root(applied: Path, tmp_path: Path) -> Path:
    shutil.copytree(applied, tmp_path / "repository")
    return tmp_path / "repository"


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_another_version(tmp_path_factory.mktemp("upgraded"))


def plans(root: Path, cache: str, version: Path = REPOSITORY) -> list[dict[str, Any]]:
    """All plans, by a process of its own, of the version of reconciler in a folder."""
    said = run_version(version, "plan", "--repo", str(root), "--format", "json", cache=cache)
    found: list[dict[str, Any]] = json.loads(said)["plans"]
    return found


def changes(plan: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["action"] for one in plan["relations"]}


@pytest.mark.parametrize("kept", mostly_slow(["warm", "cold", "off"], "warm", "off"))
def test_an_upgrade_plans_no_change_by_itself(root: Path, tmp_path: Path, upgraded: Path, kept: str) -> None:
    cache = "off" if kept == "off" else str(tmp_path / "cache")
    before = plans(root, cache)
    if kept == "cold":
        shutil.rmtree(tmp_path / "cache")
    for _ in range(2):
        after = plans(root, cache, upgraded)
        assert [plan["pipeline"] for plan in after] == ["other", "shop"]
        for plan in after:
            assert changes(plan) == {}
            assert [step["kind"] for step in plan["steps"]] == ["commit_snapshot"]
        # What is kept is as it was; texts are not.
        assert [plan["kept"] for plan in after] == [plan["kept"] for plan in before]


def test_texts_are_really_written_otherwise_and_no_value_of_the_old_version_is_used(
    root: Path, tmp_path: Path, upgraded: Path
) -> None:
    write_shop(root, PROGRAM.replace("a > 1", "a > 2"))
    cache = str(tmp_path / "cache")
    (_, old), (_, new) = plans(root, cache), plans(root, cache, upgraded)
    assert changes(old) == changes(new) == {"v": "modified"}
    assert old["digest"] != new["digest"]


@pytest.mark.parametrize(
    ("setting", "value"),
    mostly_slow(
        [("spark.sql.ansi.enabled", "false"), ("spark.sql.session.timeZone", "Europe/Berlin")],
        ("spark.sql.ansi.enabled", "false"),
    ),
)
def test_a_setting_that_decides_results_modifies_the_views_with_a_warm_cache_too(
    root: Path, tmp_path: Path, setting: str, value: str
) -> None:
    cache = str(tmp_path / "cache")
    assert [changes(plan) for plan in plans(root, cache)] == [{}, {}]
    file = root / "pipelines" / "shop" / "pipeline.yaml"
    file.write_text(PIPELINE_YAML.format(policy="allow") + f'  runtime: {{spark: {{{setting}: "{value}"}}}}\n')
    for _ in range(2):
        other, shop = plans(root, cache)
        assert changes(other) == {}
        assert changes(shop) == dict.fromkeys(("days", "p", "v", "w"), "modified")
    file.write_text(PIPELINE_YAML.format(policy="allow"))
    assert [changes(plan) for plan in plans(root, cache)] == [{}, {}]


def test_a_setting_of_the_environment_modifies_the_views_of_all_pipelines(root: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    assert [changes(plan) for plan in plans(root, cache)] == [{}, {}]
    (root / "reconcile.yaml").write_text(
        "default: dev\nenvironments:\n  dev: {warehouse: warehouse, spark: {spark.sql.ansi.enabled: 'false'}}\n"
    )
    for plan in plans(root, cache):
        assert changes(plan) == dict.fromkeys(("days", "p", "v", "w"), "modified")
