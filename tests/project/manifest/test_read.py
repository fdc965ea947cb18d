"""What a manifest says when its files are sound, and that no file makes reading fail."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.declarations import BootstrapPolicy, Evolution, Manifest, Settings
from reconciler.base.diagnostics import errors_among
from reconciler.project.manifest.project import read_project
from reconciler.project.manifest.read import ReadManifest, read_manifest
from reconciler.project.manifest.yaml_text import load_yaml

FOLDER = "pipelines/shop"
HEAD = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
SQL = """\
CREATE TABLE orders (id BIGINT, customer STRING) WITH ('connectors' = '[
  {"name": "first", "transport": {"name": "file_input", "config": {"path": "${var:lake}/it''s"}},
   "format": {"name": "json"}}]');
CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS orders FROM orders GROUP BY customer;
"""
FULL = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop, description: Orders, owner: me, tags: [b, a]}
spec:
  sql: [program.sql]
  bootstrap_policy: reject
  evolution: evolve
  runtime: {workers: 2, memory: 4G, driver_memory: 512m, shuffle_partitions: 8, checkpoint_interval: 5m, \
    spark: {spark.sql.ansi.enabled: false}}
  tables: {ORDERS: {description: One row an order, evolution: clear, protect: true}}
  views: {totals: {description: One row a customer, protect: true}}
  moved:
    - {from: sales, to: orders}
    - {from: sales.Who, to: orders.customer}
  connectors:
    - table: Orders
      name: second
      labels: [history]
      transport:
        name: delta_table_input
        config: {uri: "${var:lake}", mode: snapshot, aws_secret_access_key: "${secret:K}"}
    - view: totals
      start: 1
      transport: {name: kafka_output, config: {topic: t, bootstrap.servers: h}}
      format: {name: json}
"""


def _read(pipeline: str, sql: str = SQL, **more: str) -> ReadManifest:
    files = {"pipeline.yaml": pipeline, "program.sql": sql, **more}
    return read_manifest(FOLDER, {f"{FOLDER}/{name}": text for name, text in files.items()}, {"lake": "/lake"})


def _manifest(read: ReadManifest) -> Manifest:
    assert errors_among(read.diagnostics) == ()
    assert read.manifest is not None
    return read.manifest


def test_settings_are_those_of_the_file() -> None:
    manifest = _manifest(_read(FULL.replace("      start: 1\n", "")))

    assert manifest.settings == Settings(
        name="shop",
        description="Orders",
        owner="me",
        tags=("b", "a"),
        bootstrap_policy=BootstrapPolicy.REJECT,
        workers=2,
        spark={"spark.sql.ansi.enabled": "false", "spark.sql.shuffle.partitions": "8"},
        descriptions={"orders": "One row an order", "totals": "One row a customer"},
        evolution=Evolution.EVOLVE,
        table_evolution={"orders": Evolution.CLEAR},
        protected=("orders", "totals"),
        memory="4g",
        driver_memory="512m",
        checkpoint_interval_seconds=300,
    )
    assert [(move.source, move.target) for move in manifest.moves] == [("sales", "orders"), ("sales.Who", "orders.customer")]
    assert [str(move.location) for move in manifest.moves] == [f"{FOLDER}/pipeline.yaml:{line}:7" for line in (12, 13)]


def test_defaults_stand_in_for_what_is_not_said() -> None:
    assert _manifest(_read(HEAD)).settings == Settings(name="shop")


def test_connectors_of_yaml_follow_those_of_sql() -> None:
    manifest = _manifest(_read(FULL.replace("      start: 1\n", "")))

    connectors = [(one.relation, one.name, one.ordinal) for one in manifest.connectors]
    assert connectors == [("orders", "first", 0), ("Orders", "second", 1), ("totals", None, 0)]


def test_variables_are_put_in_and_secrets_stay() -> None:
    first, second, _ = _manifest(_read(FULL.replace("      start: 1\n", ""))).connectors

    assert first.settings["transport"]["config"] == {"path": "/lake/it's"}
    assert second.settings["transport"]["config"]["uri"] == "/lake"
    assert second.settings["transport"]["config"]["aws_secret_access_key"] == "${secret:K}"
    assert "name" not in second.settings
    assert "table" not in second.settings


def test_a_connector_with_an_error_is_reported_once_and_the_counting_goes_on() -> None:
    pipeline = FULL.replace("mode: snapshot", "mode: slow").replace("kafka_output", "kafka_input")
    read = _read(pipeline + "    - table: orders\n      name: third\n" + _FILE_INPUT)

    assert [problem.code for problem in errors_among(read.diagnostics)] == ["C406", "C403", "C402"]
    assert read.manifest is not None
    assert [(one.name, one.ordinal) for one in read.manifest.connectors] == [("first", 0), ("second", 1), ("third", 2)]


_FILE_INPUT = "      transport: {name: file_input, config: {path: in}}\n      format: {name: csv}\n"


def test_sql_beside_the_file_is_read_unless_it_is_listed() -> None:
    other = {"a.sql": "CREATE TABLE other (id BIGINT);", "deep/b.sql": "CREATE TABLE deep (id BIGINT);"}

    beside = _manifest(_read(HEAD, **other))
    listed = _manifest(_read(HEAD + "spec: {sql: [deep/b.sql, ./program.sql]}\n", **other))

    assert [table.name for table in beside.tables] == ["other", "orders"]
    assert [table.name for table in listed.tables] == ["deep", "orders"]


def test_a_manifest_whose_sql_has_errors_is_not_complete() -> None:
    read = _read(HEAD + "spec: {evolution: x}\n", sql="CREATE TABEL x (y INT);")

    assert read.manifest is not None
    assert not read.complete
    assert {problem.code[0] for problem in read.diagnostics} == {"M", "S"}


_PIECES = st.sampled_from(
    [
        "",
        ":",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "*a ",
        "&a ",
        "!!x ",
        "null",
        "0",
        "1.5",
        "true",
        "''",
        "\n",
        "  ",
        "#",
        "${",
        "${var:x}",
        "ü",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_change_to_a_file_makes_reading_raise(data: st.DataObject) -> None:
    reading_changed_files_raises_nothing(data)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.data())
def test_no_change_to_a_file_makes_reading_raise_in_many_more_cases(data: st.DataObject) -> None:
    reading_changed_files_raises_nothing(data)


def reading_changed_files_raises_nothing(data: st.DataObject) -> None:
    text = FULL
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(_PIECES) + text[end:]

    read = _read(text)
    read_project(text)

    assert read.manifest is not None or errors_among(read.diagnostics)
    for problem in read.diagnostics:
        assert problem.location is not None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_change_to_sql_makes_reading_raise(data: st.DataObject) -> None:
    reading_changed_sql_raises_nothing(data)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_change_to_sql_makes_reading_raise_in_many_more_cases(data: st.DataObject) -> None:
    reading_changed_sql_raises_nothing(data)


def reading_changed_sql_raises_nothing(data: st.DataObject) -> None:
    text = SQL
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 8)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", "'", "''", '"', "{", "}", "[", ",", "1e999", "\n", ";"]))
            + text[end:]
        )

    for problem in _read(HEAD, sql=text).diagnostics:
        assert problem.location is not None


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 9)
    | st.sampled_from(["", "x", "${var:lake}", "file_input", "raw", "orders"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "config", "transport", "format", "path", "labels", "sql", "a"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_value_in_place_of_another_makes_reading_raise(data: st.DataObject) -> None:
    reading_other_values_raises_nothing(data)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.data())
def test_no_value_in_place_of_another_makes_reading_raise_in_many_more_cases(data: st.DataObject) -> None:
    reading_other_values_raises_nothing(data)


def reading_other_values_raises_nothing(data: st.DataObject) -> None:
    value = load_yaml(FULL, "f").value
    for _ in range(data.draw(st.integers(1, 3))):
        at = value
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if not isinstance(at[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
                at[key] = data.draw(_VALUES)
                break
            at = at[key]

    read = _read(json.dumps(value))

    for problem in read.diagnostics:
        assert problem.location is not None


@pytest.mark.parametrize("value", ['" Europe/Rome"', '"Europe/Rome\\t "', "Europe/Rome"])
def test_blanks_around_a_spark_setting_do_not_reach_spark(value: str) -> None:
    """Plans compare values without them, so Spark gets them without them."""
    head = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    manifest = _manifest(_read(f"{head}spec: {{runtime: {{spark: {{spark.sql.session.timeZone: {value}}}}}}}\n"))
    assert manifest.settings.spark == {"spark.sql.session.timeZone": "Europe/Rome"}
    read = read_project(f"environments: {{dev: {{warehouse: wh, spark: {{spark.sql.x: {value}}}}}}}\n")
    assert read.diagnostics == ()
    assert read.project is not None
    assert read.project.environments["dev"].spark == {"spark.sql.x": "Europe/Rome"}


@pytest.mark.parametrize("name", [r"ansi.enabled ", r"ansi.enabled\t", r"ansi.enabled\n", r"ansi enabled", r" ansi.enabled"])
def test_a_name_of_a_spark_setting_has_no_blanks(name: str) -> None:
    """Spark would know it by no name with a blank, and what it decides would not count as known."""
    head = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    read = _read(f'{head}spec: {{runtime: {{spark: {{"spark.sql.{name}": "false"}}}}}}\n')
    project = read_project(f'environments: {{dev: {{warehouse: wh, spark: {{"spark.sql.{name}": "false"}}}}}}\n')
    for found in (read, project):
        assert "M114" in [one.code for one in found.diagnostics]
