"""Secrets within what is shown: what of a setting's value may be shown, and credentials within texts.

What a connector's schema marks as plain may be shown, in the form that the mark promises (`Plain`, `plain_value`). What it
does not mark may be secret, and is not shown. `masked` is the second line of defence, for texts of which no schema knows:
what looks like credentials is replaced. When in doubt, it is hidden: a reader who misses a detail looks into the file.

- In `scheme://user:password@host` all before `@` is masked; over HTTP also what stands there alone, which may be a token.
- In `name=value`, `name: value` and `"name": "value"` the value is masked where the name says so.
- What is made like a token of a well-known service is masked wherever it stands.
- References (`${secret:NAME}`) are no secrets and stand.

People review SQL, Python and settings, and have to see what `name = value` says there. So whatever a command shows goes
through `masked_in_code`: it replaces only what is a credential whatever stands before it, and what is said of a secret name
within a literal or by one, which is no code; and texts that differ in one stay different.

No pattern here may take longer than the text is long: each name and address is looked for from its first character on only.

Not here: which names say that something is secret (`names`), what is a credential by itself (`credentials`), where a
text of code says secrets (`said`, `set_values`, `option_lists`), where secrets are allowed, and that they are warned
of (`connectors.catalogue`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import chain, count
from typing import Any, Final

from reconciler.base.literals import items_of_a_list
from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.credentials import (
    ARMOUR,
    BEARER,
    MARKED,
    PARAMETER,
    REFERENCE,
    TOKEN,
    USER,
    holds_a_secret,
    is_secret_parameter,
    is_secret_user,
)
from reconciler.base.secrets.names import names_a_secret_of_an_entry, names_a_secret_parameter
from reconciler.base.secrets.said import secrets_in_words, secrets_said

MASK: Final = "***"


class Plain(Enum):
    """The mark `x-plain` of a schema: what may be shown of a value."""

    VALUE = True
    """The value itself."""
    ADDRESS = "address"
    """Addresses, separated by commas: schemes, hosts, ports and plain paths; nothing if anything else stands there."""
    WORD = "word"
    """One word of letters, digits, `_`, `.` and `-`."""
    NUMBER = "number"
    """A number or a boolean, also as text."""


_PAIR: Final = lazy_pattern(
    r"(?<![A-Za-z0-9._%-])(?P<name>[A-Za-z0-9._%-]+)(?P<sign>\s*=\s*)"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s&;,#\"']+)"
)
_ENTRY: Final = lazy_pattern(
    r"(?<![A-Za-z0-9._%-])(?<!\$\{)(?P<quote>[\"']?)(?P<name>[A-Za-z0-9._%-]+)(?P<sign>(?P=quote)\s*:\s*)"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:(?:Basic|Bearer|Digest|Token)\s+)?[^\s&;,#\"'{}\[\]]+)",
    re.IGNORECASE,
)
_LISTED: Final = lazy_pattern(
    r"(?<![A-Za-z0-9._%-])(?<!\$\{)(?P<quote>[\"']?)(?P<name>[A-Za-z0-9._%-]++)(?P=quote)\s*+(?P<sign>[=:])\s*+(?=\[)"
)

_CONTAINERS: Final = ("abfs", "abfss", "wasb", "wasbs")
_CONTAINER: Final = lazy_pattern(r"[a-z0-9-]{1,63}")
_WORD: Final = lazy_pattern(r"[A-Za-z0-9_.-]{1,60}")
_DIGITS: Final = lazy_pattern(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?|true|false", re.IGNORECASE)
_HOST: Final = r"(?:[A-Za-z0-9_.-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
_PLAIN_PATH: Final = r"(?:[\w.+*~-]+|[\w.-]{1,60}=[\w.*-]{1,60})"
_PATH: Final = rf"/?{_PLAIN_PATH}?(?:/+{_PLAIN_PATH})*/*"
_ADDRESS: Final = lazy_pattern(
    # A container (abfss://container@account/…) is no user; over HTTP it may be a token, and a path may be one, too.
    rf"(?:(?:s3a?|gs|hdfs|abfss?|wasbs?)://(?:[a-z0-9-]{{1,63}}@)?{_HOST}(?:/{_PATH})?"
    rf"|(?:postgres(?:ql)?|jdbc:postgresql|https?)://{_HOST}(?:/[\w-]{{0,63}})?|file:/{{1,3}}{_PATH}|{_HOST}|{_PATH})"
)


def plain_value(value: Any, mark: Plain | None) -> Any:
    """The value if its mark allows to show it, else `***`. Credentials are masked even then."""
    if mark is None:
        return MASK
    if not isinstance(value, str):
        return value
    match mark:
        case Plain.VALUE:
            return masked(value)
        case Plain.WORD:
            is_plain = _WORD.fullmatch(value) is not None
        case Plain.NUMBER:
            is_plain = _DIGITS.fullmatch(value) is not None
        case Plain.ADDRESS:
            bare = REFERENCE.sub("x", value)
            is_plain = all(_ADDRESS.fullmatch(one.strip()) for one in bare.split(","))
    return value if is_plain and masked(value) == value else MASK


def shown_address(text: str) -> str:
    """An address, of which scheme, host and path may be shown: `***` stands for users, queries and fragments, and for all of
    what is no plain address without these."""
    scheme, sign, rest = text.partition("://")
    if not sign:
        scheme, rest = "", text
    bare, marks = rest, ""
    for mark in "#?":
        bare, found, _ = bare.partition(mark)
        marks = f"{mark}{MASK}" if found else marks
    authority, slash, path = bare.partition("/")
    user, at, host = authority.rpartition("@")
    # What stands behind such a sign may belong to a password that holds it.
    if "@" in rest[len(authority) :]:
        return MASK
    is_container = scheme.lower() in _CONTAINERS and _CONTAINER.fullmatch(user) is not None
    if is_container or (at and not sign):
        user, at, host = "", "", authority
    plain = f"{scheme}{sign}{host}{slash}{path}"
    if plain_value(plain, Plain.ADDRESS) == MASK:
        return MASK
    return f"{scheme}{sign}{MASK}@{host}{slash}{path}{marks}" if at else f"{plain}{marks}"


def masked(text: str) -> str:
    """The text with what looks like credentials replaced by `***`."""
    text = TOKEN.sub(MASK, text)
    if "-----BEGIN" in text:
        text = ARMOUR.sub(MASK, text)
    text = BEARER.sub(rf"\g<scheme>\g<blank>{MASK}", text)
    if "[" in text:
        text = _without_lists(text)
    if "=" in text:
        text = _PAIR.sub(_without_value, text)
    if ":" in text:
        text = _ENTRY.sub(_without_entry, text)
    return USER.sub(_without_user, text) if "@" in text and "//" in text else text


def masked_in_code(*texts: str) -> tuple[str, ...]:
    """Texts of code with what are credentials wherever they stand replaced, and all else as it is: tokens of well-known
    services, what follows `Bearer`, keys in armour, users and secret parameters of addresses; and what a literal or a
    comment says of a secret name (`'password=x'`), or a secret name is set to (`password = 'hunter2'`, `OPTIONS (password
    'hunter2')`, `get('password', 'hunter2')`, `upper('x') AS password`).
    Literals are judged by what they say, escapes and pieces read (`literals`).
    In all of these texts the same one is replaced by the same mark, another one by another (`***`, `***2`), on each line
    that it had."""
    marks: dict[str, str] = {}
    # A mark that stands in a text already is given to no secret, or they would look alike.
    written_there = {mark for text in texts if MASK in text for mark in MARKED.findall(text)}
    numbered = chain((MASK,), (f"{MASK}{number}" for number in count(2)))
    free = (one for one in numbered if one not in written_there)

    def mark(secret: str, written: str | None = None) -> str:
        if secret not in marks:
            marks[secret] = next(free)
        return "\n".join(marks[secret] for _ in (secret if written is None else written).split("\n"))

    def parameter(found: re.Match[str]) -> str:
        return f"{found['start']}{mark(found['value'])}" if is_secret_parameter(found) else found[0]

    def user(found: re.Match[str]) -> str:
        if not is_secret_user(found):
            return found[0]
        return f"{found['scheme'] or ''}//{mark(found[0])}@"

    def replaced(text: str) -> str:
        text = _without_spans(text, secrets_said(text), mark)
        text = TOKEN.sub(lambda found: mark(found[0]), text)
        text = ARMOUR.sub(lambda found: mark(found[0]), text)
        text = BEARER.sub(lambda found: f"{found['scheme']}{found['blank']}{mark(found['value'])}", text)
        text = PARAMETER.sub(parameter, text)
        return USER.sub(user, text) if "@" in text and "//" in text else text

    return tuple(map(replaced, texts))


def masked_as_set(name: str, *texts: str) -> tuple[str, ...]:
    """Expressions that something of that name is set to: as in code that sets it."""
    before = f"`{name}` = "
    return tuple(text.removeprefix(before) for text in masked_in_code(*(f"{before}{text}" for text in texts)))


def masked_in_words(text: str) -> str:
    """Words of an author, which are no code: as a comment of code."""
    return masked_in_code(_without_spans(text, secrets_in_words(text), lambda *_: MASK))[0]


def masked_within(value: Any) -> Any:
    """A value of JSON with what are credentials in its texts replaced, each text by itself. Names stand. The default of
    something that has a name is what that name is set to; words of an author are no code."""
    return _masked_within(value, {})


def _masked_within(value: Any, known: dict[str, str]) -> Any:
    """`known`: texts that came before, and what was made of them. Most of a large plan are the names of few relations."""
    match value:
        case str():
            if value not in known:
                known[value] = masked_in_code(value)[0]
            return known[value]
        case Mapping():
            named = value.get("name")
            return {name: _masked_part(named, name, part, known) for name, part in value.items()}
        case list() | tuple():
            return [_masked_within(part, known) for part in value]
        case _:
            return value


def _masked_part(named: Any, key: str, part: Any, known: dict[str, str]) -> Any:
    match part:
        case str() if key == "default" and isinstance(named, str):
            return masked_as_set(named, part)[0]
        case _ if key in _WORDS_OF_AUTHORS:
            return _masked_words(part)
        case _:
            return _masked_within(part, known)


def _masked_words(part: Any) -> Any:
    match part:
        case str():
            return masked_in_words(part)
        case Mapping():
            return {name: _masked_words(one) for name, one in part.items()}
        case list() | tuple():
            return [_masked_words(one) for one in part]
        case _:
            return part


_WORDS_OF_AUTHORS: Final = frozenset({"comment", "description", "descriptions", "owner", "tags", "used_by"})


def _without_spans(text: str, spans: Sequence[tuple[int, int, str]], mark: Callable[[str, str], str]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, secret in spans:
        parts += (text[position:start], mark(secret, text[start:end]))
        position = end
    return "".join((*parts, text[position:]))


def _without_lists(text: str) -> str:
    """The text without the lists of values that a secret name has, but for those of nothing but references and marks."""
    parts: list[str] = []
    position = start = 0
    while (found := _LISTED.search(text, start)) is not None:
        start = found.end()
        is_secret = names_a_secret_parameter if found["sign"] == "=" else names_a_secret_of_an_entry
        if not is_secret(found["name"]):
            continue
        items, start = items_of_a_list(text, found.end())
        words = [text[first:last] for first, last in items]
        if not all(REFERENCE.fullmatch(word) or MARKED.fullmatch(word) for word in words):
            parts += (text[position : found.end()], MASK)
            position = start
    return "".join((*parts, text[position:]))


def _without_value(found: re.Match[str]) -> str:
    if not names_a_secret_parameter(found["name"]) or REFERENCE.fullmatch(found["value"].strip("\"'")):
        return found[0]
    return f"{found['name']}{found['sign']}{MASK}"


def _without_entry(found: re.Match[str]) -> str:
    name = found["name"]
    if not names_a_secret_of_an_entry(name) or REFERENCE.fullmatch(found["value"].strip("\"'")):
        return found[0]
    return f"{found['quote']}{name}{found['sign']}{MASK}"


def _without_user(found: re.Match[str]) -> str:
    return f"{found['scheme'] or ''}//{MASK}@" if holds_a_secret(found) else found[0]
