"""Golden plans: tests/golden/<claim>/{applied,desired}/ are the files of a pipeline before and after; plan.txt and
plan.json are the plan between them. A folder without `applied` is a first apply, one without `desired` a removal. A
`policy.yaml` beside the two is the policy of the base branch. `other` has the files of pipeline `other`, which is read, in
the same two folders.

claim.md says what the folder shows; its lines `> seed: …` quote rules of the seed, word for word. The rules stand in
seed_rules.txt; those that no plan can show, in seed_rules_elsewhere.txt with the test that shows them, and why.

`RECONCILE_UPDATE_GOLDEN=1 pytest tests/golden` writes the expectations anew; read the difference before you commit it.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from reconciler.base.declarations import ForeignRelation, stricter
from reconciler.base.diagnostics import errors_among
from reconciler.diff.compare import relation_changes
from reconciler.diff.foreign import ForeignChange, seen_from_outside
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.lock import Matches, judge_lock, with_section
from reconciler.plan.make import Known, diff_between, make_plan
from reconciler.plan.markdown_form import render_markdown
from reconciler.plan.model import Plan, Policies
from reconciler.plan.operations.step import step_from_json
from reconciler.plan.text_form import render_text
from reconciler.project.manifest.policy import read_policy
from reconciler.project.manifest.read import read_manifest
from reconciler.project.manifest.verdicts import POLICY_FILE, Policy
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.project.snapshot.foreign import foreign_relation
from reconciler.project.snapshot.model import Snapshot, take_snapshot

HERE = Path(__file__).parent
CLAIMS = sorted(folder.name for folder in HERE.iterdir() if (folder / "claim.md").is_file())
UPDATE = os.environ.get("RECONCILE_UPDATE_GOLDEN") == "1"
SEED_QUOTE = re.compile(r"^> seed: (.+)$", re.MULTILINE)
READ = {".sql", ".yaml", ".py"}
SCHEMA = json.loads((HERE.parents[1] / "schemas" / "plan.schema.json").read_text())
FORM_OF_PLANS = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)


def read_snapshot(folder: Path, name: str = "shop", other: Snapshot | None = None) -> Snapshot | None:
    """The snapshot of a folder's files, or None when there is no such folder; `other` is the pipeline that it may read."""
    if not folder.is_dir():
        return None
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in READ)
    files = {f"pipelines/{name}/{file.relative_to(folder).as_posix()}": file.read_text() for file in found}
    yaml = f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: {name}}}\n"
    files.setdefault(f"pipelines/{name}/pipeline.yaml", yaml)
    read = read_manifest(f"pipelines/{name}", files, {"root": "data"})
    assert read.manifest is not None, read.diagnostics
    compiled = compile_program(read.manifest)
    if other is not None:
        known = [foreign_relation(other, key.partition(".")[2]) for key in compiled.missing]
        foreign = tuple(one for one in known if isinstance(one, ForeignRelation))
        compiled = compile_program(replace(read.manifest, foreign=foreign))
    assert not errors_among((*read.diagnostics, *compiled.diagnostics))
    return take_snapshot(compiled.program)


def read_policy_of(file: Path) -> Policy | None:
    if not file.is_file():
        return None
    read = read_policy(file.read_text())
    assert read.policy is not None, read.diagnostics
    return read.policy


@cache
def read_other(claim: str) -> tuple[Snapshot | None, Snapshot | None]:
    """Both sides of the pipeline that is read, if one is."""
    folder = HERE / claim / "other"
    return read_snapshot(folder / "applied", "other"), read_snapshot(folder / "desired", "other")


@cache
def read_plan(claim: str) -> tuple[Plan, Snapshot | None, Snapshot | None]:
    before, after = read_other(claim)
    applied = read_snapshot(HERE / claim / "applied", other=before)
    desired = read_snapshot(HERE / claim / "desired", other=after)
    bootstrap = stricter(side.program.settings.bootstrap_policy for side in (applied, desired) if side is not None)
    policies = Policies(bootstrap, policy=read_policy_of(HERE / claim / POLICY_FILE))
    changes = changes_of_other(before, after, desired)
    return (
        make_plan("shop", "dev", applied, desired, policies, Known(diff=diff_between(applied, desired, changes))),
        applied,
        desired,
    )


def changes_of_other(
    before: Snapshot | None, after: Snapshot | None, desired: Snapshot | None
) -> Mapping[str, ForeignChange]:
    """What changed of the other pipeline, as the one that is planned sees it."""
    if before is None or after is None or desired is None:
        return {}
    found = {f"other.{key}": change for key, change in relation_changes(before, after).items()}
    known = desired.program.foreign
    return {key: seen_from_outside("other", known[key], change) for key, change in found.items() if key in known}


def expect(path: Path, text: str) -> None:
    if UPDATE:
        path.write_text(text)
    assert path.read_text() == text, f"{path}: if this is what you meant: RECONCILE_UPDATE_GOLDEN=1 pytest tests/golden"


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_plan_is_as_expected(claim: str) -> None:
    plan, _, _ = read_plan(claim)
    expect(HERE / claim / "plan.txt", render_text(plan))
    value = plan_to_json(plan)
    expect(HERE / claim / "plan.json", json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    FORM_OF_PLANS.validate({"form": "reconciler/plans/v1", "plans": [value]})
    assert len(render_markdown(plan)) <= 65_536


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_the_registry_gives_back_plans_the_same(claim: str) -> None:
    plan, applied, desired = read_plan(claim)
    stored = take_snapshot(decode_program(encode_program(applied.program))) if applied else None
    before, after = read_other(claim)
    diff = diff_between(stored, desired, changes_of_other(before, after, desired))
    again = make_plan("shop", "dev", stored, desired, plan.policies, Known(diff=diff))
    assert render_text(again) == render_text(plan)
    assert again.digest == plan.digest


@pytest.mark.parametrize("claim", CLAIMS)
def test_planning_after_the_apply_is_empty(claim: str) -> None:
    plan, _, desired = read_plan(claim)
    if desired is None:
        return
    stored = take_snapshot(decode_program(encode_program(desired.program)))
    again = make_plan("shop", "dev", stored, desired, plan.policies)
    assert again.changes_nothing
    assert again.applied_digest == plan.desired_digest


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_lock_of_a_plan_matches_it_and_steps_survive_the_journal(claim: str) -> None:
    plan, _, _ = read_plan(claim)
    assert tuple(step_from_json(step.to_json()) for step in plan.steps) == plan.steps
    if not plan.is_empty:
        text = with_section(None, plan, "1", "shop", "dev")
        assert judge_lock(text, plan, "1") == Matches()


def test_there_are_claims() -> None:
    assert len(CLAIMS) >= 120


def test_every_rule_of_the_seed_is_quoted_by_the_claim_that_shows_it() -> None:
    rules = (HERE / "seed_rules.txt").read_text().splitlines()
    quotes = [quote for claim in CLAIMS for quote in SEED_QUOTE.findall((HERE / claim / "claim.md").read_text())]
    elsewhere = (HERE / "seed_rules_elsewhere.txt").read_text().splitlines()
    for reason in elsewhere[1::2]:
        file, _, why = reason.strip().partition(": ")
        assert why
        assert (HERE.parents[1] / file).is_file(), file
    assert [rule for rule in elsewhere[::2] if rule not in rules] == []
    assert [rule for rule in rules if rule not in elsewhere[::2] and not any(rule in quote for quote in quotes)] == []
