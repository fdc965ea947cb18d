"""The benchmark of plan: its programs are what it says they are, and what it measures is what was spent."""

import re
import sys
from pathlib import Path

import pytest

from bench.applied import write_applied
from bench.measure import CommandFailed, Cost, measure
from bench.plan import measure_plan, ratios_of
from bench.programs import (
    CORE,
    DEEPEST,
    PIPELINE,
    column_types,
    make_program,
    write_dbt,
    write_pipeline,
    write_sqlmesh,
    write_view,
)
from reconciler.apply.planning import plan_pipeline
from reconciler.base.diagnostics import errors_among
from reconciler.environment.target import open_target
from reconciler.workspace.desired import validate_pipeline

VIEWS = 30


@pytest.mark.parametrize("views", [30, 100, 1000, 10_000])
def test_six_views_of_ten_descend_from_the_core(views: int) -> None:
    program = make_program(views)
    assert len(program.views) == views
    assert 0.6 * views < len(program.descendants(CORE)) < 0.7 * views


def test_thirds_filter_join_and_aggregate_within_the_depth() -> None:
    program = make_program(1000)
    queries = [view.query(str) for view in program.views]
    assert 330 <= sum("JOIN" in query for query in queries) <= 340
    assert 330 <= sum("GROUP BY" in query for query in queries) <= 340
    depths: dict[str, int] = {}
    for view in program.views:
        depths[view.name] = 1 + max(depths.get(read, 0) for read in view.reads)
    assert 10 < max(depths.values()) <= DEEPEST


def test_the_same_size_gives_the_same_program_but_for_the_literal() -> None:
    program, changed = make_program(VIEWS), make_program(VIEWS, changed=True)
    assert program == make_program(VIEWS)
    assert program.views[1:] == changed.views[1:]
    assert program.views[0] != changed.views[0]


def test_the_program_is_valid_and_its_plan_changes_what_descends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "cache"))
    program = make_program(VIEWS)
    write_pipeline(program, tmp_path)
    target = open_target(tmp_path, None)
    validated = validate_pipeline(target, PIPELINE)
    assert errors_among(validated.diagnostics) == ()
    assert validated.program is not None
    assert len(validated.program.views) == VIEWS
    assert {view.name: list(view.column_names) for view in validated.program.views.values()} == {
        view.name: [name for name, _ in view.relation.columns] for view in program.views
    }
    write_applied(tmp_path, column_types(program))
    assert plan_pipeline(target, PIPELINE).changes_nothing
    write_view(make_program(VIEWS, changed=True).views[0], tmp_path)
    changes = plan_pipeline(target, PIPELINE).diff.relations
    assert {change.name for change in changes} == {CORE, *program.descendants(CORE)}


def test_the_peers_get_the_same_selects(tmp_path: Path) -> None:
    program = make_program(VIEWS)
    write_dbt(program, tmp_path / "dbt")
    write_sqlmesh(program, tmp_path / "sqlmesh")
    for view in program.views:
        ours = view.query(str)
        dbt = (tmp_path / "dbt" / "models" / f"{view.name}.sql").read_text().strip()
        sqlmesh = (tmp_path / "sqlmesh" / "models" / f"{view.name}.sql").read_text().strip()
        assert re.sub(r"\{\{ (?:source\('raw', |ref\()'(\w+)'\) \}\}", r"\1", dbt) == ours
        assert re.sub(r"(?<=FROM |JOIN )(?:raw|big)\.", "", sqlmesh.partition(";\n\n")[2]) == ours


def test_a_process_is_measured_with_its_children_and_without_its_parent(tmp_path: Path) -> None:
    parents = bytearray(b"x" * 200 * 2**20)
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    run = f"subprocess.run([sys.executable, '-c', {burn!r}])"
    script = f"import subprocess, sys\nheld = b'x' * (64 << 20)\n{run}\nprint(len(held))"
    measured = measure((sys.executable, "-I", "-c", script), tmp_path, {})
    assert measured.output.strip() == str(64 << 20)
    assert 0.3 <= measured.cost.cpu < 3
    assert measured.cost.wall >= 0.3
    assert 64 <= measured.cost.peak < 150 < len(parents) / 2**20


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "print('why'); raise SystemExit(3)")
    with pytest.raises(CommandFailed, match=r"exit code 3(?s:.*)why"):
        measure(command, tmp_path, {})
    assert measure(command, tmp_path, {}, fine=(0, 3)).output == "why\n"


@pytest.mark.slow
def test_the_whole_measurement_gives_sane_numbers(tmp_path: Path) -> None:
    costs = measure_plan(VIEWS, tmp_path, runs=1)
    assert set(costs) == {"floor", "floor changed", "plan cold", "plan warm", "plan changed", "sqlglot"}
    for cost in costs.values():
        assert 0.01 < cost.cpu < 60
        assert 0.01 < cost.wall < 120
        assert 10 < cost.peak < 2000
    assert costs["plan warm"].cpu > 0.9 * costs["floor"].cpu


def test_ratios_know_which_way_is_good() -> None:
    unit, double = Cost(1.0, 1.0, 100.0), Cost(2.0, 2.0, 100.0)
    costs = {
        "floor": unit,
        "floor changed": unit,
        "sqlglot": unit,
        "plan cold": double,
        "plan warm": double,
        "plan changed": double,
    }
    costs |= {"SQLMesh cold": Cost(40.0, 40.0, 1.0), "SQLMesh warm": Cost(40.0, 40.0, 1.0)}
    met = {ratio.name: ratio.is_met for ratio in ratios_of({1000: costs})}
    assert met["CPU, nothing changed / floor"] is False
    assert met["CPU, cold / sqlglot"] is True
    assert met["CPU, SQLMesh cold / plan cold"] is True
    assert met["CPU, SQLMesh warm / plan warm"] is False
    assert not any("dbt" in name or "10,000" in name for name in met)
