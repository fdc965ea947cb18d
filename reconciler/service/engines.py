"""The one engine of a project: made at its first use, by what that is for, and closed with the project."""

from collections.abc import Callable

from reconciler.delta.opening import is_on_s3
from reconciler.engine.protocol import Engine
from reconciler.engine.resources import Resources, process_settings
from reconciler.environment.resources import applied_resources, desired_resources
from reconciler.environment.target import Target


class Engines:
    """One process has one Spark: the pipeline for which it is made first says what it may use (`spec.runtime`). An engine
    that is given is used for everything, and is its giver's to close."""

    def __init__(self, target: Target, engine: Engine | None = None) -> None:
        self._target = target
        self._engine = engine
        self._is_own = engine is None

    def of_project(self) -> Engine:
        """The engine, as the environment says; made, but not started."""
        return self._with(Resources)

    def to_work_on(self, pipeline: str) -> Engine:
        """For work on what is applied of a pipeline."""
        return self._with(lambda: applied_resources(self._target, pipeline))

    def to_apply(self, pipeline: str) -> Engine:
        """For work on what the files say of a pipeline."""
        return self._with(lambda: desired_resources(self._target, pipeline))

    def to_run(self, pipeline: str) -> Engine:
        """For a process that runs a pipeline until it is stopped."""
        return self._with(lambda: applied_resources(self._target, pipeline), lives_long=True)

    def interrupt(self) -> None:
        """Have what the engine computes fail soon."""
        if self._engine is not None:
            self._engine.interrupt()

    def close(self) -> None:
        """Stop the engine, if it was made here."""
        if self._is_own and self._engine is not None:
            self._engine.close()
            self._engine = None

    def _with(self, resources: Callable[[], Resources], lives_long: bool = False) -> Engine:
        if self._engine is None:
            from reconciler.engine.spark.engine import spark_engine

            settings = self._target.environment.spark
            is_far = is_on_s3(self._target.warehouse)
            self._engine = spark_engine(lambda: process_settings(settings, resources()), is_far, lives_long)
        return self._engine


def shared_spark(target: Target) -> tuple[dict[str, str], bool]:
    """The settings of a Spark that all pipelines of an environment may share, and whether it needs S3. A pipeline that asks
    for more of its own (`spec.runtime`) needs another."""
    return process_settings(target.environment.spark, Resources()), is_on_s3(target.warehouse)
