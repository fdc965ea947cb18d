"""docs/evolution.md: its files hold, and its tables say what a plan does."""

import re
from pathlib import Path

import pytest

from reconciler.base.declarations import Evolution, Settings
from reconciler.diff.model import Fate
from reconciler.diff.tables import judge_rows, table_causes, widens
from reconciler.project.manifest.check import check_pipeline
from reconciler.project.manifest.yaml_text import load_yaml
from reconciler.project.program.model import Table
from reconciler.sql.statements import read_sql

PAGE = (Path(__file__).parents[2] / "docs" / "evolution.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(yaml|sql)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
HEAD = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
WORDS = {
    "rows are deleted": Fate.CLEARED,
    "rows are written anew": Fate.EVOLVED,
    "rows stay where they are": Fate.EXTENDED,
}
T = "CREATE TABLE t (a INT, b STRING)"
CHANGES = {
    "nullable columns added after all others": (T, T.replace("STRING", "STRING, c INT")),
    "nullable columns added elsewhere, columns dropped or reordered, NOT NULL dropped": (T, "CREATE TABLE t (b STRING)"),
    "a type widened": (T, T.replace("INT", "BIGINT")),
    "a type changed in another way, NOT NULL added, another primary key": (T, T.replace("INT", "INT NOT NULL")),
    "`materialized`, `append_only`": (T, T + " WITH ('append_only' = 'true')"),
    "a column renamed by `moved`": (T, T.replace("b STRING", "c STRING")),
    "a table renamed by `moved`, `DEFAULT`, `LATENESS`, `COMMENT`": (T, T.replace("STRING", "STRING DEFAULT 'x'")),
}


@pytest.mark.parametrize(("language", "text"), BLOCKS)
def test_every_example_holds(language: str, text: str) -> None:
    if language == "sql":
        assert read_sql(text, "evolution.md").diagnostics == ()
        return
    document = load_yaml(HEAD + text, "evolution.md")
    assert [*document.diagnostics, *check_pipeline(document.value, document)] == []


def table(sql: str) -> Table:
    read = read_sql(sql, "p")
    assert read.diagnostics == ()
    return Table(read.tables[0])


def test_the_table_of_changes_is_what_a_plan_does() -> None:
    rows = re.findall(r"^\| (.+?) \| (rows .+?) \| (rows .+?) \|$", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == list(CHANGES)
    for change, clear, evolve in rows:
        applied, desired = map(table, CHANGES[change])
        renamed = {"c": "b"} if change.startswith("a column renamed") else None
        causes = table_causes(applied, desired, (Settings("p"), Settings("p")), renamed=renamed)
        for evolution, words in ((Evolution.CLEAR, clear), (Evolution.EVOLVE, evolve)):
            fate = judge_rows(causes, desired, evolution)
            # Kept and extended are alike for rows.
            assert (Fate.EXTENDED if fate is Fate.KEPT else fate) is WORDS[words], (change, evolution)


def test_the_examples_of_widening_are_some() -> None:
    for pair in (("INT", "BIGINT"), ("DECIMAL(10,2)", "DECIMAL(12,2)"), ("FLOAT", "DOUBLE"), ("VARCHAR(10)", "STRING")):
        assert f"`{pair[0]}` to" in PAGE
        assert widens(*pair)
