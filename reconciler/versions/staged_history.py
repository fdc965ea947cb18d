"""The history of versions told of what is staged (`staging`), by who staged it or whoever comes next: once."""

from reconciler.environment.commits import author_of
from reconciler.environment.target import Target
from reconciler.registry.model import Head
from reconciler.state.applied import read_snapshot
from reconciler.state.staged import staged_placements
from reconciler.versions.numbering import Switch, record_minted_versions


def record_staged(target: Target, head: Head) -> None:
    """See the module. Does nothing where nothing is staged."""
    staged = head.staged
    if staged is None or not staged.minted:
        return
    desired = read_snapshot(target, head.pipeline, staged.record)
    told = Switch(
        staged.step,
        staged.at,
        staged.by,
        staged.commit,
        staged.approval,
        staged.plan_digest,
        staged.id,
        author_of(target.root, staged.commit),
        staged_placements(staged),
    )
    numbers = {key: staged.numbers[key] for key in staged.minted}
    record_minted_versions(target.registry, head, numbers, desired, told, staged.numbers)
