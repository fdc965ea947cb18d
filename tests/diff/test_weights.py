"""Every setting of the schemas has a weight, and weighs that in a plan: each is changed by itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.schema_files import schema
from reconciler.connectors.catalogue import SCHEMA_FILE, TRANSPORTS
from reconciler.diff.weights import BESIDE_THE_MEANING, OF_CONNECTORS, OF_PIPELINES, Weight, in_force
from reconciler.plan.make import make_plan
from reconciler.plan.model import Plan, Policies
from reconciler.plan.text_form import render_text
from tests.diff.test_hidden_changes import snapshot

SQL = """\
CREATE TABLE t (x INT);
CREATE FUNCTION f(a INT) RETURNS INT AS a + 1;
CREATE VIEW v AS SELECT x FROM t;
"""
INPUT = "transport: {name: file_input, config: {path: /in}}, format: {name: json, config: {update_format: insert_delete}}"
FILES = "transport: {name: file_output, config: {path: /out}}, format: {name: json, config: {update_format: insert_delete}}"
RAW = FILES.replace("insert_delete", "raw")
DELTA = "transport: {name: delta_table_output, config: {uri: /out}}"


def connectors(*said: str) -> str:
    return f"connectors: [{', '.join(f'{{{one}}}' for one in said)}]"


def history(more: str = "") -> str:
    return f"name: history, table: t, {INPUT}{more}"


def live(more: str = "") -> str:
    return f"name: live, table: t, {INPUT}{more}"


def out(more: str = "", to: str = FILES) -> str:
    return f"name: out, view: v, {to}{more}"


def plan_of(applied: str, desired: str) -> Plan:
    sides = [snapshot(SQL, f"spec: {{{one}}}") for one in (applied, desired)]
    return make_plan("shop", "dev", *sides, Policies(BootstrapPolicy.AWAIT_APPROVAL))


def paths(part: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The paths of a schema's settings: a `*` stands for what an author names."""
    more = part.get("additionalProperties")
    inner = dict(part.get("properties", {})) | ({"*": more} if isinstance(more, Mapping) and "properties" in more else {})
    if not inner:
        yield path
    for name, below in inner.items():
        yield from paths(below, f"{path}.{name}".lstrip("."))


def test_each_setting_of_the_schemas_has_a_weight() -> None:
    assert set(OF_CONNECTORS) == set(schema(SCHEMA_FILE)["properties"])
    assert set(OF_PIPELINES) == set(paths(schema("pipeline.schema.json")))


def test_what_does_not_reset_a_connector_is_weighed() -> None:
    for transport in TRANSPORTS.values():
        for name in transport.resets_nothing:
            assert OF_CONNECTORS[name] not in (Weight.MEANING, Weight.NAMING), name
            assert OF_CONNECTORS[name] is not Weight.SAFEGUARD or name in BESIDE_THE_MEANING


WAITS = connectors(history(", labels: [h]"), live(", start_after: h"))
TOGETHER = connectors(history(", labels: [h]"), live())
INPUTS = connectors(history(), live())
OTHER, AFTER = history(", labels: [h]").replace("history", "other"), live(", start_after: h")

# By setting of a connector: applied, desired, and what is loosened. The other way round, a safeguard is tightened.
OF_A_CONNECTOR: list[tuple[str, str, str, str | None]] = [
    ("columns", connectors(live()), connectors(live(", columns: {x: {source: y}}")), None),
    ("description", connectors(live()), connectors(live(", description: what comes")), None),
    ("format", connectors(live()), connectors(live().replace("insert_delete", "raw")), None),
    ("labels", connectors(history(", labels: [h]"), OTHER, AFTER), connectors(history(), OTHER, AFTER),
     "start_after of t.live: t.history, t.other → t.other"),
    ("max_batch_size", connectors(live()), connectors(live(", max_batch_size: 2")), None),
    ("max_queued_records", connectors(live()), connectors(live(", max_queued_records: 2")), None),
    ("max_rejected", connectors(live(", max_rejected: 3")), connectors(live(", max_rejected: 100000")),
     "max_rejected of t.live: 3 → 100000"),
    ("max_rejected", connectors(live(", max_rejected: 3")), connectors(live()), "max_rejected of t.live: 3 → 100"),
    ("late_rows", connectors(live()), connectors(live(", late_rows: dead_letters")), None),
    ("on_bootstrap", connectors(out()), connectors(out(", on_bootstrap: silent")),
     "on_bootstrap of v.out: changes → silent"),
    ("on_bootstrap", connectors(out(to=DELTA)), connectors(out(", on_bootstrap: full", DELTA)),
     "on_bootstrap of v.out: changes → full"),
    ("on_bootstrap", connectors(out(", on_bootstrap: changes")), connectors(out(", on_bootstrap: truncate")),
     "on_bootstrap of v.out: changes → truncate"),
    ("on_bootstrap", connectors(out(to=RAW)), connectors(out(", on_bootstrap: silent", RAW)),
     "on_bootstrap of v.out: full → silent"),
    ("paused", connectors(live()), connectors(live(", paused: true")), "paused of t.live: false → true"),
    ("send_snapshot", connectors(out()), connectors(out(", send_snapshot: true")), None),
    ("start_after", WAITS, TOGETHER, "start_after of t.live: t.history → no input"),
    ("transport", connectors(live()), connectors(live().replace("/in", "/elsewhere")), None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "applied", "desired", "loosened"), OF_A_CONNECTOR)
def test_a_setting_of_a_connector_weighs_as_much(name: str, applied: str, desired: str, loosened: str | None) -> None:
    weigh(OF_CONNECTORS[name], name, applied, desired, loosened)


def test_each_setting_of_a_connector_is_tried() -> None:
    tried = {name for name, *_ in OF_A_CONNECTOR}
    assert tried == {name for name, weight in OF_CONNECTORS.items() if weight is not Weight.NAMING}


KEEP = "retention: {versions: 5, keep: 5d, steps: 9d, checkpoints: 9d}"

# By setting of pipeline.yaml's spec: applied, desired.
OF_A_PIPELINE: list[tuple[str, str, str, str | None]] = [
    ("spec.bootstrap_policy", "", "bootstrap_policy: allow", "bootstrap_policy of shop: await_approval → allow"),
    ("spec.evolution", "", "evolution: evolve", "evolution of t: clear → evolve"),
    ("spec.functions.*.description", "", "functions: {f: {description: more by one}}", None),
    ("spec.retention.checkpoints", KEEP, KEEP.replace("checkpoints: 9d", "checkpoints: 1d"), "retention of shop: "),
    ("spec.retention.keep", KEEP, KEEP.replace("keep: 5d", "keep: 1d"), "retention of shop: "),
    ("spec.retention.steps", KEEP, KEEP.replace("steps: 9d", "steps: 1d"), "retention of shop: "),
    ("spec.retention.versions", KEEP, KEEP.replace("versions: 5", "versions: 1"), "retention of shop: "),
    ("spec.runtime.checkpoint_interval", "", "runtime: {checkpoint_interval: 5m}", None),
    ("spec.runtime.driver_memory", "", "runtime: {driver_memory: 2g}", None),
    ("spec.runtime.memory", "", "runtime: {memory: 2g}", None),
    ("spec.runtime.shuffle_partitions", "", "runtime: {shuffle_partitions: 4}", None),
    ("spec.runtime.spark", "", "runtime: {spark: {spark.sql.session.timeZone: Asia/Tokyo}}", None),
    ("spec.runtime.workers", "", "runtime: {workers: 2}", None),
    ("spec.tables.*.columns.*.source", connectors(live()),
     f"tables: {{t: {{columns: {{x: {{source: y}}}}}}}}, {connectors(live())}", None),
    ("spec.tables.*.description", "", "tables: {t: {description: rows}}", None),
    ("spec.tables.*.evolution", "", "tables: {t: {evolution: evolve}}", "evolution of t: clear → evolve"),
    ("spec.tables.*.protect", "tables: {t: {protect: true}}", "", "protect of t: true → false"),
    ("spec.tables.*.retention.keep", "tables: {t: {retention: {keep: 9d}}}", "tables: {t: {retention: {keep: 1d}}}",
     "retention of t: "),
    ("spec.tables.*.retention.versions", "", "tables: {t: {retention: {versions: 1}}}", "retention of t: "),
    ("spec.tables.*.used_by", "tables: {t: {used_by: [tax]}}", "", "used_by of t: tax → nobody"),
    ("spec.versions.reads", "", "versions: {reads: true}", None),
    ("spec.views.*.description", "", "views: {v: {description: rows}}", None),
    ("spec.views.*.protect", "views: {v: {protect: true}}", "", "protect of v: true → false"),
    ("spec.views.*.retention.keep", "views: {v: {retention: {keep: 9d}}}", "views: {v: {retention: {keep: 1d}}}",
     "retention of v: "),
    ("spec.views.*.retention.versions", "", "views: {v: {retention: {versions: 1}}}", "retention of v: "),
    ("spec.views.*.used_by", "views: {v: {used_by: [tax]}}", "", "used_by of v: tax → nobody"),
]  # fmt: skip
ELSEWHERE = {
    # Of the head, and with Python: tests/acceptance and tests/diff/test_functions.py.
    "metadata.description", "metadata.owner", "metadata.tags",
    "spec.functions.*.deterministic", "spec.functions.*.on_error", "spec.functions.*.requirements",
    # What its entries mean: tests/streams.
    "spec.streams",
    # What was recorded: tests/versions, tests/retention.
    "spec.functions.*.version", "spec.tables.*.version", "spec.views.*.version", "spec.views.*.versions.*.maintain",
    # What it makes of a view: tests/project/manifest/test_stored_views.py.
    "spec.views.*.stored",
}  # fmt: skip


@pytest.mark.parametrize(("path", "applied", "desired", "loosened"), OF_A_PIPELINE)
def test_a_setting_of_a_pipeline_weighs_as_much(path: str, applied: str, desired: str, loosened: str | None) -> None:
    name = path.rpartition(".")[2]
    name = {"reads": "versions.reads", "shuffle_partitions": "spark.sql.shuffle.partitions"}.get(name, name)
    weigh(OF_PIPELINES[path], path.split(".")[1] if ".retention." in path else name, applied, desired, loosened)


def test_each_setting_of_a_pipeline_is_tried() -> None:
    tried = {path for path, *_ in OF_A_PIPELINE} | ELSEWHERE
    assert tried == {path for path, weight in OF_PIPELINES.items() if weight is not Weight.NAMING}


def weigh(weight: Weight, name: str, applied: str, desired: str, loosened: str | None) -> None:
    plan, back = plan_of(applied, desired), plan_of(desired, applied)
    texts = render_text(plan), render_text(back)
    match weight:
        case Weight.MEANING:
            assert not plan.diff.keeps_meaning
            assert not back.diff.keeps_meaning
        case Weight.SAFEGUARD:
            assert loosened is not None
            assert plan.diff.keeps_meaning
            assert not plan.is_empty
            assert plan.needs_approval
            assert f"  ~ {loosened}" in texts[0]
            assert any(loosened in hazard.message for hazard in plan.hazards)
        case Weight.VALUE | Weight.WORDS:
            assert plan.is_empty
            assert back.is_empty
            assert not plan.needs_approval
            assert not plan.hazards
            for text in texts:
                assert " of " in text
                assert name in text
                assert (" → " in text) or weight is Weight.WORDS
        case Weight.NAMING:
            raise AssertionError(name)


@pytest.mark.parametrize(
    ("applied", "desired"),
    [
        (connectors(live(", paused: true")), connectors(live())),
        (connectors(live()), connectors(live(", paused: false"))),
        (connectors(live(", max_rejected: 100000")), connectors(live())),
        (connectors(live()), connectors(live(", max_rejected: 0"))),
        (connectors(live()), connectors(live(", max_rejected: 100"))),
        (connectors(out(", on_bootstrap: silent")), connectors(out())),
        (connectors(out(", on_bootstrap: truncate")), connectors(out(", on_bootstrap: changes"))),
        (connectors(out(to=RAW)), connectors(out(", on_bootstrap: full", RAW))),
        (INPUTS, TOGETHER),
    ],
)
def test_what_is_tightened_or_counts_alike_needs_no_approval(applied: str, desired: str) -> None:
    plan = plan_of(applied, desired)
    assert plan.is_empty
    assert not plan.hazards
    assert not plan.changes_nothing


def test_more_to_wait_for_is_loosened_too() -> None:
    (one,) = plan_of(TOGETHER, WAITS).diff.loosened
    assert (one.subject, one.applied, one.desired) == ("t.live", "no input", "t.history")


@pytest.mark.parametrize("moved", ["moved: [{from: t, to: u}]", "moved: [{from: t, to: u}, {from: t.live, to: u.now}]"])
def test_a_rename_hides_nothing(moved: str) -> None:
    name = "now" if "now" in moved else "live"
    text = connectors(f"name: {name}, table: u, {INPUT}, paused: true, max_batch_size: 2")
    sides = (
        snapshot(SQL, f"spec: {{{connectors(live())}}}"),
        snapshot(SQL.replace(" t ", " u ").replace(" t;", " u;"), f"spec: {{{moved}, {text}}}"),
    )
    plan = make_plan("shop", "dev", *sides, Policies(BootstrapPolicy.AWAIT_APPROVAL))
    assert [(one.subject, one.safeguard.value) for one in plan.diff.loosened] == [(f"u.{name}", "paused")]
    assert f"max_batch_size of u.{name}: not set → 2" in render_text(plan)


def test_values_that_may_be_secret_are_not_shown() -> None:
    plan = plan_of(connectors(live(", labels: [a]")), connectors(live(', labels: ["${secret:A}"]')))
    assert "labels of t.live" in render_text(plan)
    assert "secret" not in render_text(plan)


def test_an_approval_of_a_new_connector_is_of_what_it_says() -> None:
    digests = {
        plan_of("", connectors(said)).digest
        for said in (live(), live(", max_rejected: 100000"), live(", paused: true"), live(", max_rejected: 5"))
    }
    assert len(digests) == 4
    assert plan_of("", connectors(live(", max_rejected: 100"))).digest == plan_of("", connectors(live())).digest


def test_an_approval_is_of_what_outputs_send() -> None:
    """What an output sends of a view that is computed anew, or when it starts over, is part of what was approved."""

    def digest(said: str) -> str:
        return plan_of(connectors(out(", on_bootstrap: silent")), connectors(out(said).replace("/out", "/other"))).digest

    assert len({digest(", on_bootstrap: silent"), digest(""), digest(", on_bootstrap: silent, send_snapshot: true")}) == 3


def test_what_is_in_force_is_json() -> None:
    settings = {"transport": {"name": "file_output"}, "start_after": "a"}
    assert json.dumps([in_force(settings, name) for name in BESIDE_THE_MEANING]) == (
        '[null, 100, "full", false, false, ["a"]]'
    )
