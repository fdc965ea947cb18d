"""Rows through the real client: sent in every form, queried in every form, followed step by step."""

import decimal
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
import requests
from feldera import Pipeline
from feldera.output_handler import OutputHandler
from feldera.rest.errors import FelderaAPIError

from tests.rest.conftest import Serving

KINDS = """
CREATE TABLE kinds (
  id BIGINT NOT NULL PRIMARY KEY, small SMALLINT, real_one DOUBLE, price DECIMAL(10, 2), name VARCHAR, is_on BOOLEAN,
  day DATE, at TIMESTAMP
);
CREATE TABLE plain (id BIGINT, name VARCHAR);
CREATE MATERIALIZED VIEW copied AS SELECT * FROM plain;
CREATE VIEW passing AS SELECT * FROM plain;
"""
ROW = {
    "id": 1,
    "small": 2,
    "real_one": Decimal("0.5"),
    "price": Decimal("12.30"),
    "name": "ä\n'x'",
    "is_on": True,
    "day": "2026-02-03",
    "at": "2026-02-03T04:05:06",
}


@pytest.fixture(scope="module")
def pipeline(lasting: Serving) -> Pipeline:
    made = lasting.pipeline("data", KINDS)
    made.start()
    return made


@pytest.fixture(autouse=True)
def empty(pipeline: Pipeline) -> None:
    for table in ("kinds", "plain"):
        pipeline.execute(f"DELETE FROM {table}")


def rows(pipeline: Pipeline, table: str) -> list[Any]:
    return sorted(pipeline.query(f"SELECT * FROM {table}"), key=lambda row: row["id"])


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: float(value) if isinstance(value, Decimal) else value for key, value in row.items()}


def test_json_of_all_types(pipeline: Pipeline) -> None:
    pipeline.input_json("kinds", plain(ROW))
    assert rows(pipeline, "kinds") == [ROW]
    pipeline.input_json("kinds", [{"insert": {"id": 2}}, {"insert": plain(ROW) | {"small": None}}], "insert_delete")
    assert rows(pipeline, "kinds") == [ROW | {"small": None}, dict.fromkeys(ROW) | {"id": 2}]
    pipeline.input_json("kinds", {"delete": {"id": 1}, "insert": None}, "insert_delete")
    assert [row["id"] for row in rows(pipeline, "kinds")] == [2]


def test_a_table_without_a_key_holds_rows_as_often_as_they_came(pipeline: Pipeline) -> None:
    pipeline.input_json("plain", [{"id": 1, "name": "a"}] * 3)
    pipeline.input_json("plain", {"delete": {"id": 1, "name": "a"}}, "insert_delete")
    assert pipeline.input_json("plain", [])
    assert rows(pipeline, "plain") == [{"id": 1, "name": "a"}] * 2


def test_an_update_sets_single_columns(pipeline: Pipeline, service: Serving) -> None:
    pipeline.input_json("kinds", [{"id": number, "name": "a", "small": number} for number in (1, 2, 3)])
    pipeline.input_json("kinds", {"update": {"id": 1, "name": "b"}}, "insert_delete")
    lines = [
        {"update": {"ID": 1, "small": None}},
        {"update": {"id": 2, "price": 1.5}},
        {"delete": {"id": 3}},
        {"update": {"id": 3, "name": "nobody's"}},
        {"update": {"id": 4, "name": "nobody's"}},
        {"insert": {"id": 5}},
        {"update": {"id": 5, "is_on": True}},
    ]
    pipeline.input_json("kinds", lines, "insert_delete")
    nothing = dict.fromkeys(ROW)
    assert rows(pipeline, "kinds") == [
        nothing | {"id": 1, "name": "b"},
        nothing | {"id": 2, "name": "a", "small": 2, "price": Decimal("1.50")},
        nothing | {"id": 5, "is_on": True},
    ]
    address = f"{service.address}/v0/pipelines/data/ingress/kinds"
    for body, said in (
        ('{"update": {"name": "x"}}', "has no value for id"),
        ('{"update": {"id": null}}', "has no value for id"),
        ('{"update": {"id": 1, "small": "x"}}', "column small: a value that is no SMALLINT"),
        ('{"update": [1, 2]}', "the array has 2 values"),
    ):
        answer = requests.post(address, data=body, params={"format": "json"}, timeout=60)
        assert answer.status_code == 400
        assert said in answer.json()["message"]


def test_pandas(pipeline: Pipeline) -> None:
    frame = pd.DataFrame(
        {
            "id": range(2500),
            "small": [1] * 2500,
            "real_one": [0.25] * 2500,
            "price": [1.5] * 2500,
            "name": ["x"] * 2500,
            "is_on": [False] * 2500,
            "day": [pd.Timestamp("2026-02-03").date()] * 2500,
            "at": [pd.Timestamp("2026-02-03 04:05:06")] * 2500,
        }
    )
    pipeline.input_pandas("kinds", frame)
    found = rows(pipeline, "kinds")
    assert [row["id"] for row in found] == [*range(2500)]
    assert (found[0]["day"], found[0]["at"], found[0]["price"]) == ("2026-02-03", "2026-02-03T04:05:06", Decimal("1.50"))
    with pytest.raises(ValueError, match="does not exist"):
        pipeline.input_pandas("nowhere", frame)


def test_maps_and_bytes(service: Serving) -> None:
    """A table without a key takes them in JSON and from frames; a listener gets them back in the same form."""
    sql = "CREATE TABLE odd (id INT, m MAP<VARCHAR, INT>, b VARBINARY);"
    pipeline = service.pipeline("odd", sql)
    pipeline.start()
    listener = pipeline.listen("odd")
    first = {"id": 1, "m": {"a": 1, "b": None}, "b": [12, 34, 255]}
    pipeline.input_json("odd", first)
    frame = pd.DataFrame({"id": [2, 3], "m": [{"c": 2}, {}], "b": [[91, 93], []]})
    token = pipeline.input_pandas("odd", frame)
    assert token
    listener.wait_for_token(token, 60)
    found = [{name: row[name] for name in first} for row in listener.to_dict()]
    assert found == [first, {"id": 2, "m": {"c": 2}, "b": [91, 93]}, {"id": 3, "m": {}, "b": []}]
    (hexadecimal,) = {row["b"] for row in pipeline.query("SELECT * FROM odd") if row["id"] == 1}
    assert hexadecimal == "0c22ff"
    token = pipeline.input_json("odd", {"delete": first | {"m": {"b": None, "a": 1}}}, "insert_delete")
    listener.wait_for_token(token, 60)
    assert [row["insert_delete"] for row in listener.to_dict()] == [-1]
    pipeline.input_json("odd", [{"b": "[]"}, {"b": "text"}, {"b": '["a"]'}])
    told = [bytes.fromhex(row["b"]) for row in pipeline.query("SELECT * FROM odd") if row["id"] is None]
    assert sorted(told) == [b'["a"]', b"[]", b"text"]
    for wrong in ([256], [-1], [True], ["1"], 5, {"a": 1}):
        with pytest.raises(FelderaAPIError, match="column b: a value that is no BINARY"):
            pipeline.input_json("odd", {"b": wrong})
    pipeline.stop(force=True)


def test_csv_and_debezium(pipeline: Pipeline, service: Serving) -> None:
    client = service.client
    client.push_to_pipeline("data", "kinds", "csv", '7,1,1e3,-3.05,"a,b",true,2026-01-02,2026-01-02 03:04:05\n8,,,,,,,\n')
    first, second = rows(pipeline, "kinds")
    assert first["name"] == "a,b"
    assert (first["real_one"], first["price"], first["day"]) == (Decimal(1000), Decimal("-3.05"), "2026-01-02")
    # An empty text is a text.
    assert second == dict.fromkeys(ROW) | {"id": 8, "name": ""}
    update = {"payload": {"op": "u", "before": {"id": 8}, "after": {"id": 8, "name": "new"}}}
    client.push_to_pipeline("data", "kinds", "json", update, update_format="debezium")
    assert rows(pipeline, "kinds")[1]["name"] == "new"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "can't be read"),
        ("[1]", "not of the form"),
        ('{"insert": 1}', "an object or an array"),
        ('{"insert": {"id": 1}, "delete": {"id": 2}}', "a record is one change, and this says insert and delete"),
        ('{"insert": {"id": 1}, "update": {"id": 1}}', "a record is one change, and this says insert and update"),
        ('{"insert": null}', "not of the form"),
        ('{"insert": [1]}', "the array has 1 values, and the table 2 columns"),
        ('{"update": {"id": 1}}', "an update needs a primary key, and table plain has none"),
        ('{"insert": {"id": "x"}}', "column id: a value that is no BIGINT"),
        ('{"insert": {"id": true}}', "column id: a value that is no BIGINT"),
        ('{"insert": {"id": 1.5}}', "column id: a value that is no BIGINT"),
        ('{"insert": {"id": 9223372036854775808}}', "column id: a value that is no BIGINT"),
        ('{"insert": {"id": 1e999999999}}', "too large or too small"),
        ('{"insert": {"id": 1e-999999999}}', "too large or too small"),
        ('{"insert": {"id": 1, "name": NaN}}', "NaN is no JSON"),
        ('{"insert": {"id": -Infinity}}', "-Infinity is no JSON"),
        pytest.param('{"insert": ' * 5000, "nested too deeply", id="deep"),
        pytest.param('{"insert": {"id": ' + "[" * 700 + "]" * 700 + "}}", "nested too deeply", id="deep value"),
    ],
)
def test_what_can_not_be_read_leaves_nothing(pipeline: Pipeline, service: Serving, body: str, said: str) -> None:
    address = f"{service.address}/v0/pipelines/data/ingress/plain"
    answer = requests.post(address, data=body, headers={"Content-Type": "application/json"}, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "ParseErrors")
    assert said in answer.json()["message"]
    assert requests.post(f"{service.address}/v0/pipelines/data/ingress/none", data="{}", timeout=60).status_code == 404
    assert rows(pipeline, "plain") == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("1e999999999,a", "column id: a value that is no BIGINT"),
        (f"x,{'a' * 200_000}", "column id: a value that is no BIGINT"),
    ],
    ids=["large number", "long text"],
)
def test_csv_that_can_not_be_read_leaves_nothing(pipeline: Pipeline, service: Serving, body: str, said: str) -> None:
    answer = requests.post(f"{service.address}/v0/pipelines/data/ingress/plain", data=body, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "ParseErrors")
    assert said in answer.json()["message"]
    assert rows(pipeline, "plain") == []


def test_a_text_of_csv_may_be_long(pipeline: Pipeline, service: Serving) -> None:
    text = "a" * 200_000
    answer = requests.post(f"{service.address}/v0/pipelines/data/ingress/plain", data=f"1,{text}", timeout=60)
    assert answer.status_code == 200
    pipeline.wait_for_token(answer.json()["token"])
    assert rows(pipeline, "plain") == [{"id": 1, "name": text}]


def test_what_can_be_read_is_taken_but_of_an_array(pipeline: Pipeline, service: Serving) -> None:
    address = f"{service.address}/v0/pipelines/data/ingress/plain"

    def send(body: str, **params: str) -> tuple[int, str]:
        answer = requests.post(address, data=body.encode(), params=params, timeout=60)
        return answer.status_code, answer.json().get("message", "")

    def errors() -> int:
        return pipeline.input_connector_stats("plain", "api_ingress").metrics.num_parse_errors or 0

    before = errors()
    # CSV is the form of what says none.
    status, message = send("1,a\nx,b\n2\n3,c\n")
    assert status == 400
    assert message.startswith("Errors parsing input data (2 errors)")
    assert send('{"insert": [4, "d"]}\n{"insert": \n{"insert": [5, "e"]}\n', format="json")[0] == 400
    assert send('[{"insert": [6, "f"]}, {"insert": [true, "g"]}]', format="json", array="true")[0] == 400
    pipeline.input_json("plain", {"id": 7})
    assert [row["id"] for row in rows(pipeline, "plain")] == [1, 3, 4, 5, 7]
    assert errors() == before + 4
    told = pipeline.input_connector_stats("plain", "api_ingress").parse_errors
    assert told
    assert told[-1].message.endswith("column id: a value that is no BIGINT: true")
    client = service.client.http
    assert client.get("/pipelines/data/stats")["inputs"][0]["parse_errors"] is None
    (found,) = [
        one
        for one in client.get("/pipelines/data/stats?include_connector_errors=true")["inputs"]
        if one["endpoint_name"] == "plain.api_ingress"
    ]
    assert len(found["parse_errors"]) == found["metrics"]["num_parse_errors"]
    counted = client.get("/pipelines/data?selector=status_with_connectors")["connectors"]["num_errors"]
    assert counted >= before + 4
    assert pipeline.deployment_runtime_status_details() == {"connector_stats": {"num_errors": counted}}


def test_names_in_quotes_mean_themselves(pipeline: Pipeline, service: Serving) -> None:
    for name, status in (("plain", 200), ("PLAIN", 200), ("%22plain%22", 200), ("%22Plain%22", 404), ("plan", 404)):
        address = f"{service.address}/v0/pipelines/data/tables/{name}/connectors/api_ingress/start"
        assert requests.post(address, timeout=60).status_code == status
        address = f"{service.address}/v0/pipelines/data/ingress/{name}"
        assert requests.post(address, data="1,a", timeout=60).status_code == status


def test_queries_in_every_form(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.input_json("kinds", plain(ROW))
    sql = "SELECT * FROM kinds"
    (batch,) = pipeline.query_arrow(sql)
    assert batch.to_pylist()[0]["price"] == Decimal("12.30")
    (found,) = pipeline.query_arrow_dicts(sql)
    assert found["id"] == 1
    pipeline.query_parquet(sql, str(tmp_path / "found"))
    assert pq.read_table(tmp_path / "found.parquet").to_pylist()[0]["name"] == ROW["name"]
    assert any("12.30" in line for line in pipeline.query_tabular(sql))
    before = pipeline.query_hash(sql)
    assert before == pipeline.query_hash(sql)
    pipeline.execute("INSERT INTO kinds (id) VALUES (5)")
    assert before != pipeline.query_hash(sql)
    assert pipeline.query_hash("SELECT * FROM plain")


def test_errors_of_queries_are_told(pipeline: Pipeline) -> None:
    with pytest.raises(FelderaAPIError, match="X722: unknown table or view 'nowhere'"):
        list(pipeline.query("SELECT * FROM nowhere"))
    with pytest.raises(FelderaAPIError, match="a view; only tables can be written"):
        pipeline.execute("DELETE FROM copied")
    with pytest.raises(FelderaAPIError, match="S240"):
        list(pipeline.query("DROP TABLE kinds"))


def test_a_pipeline_that_never_started_is_applied_by_a_start(service: Serving) -> None:
    service.pipeline("never", "CREATE TABLE items (id BIGINT);")
    address = f"{service.address}/v0/pipelines/never"
    queried = requests.get(f"{address}/query", params={"sql": "SELECT 1", "format": "json"}, timeout=60)
    for answer in (queried, requests.post(f"{address}/checkpoint", timeout=60)):
        assert (answer.status_code, answer.json()["error_code"]) == (404, "A506")
        assert answer.json()["details"]["hint"] == "start the pipeline: that applies it", "nobody applies it by a command"


def test_listening_gives_each_step(pipeline: Pipeline) -> None:
    listener = pipeline.listen("copied")
    token = pipeline.input_json("plain", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    listener.wait_for_token(token, 60)
    assert listener.to_dict()
    token = pipeline.input_json("plain", {"delete": {"id": 1, "name": "a"}}, "insert_delete")
    listener.wait_for_token(token, 60)
    assert -1 in {row["insert_delete"] for row in listener.to_dict()}
    seen: list[tuple[int, int]] = []
    pipeline.foreach_chunk("passing", lambda frame, number: seen.append((number, len(frame))))
    token = pipeline.input_json("plain", {"id": 9, "name": "z"})
    listener.wait_for_token(token, 60)
    for _ in range(100):
        if any(count for _, count in seen):
            break
        listener.changed.acquire()
        listener.changed.wait(0.1)
        listener.changed.release()
    # The row of the view that was, and the one that is.
    assert [count for _, count in seen if count] == [2]
    with pytest.raises(ValueError, match="not found"):
        pipeline.listen("nowhere")


def test_decimals_keep_their_digits(pipeline: Pipeline) -> None:
    with decimal.localcontext(decimal.Context(prec=60)):
        pipeline.execute("INSERT INTO kinds (id, price) VALUES (1, 12345678.91)")
        assert rows(pipeline, "kinds")[0]["price"] == Decimal("12345678.91")


def test_names_are_found_in_any_letter_case(pipeline: Pipeline) -> None:
    pipeline.input_json("PLAIN", {"ID": 1, "name": "a"})
    pipeline.input_json('"plain"', {"id": 2, "NAME": "b"})
    assert [row["id"] for row in rows(pipeline, "Plain")] == [1, 2]
    assert [one.name for one in pipeline.tables() + pipeline.views()] == ["kinds", "plain", "copied", "passing"]


def test_forms_that_are_none_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(ValueError, match="must be one of raw or insert_delete"):
        pipeline.input_json("plain", {"id": 1}, "debezium")
    with pytest.raises(FelderaAPIError, match="has no table 'nowhere'"):
        pipeline.input_json("nowhere", {"id": 1})


def test_a_frame_may_have_other_columns_than_the_table(pipeline: Pipeline) -> None:
    pipeline.input_pandas("plain", pd.DataFrame({"id": [1], "strange": ["x"]}))
    assert rows(pipeline, "plain") == [{"id": 1, "name": None}]


def test_a_query_is_asked_when_its_rows_are(pipeline: Pipeline) -> None:
    for lazy in (pipeline.query, pipeline.query_tabular):
        asked = lazy("SELECT * FROM nowhere")
        with pytest.raises(FelderaAPIError, match="X722"):
            list(asked)
    assert pipeline.execute("SELECT * FROM plain") is None
    with pytest.raises(FelderaAPIError, match="X722"):
        pipeline.execute("INSERT INTO nowhere VALUES (1)")
    pipeline.execute("-- one row\n/* of two */ INSERT INTO plain (id) VALUES (1);")
    assert rows(pipeline, "plain") == [{"id": 1, "name": None}]


def test_a_listener_is_told_from_its_beginning_to_the_stop(service: Serving) -> None:
    pipeline = service.pipeline("told", "CREATE TABLE plain (id BIGINT); CREATE VIEW passing AS SELECT * FROM plain;")
    pipeline.start()
    pipeline.input_json("plain", {"id": 1})
    pipeline.stop(force=False)
    with pytest.raises(RuntimeError, match="must be running or paused"):
        pipeline.listen("plain")
    pipeline.start_paused()
    listener, idle = OutputHandler(service.client, "told", "plain"), OutputHandler(service.client, "told", "plain")
    listener.start()
    numbers: list[int] = []
    pipeline.foreach_chunk("plain", lambda _, number: numbers.append(number))
    pipeline.resume()
    for number in (2, 3):
        listener.wait_for_token(pipeline.input_json("plain", {"id": number}), 60)
    assert listener.to_dict(clear_buffer=False) == [{"id": 2, "insert_delete": 1}, {"id": 3, "insert_delete": 1}]
    assert list(listener.to_pandas()["id"]) == [2, 3]
    assert listener.to_dict() == idle.to_dict() == []
    pipeline.restart()
    listener.handler.join(30)
    assert listener.ended
    assert listener.exception is None
    assert len(numbers) == 2
    assert 0 <= numbers[0] < numbers[1]
    pipeline.stop(force=True)


@pytest.mark.parametrize(
    "wrong",
    ['{"insert": {"id": 2, "name": "\\ud800"}}', '{"insert": {"id": "\\udfff"}}'],
    ids=["a value", "a value that is told"],
)
def test_half_of_a_character_is_no_text(pipeline: Pipeline, service: Serving, wrong: str) -> None:
    address = f"{service.address}/v0/pipelines/data/ingress/plain?format=json"
    whole = '{"insert": {"id": 1, "name": "\\ud83d\\ude00"}}'
    answer = requests.post(address, data=f"{wrong}\n{whole}\n{wrong}", timeout=60)
    assert (answer.status_code, answer.json()["details"]["num_errors"]) == (400, 2)
    assert answer.json()["message"].startswith(
        "Errors parsing input data (2 errors): rows for table plain can't be read: record 1"
    )
    pipeline.input_json("plain", {"id": 3})
    assert rows(pipeline, "plain") == [{"id": 1, "name": "\U0001f600"}, {"id": 3, "name": None}]


def test_what_is_wrong_with_many_rows_is_told_of_some(pipeline: Pipeline, service: Serving) -> None:
    address = f"{service.address}/v0/pipelines/data/ingress/plain?format=json"
    before = pipeline.input_connector_stats("plain", "api_ingress").metrics.num_parse_errors or 0
    answer = requests.post(address, data="1,a\n" * 50_000 + '{"insert": {"id": 1}}\n', timeout=60)
    assert answer.status_code == 400
    assert answer.json()["details"]["num_errors"] == 100_000
    assert len(answer.json()["details"]["errors"]) == 20
    pipeline.input_json("plain", {"id": 2})
    assert [row["id"] for row in rows(pipeline, "plain")] == [1, 2]
    found = pipeline.input_connector_stats("plain", "api_ingress")
    assert found.metrics.num_parse_errors == before + 100_000
    assert [one.index for one in found.parse_errors or ()] == [*range(before + 99_901, before + 100_001)]


def test_numbers_of_csv_that_json_lacks_are_kept(pipeline: Pipeline, service: Serving) -> None:
    text = "".join(f"{number},,{value},,,,,\n" for number, value in enumerate(("nan", "Infinity", "-inf", "")))
    answer = requests.post(f"{service.address}/v0/pipelines/data/ingress/kinds", data=text, timeout=60)
    assert answer.status_code == 200
    pipeline.wait_for_token(answer.json()["token"])
    (batch,) = pipeline.query_arrow("SELECT * FROM kinds")
    found = batch.sort_by("id")["real_one"].to_pylist()
    assert list(map(str, found)) == ["nan", "inf", "-inf", "None"]
