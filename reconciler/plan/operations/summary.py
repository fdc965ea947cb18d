"""How steps of one kind are summed up: `bootstrap 600 views`."""

from typing import NamedTuple


class Summary(NamedTuple):
    """The verb, and what it is done to: one, and many of them."""

    verb: str
    one: str
    many: str

    def of(self, count: int) -> str:
        """So many of them, for people."""
        return f"{self.verb} {count} {self.one if count == 1 else self.many}"
