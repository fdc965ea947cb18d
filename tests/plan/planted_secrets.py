"""Pipelines in which secrets are planted, and everything that is shown of their plans."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from reconciler.base.diagnostics import Diagnostic, errors_among
from reconciler.base.schema_files import schema
from reconciler.connectors.catalogue import TRANSPORTS
from reconciler.plan.graph_form import graph_of, render_dot, render_mermaid
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.lock import render_section
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_comment, render_markdown
from reconciler.plan.model import Plan, Policies
from reconciler.plan.text_form import render_text
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from tests.plan.test_forms import POLICIES

PROGRAM = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"
TOKENS = st.text("ABCDEFGHIJKLMNPQRSTUVWXYZ23456789", min_size=12, max_size=20).map(lambda text: f"Zq{text}")


def example_of(transport: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(schema(f"{transport}.schema.json")["examples"][0]))
    return found


def read(connector: Mapping[str, Any], variables: Mapping[str, str]) -> tuple[Snapshot | None, tuple[Diagnostic, ...]]:
    relation = {"table": "t"} if str(connector["transport"]["name"]).endswith("_input") else {"view": "v"}
    yaml = {
        "apiVersion": "reconciler/v1",
        "kind": "Pipeline",
        "metadata": {"name": "shop"},
        "spec": {"connectors": [{"name": "live", **relation, **connector}]},
    }
    files = {"pipelines/shop/pipeline.yaml": json.dumps(yaml), "pipelines/shop/program.sql": PROGRAM}
    found = read_manifest("pipelines/shop", files, variables)
    if found.manifest is None:
        return None, found.diagnostics
    compiled = compile_program(found.manifest)
    diagnostics = (*found.diagnostics, *compiled.diagnostics)
    return (None if errors_among(diagnostics) else take_snapshot(compiled.program)), diagnostics


def shown(applied: Snapshot | None, desired: Snapshot | None, policies: Policies = POLICIES) -> Iterator[tuple[Plan, str]]:
    """Everything that is shown of the plan between two snapshots."""
    if applied is None and desired is None:
        return
    plan = make_plan("shop", "dev", applied, desired, policies)
    before, after = (snapshot.program if snapshot else empty(applied or desired) for snapshot in (applied, desired))
    graph = graph_of(plan, before, after)
    for text in (
        render_text(plan),
        render_text(plan, width=40, whole=True),
        render_markdown(plan),
        render_comment([plan, plan]),
        json.dumps(plan_to_json(plan)),
        render_mermaid(graph),
        render_dot(graph),
        render_section(plan, "1"),
        repr(plan),
    ):
        yield plan, text


def empty(snapshot: Snapshot | None) -> Program:
    assert snapshot is not None
    return replace(snapshot.program, tables={}, views={}, connectors={}, order=())


def secret_keys(transport: str) -> list[str]:
    """The options that a transport's schema marks, and one for each pattern that it marks."""
    config = schema(f"{transport}.schema.json")["properties"]["transport"]["properties"]["config"]
    keys = [key for key, described in config["properties"].items() if described.get("x-secret")]
    patterns = [pattern for pattern, described in config.get("patternProperties", {}).items() if described.get("x-secret")]
    examples = {"fs": "fs.s3a.secret.key", "aws": "aws_sse_customer_key_base64", "kafka": "sasl.jaas.config"}
    for pattern in patterns:
        kind = "fs" if pattern.startswith("^fs") else "aws" if "aws" in pattern else "kafka"
        keys.append(examples[kind])
    return keys


LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="{}";'


def every_secret() -> list[tuple[str, str]]:
    return [(transport, key) for transport in sorted(TRANSPORTS) for key in secret_keys(transport)]


def with_option(connector: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    transport = connector["transport"]
    return {**connector, "transport": {**transport, "config": {**transport["config"], key: value}}}
