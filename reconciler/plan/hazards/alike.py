"""What is new and may be what goes, in the words of a hazard. Where thousands trade places, not each names them all."""

from collections.abc import Sequence
from typing import Final

_SHOWN: Final = 5


def one_of(names: Sequence[str]) -> str:
    """The names, as far as they are few; `a or b or one of 7 others`."""
    if len(names) <= _SHOWN:
        return " or ".join(names)
    return f"{' or '.join(names[:_SHOWN])} or one of {len(names) - _SHOWN} others"
