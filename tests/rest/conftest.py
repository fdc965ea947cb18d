"""A service over HTTP for tests, and the real client of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.programs import Program, begin
from tests.waiting import wait_until

if TYPE_CHECKING:
    from feldera import FelderaClient, Pipeline

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Serving:
    """A service of a repository; `start` begins its process, which `address` then leads to."""

    root: Path
    form: str = "nested"
    tokens: str = ""
    address: str = ""
    process: Program | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def start(self) -> "Serving":
        words = (str(self.root), str(self.root / "spark.log"), self.form, self.tokens)
        error = self.root / "errors.log"
        self.process = begin("tests.rest.program", *words, variables=self.environment, error=error)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http"), error.read_text()
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)

    def hold(self, boundary: str) -> None:
        """Have each process that comes to a boundary stay there, until it is let go."""
        (self.root / "held").unlink(missing_ok=True)
        (self.root / "hold").write_text(boundary)

    def wait_until_held(self) -> int:
        """The process that has come there, when one has."""
        held = self.root / "held"
        wait_until(lambda: held.is_file() and held.read_text())
        return int(held.read_text())

    def let_go(self) -> None:
        """Have those who are held go on, and all who come."""
        (self.root / "hold").unlink()

    @property
    def client(self) -> "FelderaClient":
        from feldera import FelderaClient

        return FelderaClient(self.address)

    def pipeline(self, name: str, sql: str, **more: Any) -> "Pipeline":
        """A pipeline that is made, and not started."""
        from feldera import PipelineBuilder

        return PipelineBuilder(self.client, name, sql, **more).create()


def new_repository(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: .reconcile/warehouse}\n")
    return root


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(new_repository(tmp_path_factory.mktemp("service"))).start()
    yield serving
    serving.stop()


@pytest.fixture
def service(lasting: Serving) -> Serving:
    """A service that the test leaves running; each test has pipelines of its own."""
    return lasting


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    """Makes services that the test may end."""
    made: list[Serving] = []

    def make(before: Callable[[Path], object] = lambda root: None, **more: Any) -> Serving:
        """Of a repository to which something is done before the service begins."""
        made.append(Serving(new_repository(tmp_path / f"service{len(made)}"), **more))
        before(made[-1].root)
        return made[-1].start()

    yield make
    for one in made:
        one.stop()
