"""Safeguards: what decides how later plans are judged, or how long rows stay. One that is loosened is a change of its own.

| safeguard | loosened where |
|---|---|
| `bootstrap_policy` | it becomes less strict |
| `protect` | a table or view that stays is protected no longer |
| `evolution` | a table that stays is to be changed by the other rule: either way rows meet what nobody has seen before |
| `retention` | less of what is past stays: the next prune removes rows |
| `used_by` | somebody who reads from outside is named no longer, so that no plan would tell what he loses |

A renamed relation is the same one. What is added has nothing to loosen; what is removed is judged as removed. A safeguard
that is tightened, and any other setting, is told with what is written (`metadata`).
"""

from collections.abc import Iterator

from reconciler.diff.model import Safeguard, SafeguardLoosened
from reconciler.diff.moves import Renames
from reconciler.manifest.model import DEFAULT_STEPS_SECONDS, Retention, Settings, stricter
from reconciler.names import fold
from reconciler.program.model import Program


def safeguards_loosened(applied: Program, desired: Program, renames: Renames) -> tuple[SafeguardLoosened, ...]:
    """What is loosened, sorted by safeguard and subject."""
    found = [*_of_pipeline(applied.settings, desired), *_of_relations(applied, desired, renames)]
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
    for key in sorted({*desired.tables, *desired.views}):
        former = renames.applied_key(key)
        relation = desired.relation(key)
        if relation is None or applied.relation(former) is None:
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
            yield SafeguardLoosened(Safeguard.USED_BY, name, *(", ".join(one) or "nobody" for one in readers))


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
