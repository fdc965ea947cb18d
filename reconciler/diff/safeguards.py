"""Safeguards: what decides how later plans are judged, how long rows stay, or which rows arrive and are sent. One that is
loosened is a change of its own.

| safeguard | loosened where |
|---|---|
| `bootstrap_policy` | it becomes less strict |
| `protect` | a table or view that stays is protected no longer |
| `evolution` | a table that stays is to be changed by the other rule: either way rows meet what nobody has seen before |
| `retention` | less of what is past stays: the next prune removes rows |
| `used_by` | somebody who reads from outside is named no longer, so that no plan would tell what he loses |
| `max_rejected` | more records may be left out before the input stops |
| `on_bootstrap` | a sink is to get something else than the difference, or can't take rows back |
| `paused` | an input is paused: its rows arrive no more |
| `start_after` | an input waits for other inputs than it did, whoever's labels say so |

Only the difference leaves in a sink what the view holds: else rows are missing there, stand there twice, or are removed with
those of others. Where inputs come in another order, the row that comes last counts in a table with a key; and an input that
waits for more brings no rows until those have ended.

A renamed relation is the same one. What is added has nothing to loosen; what is removed is judged as removed. A safeguard
that is tightened, and any other setting, is told with what is written (`metadata`); `weights` says of each setting what it
is. An input that goes on after a pause is no loosening: its rows were to arrive when it was added.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from reconciler.base.declarations import DEFAULT_STEPS_SECONDS, Retention, Settings, stricter
from reconciler.base.names import first_of, fold
from reconciler.connectors.catalogue import on_bootstrap, sink_can_delete
from reconciler.diff.model import Safeguard, SafeguardLoosened
from reconciler.diff.moves import Renames
from reconciler.diff.weights import in_force
from reconciler.diff.wording import told_readers
from reconciler.project.program.model import Connector, Program


def safeguards_loosened(applied: Program, desired: Program, renames: Renames) -> tuple[SafeguardLoosened, ...]:
    """What is loosened, sorted by safeguard and subject."""
    found = [
        *_of_pipeline(applied.settings, desired),
        *_of_relations(applied, desired, renames),
        *_of_connectors(applied, desired, renames),
    ]
    return tuple(sorted(found, key=lambda one: (one.safeguard.value, fold(one.subject))))


def _of_pipeline(before: Settings, desired: Program) -> Iterator[SafeguardLoosened]:
    after = desired.settings
    policies = before.bootstrap_policy, after.bootstrap_policy
    if stricter(policies) is not policies[1]:
        yield SafeguardLoosened(Safeguard.BOOTSTRAP_POLICY, desired.name, policies[0].value, policies[1].value)
    if _keeps_less(before.retention, after.retention) or _forgets_sooner(before.retention, after.retention):
        yield SafeguardLoosened(Safeguard.RETENTION, desired.name, before.retention.words, after.retention.words)


def _of_relations(applied: Program, desired: Program, renames: Renames) -> Iterator[SafeguardLoosened]:
    before, after = applied.settings, desired.settings
    for key, relation in sorted(desired.relations.items()):
        former = renames.applied_key(key)
        if former not in applied.relations:
            continue
        name = relation.name
        if former in before.protected and key not in after.protected:
            yield SafeguardLoosened(Safeguard.PROTECTION, name, "true", "false")
        if key in desired.tables and former in applied.tables:
            evolutions = applied.evolution_of(former), desired.evolution_of(key)
            if evolutions[0] is not evolutions[1]:
                yield SafeguardLoosened(Safeguard.EVOLUTION, name, evolutions[0].value, evolutions[1].value)
        if former in before.relation_retention or key in after.relation_retention:
            # Where neither side says anything of it, that of the pipeline tells it all.
            kept = (
                before.relation_retention.get(former, before.retention),
                after.relation_retention.get(key, after.retention),
            )
            if _keeps_less(*kept):
                yield SafeguardLoosened(Safeguard.RETENTION, name, kept[0].words, kept[1].words)
        readers = before.used_by.get(former, ()), after.used_by.get(key, ())
        if not set(readers[0]) <= set(readers[1]):
            yield SafeguardLoosened(Safeguard.USED_BY, name, *map(told_readers, readers))


def _of_connectors(applied: Program, desired: Program, renames: Renames) -> Iterator[SafeguardLoosened]:
    pairs = {
        key: (old, new)
        for key, new in sorted(desired.connectors.items())
        if (old := applied.connectors.get(renames.applied_connector(key))) is not None and old.direction is new.direction
    }
    if all(old.settings == new.settings for old, new in pairs.values()):
        return
    for old, new in pairs.values():
        yield from _of_connector(old, new)
    waits = [_waits_for({key: pair[side] for key, pair in pairs.items()}) for side in (0, 1)]
    for key, (_, new) in pairs.items():
        if waits[0][key] != waits[1][key]:
            # Told by the names that they have now.
            names = [_told(pairs[one][1].qualified_name for one in side[key]) for side in waits]
            yield SafeguardLoosened(Safeguard.START_AFTER, new.qualified_name, *names)


_TOLD: Final = 20
"""So many inputs are named."""


def _of_connector(old: Connector, new: Connector) -> Iterator[SafeguardLoosened]:
    rejected = [in_force(one.settings, "max_rejected") for one in (old, new)]
    if rejected[0] < rejected[1]:
        yield SafeguardLoosened(Safeguard.MAX_REJECTED, new.qualified_name, *map(str, rejected))
    if not in_force(old.settings, "paused") and in_force(new.settings, "paused"):
        yield SafeguardLoosened(Safeguard.PAUSED, new.qualified_name, "false", "true")
    if old.settings.get("on_bootstrap") != new.settings.get("on_bootstrap"):
        sent = on_bootstrap(old.settings), on_bootstrap(new.settings)
        if sent[0] != sent[1] and not (sent[1] == "changes" and sink_can_delete(new.settings)):
            yield SafeguardLoosened(Safeguard.ON_BOOTSTRAP, new.qualified_name, *sent)


def _waits_for(connectors: Mapping[str, Connector]) -> dict[str, frozenset[str]]:
    """By the key of each connector, the keys of those that have a label which it starts after."""
    labelled: dict[str, set[str]] = {}
    for key, connector in connectors.items():
        for label in in_force(connector.settings, "labels") or ():
            labelled.setdefault(label, set()).add(key)

    @cache
    def those_with(labels: tuple[str, ...]) -> frozenset[str]:
        return frozenset(other for label in labels for other in labelled.get(label, ()))

    # Many often wait for the same: they share one set.
    return {key: those_with(tuple(in_force(one.settings, "start_after") or ())) for key, one in connectors.items()}


def _told(names: Iterable[str]) -> str:
    return first_of(sorted(names), _TOLD) or "no input"


def _keeps_less(before: Retention, after: Retention) -> bool:
    """Whether a version that stays by the one rule may go by the other. Either of its two parts is enough to stay; where
    neither is said, all stay."""
    if after.versions is None and after.keep is None:
        return False
    if before.versions is None and before.keep is None:
        return True
    return (after.versions or 0) < (before.versions or 0) or (after.keep or 0) < (before.keep or 0)


def _forgets_sooner(before: Retention, after: Retention) -> bool:
    """Whether steps or named checkpoints may go sooner. Checkpoints of which nothing is said stay."""
    steps = [DEFAULT_STEPS_SECONDS if one.steps is None else one.steps for one in (before, after)]
    if after.checkpoints is not None and (before.checkpoints is None or after.checkpoints < before.checkpoints):
        return True
    return steps[1] < steps[0]
