"""What a plan says of an output that is changed: whether what it has yet to send goes elsewhere."""

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.plan.make import make_plan
from reconciler.plan.model import Policies
from reconciler.project.snapshot.model import take_snapshot
from tests.plan.test_hazards import program

SQL = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;"
ELSEWHERE = "; what it has not sent yet goes to the new place"
EMPTIED = "; if the old sink was still to be emptied, the new one is emptied instead"


def said(applied: str, desired: str, more: str = "") -> str:
    """What the plan says of the output beyond that it goes on."""
    begin = "  connectors:\n    - {name: out, view: v, transport: {name: delta_table_output, config: {"
    sides = [take_snapshot(program(SQL, f"{begin}{config}}}}}{more}}}\n")) for config in (applied, desired)]
    [outcome] = make_plan("shop", "dev", *sides, Policies(BootstrapPolicy.ALLOW)).connectors
    assert "its view is not; it continues from what it sent last" in outcome.reason
    return outcome.reason.partition("it continues from what it sent last")[2]


@pytest.mark.parametrize(
    ("applied", "desired"),
    [
        ("uri: lake", "uri: other"),
        ("uri: 's3://b/k'", "uri: 's3://b/k', aws_endpoint: 'http://two'"),
        ("uri: 's3://b/k', aws_endpoint: 'http://one'", "uri: 's3://b/k', aws_endpoint: 'http://two'"),
        ("uri: 's3://b/k', fs.s3a.endpoint: one", "uri: 's3://b/k', fs.s3a.endpoint: two"),
        ("uri: 's3://b/k', fs.s3a.bucket.b.endpoint: one", "uri: 's3://b/k', fs.s3a.bucket.b.endpoint: two"),
    ],
)
def test_another_place_or_another_server_is_told(applied: str, desired: str) -> None:
    assert said(applied, desired) == ELSEWHERE


@pytest.mark.parametrize(
    ("applied", "desired"),
    [
        ("uri: lake", "uri: lake/"),
        ("uri: lake", "uri: ./x/../lake"),
        ("uri: 's3://b/k'", "uri: 's3a://b/k/'"),
        ("uri: 's3://b/k', aws_endpoint: 'http://one'", "uri: 's3://b/k', fs.s3a.endpoint: 'http://one/'"),
        ("uri: 's3://b/k', fs.s3a.connection.maximum: 5", "uri: 's3://b/k', fs.s3a.connection.maximum: 6"),
    ],
)
def test_another_spelling_or_option_is_no_other_place(applied: str, desired: str) -> None:
    assert said(applied, desired) == ""


def test_a_sink_that_was_to_be_emptied_is_the_new_one() -> None:
    assert said("uri: lake", "uri: other", ", on_bootstrap: truncate") == ELSEWHERE + EMPTIED
