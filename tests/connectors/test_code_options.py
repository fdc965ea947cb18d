"""Connectors that would make a client load code or run a command are refused; what clients need is not."""

from typing import Any

import pytest

from reconciler.base.places import OnePlace
from reconciler.connectors.catalogue import check_connector

_LOGIN = "org.apache.kafka.common.security."


def kafka(**options: Any) -> dict[str, Any]:
    config = {"topic": "t", "bootstrap.servers": "localhost:9092", **options}
    return {"transport": {"name": "kafka_input", "config": config}, "format": {"name": "json"}}


def files(**options: Any) -> dict[str, Any]:
    config = {"path": "s3://lake/in", **options}
    return {"transport": {"name": "file_input", "config": config}, "format": {"name": "json"}}


def database(uri: str) -> dict[str, Any]:
    return {"transport": {"name": "postgres_input", "config": {"uri": uri, "table": "t"}}}


def delta(**options: Any) -> dict[str, Any]:
    return {"transport": {"name": "delta_table_input", "config": {"uri": "/in", "mode": "snapshot", **options}}}


REFUSED = [
    kafka(**{"ssl.engine.factory.class": "org.evil.Engine"}),
    kafka(**{"sasl.login.callback.handler.class": "org.evil.Handler"}),
    kafka(**{"sasl.client.callback.handler.class": "org.evil.Handler"}),
    kafka(**{"sasl.login.class": "org.evil.Login"}),
    kafka(**{"sasl.kerberos.kinit.cmd": "/bin/evil"}),
    kafka(**{"metric.reporters": "org.evil.Reporter"}),
    kafka(**{"security.providers": "org.evil.Provider"}),
    kafka(**{"config.providers": "env"}),
    kafka(**{"config.providers.env.class": "org.evil.Provider"}),
    kafka(**{"partition.assignment.strategy": "org.evil.Assignor"}),
    kafka(**{"sasl.jaas.config": 'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://evil";'}),
    kafka(**{"sasl.jaas.config": "'org.evil.Module' required;"}),
    kafka(**{"sasl.jaas.config": f'{_LOGIN}plain.PlainLoginModule required password="x"; org.evil.Module required;'}),
    kafka(**{"sasl.jaas.config": f"{_LOGIN}plain.PlainLoginModule required; / '\norg.evil.Module required; x='"}),
    kafka(**{"sasl.jaas.config": "org.evil.Module required password=${secret:X};"}),
    files(**{"fs.s3a.impl": "org.evil.Files"}),
    files(**{"fs.AbstractFileSystem.s3a.impl": "org.evil.Files"}),
    files(**{"fs.s3a.aws.credentials.provider": "org.evil.Provider"}),
    files(**{"fs.s3a.bucket.lake.aws.credentials.provider": "org.evil.Provider"}),
    files(
        **{"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider,org.evil.Provider"}
    ),
    files(**{"fs.s3a.custom.signers": "evil:org.evil.Signer"}),
    files(**{"fs.s3a.s3.client.factory.impl": "org.evil.Factory"}),
    files(**{"fs.s3a.proxy.host": "evil"}),
    files(**{"fs.s3a.security.credential.provider.path": "jceks://file/etc/x"}),
    # Of the bucket `x.retry` these are options that name a class, a proxy, a folder.
    files(**{"fs.s3a.bucket.x.retry.aws.credentials.provider": "org.evil.Provider"}),
    files(**{"fs.s3a.bucket.x.connection.delegation.token.binding": "org.evil.Binding"}),
    files(**{"fs.s3a.bucket.x.create.custom.signers": "evil:org.evil.Signer"}),
    files(**{"fs.s3a.bucket.x.retry.proxy.host": "evil"}),
    files(**{"fs.s3a.bucket.x.socket.buffer.dir": "/etc"}),
    files(**{"fs.azure.account.oauth.provider.type": "org.evil.Provider"}),
    files(**{"fs.nobody.knows": "x"}),
    database("postgresql://u@h/db?socketFactory=org.evil.Factory"),
    database("postgresql://u:${secret:P}[@h/db?socketFactory=org.evil.Factory"),
    database("postgresql://u:#@h/db?socketFactory=org.evil.Factory"),
    database("postgresql://h:nonsense/db#?socketFactory=org.evil.Factory"),
    database("postgresql://u@h/db?sslmode=require&socketFactoryArg=x"),
    database("postgresql://u@h/db?%73slfactory=org.evil.Factory"),
    database("postgresql://u@h/db?loggerFile=/home/x/.bashrc"),
    database("postgresql://u@h/db?authenticationPluginClassName=org.evil.Plugin"),
    database("postgresql://u@h/db?sslpasswordcallback="),
    delta(filter="reflect('java.lang.System', 'getenv', 'X') = 'x'"),
    delta(snapshot_filter="a IN (SELECT * FROM csv.`/etc/passwd`)"),
]
TAKEN = [
    kafka(**{"group.id": "g", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "client.rack": "a"}),
    kafka(**{"sasl.jaas.config": "${secret:KAFKA_LOGIN}"}),
    kafka(**{"sasl.jaas.config": f'{_LOGIN}scram.ScramLoginModule required username="a;b" password="${{secret:P}}";'}),
    kafka(**{"ssl.truststore.location": "/etc/ca.pem", "ssl.truststore.type": "PEM"}),
    files(**{"fs.s3a.endpoint": "http://minio:9000", "fs.s3a.path.style.access": True, "fs.s3a.connection.timeout": 5}),
    files(**{"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}),
    files(**{"fs.s3a.bucket.b.secret.key": "${secret:KEY}", "fs.s3a.bucket.b.access.key": "${secret:NAME}"}),
    files(**{"fs.s3a.bucket.My_lake.2.secret.key": "${secret:KEY}", "fs.s3a.bucket.b-c.endpoint": "http://minio:9000"}),
    files(**{"fs.s3a.create.storage.class": "standard_ia", "fs.s3a.bucket.a.b.connection.ssl.enabled": False}),
    files(**{"fs.azure.account.key.lake.dfs.core.windows.net": "${secret:KEY}"}),
    database("postgresql://u@h:5432/db?sslmode=verify-full&connect_timeout=3&${secret:MORE}"),
    delta(filter="a > 1 AND b = 'reflect(x)'"),
]


@pytest.mark.parametrize("settings", REFUSED, ids=str)
def test_code_is_refused(settings: dict[str, Any]) -> None:
    assert "M132" in {one.code for one in check_connector(settings, OnePlace(None))}


@pytest.mark.parametrize("settings", TAKEN, ids=str)
def test_what_is_needed_is_taken(settings: dict[str, Any]) -> None:
    assert [one for one in check_connector(settings, OnePlace(None)) if one.code != "C412"] == []
