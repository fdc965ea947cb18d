"""The Python interface: a project, its pipelines, and what the command line does with them.

    from reconciler import Project

    with Project.open("path/to/repository") as project:
        pipeline = project.pipeline("student_grades")
        plan = pipeline.plan()
        pipeline.apply()
        pipeline.execute("INSERT INTO students VALUES (1, 'Alice')")
        rows = list(pipeline.query("SELECT * FROM avg_grade_enriched"))

Errors are those of `reconciler.base.errors`. A project starts Spark when a call first needs it, and stops it on `close`.
"""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from reconciler.apply.promoting import find_staged
from reconciler.engine.protocol import Engine
from reconciler.environment.observer import SILENT, Observer
from reconciler.environment.source import find_root
from reconciler.environment.target import Target, open_target
from reconciler.registry.model import Staged
from reconciler.service.engines import Engines
from reconciler.service.pipeline import Pipeline
from reconciler.versions.looking import versioned_name
from reconciler.versions.rollbacks import Rollback, end_of, rollback_of
from reconciler.workspace.pipeline_order import apply_order
from reconciler.workspace.pipelines import own_pipelines, require_known


class Project:
    """A repository and one of its environments."""

    def __init__(self, target: Target, engine: Engine | None = None, observer: Observer = SILENT) -> None:
        self.target = target
        self._engines = Engines(target, engine)
        self._observer = observer

    @classmethod
    def open(
        cls,
        repository: str | Path = ".",
        environment: str | None = None,
        engine: Engine | None = None,
        observer: Observer = SILENT,
    ) -> Self:
        """Open the repository at, or above, a folder. `engine` replaces the Spark that is started on demand; `observer` is
        told of all work on the project's pipelines."""
        return cls(open_target(find_root(Path(repository)), environment), engine, observer)

    @property
    def engine(self) -> Engine:
        """The engine; made, but not started, at the first use, as the environment says."""
        return self._engines.of_project()

    def pipelines(self) -> tuple[str, ...]:
        """The pipelines that have files here, and those that were applied from here, sorted."""
        return own_pipelines(self.target)

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Pipelines in the order in which they are to be applied: each after those that it reads."""
        return apply_order(self.target, names)

    def pipeline(self, name: str) -> Pipeline:
        """One pipeline. Raises NotFound when neither files nor registry know it."""
        require_known(self.target, name)
        return Pipeline(self.target, self._engines, self._observer, name)

    def new_pipeline(self, name: str) -> Pipeline:
        """One pipeline, known or not: another's checkpoint can be restored under a name that is nothing yet."""
        return Pipeline(self.target, self._engines, self._observer, name)

    def find_staged(self, name: str) -> tuple[Pipeline, Staged]:
        """What is staged under a name (`revenue@v3`, `sales.revenue@v3`), and of which pipeline. Raises NotFound (A571)."""
        pipeline, staged = find_staged(self.target, versioned_name(name))
        return self.pipeline(pipeline), staged

    def find_rollback(self, name: str, kind: str | None = None) -> tuple[Pipeline, Rollback]:
        """To give the object of a name an earlier version (`sales.revenue@v1`), or the one that was active before."""
        rollback = rollback_of(self.target, versioned_name(name), kind)
        return self.pipeline(rollback.pipeline), rollback

    def find_end_of_rollback(self, name: str, kind: str | None = None) -> tuple[Pipeline, Rollback]:
        """To let the files hold again for the object of a name."""
        rollback = end_of(self.target, versioned_name(name), None, kind)
        return self.pipeline(rollback.pipeline), rollback

    def interrupt(self) -> None:
        """Have what this project asked of its engine fail soon: a query that takes too long, say. Another thread waits for
        that, and gets an EngineError."""
        self._engines.interrupt()

    def close(self) -> None:
        """Stop the engine, if this project made it."""
        self._engines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
