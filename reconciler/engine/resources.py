"""The process of Spark that a pipeline asks for (`spec.runtime`), as settings of Spark for one master.

| asked for | local master | standalone cluster | other clusters (YARN, Kubernetes) |
|---|---|---|---|
| workers | threads of the process | `spark.cores.max` | `spark.executor.instances` times `spark.executor.cores` |
| memory | `spark.driver.memory` | `spark.executor.memory` | `spark.executor.memory` |
| driver_memory | nothing: there is one process | `spark.driver.memory` | `spark.driver.memory` |

What the pipeline asks for wins over the environment's settings; where it asks for nothing, these stay as they are. An
executor never gets more cores than there are workers, or a cluster would wait for ever for one that may not be.
"""

from collections.abc import Mapping
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.project.manifest.spark_values import is_plain, seal
from reconciler.project.program.settings import OF_A_CALL, comparable_value, is_of_queries_only, is_recorded

_MASTER = "spark.master"
_CORES = "spark.executor.cores"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a pipeline asks for; None: whatever the environment says. `settings` are further settings of Spark, of which
    those that belong to a query are left out: they come with each call of the engine. `environment` are the environment's
    settings as they are applied (None where nobody recorded them), `sealed` the seals of those whose value may be secret."""

    workers: int | None = None
    memory: str | None = None
    driver_memory: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None
    sealed: Mapping[str, str] = field(default_factory=dict)


def is_local(master: str) -> bool:
    """Whether a master means threads of the driver's own process."""
    return master == "local" or master.startswith("local[")


def process_settings(environment: Mapping[str, str], asked: Resources) -> dict[str, str]:
    """The settings of Spark that a process starts with. `environment` are the environment's as reconcile.yaml has them here,
    which nobody need have merged: of these hold the ones that are known to harm nobody, and credentials. The others hold as
    they were applied. Raises EngineError (X780) where such a value is not recorded, and is not here any more either."""
    chosen = dict(environment)
    if asked.environment is not None:
        recorded = {name: text for name, text in asked.environment.items() if is_recorded(name)}
        chosen = {name: text for name, text in environment.items() if not is_recorded(name)} | recorded
        chosen |= _unsealed(environment, asked.sealed)
    return with_resources({name: text for name, text in chosen.items() if not _is_of_calls(name, text)}, asked)


def _is_of_calls(name: str, text: str) -> bool:
    return is_of_queries_only(name) and is_plain(name, text)


def _unsealed(environment: Mapping[str, str], sealed: Mapping[str, str]) -> dict[str, str]:
    """The environment's values that were applied, of those whose seals alone are recorded."""
    for name, applied in sealed.items():
        text = environment.get(name)
        if text is None or seal(name, comparable_value(name, text)) != applied:
            state = "is missing from" if text is None else "has changed in"
            raise EngineError(
                "X780",
                f"the environment's {name} {state} reconcile.yaml; the registry does not record the applied value",
                "run `reconcile plan`, which shows what the new value changes, and apply it; or restore the old value",
            )
    return {name: environment[name] for name in sealed}


def with_resources(environment: Mapping[str, str], asked: Resources) -> dict[str, str]:
    """The environment's settings of Spark, with what a pipeline asks for in their place."""
    master = environment.get(_MASTER, "local[*]")
    if is_local(master):
        found = {_MASTER: _with_threads(master, asked.workers), "spark.driver.memory": asked.memory}
    else:
        found = {"spark.executor.memory": asked.memory, "spark.driver.memory": asked.driver_memory}
        if asked.workers is not None:
            found |= _cores(environment, master, asked.workers)
    settings = {name: text for name, text in asked.settings.items() if not name.startswith(OF_A_CALL)}
    return {**environment, **settings, **{name: value for name, value in found.items() if value is not None}}


def _with_threads(master: str, workers: int | None) -> str:
    if workers is None:
        return master
    # The second number is how often a task may fail.
    _, comma, failures = master.removeprefix("local").strip("[]").partition(",")
    return f"local[{workers}{comma}{failures}]"


def _cores(environment: Mapping[str, str], master: str, workers: int) -> dict[str, str | None]:
    configured = environment.get(_CORES, "")
    cores = min(int(configured), workers) if configured.isdigit() else None
    limited = None if cores is None else str(cores)
    if master.startswith(("spark://", "local-cluster[")):
        return {"spark.cores.max": str(workers), _CORES: limited}
    executors = str(-(-workers // (cores or 1)))
    if environment.get("spark.dynamicAllocation.enabled", "false").strip().lower() == "true":
        return {"spark.dynamicAllocation.maxExecutors": executors, _CORES: limited}
    return {"spark.executor.instances": executors, _CORES: limited}
