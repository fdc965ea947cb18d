"""Where each output goes on once a plan is applied, and how one begins.

How an output goes on after an apply, and from what it sent before:

| the plan said | what it sent | what is pinned or skipped |
|---|---|---|
| resumes (also under new settings); sends the difference | stays | stays |
| sends full contents | nothing, as if it were new | is part of the full contents |
| empties its sink, then sends full contents | nothing; the next emission replaces | is part of the full contents |
| sends nothing of the bootstrap | stays | stays; the bootstrap itself is skipped |
| new: sends only new changes | the view's version at the switch, which is told as left out | nothing |
| new: sends full contents | nothing | nothing |

An output may write where another one wrote before that was moved away. Then it goes on from what was sent there, not from
what it sent elsewhere (`outputs_by_place`).

A new output has an `id` of its own, which the transactions of its sinks carry: no sink takes what it sends for what an
earlier one of the same name has sent already. One that was renamed or modified keeps its `id`: what it had to send goes out
under its new settings, and a sink that has it already, since only an option changed, knows it again. What it was to empty
first it still empties, also where it writes to now.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import assert_never

from reconciler.base.names import fold
from reconciler.diff.model import Action
from reconciler.plan.model import Outcome, Plan
from reconciler.project.program.model import Connector, Program
from reconciler.registry.model import Head, Journal, LeftOutput, OutputState, Published
from reconciler.run.outputs_by_place import known_after_change, outputs_of


class Start(StrEnum):
    """Where an output goes on after an apply. Written into the journal: the values are permanent."""

    RESUMES = "resumes"
    FULL = "full"
    TRUNCATES = "truncates"
    SILENT = "silent"
    ANEW_WITH_CHANGES = "anew_with_changes"
    ANEW_IN_FULL = "anew_in_full"


class Beginning(StrEnum):
    """How an output begins at a sink of which nothing is known."""

    EMPTIED = "emptied"
    IN_FULL = "in_full"
    WITH_CHANGES = "with_changes"


def planned_starts(plan: Plan) -> dict[str, str]:
    """Where each output of a plan goes on, by folded name, as its journal records it."""
    anew = {fold(change.name) for change in plan.diff.connectors if change.action is Action.ADDED}
    starts = {fold(one.connector): _start(one.outcome, fold(one.connector) in anew) for one in plan.connectors}
    return {key: start.value for key, start in sorted(starts.items()) if start is not None}


def outputs_after(
    head: Head, journal: Journal, applied: Program, program: Program, published: Published
) -> dict[str, OutputState]:
    """The state of every output once the journal is done, and `published` what its last commit publishes. What they are to
    write is not pinned yet (`pin_emissions`)."""
    after: dict[str, OutputState] = {}
    known: Mapping[str, LeftOutput] = {}
    if journal.back:
        locations = {key: placement.location for key, placement in published.relations.items()}
        known = known_after_change(head, applied, program, journal.formerly, locations)
    for key, connector in outputs_of(program).items():
        version = version_of(published, connector)
        if version is None:
            continue
        former = journal.formerly.get(key, key)
        state, before = head.outputs.get(former), _former_version(head, former)
        if key in journal.back and key in known:
            state, before = going_back(known[key], state), _version_at(head.published, known[key].location)
        identity = output_identity(head.pipeline, key, journal.apply_id)
        start = Start(journal.outputs.get(key, Start.ANEW_WITH_CHANGES if state is None else Start.RESUMES))
        if state is None and start in (Start.RESUMES, Start.SILENT):
            # Applied by a version that wrote no outputs: what the view held then counts as sent.
            state = begun_anew(identity, version if before is None else before, journal.serial)
        after[key] = going_on(state, start, identity, before, version, journal.serial)
    return dict(sorted(after.items()))


def going_back(known: LeftOutput, now: OutputState | None) -> OutputState:
    """The state of an output that goes on from what was sent to where it writes; `now` is the one that it had until now."""
    return replace(known.state, sought=now.sought) if now is not None else known.state


def begun(connector: Connector, identity: str, version: int, serial: int, *, is_silent: bool) -> OutputState:
    """The state of an output whose sink nothing is known of, at a version of its view; `is_silent` as in `beginning`."""
    match beginning(connector, is_silent=is_silent):
        case Beginning.EMPTIED:
            return replace(begun_anew(identity, None, serial), replaces=True)
        case Beginning.IN_FULL:
            return begun_anew(identity, None, serial)
        case Beginning.WITH_CHANGES:
            return begun_anew(identity, version, serial)
        case other:
            assert_never(other)


def beginning(connector: Connector, *, is_silent: bool) -> Beginning:
    """How an output begins whose sink nothing is known of. `is_silent`: with what changes, whatever its settings say."""
    if is_silent:
        return Beginning.WITH_CHANGES
    if connector.settings.get("on_bootstrap") == "truncate":
        return Beginning.EMPTIED
    return Beginning.IN_FULL if connector.settings.get("send_snapshot") else Beginning.WITH_CHANGES


def _start(outcome: Outcome, anew: bool) -> Start | None:
    match outcome:
        case Outcome.RESUMES | Outcome.SENDS_DIFFERENCE:
            return Start.RESUMES
        case Outcome.SENDS_FULL_CONTENTS:
            return Start.ANEW_IN_FULL if anew else Start.FULL
        case Outcome.TRUNCATES:
            return Start.TRUNCATES
        case Outcome.SENDS_NOTHING_OF_IT:
            return Start.SILENT
        case Outcome.SENDS_NEW_CHANGES:
            return Start.ANEW_WITH_CHANGES
        case Outcome.STARTS | Outcome.RESETS | Outcome.DETACHES:
            return None
        case _:
            assert_never(outcome)


def going_on(
    state: OutputState | None, start: Start, identity: str, before: int | None, version: int, serial: int
) -> OutputState:
    """The state of an output that goes on so. `before` and `version` are the view's Delta version until and from the switch
    on; `identity` and `serial` are those of an output that begins anew."""
    match start:
        case Start.RESUMES:
            assert state is not None
            return state
        case Start.FULL | Start.TRUNCATES:
            state = state or begun_anew(identity, None, serial)
            waits = state.replaces or (state.sending is not None and state.sending.replaces)
            return replace(state, sent=None, sending=None, replaces=waits or start is Start.TRUNCATES, skips=())
        case Start.SILENT:
            assert state is not None
            if before is None or before == version:
                return state
            return replace(state, skips=(*state.skips, (before, version)))
        case Start.ANEW_WITH_CHANGES:
            return begun_anew(identity, version, serial)
        case Start.ANEW_IN_FULL:
            return begun_anew(identity, None, serial)
        case _:
            assert_never(start)


def version_of(published: Published | None, connector: Connector) -> int | None:
    """The Delta version at which an output's view is published; None where it is not stored."""
    placement = published.relations.get(fold(connector.relation)) if published is not None else None
    return placement.version if placement is not None else None


def _version_at(published: Published | None, location: str) -> int | None:
    """The version of the table in a folder."""
    placements = published.relations.values() if published is not None else ()
    return next((placement.version for placement in placements if placement.location == location), None)


def _former_version(head: Head, former: str) -> int | None:
    """The version until now of the view whose output had that name (`view.connector`, folded)."""
    placement = head.published.relations.get(former.partition(".")[0]) if head.published is not None else None
    return placement.version if placement is not None else None


def output_identity(pipeline: str, key: str, apply_id: str) -> str:
    """The id of an output that an apply makes."""
    return f"{pipeline}/{key}/{apply_id}"


def begun_anew(identity: str, sent: int | None, serial: int) -> OutputState:
    """An output that has written nothing yet. Its serials rise above those of any earlier one of its name, of which nothing
    is remembered: every emission costs a commit of the head, whose number `serial` is. Only one that had found its sink
    ahead, and took the sink's number, may have had higher ones; its id tells that they are not of this one."""
    return OutputState(sent=sent, serial=serial, id=identity, left_out=sent)
