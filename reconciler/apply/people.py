"""Who is who among approvers and authors: the names under which one person is known.

- A text names a person by a name, an address, or both, as git writes them: `Ann Lee <ann@example.org>`. Each part is a name
  by itself: who shares one with somebody is taken for the same person.
- The order of a name's words, letter case, punctuation and what nobody sees tell nobody apart: `Lee, Ann` is `ann.lee`.
- Of an address what stands before the @ is the name. A handle (`@ann`) has nothing there, and names nobody.

Two people of one name are taken for one. Where approvals are counted, and authors left out, that asks for one more approval,
and never for one less. What somebody takes back of his own is another matter: `ann@a.org` and `ann@b.org` may be two, and
neither takes back what the other said. There only the very same text is the same person (`is_same_text`).
"""

import re
import shlex
import unicodedata
from collections.abc import Iterable
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.base.printing import is_seen

_BRACKETED: Final = re.compile(r"<([^<>]*)>|\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody as he was named first, with all names under which he is known."""

    named: str
    names: frozenset[str]


def names_of(text: str) -> frozenset[str]:
    """The names of the person that a text names, as they are compared. Empty where it names nobody."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKC", text) if is_seen(sign) or sign.isspace())
    parts = [_BRACKETED.sub(" ", plain), *(one or other for one, other in _BRACKETED.findall(plain))]
    return frozenset(name for part in parts if (name := _evened_out(part)))


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts name a person in the same way, but for letter case and blanks."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def require_named(by: str, what: str, who: str) -> None:
    """Raises ReconcileError (A582) where a text names nobody; `what` somebody records by it, and `who` he is."""
    if names_of(by):
        return
    # ann@example.org counts as ann; @ann has nothing before the @, so it names nobody.
    name = by.strip().lstrip("@")
    is_handle = by.strip().startswith("@") and bool(names_of(name)) and "." not in name
    hint = f"write the name without @: --by {shlex.quote(name)}" if is_handle else f"name the {who}: --by NAME"
    raise ReconcileError("A582", f"{what} records who gives it, and {by!r} is not a name", hint)


def people_of(texts: Iterable[str]) -> tuple[Person, ...]:
    """The people that these texts name, each once, in the order in which they are named first."""
    found: list[Person] = []
    for text in texts:
        names = names_of(text)
        same = [one for one in found if one.names & names]
        if not same:
            found.append(Person(text, names))
            continue
        # Who is named by name and address may be two who were taken for two so far.
        joined = Person(same[0].named, names.union(*(one.names for one in same)))
        found = [joined if one is same[0] else one for one in found if one is same[0] or one not in same]
    return tuple(one for one in found if one.names)


def _evened_out(part: str) -> str:
    name = part.casefold().strip().partition("@")[0]
    words = "".join(sign if sign.isalnum() or unicodedata.combining(sign) else " " for sign in name).split()
    return " ".join(sorted(words) if words else name.split())
