"""Why an apply was allowed, in words."""


def describe_allowed(approval: str, by: str) -> str:
    """`recorded by ann`, `lock; approved by ann`, `policy`. `approval` is the kind of an `Approval`, `by` its people."""
    if not by:
        return approval
    return f"{approval} by {by}" if approval in ("recorded", "restored") else f"{approval}; approved by {by}"
