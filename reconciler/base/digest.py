"""Canonical JSON, texts with a JSON value a line, and content digests.

The same value gives the same bytes on every machine: keys sorted, no insignificant white space, UTF-8, no NaN.
Digests are SHA-256, written `sha256:<64 hex digits>`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]
# `json.dumps` would make an encoder for each value, and `json.loads` looks for white space around each text.
_DECODER: Final = json.JSONDecoder()
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """The one text of a JSON value. Raises ValueError for NaN and infinities, TypeError for what is not JSON."""
    return _ENCODER.encode(value)


def read_json(text: str) -> Any:
    """The value of a JSON text without white space around it, such as we write: what `json.loads` gives, cheaper where there
    are many small texts. Raises ValueError."""
    value, end = _DECODER.raw_decode(text)
    if end != len(text):
        raise json.JSONDecodeError("more than one value", text, end)
    return value


def json_lines(text: str) -> Iterator[Any]:
    """The values of a text that holds one a line, such as a commit of Delta. Only a line feed ends a line here: the others
    that Unicode knows (U+2028 and so on, which `str.splitlines` takes) may stand within a value. Raises ValueError."""
    return (json.loads(line) for line in text.split("\n") if line.strip())


def digest_text(text: str) -> str:
    """`sha256:…` of a text's UTF-8 bytes."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def digest_json(value: Any) -> str:
    """`sha256:…` of a JSON value's canonical text."""
    return digest_text(canonical_json(value))


def short(digest: str) -> str:
    """The first twelve digits of a digest, for people."""
    return digest.removeprefix("sha256:")[:12]
