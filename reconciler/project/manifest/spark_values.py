"""What may be recorded and shown of the value of a setting of Spark. What is not known to be plain may be secret.

- Plain: the setting is on a list of what is known (`known_spark_settings`), and its value looks like no credential and holds
  no user, no query of an address (`spark.master` may well name a user). So are `true` and `false` of any setting, which hide
  nothing. It is recorded as it is.
- A credential: known by its whole name, or called a password. It says who asks, not what is there, so it decides no result.
  Nothing of it is recorded.
- All else is unknown, and unknown means that it matters: a change has to be seen, and the value that a process starts with
  has to be the one that was applied. Recorded is that it is set, and its seal. So it is where a name speaks of a secret or a
  token without being known: it may name a class (`delegation.token.binding`), a mount (`kubernetes.driver.secrets.x`), a
  reference (`secretKeyRef`), or be a variable of an environment that somebody's code reads. Such a value is hidden as a
  credential is wherever it is shown or said.

A seal is a slow digest (scrypt) of name and value. From equal values come equal seals, on any machine: so the files of a
pull request are compared with what is applied, without a key that all who plan would have to share. Whoever reads a registry
can only guess values, and each guess costs a twentieth of a second and 16 MB, anew for each setting, since its name is the
salt. That is enough for what services give out (keys, signatures, tokens: 100 bits and more) and for long passwords that
people make up. For short ones nothing is enough that can be compared, which is why what is called a password is not sealed.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.redaction import MASK, masked
from reconciler.project.manifest.known_spark_settings import CREDENTIALS, is_harmless, is_neutral

_SECRET_NAME: Final = lazy_pattern(
    r"passw|passphrase|secret|token|credential|signature|(^|[._-])(sas|sig|pwd|pw)($|[._-])"
    r"|(private|account|master|customer|encryption|api|shared|access)[._-]?key($|[._-])",
    re.IGNORECASE,
)
_NAMES_WHAT_IS_RUN: Final = lazy_pattern(
    r"provider|class|impl|command|script|factory|plugin|options|path|file|dir|location|ur[il]|endpoint|host|type|enabled"
    r"|binding|alias|secretKeyRef|pullSecrets|\.secrets\.",
    re.IGNORECASE,
)
_PASSWORD: Final = lazy_pattern(r"(passw(or)?d|passphrase|(^|[._-])(pwd|pw))$", re.IGNORECASE)
_KNOWN_CREDENTIAL: Final = lazy_pattern(
    r"spark\.hadoop\.fs\.s3a\.(bucket\..+\.)?(access\.key|secret\.key|session\.token|session\.key|encryption\.key"
    r"|server-side-encryption\.key)"
    r"|spark\.hadoop\.fs\.s3n?\.aws(AccessKeyId|SecretAccessKey)"
    r"|spark\.hadoop\.fs\.azure\.account\.(key|oauth2\.(client\.secret|refresh\.token))(\..+)?"
    r"|spark\.hadoop\.fs\.azure\.sas(\.fixed\.token(\..+)?|\.(?!token\.|expiry\.)[A-Za-z0-9$-]+\.[A-Za-z0-9.-]+)"
    r"|spark\.hadoop\.(fs\.adl|dfs\.adls|dfs\.webhdfs)\.oauth2\.(credential|refresh\.token)"
    r"|spark\.hadoop\.(fs\.gs|google\.cloud)\.auth\.(client\.secret|refresh\.token|service\.account\.private\.key(\.id)?)"
    r"|spark\.hadoop\.fs\.oss\.(accessKeyId|accessKeySecret|securityToken)"
    r"|spark\.hadoop\.fs\.cosn\.userinfo\.(secretId|secretKey|sessionToken)"
    r"|spark\.hadoop\.fs\.obs\.(access\.key|secret\.key|session\.token)"
    r"|spark\.hadoop\.fs\.s?ftp\.password\..+"
    r"|spark\.sql\.catalog\.[^.]+\.(token|credential|(s3\.)?(access-key-id|secret-access-key|session-token))"
    r"|spark\.connect\.authenticate\.token"
)
_SEAL: Final = re.compile(r"sealed:[0-9a-f]{64}")
_LIKE_A_CREDENTIAL: Final = re.compile(r"[@?]")


def is_credential(name: str) -> bool:
    """Whether nothing of a setting is recorded: it says who asks."""
    if name in CREDENTIALS:
        return True
    return _KNOWN_CREDENTIAL.fullmatch(name) is not None or _PASSWORD.search(name) is not None


def may_be_credential(name: str) -> bool:
    """Whether a setting's value is kept out of all that is shown or said, be it recorded (as its seal) or not."""
    return is_credential(name) or (_SECRET_NAME.search(name) is not None and _NAMES_WHAT_IS_RUN.search(name) is None)


def is_plain(name: str, text: str) -> bool:
    """Whether a setting's value may be recorded and shown."""
    if is_credential(name):
        return False
    if text.strip().lower() in ("true", "false"):
        return True
    if may_be_credential(name):
        return False
    return (is_harmless(name) or is_neutral(name)) and masked(text) == text and not _LIKE_A_CREDENTIAL.search(text)


@lru_cache(maxsize=512)
def seal(name: str, text: str) -> str:
    """What is recorded of a value that may be secret. `text` in the one spelling in which it is compared."""
    salt = b"reconciler/spark-setting/v1\0" + name.encode("utf-8", "surrogatepass")
    value = text.encode("utf-8", "surrogatepass")
    return f"sealed:{hashlib.scrypt(value, salt=salt, n=2**14, r=8, p=1, maxmem=2**26, dklen=32).hex()}"


def shown_value(name: str, text: str) -> str:
    """A setting's value as it may be shown, whoever recorded it and when."""
    return text if is_plain(name, text) else MASK


def shown_values(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as they may be shown."""
    return {name: shown_value(name, text) for name, text in settings.items()}


def shown_decisive(settings: Mapping[str, str]) -> dict[str, str]:
    """What decides results, as a version of an object has it, fit to be shown: of what may be secret a few digits of its
    seal, so that a change is seen. Earlier versions recorded values, and credentials, too."""
    found = {}
    for name, text in settings.items():
        if is_plain(name, text) or not name.startswith("spark."):
            found[name] = text
        elif not is_credential(name):
            sealed = text if _SEAL.fullmatch(text) else seal(name, text)
            found[name] = f"{MASK} ({sealed.removeprefix('sealed:')[:8]})"
    return found


def shown_program_settings(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recorded program as they may be shown: of a sealed value that it is there, of a credential that an
    older version recorded nothing else."""
    return dict(_shown_parts(definition))


def _shown_parts(definition: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for part, value in definition.items():
        match part:
            case "spark" | "environment":
                yield part, shown_values(value)
            case "sealed":
                yield part, dict.fromkeys(value, MASK)
            case _:
                yield part, value
