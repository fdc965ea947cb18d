"""All kinds of steps, in the order in which a plan carries them out."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.operations.publish_view import PublishView
from reconciler.plan.operations.rename_relation import RenameRelation

Step: TypeAlias = (
    CreateTable
    | EvolveTable
    | BootstrapView
    | ClearTable
    | ExtendTable
    | PublishTable
    | PublishView
    | RenameRelation
    | DropRelation
    | CommitSnapshot
)

_KINDS: Final[tuple[type[Step], ...]] = (
    CreateTable,
    EvolveTable,
    BootstrapView,
    ClearTable,
    ExtendTable,
    PublishTable,
    PublishView,
    RenameRelation,
    DropRelation,
    CommitSnapshot,
)
_PLACES: Final[Mapping[type[Step], int]] = {kind: place for place, kind in enumerate(_KINDS)}
_BY_NAME: Final[Mapping[str, type[Step]]] = {kind.KIND: kind for kind in _KINDS}


def place_of(step: Step) -> int:
    """Steps of one kind come before those of another: a key to sort by."""
    return _PLACES[type(step)]


def step_from_json(value: JsonObject) -> Step:
    """The step of its JSON object. Raises ValueError for a kind that this version does not know."""
    kind = _BY_NAME.get(value["kind"])
    if kind is None:
        raise ValueError(f"unknown step kind {value['kind']!r}")
    return kind.from_json(value)
