"""Homes of pipelines: what a warehouse remembers of the projects that its pipelines were applied from.

A project's merged reconcile.yaml and policy.yaml bind whoever changes it. Which project that is can't be left to the
checkout to say: one whose folder was moved on a side branch, or that spells the warehouse in another way, would be bound by
nothing. So each apply records the home of its pipeline as the base branch knows it, and `bases` asks what stands there now.

What is applied from a project that the base branch doesn't know changes no home. A pipeline that has none yet, since it was
never applied, is under those of the others.
"""

from contextlib import suppress
from dataclasses import dataclass

from reconciler.errors import RegistryError
from reconciler.reconcile.target import Target
from reconciler.registry.home import Home
from reconciler.registry.model import Applied


@dataclass(frozen=True, slots=True)
class Homes:
    """The homes that a pipeline is under: its own, or if it has none, those of others, each with a commit of its
    repository."""

    own: Home | None = None
    others: tuple[tuple[Home, str], ...] = ()

    def all(self) -> tuple[Home, ...]:
        """Every one, the pipeline's own first."""
        return (*([self.own] if self.own is not None else []), *(home for home, _ in self.others))


def homes_of(target: Target, pipeline: str) -> Homes:
    """The homes that a pipeline is under, as the registry has them."""
    return homes_beside(target, pipeline, _applied(target, pipeline))


def homes_beside(target: Target, pipeline: str, applied: Applied | None) -> Homes:
    """`homes_of` for who has read what is applied."""
    if applied is not None and applied.home is not None:
        return Homes(applied.home)
    found: dict[Home, str] = {}
    for other in target.registry.pipelines():
        # Damage to one pipeline is no damage to another.
        with suppress(RegistryError):
            known = _applied(target, other) if other != pipeline else None
            if known is not None and known.home is not None:
                found.setdefault(known.home, known.commit)
    return Homes(None, tuple(found.items()))


def _applied(target: Target, pipeline: str) -> Applied | None:
    stored = target.registry.head(pipeline)
    return stored.value.applied if stored is not None else None
