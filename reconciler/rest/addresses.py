"""Relations as addresses name them: without regard to case, but for a name in quotes, which is taken as it is written."""

from reconciler.base.names import fold
from reconciler.project.program.model import Program


def key_in(program: Program, name: str) -> str | None:
    """The key of the relation that a name in an address means; None: there is none."""
    plain = name.removeprefix('"').removesuffix('"')
    relation = program.relation(fold(plain))
    if relation is None or (plain != name and plain not in (relation.name, fold(plain))):
        return None
    return fold(plain)
