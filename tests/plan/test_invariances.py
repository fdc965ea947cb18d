"""What changes no plan: the order of statements, how they are spread over files, the order of entries in YAML, what a cache
holds. And what plans nothing: what was applied, read back from the registry."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from reconciler.base.cache import Cache, MemoryCache
from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.diagnostics import errors_among
from reconciler.base.json_objects import from_json, to_json
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.lock import with_section
from reconciler.plan.make import Known, make_plan
from reconciler.plan.markdown_form import render_markdown
from reconciler.plan.model import Plan, Policies
from reconciler.plan.text_form import render_text
from reconciler.plan.unchanged import make_unchanged_plan
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.project.snapshot.outline import Outline, outline_of
from tests.plan.small_programs import Edited, SmallProgram, edited

POLICIES = Policies(BootstrapPolicy.AWAIT_APPROVAL)
_few, _many = (settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck)) for count in (8, 60))


def snapshot_of(files: Mapping[str, str], cache: Cache | None = None) -> Snapshot:
    read = read_manifest("pipelines/shop", files, {}, cache)
    assert read.manifest is not None
    compiled = compile_program(read.manifest, cache=cache)
    assert errors_among((*read.diagnostics, *compiled.diagnostics)) == ()
    return take_snapshot(compiled.program)


def planned(applied: Snapshot, desired: Snapshot) -> Plan:
    return make_plan("shop", "dev", applied, desired, POLICIES, Known("sha256:the one before"))


def forms(plan: Plan) -> tuple[str, ...]:
    """The plan in every form, byte for byte."""
    lock = with_section(None, plan, "1", "shop", "dev") if plan.needs_approval else None
    return (
        render_text(plan),
        render_text(plan, whole=True),
        json.dumps(plan_to_json(plan)),
        render_markdown(plan),
        lock or "",
        plan.digest,
    )


@some.composite
def written_otherwise(draw: some.DrawFn, program: SmallProgram) -> dict[str, str]:
    """The files of the same program, in another order."""
    statements = draw(some.permutations([one.text for one in (*program.tables, *program.views)]))
    files: dict[str, str] = {}
    for statement in statements:
        name = f"pipelines/shop/{draw(some.sampled_from(['a', 'm', 'z']))}.sql"
        files[name] = f"{files.get(name, '')}\n-- a comment\n{statement}\n"
    moved = ", ".join(f"{{to: {new}, from: {old}}}" for old, new in draw(some.permutations(program.moved)))
    spark = ", ".join(f"{name}: '{value}'" for name, value in draw(some.permutations(program.spark)))
    parts = draw(
        some.permutations([f"runtime: {{spark: {{{spark}}}}}", f"evolution: {program.evolution}", f"moved: [{moved}]"])
    )
    heads = ["kind: Pipeline", "metadata: {name: shop}", "apiVersion: reconciler/v1", f"spec: {{{', '.join(parts)}}}"]
    yaml = "\n".join(draw(some.permutations(heads))) + "\n"
    return dict(draw(some.permutations([("pipelines/shop/pipeline.yaml", yaml), *files.items()])))


@some.composite
def rewritten(draw: some.DrawFn) -> tuple[Edited, dict[str, str], dict[str, str]]:
    case = draw(edited())
    return case, draw(written_otherwise(case.applied)), draw(written_otherwise(case.desired))


@_few
@given(rewritten())
def test_how_files_are_written_changes_no_plan(case: tuple[Edited, dict[str, str], dict[str, str]]) -> None:
    planned_alike_however_written(case)


@pytest.mark.slow
@_many
@given(rewritten())
def test_how_files_are_written_changes_no_plan_in_many_more_cases(
    case: tuple[Edited, dict[str, str], dict[str, str]],
) -> None:
    planned_alike_however_written(case)


def planned_alike_however_written(case: tuple[Edited, dict[str, str], dict[str, str]]) -> None:
    one, applied, desired = case
    plan = planned(snapshot_of(one.applied.files), snapshot_of(one.desired.files))
    assert forms(planned(snapshot_of(applied), snapshot_of(desired))) == forms(plan)


@_few
@given(edited())
def test_what_was_applied_plans_nothing_when_read_back(case: Edited) -> None:
    plans_nothing_when_read_back(case)


@pytest.mark.slow
@_many
@given(edited())
def test_what_was_applied_plans_nothing_when_read_back_in_many_more_cases(case: Edited) -> None:
    plans_nothing_when_read_back(case)


def plans_nothing_when_read_back(case: Edited) -> None:
    applied, desired = snapshot_of(case.applied.files), snapshot_of(case.desired.files)
    stored = json.loads(json.dumps(encode_program(desired.program)))
    again = planned(take_snapshot(decode_program(stored)), desired)
    assert again.changes_nothing
    assert encode_program(decode_program(stored)) == stored
    before = json.loads(json.dumps(encode_program(applied.program)))
    assert forms(planned(take_snapshot(decode_program(before)), desired)) == forms(planned(applied, desired))


@_few
@given(edited())
def test_the_plan_of_an_outline_is_that_of_the_snapshot(case: Edited) -> None:
    outline_plans_as_snapshot(case)


@pytest.mark.slow
@_many
@given(edited())
def test_the_plan_of_an_outline_is_that_of_the_snapshot_in_many_more_cases(case: Edited) -> None:
    outline_plans_as_snapshot(case)


def outline_plans_as_snapshot(case: Edited) -> None:
    for program in (case.applied, replace(case.desired, moved=())):
        snapshot = snapshot_of(program.files)
        outline = from_json(Outline, json.loads(json.dumps(to_json(outline_of(snapshot)))))
        shortly = make_unchanged_plan("shop", "dev", outline, POLICIES, "sha256:the one before")
        assert shortly == planned(snapshot, snapshot)
        assert forms(shortly) == forms(planned(snapshot, snapshot))


@_few
@given(edited())
def test_a_cache_changes_no_plan(case: Edited) -> None:
    planned_alike_with_a_cache(case)


@pytest.mark.slow
@_many
@given(edited())
def test_a_cache_changes_no_plan_in_many_more_cases(case: Edited) -> None:
    planned_alike_with_a_cache(case)


def planned_alike_with_a_cache(case: Edited) -> None:
    plain = forms(planned(snapshot_of(case.applied.files), snapshot_of(case.desired.files)))
    cache = MemoryCache()
    # Desired alone, then both, then desired over what the registry gave: each finds what those before it left.
    cold = snapshot_of(case.desired.files, cache)
    for _ in range(2):
        applied = snapshot_of(case.applied.files, cache)
        assert forms(planned(applied, snapshot_of(case.desired.files, cache))) == plain
        stored = take_snapshot(decode_program(encode_program(applied.program), cache), applied.record)
        assert forms(planned(stored, cold)) == plain
