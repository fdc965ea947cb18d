"""The cases that are written down: a query, and what is kept of it, or why nothing is.

A folder of `cases/` has `query.sql` and one of these:

- `state.sql`, `changed.sql` (where each relation changed that has a rule), `finishing.sql`, and, where many groups have one,
  `summary.sql` and `changed_summary.sql`;
- `changed.sql` and `added.sql` (of a view of two columns, whatever the query gives);
- `keys.sql` and `groups.sql`;
- `why.txt`.

`RECONCILE_UPDATE_GOLDEN=1` writes them; read the difference.
"""

import os
import re
from pathlib import Path

import pytest

from reconciler.incremental import summaries
from reconciler.incremental.added_rows import added_query
from reconciler.incremental.changed_groups import changed_groups_query, keys_query
from reconciler.incremental.changed_rows import changed_rows_query
from reconciler.incremental.derive import derived
from reconciler.incremental.kept_aggregate import changed_query, columns_of, finishing_query, state_query
from reconciler.incremental.model import ChangedGroups, KeptAggregate, LinearRows, Recompute

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir())
MONEY = "DECIMAL(15,2)"
COLUMNS: dict[str, dict[str, str | None]] = {
    "lineitem": {
        "l_orderkey": "BIGINT",
        "l_quantity": MONEY,
        "l_extendedprice": MONEY,
        "l_discount": MONEY,
        "l_returnflag": "STRING",
        "l_linestatus": "STRING",
        "l_shipdate": "DATE",
    },
    "orders": {"o_orderkey": "BIGINT", "o_custkey": "BIGINT", "o_orderdate": "DATE", "o_shippriority": "INT"},
    "customer": {"c_custkey": "BIGINT", "c_mktsegment": "STRING"},
    "returns": {"o_orderkey": "BIGINT", "weight": "DOUBLE"},
}


def types_of(kept: KeptAggregate) -> dict[str, str]:
    """The types that the columns of what is kept might have."""
    found = {}
    for name in columns_of(kept):
        of_decimals = name.startswith(("sum_", "size_", "mean_")) and not kept.sums[int(name.rpartition("_")[2])].is_integer
        kind = "DOUBLE" if name.startswith("mean_") else "BIGINT"
        found[name] = ("decimal(19,6)" if name.startswith("mean_") else "decimal(25,2)") if of_decimals else kind
    return found


def written(query: str) -> dict[str, str]:
    """The files of a case, but for its query."""
    method = derived(query, tuple((key, tuple(of.items())) for key, of in COLUMNS.items()))
    if isinstance(method, Recompute):
        return {"why.txt": "\n".join(filter(None, (method.reason, method.hint))) + "\n"}
    if isinstance(method, LinearRows):
        columns = [("a", "STRING"), ("b", "INT")]
        grown, changed = (sorted({*method.relations} - less) for less in (method.beside, method.fixed))
        found = {"changed.sql": changed_rows_query(method, changed, columns, "__change")}
        found |= {"added.sql": added_query(method, grown, columns)} if grown else {}
        return {name: "\n".join(broken(text)) + "\n" for name, text in found.items()}
    if isinstance(method, ChangedGroups):
        changed = sorted({*method.relations} - method.fixed)
        columns = [
            (f"c{at}", "DOUBLE" if at else "STRING")
            for at in range(max(*(len(one.text.items) for one in method.groups.blocks), *method.groups.items, 2))
        ]
        found = {"keys.sql": keys_query(method, changed), "groups.sql": changed_groups_query(method, columns)}
        return {name: "\n".join(broken(text)) + "\n" for name, text in found.items()}
    kept = method
    changed = sorted({*kept.relations} - kept.fixed)
    types = types_of(kept)
    found = {"state.sql": state_query(kept), "finishing.sql": finishing_query(kept, types)}
    if changed:
        found["changed.sql"] = changed_query(kept, changed, types, "__change")
    found |= written_summary(kept, types)
    return {name: "\n".join(broken(text)) + "\n" for name, text in found.items()}


def written_summary(kept: KeptAggregate, types: dict[str, str]) -> dict[str, str]:
    """The files of the summary of many groups."""
    summary = summaries.summary_of(kept, types)
    if summary is None:
        return {}
    own = types_of(summary) if isinstance(summary, KeptAggregate) else types
    changed = summaries.changed_summary_query(kept, summary, own, "__change", are_all=False)
    return {"summary.sql": summaries.summary_query(summary), "changed_summary.sql": changed}


def broken(text: str) -> list[str]:
    """A query in lines, so that a difference can be read."""
    for word in (" FROM ", " UNION ALL ", " WHERE ", " GROUP BY ", " HAVING ", " ORDER BY "):
        text = text.replace(word, f"\n{word[1:]}")
    return [line.rstrip() for line in text.split("\n")]


@pytest.mark.parametrize("name", NAMES)
def test_a_query_is_maintained_as_is_written_down(name: str) -> None:
    folder = CASES / name
    found = written((folder / "query.sql").read_text().rstrip("\n"))
    if os.environ.get("RECONCILE_UPDATE_GOLDEN"):
        for path in folder.iterdir():
            if path.name != "query.sql":
                path.unlink()
        for file, text in found.items():
            (folder / file).write_text(text)
    assert {path.name: path.read_text() for path in folder.iterdir() if path.name != "query.sql"} == found


def test_there_are_cases_of_both_kinds() -> None:
    kinds = [(CASES / name / "why.txt").exists() for name in NAMES]
    assert min(kinds.count(True), kinds.count(False)) >= 12


def test_the_cases_that_the_page_names_are_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "incremental.md").read_text()
    rows = [line for line in page.splitlines() if line.count(" | ") >= 4]
    named = {name for line in rows for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", line.rpartition(" | ")[2])}
    assert len(named) >= 20
    assert named <= set(NAMES)
