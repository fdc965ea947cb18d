"""Dead letters in queries: by connector and step, beside a relation of their name."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.query.dead_letters import _asked
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from tests.shops.lineitem import PROGRAM, YAML, make, opened, put
from tests.shops.runs import Reconcile

PAGE = Path(__file__).parents[2] / "docs/formats.md"


class NoEngine:
    """Whatever is asked of it fails."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"an engine was asked to {name}")


def without_engine(root: Path) -> Pipeline:
    return Project.open(root, engine=NoEngine()).pipeline("shop")


def test_dead_letters_are_read_by_connector_and_step_without_an_engine(root: Path, reconcile: Reconcile) -> None:
    assert list(without_engine(root).query("SELECT * FROM dead_letters")) == []
    put(root, "live", "1.json", {"id": 1, "part": "new"}, {"id": "no number"})
    put(root, "log", "1.json", {"line": ["é'\x1b"]})
    opened(root).run_once()
    put(root, "live", "2.json", {"id": "none"})
    opened(root).run_once()

    found = list(without_engine(root).query("select * from Dead_Letters where connector = 'lineitem.live' AND step = 3;"))
    assert [(one["connector"], one["table"], json.loads(one["position"])["line"]) for one in found] == [
        ("lineitem.live", "lineitem", 1)
    ]
    assert [one["step"] for one in without_engine(root).query("SELECT * FROM dead_letters LIMIT 1")] == [2]
    assert [one["step"] for one in without_engine(root).query("SELECT * FROM reconcile_dead_letters", at_step=2)] == [2]
    shown = reconcile("query", "shop", 'SELECT * FROM dead_letters WHERE connector = "lineitem.live"', "--format", "json")
    assert [row["reason"][:4] for row in json.loads(shown)["rows"]] == ["X712", "X712"]


def test_a_relation_of_that_name_goes_before(tmp_path: Path) -> None:
    root = make(tmp_path / "shop", YAML, PROGRAM + "CREATE TABLE dead_letters (x INT);\n")
    put(root, "live", "1.json", {"id": "no number"})
    opened(root).run_once()

    assert list(opened(root).query("SELECT * FROM dead_letters")) == []
    assert [one["connector"] for one in without_engine(root).query("SELECT * FROM reconcile_dead_letters")] == [
        "lineitem.live"
    ]


def test_they_can_not_be_written(root: Path) -> None:
    with pytest.raises(ReconcileError):
        opened(root).execute("DELETE FROM dead_letters")


def test_they_are_deleted_as_the_page_says(root: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for number in range(2):
        put(root, "live", f"{number}.json", {"id": "no number"})
        opened(root).run_once()
    assert [one["step"] for one in without_engine(root).query("SELECT * FROM dead_letters")] == [2, 3]
    exec(example.replace(".reconcile/warehouse", str(root / "warehouse")).replace("100", "3"), {})
    assert [one["step"] for one in without_engine(root).query("SELECT * FROM dead_letters")] == [3]
    put(root, "live", "2.json", {"id": "no number"})
    opened(root).run_once()
    assert [one["step"] for one in without_engine(root).query("SELECT * FROM dead_letters")] == [3, 4]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT step FROM dead_letters",
        "SELECT * FROM dead_letters WHERE step > 1",
        "SELECT * FROM dead_letters WHERE step = '1'",
        "SELECT * FROM dead_letters WHERE connector = 'a\\'b'",
        "SELECT * FROM dead_letters WHERE connector = 'a' 'b'",
        "SELECT * FROM dead_letters WHERE connector = 'a''b'",
        "SELECT * FROM dead_letters WHERE connector = r'a'",
        "SELECT * FROM dead_letters WHERE connector = 'a' OR step = 1",
        "SELECT * FROM dead_letters d WHERE step = 1",
        "SELECT * FROM dead_letters WHERE step = 1.0",
        "SELECT * FROM dead_letters WHERE other = 1",
        "SELECT * FROM dead_letters UNION ALL SELECT * FROM dead_letters",
        "SELECT * FROM dead_letters WHERE step = 1 AND step = 2",
        "SELECT * FROM dead_letters LIMIT ALL",
        "SELECT DISTINCT * FROM dead_letters",
        "SELECT * FROM `dead_letters",
    ],
)
def test_what_says_more_is_the_engines(sql: str) -> None:
    assert _asked(sql) is None
