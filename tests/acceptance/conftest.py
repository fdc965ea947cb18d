"""The scenarios of shop.py and river.py, prepared once for all tests that start from them."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from tests.acceptance.river import OnSpark, make_topics, open_river, second_half, write_river
from tests.acceptance.shop import contents, copy_of, make_baseline, open_shop, state
from tests.kafka.broker import Broker


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """A repository with BEFORE applied and filled. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("baseline")
    make_baseline(root, spark_engine)
    return root


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, baseline: Path, spark_engine: Engine) -> dict[str, Any]:
    """State and contents after AFTER was applied to a copy of the baseline, with nothing in the way."""
    root = copy_of(baseline, tmp_path_factory.mktemp("undisturbed") / "shop")
    open_shop(root, spark_engine).apply()
    return {"state": state(root, spark_engine), "contents": contents(root)}


@pytest.fixture(scope="session")
def river_half_way(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine, kafka_broker: Broker) -> OnSpark:
    """The river after a run over its history and the first half of its input; the second half is there and not read."""
    root, topics = tmp_path_factory.mktemp("river-half-way"), make_topics(kafka_broker)
    write_river(root, topics)
    open_river(root, spark_engine).apply()
    open_river(root, spark_engine).run_once()
    second_half(root, topics)
    return OnSpark(root, spark_engine, topics, tuple(kafka_broker.messages(topics.totals)))


@pytest.fixture(scope="session")
def river_on_spark(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine, kafka_broker: Broker) -> OnSpark:
    """The river, applied, with all its input there and nothing read."""
    root, topics = tmp_path_factory.mktemp("river-on-spark"), make_topics(kafka_broker)
    write_river(root, topics)
    second_half(root, topics)
    open_river(root, spark_engine).apply()
    return OnSpark(root, spark_engine, topics)
