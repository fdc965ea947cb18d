"""Something odd stands at the places of some connectors: these fail, and say so; the others read and send. Real Spark."""

from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Engine
from tests.acceptance.shop import open_shop, write_shop

pytestmark = pytest.mark.spark

FILES = """\
CREATE TABLE events (id BIGINT);
CREATE TABLE other (id BIGINT);
CREATE MATERIALIZED VIEW seen AS SELECT id FROM events;
"""
CONNECTORS = """\
  connectors:
    - {name: files, table: events, transport: {name: file_input, config: {path: source}}, format: {name: json}}
    - {name: lake, table: other, transport: {name: delta_table_input, config: {uri: odd/lake, mode: follow}}}
    - {name: bad, view: seen, transport: {name: delta_table_output, config: {uri: odd/out}}}
    - {name: round, view: seen, transport: {name: delta_table_output, config: {uri: odd/loop}}}
    - {name: good, view: seen, transport: {name: delta_table_output, config: {uri: sent}}}
"""


def test_an_odd_place_holds_up_its_connector_alone(spark_engine: Engine, tmp_path: Path) -> None:
    write_shop(tmp_path, FILES, more=CONNECTORS)
    for name in ("source", "odd"):
        (tmp_path / name).mkdir()
    (tmp_path / "source/1.json").write_text('{"id": 1}\n')
    for name in ("lake", "out"):
        (tmp_path / "odd" / name).write_text("a file of somebody else")
    (tmp_path / "odd/loop").symlink_to("loop")
    pipeline = open_shop(tmp_path, spark_engine)
    pipeline.apply()

    with pytest.raises(EngineError) as caught:
        pipeline.run_once()

    assert caught.value.code == "X757"
    assert [tuple(row.values()) for row in pipeline.query("SELECT id FROM seen")] == [(1,)]
    assert list((tmp_path / "sent/_delta_log").glob("*.json")), "the output whose place is good has sent"
    told = {one.name: one.last_error for one in pipeline.status().connectors}
    codes = {name: error["code"] for name, error in told.items() if error is not None}
    assert codes == {"other.lake": "X757", "seen.bad": "X757", "seen.round": "X757"}

    for name in ("lake", "out", "loop"):
        (tmp_path / "odd" / name).unlink()
    with pytest.raises(EngineError, match="there is no Delta table"):
        pipeline.run_once()
    for name in ("out", "loop"):
        assert list((tmp_path / "odd" / name / "_delta_log").glob("*.json"))
