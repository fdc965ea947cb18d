"""docs/plans.md shows what the forms really give for the pipeline that stands in it; digests aside.

`RECONCILE_UPDATE_GOLDEN=1 pytest tests/plan/test_plans_page.py` writes the page's results anew.
"""

import json
import os
import re
from pathlib import Path

from reconciler.plan.graph_form import graph_of, render_dot, render_mermaid
from reconciler.plan.impact import Measure, make_impact
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_markdown
from reconciler.plan.model import Policies
from reconciler.plan.text_form import render_text
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from tests.docs.pages import blocks

PAGE = Path(__file__).parents[2] / "docs" / "plans.md"
MEASURES = {
    "orders": Measure(1_200_000, 340_000_000),
    "revenue": Measure(48_000, 1_100_000, 31.0, 1_200_000),
    "good_customers": Measure(9_000, 90_000, 2.0, 48_000),
}


def snapshot_of(side: str) -> Snapshot:
    files = {
        f"pipelines/shop/{block.file.removeprefix(f'{side}/')}": block.text
        for block in blocks(PAGE.read_text("utf-8"))
        if block.file is not None and block.file.startswith((f"{side}/", "pipeline.yaml"))
    }
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None, read.diagnostics
    return take_snapshot(compile_program(read.manifest).program)


def results() -> dict[str, str]:
    applied, desired = snapshot_of("applied"), snapshot_of("desired")
    policies = Policies(desired.program.settings.bootstrap_policy)
    plan = make_plan("shop", "prod", applied, desired, policies)
    impact = make_impact(plan, applied.program, desired.program, MEASURES)
    graph = graph_of(plan, applied.program, desired.program)
    value = plan_to_json(plan, impact)
    return {
        "text": render_text(plan, impact=impact),
        "markdown": render_markdown(plan, impact=impact),
        "json": json.dumps(value["relations"][0], indent=2, ensure_ascii=False) + "\n",
        "mermaid": render_mermaid(graph),
        "dot": render_dot(graph),
    }


def without_digests(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b", "…", text)


def test_the_page_shows_what_the_forms_give() -> None:
    page = PAGE.read_text("utf-8")
    found = results()
    if os.environ.get("RECONCILE_UPDATE_GOLDEN") == "1":
        for form, text in found.items():
            fence = "````" if "```" in text else "```"
            page = re.sub(
                rf"(<!-- form: {form} -->\n)(`{{3,}})[^`]*?\n.*?\n\2$",
                lambda match, form=form, text=text, fence=fence: f"{match[1]}{fence}{form}\n{text}{fence}",
                page,
                flags=re.MULTILINE | re.DOTALL,
            )
        PAGE.write_text(page, "utf-8")
    shown = re.findall(r"<!-- form: (\w+) -->\n(`{3,})\w*\n(.*?)^\2$", page, re.MULTILINE | re.DOTALL)
    assert [form for form, _, _ in shown] == list(found)
    for form, _, text in shown:
        assert without_digests(text) == without_digests(found[form]), form
