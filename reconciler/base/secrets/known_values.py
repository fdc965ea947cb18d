"""Secrets that this process knows by value, taken out of whatever it says.

No pattern knows what a service or a parser quotes of a password. But whoever resolves a secret knows it: it is remembered
here, for as long as the process lives, and replaced by `***` in the message of every error when that is made, in each event,
and in all that is shown. So it does not matter who quotes it, in which words, or where that is stored.

Replaced is, wherever it stands and in any letter case:
- the whole secret, however its signs are spelled: percent-encoded, as in JSON, behind backslashes, as entities of XML;
- each part of it, of four characters and more, likewise: a parser that takes it apart quotes a part. What ends one may be a
  blank or a quote, a sign that addresses and lists are made with (`;=,@:/&?` and brackets), or any but letters and digits;
- all these as base64, wherever they begin in what was encoded, and the whole as hexadecimal digits.

Messages stay readable: not replaced are parts that say nothing of a secret, unless they are all of it. These are numbers of
up to five digits (ports), words that such texts are made of (`true`, `localhost`, `kafka`, `required`, …), and those of the
setting's own name. A secret of less than four characters, or one that is such a word, is replaced where it stands alone.
Rather too much than too little is hidden. What is taken out is text for people; no value that is worked with comes here.

Of a long secret (a list of certificates, a key file) looking for all that would take seconds a message. Of one with more
than 4,096 characters only runs of 16 letters, digits and signs of base64 and more are replaced, as they are written.
"""

import base64
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.redaction import MASK

_SHORTEST: Final = 4
_SHORTEST_ENCODED: Final = 6
_LONGEST_PORT: Final = 5
_LONGEST: Final = 4096
# A line break that is written out is no part of the run behind it.
_RUN: Final = lazy_pattern(r"\\+[nrt]|[A-Za-z0-9+/=_-]{16,}")
_COMMON: Final = frozenset(
    {
        "true",
        "false",
        "null",
        "none",
        "localhost",
        "http",
        "https",
        "jdbc",
        "file",
        "hdfs",
        "abfs",
        "abfss",
        "wasbs",
        "postgres",
        "postgresql",
        "kafka",
        "spark",
        "delta",
        "java",
        "javax",
        "hadoop",
        "apache",
        "common",
        "security",
        "plain",
        "scram",
        "plainloginmodule",
        "scramloginmodule",
        "oauthbearerloginmodule",
        "loginmodule",
        "module",
        "required",
        "requisite",
        "sufficient",
        "optional",
        "username",
        "user",
        "password",
        "begin",
        "private",
        "public",
        "certificate",
    }
)
"""What texts with secrets in them are made of (whole words, in small letters)."""

_PARTS: Final = tuple(lazy_pattern(rf"[^{ends}]+") for ends in (r"\s\"'`", r"\s\"'`;=,@:/&?#|<>(){}\[\]", r"\W", r"\W_"))
_IDENTIFIER: Final = lazy_pattern(r"[a-z_]+")
_ENTITIES: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class _Known:
    """What is remembered, and the pattern that finds it."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._patterns: dict[str, int] = {}
        self._runs: frozenset[str] = frozenset()
        self.found: re.Pattern[str] | None = None

    def add_runs(self, runs: Iterable[str]) -> None:
        with self._changing:
            self._runs |= frozenset(runs)

    @property
    def is_empty(self) -> bool:
        return self.found is None and not self._runs

    def taken_out(self, text: str) -> str:
        found, runs = self.found, self._runs
        if found is not None:
            text = found.sub(MASK, text)
        return _RUN.sub(lambda run: MASK if run[0] in runs else run[0], text) if runs else text

    def add(self, patterns: Mapping[str, int]) -> None:
        with self._changing:
            if not patterns.keys() <= self._patterns.keys():
                self._patterns |= patterns
                # The longest first: a word of a secret must not break up what is found whole.
                ordered = sorted(self._patterns, key=lambda one: (-self._patterns[one], one))
                self.found = re.compile("|".join(ordered), re.IGNORECASE)

    def clear(self) -> None:
        with self._changing:
            self._patterns.clear()
            self._runs = frozenset()
            self.found = None


_KNOWN: Final = _Known()


def remember_secret(value: str, about: Iterable[str] = ()) -> None:
    """From now on, this is taken out of whatever is said. `about`: the names of the setting that holds it."""
    if len(value) > _LONGEST:
        _KNOWN.add_runs(run for run in _RUN.findall(value) if not run.startswith("\\"))
    elif value.strip():
        own = {word.lower() for name in about for word in (name, *re.split(r"[\W_]+", name))}
        _KNOWN.add(dict(_patterns(value.strip(), _COMMON | own)))


def forget_secrets() -> None:
    """Remember nothing any more: for a process that goes on to do something else."""
    _KNOWN.clear()


def without_secrets(text: str) -> str:
    """The text with `***` for all that is remembered."""
    return text if _KNOWN.is_empty else _KNOWN.taken_out(text)


def without_secrets_within(value: Any) -> Any:
    """The same for each text of a JSON value, and for keys that are no words of ours."""
    if _KNOWN.is_empty:
        return value
    match value:
        case str():
            return without_secrets(value)
        case Mapping():
            return {_key(key): without_secrets_within(part) for key, part in value.items()}
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [without_secrets_within(part) for part in value]
        case _:
            return value


def _key(key: Any) -> Any:
    return key if not isinstance(key, str) or _IDENTIFIER.fullmatch(key) else without_secrets(key)


def _patterns(value: str, plain: frozenset[str]) -> Iterator[tuple[str, int]]:
    """What finds a secret and its parts, with the length by which it is sorted."""
    for one in {value, *(part for parts in _PARTS for part in parts.findall(value))}:
        is_plain = one.lower() in plain or (one.isdigit() and len(one) <= _LONGEST_PORT)
        if one != value and (is_plain or len(one) < _SHORTEST):
            continue
        pattern = _however_spelled(one)
        if is_plain or len(one) < _SHORTEST:
            pattern = rf"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9_])"
        yield pattern, len(one)
        yield from ((re.escape(text), len(text)) for text in _encoded(one) if len(text) >= _SHORTEST_ENCODED)
    if len(value) >= _SHORTEST:
        yield value.encode("utf-8", "surrogatepass").hex(), 2 * len(value)


def _however_spelled(text: str) -> str:
    """A pattern for a text whose signs may be encoded."""
    return "".join(_spellings(one) for one in re.findall(r"\s+|.", text, re.DOTALL))


def _spellings(sign: str) -> str:
    if sign.isalnum() and sign.isascii():
        return sign
    if sign.isspace():
        return r"(?:\\{0,8}(?:\s|\+|%(?:25)*(?:20|0[9ad]))|\\{1,8}(?:[nrt]|u00(?:0[9ad]|20)))+"
    found = [re.escape(sign)]
    octets = sign.encode("utf-8", "surrogatepass")
    found.append("".join(f"%(?:25)*{octet:02x}" for octet in octets))
    units = sign.encode("utf-16-be", "surrogatepass")
    found.append(r"\\{1,8}".join(rf"u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2)))
    if len(octets) > 1:
        found.append("".join(rf"\\{{1,8}}x{octet:02x}" for octet in octets))
        found += [rf"x{ord(sign):02x}", rf"u{ord(sign):08x}"]
    found.append(rf"&(?:{_ENTITIES.get(sign, 'none')}|#{ord(sign)}|#x{ord(sign):x});")
    return rf"\\{{0,8}}(?:{'|'.join(found)})"


def _encoded(text: str) -> Iterator[str]:
    """What of a text is seen in base64, at each of the three places where it may begin."""
    octets = text.encode("utf-8", "surrogatepass")
    for before in range(3):
        first, end = -(-8 * before // 6), 8 * (before + len(octets)) // 6
        for alphabet in (b"+/", b"-_"):
            yield base64.b64encode(b"\0" * before + octets, alphabet).decode("ascii")[first:end]
