"""Where a text of code says secrets: in literals and comments (`'password=x'`), and in what secret names are set to
(`password = 'hunter2'`, `OPTIONS (password 'hunter2')`, `get('password', 'hunter2')`).
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from reconciler.base.literals import Said, items_of_a_list, said_in
from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.credentials import ARMOUR, BEARER, PARAMETER, TOKEN, is_secret_parameter, is_secret_user
from reconciler.base.secrets.names import is_secret_name, names_a_secret_of_an_entry, names_one_secret
from reconciler.base.secrets.option_lists import options_in
from reconciler.base.secrets.set_values import is_about_a_secret, is_of_pairs, values_set

_BASIC_SAID: Final = lazy_pattern(r"\ABasic\s{1,20}(?P<value>[A-Za-z0-9._~+/=-]{12,})")
_SAID: Final = r"(?<![A-Za-z0-9._%-])(?<!\$\{)(?P<name>(?:[A-Za-z0-9._-]++|%(?!3[ADad])|\\[_.*-]|(?!)){1,100}+)"
_SAID_NAME: Final = lazy_pattern(
    rf"{_SAID}(?P<marks>(?:[\"'`*]{{1,3}}\]?)?)\s*+(?P<sign>=>|:=|={{1,3}}|(?<!//)::?(?!=)|%3[ADad])(?:\*{{1,2}}(?=\s))?\s*+"
)
_WEAKLY_SAID: Final = lazy_pattern(
    rf"(?P<before><?){_SAID}[\"'`*]{{0,3}}(?P<sign>\s++(?:is|-|->)\s++|[^\S\n]*+\|[^\S\n]*+|->|>|[^\S\n]++)"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{1,200}+)(?P=quote)|(?P<value>[^\s&;,\"'`|<>()]++)(?P<closed></)?)"
)
_MADE_UP: Final = lazy_pattern(r"(?=[^A-Za-z]*+[A-Za-z])(?=[^0-9]*+[0-9]).{6,}+", re.DOTALL)
"""Of letters and digits, as no word of prose is but for the next."""
_OF_PROSE: Final = lazy_pattern(
    r"(?:sha|md|base|utf|aes|rsa|oauth|ipv|http|ed|es|hs|rs|ec|iso)-?[0-9]{1,5}\W*|[0-9]{4}-[0-9]{2}-[0-9]{2}\S*",
    re.IGNORECASE,
)
_MAY_NAME: Final = lazy_pattern(r"pass|pwd|secret|token|key|cred|sign|auth|cookie", re.IGNORECASE)
_TOUCHING: Final = lazy_pattern(r"[^\s&;,\"`')\]}>|][^\s&;,\"]*+")
_PORT: Final = lazy_pattern(r"[0-9]++(?=[/?#\s&;,\"')\]}>]|\Z)")
_AROUND: Final = lazy_pattern(r"[\s\"`'(\[{<,;]")
_OF_MANY_PARTS: Final = ("arn:", "urn:", "aws:")
_NEAR: Final = 5
_SAID_VALUE: Final = lazy_pattern(
    r"(?P<quote>[\"'])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]|(?!))++)(?P=quote)"
    r"|(?P<scheme>(?:Basic|Bearer|Digest|Token)\s{1,5})?(?P<value>[^\s&;,\"]++)",
    re.IGNORECASE,
)
_STANDS_FOR: Final = lazy_pattern(
    # A reference, a place to fill in, what a function is called with, a mark, one for any text, a structure, a query.
    r"(?:(?:\$?\{[^{}]*\}|\$?\{\{[^{}]*\}\}|<[^<>]*>)[:@/._ -]{0,3})+"
    r"|\$[0-9]|\*+|\*{3}[0-9]*(?:\n\*{3}[0-9]*)*|%|%%|(?:%(?:[srd]|\(\w+\)s)[:@/._ -]{0,3})+"
    r"|%[A-Z_]*(?-i:PASS|PWD|SECRET|TOKEN|KEY|CRED)[A-Z_]*%"
    r"|\{.*\}|\(\s*select\s.*|true|false|null|none|yes|no|[^\w]",
    re.IGNORECASE | re.DOTALL,
)
# Of a regular expression: any character, or a set of them, with what repeats it; and signs that are escaped or in a set.
_PATTERN: Final = (
    r"(?:\(?(?:\?:)?(?:(?:\[\^?[^\]\n]{1,100}\]|\.|\\{1,2}[A-Za-z])(?:[*+?]|\{[0-9,]*\})\??|\\{1,2}[^\w\s]|\[[^\]\w\n]{1,20}\])"
    r"(?:\)[*+?]?)*+|(?!)){1,20}+"
)
_FILLED_IN: Final = r"(?:\$?\{\{[^{}\n]{0,200}\}\}[:@/._-]{0,3}|(?!)){1,20}+"
_CLOSED: Final = r"[)$\]}>']*+"
_NO_VALUE: Final = lazy_pattern(
    # As a whole, up to what ends a value: or a password that begins like it would be shown.
    rf"\(*+(?:{_PATTERN}{_CLOSED}(?=[\s&;,\"|]|\Z)|{_FILLED_IN}{_CLOSED}(?=[\s&;,\"]|\Z))"
)
_STRUCTURE: Final = lazy_pattern(
    r"[\[{]++(?:[\s\"']|\Z|(?:(?:-?[0-9.]++|true|false|null)(?=[\s,:}\]])|(?=[}\]]))[}\]]*+(?=[\s&;,:\"']|\Z))|\(\s*select\s",
    re.IGNORECASE,
)
_TYPE: Final = lazy_pattern(
    r"(?:array|bigint|binary|boolean|byte|char|date|decimal|double|float|int|integer|interval|long|map|short|smallint|str|string"
    r"|struct|timestamp|timestamp_ntz|tinyint|varchar|variant)"
    r"(?:\(\s*+[0-9]*+\s*+|(?:[<\[]|\([0-9]++,).*)?[>)\]}]*",
    re.IGNORECASE | re.DOTALL,
)
_USER_SAID: Final = lazy_pattern(
    r"(?:(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}:))?//(?P<user>[^/@\s:?#<>]{0,300})(?P<rest>:[^<>\n]{0,300})?@"
)
_NAMED: Final = lazy_pattern(
    r"(?:(?<![A-Za-z0-9._%-])|(?<=\.)(?=`))(?P<quote>[\"'`]?)(?P<name>[A-Za-z0-9._-]{1,100})(?P=quote)(?:(?<=[\"'`])\s{0,5}\])?\Z"
)
_ANNOTATED: Final = lazy_pattern(
    r"(?<![A-Za-z0-9._%-])(?P<name>[A-Za-z0-9._]{1,100})\s{0,5}:[^\S\n]{0,5}"
    r"[A-Za-z_][\w.]{0,40}(?:\[[\w., |]{0,80}\])?(?:\s?\|\s?None)?\Z"
)
_OF_TEXTS: Final = lazy_pattern(
    r"(query|sql|statement|message|prompt|help|comment|description|text|doc|error|hint|header)s?$|tokens$", re.IGNORECASE
)
_COMPARED: Final = lazy_pattern(
    r"[\"']?\s*+(?:\)\s*+)*+==?\s*+(?:\(\s*+)*+(?:[\w`]+\.|(?!))*+(?P<quote>`?)(?P<name>[A-Za-z_][\w.-]{0,99})(?P=quote)(?![\w.(])"
)
"""What stands behind a literal that a name is compared with: `'x' = password`."""
_OPENED: Final = lazy_pattern(r"(?<!\w)[rRbBuUfFxXnN]{0,2}[\"']\Z")
_SHORTEST: Final = 4
_BEFORE: Final = 300
_OPENING: Final = 5
_LONGEST: Final = 200
"""Of a name with its annotation."""
_SIGNS: Final = frozenset("=:>,<")


def secrets_said(text: str) -> list[tuple[int, int, str]]:
    """Where literals, comments and lists of options of a text say secrets: starts, ends, secrets; in order, none within
    another."""
    found: list[tuple[int, int, str]] = []
    for said in said_in(text):
        if not said.is_comment and said.value and (_is_of_a_secret_name(text, said) or _is_compared(text, said)):
            found.append((said.start, said.end, said.value))
        else:
            found += ((*said.written(start, end), secret) for start, end, secret in _secrets_in(said.value))
    for option in options_in(text):
        value = text[option.start : option.end]
        if is_secret_name(option.name) and _may_be_secret(value):
            found.append((option.start, option.end, value))
    for start, end in values_set(text):
        value = text[start:end]
        if _may_be_secret(value) and any(map(str.isalnum, value)) and not is_about_a_secret(value):
            found.append((start, end, value))
    return _merged(text, found)


def secrets_in_words(text: str) -> list[tuple[int, int, str]]:
    """Where words of an author, which are no code, say secrets; as `secrets_said`."""
    return _merged(text, list(_secrets_in(text)))


def _merged(text: str, found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    found.sort(key=lambda one: (one[0], -one[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, secret in found:
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), known if end <= last else text[first:end])
        else:
            merged.append((start, end, secret))
    return merged


def _is_of_a_secret_name(text: str, said: Said) -> bool:
    """Whether a literal is what a secret name is set to: an option, an argument, an entry of a map."""
    opened = _OPENED.search(text, max(0, said.start - _OPENING), said.start)
    end = opened.start() if opened is not None else said.start
    before = _without_comment(text[max(0, end - _BEFORE) : end])
    listed = _before_its_list(before)
    before = before if listed is None else listed
    sign = before[-1:]
    if sign not in _SIGNS or not _may_be_secret(said.value):
        return False
    before = before.rstrip("=:>,<!").rstrip()
    found = _NAMED.search(before, max(0, len(before) - 110))
    name = found["name"] if found is not None else ""
    last = max(0, len(before) - _LONGEST)
    if sign == "=" and before.find(":", last) >= 0 and not is_secret_name(name):
        annotated = _ANNOTATED.search(before, last)
        name = annotated["name"] if annotated is not None else ""
    # `TOKENS`, `header` and `token_columns` are lists of something else.
    if not is_secret_name(name) or (listed is not None and not names_one_secret(name)):
        return False
    if " " in said.value.strip() and (sign == ":" or _OF_TEXTS.search(name)):
        # Prose about what has the name.
        return False
    if sign != ",":
        return True
    # A list of words is none of names and values.
    return found is not None and found["quote"] in ("'", '"') and is_of_pairs(before[: found.start()])


def _is_compared(text: str, said: Said) -> bool:
    """Whether a literal is what a secret name is compared with that stands behind it."""
    found = _COMPARED.match(text, said.end)
    return found is not None and names_one_secret(found["name"]) and _may_be_secret(said.value)


def _without_comment(before: str) -> str:
    """What stands before a literal, without blanks and a comment at its end: only if a sign stands before that."""
    bare = before.rstrip()
    if bare[-1:] in _SIGNS:
        return bare
    start = -1
    if bare.endswith("*/"):
        start = bare.rfind("/*")
    elif "\n" in before[len(bare) :]:
        line = bare.rfind("\n") + 1
        start = max(bare.rfind("--", line), bare.rfind("#", line))
    head = bare[: max(start, 0)].rstrip()
    return head if head[-1:] in _SIGNS else bare


def _before_its_list(before: str) -> str | None:
    """What stands before the list, in brackets or of SQL's `array`, that what follows is an item of. None for none."""
    if before[-1:] not in ("[", "(", ","):
        return None
    opens = max(before.rfind("["), before.rfind("("))
    if opens < 0 or "]" in before[opens:] or ")" in before[opens:]:
        return None
    head = before[:opens].rstrip()
    if before[opens] == "[":
        return head if head[-1:] in _SIGNS else None
    return head[:-5].rstrip() if head[-5:].lower() == "array" and not head[-6:-5].isalnum() else None


def _may_be_secret(value: str) -> bool:
    """Whether what a secret name is set to may be a secret: not what stands for another value, not a sign that
    parts others, not a word as short as a flag."""
    if not value.strip() or _stands_for_another(value):
        return False
    return len(value) >= _SHORTEST or not value.isalnum()


def _stands_for_another(value: str) -> bool:
    if _STANDS_FOR.fullmatch(value) is not None:
        return True
    if value.startswith("[") and value.endswith("]"):
        items, end = items_of_a_list(value, 0)
        if end == len(value):
            return not any(_is_secret_item(value[first:last]) for first, last in items)
    found = _NO_VALUE.match(value)
    return found is not None and found.end() == len(value)


def _secrets_in(value: str) -> Iterator[tuple[int, int, str]]:
    """Where a value that a literal or a comment says holds secrets: start, end, secret."""
    for pattern in (TOKEN, ARMOUR):
        yield from ((*found.span(), found[0]) for found in pattern.finditer(value))
    for found in (*BEARER.finditer(value), *_BASIC_SAID.finditer(value)):
        yield (*found.span("value"), found["value"])
    if "=" in value or ":" in value or "%3" in value:
        for found in PARAMETER.finditer(value):
            if is_secret_parameter(found):
                yield (*found.span("value"), found["value"])
        yield from _secrets_named(value)
    if _MAY_NAME.search(value) is not None:
        yield from _secrets_named_weakly(value)
    if "@" in value and "//" in value:
        for found in _USER_SAID.finditer(value):
            if is_secret_user(found):
                yield found.start("user"), found.end() - 1, found[0]


def _secrets_named(value: str) -> Iterator[tuple[int, int, str]]:
    """What is said of secret names (`password=x`): start, end, secret."""
    position = 0
    while (named := _SAID_NAME.search(value, position)) is not None:
        position = named.end()
        if not names_a_secret_of_an_entry(_unescaped(named["name"])):
            continue
        if named["sign"].startswith(":") and (_is_within_an_address(value, named) or _is_heading(value, named)):
            continue
        if value.startswith("[", position) and _NO_VALUE.match(value, position) is None:
            items, position = items_of_a_list(value, position, partial(_begins_another, value))
            # Looked for behind a bracket alone: else each of many lists within each other would look to the end.
            touching = _TOUCHING.match(value, position) if value[position - 1] == "]" else None
            if touching is not None:
                # `[a]hunter2` is no list.
                position = touching.end()
                yield (named.end(), position, value[named.end() : position])
                continue
            spans = ((first, last, value[first:last]) for first, last in items)
            yield from (one for one in spans if _is_secret_item(one[2]))
            continue
        found = _SAID_VALUE.match(value, position)
        if found is None:
            continue
        position = found.end()
        if found["quoted"] is not None:
            if not _stands_for_another(found["quoted"]) and _TYPE.fullmatch(found["quoted"]) is None:
                yield (*found.span("quoted"), found["quoted"])
        elif _is_weak(named) and not _is_made_up(found["value"]):
            continue
        elif not _is_code(value, found.start("value"), found["value"], named["sign"]):
            yield (*found.span(), found[0])


def _is_weak(named: re.Match[str]) -> bool:
    """Whether words may follow: a name in marks is explained (`` `token`: what it is ``), `::` may say a type."""
    return (named["marks"][:1] in ("`", "*") and named["marks"] != "") or (named["sign"] == "::" and named[0].endswith("::"))


def _secrets_named_weakly(value: str) -> Iterator[tuple[int, int, str]]:
    """What is said of secret names by what parts words, too (`password is x`): only what is no word."""
    position = 0
    while (found := _WEAKLY_SAID.search(value, position)) is not None:
        name, before, sign = _unescaped(found["name"]), found["before"], found["sign"]
        position = max(found.end("sign"), found.start() + 1)
        if (
            not is_secret_name(name)
            or (not sign.strip() and not name.startswith("--"))
            or ((sign == ">") != (before == "<"))
        ):
            continue
        what = "quoted" if found["quoted"] is not None else "value"
        said = found[what].rstrip(".") if what == "value" else found[what]
        if what == "quoted" and sign.strip() == "is":
            is_one = not _stands_for_another(said) and " " not in said
        else:
            is_one = _is_made_up(said) or (before == "<" and found["closed"] is not None and _is_secret_item(said))
        if is_one:
            start = found.start(what)
            yield start, start + len(said), said
            position = start + len(said)


def _is_made_up(value: str) -> bool:
    return (
        _MADE_UP.fullmatch(value) is not None
        and _OF_PROSE.fullmatch(value) is None
        and not _stands_for_another(value)
        and "(" not in value
    )


def _unescaped(name: str) -> str:
    """A name as it was before markdown was made of it."""
    return name.replace("\\", "")


def _begins_another(value: str, start: int) -> bool:
    """Whether another secret name begins there, with a value of its own."""
    named = _SAID_NAME.match(value, start)
    return named is not None and names_a_secret_of_an_entry(_unescaped(named["name"]))


def _is_secret_item(item: str) -> bool:
    return _may_be_secret(item) and _TYPE.fullmatch(item) is None


def _is_within_an_address(value: str, named: re.Match[str]) -> bool:
    """Whether what a colon follows is no name of a value, but a part of an address (`https://h/token:8080`), or of a name of
    many parts (`arn:aws:secret:x`)."""
    start = named.start()
    if value[max(0, start - 1) : start] not in (":", "/", "=") or named.end() > named.end("sign"):
        return False
    if _PORT.match(value, named.end()) is not None:
        return True
    word = _AROUND.split(value[max(0, start - _BEFORE) : start])[-1]
    return "://" in word or word.lower().startswith(_OF_MANY_PARTS)


def _is_heading(value: str, named: re.Match[str]) -> bool:
    """Whether prose follows a name and a colon, further in on a line of its own, or another such name (`:type x:`)."""
    before, after = value[named.end("name") : named.start("sign")], value[named.end("sign") : named.end()]
    if value.startswith(("'", '"', "["), named.end()):
        return False
    return "\n" in before or ("\n" in after and (len(after) > _NEAR or value.startswith(":", named.end())))


def _is_code(text: str, start: int, value: str, sign: str) -> bool:
    """Whether what follows a secret name, up to the next blank or sign that parts values, is no value itself."""
    bare = value.rstrip(")]}")
    if not bare.strip("'\"[](){}<>.") or _stands_for_another(value) or _stands_for_another(bare):
        return True
    if _TYPE.fullmatch(value) is not None:
        return True
    if _NO_VALUE.match(text, start) is not None:
        return True
    return sign == ":" and _STRUCTURE.match(text, start) is not None
