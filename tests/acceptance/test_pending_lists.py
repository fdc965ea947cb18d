"""What awaits approval is listed by name in `status`, in text and in JSON as the seed has it; and whatever needs an approval
has something in that object."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine

pytestmark = pytest.mark.both_ways

BEFORE = """\
CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY);
CREATE TABLE gone (id BIGINT);
CREATE VIEW v AS SELECT id FROM t;
CREATE VIEW over AS SELECT id FROM v;
"""
AFTER = """\
CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY);
CREATE TABLE fresh (id BIGINT);
CREATE VIEW v AS SELECT id + 1 AS id FROM t;
CREATE VIEW over AS SELECT id FROM v;
CREATE VIEW more AS SELECT count(*) AS n FROM t;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: await_approval
"""
INPUT = """\
  connectors:
    - {name: in, table: t, transport: {name: file_input, config: {path: in}}, format: {name: json}}
"""
FUNCTION = "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT AS x * 2;\n"


class Shop(CommandLine):
    def write(self, program: str, more: str = "") -> None:
        folder = self.root / "pipelines/shop"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "program.sql").write_text(program)
        (folder / "pipeline.yaml").write_text(YAML + more)
        (self.root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("status", "shop", "--format", "json"))["pipelines"][0]
        return found

    def plan(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("plan", "shop", "--format", "json"))["plans"][0]
        return found


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shop = Shop(tmp_path, capsys)
    shop.write(BEFORE)
    shop("apply", "shop")
    return shop


def test_status_lists_what_awaits_approval_as_the_seed_has_it(shop: Shop) -> None:
    assert shop.status()["pending_diff"] is None
    shop.write(AFTER, INPUT)
    found = shop.status()
    assert found["state"] == "AwaitingApproval"
    assert found["pending_diff"] == {
        "added_input_connectors": ["t.in"],
        "added_output_connectors": [],
        "modified_input_connectors": [],
        "modified_output_connectors": [],
        "program_diff": {
            "added_tables": ["fresh"],
            "added_views": ["more"],
            "modified_tables": [],
            "modified_views": ["over", "v"],
            "removed_tables": ["gone"],
            "removed_views": [],
        },
        "program_diff_error": None,
        "removed_input_connectors": [],
        "removed_output_connectors": [],
    }
    text = shop("status", "shop")
    for line in (
        "added tables: fresh",
        "added views: more",
        "modified views: over, v",
        "removed tables: gone",
        "added input connectors: t.in",
    ):
        assert f"    {line}\n" in text
    assert "modified tables" not in text
    shop.write("no SQL")
    assert shop.status()["pending_diff"] is None


def holds_something(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(holds_something, value.values()))
    return bool(value)


@pytest.mark.parametrize(
    ("program", "more"),
    [
        (BEFORE, ""),
        (AFTER, ""),
        (BEFORE + FUNCTION, ""),
        (BEFORE, INPUT),
        (BEFORE, "  bootstrap_policy: allow\n"),
        (BEFORE, "  tables: {t: {evolution: evolve}}\n"),
        (BEFORE, "  description: x\n"),
    ],
)
def test_what_needs_an_approval_has_something_in_the_object(shop: Shop, program: str, more: str) -> None:
    yaml = more.replace("  bootstrap_policy: allow\n", "")
    shop.write(program, yaml)
    if yaml != more:
        (shop.root / "pipelines/shop/pipeline.yaml").write_text(YAML.replace("await_approval", "allow"))
    if "description" in more:
        (shop.root / "pipelines/shop/pipeline.yaml").write_text(YAML.replace("{name: shop}", "{name: shop, description: x}"))
    plan = shop.plan()
    assert plan["approval"]["needed"] == holds_something(plan["approval_diff"])


def test_a_function_that_nobody_calls_is_listed(shop: Shop) -> None:
    """It needs an approval: statements and queries may call it from then on."""
    shop.write(BEFORE + FUNCTION)
    assert shop.plan()["approval_diff"]["program_diff"]["added_functions"] == ["twice"]
    found = shop.status()
    assert found["state"] == "AwaitingApproval"
    assert found["pending_diff"]["program_diff"]["added_functions"] == ["twice"]
    assert "    added functions: twice\n" in shop("status", "shop")
