"""What a connector's settings mean: which changes count, what is secret, what is wrong."""

from typing import Any

import pytest

from reconciler.base.diagnostics import errors_among
from reconciler.base.places import OnePlace
from reconciler.base.schema_files import schema, schema_names
from reconciler.connectors.catalogue import (
    TRANSPORTS,
    brings_deletes,
    canonical_settings,
    check_connector,
    ends,
    secret_paths,
    sink_can_delete,
)
from reconciler.connectors.transport import Direction

DELTA = {"transport": {"name": "delta_table_input", "config": {"uri": "/in", "mode": "snapshot"}}}
FILES = {"transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "csv"}}
HTTP = {"transport": {"name": "http_input", "config": {"path": "/in"}}}
KAFKA = {
    "transport": {"name": "kafka_input", "config": {"topic": "t", "bootstrap.servers": "h:9092"}},
    "format": {"name": "json"},
}

RAW = {"name": "json", "config": {"update_format": "raw"}}


def _with(settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**settings, **more}


def _config(settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    transport = settings["transport"]
    return {**settings, "transport": {**transport, "config": {**transport["config"], **more}}}


def test_the_catalogue_and_the_schemas_agree() -> None:
    assert set(TRANSPORTS) == set(schema("connector.schema.json")["properties"]["transport"]["properties"]["name"]["enum"])
    known = schema("connector.schema.json")["properties"]
    for name, transport in TRANSPORTS.items():
        assert transport.name == name
        assert transport.schema_file in schema_names()
        assert transport.takes_format == ("format" in schema(transport.schema_file)["required"])
        assert set(transport.resets_nothing) <= set(known)
        assert all(transport.resets_nothing.values())
        assert name.endswith(transport.direction.value) or name == "datagen"


@pytest.mark.parametrize(
    ("settings", "can"),
    [
        ({"transport": {"name": "delta_table_output", "config": {"uri": "x"}}}, True),
        ({"transport": {"name": "kafka_output", "config": {}}, "format": {"name": "json"}}, True),
        ({"transport": {"name": "kafka_output", "config": {}}, "format": RAW}, False),
        ({"transport": {"name": "file_output", "config": {}}, "format": {"name": "json"}}, True),
        (
            {
                "transport": {"name": "file_output", "config": {}},
                "format": {"name": "json", "config": {"update_format": "raw"}},
            },
            False,
        ),
        ({"transport": {"name": "file_output", "config": {}}, "format": {"name": "csv"}}, False),
        ({"transport": {"name": "file_output", "config": {}}, "format": {"name": "parquet"}}, False),
    ],
)
def test_which_sinks_can_be_told_that_a_row_goes(settings: dict[str, Any], can: bool) -> None:
    assert sink_can_delete(settings) is can


@pytest.mark.parametrize(
    "more",
    [
        {"labels": ["a"]},
        {"start_after": "a"},
        {"paused": True},
        {"description": "x"},
        {"max_batch_size": 10},
        {"max_queued_records": 10},
        {"max_rejected": 0},
    ],
)
def test_what_resets_nothing_is_no_change(more: dict[str, Any]) -> None:
    assert canonical_settings(_with(DELTA, **more)) == canonical_settings(DELTA)


@pytest.mark.parametrize(
    ("implicit", "explicit"),
    [
        (FILES, _with(FILES, format={"name": "csv", "config": {}})),
        (FILES, _with(FILES, format={"name": "csv", "config": {"header": True, "delimiter": ",", "null_value": ""}})),
        (
            _with(FILES, format={"name": "json"}),
            _with(FILES, format={"name": "json", "config": {"update_format": "raw", "array": False}}),
        ),
        (KAFKA, _config(KAFKA, start_from="earliest")),
        (KAFKA, _with(KAFKA, format={"name": "json", "config": {"update_format": "insert_delete", "array": False}})),
        (_config(DELTA, aws_skip_signature="true"), _config(DELTA, aws_skip_signature=True)),
        (_config(KAFKA, **{"session.timeout.ms": 6000}), _config(KAFKA, **{"session.timeout.ms": "6000"})),
    ],
)
def test_a_default_written_out_and_another_spelling_are_no_change(
    implicit: dict[str, Any], explicit: dict[str, Any]
) -> None:
    assert canonical_settings(implicit) == canonical_settings(explicit)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DELTA, _config(DELTA, version=0)),
        (DELTA, _config(DELTA, uri="/in/")),
        (_config(DELTA, version=1), _config(DELTA, version=2)),
        (DELTA, _config(DELTA, aws_region="eu")),
        (FILES, _with(FILES, format={"name": "csv", "config": {"header": False}})),
        (FILES, _with(FILES, format={"name": "parquet"})),
        (HTTP, _config(HTTP, path="/other")),
        (KAFKA, _config(KAFKA, start_from="latest")),
        (KAFKA, _config(KAFKA, start_from={"offsets": [0]})),
    ],
)
def test_what_decides_the_rows_is_a_change(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert canonical_settings(one) != canonical_settings(other)


def test_canonical_settings_are_their_own_canonical_settings() -> None:
    for name in TRANSPORTS:
        for example in schema(f"{name}.schema.json")["examples"]:
            once = canonical_settings(example)
            assert canonical_settings(once) == once


def test_settings_stay_as_they_were() -> None:
    settings = _with(FILES, labels=["a"])
    before = repr(settings)

    canonical_settings(settings)

    assert repr(settings) == before


@pytest.mark.parametrize("settings", [{}, {"transport": {"name": "of_the_future", "config": {"a": 1}}}, {"transport": 1}])
def test_settings_of_another_version_are_compared_as_they_are(settings: dict[str, Any]) -> None:
    assert canonical_settings(settings) == settings
    assert secret_paths(settings) == ()


def test_secrets_are_found_by_schema_and_by_reference() -> None:
    config = ("transport", "config")

    assert secret_paths(_config(KAFKA, **{"sasl.password": "x", "sasl.username": "${secret:USER}", "group.id": "g"})) == (
        (*config, "sasl.password"),
        (*config, "sasl.username"),
    )
    assert secret_paths(_config(KAFKA, **{"ssl.truststore.password": "x"})) == ((*config, "ssl.truststore.password"),)
    options = {"aws_secret_access_key": "x", "aws_access_key_id": "x", "fs.s3a.secret.key": "x", "fs.s3a.endpoint": "x"}
    assert secret_paths(_config(DELTA, **options)) == (
        (*config, "aws_secret_access_key"),
        (*config, "fs.s3a.secret.key"),
    )


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        (None, ["C405"]),
        ([], ["C405"]),
        ({}, ["C404"]),
        ({"transport": None}, ["C405"]),
        ({"transport": {}}, ["C404"]),
        ({"transport": {"name": 1}}, ["C406"]),
        ({"transport": {"name": "delta_table_input"}}, ["C404"]),
        ({"transport": {"name": "delta_table_input", "config": []}}, ["C405"]),
        (_config(DELTA, version=float("inf")), ["C408"]),
        (_config(DELTA, uri=[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]), ["C407"]),
        (_with(FILES, format={"name": "avro"}), ["C410"]),
        (_with(FILES, format={"name": "avro", "config": {"x": 1}}), ["C410"]),
        (_with(FILES, format="json"), ["C405"]),
        (_with(HTTP, format={"name": "json"}), ["C415"]),
        *((_config(HTTP, path=path), ["C407"]) for path in ("in", "s3://lake/in", "file:///in", "${secret:IN}/x")),
    ],
)
def test_settings_of_any_shape_are_judged(settings: Any, codes: list[str]) -> None:
    assert [problem.code for problem in check_connector(settings, OnePlace(None))] == codes


def test_direction_is_judged_when_it_is_known() -> None:
    assert check_connector(DELTA, OnePlace(None), Direction.INPUT) == ()
    assert [problem.code for problem in check_connector(DELTA, OnePlace(None), Direction.OUTPUT)] == ["C402"]


def test_references_to_secrets_are_no_secrets_in_clear_text() -> None:
    for value in ("${secret:K}", "prefix${secret:K}"):
        assert check_connector(_config(DELTA, aws_secret_access_key=value), OnePlace(None)) == ()
    problems = check_connector(_config(DELTA, aws_secret_access_key="${var:K}"), OnePlace(None))
    assert [problem.code for problem in problems] == ["C412"]
    assert errors_among(problems) == ()


@pytest.mark.parametrize(
    ("settings", "brings"),
    [
        (HTTP, True),
        (KAFKA, True),
        (_with(KAFKA, format=RAW), False),
        (FILES, False),
        ({"transport": {"name": "datagen"}}, False),
    ],
)
def test_whether_an_input_brings_deletes(settings: dict[str, Any], brings: bool) -> None:
    assert brings_deletes(settings) is brings


def _made_up(*plans: dict[str, Any]) -> dict[str, Any]:
    return {"transport": {"name": "datagen", "config": {"plan": list(plans)}}}


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (DELTA, True),
        (_config(DELTA, mode="follow"), False),
        (_config(DELTA, mode="snapshot_and_follow"), False),
        (_config(DELTA, mode="snapshot_and_follow", end_version=7), True),
        (_config(DELTA, mode="follow", end_version="${var:end}"), True),
        (KAFKA, False),
        (HTTP, False),
        ({"transport": {"name": "postgres_input", "config": {"uri": "postgresql://h/d", "table": "t"}}}, True),
        (FILES, None),
        (_config(FILES, path="in/orders.csv"), None),
        (_config(FILES, path="in/*.csv"), False),
        (_config(FILES, path="in/"), False),
        (_made_up({"limit": 10}), True),
        (_made_up({"limit": 10}, {"rate": 1}), False),
        (_made_up(), False),
        ({"transport": {"name": "datagen"}}, False),
        # What does not fit the schema is told elsewhere.
        ({"transport": "datagen"}, None),
        ({"transport": {"name": "file_input", "config": 7}}, None),
    ],
)
def test_whether_an_input_ends(settings: dict[str, Any], answer: bool | None) -> None:
    assert ends(settings) is answer
