"""The target: one environment of a repository, with its warehouse as an absolute location, its registry, the
cache of compiled objects, the version of the Spark that would do the work, whether it is the repository's default, and the
warehouses of the other environments, as far as this version could use them.

What was seen of other pipelines' heads is kept with it for a minute (`glanced`): a first apply asks for all of them some ten
times, and on an object store each look takes requests. Who looks at many pipelines at once does so `at_one_moment`: git is
asked once for policies, and its answer is the same for all of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from reconciler.base.cache import Cache, NoCache
from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import errors_among
from reconciler.base.errors import ManifestInvalid, NotFound, ReconcileError
from reconciler.base.json_objects import from_json
from reconciler.base.names import did_you_mean
from reconciler.base.pasted_commands import in_environment
from reconciler.delta.nested_warehouses import warehouse_around_or_within
from reconciler.delta.opening import is_local, is_on_s3, local_path
from reconciler.engine.installed import installed_spark
from reconciler.environment.cache_store import flush, open_cache
from reconciler.environment.source import read_optional
from reconciler.project.manifest.environment import PROJECT_FILE, Environment, Project, project_without_file
from reconciler.project.manifest.warehouses import canonical_warehouse
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.protocol import Glance, Registry

_REGISTRIES: Final = 8

Glances = dict[str, tuple[float, Glance | None]]
"""By pipeline: when its head was looked at, by the monotonic clock in seconds, and what was seen (None: no head that can be
read)."""


@dataclass(frozen=True, slots=True)
class Target:
    """See the module."""

    root: Path
    environment: Environment
    warehouse: str
    registry: Registry
    cache: Cache = field(default_factory=NoCache)
    spark_version: str = field(default_factory=installed_spark)
    is_default: bool = True
    others: tuple[str, ...] = ()
    glanced: Glances = field(default_factory=dict, compare=False, repr=False)
    asked: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def warehouses(self) -> tuple[str, ...]:
        """Every warehouse that the repository names, its own first."""
        return (self.warehouse, *self.others)

    @property
    def variables(self) -> Mapping[str, str]:
        return self.environment.variables

    def at_one_moment(self) -> "Target":
        """The same target for one look at several pipelines, which takes a moment: see the module."""
        return replace(self, asked={})

    def pasteable(self, text: str) -> str:
        """A text whose commands act on this environment."""
        return in_environment(text, None if self.is_default else self.environment.name)


def open_target(root: Path, environment: str | None) -> Target:
    """The target of an environment (None: the project's default). Raises ManifestInvalid, NotFound (U814), and
    ReconcileError (U815, U821) for a warehouse that this version can't use."""
    cache = open_cache()
    project = _project(read_optional(root / PROJECT_FILE, root), cache)
    name = environment or project.default
    found = project.environments.get(name)
    if found is None:
        known = ", ".join(sorted(project.environments))
        raise NotFound(
            "U814", f"no environment {name!r}; known environments: {known}", did_you_mean(name, project.environments)
        )
    warehouse = warehouse_location(found, root)
    others = tuple(_warehouses(root, (one for other, one in project.environments.items() if other != name)))
    _require_apart(name, warehouse, others)
    return Target(root, found, warehouse, registry_of(warehouse), cache, is_default=name == project.default, others=others)


@lru_cache(maxsize=_REGISTRIES)
def registry_of(warehouse: str) -> Registry:
    """The registry of a warehouse: one for a process, as what is seen of it serves whatever the process does next."""
    return DeltaRegistry(warehouse)


def _require_apart(environment: str, warehouse: str, others: tuple[str, ...]) -> None:
    """No command works in a warehouse that stands inside another one, or has one inside. Raises ReconcileError (U821)."""
    nested = warehouse_around_or_within(warehouse, others)
    if nested is not None:
        raise nested_warehouse(environment, warehouse, nested)


def nested_warehouse(environment: str, warehouse: str, nested: str) -> ReconcileError:
    """U821: one warehouse would write and remove what is the other's."""
    return ReconcileError(
        "U821",
        f"environment {environment} has its warehouse at {warehouse}, and another warehouse is at {nested}: "
        "one contains the other",
        "give each warehouse its own folder, not inside another: a table of one would be a folder of the other",
    )


def warehouse_location(environment: Environment, root: Path) -> str:
    """Where the warehouse is, one place always being one text. Raises ReconcileError (U815)."""
    written = environment.warehouse
    if is_local(written):
        return str((root / local_path(written)).resolve())
    place = canonical_warehouse(written) if is_on_s3(written) else None
    if place is not None:
        return place
    raise ReconcileError(
        "U815",
        f"environment {environment.name} has its warehouse at {written}; this version of reconciler supports "
        "only folders and S3",
        "give the path of a local or mounted folder, or s3://bucket/path",
    )


def _warehouses(root: Path, environments: Iterable[Environment]) -> Iterator[str]:
    for environment in environments:
        with suppress(ReconcileError):
            yield warehouse_location(environment, root)


def _project(text: str | None, cache: Cache) -> Project:
    """The project that the file says; a file that was read before without a complaint is not read again."""
    if text is None:
        return project_without_file()
    key = f"project:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
    kept = cache.recall(key)
    if kept is not None:
        return from_json(Project, json.loads(kept))
    from reconciler.project.manifest.project import read_project

    read = read_project(text)
    errors = errors_among(read.diagnostics)
    if errors or read.project is None:
        raise ManifestInvalid(errors)
    if not read.diagnostics:
        cache.remember(key, json.dumps(asdict(read.project)))
        flush(cache)
    return read.project
