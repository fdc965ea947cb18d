"""What settings of Spark decide of rows that arrive, on real Spark: defaults by type and way in, texts of moments that
inputs read and outputs write. A default is one value whoever fills it in; where a setting makes another one of it, the plan
said so."""

import csv
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from reconciler import Project
from reconciler.base.boundaries import no_boundary
from reconciler.diff.causes import DefaultChanged
from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.plan.model import Plan
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from tests.acceptance.shop import stored_columns, stored_rows

pytestmark = pytest.mark.spark

DEFAULTS = {
    "moment": "TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00'",
    "twice_there": "TIMESTAMP DEFAULT TIMESTAMP '2020-11-01 01:30:00.5'",
    "never_there": "TIMESTAMP DEFAULT TIMESTAMP '2020-03-08T02:30:00'",
    "long_ago": "TIMESTAMP DEFAULT TIMESTAMP '1850-01-01 00:00:00'",
    "day_alone": "TIMESTAMP DEFAULT TIMESTAMP '2020-07-01'",
    "in_utc": "TIMESTAMP DEFAULT TIMESTAMP '2020-11-01 06:30:00Z'",
    "with_offset": "TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00+02:00'",
    "local": "TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '2020-11-01 01:30:00'",
    "day": "DATE DEFAULT DATE '2020-01-01'",
    "short_moment": "TIMESTAMP DEFAULT TIMESTAMP '20200101T000000+0200'",
    "short_local": "TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '20201101T013000'",
    "short_day": "DATE DEFAULT DATE '20200101'",
    "whole": "INT DEFAULT -7",
    "exact": "DECIMAL(10,2) DEFAULT 1.5E2",
    "large": "DOUBLE DEFAULT 1.5E300",
    "small": "FLOAT DEFAULT 0.1",
    "flag": "BOOLEAN DEFAULT TRUE",
    "plain": "STRING DEFAULT 'plain'",
    "quoted": "STRING DEFAULT 'it''s \"so\" \\ \\n'",
    "short": "VARCHAR(5) DEFAULT 'a\\b'",
    "raw": "BINARY DEFAULT X'00FF'",
}
DEPEND_ON_THE_ZONE = {"moment", "twice_there", "never_there", "long_ago", "day_alone"}
COLUMNS = ", ".join(f"{name} {text}" for name, text in DEFAULTS.items())
PROGRAM = f"""\
CREATE TABLE t (id BIGINT, given TIMESTAMP, given_local TIMESTAMP_NTZ, given_day DATE, {COLUMNS});
CREATE MATERIALIZED VIEW sent AS SELECT id, given, moment, twice_there, given_local FROM t;
"""
INPUTS = "".join(
    f"    - {{name: {name}, table: t, transport: {{name: file_input, config: {{path: in_{name}}}}}, "
    f"format: {{name: {name}}}}}\n"
    for name in ("json", "csv", "parquet")
)
OUTPUTS = "".join(
    f"    - {{name: to_{name}, view: sent, on_bootstrap: changes, transport: {{name: file_output, "
    f"config: {{path: out_{name}}}}}, format: {{name: {name}{more}}}}}\n"
    for name, more in (("json", ", config: {update_format: raw}"), ("csv", ""))
)
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: shop}}
spec:
  bootstrap_policy: allow
  runtime: {{spark: {settings}}}
  connectors:
{connectors}"""

ZONE = "spark.sql.session.timeZone"
SETTINGS: tuple[Mapping[str, str], ...] = (
    {},
    {ZONE: "America/New_York"},
    {ZONE: "+05:30"},
    {ZONE: "America/New_York", "spark.sql.timestampType": "TIMESTAMP_NTZ"},
    {ZONE: "America/New_York", "spark.sql.ansi.enabled": "false"},
    {"spark.sql.parser.escapedStringLiterals": "true"},
    {"spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true"},
    {"spark.sql.legacy.literal.pickMinimumPrecision": "false"},
    {"spark.sql.legacy.timeParserPolicy": "LEGACY", ZONE: "Asia/Kolkata"},
    {"spark.sql.ansi.doubleQuotedIdentifiers": "true"},
    {ZONE: "UTC"},
)
GIVEN = "2020-06-01 12:00:00"


class Shop:
    """A pipeline that is given settings one after another, and a row by each way in under each."""

    def __init__(self, root: Path, engine: Engine) -> None:
        self.root = root
        self.engine = engine
        self.rows = 0
        for name in ("in_json", "in_csv", "in_parquet"):
            (root / name).mkdir(parents=True)
        (root / "pipelines/shop").mkdir(parents=True)
        (root / "pipelines/shop/program.sql").write_text(PROGRAM)

    def write(self, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        text = YAML.format(settings=json.dumps(settings), connectors=INPUTS + OUTPUTS)
        (self.root / "pipelines/shop/pipeline.yaml").write_text(text)
        spark = f", spark: {json.dumps(environment)}" if environment else ""
        (self.root / "reconcile.yaml").write_text(f"default: dev\nenvironments:\n  dev: {{warehouse: warehouse{spark}}}\n")

    def apply(self, settings: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Plan:
        self.write(settings, environment or {})
        plan = Project.open(self.root, engine=self.engine).pipeline("shop").plan()
        Project.open(self.root, engine=self.engine).pipeline("shop").apply()
        return plan

    def fill(self) -> dict[str, dict[str, Any]]:
        """A row by each way in, which says no more than the columns that are given; what is stored of it."""
        numbers = range(self.rows, self.rows + 4)
        self.rows += 4
        given = {"given": GIVEN, "given_local": GIVEN, "given_day": "2020-06-01"}
        (self.root / f"in_json/{self.rows}.json").write_text(json.dumps({"id": numbers[0], **given}) + "\n")
        with (self.root / f"in_csv/{self.rows}.csv").open("w") as file:
            csv.writer(file).writerows([["id", *given], [numbers[1], *given.values()]])
        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        row = f"{numbers[2]}L AS id, TIMESTAMP '{GIVEN}Z' AS given, TIMESTAMP_NTZ '{GIVEN}' AS given_local"
        made = self.root / f"made_{self.rows}"
        session.sql(f"SELECT {row}, DATE '2020-06-01' AS given_day").coalesce(1).write.parquet(f"file://{made}")
        next(made.glob("*.parquet")).rename(self.root / f"in_parquet/{self.rows}.parquet")
        project = Project.open(self.root, engine=self.engine)
        run_pipeline(project.target, "shop", Session(self.engine, boundary=no_boundary), Pace(once=True))
        project.pipeline("shop").execute(
            f"INSERT INTO t (id, given, given_local, given_day) VALUES ({numbers[3]}, TIMESTAMP '{GIVEN}Z', "
            f"TIMESTAMP_NTZ '{GIVEN}', DATE '2020-06-01')"
        )
        run_pipeline(project.target, "shop", Session(self.engine, boundary=no_boundary), Pace(once=True))
        names = stored_columns(self.root, "t")
        found = {row[0]: dict(zip(names, row, strict=True)) for row in stored_rows(self.root, "t") or []}
        return {way: found[number] for way, number in zip(("json", "csv", "parquet", "statement"), numbers, strict=True)}

    def sent(self, number: int) -> tuple[dict[str, str], dict[str, str]]:
        """What the outputs wrote of a row, as JSON and as CSV."""
        lines = [line for path in self.root.glob("out_json/**/*.json") for line in path.read_text().splitlines()]
        of_json = [one for line in lines if (one := json.loads(line)).get("id") == number]
        of_csv = [
            one
            for path in self.root.glob("out_csv/**/*.csv")
            for one in csv.DictReader(path.read_text().splitlines())
            if one["id"] == str(number)
        ]
        return of_json[-1], of_csv[-1]


def changed(plan: Plan) -> set[str]:
    return {cause.column for change in plan.diff.relations for cause in change.causes if isinstance(cause, DefaultChanged)}


@pytest.mark.slow
def test_a_default_is_one_value_and_a_plan_tells_when_it_is_another(tmp_path: Path, spark_engine: Engine) -> None:
    shop = Shop(tmp_path, spark_engine)
    before: dict[str, Any] = {}
    seen = []
    for settings in SETTINGS:
        plan = shop.apply(settings)
        rows = shop.fill()
        defaults = {way: {name: row[name] for name in DEFAULTS} for way, row in rows.items()}
        for way, values in defaults.items():
            wrong = {
                name: (value, defaults["json"][name]) for name, value in values.items() if value != defaults["json"][name]
            }
            assert not wrong, (settings, way)
        now = defaults["json"]
        if before:
            differing = {name for name in now if now[name] != before[name]}
            assert differing == changed(plan), settings
            seen.append(differing)
        before = now
        # What inputs read and outputs write has nothing to do with it.
        for row in rows.values():
            assert row["given"] == datetime.fromisoformat(GIVEN).replace(tzinfo=UTC), settings
            assert row["given_local"] == datetime.fromisoformat(GIVEN), settings
            assert row["given_day"] == date(2020, 6, 1), settings
            for written in shop.sent(row["id"]):
                for name in ("given", "moment", "twice_there"):
                    assert written[name].endswith("Z"), (settings, written)
                    assert datetime.fromisoformat(written[name]) == row[name], (settings, name)
    assert DEPEND_ON_THE_ZONE in seen
    assert set().union(*seen) == DEPEND_ON_THE_ZONE


def test_the_zone_is_the_one_of_the_session(tmp_path: Path, spark_engine: Engine) -> None:
    """Also where the environment says which."""
    shop = Shop(tmp_path, spark_engine)
    shop.apply({})
    plan = shop.apply({}, {ZONE: "America/New_York"})
    assert changed(plan) == DEPEND_ON_THE_ZONE
    values, *others = ({name: row[name] for name in DEFAULTS} for row in shop.fill().values())
    assert others == [values] * 3
    assert values["moment"] == datetime(2020, 1, 1, 5, tzinfo=UTC)
    assert values["twice_there"] == datetime(2020, 11, 1, 5, 30, 0, 500000, tzinfo=UTC)
    assert values["day_alone"] == datetime(2020, 7, 1, 4, tzinfo=UTC)
    assert values["long_ago"] - datetime(1850, 1, 1, tzinfo=UTC) == timedelta(hours=4, minutes=56, seconds=2)
    assert values["in_utc"] == datetime(2020, 11, 1, 6, 30, tzinfo=UTC)
