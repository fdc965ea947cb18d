"""Spark settings that change what queries mean. They are part of a program's fingerprint; all others are metadata.

A setting is here when, for some query, two of its values give different rows or types. Settings of speed, memory and
layout are not: changing them recomputes nothing. Values are compared as Spark reads them: booleans and time zones'
surrounding blanks and the letter case of booleans and modes say nothing.
"""

from collections.abc import Mapping
from typing import Final

MEANING: Final = frozenset(
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
"""Exact names."""

MEANING_PREFIXES: Final = (
    "spark.sql.avro.",
    "spark.sql.csv.",
    "spark.sql.json",
    "spark.sql.legacy.",
    "spark.sql.variant.",
    "spark.sql.xml.",
)
"""Every legacy flag restores an older meaning of something; the others say how texts are taken for values, and values
written."""

_KEPT_CASE: Final = frozenset({"spark.sql.session.timeZone"})


def meaning_settings(spark: Mapping[str, str]) -> Mapping[str, str]:
    """Those of the settings that change results, by name, values made comparable."""
    return {
        name: spark[name].strip() if name in _KEPT_CASE else spark[name].strip().lower()
        for name in sorted(spark)
        if name in MEANING or name.startswith(MEANING_PREFIXES)
    }
