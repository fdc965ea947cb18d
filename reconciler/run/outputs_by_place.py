"""What outputs have sent, by place: who goes on from what when an output comes, goes, or writes elsewhere.

What was sent is a fact about a place (the transport and the settings that say where it writes) and about the table of a view
of this pipeline, whose versions it tells; the name of an output decides nothing. A difference goes only to the sink that it
is a difference to:

- An output that writes where it wrote before goes on from what it sent, whatever it is called.
- When an output leaves a place, the head keeps what it sent there, and what was on its way (`Head.left`). An output of the
  same view that writes there again goes on from that (`states_known`).
- This is forgotten when anything else writes to what may be that place (`still_known`), when the view's table is gone or was
  made anew, and when a prune lets go of the versions that it names.
- Where a change took an output out of the pipeline, only restores know what it sent. One that a later change puts in is a
  new output, and begins as its plan says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.environment.target import Target
from reconciler.project.program.model import Connector, Program
from reconciler.registry.model import Head, LeftOutput, OutputState
from reconciler.registry.placements import Placement
from reconciler.workspace.output_places import place_settings, possible_places, sure_places


def outputs_of(program: Program) -> dict[str, Connector]:
    """The output connectors by folded name, sorted."""
    return {key: one for key, one in sorted(program.connectors.items()) if one.direction is Direction.OUTPUT}


def sent_by(head: Head, applied: Program | None) -> tuple[LeftOutput, ...]:
    """What every output that is applied has sent, and where."""
    placements = head.published.relations if head.published is not None else {}
    found = []
    for key, connector in outputs_of(applied).items() if applied is not None else ():
        placement, state = placements.get(fold(connector.relation)), head.outputs.get(key)
        if placement is not None and state is not None:
            found.append(LeftOutput(key, placement.location, place_settings(connector.settings), state))
    return tuple(found)


def states_known(
    wanted: Mapping[str, Connector], locations: Mapping[str, str], known: Sequence[LeftOutput]
) -> dict[str, LeftOutput]:
    """Which of these states is about the very place that an output writes to, and about its view; by folded name.
    `locations` are the folders of views by folded name. Where several would fit, that of its own name does; else none."""

    def fits(key: str, one: LeftOutput) -> bool:
        location = locations.get(fold(wanted[key].relation))
        return one.location == location and not sure_places(one.settings).isdisjoint(sure_places(wanted[key].settings))

    alike = {key: [one for one in known if fits(key, one)] for key in sorted(wanted)}
    found: dict[str, LeftOutput] = {}
    for key, those in alike.items():
        own = [one for one in those if one.connector == key]
        if len(own) == 1:
            found[key] = own[0]
    taken = list(found.values())
    free = {key: [one for one in those if one not in taken] for key, those in alike.items() if key not in found}
    for key, those in free.items():
        rivals = [other for other, others in free.items() if other != key and any(one in others for one in those)]
        if len(those) == 1 and not rivals:
            found[key] = those[0]
    return found


def known_after_change(
    head: Head, applied: Program, desired: Program, formerly: Mapping[str, str], locations: Mapping[str, str]
) -> dict[str, LeftOutput]:
    """The outputs (folded) that a change of the program has write where another output wrote, with what was sent there: one
    that was moved away before, or that this change moves or takes out. `formerly` has the names until now of outputs that
    get another one; `locations` are the folders of views."""
    now = {one.connector: one for one in sent_by(head, applied)}
    wanted = outputs_of(desired)
    own = {key: now[former] for key in wanted if (former := formerly.get(key, key)) in now}
    staying = {key for key, one in own.items() if _writes_there(wanted[key], one)}
    stays = [own[key] for key in staying]
    leaving = [one for one in now.values() if one not in stays]
    known = (*(one for one in head.left if not one.removed), *leaving)
    return states_known({key: one for key, one in wanted.items() if key not in staying}, locations, known)


def left_after_change(
    head: Head, applied: Program | None, desired: Program, formerly: Mapping[str, str]
) -> tuple[LeftOutput, ...]:
    """What outputs have sent to places that they leave by a change of the program, or left before. `still_known` says what
    of it stays known."""
    wanted = outputs_of(desired)
    now_called = {formerly.get(key, key): key for key in wanted}
    found = [*head.left]
    for one in sent_by(head, applied):
        key = now_called.get(one.connector)
        if key is None:
            found.append(replace(one, removed=True))
        elif not _writes_there(wanted[key], one):
            found.append(one)
    return tuple(found)


def still_known(
    target: Target, left: Iterable[LeftOutput], program: Program, placements: Mapping[str, Placement]
) -> tuple[LeftOutput, ...]:
    """Those that still hold under a program that comes in force. Where an output may write to one of the places, what was
    sent there before is not known any more, whatever both call the place."""
    left = tuple(left)
    if not left:
        return ()
    versions = {placement.location: placement.version for placement in placements.values()}
    places: dict[str, set[str]] = {}
    for output in outputs_of(program).values():
        placement = placements.get(fold(output.relation))
        for place in possible_places(target, output.settings):
            places.setdefault(place, set()).add(placement.location if placement is not None else "")
    found = {}
    for one in left:
        newest = max(versions_of(one.state), default=0)
        if versions.get(one.location, -1) >= newest and not _is_overwritten(target, one, places):
            found[one.connector, one.location, sure_places(one.settings)] = one
    return tuple(found[key] for key in sorted(found, key=lambda key: (key[0], key[1], sorted(key[2]))))


def versions_of(state: OutputState) -> frozenset[int]:
    """The versions of its view that an output has to read to tell what comes next."""
    sending = (state.sending.before, state.sending.after) if state.sending is not None else ()
    skipped = (version for skip in state.skips for version in skip)
    return frozenset(version for version in (state.sent, *sending, *skipped) if version is not None)


def _writes_there(connector: Connector, one: LeftOutput) -> bool:
    return not sure_places(connector.settings).isdisjoint(sure_places(one.settings))


def _is_overwritten(target: Target, one: LeftOutput, places: Mapping[str, set[str]]) -> bool:
    """A topic may have many writers, and what one of another view tells there changes nothing of this one's. What is written
    to a folder or table is about all that is there."""
    for place in possible_places(target, one.settings):
        if place in places and (not place.startswith("topic ") or one.location in places[place]):
            return True
    return False
