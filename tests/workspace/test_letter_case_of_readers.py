"""Letter case of a column that another pipeline reads: data to a reader that shows names, else no more than a word."""

from pathlib import Path

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.plan.text_form import render_text
from tests.shops.two_pipelines import Pair, two_pipelines

SHOP = """\
CREATE TABLE t (id BIGINT, {note} STRING);
CREATE MATERIALIZED VIEW m AS SELECT id AS {total}, {note} FROM t;
"""
SHOWS = "CREATE MATERIALIZED VIEW v AS SELECT to_json(struct(*)) AS j FROM sales.{};\n"
PLAIN = "CREATE MATERIALIZED VIEW v AS SELECT {} AS j FROM sales.{};\n"
OUTPUT = """\
  connectors: [{name: out, view: v, transport: {name: file_output, config: {path: out}}, format: {name: json}}]
"""


def shop(total: str = "total", note: str = "note") -> str:
    return SHOP.format(total=total, note=note)


def both(root: Path, reader: str, more: str = "") -> Pair:
    pair = two_pipelines(root)
    pair.write("sales", shop("Total", "Note"))
    pair.write("grades", reader)
    file = root / "pipelines" / "grades" / "pipeline.yaml"
    file.write_text(file.read_text() + more)
    pair.apply("sales", "grades")
    return pair


def planned(pair: Pair, name: str = "grades") -> str:
    return render_text(plan_pipeline(pair.project.target, name))


def changed(pair: Pair) -> list[str]:
    return [one.name for one in plan_pipeline(pair.project.target, "grades").diff.relations]


def test_a_reader_to_which_names_are_data_sees_another_relation(tmp_path: Path) -> None:
    pair = both(tmp_path, SHOWS.format("m") + SHOWS.format("t").replace("v", "w"))
    pair.write("sales", shop())
    before = planned(pair)
    assert "reads sales.m.note, sales.m.total, which changed (column names changed from (Total, Note)" in before
    assert changed(pair) == ["v", "w"]
    pair.apply("sales")
    assert planned(pair) == before
    pair.apply("grades")
    assert "no changes" in planned(pair)
    pair.write("sales", shop() + "CREATE MATERIALIZED VIEW n AS SELECT id FROM t;\n")
    pair.apply("sales")
    assert "no changes" in planned(pair)
    pair.pipeline("sales").execute("INSERT INTO t VALUES (1, 'x')")
    assert len(pair.run()) == 1
    assert "no changes" in planned(pair)
    pair.write("sales", shop(note="NOTE"))
    assert changed(pair) == ["v", "w"]


def test_what_is_read_is_spelled_as_the_reader_knows_it_until_it_is_applied_anew(tmp_path: Path) -> None:
    pair = both(tmp_path, SHOWS.format("m"))

    def read() -> tuple[str, ...]:
        last = [call for call in pair.engine.calls if getattr(call, "view", "") == "v"][-1]
        return last.sources[0].spelled

    assert read() == ("Total", "Note")
    pair.write("sales", shop())
    pair.apply("sales")
    pair.pipeline("sales").execute("INSERT INTO t VALUES (1, 'x')")
    assert len(pair.run()) == 1
    assert read() == ("Total", "Note")
    pair.apply("grades")
    assert read() == ("total", "note")


def test_a_column_that_is_not_read_changes_no_reader(tmp_path: Path) -> None:
    pair = both(tmp_path, "CREATE MATERIALIZED VIEW v AS SELECT to_json(struct(Note)) AS j FROM sales.m;\n")
    pair.write("sales", shop(note="Note"))
    assert changed(pair) == []
    assert "letter case of sales.m.total: Total → total" in planned(pair)


def test_a_reader_that_becomes_one_to_which_names_are_data_compares_as_one(tmp_path: Path) -> None:
    pair = both(tmp_path, PLAIN.format("Total", "m") + "CREATE MATERIALIZED VIEW w AS SELECT * FROM sales.m;\n")
    pair.write("sales", shop())
    pair.write("grades", SHOWS.format("m") + "CREATE MATERIALIZED VIEW w AS SELECT * FROM sales.m;\n")
    assert changed(pair) == ["v", "w"]


def test_any_other_reader_writes_the_new_spelling_down(tmp_path: Path) -> None:
    pair = both(tmp_path, PLAIN.format("Total", "m"))
    pair.write("sales", shop())
    assert planned(pair) == (
        "grades (dev)\n"
        "  results do not change; other changes:\n"
        "    letter case of sales.m.note: Note → note\n"
        "    letter case of sales.m.total: Total → total\n"
    )
    pair.apply("sales")
    pair.pipeline("sales").execute("INSERT INTO t VALUES (1, 'x')")
    assert len(pair.run()) == 1
    pair.apply("grades")
    assert "no changes" in planned(pair)


@pytest.mark.parametrize(("query", "reached"), [("*", ["v"]), ("CAST(Total AS INT)", ["v"]), ("Total AS x", [])])
def test_an_output_of_a_reader_writes_names_as_the_other_pipeline_spells_them(
    tmp_path: Path, query: str, reached: list[str]
) -> None:
    pair = both(tmp_path, f"CREATE VIEW v AS SELECT {query} FROM sales.m;\n", OUTPUT)
    pair.write("sales", shop(total="TOTAL", note="NOTE"))
    assert changed(pair) == reached


def test_the_plan_of_who_spells_otherwise_names_who_sees_it(tmp_path: Path) -> None:
    pair = both(tmp_path, SHOWS.format("m"))
    pair.write("sales", shop())
    plan = plan_pipeline(pair.project.target, "sales")
    assert [one.message for one in plan.hazards if one.code == "H915"] == [
        "view m, which grades.v reads, renames column Total to total; renames column Note to note"
    ]
    text = render_text(plan)
    assert "results do not change; other changes:" in text
    assert "letter case of m.total: Total → total" in text
    assert "letter case of t.note: Note → note" in text
    assert "text of" not in text
    assert "columns of" not in text


def test_who_reads_no_names_is_not_named(tmp_path: Path) -> None:
    pair = both(tmp_path, PLAIN.format("Total", "m"))
    pair.write("sales", shop())
    assert not plan_pipeline(pair.project.target, "sales").hazards


def test_who_is_named_by_used_by_is_told_of_letter_case(tmp_path: Path) -> None:
    pair = both(tmp_path, PLAIN.format("Total", "m"))
    file = tmp_path / "pipelines" / "sales" / "pipeline.yaml"
    pair.write("sales", shop())
    file.write_text(file.read_text() + "  views: {m: {used_by: [dashboard]}}\n")
    found = [one.message for one in plan_pipeline(pair.project.target, "sales").hazards if one.code == "H915"]
    assert found == ["view m, which dashboard reads, renames column Total to total; renames column Note to note"]


def test_what_another_pipeline_defines_otherwise_is_told_where_it_changes_no_result(tmp_path: Path) -> None:
    pair = both(tmp_path, PLAIN.format("id", "t"))
    pair.write("sales", shop("Total", "Note").replace("id BIGINT", "id BIGINT DEFAULT 1"))
    text = planned(pair)
    assert text == "grades (dev)\n  results do not change; other changes:\n    definition of sales.t\n"
