"""What an environment says to Spark may be secret: no value that is not known to be plain stands in a registry, and none is
shown, however old its record is."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.apply.applying import apply_pipeline
from reconciler.apply.wanted import Desired, Wanted
from reconciler.environment.session import Session
from reconciler.environment.source import files_of
from reconciler.project.snapshot.model import take_snapshot
from reconciler.service.project import Project
from reconciler.state.applied import AppliedState
from reconciler.testing.recording import RecordingEngine
from reconciler.workspace.desired import compile_desired
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter
from tests.registry.stored_text import stored_text

PROGRAM = """\
CREATE TABLE t (id BIGINT, b STRING);
CREATE MATERIALIZED VIEW v AS SELECT id FROM t;
CREATE MATERIALIZED VIEW w AS SELECT COUNT(*) AS n FROM v;
"""
SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": "hunter01",
    "spark.hadoop.fs.s3a.bucket.lake.secret.key": "hunter02",
    "spark.hadoop.fs.azure.account.key.acct.dfs.core.windows.net": "hunter03",
    "spark.ssl.keyPassword": "hunter04",
    "spark.ssl.keyStorePassword": "hunter05",
    "spark.executorEnv.DB_PW": "hunter06",
    "spark.driver.extraJavaOptions": "-Dpw=hunter07 -Djavax.net.ssl.keyStorePassword=hunter08 -Dspring=hunter09",
    "spark.hadoop.fs.s3a.server-side-encryption.key": "hunter10",
    "spark.hadoop.fs.s3a.encryption.key": "hunter11",
    "spark.hadoop.fs.s3a.endpoint": "https://hunter12:hunter13@minio:9000",
    "spark.hadoop.fs.gs.auth.service.account.private.key.id": "hunter14",
    "spark.hadoop.fs.gs.auth.refresh.token": "hunter15",
    "spark.hadoop.google.cloud.auth.service.account.private.key": "hunter16",
    "spark.sql.catalog.x.s3.access-key-id": "hunter17",
    "spark.kubernetes.driverEnv.DBPASS": "hunter18",
    "spark.appMasterEnv.K": "hunter19",
    "spark.yarn.appMasterEnv.API": "hunter20",
    "spark.hadoop.fs.ftp.password.host": "hunter21",
    "spark.jars": "https://hunter22@repo/x.jar,https://repo/x.jar?sig=hunter23",
    "spark.jars.repositories": "https://u:hunter24@repo/",
    "spark.master": "spark://hunter25@host:7077",
    "spark.hadoop.fs.azure.sas.c.a": "sv=2020&sig=hunter26",
    "spark.hadoop.dfs.adls.oauth2.credential": "hunter27",
    "spark.hadoop.fs.obs.ak": "hunter28",
    "spark.hadoop.fs.cosn.userinfo.secretId": "hunter29",
    "spark.hadoop.fs.oss.accessKeySecret": "hunter30",
    "spark.eventLog.dir": "s3a://hunter31:hunter32@bucket/log",
    "spark.hadoop.fs.azure.account.oauth2.client.secret": "hunter33",
    "spark.sql.legacy.password": "hunter34",
    "spark.sql.legacy.nobodyKnows": "jdbc:x?user=hunter35",
    "spark.nobody.knows.it": "hunter36",
    "spark.shuffle.spill.token": "hunter37",
    "spark.hadoop.fs.s3a.delegation.token.binding": "org.hunter38.Binding",
    "spark.hadoop.fs.s3a.assumed.role.credentials.provider": "org.hunter39.Provider",
    "spark.kubernetes.driver.secrets.mount": "/etc/hunter40",
    "spark.kubernetes.executor.secretKeyRef.API": "name:hunter41",
    "spark.yarn.appMasterEnv.X_SECRET": "hunter42",
    "spark.executorEnv.MY_TOKEN": "hunter43",
    "spark.hadoop.nobody.knows.secret.key": "hunter44",
    "spark.kubernetes.kerberos.tokenSecret.name": "hunter45",
    "spark.hadoop.fs.s3a.bucket.b.secret.key": "hunter46",
}
SEEN_TO_CHANGE = {
    "spark.appMasterEnv.K",
    "spark.driver.extraJavaOptions",
    "spark.eventLog.dir",
    "spark.executorEnv.MY_TOKEN",
    "spark.hadoop.fs.obs.ak",
    "spark.hadoop.fs.s3a.assumed.role.credentials.provider",
    "spark.hadoop.fs.s3a.delegation.token.binding",
    "spark.hadoop.fs.s3a.endpoint",
    "spark.hadoop.nobody.knows.secret.key",
    "spark.jars",
    "spark.jars.repositories",
    "spark.kubernetes.driver.secrets.mount",
    "spark.kubernetes.driverEnv.DBPASS",
    "spark.kubernetes.executor.secretKeyRef.API",
    "spark.kubernetes.kerberos.tokenSecret.name",
    "spark.master",
    "spark.nobody.knows.it",
    "spark.sql.legacy.nobodyKnows",
    "spark.yarn.appMasterEnv.API",
    "spark.yarn.appMasterEnv.X_SECRET",
}
"""All but credentials, which say who asks and not what is there."""
PLAIN = {
    "spark.sql.session.timeZone": "Europe/Rome",
    "spark.executor.memory": "7g",
    "spark.hadoop.fs.s3a.path.style.access": "true",
}
PLANTED = re.compile("hunter[0-9]+")


class Shop(CommandLine):
    """Its command line."""

    def environment(self, **spark: str) -> None:
        environments = {"dev": {"warehouse": "../warehouse", "spark": spark}}
        (self.root / "reconcile.yaml").write_text(json.dumps({"environments": environments}))

    def shown(self) -> str:
        """Everything that the read-only commands show."""
        versions = ["v0"] if "v1" not in self("versions", "list", "shop.v") else ["v0", "v1"]
        commands = [
            ("history", "shop"),
            ("history", "shop", "--at", "2130-01-01"),
            ("status", "shop"),
            ("events", "shop"),
            ("explain", "shop", "v"),
            *(("versions", "show", f"shop.v@{one}") for one in versions),
            *([("versions", "diff", "shop.v@v0", "v1")] if len(versions) > 1 else []),
        ]
        return "\n".join(self(*words, "--format", form) for words in commands for form in ("text", "json"))


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "cache"))
    found = Shop(tmp_path / "repository", capsys)
    write_shop(found.root, PROGRAM)
    return found


def test_no_value_that_may_be_secret_is_recorded_or_shown(shop: Shop) -> None:
    said = ""
    shop.environment(**PLAIN)
    said += shop("apply", "shop")
    shop.environment(**PLAIN, **SECRETS)
    said += "".join(shop("plan", "shop", "--format", form) for form in ("text", "json", "markdown"))
    said += shop("apply", "shop") + shop.shown()
    shop.environment(**{name: text.replace("hunter", "Hunter") for name, text in (PLAIN | SECRETS).items()})
    said += shop("plan", "shop") + shop("apply", "shop")
    shop.environment(**PLAIN)
    said += shop.shown() + shop("plan", "shop") + shop("apply", "shop") + shop.shown()

    assert not re.findall("hunter[0-9]+", said, re.IGNORECASE)
    assert not re.findall("hunter[0-9]+", stored_text(shop.root.parent / "warehouse"), re.IGNORECASE)
    for text in PLAIN.values():
        assert text in shop("history", "shop", "--at", "2130-01-01")


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_each_is_seen_to_change_unless_it_is_a_credential(shop: Shop, name: str) -> None:
    shop.environment(**{name: SECRETS[name]})
    shop("apply", "shop")
    assert "no changes" in shop("plan", "shop")
    shop.environment(**{name: SECRETS[name].replace("hunter", "Hunter")})
    said = shop("plan", "shop")
    assert (name in said) is (name in SEEN_TO_CHANGE)
    assert not PLANTED.findall(said.lower())


def apply_in_the_older_form(shop: Shop, spark: dict[str, str]) -> None:
    """Apply as it was done when values were recorded in clear."""
    shop.environment(**spark)
    target = Project.open(shop.root).target

    def desired(applied: AppliedState) -> Desired:
        snapshot = compile_desired(target, "shop", files_of(shop.root, "shop"), applied=applied.snapshot)
        assert snapshot is not None
        settings = replace(snapshot.program.settings, environment=dict(sorted(spark.items())), sealed={})
        return Desired(take_snapshot(replace(snapshot.program, settings=settings)), lambda: "")

    apply_pipeline(target, "shop", Session(RecordingEngine(DeltaWriter())), Wanted(desired))


def test_what_was_recorded_in_clear_is_not_shown_and_modifies_nothing(shop: Shop) -> None:
    apply_in_the_older_form(shop, PLAIN | SECRETS)
    assert "hunter01" in stored_text(shop.root.parent / "warehouse")
    said = shop.shown()
    said += (plan := shop("plan", "shop"))
    assert "modified" not in plan

    # The next apply replaces it.
    said += shop("apply", "shop") + shop.shown()
    target = Project.open(shop.root).target
    head = target.registry.head("shop")
    applied = None if head is None else head.value.applied
    assert applied is not None
    assert not PLANTED.findall(str(target.registry.snapshot("shop", applied.record or "")))
    assert "modified" not in shop("plan", "shop")

    write_shop(shop.root, PROGRAM.replace("SELECT id FROM t", "SELECT id + 1 AS id FROM t"))
    said += shop("plan", "shop") + shop("apply", "shop") + shop.shown()
    shop.environment(**PLAIN)
    said += shop("plan", "shop") + shop("apply", "shop") + shop.shown()
    assert not PLANTED.findall(said)
