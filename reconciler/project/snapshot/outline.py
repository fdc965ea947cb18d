"""The outline of a snapshot: what a plan says of a pipeline in which nothing changed. Small enough to be kept by itself, so
that finding out that nothing changed needs no program."""

from typing import TYPE_CHECKING

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold

if TYPE_CHECKING:
    from reconciler.project.snapshot.model import Snapshot


@dataclass(frozen=True, slots=True)
class Outline:
    """`digest` and `record` are the snapshot's; `relations` the names of tables and views that are no LOCAL views, sorted;
    `connectors` the qualified names with the direction, sorted."""

    digest: str
    record: str
    bootstrap_policy: str
    relations: tuple[str, ...]
    connectors: tuple[tuple[str, str], ...]


def outline_of(snapshot: "Snapshot") -> Outline:
    """The outline of a snapshot."""
    program = snapshot.program
    names = [relation.name for relation in program.relations.values() if not relation.is_local]
    connectors = [(one.qualified_name, one.direction.value) for one in program.connectors.values()]
    return Outline(
        snapshot.digest,
        snapshot.record,
        program.settings.bootstrap_policy.value,
        tuple(sorted(names, key=fold)),
        tuple(sorted(connectors, key=lambda one: fold(one[0]))),
    )
