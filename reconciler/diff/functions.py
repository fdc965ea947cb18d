"""Compare functions."""

from collections.abc import Mapping, Sequence

from reconciler.diff.model import FunctionChange
from reconciler.snapshot.model import Snapshot


def compare_functions(applied: Snapshot, desired: Snapshot) -> tuple[FunctionChange, ...]:
    """The functions that were added, modified or removed, sorted by name."""
    return ()


def changed_paths(applied: Snapshot, desired: Snapshot, changes: Sequence[FunctionChange]) -> Mapping[str, tuple[str, ...]]:
    """For each changed function, and each that calls one, the path to where the change began."""
    return {}
