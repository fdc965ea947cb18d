"""Secrets within texts that are shown: credentials of addresses, and settings whose name says that they are secret.

The schemas of connectors mark what is secret; this is for what they can't know: a password within a URI, a signature within
its query, an option of a later version. When in doubt, it is masked: a reader who misses a detail looks into the file.

- In `scheme://user:password@host` all before `@` is masked; over HTTP also what stands there alone, which may be a token.
- In `name=value` the value is masked where the name says so, in a query or anywhere else (`…;password=…`, JAAS).
- References (`${secret:NAME}`) are no secrets and stand.

Not here: where secrets are allowed, and that they are warned of (`connectors.catalogue`).
"""

import re
from typing import Final

MASK: Final = "***"

_SECRET_NAME: Final = re.compile(
    r"pass(word|wd|phrase)|secret|token|credential|jaas|user[._-]?info"
    r"|(^|[._-])(private|account|master|customer|encryption|keystore|api|sas|auth|shared)[._-]?key"
    r"|(^|[._-])(sas|pwd|pem)($|[._-])",
    re.IGNORECASE,
)
_NO_SECRET: Final = re.compile(
    r"[._-](provider|type|file|location|path|url|uri|endpoint|id|enabled|class|name)$", re.IGNORECASE
)
_USER: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*:)?//(?P<user>[^/@\s:?#\"'<>]*)(?P<rest>:[^\s\"'<>]*)?@")
_PORT: Final = re.compile(r":\d+(/|\?|#)")
_PAIR: Final = re.compile(
    r"(?P<name>[A-Za-z0-9._%-]+)(?P<sign>\s*=\s*)(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s&;,#\"']+)"
)
_PAIR_NAME: Final = re.compile(
    r"^(x-(amz|goog|ms)-)?(sig|signature|security-token|credential|sas|auth|authorization|pwd|pass|key|code|api_?key|access_?key"
    r"|awsaccesskeyid|googleaccessid)$",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(r"\$\{(secret|var):[A-Za-z_][A-Za-z0-9_]*\}")


def is_secret_name(name: str) -> bool:
    """Whether a setting of that name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def masked(text: str) -> str:
    """The text with what looks like credentials replaced by `***`."""
    if "=" in text:
        text = _PAIR.sub(_without_value, text)
    return _USER.sub(_without_user, text) if "@" in text and "//" in text else text


def _without_value(found: re.Match[str]) -> str:
    name = re.sub(r"%2[dD]", "-", found["name"])
    if not (_PAIR_NAME.match(name) or is_secret_name(name)) or _REFERENCE.fullmatch(found["value"].strip("\"'")):
        return found[0]
    return f"{found['name']}{found['sign']}{MASK}"


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
