"""What all requests of the service share."""

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.moments import this_moment
from reconciler.environment.target import Target
from reconciler.rest.compilation import Compiler
from reconciler.rest.deployments import Deployments
from reconciler.rest.pipeline_json import Lookup
from reconciler.rest.turns import Gate
from reconciler.server.places import Place


@dataclass(frozen=True, slots=True)
class Service:
    """The service of one environment of a repository. `by` is who asks, in records; `gate` lets queries in."""

    target: Target
    place: Place
    compiler: Compiler
    deployments: Deployments
    lookup: Lookup
    by: Callable[[], str]
    boundary: Boundary
    gate: Gate = field(default_factory=Gate)
    started_at: str = field(default_factory=this_moment)


def new_service(
    target: Target, place: Place, by: Callable[[], str], boundary: Boundary = no_boundary, *, nests: bool = True
) -> Service:
    """A service, which has taken nothing up yet."""
    compiler = Compiler(target)
    deployments = Deployments(target, place, Path(place.folder) / "pipelines", boundary)
    return Service(target, place, compiler, deployments, Lookup(target, compiler, deployments, nests=nests), by, boundary)
