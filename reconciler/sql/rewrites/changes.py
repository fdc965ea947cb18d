"""What rewrites do to the tokens of a query, noted by index and carried out at once."""

from dataclasses import field

from reconciler.base.dataclass import dataclass


@dataclass(slots=True)
class Changes:
    """Tokens to leave out, tokens to spell otherwise, and names before which an `as` is missing."""

    dropped: set[int] = field(default_factory=set)
    spelled: dict[int, str] = field(default_factory=dict)
    aliases: set[int] = field(default_factory=set)

    def applied_to(self, texts: list[str]) -> list[str]:
        for index, text in self.spelled.items():
            texts[index] = text
        if not self.dropped and not self.aliases:
            return texts
        found: list[str] = []
        for index, text in enumerate(texts):
            if index in self.aliases:
                found.append("as")
            if index not in self.dropped:
                found.append(text)
        return found
