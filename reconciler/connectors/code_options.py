"""What a connector must not say, because the client that it is handed to would load code for it, or run a command.

Clients have options that name a class, a file to write or a command. Whoever writes a connector writes a pull request, and
that must not choose what a driver loads (M132). Each client is judged by what is known of it:

- Kafka's: refused is what names a class or a command. Login modules are Kafka's own, or Java's for Kerberos.
- Hadoop's file systems: taken is what is known to name neither class nor file (`_STORE_OPTIONS`).
- PostgreSQL's driver: taken of an address are the options that are known to name neither (`_DATABASE_OPTIONS`).
- Conditions on the rows of a Delta table are SQL, under the rules of queries (`sql.forbidden`).

A value that is a secret as a whole comes from whoever runs the pipeline, and is not looked at.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.places import Path, Places
from reconciler.connectors.database_addresses import split_address
from reconciler.sql.forbidden import forbidden

_CODE: Final = "M132"
_CONFIG: Final[Path] = ("transport", "config")
_LEAVE: Final = "remove it; if Spark needs it, set it under environments.<name>.spark in reconcile.yaml"

_OF_KAFKA: Final = re.compile(
    r"\.(class|classes|cmd|reporters|providers|deserializer|serializer|interceptors)$|\.class\.|^config\.providers"
    r"|^(partition\.assignment\.strategy|send\.url|group\.remote\.assignor\.class)$"
)
_LOGIN: Final = "sasl.jaas.config"
_MODULES: Final = frozenset(
    {
        "com.sun.security.auth.module.Krb5LoginModule",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
        "org.apache.kafka.common.security.plain.PlainLoginModule",
        "org.apache.kafka.common.security.scram.ScramLoginModule",
    }
)
_QUOTED: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'")
_SECRET: Final = re.compile(r"\$\{secret:[A-Za-z_][A-Za-z0-9_]*\}")

_STORE_OPTIONS: Final = (
    re.compile(
        r"fs\.s3a\.(bucket\.[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.)?("
        r"access\.key|secret\.key|session\.token|endpoint|endpoint\.region|path\.style\.access|attempts\.maximum|block\.size"
        r"|connection\.[a-z.]+|create\.[a-z.]+|encryption\.(algorithm|key)|experimental\.[a-z.]+|fast\.upload\.[a-z.]+"
        r"|list\.version|multipart\.[a-z.]+|multiobjectdelete\.enable|paging\.maximum|readahead\.range|requester\.pays\.enabled"
        r"|retry\.[a-z.]+|socket\.[a-z.]+|threads\.[a-z]+|vectored\.[a-z.]+|acl\.default|change\.detection\.[a-z.]+"
        r"|assumed\.role\.(arn|session\.name|session\.duration|sts\.endpoint|sts\.endpoint\.region))"
    ),
    re.compile(
        r"fs\.azure\.(account\.(key|auth\.type|hns\.enabled|oauth2\.(client\.(id|secret|endpoint)|msi\.(tenant|endpoint)))"
        r"|sas(\.fixed\.token)?)(\.[A-Za-z0-9.-]+)?"
    ),
    re.compile(r"fs\.gs\.(project\.id|auth\.type|auth\.service\.account\.(enable|email|private\.key|private\.key\.id))"),
)
# Where a bucket's name has dots, what stands behind it may be read as another option than what is taken here.
_OF_CODE: Final = re.compile(
    r"provider|signer|binding|factory|impl|interceptor|classname|class\.name|keyring|audit|delegation|proxy|\.dir(\.|$)"
)
_PROVIDERS: Final[Mapping[str, re.Pattern[str]]] = {
    "fs.s3a.aws.credentials.provider": re.compile(
        r"org\.apache\.hadoop\.fs\.s3a\.(AnonymousAWSCredentialsProvider|SimpleAWSCredentialsProvider"
        r"|TemporaryAWSCredentialsProvider|auth\.(IAMInstanceCredentialsProvider|AssumedRoleCredentialProvider))"
    ),
    "fs.azure.account.oauth.provider.type": re.compile(
        r"org\.apache\.hadoop\.fs\.azurebfs\.oauth2\.(ClientCredsTokenProvider|MsiTokenProvider|UserPasswordTokenProvider"
        r"|RefreshTokenBasedTokenProvider|WorkloadIdentityTokenProvider)"
    ),
}
_DATABASE_OPTIONS: Final = frozenset(
    {
        "ApplicationName",
        "application_name",
        "connectTimeout",
        "connect_timeout",
        "currentSchema",
        "gssEncMode",
        "loginTimeout",
        "options",
        "prepareThreshold",
        "readOnly",
        "socketTimeout",
        "sslmode",
        "sslnegotiation",
        "sslrootcert",
        "targetServerType",
        "tcpKeepAlive",
        "tcpNoDelay",
    }
)


def code_problems(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    """A diagnostic for each thing in a connector's settings that would load code or run a command. They need not fit the
    schema."""
    transport = settings.get("transport")
    config = transport.get("config") if isinstance(transport, Mapping) else None
    if not isinstance(transport, Mapping) or not isinstance(config, Mapping):
        return ()
    found: list[Diagnostic] = []
    for name, value in sorted((str(name), value) for name, value in config.items()):
        path = (*_CONFIG, name)
        for message, hint in _problems(str(transport.get("name")), name, value):
            found.append(Diagnostic(_CODE, message, places.of_key(path), hint))
    return tuple(found)


def names_code(option: str) -> bool:
    """Whether an option of Kafka's client names a class or a command."""
    return _OF_KAFKA.search(option) is not None


def _problems(transport: str, name: str, value: Any) -> Iterator[tuple[str, str]]:
    if transport.startswith("kafka_") and "." in name:
        if name == _LOGIN:
            yield from _login_problems(str(value))
        elif names_code(name):
            yield f"{name} names code or a command that the driver would load", _LEAVE
    elif name.startswith("fs."):
        yield from _store_problems(name, str(value))
    elif transport == "postgres_input" and name == "uri":
        yield from _database_problems(str(value))
    elif name in ("filter", "snapshot_filter") and isinstance(value, str):
        for problem in forbidden(value, paths=True):
            yield f"{name}: {problem.message}", problem.hint or _LEAVE


def _login_problems(text: str) -> Iterator[tuple[str, str]]:
    """A configuration of Java's logins: `module flag option=value …;`, perhaps more than one."""
    if _SECRET.fullmatch(text.strip()):
        return
    bare = _QUOTED.sub("''", text)
    # A comment, which one sign begins, would hide a module from this reading.
    entries = [entry.split() for entry in bare.split(";")]
    modules = [entry[0] for entry in entries if entry]
    if "/" in bare or '"' in bare or any(module not in _MODULES for module in modules):
        shown = ", ".join(sorted(module.rpartition(".")[2] for module in _MODULES))
        yield f"{_LOGIN} names a login module that is not one of {shown}", "use one of these, by its full name"


def _store_problems(name: str, value: str) -> Iterator[tuple[str, str]]:
    for option, known in _PROVIDERS.items():
        if name == option or name.startswith(f"{option}."):
            if not all(known.fullmatch(part.strip()) for part in value.split(",")):
                yield f"{name} names a class that is not one of Hadoop's own", _LEAVE
            return
    is_known = any(known.fullmatch(name) for known in _STORE_OPTIONS)
    if not is_known or (name.startswith("fs.s3a.") and _OF_CODE.search(name)):
        yield f"{name} may name code or a file", _LEAVE


def _database_problems(address: str) -> Iterator[tuple[str, str]]:
    query = split_address(address).query
    for name in sorted({name for name, _ in parse_qsl(_SECRET.sub("", query), keep_blank_values=True)}):
        if name not in _DATABASE_OPTIONS:
            yield f"uri: the option {name} may name code or a file", _LEAVE
