"""Queries that are long chains or deep: what is taken by a first plan is taken by every later one, up to the longest that is
taken at all."""

import pytest

from reconciler.diff.causes import ReadsChanged
from reconciler.diff.compare import compare
from reconciler.diff.wording import describe_cause
from reconciler.plan.json_form import cause_to_json
from reconciler.sql.limits import MAXIMUM_TOKENS
from tests.cells import mostly_slow
from tests.diff.test_hidden_changes import changed, snapshot
from tests.plan.test_forms_json import fits
from tests.plan.test_impact import plan_of

_TABLE = "CREATE TABLE o (id BIGINT, b BOOLEAN, s STRING); CREATE VIEW v AS "


def _chain(operator: str, operand: str, length: int) -> str:
    return f" {operator} ".join([operand] * length)


def _within(before: str, inner: str, after: str, depth: int) -> str:
    return before * depth + inner + after * depth


_SHAPES = {
    "sum": lambda n: f"SELECT {_chain('+', 'id', n)} AS x FROM o",
    "sum of constants": lambda n: f"SELECT id + {_chain('+', '1', n)} AS x, id FROM o",
    "minus": lambda n: f"SELECT sum(id) - {_chain('-', 'max(id)', n)} AS x FROM o",
    "and": lambda n: f"SELECT id FROM o WHERE {_chain('AND', 'b', n)}",
    "or": lambda n: f"SELECT {_chain('OR', 'b', n)} AS x FROM o",
    "concat": lambda n: f"SELECT {_chain('||', 's', n)} AS x FROM o",
    "cases": lambda n: "SELECT CASE " + "WHEN b THEN id " * n + "END AS x FROM o",
    "nested cases": lambda n: f"SELECT {_within('CASE WHEN b THEN id ELSE ', '1', ' END', n)} AS x FROM o",
    "calls": lambda n: f"SELECT {_within('abs(', 'id', ')', n)} AS x FROM o",
    "parentheses": lambda n: f"SELECT {_within('(1 + ', 'id', ')', n)} AS x FROM o",
    "not": lambda n: f"SELECT {'NOT ' * n} b AS x FROM o",
    "signs": lambda n: f"SELECT {'- ' * n} id AS x FROM o",
    "casts": lambda n: f"SELECT id{'::INT' * n} AS x FROM o",
    "union": lambda n: _chain("UNION ALL", "SELECT id FROM o", n),
    "queries": lambda n: f"SELECT id FROM {_within('(SELECT id FROM ', 'o', ')', n)}",
    "with": lambda n: f"{_within('WITH w AS (', 'SELECT id FROM o', ') SELECT id FROM w', n)}",
    "group": lambda n: f"SELECT max(id) AS m FROM o GROUP BY {_chain('+', 'id', n)}",
    "case of a chain": lambda n: f"SELECT CASE WHEN {_chain('AND', 'b', n)} THEN 1 END AS x FROM o",
    "window": lambda n: f"SELECT sum({_chain('+', 'id', n)}) OVER (ORDER BY id) AS x FROM o",
}


@pytest.mark.parametrize("length", mostly_slow([100, 300, 350, 500, 1_100], 500))
@pytest.mark.parametrize("shape", _SHAPES)
def test_what_compiles_can_be_changed(shape: str, length: int) -> None:
    written = _SHAPES[shape]
    before = snapshot(_TABLE + written(length))
    assert changed(compare(before, snapshot(_TABLE + written(length + 1)))) == {"v"}
    other = snapshot(_TABLE + written(length).replace("id", "(id + 1)", 1).replace("b ", "(NOT b) ", 1))
    assert changed(compare(other, before)) <= {"v"}
    plan_of(None, before)
    plan_of(before, other)
    plan_of(before, None)


def test_the_longest_chain_that_is_taken_can_be_changed() -> None:
    def of(length: int) -> str:
        return f"{_TABLE}SELECT {_chain('+', 'id', length)} AS x FROM o"

    longest = MAXIMUM_TOKENS // 2 - 3
    before, after = snapshot(of(longest)), snapshot(of(longest - 1))
    assert changed(compare(before, after)) == {"v"}
    with pytest.raises(AssertionError, match="S290"):
        snapshot(of(longest + 2))


def test_what_began_far_away_is_told_by_the_nearest_and_the_last() -> None:
    def of(constant: int) -> str:
        links = "".join(f"CREATE VIEW v{number} AS SELECT id FROM v{number - 1};\n" for number in range(1, 100))
        return f"{_TABLE}SELECT 1 AS x; CREATE VIEW v0 AS SELECT id + {constant} AS id FROM o;\n{links}"

    plan = plan_of(snapshot(of(1)), snapshot(of(2)))
    [cause] = next(change for change in plan.diff.relations if change.name == "v99").causes
    assert isinstance(cause, ReadsChanged)
    assert cause.path.names == (*(f"v{number}" for number in range(98, 87, -1)), "v0")
    assert cause.path.passed_over == 98 - 11
    assert "v88 → 87 more → v0, whose query changed" in describe_cause(cause)
    assert fits(cause_to_json(cause), "cause")
