"""Aliases: names that people give to versions of an object, `revenue@stable`, and move from one to another.

- An alias is moved in one compare-and-set, on whatever is there then; its moves are kept with it, in the same document.
  Nobody needs the pipeline's lease for it: no row and no definition changes.
- It stands for a version that is recorded. `v2` and `latest` are no names for one.
- A renamed object keeps its aliases.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.base.names import did_you_mean, fold
from reconciler.environment.target import Target
from reconciler.registry.changing import change_document
from reconciler.registry.model import Aliases, AliasMove
from reconciler.versions.looking import FoundObject, aliases_of, read_version, version_number

_ALIAS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_RESERVED: Final = ("latest", "active")


def put_alias(target: Target, found: FoundObject, alias: str, version: str, by: str) -> AliasMove:
    """Have an alias stand for a version (`v2`, or what another alias stands for); it is no change if it does already.

    Raises ReconcileError (U820) for what can't be an alias, NotFound (A522) for a version that is not there.
    """
    if not _ALIAS.fullmatch(alias) or version_number(alias) is not None or fold(alias) in _RESERVED:
        hint = "use a letter, then letters, digits and _; but not v2, latest or active"
        raise ReconcileError("U820", f"{alias!r} is not a valid name of an alias", hint)
    number = read_version(target, found, version).summary.number
    return _move(target, found, fold(alias), number, by)


def take_alias_away(target: Target, found: FoundObject, alias: str, by: str) -> AliasMove:
    """Take an alias away. Raises NotFound (A522) when there is none."""
    known = aliases_of(target, found)
    if fold(alias) not in known:
        message = f"{found.pipeline}.{found.name} has no alias {alias!r}"
        raise NotFound(
            "A522", message, did_you_mean(alias, known) or (f"there are {', '.join(sorted(known))}" if known else None)
        )
    return _move(target, found, fold(alias), None, by)


def alias_moves(target: Target, found: FoundObject) -> tuple[AliasMove, ...]:
    """Every move of an object's aliases, oldest first."""
    stored = target.registry.document(found.pipeline, Aliases)
    return tuple(move for move in stored.value.moves if move.object == found.versions.id) if stored is not None else ()


def _move(target: Target, found: FoundObject, alias: str, number: int | None, by: str) -> AliasMove:
    key = found.versions.id
    move = AliasMove(key, alias, None, number, this_moment(), by)

    def moved(now: Aliases | None) -> Aliases | None:
        nonlocal move
        known = now or Aliases()
        # Somebody may have moved it meanwhile: what is there now is what is moved.
        move = replace(move, before=known.numbers.get(key, {}).get(alias), at=this_moment())
        if move.before == number:
            return None
        numbers = {**known.numbers, key: _with(known.numbers.get(key, {}), alias, number)}
        return Aliases({one: dict(of) for one, of in sorted(numbers.items()) if of}, (*known.moves, move))

    change_document(target.registry, found.pipeline, Aliases, moved)
    return move


def _with(known: Mapping[str, int], alias: str, number: int | None) -> dict[str, int]:
    others = {name: one for name, one in known.items() if name != alias}
    return dict(sorted((others if number is None else {**others, alias: number}).items()))
