"""The console without a browser: what its pages say, and what its forms do. `test_browser.py` looks at it as people do."""

import html
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import requests
from feldera import Pipeline
from feldera.enums import BootstrapPolicy, PipelineStatus

from reconciler.base.version import __version__
from reconciler.environment.target import open_target
from reconciler.rest.console.graph import draw
from reconciler.rest.console.views import side_by_side
from reconciler.rest.processes import lines_of
from reconciler.service.project import Project
from reconciler.workspace.desired import validate_pipeline
from tests.rest.conftest import Serving, new_repository
from tests.waiting import wait_until

TABLE = "CREATE TABLE items (id BIGINT);\n"
VIEW = "CREATE VIEW counted AS SELECT COUNT(*) AS n FROM items;"


def page(service: Serving, path: str, status: int = 200) -> str:
    answer = requests.get(service.address + path, timeout=60)
    assert answer.status_code == status, answer.text
    return html.unescape(answer.text)


def act(service: Serving, name: str, what: str, status: int = 200, **form: str) -> str:
    answer = requests.post(f"{service.address}/console/pipelines/{name}/{what}", data=form, timeout=120)
    assert answer.status_code == status, answer.text
    return html.unescape(answer.text)


def changed(service: Serving, name: str) -> Pipeline:
    """A pipeline whose start awaits the approval of a changed view."""
    pipeline = service.pipeline(name, TABLE + VIEW)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (1)")
    pipeline.stop(force=True)
    pipeline.modify(sql=TABLE + VIEW.replace("COUNT(*)", "COUNT(id)"))
    pipeline.start()
    return pipeline


def digest_in(text: str) -> str:
    (found,) = set(re.findall(r'name="digest" value="(sha256:[0-9a-f]+)"', text))
    return found


def overriding(text: str) -> str:
    """What is sent where it is ticked that rejections are overruled."""
    (found,) = re.findall(r'name="override" value="(\[.*?\])"', text)
    return str(found)


def test_a_plan_is_approved(service: Serving) -> None:
    pipeline = changed(service, "console-approved")
    assert "needs approval" in page(service, "/")
    shown = page(service, "/console/pipelines/console-approved/plan")
    assert "~</code> <strong>view counted" in shown
    assert "COUNT(*)" in shown
    assert "COUNT(id)" in shown
    assert "plan.lock" not in shown, "nobody writes one for a pipeline of the API"
    act(service, "console-approved", "approve", 400, digest="sha256:" + "0" * 64, by="ann")
    said = act(service, "console-approved", "approve", digest=digest_in(shown), by="ann", comment="looks right")
    assert "ann approved the plan" in said
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    history = page(service, "/console/pipelines/console-approved/history")
    assert "recorded" in history
    assert "nothing would change" in page(service, "/console/pipelines/console-approved/plan")
    pipeline.stop(force=True)


def test_a_plan_of_connectors_and_settings_is_shown_whole(service: Serving) -> None:
    out = {
        "name": "out",
        "transport": {"name": "file_output", "config": {"path": str(service.root / "out")}},
        "format": {"name": "json"},
    }
    shown = "CREATE VIEW shown {} AS SELECT id FROM items;"
    pipeline = service.pipeline("console-connectors", TABLE + shown.format(""))
    pipeline.start()
    pipeline.stop(force=True)
    with_output = shown.format(f"WITH ('connectors' = '{json.dumps([out])}')")
    pipeline.modify(sql=TABLE + with_output, description="with an output")
    text = page(service, "/console/pipelines/console-connectors/plan")
    assert "+</code> <strong>output connector shown.out</strong>" in text
    assert f"writes to {service.root}/out" in text
    assert "<strong>shown.out</strong> sends only new changes: " in text
    assert "description of console-connectors" in text


@pytest.fixture
def asks_readers(service: Serving) -> Iterator[None]:
    """A policy by which two people approve that a view goes."""
    rules = "[{hazard: H903, verdict: approve, reason: ask its readers}]"
    policy = service.root / "policy.yaml"
    policy.write_text(f"apiVersion: reconciler/v1\nkind: Policy\nrules: {rules}\n")
    yield
    policy.unlink()


@pytest.mark.usefixtures("asks_readers")
def test_an_approval_that_is_not_enough_says_what_is_missing(service: Serving) -> None:
    pipeline = service.pipeline("console-missing", TABLE + VIEW)
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=TABLE)
    pipeline.start()
    digest = digest_in(page(service, "/console/pipelines/console-missing/plan"))
    said = act(service, "console-missing", "approve", digest=digest, by="ann")
    assert "ann approved the plan; it still waits: " in said
    assert "Missing: 1" in said
    assert "being carried out" not in said
    assert "ben approved the plan; it is being carried out" in act(
        service, "console-missing", "approve", digest=digest, by="ben"
    )
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    pipeline.stop(force=True)


def test_a_plan_is_rejected(service: Serving) -> None:
    pipeline = changed(service, "console-rejected")
    digest = digest_in(page(service, "/console/pipelines/console-rejected/plan"))
    act(service, "console-rejected", "reject", 409, digest="sha256:" + "0" * 64, by="bob")
    assert "bob rejected the plan" in act(service, "console-rejected", "reject", digest=digest, by="bob", comment="not now")
    assert pipeline.status() == PipelineStatus.STOPPED
    assert "rejected by bob: not now" in page(service, "/console/pipelines/console-rejected/plan")
    assert "not now" in page(service, "/console/pipelines/console-rejected/history")
    # A start waits for it again; what others think of it is no secret to who approves.
    pipeline.start()
    assert "bob rejected this plan: not now" in act(service, "console-rejected", "approve", 400, digest=digest, by="ann")
    shown = overriding(page(service, "/console/pipelines/console-rejected/plan"))
    # Whoever ticks overrules what the page showed, and nothing that came since.
    files = Project.open(service.root).pipeline("console-rejected")
    files.reject(digest, "nor on Friday", by="carl")
    said = act(service, "console-rejected", "approve", 400, digest=digest, by="ann", override=shown)
    assert "carl rejected this plan: nor on Friday" in said
    assert "bob" not in said
    assert [one.by for one in files.status().rejections] == ["bob", "carl"]
    act(service, "console-rejected", "approve", 400, digest=digest, by="ann", override="yes")
    shown = overriding(page(service, "/console/pipelines/console-rejected/plan"))
    act(service, "console-rejected", "approve", digest=digest, by="ann", override=shown)
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    pipeline.stop(force=True)


def test_a_pipeline_is_started_paused_and_stopped(service: Serving) -> None:
    pipeline = service.pipeline("console-acted", TABLE + VIEW)
    assert "the pipeline starts" in act(service, "console-acted", "start")
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    assert pipeline.bootstrap_policy() == BootstrapPolicy.AWAIT_APPROVAL
    act(service, "console-acted", "pause")
    pipeline.wait_for_status(PipelineStatus.PAUSED, timeout=60)
    act(service, "console-acted", "resume")
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    act(service, "console-acted", "connector", connector="items.api_ingress", do="pause")
    assert "Start items.api_ingress" in page(service, "/console/pipelines/console-acted")
    act(service, "console-acted", "connector", 404, connector="items.none", do="pause")
    act(service, "console-acted", "stop")
    pipeline.wait_for_status(PipelineStatus.STOPPED, timeout=60)
    assert "start it first" in act(service, "console-acted", "pause", 400)
    assert "nothing that can be done" in act(service, "console-acted", "dance", 404)
    assert "Unknown pipeline" in page(service, "/console/pipelines/nowhere", 404)


def test_what_fails_and_what_became_no_row_is_found(service: Serving) -> None:
    folder = service.root / "letters"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1}\n{"id": "<b>no number</b>"}\n')
    files = {
        "name": "files",
        "transport": {"name": "file_input", "config": {"path": str(folder)}},
        "format": {"name": "json"},
    }
    pipeline = service.pipeline(
        "console-failing", f"CREATE TABLE items (id BIGINT) WITH ('connectors' = '{json.dumps([files])}');" + VIEW
    )
    pipeline.start()
    wait_until(lambda: "no number" in page(service, "/console/pipelines/console-failing/dead_letters"))
    raw = requests.get(f"{service.address}/console/pipelines/console-failing/dead_letters", timeout=60).text
    assert "<b>no number" not in raw
    (folder / "a.json").write_text("{}\n" * 100)
    wait_until(lambda: "X711" in page(service, "/"))
    assert "changed after it was read" in page(service, "/console/pipelines/console-failing")
    pipeline.stop(force=True)


def test_a_version_is_rolled_back(service: Serving) -> None:
    pipeline = changed(service, "console-rolled")
    pipeline.approve()
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    assert "rollback to version 0 of counted" in page(service, "/console/pipelines/console-rolled/versions?of=counted")
    shown = page(service, "/console/pipelines/console-rolled/rollback?version=counted@v0")
    assert f"reconciler {__version__} " in shown
    assert "~</code> <strong>view counted" in shown
    assert "Nothing was changed yet" in shown
    act(service, "console-rolled", "rollback", 400, version="counted@v0", by="ann")
    assert "Rolled back" not in page(service, "/console/pipelines/console-rolled")
    said = act(service, "console-rolled", "rollback", version="counted@v0", by="ann", digest=digest_in(shown))
    assert "counted@v0: " in said
    assert "Rolled back" in page(service, "/console/pipelines/console-rolled")
    assert "Carry this plan out" not in page(service, "/console/pipelines/console-rolled/rollback?version=counted@v0")
    assert "A522" in page(service, "/console/pipelines/console-rolled/rollback?version=counted@v7", 404)
    end = digest_in(page(service, "/console/pipelines/console-rolled/rollback?version=counted&end=yes"))
    act(service, "console-rolled", "rollback", version="counted", end="yes", by="ann", digest=end)
    assert "Rolled back" not in page(service, "/console/pipelines/console-rolled")
    pipeline.stop(force=True)


def test_a_rollback_whose_plan_is_another_by_now_is_shown_anew(service: Serving) -> None:
    pipeline = changed(service, "console-moved")
    pipeline.approve()
    pipeline.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    place = "/console/pipelines/console-moved/rollback?version=counted@v0"
    shown = digest_in(page(service, place))
    pipeline.stop(force=True)
    pipeline.modify(sql=TABLE + VIEW.replace("COUNT(*)", "MAX(id)"))
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    said = act(service, "console-moved", "rollback", version="counted@v0", by="ann", digest=shown)
    assert "nothing was carried out" in said
    assert digest_in(said) == digest_in(page(service, place)) != shown
    assert "Rolled back" not in page(service, "/console/pipelines/console-moved")
    pipeline.stop(force=True)


def test_queries_are_answered_and_only_read(service: Serving) -> None:
    pipeline = service.pipeline("console-queried", TABLE + VIEW)
    pipeline.start()
    pipeline.execute("INSERT INTO items VALUES (41), (42)")
    assert "<td>42</td>" in page(service, "/console/pipelines/console-queried/query?sql=SELECT+*+FROM+items")
    assert "X722" in page(service, "/console/pipelines/console-queried/query?sql=SELECT+*+FROM+nowhere")
    assert "only reads" in page(service, "/console/pipelines/console-queried/query?sql=DELETE+FROM+items")
    pipeline.stop(force=True)


def test_a_page_is_told_when_something_changed(service: Serving) -> None:
    pipeline = service.pipeline("followed", TABLE)
    with requests.get(f"{service.address}/console/changes?of=followed", stream=True, timeout=60) as answer:
        lines = answer.iter_lines(decode_unicode=True)
        assert next(lines) == ": listening"
        pipeline.start()
        assert next(line for line in lines if line.startswith("data")) == "data: changed"
    pipeline.stop(force=True)


@pytest.mark.parametrize("path", ["/", "/console/pipelines/x/plan", "/static/console.js"])
def test_pages_of_other_sites_get_no_page(service: Serving, path: str) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert requests.get(service.address + path, headers=headers, timeout=60).status_code == 403
        assert requests.post(service.address + path, headers=headers, timeout=60).status_code == 403


def test_a_page_holds_nothing_from_elsewhere(service: Serving) -> None:
    answer = requests.get(service.address, timeout=60)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", answer.text)


def test_five_hundred_views_are_drawn_around_one(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "large")
    folder = root / "pipelines" / "large"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: large}\n")
    views = [f"CREATE VIEW v{n} AS SELECT id FROM {'items' if n < 10 else f'v{n - 10}'};" for n in range(500)]
    (folder / "program.sql").write_text(TABLE + "\n".join(views))
    program = validate_pipeline(open_target(root, None), "large").program
    assert program is not None
    graph = draw(program, "v100")
    assert {node.name for node in graph.nodes} == {"v80", "v90", "v100", "v110", "v120"}
    assert [node.x for node in sorted(graph.nodes, key=lambda node: int(node.name[1:]))] == [0, 230, 460, 690, 920]
    assert graph.all == 501
    assert draw(program, "nowhere").nodes
    assert len(draw(program, None).nodes) < 100


def test_texts_are_laid_side_by_side() -> None:
    found = side_by_side("SELECT\n  a,\n  b\nFROM t", "SELECT\n  a,\n  c,\n  d\nFROM t")
    assert [(one.before.strip(), one.after.strip(), one.differs) for one in found] == [
        ("SELECT", "SELECT", False),
        ("a,", "a,", False),
        ("b", "c,", True),
        ("", "d", True),
        ("FROM t", "FROM t", False),
    ]


def test_credentials_are_masked_as_commands_mask_them(service: Serving) -> None:
    sql = TABLE.replace("id BIGINT", "id BIGINT, name VARCHAR")
    view = "CREATE VIEW counted AS SELECT COUNT(*) AS n FROM items WHERE name = '{}';"
    pipeline = service.pipeline("console-masked", sql + view.format("password=hunter21"))
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.modify(sql=sql + view.format("password=hunter22"))
    pipeline.start()
    shown = page(service, "/console/pipelines/console-masked/plan")
    assert "hunter2" not in shown
    assert "***2" in shown
    answer = requests.get(f"{service.address}/v0/pipelines/console-masked/support_bundle", timeout=60)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as bundle:
        texts = {name.rpartition("/")[2]: bundle.read(name).decode() for name in bundle.namelist()}
    assert "SELECT COUNT(*)" in texts["pipeline_config.json"]
    assert not [name for name, text in texts.items() if "hunter2" in text]
    pipeline.stop(force=True)


def test_of_a_long_answer_the_first_lines_are_read() -> None:
    taken: list[int] = []

    def parts() -> Iterator[bytes]:
        for number in range(100):
            taken.append(number)
            yield f"{number}a\n{number}b\n{number}".encode()

    assert [*islice(lines_of(parts()), 3)] == [b"0a", b"0b", b"01a"]
    assert taken == [0, 1]


def test_what_is_wrong_with_files_is_said_and_nothing_of_them_is_started(service: Serving) -> None:
    folder = service.root / "pipelines" / "faulty"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: faulty}\n")
    (folder / "program.sql").write_text(f"{TABLE}CREATE VIEW a AS SELECT * FROM x;\nCREATE VIEW b AS SELECT * FROM y;\n")
    for path in ("/", "/console/pipelines/faulty"):
        assert re.search(r"pipelines/faulty/program\.sql:\d:\d+: error [A-Z]\d+: .*; and 1 more", page(service, path))
    assert "/faulty/start" not in page(service, "/console/pipelines/faulty")
    (folder / "program.sql").write_text(TABLE + VIEW)
    text = page(service, "/console/pipelines/faulty")
    assert "/faulty/start" in text
    assert "What is wrong" not in text
    shutil.rmtree(folder)
