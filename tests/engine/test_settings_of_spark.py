"""Every setting that this Spark and this Delta define, against what is known of them: the net for the next version.

Whatever a pipeline may set must not look as if it named code or a place. What does and is harmless all the same is listed
here, with what its value is.
"""

import re
from typing import Any

import pytest

from reconciler.connectors.code_options import names_code
from reconciler.engine.protocol import Engine, Selection
from reconciler.project.manifest.known_spark_settings import HARMLESS, NEUTRAL, is_harmless, is_neutral

_SUSPICIOUS = re.compile(
    r"class|impl($|\.)|provider|listener|extension|plugin|serializer|committer|factory|manager|filters|jar|maven|ivy|"
    r"path|dir($|\.)|file($|\.)|location|catalog|warehouse|host|server|ur[li]|proxy|port($|\.)|python$|module|command|exec$|"
    r"options|env|credential|password|secret|token|user|redaction",
    re.IGNORECASE,
)
_LOOKED_AT = {
    "spark.kryoserializer.buffer": "a size",
    "spark.kryoserializer.buffer.max": "a size",
    "spark.shuffle.file.buffer": "a size",
    "spark.shuffle.spill.numElementsForceSpillThreshold": "a number",
    "spark.sql.codegen.factoryMode": "one of three words",
    "spark.sql.codegen.useIdInClassName": "true or false",
    "spark.sql.orc.impl": "native or hive",
    "spark.sql.session.timeZone": "a time zone",
}


@pytest.mark.spark
def test_no_setting_that_a_pipeline_may_set_names_code_or_a_place(spark_engine: Engine) -> None:
    defined = _defined(spark_engine)
    assert len(defined) > 1000
    found = {
        name: value
        for name, value in defined.items()
        if is_harmless(name) and name not in _LOOKED_AT and _names_something(name, value)
    }
    assert found == {}


@pytest.mark.spark
def test_no_option_of_kafka_s_client_that_names_a_class_is_taken(spark_engine: Engine) -> None:
    from py4j.java_gateway import get_field

    jvm = _jvm(spark_engine)
    clients = jvm.org.apache.kafka.clients
    definitions = (
        clients.consumer.ConsumerConfig.configDef(),
        clients.producer.ProducerConfig.configDef(),
        clients.admin.AdminClientConfig.configDef(),
    )
    keys = {str(name): one.configKeys().get(name) for one in definitions for name in one.names()}
    naming = {
        name
        for name, key in keys.items()
        if (kind := str(get_field(key, "type"))) == "CLASS"
        or (kind == "LIST" and "class" in str(get_field(key, "documentation")).lower())
    }
    assert len(naming) > 10
    assert {name for name in naming if not names_code(name)} == set()


def _names_something(name: str, value: str) -> bool:
    """Whether a setting seems to name code or a place, by its name or default; switches and numbers name none."""
    if value in ("true", "false") or value.replace(".", "").isdigit():
        return False
    return bool(_SUSPICIOUS.search(name.removeprefix("spark.")) or re.match(r"(org|io|com)\.\w+\.", value) or "/" in value)


@pytest.mark.spark
def test_every_exact_name_on_the_lists_is_one_that_spark_knows(spark_engine: Engine) -> None:
    defined = _defined(spark_engine)
    unknown = {
        name
        for family in (*NEUTRAL, *HARMLESS)
        for name in family.names
        if not (any(one.startswith(name[:-1]) for one in defined) if name.endswith("*") else name in defined)
    }
    # Read by parts of Spark that define no entry for them, or known to other versions of Spark 4.
    assert unknown - _WITHOUT_ENTRY == set()
    assert not any(is_neutral(name) and "gnore" in name for name in defined)


_WITHOUT_ENTRY = {"spark.shuffle.io.maxRetries", "spark.shuffle.io.retryWait", "spark.sql.session.collation.*"}


def _defined(engine: Engine) -> dict[str, str]:
    """The settings with their defaults, of Spark's core, SQL and Delta."""
    jvm = _jvm(engine)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in ("internal.StaticSQLConf$", "delta.sources.DeltaSQLConf$"):
        jvm.java.lang.Class.forName(f"org.apache.spark.sql.{name}", True, loader)
    entries = jvm.java.lang.Class.forName("org.apache.spark.internal.config.ConfigEntry$", True, loader)
    known = entries.getDeclaredField("knownConfigs")
    known.setAccessible(True)
    is_static = jvm.java.lang.reflect.Modifier.isStatic(known.getModifiers())
    found = known.get(None if is_static else entries.getField("MODULE$").get(None))
    return {str(one.key()): str(one.defaultValueString()) for one in found.values()}


def _jvm(engine: Engine) -> Any:
    from pyspark.sql import SparkSession

    engine.select(Selection("SELECT 1", (), {}))
    session = SparkSession.getActiveSession()
    assert session is not None
    return session._jvm
