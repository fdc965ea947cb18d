"""Spark settings that change what queries mean. They are part of a program's fingerprint; the others are metadata.

Every setting is meaning but those that are known to be neutral (`manifest.known_spark_settings`). So one that Spark does not
know, or whose effect nobody looked into, modifies views when it changes: a wrong "unchanged" would be worse than some work.

Values are compared as Spark reads them: surrounding blanks say nothing, nor does the letter case of `true` and `false` and
of words from a fixed list. A setting that says what holds without it, surely, is no setting (`DEFAULTS`).

What decides results besides is judged like a setting: the environment's settings, and the minor version of Spark. Python's
belongs to the functions that are written in it. Of an environment's value that may be secret only its seal is known here
(`manifest.spark_values`): it is compared in the value's place.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from reconciler.base.declarations import FIRST_SPARK, Settings
from reconciler.project.manifest.known_spark_settings import is_harmless, is_neutral
from reconciler.project.manifest.reading_settings import leaves_reading_alone
from reconciler.project.manifest.spark_values import is_credential, is_plain, seal

DEFAULTS: Final[Mapping[str, str]] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""What holds for every query where nobody says otherwise. Each call of the engine says it, whatever its session was told."""

OF_A_CALL: Final = ("spark.sql.", "spark.databricks.")
"""How the names of those settings begin that can belong to a query."""

_WORDS_OF_A_LIST: Final = frozenset(
    {
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.parquet.datetimeRebaseModeInRead",
        "spark.sql.parquet.datetimeRebaseModeInWrite",
        "spark.sql.parquet.int96RebaseModeInRead",
        "spark.sql.parquet.int96RebaseModeInWrite",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.timestampType",
    }
)

_RECORDED_BEFORE: Final = frozenset(
    {
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.ansi.enabled",
        "spark.sql.ansi.enforceReservedKeywords",
        "spark.sql.ansi.relationPrecedence",
        "spark.sql.caseSensitive",
        "spark.sql.charAsVarchar",
        "spark.sql.columnNameOfCorruptRecord",
        "spark.sql.crossJoin.enabled",
        "spark.sql.datetime.java8API.enabled",
        "spark.sql.decimalOperations.allowPrecisionLoss",
        "spark.sql.function.concatBinaryAsString",
        "spark.sql.function.eltOutputAsString",
        "spark.sql.groupByAliases",
        "spark.sql.groupByOrdinal",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.mapZipWithUsesJavaCollections",
        "spark.sql.orderByOrdinal",
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.parser.quotedRegexColumnNames",
        "spark.sql.readSideCharPadding",
        "spark.sql.session.collation.default",
        "spark.sql.session.timeZone",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.timestampType",
    }
)
_RECORDED_BEFORE_PREFIXES: Final = (
    "spark.sql.avro.",
    "spark.sql.csv.",
    "spark.sql.json",
    "spark.sql.legacy.",
    "spark.sql.variant.",
    "spark.sql.xml.",
)


def meaning_settings(spark: Mapping[str, str]) -> Mapping[str, str]:
    """Those of the settings that can change results, by name, values made comparable."""
    comparable = {name: comparable_value(name, spark[name]) for name in sorted(spark) if not is_neutral(name)}
    return {name: value for name, value in comparable.items() if DEFAULTS.get(name) != value}


SPARK: Final = "Spark"
"""Under this name stands the minor version of Spark among what decides results."""


def decisive_settings(settings: Settings) -> Mapping[str, str]:
    """All that decides what queries mean beside their text, by name: Spark's settings, the pipeline's before the
    environment's (of what may be secret its seal), and Spark's minor version where it is not the first one's."""
    sealed = {name: one for name, one in settings.sealed.items() if not is_neutral(name) and name not in settings.spark}
    found = {**meaning_settings({**(settings.environment or {}), **settings.spark}), **sealed}
    if minor(settings.spark_version) != minor(FIRST_SPARK):
        found[SPARK] = minor(settings.spark_version)
    return found


def are_read_plainly(settings: Settings) -> bool:
    """Whether Spark surely reads the queries of a program as it does by itself: neither what the pipeline says nor what the
    environment does may have a say in it. Of a value that may be secret nothing is known, so its name alone decides."""
    said = {**settings.sealed, **(settings.environment or {}), **settings.spark}
    return all(leaves_reading_alone(name, comparable_value(name, text)) for name, text in said.items())


def differing_settings(applied: Settings, desired: Settings) -> tuple[str, ...]:
    """The names of what decides results and differs, sorted. What was not recorded on a side is no difference."""
    before, after = decisive_settings(applied), decisive_settings(desired)
    unknown = {*_unrecorded(applied, desired), *_unrecorded(desired, applied)}
    return tuple(sorted(name for name in {*before, *after} - unknown if before.get(name) != after.get(name)))


def minor(version: str) -> str:
    """4.2 of 4.2.1."""
    return ".".join(version.split(".")[:2])


def is_recorded(name: str) -> bool:
    """Whether an environment's setting comes into force with an apply only, and is recorded with what is applied: all but
    those that are known to be neutral and harmless, and credentials, which are recorded nowhere."""
    return not is_credential(name) and not (is_neutral(name) and is_harmless(name))


def recorded_environment(spark: Mapping[str, str]) -> dict[str, str]:
    """Those of an environment's settings that are recorded as they are."""
    return {name: text for name, text in sorted(spark.items()) if is_recorded(name) and is_plain(name, text)}


def sealed_environment(spark: Mapping[str, str]) -> dict[str, str]:
    """Of those of an environment's settings that may be secret and are to be recorded, the seals."""
    hidden = {name: text for name, text in sorted(spark.items()) if is_recorded(name) and not is_plain(name, text)}
    return {name: seal(name, comparable_value(name, text)) for name, text in hidden.items()}


def before_environments(settings: Settings) -> Settings:
    """The settings as they were recorded before environments were."""
    environment = settings.environment or {}
    inherited = {name for name, text in environment.items() if is_of_a_call(name) and not is_of_queries_only(name)}
    spark = {
        name: text
        for name, text in settings.spark.items()
        if name not in inherited or text != comparable_value(name, environment[name])
    }
    return replace(settings, spark=spark, environment=None, sealed={})


def _unrecorded(settings: Settings, other: Settings) -> frozenset[str]:
    """The names of the other's environment of which is not known whether they held here."""
    if settings.environment is not None:
        return frozenset()
    plain = {name: comparable_value(name, text) for name, text in (other.environment or {}).items()}
    return frozenset(
        name
        for name in (*plain, *other.sealed)
        if not is_of_queries_only(name) and name not in settings.spark and other.spark.get(name) in (None, plain.get(name))
    )


def comparable_value(name: str, text: str) -> str:
    """A setting's value in one spelling."""
    text = text.strip()
    folded = text.lower()
    return folded if name in _WORDS_OF_A_LIST or folded in ("true", "false") else text


def is_of_queries_only(name: str) -> bool:
    """Whether an environment's setting holds for queries alone, and not for reading inputs: it comes with each call.

    These are also the ones that were recorded of an environment before `Settings.environment` was: of a program without
    that, an environment's setting that is not among these is unknown, not absent.
    """
    return name in _RECORDED_BEFORE or name.startswith(_RECORDED_BEFORE_PREFIXES)


def is_of_a_call(name: str) -> bool:
    """Whether an environment's setting comes with each call of the engine, from what is applied, if its value is plain. What
    may be secret is the process's alone."""
    return is_of_queries_only(name) or (name.startswith(OF_A_CALL) and is_harmless(name) and not is_neutral(name))
