"""Where a warehouse on S3 is, one place always being one text: `s3://bucket/key`.

Clients of object stores read many texts as one place: they decode percent escapes, resolve `.` and `..`, leave out empty
parts, user names, queries and fragments. What an environment asks for is asked of a place, so a second spelling would be a
way round it. Two spellings are certain and taken as the one: `s3a` for `s3`, and slashes at the end. All others are refused,
with the text that is meant. Settings of the store (an endpoint, a region) are no part of a place: who names the same bucket
and key under another endpoint may mean the same one.
"""

import re
from typing import Final
from urllib.parse import unquote

_S3: Final = re.compile(r"s3[an]?://", re.IGNORECASE)
_TAKEN: Final = ("s3://", "s3a://")
_MOST_DECODED: Final = 5


def is_meant_for_s3(warehouse: str) -> bool:
    """Whether a text names a place on S3, in some spelling."""
    return _S3.match(warehouse.strip()) is not None


def canonical_warehouse(warehouse: str) -> str | None:
    """The one text of a place on S3, whatever the spelling; None where no bucket is named, or escapes hide in escapes."""
    rest = _S3.sub("", warehouse.strip(), count=1)
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    # What one client decodes once, another may decode twice. What hides deeper than any of them looks names no place.
    for _ in range(_MOST_DECODED):
        if (decoded := unquote(rest)) == rest:
            break
        rest = decoded
    else:
        return None
    rest = "".join(sign for sign in rest if sign.isprintable()).replace("\\", "/")
    host, _, key = rest.partition("/")
    bucket = host.rpartition("@")[2].partition(":")[0].strip().lower()
    parts: list[str] = []
    for part in key.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    if not bucket:
        return None
    return "/".join([f"s3://{bucket}", *parts]).strip()


def spelled_otherwise(warehouse: str) -> bool:
    """Whether a text for a place on S3 is not the one text for it, nor certain to mean it."""
    begins = next((scheme for scheme in _TAKEN if warehouse.startswith(scheme)), None)
    if begins is None:
        return True
    return canonical_warehouse(warehouse) != f"s3://{warehouse.removeprefix(begins).rstrip('/')}"
