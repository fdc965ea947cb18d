"""A table of another pipeline gives up its name, and another one takes it later: who reads that name reads another table,
and his plan says so: before that pipeline is applied and after, whether its files still say what was renamed or not."""

from pathlib import Path

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.plan.model import Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.shops.two_pipelines import YAML, Pair, RefusingEngine

T, U = "CREATE TABLE t (id BIGINT, x INT);\n", "CREATE TABLE u (id BIGINT, x INT);\n"
T0 = T.replace("TABLE t", "TABLE t0")
V = "CREATE MATERIALIZED VIEW v AS SELECT id, x FROM t;\n"
V0 = V.replace("FROM t", "FROM t0")
READER = "CREATE MATERIALIZED VIEW m AS SELECT id, x FROM sales.t;\n"
READER_OF_VIEW = READER.replace("sales.t", "sales.v")
T_TO_T0, U_TO_T = "{from: t, to: t0}", "{from: u, to: t}"


class Moving(Pair):
    """See Pair; with entries of `moved`."""

    def bring(self, program: str, moved: str = "", *, applies: bool = True) -> None:
        self.write("sales", program)
        yaml = self.root / "pipelines/sales/pipeline.yaml"
        yaml.write_text(YAML.format(name="sales", policy="allow") + (f"  moved: [{moved}]\n" if moved else ""))
        if applies:
            self.apply("sales")


@pytest.fixture
def pair(tmp_path: Path) -> Moving:
    (tmp_path / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: .reconcile/warehouse}\n")
    return Moving(tmp_path, RefusingEngine(DeltaWriter()))


def planned(pair: Pair) -> Plan:
    return plan_pipeline(pair.project.target, "grades")


def built(plan: Plan) -> list[str]:
    return [step.relation for step in plan.steps if isinstance(step, BootstrapView)]


# What sales says at first, in between and in the end, and what it says to have moved.
WAYS = {
    "renamed, and another one renamed": (T + U, (T0 + U, T_TO_T0), (T0 + T, U_TO_T), READER),
    "renamed, and made anew": (T, (T0, T_TO_T0), (T0 + T, ""), READER),
    "dropped, and another one renamed": (T + U, (U, ""), (T, U_TO_T), READER),
    "below a view": (T + U + V, (T0 + U + V0, T_TO_T0), (T0 + T + V, U_TO_T), READER_OF_VIEW),
}


# Where what moved goes from the files, it stayed there before.
FORGOTTEN = [(way, forgotten) for way in sorted(WAYS) for forgotten in (False, True)]


@pytest.mark.parametrize(
    ("way", "forgotten"), mostly_slow(FORGOTTEN, (sorted(WAYS)[0], False), *((way, True) for way in sorted(WAYS)))
)
def test_who_reads_a_name_that_another_table_took_is_told(pair: Moving, way: str, forgotten: bool) -> None:
    first, between, last, reader = WAYS[way]
    pair.bring(first)
    pair.pipeline("sales").execute("INSERT INTO t VALUES (1, 10)")
    pair.write("grades", reader)
    pair.apply("grades")
    assert planned(pair).changes_nothing

    pair.bring(*between)
    pair.bring(*last, applies=False)
    before = planned(pair)
    assert built(before) == ["m"]
    pair.apply("sales")
    after = planned(pair)
    assert (after.digest, built(after)) == (before.digest, ["m"])
    if forgotten:
        pair.bring(last[0])
        assert (planned(pair).digest, built(planned(pair))) == (before.digest, ["m"])

    rows = pair.rows("m")
    told = pair.run("grades")
    assert any("A561" in line for line in told)
    assert pair.rows("m") == rows

    pair.apply("grades")
    assert pair.rows("m") != rows
    assert planned(pair).changes_nothing
    pair.bring(last[0] + "CREATE TABLE more (id BIGINT);\n")
    assert planned(pair).changes_nothing


def test_who_reads_a_table_that_was_never_renamed_is_told_nothing(pair: Moving) -> None:
    pair.bring(T + U)
    pair.write("grades", READER)
    pair.apply("grades")
    pair.bring(T + U.replace("TABLE u", "TABLE other"), "{from: u, to: other}")
    assert planned(pair).changes_nothing
    pair.bring(T + U)
    assert planned(pair).changes_nothing


MADE_ANEW = {
    "a table": (T, U, READER, "t"),
    "a view": (T + V, T + V.replace("MATERIALIZED ", ""), READER_OF_VIEW, "v"),
}


@pytest.mark.parametrize("what", sorted(MADE_ANEW))
@pytest.mark.parametrize("how", ["promote", "apply"])
def test_rows_that_were_staged_of_a_table_are_not_those_of_one_that_was_made_anew(pair: Moving, what: str, how: str) -> None:
    there, gone, reader, name = MADE_ANEW[what]
    pair.bring(there)
    pair.write("grades", "CREATE TABLE w (id BIGINT, x INT);\nCREATE MATERIALIZED VIEW m AS SELECT id, x FROM w;\n")
    pair.apply("grades")
    pair.pipeline("sales").execute("INSERT INTO t VALUES (1, 10)")
    pair.write("grades", "CREATE TABLE w (id BIGINT, x INT);\n" + reader)
    pair.pipeline("grades").stage()
    staged = pair.head().staged
    assert staged is not None
    before = pair.head("sales").published
    assert before is not None

    pair.bring(gone)
    pair.bring(there)
    while pair.head("sales").published.relations[name].version < before.relations[name].version:
        pair.pipeline("sales").execute("INSERT INTO t VALUES (2, 20)")
    assert pair.head("sales").published.relations[name].version == before.relations[name].version
    built = len([call for call in pair.engine.calls if hasattr(call, "view")])
    getattr(pair.pipeline("grades"), how)()
    computed = [call.view for call in pair.engine.calls if hasattr(call, "view")][built:]
    assert computed == ["m"]
