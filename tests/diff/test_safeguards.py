"""What counts as loosening a safeguard, and what does not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.base.declarations import BootstrapPolicy, Retention
from reconciler.diff.compare import compare
from reconciler.diff.safeguards import _forgets_sooner, _keeps_less
from reconciler.plan.make import make_plan
from reconciler.plan.model import Policies
from tests.diff.test_hidden_changes import snapshot

T = "CREATE TABLE t (x INT);\nCREATE VIEW v AS SELECT x FROM t;"
U = "CREATE TABLE u (x INT);\nCREATE VIEW v AS SELECT x FROM u;"
MOVED = "moved: [{from: t, to: u}]"


def loosened(applied: str, desired: str, sql: str = T) -> list[str]:
    found = compare(snapshot(T, f"spec: {{{applied}}}"), snapshot(sql, f"spec: {{{desired}}}")).loosened
    return [f"{one.safeguard.value} {one.subject}: {one.applied} > {one.desired}" for one in found]


@pytest.mark.parametrize(
    ("applied", "desired", "found"),
    [
        ("bootstrap_policy: reject", "bootstrap_policy: await_approval", ["bootstrap_policy shop: reject > await_approval"]),
        ("bootstrap_policy: await_approval", "bootstrap_policy: allow", ["bootstrap_policy shop: await_approval > allow"]),
        ("", "bootstrap_policy: allow", ["bootstrap_policy shop: await_approval > allow"]),
        ("bootstrap_policy: allow", "bootstrap_policy: reject", []),
        ("tables: {t: {protect: true}}", "", ["protect t: true > false"]),
        ("views: {v: {protect: true}}", "views: {v: {protect: false}}", ["protect v: true > false"]),
        ("", "tables: {t: {protect: true}}", []),
        ("evolution: evolve", "evolution: clear", ["evolution t: evolve > clear"]),
        ("", "tables: {t: {evolution: evolve}}", ["evolution t: clear > evolve"]),
        ("evolution: clear", "tables: {t: {evolution: clear}}", []),
        ("", "retention: {versions: 3}", ["retention shop: none > versions: 3"]),
        ("retention: {versions: 3}", "", []),
        ("retention: {versions: 3}", "retention: {versions: 2}", ["retention shop: versions: 3 > versions: 2"]),
        ("retention: {versions: 3}", "retention: {versions: 3, keep: 1d}", []),
        ("retention: {keep: 1d}", "retention: {versions: 3}", ["retention shop: keep: 1d > versions: 3"]),
        ("", "retention: {steps: 1d}", ["retention shop: none > steps: 1d"]),
        ("", "retention: {steps: 30d}", []),
        ("retention: {steps: 30d}", "", ["retention shop: steps: 30d > none"]),
        ("", "retention: {checkpoints: 30d}", ["retention shop: none > checkpoints: 30d"]),
        ("", "views: {v: {retention: {versions: 1}}}", ["retention v: none > versions: 1"]),
        ("retention: {versions: 1}, views: {v: {retention: {versions: 5}}}", "retention: {versions: 1}",
         ["retention v: versions: 5 > versions: 1"]),
        ("tables: {t: {used_by: [sales, tax]}}", "tables: {t: {used_by: [sales]}}", ["used_by t: sales, tax > sales"]),
        ("tables: {t: {used_by: [sales]}}", "tables: {t: {used_by: [sales, tax]}}", []),
    ],
)  # fmt: skip
def test_a_safeguard(applied: str, desired: str, found: list[str]) -> None:
    assert loosened(applied, desired) == found


@pytest.mark.parametrize(
    ("safeguard", "told"),
    [
        ("protect: true", "protect u: true > false"),
        ("evolution: evolve", "evolution u: evolve > clear"),
        ("used_by: [sales]", "used_by u: sales > nobody"),
        ("retention: {versions: 5}", "retention u: versions: 5 > versions: 1"),
    ],
)
def test_a_rename_takes_none_away(safeguard: str, told: str) -> None:
    kept = "retention: {versions: 1}"
    applied = f"{kept}, tables: {{t: {{{safeguard}}}}}"
    assert loosened(applied, f"{kept}, {MOVED}", U) == [told]
    assert loosened(applied, f"{kept}, {MOVED}, tables: {{u: {{{safeguard}}}}}", U) == []


def test_what_is_added_or_removed_has_none_to_loosen() -> None:
    more = T + "\nCREATE TABLE w (x INT);"
    assert loosened("", "tables: {w: {evolution: evolve}}", more) == []
    assert loosened("tables: {t: {protect: true}}", "", "CREATE TABLE w (x INT);") == []


AGES = st.none() | st.integers(0, 3)
RETENTIONS = st.builds(Retention, AGES, AGES, AGES, AGES)


def kept(rule: Retention, place: int, age: int) -> bool:
    """Whether a version stays that is so many places behind the active one, and so old: as `retention` decides it."""
    if rule.versions is None and rule.keep is None:
        return True
    return place <= (rule.versions or 0) or (rule.keep is not None and age <= rule.keep)


@given(RETENTIONS, RETENTIONS)
def test_what_keeps_less_is_loosened(before: Retention, after: Retention) -> None:
    places: list[Callable[[Retention], bool]] = [
        lambda rule, place=place, age=age: kept(rule, place, age) for place in range(1, 5) for age in range(1, 5)
    ]
    loses = any(stays(before) and not stays(after) for stays in places)
    assert _keeps_less(before, after) or not loses
    assert not _keeps_less(before, before)
    assert not _forgets_sooner(before, before)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("protect: true", "protect t: false > true"),
        ("used_by: [tax office]", "used_by t: nobody > tax office"),
        ("retention: {versions: 5}", "retention t: none > versions: 5"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_what_guards_a_new_table_is_told_and_an_approval_covers_it(said: str, told: str, is_first: bool) -> None:
    applied = None if is_first else snapshot("CREATE TABLE s (x INT);", "")
    sql = "CREATE TABLE s (x INT);\nCREATE TABLE t (x INT);"
    guarded, bare = (
        make_plan("shop", "dev", applied, snapshot(sql, text), Policies(BootstrapPolicy.AWAIT_APPROVAL))
        for text in (f"spec: {{tables: {{t: {{{said}}}}}}}", "")
    )
    assert [f"{one.what} {one.subject}: {one.applied} > {one.desired}" for one in guarded.diff.metadata] == [told]
    assert guarded.digest != bare.digest
    assert not bare.diff.metadata
