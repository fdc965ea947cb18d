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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Files go to a disk and to a store. In modules that set `BOTH_WAYS` all emissions are tried on Spark and on whoever
    does what is small; on a store that is none."""
    both = getattr(metafunc.module, "BOTH_WAYS", False)
    if "sink" in metafunc.fixturenames:
        ways = [("spark", "disk"), ("spark", "store"), *([("by size", "disk")] if both else [])]
        metafunc.parametrize(("versions", "sink"), ways, indirect=True)
    elif "versions" in metafunc.fixturenames and both:
        metafunc.parametrize("versions", ["spark", "by size"], indirect=True)


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
def versions(request: pytest.FixtureRequest, views: Views, engine_by_size: Engine, tmp_path: Path) -> Versions:
    """Emitted by Spark, or by whoever does what is small."""
    made = Versions(views, tmp_path)
    if getattr(request, "param", "spark") == "by size":
        made.engine = engine_by_size
    return made


@pytest.fixture
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Sink:
    return Sink(tmp_path / "out", mounted=request.param == "store")


@pytest.fixture
def connector(spark_engine: Engine, kafka_broker: Broker, tmp_path: Path) -> Connector:
    return Connector(spark_engine, kafka_broker, tmp_path)


@pytest.fixture
def topic(kafka_broker: Broker) -> str:
    return three_partitions(kafka_broker)
