"""What is wrong with the text of a query."""

from reconciler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a text is no query, and the offset of the place."""

    code: str
    message: str
    offset: int
    hint: str | None = None
