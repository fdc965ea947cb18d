"""Whatever requests the description of the API allows, and many that it does not: no answer is an error of the service.

schemathesis makes them from /openapi.json, the same ones in every run. What is refused by design (501) is left out, and
streams that do not end.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rest.conftest import Serving

LEFT_OUT = (
    "logs|egress|tenants|oidc|cluster|api_keys|profile|time_series|dataflow|rebalance|compaction|clock|testing|activate"
    "|checkpoint/sync|checkpoints/remote"
)
TABLES = """
CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR);
CREATE VIEW counted AS SELECT COUNT(*) AS n FROM items;
"""


@pytest.mark.slow
def test_no_request_makes_the_service_fail(service: Serving, tmp_path: Path) -> None:
    service.pipeline("fuzzed", TABLES).start()
    words = [
        *("run", f"{service.address}/openapi.json", "--checks", "not_a_server_error", "--phases", "fuzzing,coverage"),
        *("--max-examples", "40", "--request-timeout", "15", "--generation-deterministic"),
        *("--exclude-path-regex", f"({LEFT_OUT})", "--report", "ndjson", "--report-dir", str(tmp_path)),
    ]
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    failures = [line for line in done.stdout.splitlines() if line.startswith("[5") and not line.startswith("[501]")]
    assert failures == [], done.stdout
    assert "generated" in done.stdout, done.stdout + done.stderr
    assert service.client.pipelines()
