"""Names that say that what they name may be secret: of settings, of parameters of addresses, of entries within texts."""

import re
from typing import Final

from reconciler.base.patterns import lazy_pattern

# Where a word begins: also in `storageAccountKey` and `AWSAccessKey`.
_WORD: Final = r"(?:^|[._-]|(?-i:(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])))"
_SECRET_NAME: Final = lazy_pattern(
    r"pass(word|wd|phrase|code)|pass[._-](word|phrase|code)|secret|token|credential|assertion|authorization|jaas|user[._-]?info"
    rf"|{_WORD}(private|account|master|customer|encryption|keystore|api|sas|auth|shared|access)[._-]?key(?![._-]?name)"
    rf"|shared[._-]?access[._-]?(key|signature)(?![._-]?name)|{_WORD}pwd?($|[._-])"
    r"|(^|[._-])(db|database|user|login|admin|root|smtp|ftp|proxy)[._-]?pass$"
    r"|(^|[._-])(sas|pem|certificate|header|headers|cookie)($|[._-])",
    re.IGNORECASE,
)
_NO_SECRET: Final = lazy_pattern(
    r"[._-](provider|type|file|location|path|url|uri|endpoint|id|enabled|class|name)$", re.IGNORECASE
)
_PAIR_NAME: Final = lazy_pattern(
    r"^(x-(amz|goog|ms)-)?(sig|signature|security-token|credential|sas|auth|authorization|pwd|pass|key|code|api_?key|access_?key"
    r"|awsaccesskeyid|googleaccessid)$",
    re.IGNORECASE,
)

_OF_ONE: Final = lazy_pattern(
    r"(password|passwd|pass[._-]?(?:phrase|code)|pass[._-]word|pwd?|pass|secret|token|key|signature|credentials?|authorization)"
    r"([._-]?(value|plain|text|old|new|default|v?[0-9]+))?$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a setting of that name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None and _NO_SECRET.search(name) is None


def names_one_secret(name: str) -> bool:
    """Whether what has that name is likely to be a secret itself: no list of some, nothing about one (`token_columns`)."""
    return is_secret_name(name) and _OF_ONE.search(name) is not None


def names_a_secret_parameter(name: str) -> bool:
    name = re.sub(r"%2[dD]", "-", name)
    return _PAIR_NAME.match(name) is not None or is_secret_name(name)


def names_a_secret_of_an_entry(name: str) -> bool:
    # `key: x` and `code: x` are words of many messages.
    return is_secret_name(name) or (_PAIR_NAME.match(name) is not None and name.lower() not in ("key", "code"))
