"""Defaults under settings: every form of a constant with every setting that decides results. What a change of the setting
makes of a default is told as a change of its table, and of nothing else."""

from collections.abc import Mapping

import pytest

from reconciler.base.declarations import Settings
from reconciler.diff.causes import DefaultChanged
from reconciler.diff.compare import compare
from reconciler.diff.model import Fate
from reconciler.diff.wording import describe_cause
from reconciler.project.program.defaults import settled_default
from reconciler.project.program.model import Program, Table
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.project.snapshot.objects import versioned_objects
from reconciler.query.reading import table_defaults
from reconciler.sql.lexer import Kind, query_tokens
from reconciler.sql.statements import read_sql

ZONE = "spark.sql.session.timeZone"
ALONE = {
    "TIMESTAMP": ("TIMESTAMP '2020-01-01 00:00:00Z'", "TIMESTAMP '20200101T000000+0200'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2020-01-01 00:00:00'", "TIMESTAMP_NTZ '2020-W01-3'"),
    "DATE": ("DATE '2020-01-01'", "DATE '20200101'"),
    "STRING": ("'2020-01-01 00:00:00'", "'TIMESTAMP ''2020-01-01 00:00:00'''", r"'a \ b'"),
    "INT": ("-7",),
    "DECIMAL(10,2)": ("1.50", "1.5E2"),
    "DOUBLE": ("1.5E300",),
    "BOOLEAN": ("TRUE",),
    "BINARY": ("X'00FF'",),
}
AS_SPARK_READS = {
    "TIMESTAMP '2020-01-01 00:00:00Z'": "TIMESTAMP '2020-01-01 00:00:00+00:00'",
    "TIMESTAMP '20200101T000000+0200'": "TIMESTAMP '2020-01-01 00:00:00+02:00'",
    "TIMESTAMP_NTZ '2020-W01-3'": "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
    "DATE '20200101'": "DATE '2020-01-01'",
    r"'a \ b'": r"'a \\ b'",
}
BY_THE_ZONE = {
    "TIMESTAMP '2020-01-01 00:00:00'": "TIMESTAMP '2020-01-01 00:00:00 {zone}'",
    "TIMESTAMP '2020-01-01'": "TIMESTAMP '2020-01-01 00:00:00 {zone}'",
    "TIMESTAMP '2020-01-01T01:02:03.5'": "TIMESTAMP '2020-01-01 01:02:03.500000 {zone}'",
    "TIMESTAMP ' 0001-01-01 00:00:00 '": "TIMESTAMP '0001-01-01 00:00:00 {zone}'",
}
OTHERS = (
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    {"spark.sql.parser.escapedStringLiterals": "true"},
    {"spark.sql.legacy.timeParserPolicy": "LEGACY"},
    {"spark.unknown": "1"},
    {ZONE: "UTC"},
)


def snapshot(declared: str, settings: Mapping[str, str], of_environment: bool = False) -> Snapshot:
    read = read_sql(f"CREATE TABLE t (id BIGINT, at {declared});", "p.sql")
    assert read.diagnostics == ()
    spark, environment = ({}, dict(settings)) if of_environment else (dict(settings), {})
    table = Table(read.tables[0])
    return take_snapshot(Program(Settings("p", spark=spark, environment=environment), {"t": table}, {}, {}, order=("t",)))


@pytest.mark.parametrize("of_environment", [False, True], ids=["pipeline", "environment"])
@pytest.mark.parametrize("zone", ["America/New_York", "+05:30", "GMT+1"])
@pytest.mark.parametrize("default", BY_THE_ZONE)
def test_another_zone_is_another_default(default: str, zone: str, of_environment: bool) -> None:
    before = snapshot(f"TIMESTAMP DEFAULT {default}", {})
    after = snapshot(f"TIMESTAMP DEFAULT {default}", {ZONE: zone}, of_environment)
    old, new = (BY_THE_ZONE[default].format(zone=one) for one in ("UTC", zone))
    (change,) = compare(before, after).relations
    assert change.causes == (DefaultChanged("at", old, new),)
    assert change.fate is Fate.KEPT
    assert zone in describe_cause(change.causes[0])
    assert before.digest != after.digest
    assert table_defaults(after.program.tables["t"], after.program.settings) == {"at": new}
    versions = [versioned_objects(one.program, frozenset({"table:t"}))["table:t"] for one in (before, after)]
    assert not {*versions[0].sought_as} & {*versions[1].sought_as}
    assert versions[0].written_as != versions[1].written_as


@pytest.mark.parametrize("zone", ["UTC' || reflect('java.lang.System', 'exit', '1') || '", "\\", "\\'", "' --", "''"])
def test_a_zone_is_never_read_as_sql(zone: str) -> None:
    """Whatever a setting says is part of one literal: Spark refuses it there, as it does wherever the zone is set."""
    found = snapshot("TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00'", {ZONE: zone})
    settled = settled_default(found.program.tables["t"].columns[1], found.program.settings)
    assert settled is not None
    word, literal = query_tokens(settled)
    assert (word.text, literal.kind) == ("TIMESTAMP", Kind.STRING)


@pytest.mark.parametrize("offset", ["+18:01", "-20:00", "+01:00:30.5"])
def test_an_offset_that_spark_does_not_have_is_no_time(offset: str) -> None:
    def codes(text: str) -> list[str]:
        return [
            one.code for one in read_sql(f"CREATE TABLE t (at TIMESTAMP DEFAULT TIMESTAMP '{text}');", "p.sql").diagnostics
        ]

    assert codes(f"2020-01-01 00:00:00{offset}") == ["S262"]
    for known in ("+18:00", "-18:00", "+01:00:30", "Z", ""):
        assert codes(f"2020-01-01 00:00:00{known}") == []


@pytest.mark.parametrize("settings", OTHERS, ids=str)
@pytest.mark.parametrize("default", BY_THE_ZONE)
def test_no_other_setting_decides_a_moment(default: str, settings: Mapping[str, str]) -> None:
    before, after = snapshot(f"TIMESTAMP DEFAULT {default}", {}), snapshot(f"TIMESTAMP DEFAULT {default}", settings)
    assert compare(before, after).relations == ()


@pytest.mark.parametrize("settings", [*OTHERS, {ZONE: "America/New_York"}], ids=str)
@pytest.mark.parametrize(("kind", "default"), [(kind, one) for kind, every in ALONE.items() for one in every])
def test_what_names_its_zone_or_needs_none_is_what_it_was(kind: str, default: str, settings: Mapping[str, str]) -> None:
    before, after = snapshot(f"{kind} DEFAULT {default}", {}), snapshot(f"{kind} DEFAULT {default}", settings)
    assert compare(before, after).relations == ()
    settled = [settled_default(one.program.tables["t"].columns[1], one.program.settings) for one in (before, after)]
    assert settled == [default.replace("''", "\\'") if "''" in default else AS_SPARK_READS.get(default, default)] * 2


def test_a_table_means_what_it_meant_where_nobody_says_a_zone() -> None:
    """An upgrade plans nothing by itself."""
    found = snapshot("TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00'", {}).fingerprints
    assert found == {"table:t": "sha256:713cc8ab137dfb750785144d9f77106053ec08f257be80bbf8bb333100c699b3"}
