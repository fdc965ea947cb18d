"""Where a relation's Delta table stands: its folder below the warehouse.

Rules:
- A relation that is stored keeps its folder for good, whatever it is called later: a rename moves no file, and whoever
  reads the path reads on. So the registry's placement is asked first, and a name tells where something stands only for
  what has no placement yet.
- What is new gets the folder of its name; where a renamed relation stands there, `<name>-2`, `<name>-3`, …: the first
  that no placement has. No relation's name has a hyphen, so that these are in nobody's way.
- A version that is kept up to date (`revenue@v2`) is a relation as any, in the folder `revenue-v2`: Delta takes `@` in a
  path for time travel.
- Nothing else derives a folder from a name.
- What is staged lies below its relation's folder, in folders with opaque names.
"""

import hashlib
from collections.abc import Iterable, Mapping

from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.engine.dead_letters import DEAD_LETTER_FOLDER
from reconciler.environment.target import Target
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.registry.model import Journal
from reconciler.registry.placements import Placement


def staging_folder(*parts: str) -> str:
    """An opaque folder name for one build of one relation: the same for a repeat, different for every other build."""
    return "v-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def folder_for(pipeline: str, relation: str, placements: Mapping[str, Placement]) -> str:
    """The folder of a relation. `placements` are those of all stored relations by folded name, under the names that they
    have by then (`renamed_placements`)."""
    key = fold(relation)
    if key in placements:
        return placements[key].location
    taken = {placement.location for placement in placements.values()}
    first = folder = f"{pipeline}/{key.replace('@', '-')}"
    number = 1
    while folder in taken:
        number += 1
        folder = f"{first}-{number}"
    return folder


def renamed_placements(placements: Mapping[str, Placement], renames: Iterable[tuple[str, str]]) -> dict[str, Placement]:
    """The placements under the names that relations have after these renames (applied name, desired name)."""
    renamed = {fold(applied): fold(desired) for applied, desired in renames}
    going_on = {new: placements[old] for old, new in renamed.items() if old in placements}
    return {key: placement for key, placement in placements.items() if key not in renamed} | going_on


def journal_renames(journal: Journal) -> tuple[tuple[str, str], ...]:
    """The renames among the steps of a journal."""
    steps = [entry.step for entry in journal.entries]
    return tuple((step.applied, step.relation) for step in steps if isinstance(step, RenameRelation))


def dead_letters_location(target: Target, pipeline: str) -> str:
    """Where the pipeline's dead letters are."""
    return join_location(target.warehouse, pipeline, DEAD_LETTER_FOLDER)
