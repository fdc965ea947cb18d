"""The seed's example, whole: exactly its diff object, exactly its rows before and after, on real Spark and Delta, through
the command line and through the Python interface."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.base.errors import ApprovalRequired
from reconciler.diff.model import approval_diff
from reconciler.engine.protocol import Engine
from tests.served import run

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

PIPELINE = Path(__file__).parents[2] / "pipelines" / "student_grades"

STUDENTS = "insert into students values (1, 'Alice'), (2, 'Bob')"
GRADES = """insert into grades values
(1, 'algebra', 97, '2025-09-15'),
(1, 'physics', 89, '2025-11-15'),
(2, 'algebra', 85, '2025-10-22'),
(2, 'physics', 93, '2025-12-05'),
(1, 'algebra', 95, '2026-01-15'),
(1, 'physics', 87, '2026-03-15'),
(2, 'algebra', 98, '2026-04-22'),
(2, 'physics', 91, '2026-05-05')
"""
ADDITIONAL_VIEW = """
create materialized view avg_grade_all_courses as
select
student_id,
avg(class_avg) as avg
from avg_grade
group by student_id;
"""
ENRICHED = "SELECT * FROM avg_grade_enriched order by student_name, class"
ALL_COURSES = "SELECT * FROM avg_grade_all_courses order by student_id"

EXPECTED_DIFF = {
    "added_input_connectors": [],
    "added_output_connectors": [],
    "modified_input_connectors": [],
    "modified_output_connectors": [],
    "program_diff": {
        "added_tables": [],
        "added_views": ["avg_grade_all_courses"],
        "modified_tables": [],
        "modified_views": ["avg_grade", "avg_grade_enriched"],
        "removed_tables": [],
        "removed_views": [],
    },
    "program_diff_error": None,
    "removed_input_connectors": [],
    "removed_output_connectors": [],
}
BEFORE = [
    {"student_name": "Alice", "class": "algebra", "class_avg": Decimal("97.00")},
    {"student_name": "Alice", "class": "physics", "class_avg": Decimal("89.00")},
    {"student_name": "Bob", "class": "algebra", "class_avg": Decimal("85.00")},
    {"student_name": "Bob", "class": "physics", "class_avg": Decimal("93.00")},
]
AFTER = [
    {"student_name": "Alice", "class": "algebra", "class_avg": Decimal("96.00")},
    {"student_name": "Alice", "class": "physics", "class_avg": Decimal("88.00")},
    {"student_name": "Bob", "class": "algebra", "class_avg": Decimal("91.50")},
    {"student_name": "Bob", "class": "physics", "class_avg": Decimal("92.00")},
]
AFTER_ALL_COURSES = [
    {"student_id": 1, "avg": Decimal("92.00")},
    {"student_id": 2, "avg": Decimal("91.75")},
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that holds the example as this project ships it."""
    folder = tmp_path / "repository" / "pipelines" / "student_grades"
    folder.mkdir(parents=True)
    for file in ("pipeline.yaml", "program.sql"):
        (folder / file).write_text((PIPELINE / file).read_text())
    return tmp_path / "repository"


def change(repository: Path) -> None:
    """The two changes of the example: the date range extended, a view added."""
    program = repository / "pipelines" / "student_grades" / "program.sql"
    text = program.read_text()
    assert text.count("2025-12-15") == 1
    program.write_text(text.replace("2025-12-15", "2026-06-10") + ADDITIONAL_VIEW)


# In every run: the same by the command line; the Python interface on Spark in tests/docs/test_python_page.py.
@pytest.mark.slow
def test_through_python(repository: Path, spark_engine: Engine) -> None:
    pipeline = Project.open(repository, engine=spark_engine).pipeline("student_grades")
    pipeline.apply()
    pipeline.execute(STUDENTS)
    pipeline.execute(GRADES)
    assert list(pipeline.query(ENRICHED)) == BEFORE

    change(repository)
    plan = pipeline.plan()
    assert approval_diff(plan.diff) == EXPECTED_DIFF
    with pytest.raises(ApprovalRequired):
        pipeline.apply()
    assert list(pipeline.query(ENRICHED)) == BEFORE

    pipeline.approve(plan.digest)
    pipeline.apply()
    assert list(pipeline.query(ENRICHED)) == AFTER
    assert list(pipeline.query(ALL_COURSES)) == AFTER_ALL_COURSES
    assert pipeline.plan().changes_nothing
    assert stored_rows_of(repository, "avg_grade_enriched") == AFTER


def test_through_the_command_line(repository: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    def reconcile(*arguments: str, expect: int = 0) -> str:
        capsys.readouterr()
        code = run([*arguments, "--repo", str(repository)], spark_engine)
        captured = capsys.readouterr()
        assert code == expect, captured.err
        return captured.out

    def rows(sql: str) -> list[dict[str, Any]]:
        found = json.loads(reconcile("query", "student_grades", sql, "--format", "json"))["rows"]
        return [{k: Decimal(v) if k in ("class_avg", "avg") else v for k, v in row.items()} for row in found]

    reconcile("validate", "student_grades")
    reconcile("apply", "student_grades")
    reconcile("execute", "student_grades", STUDENTS)
    reconcile("execute", "student_grades", GRADES)
    assert rows(ENRICHED) == BEFORE

    change(repository)
    plan = json.loads(reconcile("plan", "student_grades", "--format", "json"))["plans"][0]
    assert plan["approval_diff"] == EXPECTED_DIFF
    reconcile("plan", "student_grades", "--detailed-exitcode", expect=2)
    reconcile("apply", "student_grades", expect=2)
    assert rows(ENRICHED) == BEFORE
    reconcile("query", "student_grades", ALL_COURSES, expect=1)

    reconcile("approve", "student_grades", plan["digest"])
    reconcile("apply", "student_grades")
    assert rows(ENRICHED) == AFTER
    assert rows(ALL_COURSES) == AFTER_ALL_COURSES
    assert stored_rows_of(repository, "avg_grade_enriched") == AFTER
    assert "Alice,algebra,96.000000" in reconcile("query", "student_grades", ENRICHED, "--format", "csv")
    assert "  no changes\n" in reconcile("plan", "student_grades", "--detailed-exitcode")


def stored_rows_of(repository: Path, relation: str) -> list[dict[str, Any]]:
    """The rows at the relation's permanent path, as another Delta reader finds them."""
    from deltalake import QueryBuilder

    from reconciler.delta.opening import open_table

    table = open_table(str(repository / ".reconcile" / "warehouse" / "student_grades" / relation))
    assert table is not None
    rows = QueryBuilder().register("t", table).execute("select * from t").read_all()
    found = sorted(zip(*[rows[name].to_pylist() for name in rows.schema.names], strict=True))
    return [dict(zip(rows.schema.names, row, strict=True)) for row in found]
