"""The pipeline `lineitem` is the one that the tutorial prints: its table, and its two inputs, but for where they read from.

How it behaves on a broker, tests/acceptance/test_history_then_live.py shows of the text as printed.
"""

from pathlib import Path

from reconciler.base.declarations import Manifest
from reconciler.base.diagnostics import errors_among
from reconciler.base.digest import JsonObject
from reconciler.environment.source import read_pipeline_files
from reconciler.project.manifest.read import read_manifest

ROOT = Path(__file__).parents[2]
PRINTED = ROOT / "tests/manifests/good/lineitem-of-the-seed/program.sql"
PLACES = {"lineitem": "s3://batchtofeldera/lineitem", "kafka": "localhost:9092"}
OF_THE_BUCKET = {"aws_skip_signature": "true", "aws_region": "ap-southeast-2"}


def manifest_of(name: str, files: dict[str, str]) -> Manifest:
    read = read_manifest(f"pipelines/{name}", files, PLACES)
    assert errors_among(read.diagnostics) == ()
    assert read.manifest is not None
    return read.manifest


def inputs_of(manifest: Manifest) -> list[JsonObject]:
    """Settings of the connectors, in their order; what only a public bucket needs is no part of the pipeline."""
    found = []
    for connector in manifest.connectors:
        assert connector.relation.lower() == "lineitem"
        transport = connector.settings["transport"]
        assert isinstance(transport, dict)
        config = transport["config"]
        assert isinstance(config, dict)
        plain = {name: value for name, value in config.items() if OF_THE_BUCKET.get(name) != value}
        found.append({**connector.settings, "transport": {**transport, "config": plain}})
    return found


def test_it_is_the_pipeline_of_the_tutorial() -> None:
    ours = manifest_of("lineitem", read_pipeline_files(ROOT, "lineitem"))
    head = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: printed}\n"
    folder = "pipelines/printed"
    printed = manifest_of("printed", {f"{folder}/pipeline.yaml": head, f"{folder}/program.sql": PRINTED.read_text("utf-8")})
    [table], [expected] = ours.tables, printed.tables
    assert (table.columns, table.primary_key) == (expected.columns, expected.primary_key)
    assert inputs_of(ours) == inputs_of(printed)
