"""The target: one environment of a repository, with its warehouse as an absolute location, its registry, and the
cache of compiled objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.cache import Cache, NoCache
from reconciler.delta.opening import is_local, local_path
from reconciler.diagnostics import errors_among
from reconciler.errors import ManifestInvalid, NotFound, ReconcileError
from reconciler.manifest.project import Environment, read_project
from reconciler.names import did_you_mean
from reconciler.reconcile.cache_store import open_cache
from reconciler.reconcile.source import PROJECT_FILE, read_optional
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.protocol import Registry


@dataclass(frozen=True, slots=True)
class Target:
    """See the module."""

    root: Path
    environment: Environment
    warehouse: str
    registry: Registry
    cache: Cache = field(default_factory=NoCache)

    @property
    def variables(self) -> Mapping[str, str]:
        return self.environment.variables


def open_target(root: Path, environment: str | None) -> Target:
    """The target of an environment (None: the project's default). Raises ManifestInvalid, NotFound (U814), and
    ReconcileError (U815) for a warehouse that this version can't use."""
    read = read_project(read_optional(root / PROJECT_FILE, root))
    errors = errors_among(read.diagnostics)
    if errors or read.project is None:
        raise ManifestInvalid(errors)
    project = read.project
    name = environment or project.default
    found = project.environments.get(name)
    if found is None:
        known = ", ".join(sorted(project.environments))
        raise NotFound("U814", f"no environment {name!r}; known are: {known}", did_you_mean(name, project.environments))
    if not is_local(found.warehouse):
        raise ReconcileError(
            "U815",
            f"environment {name} has its warehouse at {found.warehouse}; this version needs a local or mounted folder",
            "give the path of a folder",
        )
    warehouse = str((root / local_path(found.warehouse)).resolve())
    return Target(root, found, warehouse, DeltaRegistry(warehouse), open_cache())
