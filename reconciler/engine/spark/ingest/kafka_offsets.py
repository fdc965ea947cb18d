"""What of a topic is to be read next: arithmetic over offsets by partition, without Kafka.

An offset here is always that of the next record to read, so an end is exclusive and a position equals the end of what was
read. What stands in heads and intents has partitions as texts, since these are JSON; `stored` and `loaded` translate.

- The first look fixes the position, by `start_from`; from then on nothing that arrives is passed over.
- A partition that appears later is read from its first offset, 0.
- Nothing is skipped in silence: records that expired before they were read are an error, and so is a topic that has other
  partitions or an earlier end than what was read.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError

Offsets: TypeAlias = Mapping[int, int]
"""An offset of each partition."""


def stored(offsets: Offsets) -> JsonObject:
    """Offsets as JSON, sorted by partition."""
    return {str(partition): offsets[partition] for partition in sorted(offsets)}


def loaded(offsets: JsonObject) -> dict[int, int]:
    """Offsets from JSON."""
    return {int(partition): int(offset) for partition, offset in offsets.items()}


def named_offsets(topic: str, given: Any, beginning: Offsets, end: Offsets) -> dict[int, int]:
    """The offsets that a user names: a list in the order of the partitions that are read, or {partition: offset}.

    One for every partition, and each one that can be read. Raises EngineError X743 or X745.
    """
    partitions = sorted(end)
    if isinstance(given, Mapping):
        named = loaded(given)
    else:
        # More offsets than partitions: the first ones that there could be next stand for those that are missing.
        beyond = range(partitions[-1] + 1, partitions[-1] + 1 + len(given))
        named = dict(zip([*partitions, *beyond], map(int, given), strict=False))
    unnamed = sorted(set(partitions) - set(named))
    if unnamed:
        raise EngineError(
            "X743",
            f"no offset is given for {_partitions(unnamed)} of topic {topic}, which has {_partitions(partitions)}",
            "give one offset for each partition that is read",
        )
    unknown = sorted(set(named) - set(partitions))
    if unknown:
        raise EngineError(
            "X743",
            f"an offset is given for {_partitions(unknown)} of topic {topic}, which has only {_partitions(partitions)}",
            "give one offset for each partition that is read",
        )
    for partition in partitions:
        if not beginning[partition] <= named[partition] <= end[partition]:
            raise EngineError(
                "X745",
                f"offset {named[partition]} of partition {partition} of topic {topic} can't be read: "
                f"it holds {beginning[partition]} up to {end[partition]}",
                "use one of these; the last one is the next new record",
            )
    return named


def require_same_topic(
    topic: str, known: str | None, found: str | None, position: Offsets | None = None, end: Offsets | None = None
) -> None:
    """Raise EngineError X744 where the topic was made anew since its id was noted. No id tells nothing.

    `position`, where that of all partitions is known, is where a copy is read on: if its partitions are those of `end`.
    """
    if known is None or found is None or known == found:
        return
    hint = "to read the new topic from its beginning: " + _seek("earliest")
    if position is not None and end is not None and set(position) <= set(end):
        offsets = {partition: position.get(partition, 0) for partition in end}
        hint += f"; if it is a copy with the same offsets, to go on: {_seek(_quoted(stored(offsets)))}"
    raise EngineError(
        "X744",
        f"topic {topic} is not the one that was read before: it was recreated, its id was {known} and is {found}",
        hint,
    )


def continued(topic: str, position: Offsets, beginning: Offsets, end: Offsets, *, is_whole: bool = True) -> dict[int, int]:
    """Where to read on after `position`. Raises EngineError X742 (expired), X743 or X744 (not the topic that was read).

    Unless the position `is_whole`, it lacks partitions that are read, so that no hint can say where all of them go on.
    """
    gone = sorted(set(position) - set(end))
    if gone:
        raise EngineError(
            "X743",
            f"topic {topic} no longer has {_partitions(gone)}, which was read before: perhaps the topic was "
            "deleted and recreated",
            "to read the new topic from its beginning: " + _seek("earliest"),
        )
    start = {partition: position.get(partition, 0) for partition in sorted(end)}
    shorter = [partition for partition in start if start[partition] > end[partition]]
    if shorter:
        partition = shorter[0]
        raise EngineError(
            "X744",
            f"topic {topic} is not the one that was read before: its partition {partition} ends at {end[partition]}, and "
            f"everything before {start[partition]} was read",
            "to read the new topic from its beginning: " + _seek("earliest"),
        )
    expired = {partition: beginning[partition] - start[partition] for partition in start}
    lost = {partition: count for partition, count in expired.items() if count > 0}
    if lost:
        counts = ", ".join(
            f"{count} of partition {partition} ({start[partition]} up to {beginning[partition]})"
            for partition, count in lost.items()
        )
        remaining = stored({partition: max(start[partition], beginning[partition]) for partition in start})
        way_on = f"to skip them: {_seek(_quoted(remaining))}, or --to earliest"
        raise EngineError(
            "X742",
            f"records of topic {topic} expired before they were read: {counts}",
            f"these records are lost; {way_on if is_whole else 'the next error of this connector says how to skip them'}",
        )
    return start


def reached(start: Offsets, end: Offsets, most: int | None) -> dict[int, int]:
    """Up to where to read: to the end, or `most` records, of each partition in proportion to what it holds."""
    waiting = {partition: end[partition] - start[partition] for partition in sorted(start)}
    total = sum(waiting.values())
    if most is None or total <= most:
        return {partition: end[partition] for partition in waiting}
    shares = {partition: count * most // total for partition, count in waiting.items()}
    # What rounding left over goes to those that it took most from.
    by_loss = sorted(waiting, key=lambda partition: (-(waiting[partition] * most % total), partition))
    for partition in by_loss[: most - sum(shares.values())]:
        shares[partition] += 1
    return {partition: start[partition] + share for partition, share in shares.items()}


def _partitions(numbers: list[int]) -> str:
    return f"partition{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _quoted(offsets: JsonObject) -> str:
    return f"'{json.dumps(offsets)}'"


def _seek(to: str) -> str:
    return f"reconcile connector seek PIPELINE CONNECTOR --to {to}"
