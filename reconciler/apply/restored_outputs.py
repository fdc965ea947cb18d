"""What a restore will have its outputs write, and where: told before it is done, in its plan and by whoever does it."""

from collections.abc import Mapping
from typing import assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.connectors.catalogue import told_address
from reconciler.connectors.transport import Direction
from reconciler.environment.target import Target
from reconciler.plan.model import ConnectorOutcome, Outcome
from reconciler.project.program.model import Program
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement
from reconciler.run.output_starts import Beginning, beginning
from reconciler.run.outputs_by_place import outputs_of
from reconciler.run.restoring_checkpoints import is_kept, known_at_restore
from reconciler.state.folders import folder_for


@dataclass(frozen=True, slots=True)
class RestoredOutput:
    """An output of a restored program: where it writes, as far as that may be shown, and what it is sent there first.
    `outcome` None: it is no output any more, and nothing is sent there."""

    connector: str
    address: str | None
    outcome: Outcome | None
    reason: str

    @property
    def words(self) -> str:
        """For people, in a line."""
        where = f" ({self.address})" if self.address is not None else ""
        return f"output {self.connector}{where}: {self.reason}"


def taken_over_folders(pipeline: str, program: Program, placements: Mapping[str, Placement]) -> dict[str, str]:
    """Where the relations of another pipeline's program come to stand in this one, by folded name."""
    known, found = dict(placements), {}
    for key in program.order:
        if is_kept(program, key):
            found[key] = folder_for(pipeline, key, known)
            known[key] = Placement(found[key], 0)
    return found


def restored_outputs(
    target: Target, head: Head, source: str, program: Program, locations: Mapping[str, str]
) -> tuple[RestoredOutput, ...]:
    """Of a restore to a checkpoint of `source`: every output that is in force then, and every one that is until then and
    whose place none writes to any more. `locations` are the folders of views by folded name."""
    known, left = known_at_restore(target, head, program, locations)
    found = []
    for key, connector in outputs_of(program).items():
        if fold(connector.relation) not in locations:
            continue
        begins = None if key in known else beginning(connector, is_silent=source != head.pipeline)
        outcome, reason = _told(begins, head.pipeline, source, connector.qualified_name)
        found.append(RestoredOutput(connector.qualified_name, told_address(connector.settings), outcome, reason))
    for one in left:
        if one not in head.left:
            reason = "reconcile sends nothing more there; the rows there stay"
            found.append(RestoredOutput(one.connector, told_address(one.settings), None, reason))
    return tuple(found)


def restored_outcomes(
    planned: tuple[ConnectorOutcome, ...], outputs: tuple[RestoredOutput, ...], program: Program
) -> tuple[ConnectorOutcome, ...]:
    """What a plan says of connectors, with what a restore does of the program's outputs instead of what an apply would."""
    sent = {fold(one.connector): one for one in outputs if one.outcome is not None}
    found = []
    for one in planned:
        connector = program.connectors.get(fold(one.connector))
        output = sent.get(fold(one.connector))
        is_output = connector is not None and connector.direction is Direction.OUTPUT
        if is_output and output is not None and output.outcome is not None and one.outcome is not Outcome.DETACHES:
            one = ConnectorOutcome(one.connector, output.outcome, output.reason, one.renamed_from)
        found.append(one)
    return tuple(found)


def _told(begins: Beginning | None, pipeline: str, source: str, name: str) -> tuple[Outcome, str]:
    match begins:
        case None:
            return Outcome.SENDS_DIFFERENCE, "the rows there are known; the output sends the difference to the restored view"
        case Beginning.EMPTIED:
            reason = "the rows there are unknown; the output deletes them and sends all rows (on_bootstrap: truncate)"
            return Outcome.TRUNCATES, reason
        case Beginning.IN_FULL:
            reason = "the rows there are unknown; the output keeps them and sends all rows (send_snapshot: true)"
            return Outcome.SENDS_FULL_CONTENTS, reason
        case Beginning.WITH_CHANGES if source != pipeline:
            pause = f"reconcile connector pause {pipeline} {name}"
            reason = (
                f"{source}'s checkpoint has the same output there; the output sends changes from now on; to hold them "
                f"back: {pause}"
            )
            return Outcome.SENDS_NEW_CHANGES, reason
        case Beginning.WITH_CHANGES:
            seek = f"reconcile connector seek {pipeline} {name} --to snapshot"
            reason = f"the rows there are unknown; the output sends changes from now on; to send all rows: {seek}"
            return Outcome.SENDS_NEW_CHANGES, reason
        case _:
            assert_never(begins)
