"""A secret of a connector stands nowhere but where it is used: not in what a command says, not in status or events, and in
no file of the registry; whatever setting holds it, and whoever quotes it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.schema_files import schema
from reconciler.base.secrets.known_values import forget_secrets
from reconciler.engine.protocol import Available, Check, Emission, Emitted, unchecked
from reconciler.engine.secrets import resolved
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.command_line import CommandLine
from tests.engine.delta_writer import DeltaWriter
from tests.plan.planted_secrets import read
from tests.registry.stored_text import stored_text

PROGRAM = "CREATE TABLE t (id BIGINT, amount INT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"
YAML = {"apiVersion": "reconciler/v1", "kind": "Pipeline", "metadata": {"name": "shop"}}
PARTS = ("Hunter77", "stap1e", "xk-battery9")
SECRET = 'Hunter77 stap1e=b"c\\;xk-battery9/ü'


class Quoting(RecordingEngine):
    """An engine that fails with all of the resolved settings of a connector in its message, whole and taken apart."""

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        raise self._refused(connector, settings)

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        raise self._refused(emission.connector, emission.settings)

    def _refused(self, connector: str, settings: JsonObject) -> EngineError:
        said = json.dumps(resolved(settings))
        apart = " | ".join(re.findall(r"[\w-]+", said))
        return EngineError("X700", f"{connector}: {said}: {apart}", f"look at {said}")


class Shop(CommandLine):
    """Its command line."""

    def write(self, *connectors: JsonObject) -> None:
        folder = self.root / "pipelines" / "shop"
        folder.mkdir(parents=True, exist_ok=True)
        spec = {"bootstrap_policy": "allow", "connectors": list(connectors)}
        (folder / "pipeline.yaml").write_text(json.dumps({**YAML, "spec": spec}))
        (folder / "program.sql").write_text(PROGRAM)
        (self.root / "reconcile.yaml").write_text('{"environments": {"dev": {"warehouse": "../warehouse"}}}')

    def all_that_is_known(self) -> str:
        """What a process shows that resolved nothing, and what is stored."""
        forget_secrets()
        commands = [("status", "shop"), ("events", "shop"), ("history", "shop", "--at", "2130-01-01")]
        said = [self(*words, "--format", form) for words in commands for form in ("text", "json")]
        return "\n".join([*said, stored_text(self.root.parent / "warehouse" / "_registry")])


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECONCILE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "repository"


def text_settings(transport: str) -> list[str]:
    """The options of a transport that take a text, and for each pattern of names one."""
    config = schema(f"{transport}.schema.json")["properties"]["transport"]["properties"]["config"]
    found = [key for key, one in config["properties"].items() if "string" in str(one.get("type"))]
    examples = (
        "fs.s3a.endpoint",
        "aws_endpoint",
        "azure_anything",
        "sasl.jaas.config",
        "client.dns.lookup",
        "receive.buffer.bytes",
    )
    return [
        *found,
        *(one for one in examples if any(re.search(pattern, one) for pattern in config.get("patternProperties", {}))),
    ]


def connectors_with_a_secret(transport: str) -> list[dict[str, Any]]:
    """A connector for each option that may refer to a secret."""
    found = []
    for key in text_settings(transport):
        for text in ("${secret:PLANTED}", "s3://bucket/${secret:PLANTED}", "postgresql://h/${secret:PLANTED}"):
            example: dict[str, Any] = json.loads(json.dumps(schema(f"{transport}.schema.json")["examples"][0]))
            example["transport"]["config"][key] = text
            if key == "query":
                del example["transport"]["config"]["table"]
            address = "uri" if "uri" in example["transport"]["config"] else "path"
            if transport.endswith("_output") and key != address and address in example["transport"]["config"]:
                # Two outputs may not write into one place (C419).
                example["transport"]["config"][address] += f"/{len(found)}"
            if read(example, {})[0] is not None:
                place = {"table": "t"} if transport.endswith("_input") else {"view": "v"}
                found.append({"name": f"c{len(found)}", **example, **place})
                break
    return found


@pytest.mark.parametrize(
    ("transport", "count"),
    [
        ("delta_table_input", 10),
        ("delta_table_output", 8),
        ("file_input", 8),
        ("file_output", 8),
        ("kafka_input", 8),
        ("kafka_output", 8),
        ("postgres_input", 5),
    ],
)
def test_no_setting_of_a_connector_lets_it_out(
    transport: str, count: int, root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PLANTED", "KAFKA_PASSWORD", "SHOP_PASSWORD"):
        monkeypatch.setenv(name, SECRET)
    shop = Shop(root, capsys, Quoting(DeltaWriter()))
    connectors = connectors_with_a_secret(transport)
    assert len(connectors) >= count
    shop.write(*connectors)
    said = shop("apply", "shop") + shop("execute", "shop", "INSERT INTO t VALUES (1, 2)")
    said += shop("run", "shop", "--once", code=1)
    known = shop.all_that_is_known()
    assert "X700" in known
    for part in PARTS:
        assert part.lower() not in said.lower()
        assert part.lower() not in known.lower()


def test_what_was_read_by_a_secret_is_known_by_its_name(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", "hunter77")
    folder = root.parent / "lake" / "hunter77"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id,amount\n1,2\n")
    shop = Shop(root, capsys, RecordingEngine(DeltaWriter()))
    transport = {"name": "file_input", "config": {"path": str(folder.parent / "${secret:PLANTED}")}}
    shop.write({"name": "live", "table": "t", "transport": transport, "format": {"name": "csv"}})
    said = shop("apply", "shop") + shop("run", "shop", "--once")
    (folder / "b.csv").write_text("id,amount\n3,4\n5,6\n")
    said += shop("run", "shop", "--once")
    assert "2 rows" in said
    known = shop.all_that_is_known()
    assert "${secret:PLANTED}/b.csv" in known
    assert "hunter77" not in said + known


def test_an_unexpected_error_and_its_traceback_hold_none(tmp_path: Path) -> None:
    program = """
import os, sys, threading
os.environ["PLANTED"] = "hunter77 stapler"
from reconciler.cli import main
from reconciler.engine.secrets import resolved
def run(arguments, engine=None):
    password = resolved("${secret:PLANTED}")
    other = threading.Thread(target=lambda: int(password))
    other.start()
    other.join()
    raise ValueError(f"no {password}")
main.run = run
main.main([])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 2
    assert "ValueError: no ***" in done.stderr
    assert "hunter77" not in done.stderr
    assert "stapler" not in done.stderr
