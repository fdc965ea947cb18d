"""Homes of pipelines: what a warehouse remembers of the projects that its pipelines were applied from.

A project's merged reconcile.yaml and policy.yaml bind whoever changes it. Which project that is can't be left to the
checkout to say: one whose folder was moved on a side branch, or that spells the warehouse in another way, would be bound by
nothing. So each apply records the home of its pipeline as the base branch knows it, and `bases` asks what stands there now.

What is applied from a project that the base branch doesn't know changes no home. A pipeline that has none yet, since it was
never applied, is under those of the others.

A head that is damaged tells no home, and keeps no other pipeline from being applied. One that can't be reached, or that a
newer version wrote, is an error: nobody knows what it asks for.
"""

import time
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import RegistryError
from reconciler.environment.commits import NOT_COMMITTED
from reconciler.environment.target import Target
from reconciler.registry.home import Home
from reconciler.registry.protocol import Glance

_SEEN_SECONDS: Final = 60.0
_DAMAGED: Final = ("G601", "G602")


@dataclass(frozen=True, slots=True)
class Homes:
    """The homes that a pipeline is under: its own, or if it has none, those of others, each with a commit of its
    repository (empty: there was none)."""

    own: Home | None = None
    others: tuple[tuple[Home, str], ...] = ()

    def all(self) -> tuple[Home, ...]:
        """Every one, the pipeline's own first."""
        return (*([self.own] if self.own is not None else []), *(home for home, _ in self.others))


def homes_of(target: Target, pipeline: str) -> Homes:
    """The homes that a pipeline is under, as the registry has them. Raises RegistryError."""
    glance = target.registry.glance(pipeline)
    return homes_beside(target, pipeline, glance.home if glance is not None else None)


def homes_beside(target: Target, pipeline: str, own: Home | None) -> Homes:
    """`homes_of` for who knows the pipeline's own home."""
    if own is not None:
        return Homes(own)
    found: dict[Home, str] = {}
    for other in target.registry.pipelines():
        glance = _seen(target, other) if other != pipeline else None
        if glance is not None and glance.home is not None:
            found.setdefault(glance.home, glance.commit.removesuffix(NOT_COMMITTED))
    return Homes(None, tuple(found.items()))


def _seen(target: Target, pipeline: str) -> Glance | None:
    now = time.monotonic()
    known = target.glanced.get(pipeline)
    if known is None or now - known[0] > _SEEN_SECONDS:
        known = target.glanced[pipeline] = now, _look(target, pipeline)
    return known[1]


def _look(target: Target, pipeline: str) -> Glance | None:
    try:
        return target.registry.glance(pipeline)
    except RegistryError as error:
        if error.code not in _DAMAGED:
            raise
        # A store that is out of reach has the same code. One that answers this has a damaged head.
        target.registry.pipelines()
        return None
