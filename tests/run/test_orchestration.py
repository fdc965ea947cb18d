"""Which connector may run: labels, pauses, ends; which are meant; where they can be put."""

from typing import Any

import pytest

from reconciler.base.errors import NotFound, ReconcileError
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program
from reconciler.run.orchestration import Activity, decide, find_connector
from reconciler.run.seeking import seek_value, sought_position

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  connectors:
    - {name: one, table: t, labels: [past], transport: {name: delta_table_input, config: {uri: /a, mode: snapshot}}}
    - {name: two, table: t, labels: [past, other], transport: {name: delta_table_input, config: {uri: /b, mode: follow}}}
    - {name: live, table: t, start_after: past, transport: {name: file_input, config: {path: /c}}, format: {name: json}}
    - name: last
      table: t
      start_after: [past, live]
      labels: [late]
      paused: true
      transport: {name: file_input, config: {path: /d}}
      format: {name: json}
    - {name: live, table: u, labels: [live], transport: {name: file_input, config: {path: /e}}, format: {name: json}}
"""
ENDED = {"version": 3, "end_of_input": True}
OPEN = {"version": 3, "end_of_input": False}


def program_of(yaml: str, sql: str) -> Program:
    files = {"pipelines/shop/pipeline.yaml": yaml, "pipelines/shop/program.sql": sql}
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None, read.diagnostics
    return compile_program(read.manifest).program


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(YAML, "CREATE TABLE t (id INT); CREATE TABLE u (id INT);")


def activities(program: Program, positions: dict[str, Any], said: dict[str, bool] | None = None) -> dict[str, str]:
    return {key: decision.activity.value for key, decision in decide(program, positions, said).items()}


def test_a_label_waits_for_all_that_bear_it(program: Program) -> None:
    assert activities(program, {})["t.live"] == "waiting"
    assert decide(program, {})["t.live"].reason == "waits for t.one, t.two"
    assert decide(program, {"t.one": ENDED, "t.two": OPEN})["t.live"].reason == "waits for t.two"
    both = {"t.one": ENDED, "t.two": ENDED}
    assert activities(program, both)["t.live"] == "running"
    assert activities(program, both)["t.one"] == "ended"


def test_several_labels_wait_for_all_of_them(program: Program) -> None:
    resumed = {"t.last": False}
    both = {"t.one": ENDED, "t.two": ENDED}
    assert decide(program, both, resumed)["t.last"].reason == "waits for u.live"
    assert activities(program, {**both, "u.live": ENDED}, resumed)["t.last"] == "running"


def test_paused_in_its_declaration_until_a_user_resumes_it(program: Program) -> None:
    everything = {"t.one": ENDED, "t.two": ENDED, "u.live": ENDED}
    assert activities(program, everything)["t.last"] == "paused"
    assert activities(program, everything, {"t.last": False})["t.last"] == "running"


def test_a_users_pause_holds_when_the_labels_are_reached_and_a_resume_takes_back_no_order(program: Program) -> None:
    both = {"t.one": ENDED, "t.two": ENDED}
    assert activities(program, both, {"t.live": True})["t.live"] == "paused"
    assert activities(program, {}, {"t.live": True})["t.live"] == "paused"
    assert activities(program, {}, {"t.live": False})["t.live"] == "waiting"
    assert activities(program, both, {"t.live": False})["t.live"] == "running"


def test_what_has_ended_has_ended_whatever_is_said(program: Program) -> None:
    assert activities(program, {"t.one": ENDED}, {"t.one": True})["t.one"] == "ended"


def test_connectors_are_found_by_either_name_in_any_letter_case(program: Program) -> None:
    assert find_connector(program, "T.Live").qualified_name == "t.live"
    assert find_connector(program, "ONE").qualified_name == "t.one"
    with pytest.raises(NotFound) as several:
        find_connector(program, "live")
    assert several.value.code == "A511"
    assert "t.live, u.live" in several.value.message
    with pytest.raises(NotFound) as unknown:
        find_connector(program, "lasst")
    assert unknown.value.hint == "did you mean 'last'?"
    with pytest.raises(NotFound) as qualified:
        find_connector(program, "t.tow")
    assert qualified.value.hint == "did you mean 't.two'?"


@pytest.mark.parametrize(
    ("name", "to", "position"),
    [
        ("one", "earliest", None),
        ("two", "earliest", None),
        ("two", "latest", {"version": "latest"}),
        ("two", "17", {"version": 17}),
        ("t.live", "earliest", None),
    ],
)
def test_where_a_connector_can_be_put(program: Program, name: str, to: str, position: object) -> None:
    assert sought_position(find_connector(program, name), seek_value(to)) == position


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("one", "3"),
        ("two", "-1"),
        ("two", "tomorrow"),
        ("two", "true"),
        ("t.live", "latest"),
        ("t.live", '{"offsets": [1]}'),
    ],
)
def test_where_it_can_not_is_refused(program: Program, name: str, to: str) -> None:
    with pytest.raises(ReconcileError) as caught:
        sought_position(find_connector(program, name), seek_value(to))
    assert caught.value.code == "A512"
    assert "earliest" in (caught.value.hint or "")


def test_kafka_takes_what_start_from_takes() -> None:
    yaml = YAML.split("    - {name: one")[0] + (
        "    - {name: k, table: t, transport: {name: kafka_input, config: {topic: t, bootstrap.servers: 'localhost:1'}}, "
        "format: {name: json}}\n"
    )
    program = program_of(yaml, "CREATE TABLE t (id INT);")
    kafka = find_connector(program, "k")
    assert sought_position(kafka, seek_value("latest")) == {"seek": "latest"}
    assert sought_position(kafka, seek_value('{"offsets": [7]}')) == {"seek": {"offsets": [7]}}
    with pytest.raises(ReconcileError):
        sought_position(kafka, seek_value("12"))


def test_activities_have_words_of_their_own() -> None:
    assert len({activity.value for activity in Activity}) == len(Activity)
