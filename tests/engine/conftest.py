"""What tests of engines share: the engine on Spark, and its tables as somebody else sees them; views to send; what reads a
topic."""

from pathlib import Path

import pytest

from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine
from tests.engine.emissions import Sink, Versions, Views
from tests.engine.engines import DeltaStorage
from tests.engine.kafka_reading import Connector, three_partitions
from tests.kafka.broker import Broker


@pytest.fixture(scope="session")
def spark_engine(spark_engine: EngineBySize) -> Engine:
    """All that is asked of it here is done by Spark, however little it is."""
    return spark_engine.spark


@pytest.fixture(scope="session")
def engine_by_size(spark_engine: Engine) -> Engine:
    """As the product has it: what is small is done without Spark."""
    return EngineBySize(spark_engine, dict)


@pytest.fixture
def storage() -> DeltaStorage:
    return DeltaStorage()


@pytest.fixture
def engine(spark_engine: Engine) -> Engine:
    return spark_engine


@pytest.fixture(scope="session")
def views(spark_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Views:
    return Views(spark_engine, tmp_path_factory.mktemp("views"))


@pytest.fixture
def versions(views: Views, tmp_path: Path) -> Versions:
    return Versions(views, tmp_path)


@pytest.fixture(params=["disk", "store"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Sink:
    return Sink(tmp_path / "out", mounted=request.param == "store")


@pytest.fixture
def connector(spark_engine: Engine, kafka_broker: Broker, tmp_path: Path) -> Connector:
    return Connector(spark_engine, kafka_broker, tmp_path)


@pytest.fixture
def topic(kafka_broker: Broker) -> str:
    return three_partitions(kafka_broker)
