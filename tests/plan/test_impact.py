"""What a plan costs: what is read, written, lost and sent, and how long it may take by what was learnt."""

from dataclasses import replace

import pytest

from reconciler.base.declarations import RelationKind
from reconciler.diff.causes import RelationRenamed
from reconciler.diff.model import Action, Fate, RelationChange
from reconciler.plan.impact import Impact, Measure, Measures, OutputImpact, ReadImpact, TableImpact, ViewImpact, make_impact
from reconciler.plan.impact_words import describe_totals, describe_view, seconds_words
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_markdown
from reconciler.plan.model import Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.evolve_table import ColumnSource, EvolveTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.text_form import render_text
from reconciler.project.program.model import empty_program
from reconciler.project.snapshot.model import Snapshot
from tests.plan.test_forms import POLICIES, YAML, snapshot

TABLES = "CREATE TABLE t (id BIGINT, name VARCHAR);\nCREATE TABLE u (id BIGINT);\n"
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"
OVER = "CREATE MATERIALIZED VIEW w AS SELECT v.id FROM v JOIN u ON v.id = u.id;\n"
KNOWN: Measures = {
    "t": Measure(40_000, 8_000),
    "u": Measure(500, 100),
    "v": Measure(30_000, 600, 20.0, 20_000),
    "w": Measure(5, 60, 3.0, 30),
}


def plan_of(applied: Snapshot | None, desired: Snapshot | None) -> Plan:
    return make_plan("shop", "dev", applied, desired, POLICIES)


def impact(applied: str | None, desired: str | None, measures: Measures = KNOWN, yaml: str = YAML) -> Impact:
    before = snapshot(applied, yaml) if applied is not None else None
    after = snapshot(desired, yaml) if desired is not None else None
    nothing = empty_program((after or before or snapshot("")).program.settings)
    plan = plan_of(before, after)
    return make_impact(plan, before.program if before else nothing, after.program if after else nothing, measures)


def by_view(found: Impact) -> dict[str, ViewImpact]:
    return {view.view: view for view in found.views}


def test_a_modified_view_reads_what_is_stored_and_takes_its_own_rate() -> None:
    found = impact(TABLES + VIEW, TABLES + VIEW.replace("id FROM", "id + 1 AS id FROM"))
    assert found.views == (ViewImpact("v", (ReadImpact("t", 40_000, 8_000),), 30_000, (), 40.0),)
    assert (found.rows_read, found.bytes_read, found.is_complete, found.seconds) == (40_000, 8_000, True, 40.0)
    assert (found.tables, found.rows_deleted) == ((), 0)


def test_reads_go_through_views_that_are_not_stored() -> None:
    plain = "CREATE VIEW p AS SELECT t.id FROM t JOIN u ON t.id = u.id;\nCREATE MATERIALIZED VIEW n AS SELECT id FROM p;\n"
    found = impact(TABLES, TABLES + plain)
    assert [read.relation for read in by_view(found)["n"].reads] == ["t", "u"]
    assert found.rows_read == 40_500


def test_what_is_bootstrapped_in_the_same_plan_has_unknown_rows_and_the_totals_say_so() -> None:
    found = impact(TABLES + VIEW + OVER, TABLES + VIEW.replace("id FROM", "id + 1 AS id FROM") + OVER)
    assert by_view(found)["w"].reads == (ReadImpact("u", 500, 100), ReadImpact("v", None, None))
    assert not found.is_complete
    assert found.rows_read == 40_500


def test_a_new_view_has_no_rows_now_and_takes_the_median_rate() -> None:
    other = "CREATE MATERIALIZED VIEW {} AS SELECT id FROM t;\n"
    applied = TABLES + VIEW + other.format("x") + other.format("y")
    measures = {**KNOWN, "x": Measure(1, 1, 10.0, 100_000), "y": Measure(1, 1, 100.0, 10_000)}
    found = impact(applied, applied + other.format("n"), measures)
    assert by_view(found)["n"].rows is None
    assert by_view(found)["n"].seconds == pytest.approx(40_000 * 20.0 / 20_000)


def test_a_bootstrap_of_few_rows_teaches_no_rate() -> None:
    changed = VIEW.replace("id FROM", "id + 1 AS id FROM")
    empty_then = {**KNOWN, "v": Measure(0, 0, 2.0, 0)}
    assert impact(TABLES + VIEW, TABLES + changed, empty_then).seconds is None, "2 s for no rows say nothing of 40,000"
    still_few = {**empty_then, "t": Measure(9, 9)}
    assert impact(TABLES + VIEW, TABLES + changed, still_few).seconds == 2.0


def test_nothing_takes_less_than_the_fastest_bootstrap_known() -> None:
    changed = VIEW.replace("id FROM", "id + 1 AS id FROM")
    shrunk = {**KNOWN, "t": Measure(1, 1)}
    assert impact(TABLES + VIEW + OVER, TABLES + changed + OVER, shrunk).views[0].seconds == 3.0
    # The pipeline's rate would give less than what this view alone takes to compute anything.
    slow = {**KNOWN, "w": Measure(5, 60, 90.0, 30), "u": Measure(20_000, 100)}
    found = impact(TABLES + VIEW + OVER, TABLES + VIEW + OVER.replace("v.id FROM", "u.id FROM"), slow)
    assert by_view(found)["w"].seconds == 90.0


def test_nothing_learnt_is_unknown_and_never_zero() -> None:
    found = impact(TABLES, TABLES + VIEW, {"t": Measure(40_000, 8_000)})
    assert found.seconds is None
    assert found.views[0].seconds is None
    assert found.is_complete, "everything else is known"


def test_estimates_of_some_views_only_are_no_complete_total() -> None:
    wide = TABLES + VIEW + "CREATE TABLE big (id BIGINT);\nCREATE MATERIALIZED VIEW x AS SELECT id FROM big;\n"
    measures = {**KNOWN, "v": Measure(1, 1, 2.0, 10), "t": Measure(10, 10), "big": Measure(10**6, 10**6)}
    found = impact(wide, wide.replace("AS SELECT id", "AS SELECT id + 1 AS id"), measures)
    assert (found.seconds, found.is_complete) == (2.0, False)
    assert "about 2 s for 1 of 2 views, unknown for the others (estimated" in describe_totals(found)


def test_missing_figures_are_none_and_the_totals_say_so() -> None:
    found = impact(TABLES, TABLES + VIEW, {})
    assert found.views[0].reads == (ReadImpact("t", None, None),)
    assert (found.rows_read, found.is_complete) == (0, False)


def test_a_first_apply_reads_empty_tables() -> None:
    found = impact(None, TABLES + VIEW + OVER, {})
    assert by_view(found)["v"].reads == (ReadImpact("t", 0, 0),)
    assert found.tables == ()


def test_a_cleared_table_loses_its_rows_and_is_read_empty() -> None:
    found = impact(TABLES + VIEW, TABLES.replace("name VARCHAR", "name INT") + VIEW.replace("id FROM", "name FROM"))
    assert found.tables == (TableImpact("t", "cleared", 40_000, 8_000),)
    assert found.rows_deleted == 40_000
    assert found.views[0].reads == (ReadImpact("t", 0, 0),)


def test_dropped_tables_lose_their_rows_and_dropped_views_none() -> None:
    found = impact(TABLES + VIEW, None)
    assert found.tables == (TableImpact("t", "dropped", 40_000, 8_000), TableImpact("u", "dropped", 500, 100))
    assert found.rows_deleted == 40_500
    assert found.views == ()


def test_a_table_whose_name_a_view_takes_loses_its_rows() -> None:
    found = impact(TABLES, TABLES.replace("CREATE TABLE u (id BIGINT)", "CREATE MATERIALIZED VIEW u AS SELECT id FROM t"))
    assert found.tables == (TableImpact("u", "dropped", 500, 100),)
    assert by_view(found)["u"].rows is None or by_view(found)["u"].rows == 500


def test_a_view_whose_name_a_table_takes_is_no_table_that_loses_rows() -> None:
    found = impact(TABLES + VIEW, TABLES + "CREATE TABLE v (id BIGINT);")
    assert found.tables == ()


def test_evolved_rows_are_written_anew_and_not_deleted() -> None:
    before, after = snapshot(TABLES + VIEW), snapshot(TABLES + VIEW.replace("id FROM", "id + 1 AS id FROM"))
    plan = plan_of(before, after)
    columns = (ColumnSource("id", "BIGINT", "id"), ColumnSource("name", "VARCHAR", "name"))
    steps = (EvolveTable("t", "t", columns), BootstrapView("v", ("t",)), PublishTable("t"), CommitSnapshot())
    found = make_impact(replace(plan, steps=steps), before.program, after.program, KNOWN)
    assert found.tables == (TableImpact("t", "evolved", 40_000, 8_000),)
    assert found.rows_deleted == 0
    assert found.views[0].reads == (ReadImpact("t", 40_000, None),), "as many rows, but they are not written yet"


def test_what_is_renamed_is_known_by_its_former_name() -> None:
    before = snapshot(TABLES + VIEW)
    after = snapshot(TABLES.replace("TABLE t", "TABLE s") + VIEW.replace("FROM t", "FROM s").replace("VIEW v", "VIEW z"))
    plan = plan_of(before, after)
    renamed = (
        RelationChange(Action.MODIFIED, RelationKind.TABLE, "s", (RelationRenamed("t", "s"),), Fate.KEPT, "t"),
        RelationChange(Action.MODIFIED, RelationKind.VIEW, "z", (RelationRenamed("v", "z"),), Fate.RECOMPUTED, "v"),
    )
    steps = (BootstrapView("z", ("s",)), CommitSnapshot())
    found = make_impact(
        replace(plan, diff=replace(plan.diff, relations=renamed), steps=steps), before.program, after.program, KNOWN
    )
    assert found.views == (ViewImpact("z", (ReadImpact("s", 40_000, 8_000),), 30_000, (), 40.0),)
    again = replace(plan, diff=replace(plan.diff, relations=renamed), steps=(BootstrapView("v", ("s",)),))
    assert make_impact(again, before.program, after.program, KNOWN).views[0].rows is None, "v is another one now"


def test_where_nothing_is_read_nothing_is_said_of_reading() -> None:
    both = snapshot(TABLES + VIEW), snapshot(TABLES)
    without_view, found = plan_of(*both), make_impact(plan_of(*both), both[0].program, both[1].program, KNOWN)
    assert "impact" not in render_text(without_view, impact=found)
    assert "Impact" not in render_markdown(without_view, impact=found)
    both = both[0], snapshot(TABLES.replace("CREATE TABLE u (id BIGINT);", "") + VIEW)
    without_table, found = plan_of(*both), make_impact(plan_of(*both), both[0].program, both[1].program, KNOWN)
    assert "  impact\n    deletes 500 rows\n" in render_text(without_table, impact=found)


def test_outputs_of_a_bootstrapped_view_and_what_they_receive() -> None:
    yaml = YAML + (
        "spec:\n  connectors:\n"
        + "".join(
            f"    - name: {name}\n      view: {view}\n      transport: {{name: delta_table_output, config: {{uri: /x}}}}\n"
            for name, view in (("lake", "v"), ("copy", "v"), ("other", "w"))
        )
    )
    found = impact(TABLES + OVER + VIEW, TABLES + VIEW + OVER.replace("v.id FROM", "u.id FROM"), yaml=yaml)
    assert by_view(found)["w"].outputs == (OutputImpact("w.other", by_view(found)["w"].outputs[0].receives),)
    assert "v" not in by_view(found)
    first = impact(None, TABLES + VIEW + OVER, {}, yaml)
    assert by_view(first)["v"].outputs == (OutputImpact("v.copy", "full contents"), OutputImpact("v.lake", "full contents"))


def test_a_sink_that_is_emptied_first_is_told_as_one() -> None:
    yaml = (
        YAML
        + "spec:\n  connectors:\n    - name: lake\n      view: v\n      on_bootstrap: truncate\n"
        + "      transport: {name: delta_table_output, config: {uri: /x}}\n"
    )
    found = impact(TABLES + VIEW, TABLES + VIEW.replace("id FROM", "id + 1 AS id FROM"), yaml=yaml)
    assert describe_view(by_view(found)["v"]).endswith("v.lake receives full contents, in an emptied sink; about 40 s")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "less than 1 s"), (99, "99 s"), (150, "2 min"), (7_800, "2 h 10 min"), (7_200, "2 h"), (1_000_000, "11 days")],
)
def test_times_are_told_in_the_unit_that_fits(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words
