"""Which settings let queries be compared by their canonical texts, and which by what is written alone.

`spark_sql_settings.txt` holds every setting that Spark SQL 4.2 defines, of `SET -v` and internal ones, with its default, but
for addresses of package registries.
"""

import re
from pathlib import Path

import pytest

from reconciler.base.declarations import Settings
from reconciler.project.manifest.reading_settings import BY_ITSELF, LEAVING_READING_ALONE, leaves_reading_alone
from reconciler.project.program.settings import are_read_plainly, comparable_value, recorded_environment, sealed_environment

DEFINED = dict(
    line.split("\t", 1)
    for line in (Path(__file__).parent / "spark_sql_settings.txt").read_text(encoding="utf-8").splitlines()
)
# How names begin, or what stands in them, of whatever has to do with texts, names and their analysis.
_READING = re.compile(
    r"spark\.sql\.(parser|ansi|legacy|analyzer|function|functionResolution|lateralColumnAlias|stableDerivedColumnAlias|tvf|"
    r"view|variant|collation|groupBy|orderBy|caseSensitive|timestampType|timeType|charAsVarchar|readSideCharPadding|icu|"
    r"decimalOperations|crossJoin|operatorPipe|allowNamed|retainGroupColumns|selfJoinAuto|useCommonExpr|runSQLOnFiles|types|"
    r"scripting|session\.collation|path|defaultCatalog|catalog|extensions|hive|pivot|transpose|storeAssignment|geospatial|"
    r"preserveCharVarchar|enforceTypeCoercion|runCollation|prioritizeOrdinal|mergeNestedTypeCoercion|defaultColumn|listagg)"
    r"|[lL]egacy"
)
_ALONE = re.compile(
    r"spark\.sql\.(adaptive|avro|bucketing|cbo|codegen|csv|execution|exchange|files|inMemoryColumnarStorage|join|json|"
    r"jsonGenerator|limit|optimizer|orc|parquet|planner|shuffle|statistics|streaming|subexpressionElimination|ui|window|xml)\."
)


def test_all_of_spark_s_settings_are_there() -> None:
    assert len(DEFINED) > 750


def test_a_setting_that_may_touch_how_queries_are_read_does_not_leave_it_alone() -> None:
    touching = {name for name in DEFINED if _READING.match(name) or re.search("[lL]egacy", name)}
    assert len(touching) > 200
    assert {name for name in touching if leaves_reading_alone(name, "another value")} == {"spark.sql.ansi.enabled"}


def test_what_is_carried_out_after_reading_leaves_it_alone() -> None:
    others = {name for name in DEFINED if _ALONE.match(name) and not re.search("[lL]egacy", name)}
    assert len(others) > 300
    assert {name for name in others if not leaves_reading_alone(name, "another value")} == set()


def test_what_nobody_knows_does_not_leave_reading_alone() -> None:
    for name in ("spark.sql.parser.tomorrow", "spark.nobody.knows.it", "spark.sql.ANSI.enabled", "mine"):
        assert not leaves_reading_alone(name, "true")


def test_the_values_that_spark_gives_by_itself_are_spark_s() -> None:
    assert {name: comparable_value(name, DEFINED[name]) for name in BY_ITSELF} == dict(BY_ITSELF)
    assert all(leaves_reading_alone(name, value) for name, value in BY_ITSELF.items())
    # Else there would be no need to know it.
    assert not any(leaves_reading_alone(name, "another value") for name in BY_ITSELF)


def test_every_family_names_what_there_is_and_says_why() -> None:
    for family in LEAVING_READING_ALONE:
        assert family.why.startswith("they ")
        for name in family.names:
            if name.startswith("spark.sql."):
                assert any(one.startswith(name[:-1]) if name.endswith("*") else one == name for one in DEFINED), name


@pytest.mark.parametrize(
    ("spark", "environment", "plainly"),
    [
        ({}, None, True),
        ({}, {}, True),
        ({"spark.sql.shuffle.partitions": "3", "spark.sql.session.timeZone": "Europe/Berlin"}, {}, True),
        ({"spark.sql.ansi.enabled": "false"}, {"spark.jars.packages": "a:b:1", "spark.hadoop.x": "y"}, True),
        ({"spark.sql.ansi.doubleQuotedIdentifiers": " False "}, {}, True),
        ({"spark.sql.ansi.doubleQuotedIdentifiers": "TRUE"}, {}, False),
        ({}, {"spark.sql.legacy.setopsPrecedence.enabled": "true"}, False),
        ({}, {"spark.sql.extensions": "com.example.Extension"}, False),
        ({"spark.sql.caseSensitive": "false"}, {"spark.sql.caseSensitive": "true"}, True),
        ({"spark.sql.stableDerivedColumnAlias.enabled": "true"}, None, False),
        ({"spark.sql.tomorrow": "1"}, None, False),
    ],
)
def test_a_program_is_read_plainly_where_nothing_that_holds_may_say_otherwise(
    spark: dict[str, str], environment: dict[str, str] | None, plainly: bool
) -> None:
    assert are_read_plainly(Settings("shop", spark=spark, environment=environment)) is plainly


@pytest.mark.parametrize(
    ("spark", "environment", "plainly"),
    [
        ({}, {"spark.sql.extensions": "com.example.Extension"}, False),
        ({}, {"spark.sql.catalog.spark_catalog": "com.example.Catalog"}, False),
        ({}, {"spark.nobody.knows.it": "some value"}, False),
        ({}, {"spark.hadoop.fs.s3a.endpoint": "http://localhost:9000", "spark.jars": "/jars/a.jar"}, True),
        ({}, {"spark.sql.session.timeZone": "me@home"}, True),
        ({"spark.sql.timestampType": "TIMESTAMP_LTZ"}, {"spark.sql.timestampType": "me@home"}, True),
    ],
)
def test_a_value_of_which_only_the_seal_is_recorded_has_a_say_as_well(
    spark: dict[str, str], environment: dict[str, str], plainly: bool
) -> None:
    sealed = sealed_environment(environment)
    assert set(sealed) == set(environment), "each of these may be secret"
    settings = Settings("shop", spark=spark, environment=recorded_environment(environment), sealed=sealed)
    assert are_read_plainly(settings) is plainly
