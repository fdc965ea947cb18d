"""What a plan is made of.

A plan holds the diff, the steps that carry it out, what becomes of every connector, hazards, and the digest that an
approval names. It holds nothing that varies by itself (row counts, positions, times): the same inputs give the same
plan on every machine.
"""

from enum import StrEnum

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import BootstrapPolicy
from reconciler.diff.model import Diff
from reconciler.plan.operations.step import Step
from reconciler.project.manifest.verdicts import Policy, Verdict


class Outcome(StrEnum):
    """What becomes of a connector."""

    STARTS = "starts"
    RESUMES = "resumes"
    RESETS = "resets"
    DETACHES = "detaches"
    SENDS_FULL_CONTENTS = "sends full contents"
    SENDS_DIFFERENCE = "sends the difference"
    SENDS_NOTHING_OF_IT = "sends nothing of the bootstrap"
    TRUNCATES = "empties its sink, then sends full contents"
    SENDS_NEW_CHANGES = "sends only new changes"


@dataclass(frozen=True, slots=True)
class ConnectorOutcome:
    """A connector (`relation.name`), what becomes of it, and why. `renamed_from` is its applied qualified name where that
    is another: positions are kept under it. `goes_back`: an output that goes on from what was sent before to where it writes
    now."""

    connector: str
    outcome: Outcome
    reason: str
    renamed_from: str | None = None
    goes_back: bool = False


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something that a reviewer should not miss. `code` is permanent (H9xx in docs/errors.md). `others` are those outside of
    the pipeline whom it touches, in order; they are part of the plan's digest, the words of the message are not."""

    code: str
    subject: str
    message: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What policy does about a hazard: the verdict, how many recorded approvals it asks for (0 but with APPROVE), and the
    rule's reason (empty: none was given)."""

    hazard: Hazard
    verdict: Verdict
    approvals: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QueryDifference:
    """The text of a view's query as applied and as desired, for showing what its author changed."""

    view: str
    applied: str
    desired: str


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies in force, all of them part of the plan's digest. `approve_first_apply`: a first apply needs an approval,
    whatever the pipeline says of itself. `policy` is that of policy.yaml, None when there is no such file; of its rules the
    digest covers those that speak of the pipeline."""

    bootstrap: BootstrapPolicy
    approve_first_apply: bool = False
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class RolledBack:
    """An object that has, once the plan is applied, another version than the files say, since it was rolled back: `number`
    (None: it is not there)."""

    kind: str
    name: str
    number: int | None


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A view or function that goes on calling recorded versions of functions (`fee@v0`) which the plan changes: no change of
    them reaches it. `state` says why, as `rolled back to v1`."""

    kind: str
    name: str
    state: str
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StagedVersion:
    """A version that is staged beside the active one, built from what was published at `step`. `is_promoted`: an apply of
    the plan makes it active; else it drops it."""

    kind: str
    name: str
    number: int
    step: int
    is_promoted: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """Another pipeline that a change comes from: something that is read of it meant something else in the definitions
    (`record`; empty: not known which) that it was read in last."""

    pipeline: str
    record: str


@dataclass(frozen=True, slots=True)
class Plan:
    """See the module.

    `follows` is the digest of the plan that was applied last: what is applied may come to mean again what it meant before,
    but it never follows the same plan again, so that no approval can serve twice. `applied_digest` is None when nothing is
    applied, `desired_digest` when the pipeline is removed. `kept` names the tables and views that stay as they are, rows
    included; sorted. `rolled_back` are the objects that are held back, sorted. `rollback` says of a plan that does not
    come from the files what it brings back or ends (empty: it comes from the files). `bound_calls` are what the changes of
    functions do not reach, sorted. `staged` are the versions that are staged, sorted; they are no part of the digest.
    Nor are `origins`, sorted: the other pipelines in which that changed what this one reads, or what they read themselves.
    """

    pipeline: str
    environment: str
    policies: Policies
    follows: str | None
    applied_digest: str | None
    desired_digest: str | None
    diff: Diff
    steps: tuple[Step, ...]
    connectors: tuple[ConnectorOutcome, ...]
    hazards: tuple[Hazard, ...]
    judgements: tuple[Judgement, ...]
    queries: tuple[QueryDifference, ...]
    kept: tuple[str, ...]
    digest: str
    rolled_back: tuple[RolledBack, ...] = ()
    rollback: str = ""
    bound_calls: tuple[BoundCall, ...] = ()
    staged: tuple[StagedVersion, ...] = ()
    origins: tuple[Origin, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether nothing of this pipeline is applied."""
        return self.applied_digest is None

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes that anybody has to agree to."""
        return self.diff.is_empty

    @property
    def changes_nothing(self) -> bool:
        """Whether even what is written down stays as it is. A first apply writes down that the pipeline is applied, and a
        removal that it is not, even if its program is empty."""
        begins_or_ends = (self.applied_digest is None) != (self.desired_digest is None)
        return self.diff.is_empty and not self.diff.metadata_changed and not begins_or_ends

    @property
    def judges_rows_that_go_back(self) -> bool:
        """Whether policy has a say in a rollback or restore: it may replace rows under the very program that is applied."""
        return bool(self.rollback and self.judgements)

    @property
    def needs_approval(self) -> bool:
        """Whether apply asks for an approval of this plan's digest."""
        if self.is_first and self.policies.approve_first_apply:
            # What a pipeline says of itself is what is to be approved.
            return not self.changes_nothing
        if self.is_empty or self.is_first or self.policies.bootstrap is BootstrapPolicy.ALLOW:
            return False
        return not self.is_rejected

    @property
    def is_denied(self) -> bool:
        """Whether policy forbids it because of a hazard. No approval changes that."""
        return any(judgement.verdict is Verdict.DENY for judgement in self.judgements)

    @property
    def extra_approvals(self) -> int:
        """How many recorded approvals policy asks for, besides what `needs_approval` does."""
        return max((judgement.approvals for judgement in self.judgements), default=0)

    @property
    def is_rejected(self) -> bool:
        """Whether `bootstrap_policy: reject` forbids it. A first apply modifies nothing and is not rejected; nor is a plan
        that loosens safeguards and nothing else, as this policy could never be taken back then."""
        return not self.diff.keeps_meaning and not self.is_first and self.policies.bootstrap is BootstrapPolicy.REJECT
