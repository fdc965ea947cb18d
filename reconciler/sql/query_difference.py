"""Which output columns two queries may differ in, where they surely give the same rows otherwise."""


def changed_outputs(
    applied: str, desired: str, applied_names: tuple[str, ...], desired_names: tuple[str, ...]
) -> frozenset[str] | None:
    """The folded names of output columns that were added, removed or changed; None when any row may differ."""
    return None
