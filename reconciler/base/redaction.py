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

Not here: where secrets are allowed, and that they are warned of (`connectors.catalogue`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, count
from typing import Any, Final

from reconciler.base.literals import Said, options_in, said_in

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


_SECRET_NAME: Final = re.compile(
    r"pass(word|wd|phrase)|secret|token|credential|assertion|authorization|jaas|user[._-]?info"
    r"|(^|[._-])(private|account|master|customer|encryption|keystore|api|sas|auth|shared|access)[._-]?key"
    r"|(^|[._-])(sas|pwd|pem|certificate|header|headers|cookie)($|[._-])",
    re.IGNORECASE,
)
_NO_SECRET: Final = re.compile(
    r"[._-](provider|type|file|location|path|url|uri|endpoint|id|enabled|class|name)$", re.IGNORECASE
)
_USER: Final = re.compile(
    r"(?:(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}:))?//(?P<user>[^/@\s:?#\"'<>]*)(?P<rest>:[^\"'<>\n]{0,300})?@"
)
_PORT: Final = re.compile(r":\d+(/|\?|#)")
_PAIR: Final = re.compile(
    r"(?<![A-Za-z0-9._%-])(?P<name>[A-Za-z0-9._%-]+)(?P<sign>\s*=\s*)"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s&;,#\"']+)"
)
_ENTRY: Final = re.compile(
    r"(?<![A-Za-z0-9._%-])(?<!\$\{)(?P<quote>[\"']?)(?P<name>[A-Za-z0-9._%-]+)(?P<sign>(?P=quote)\s*:\s*)"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:(?:Basic|Bearer|Digest|Token)\s+)?[^\s&;,#\"'{}\[\]]+)",
    re.IGNORECASE,
)
_PAIR_NAME: Final = re.compile(
    r"^(x-(amz|goog|ms)-)?(sig|signature|security-token|credential|sas|auth|authorization|pwd|pass|key|code|api_?key|access_?key"
    r"|awsaccesskeyid|googleaccessid)$",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{10,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{16,}|dapi[0-9a-f]{16,}|AIza[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}"
    # Stripe, SendGrid, DigitalOcean, Vault, PyPI, Shopify, Twilio and Mailgun, New Relic, Grafana, Linear, Atlassian.
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|do[opr]_v1_[0-9a-f]{32,}"
    r"|hv[sbr]\.[A-Za-z0-9_-]{20,}|pypi-AgE[A-Za-z0-9_-]{16,}|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32,}"
    r"|(?:SK|key-)[0-9a-f]{32}(?![A-Za-z0-9])|NRAK-[A-Z0-9]{20,}|glsa_[A-Za-z0-9]{20,}_[0-9A-Fa-f]{8}"
    r"|lin_api_[A-Za-z0-9]{30,}|ATATT3[A-Za-z0-9_=-]{20,})"
)
_BEARER: Final = re.compile(
    r"(?P<scheme>(?<![A-Za-z0-9_])Bearer|(?<=[\"'])Basic)(?P<blank>\s{1,20})(?P<value>[A-Za-z0-9._~+/=-]{12,})"
)
_BASIC_SAID: Final = re.compile(r"\ABasic\s{1,20}(?P<value>[A-Za-z0-9._~+/=-]{12,})")
_PARAMETER: Final = re.compile(r"(?P<start>[?&;](?P<name>[A-Za-z0-9._%-]{1,100})=)(?P<value>[^\s&;,#\"']+)")
_SAID_NAME: Final = re.compile(
    # What follows a colon within an address or a name of many parts (`arn:aws:secret:x`) is no value of a name.
    r"(?<![A-Za-z0-9._%-])(?<!\$\{)(?P<name>[A-Za-z0-9._%-]{1,100})(?:[\"']\]?)?\s{0,5}(?P<sign>=>|==?|(?<!//):)\s{0,5}"
)
_SAID_VALUE: Final = re.compile(
    r"(?P<quote>[\"'])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n])++)(?P=quote)"
    r"|(?P<scheme>(?:Basic|Bearer|Digest|Token)\s{1,5})?(?P<value>[^\s&;,\"]++)",
    re.IGNORECASE,
)
_STANDS_FOR: Final = re.compile(
    # A reference, a place to fill in, what a function is called with, a mark, one for any text, a structure, a query.
    r"(?:(?:\$?\{[^{}]*\}|\$?\{\{[^{}]*\}\}|<[^<>]*>)[:@/._ -]{0,3})+"
    r"|\$[0-9]|\*+|\*{3}[0-9]*(?:\n\*{3}[0-9]*)*|%|%%|%[srd]|%\(\w+\)s|%[^%]*%"
    r"|\{.*\}|\[.*\]|\(\s*select\b.*|true|false|null|none|yes|no|[^\w]",
    re.IGNORECASE | re.DOTALL,
)
_PATTERN: Final = re.compile(
    # Of a regular expression: any character, a set of them or a choice of words; with what repeats it.
    r"\(?(?:\?:)?(?:(?:\[\^?[^\]\n]{1,100}\]|\.|\\{1,2}[A-Za-z])(?:[*+?]|\{[0-9,]*\})\??|\w+(?:\|\w+)+(?=\)))\)?(?![A-Za-z0-9])"
)
_FILLED_IN: Final = re.compile(r"\$?\{\{[^{}\n]{0,200}\}\}")
_STRUCTURE: Final = re.compile(r"[\[{]+(?:[\s\"'0-9\[{\]}]|true\b|false\b|null\b|\Z)|\(\s*select\b", re.IGNORECASE)
_TYPE: Final = re.compile(
    r"(?:array|bigint|binary|boolean|byte|char|date|decimal|double|float|int|integer|interval|long|map|short|smallint|str|string"
    r"|struct|timestamp|timestamp_ntz|tinyint|varchar|variant)(?:[(<\[].*)?[>)\]}]*",
    re.IGNORECASE | re.DOTALL,
)
_USER_SAID: Final = re.compile(
    r"(?:(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}:))?//(?P<user>[^/@\s:?#<>]{0,300})(?P<rest>:[^<>\n]{0,300})?@"
)
_NAMED: Final = re.compile(
    r"(?<![A-Za-z0-9._%-])(?P<quote>[\"'`]?)(?P<name>[A-Za-z0-9._-]{1,100})(?P=quote)(?:(?<=[\"'`])\s{0,5}\])?\Z"
)
_ANNOTATED: Final = re.compile(
    r"(?<![A-Za-z0-9._%-])(?P<name>[A-Za-z0-9._]{1,100})\s{0,5}:\s{0,5}"
    r"[A-Za-z_][\w.]{0,40}(?:\[[\w., |]{0,80}\])?(?:\s?\|\s?None)?\Z"
)
_OF_PAIRS: Final = (
    *(
        "map",
        "struct",
        "option",
        "options",
        "set",
        "config",
        "conf",
        "get",
        "getenv",
        "setdefault",
        "getattr",
        "setattr",
        "put",
    ),
    *("pop", "header", "property", "setproperty", "param"),
)
_OF_TEXTS: Final = re.compile(
    r"(query|sql|statement|message|prompt|help|comment|description|text|doc|error|hint|header)s?$|tokens$", re.IGNORECASE
)
_ARMOUR: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----[^-]*(?:-----END [A-Z0-9 ]{1,40}-----)?")
_MARKED: Final = re.compile(r"\*{3}[0-9]*")
_REFERENCE: Final = re.compile(r"\$\{(secret|var):[A-Za-z_][A-Za-z0-9_]*\}")

_CONTAINERS: Final = ("abfs", "abfss", "wasb", "wasbs")
_CONTAINER: Final = re.compile(r"[a-z0-9-]{1,63}")
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_DIGITS: Final = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?|true|false", re.IGNORECASE)
_HOST: Final = r"(?:[A-Za-z0-9_.-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
_PLAIN_PATH: Final = r"(?:[\w.+*~-]+|[\w.-]{1,60}=[\w.*-]{1,60})"
_PATH: Final = rf"/?{_PLAIN_PATH}?(?:/+{_PLAIN_PATH})*/*"
_ADDRESS: Final = re.compile(
    # A container (abfss://container@account/…) is no user; over HTTP it may be a token, and a path may be one, too.
    rf"(?:(?:s3a?|gs|hdfs|abfss?|wasbs?)://(?:[a-z0-9-]{{1,63}}@)?{_HOST}(?:/{_PATH})?"
    rf"|(?:postgres(?:ql)?|jdbc:postgresql|https?)://{_HOST}(?:/[\w-]{{0,63}})?|file:/{{1,3}}{_PATH}|{_HOST}|{_PATH})"
)


def is_secret_name(name: str) -> bool:
    """Whether a setting of that name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


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
            bare = _REFERENCE.sub("x", value)
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
    text = _TOKEN.sub(MASK, text)
    if "-----BEGIN" in text:
        text = _ARMOUR.sub(MASK, text)
    text = _BEARER.sub(rf"\g<scheme>\g<blank>{MASK}", text)
    if "=" in text:
        text = _PAIR.sub(_without_value, text)
    if ":" in text:
        text = _ENTRY.sub(_without_entry, text)
    return _USER.sub(_without_user, text) if "@" in text and "//" in text else text


def masked_in_code(*texts: str) -> tuple[str, ...]:
    """Texts of code with what are credentials wherever they stand replaced, and all else as it is: tokens of well-known
    services, what follows `Bearer`, keys in armour, users and secret parameters of addresses; and what a literal or a
    comment says of a secret name (`'password=x'`), or a secret name is set to (`password = 'hunter2'`, `OPTIONS (password
    'hunter2')`, `get('password', 'hunter2')`). Literals are judged by what they say, escapes and pieces read (`literals`).
    In all of these texts the same one is replaced by the same mark, another one by another (`***`, `***2`), on each line
    that it had."""
    marks: dict[str, str] = {}
    # A mark that stands in a text already is given to no secret, or they would look alike.
    written_there = {mark for text in texts if MASK in text for mark in _MARKED.findall(text)}
    numbered = chain((MASK,), (f"{MASK}{number}" for number in count(2)))
    free = (one for one in numbered if one not in written_there)

    def mark(secret: str, written: str | None = None) -> str:
        if secret not in marks:
            marks[secret] = next(free)
        return "\n".join(marks[secret] for _ in (secret if written is None else written).split("\n"))

    def parameter(found: re.Match[str]) -> str:
        return f"{found['start']}{mark(found['value'])}" if _is_secret_parameter(found) else found[0]

    def user(found: re.Match[str]) -> str:
        if not _is_secret_user(found):
            return found[0]
        return f"{found['scheme'] or ''}//{mark(found[0])}@"

    def replaced(text: str) -> str:
        text = _without_spans(text, _secrets_said(text), mark)
        text = _TOKEN.sub(lambda found: mark(found[0]), text)
        text = _ARMOUR.sub(lambda found: mark(found[0]), text)
        text = _BEARER.sub(lambda found: f"{found['scheme']}{found['blank']}{mark(found['value'])}", text)
        text = _PARAMETER.sub(parameter, text)
        return _USER.sub(user, text) if "@" in text and "//" in text else text

    return tuple(map(replaced, texts))


def _secrets_said(text: str) -> list[tuple[int, int, str]]:
    """Where literals, comments and lists of options of a text say secrets: starts, ends, secrets; in order, none within
    another."""
    found: list[tuple[int, int, str]] = []
    for said in said_in(text):
        if not said.is_comment and said.value and _is_of_a_secret_name(text, said):
            found.append((said.start, said.end, said.value))
        else:
            found += ((*said.written(start, end), secret) for start, end, secret in _secrets_in(said.value))
    for option in options_in(text):
        value = text[option.start : option.end]
        if is_secret_name(option.name) and _may_be_secret(value):
            found.append((option.start, option.end, value))
    found.sort(key=lambda one: (one[0], -one[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, secret in found:
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), known if end <= last else text[first:end])
        else:
            merged.append((start, end, secret))
    return merged


_SHORTEST: Final = 4
_BEFORE: Final = 300
_OPENING: Final = 30
_LONGEST: Final = 200
"""Of a name with its annotation."""
_SIGNS: Final = frozenset("=:>,")


def _is_of_a_secret_name(text: str, said: Said) -> bool:
    """Whether a literal is what a secret name is set to: an option, an argument, an entry of a map."""
    opened = _OPENED.search(text, max(0, said.start - _OPENING), said.start)
    end = opened.start() if opened is not None else said.start
    sign = text[end - 1 : end]
    if sign not in _SIGNS or not _may_be_secret(said.value):
        return False
    before = text[max(0, end - _BEFORE) : end].rstrip("=:>,").rstrip()
    found = _NAMED.search(before, max(0, len(before) - 110))
    name = found["name"] if found is not None else ""
    last = max(0, len(before) - _LONGEST)
    if sign == "=" and before.find(":", last) >= 0 and not is_secret_name(name):
        annotated = _ANNOTATED.search(before, last)
        name = annotated["name"] if annotated is not None else ""
    if not is_secret_name(name):
        return False
    if " " in said.value.strip() and (sign == ":" or _OF_TEXTS.search(name)):
        # Prose about what has the name.
        return False
    if sign != ",":
        return True
    # A list of words is none of names and values.
    call, bracket, arguments = before.rpartition("(")
    return (
        found is not None
        and found["quote"] in ("'", '"')
        and bool(bracket)
        and ")" not in arguments
        and call.rstrip().lower().endswith(_OF_PAIRS)
    )


def _may_be_secret(value: str) -> bool:
    """Whether what a secret name is set to may be a secret: not what stands for another value, not a sign that
    parts others, not a word as short as a flag."""
    if not value.strip() or _stands_for_another(value):
        return False
    return len(value) >= _SHORTEST or not value.isalnum()


def _stands_for_another(value: str) -> bool:
    if _STANDS_FOR.fullmatch(value) is not None:
        return True
    found = _PATTERN.match(value)
    return found is not None and found.end() == len(value)


_OPENED: Final = re.compile(r"\s{0,20}(?<!\w)[rRbBuUfFxXnN]{0,2}[\"']\Z")


def _secrets_in(value: str) -> Iterator[tuple[int, int, str]]:
    """Where a value that a literal or a comment says holds secrets: start, end, secret."""
    for pattern in (_TOKEN, _ARMOUR):
        yield from ((*found.span(), found[0]) for found in pattern.finditer(value))
    for found in (*_BEARER.finditer(value), *_BASIC_SAID.finditer(value)):
        yield (*found.span("value"), found["value"])
    if "=" in value or ":" in value:
        for found in _PARAMETER.finditer(value):
            if _is_secret_parameter(found):
                yield (*found.span("value"), found["value"])
        yield from _secrets_named(value)
    if "@" in value and "//" in value:
        for found in _USER_SAID.finditer(value):
            if _is_secret_user(found):
                yield found.start("user"), found.end() - 1, found[0]


def _secrets_named(value: str) -> Iterator[tuple[int, int, str]]:
    """What is said of secret names (`password=x`): start, end, secret."""
    position = 0
    while (named := _SAID_NAME.search(value, position)) is not None:
        position = named.end()
        if not _is_secret_of_an_entry(named["name"]):
            continue
        if named["sign"] == ":" and value[max(0, named.start() - 1) : named.start()] in (":", "/", "="):
            continue
        found = _SAID_VALUE.match(value, position)
        if found is None:
            continue
        position = found.end()
        if found["quoted"] is not None:
            if not _stands_for_another(found["quoted"]) and _TYPE.fullmatch(found["quoted"]) is None:
                yield (*found.span("quoted"), found["quoted"])
        elif not _is_code(value, found.start("value"), found["value"], named["sign"]):
            yield (*found.span(), found[0])


def _is_code(text: str, start: int, value: str, sign: str) -> bool:
    """Whether what follows a secret name, up to the next blank or sign that parts values, is no value itself."""
    bare = value.rstrip(")]}")
    if not bare.strip("'\"[](){}<>.") or _stands_for_another(value) or _stands_for_another(bare):
        return True
    if _TYPE.fullmatch(value) is not None:
        return True
    if _FILLED_IN.match(text, start) is not None:
        return True
    return _PATTERN.match(text, start) is not None or (_STRUCTURE.match(text, start) is not None and sign == ":")


def _without_spans(text: str, spans: Sequence[tuple[int, int, str]], mark: Callable[[str, str], str]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, secret in spans:
        parts += (text[position:start], mark(secret, text[start:end]))
        position = end
    return "".join((*parts, text[position:]))


def masked_within(value: Any) -> Any:
    """A value of JSON with what are credentials in its texts replaced, each text by itself. Names stand."""
    match value:
        case str():
            return masked_in_code(value)[0]
        case Mapping():
            return {name: masked_within(part) for name, part in value.items()}
        case list() | tuple():
            return [masked_within(part) for part in value]
        case _:
            return value


def _is_secret_parameter(found: re.Match[str]) -> bool:
    value = found["value"]
    return _names_a_secret_parameter(found["name"]) and not _REFERENCE.match(value) and not _MARKED.fullmatch(value)


def _names_a_secret_parameter(name: str) -> bool:
    name = re.sub(r"%2[dD]", "-", name)
    return _PAIR_NAME.match(name) is not None or is_secret_name(name)


def _is_secret_user(found: re.Match[str]) -> bool:
    # A mark of before stands, or texts that are shown twice would lose which is which.
    is_marked = found["rest"] is None and _MARKED.fullmatch(found["user"]) is not None
    return not is_marked and _without_user(found) != found[0]


def _without_value(found: re.Match[str]) -> str:
    if not _names_a_secret_parameter(found["name"]) or _REFERENCE.fullmatch(found["value"].strip("\"'")):
        return found[0]
    return f"{found['name']}{found['sign']}{MASK}"


def _is_secret_of_an_entry(name: str) -> bool:
    # `key: x` and `code: x` are words of many messages.
    return is_secret_name(name) or (_PAIR_NAME.match(name) is not None and name.lower() not in ("key", "code"))


def _without_entry(found: re.Match[str]) -> str:
    name = found["name"]
    if not _is_secret_of_an_entry(name) or _REFERENCE.fullmatch(found["value"].strip("\"'")):
        return found[0]
    return f"{found['quote']}{name}{found['sign']}{MASK}"


def _without_user(found: re.Match[str]) -> str:
    rest = found["rest"]
    scheme = found["scheme"] or ""
    if rest is not None and _PORT.match(rest):
        # `//host:9092/path@x` has a port and no password.
        return found[0]
    if rest is None:
        # A container (abfss://container@account) is no secret; what stands there over HTTP may be a token.
        is_open = not scheme.lower().startswith(("http", "git", "ftp")) or not found["user"]
        return found[0] if is_open else f"{scheme}//{MASK}@"
    name, _, password = _REFERENCE.sub("", f"{found['user']}{rest}").partition(":")
    if not password and (not name or rest.endswith("}")):
        return found[0]
    return f"{scheme}//{MASK}@"
