"""`reconcile plan` where something may have changed: plans made, shown in the form asked for, locked if asked for.

Apart from the command, because most runs find that nothing changed and need nothing of this.
"""

import os
from collections.abc import Mapping

from reconciler.apply.decisions import open_rejections
from reconciler.apply.planning import Planned, plan_or_programs, plan_with_programs
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EXIT_DONE, EXIT_ERROR, EXIT_PENDING, ReconcileError
from reconciler.base.pasted_commands import in_environment
from reconciler.base.version import __version__
from reconciler.cli.output import asked_environment, note, paint, say_painted, show_error, show_json, terminal_width
from reconciler.environment.source import LOCK_FILE, lock_path, pipeline_names, rewrite_text
from reconciler.environment.target import Target
from reconciler.plan.impact import Impact
from reconciler.plan.model import Plan
from reconciler.workspace.pipelines import known_pipelines

_GRAPHS = ("mermaid", "dot")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What `reconcile plan` was asked for besides plans: the form, and what its options of the same names say."""

    form: str
    whole: bool
    detailed_exitcode: bool
    write_lock: bool
    check_lock: bool


def plan_and_show(
    target: Target, pipelines: tuple[str, ...], files: Mapping[str, Mapping[str, str]], options: PlanOptions
) -> int:
    """Plan, show, lock and check; the exit code. Pipelines that can't be planned are told, and the others shown. `files`
    are those of pipelines whose files were read already."""
    found: list[Plan | Planned] = []
    failed = False
    for name in pipelines:
        try:
            found.append(_planned(target, name, options.form, files.get(name)))
        except ReconcileError as error:
            failed = True
            show_error(error)
    _show(target, found, options.form, options.whole)
    plans = [one if isinstance(one, Plan) else one.plan for one in found]
    if options.write_lock:
        for plan in plans:
            _write_lock(target, plan)
        _leave_out_removals(target)
    stale = options.check_lock and not all(_lock_is_good(target, plan) for plan in plans)
    if failed:
        return EXIT_ERROR
    changes = options.detailed_exitcode and not all(plan.is_empty for plan in plans)
    return EXIT_PENDING if stale or changes else EXIT_DONE


def _planned(target: Target, name: str, form: str, files: Mapping[str, str] | None) -> Plan | Planned:
    return plan_with_programs(target, name) if form in _GRAPHS else plan_or_programs(target, name, files)


def _show(target: Target, found: list[Plan | Planned], form: str, whole: bool) -> None:
    if form in _GRAPHS:
        _show_graphs([one for one in found if isinstance(one, Planned)], form)
        return
    measured = [_measured(target, one) for one in found]
    rejections = {plan.pipeline: open_rejections(target, plan) for plan, _ in measured}
    words = {name: [one.words for one in rejected] for name, rejected in rejections.items()}
    match form:
        case "json":
            from reconciler.plan.json_form import plan_to_json

            said = {name: [one.told for one in rejected] for name, rejected in rejections.items()}
            plans = [plan_to_json(plan, impact, said[plan.pipeline]) for plan, impact in measured]
            show_json({"form": "reconciler/plans/v1", "plans": plans})
        case "markdown":
            from reconciler.plan.markdown_form import render_comment

            impacts = {plan.pipeline: impact for plan, impact in measured if impact is not None}
            comment = render_comment([plan for plan, _ in measured], impacts=impacts, rejections=words)
            say_painted(in_environment(comment, asked_environment()), end="")
        case _:
            from reconciler.plan.text_form import render_text

            width = terminal_width()
            texts = (render_text(plan, paint, width, impact, whole, words[plan.pipeline]) for plan, impact in measured)
            say_painted("\n".join(texts), end="")


def _show_graphs(found: list[Planned], form: str) -> None:
    from reconciler.plan.graph_form import graph_of, render_dot, render_mermaid

    render = render_mermaid if form == "mermaid" else render_dot
    say_painted("\n".join(render(graph_of(one.plan, one.applied, one.desired)) for one in found), end="")


def _measured(target: Target, found: Plan | Planned) -> tuple[Plan, Impact | None]:
    """A plan and what it costs; None where nothing changes."""
    if isinstance(found, Plan):
        return found, None
    if found.plan.is_empty:
        return found.plan, None
    from reconciler.apply.impact import impact_of_planned

    return found.plan, impact_of_planned(target, found)


def _write_lock(target: Target, plan: Plan) -> None:
    from reconciler.plan.lock import with_section

    path = lock_path(target.root, plan.pipeline)
    wanted = plan if plan.needs_approval else None
    before, after = rewrite_text(
        path, target.root, lambda text: with_section(text, wanted, __version__, plan.pipeline, plan.environment)
    )
    if after != before:
        note(f"{'wrote' if after is not None else 'removed'} {path.relative_to(target.root).as_posix()}")
    if plan.is_denied:
        note(f"{plan.pipeline}: policy.yaml denies this plan; a lock can't approve it")
    elif plan.is_rejected:
        note(f"{plan.pipeline}: bootstrap_policy rejects this plan; a lock can't approve it")
    elif after == before and not plan.needs_approval:
        from reconciler.plan.words import describe_approval

        note(f"{plan.pipeline}: wrote no plan.lock; approval: {describe_approval(plan)}")


def _leave_out_removals(target: Target) -> None:
    """Take out of the lock at the root what was approved of pipelines that were removed since, or have a folder again."""
    from reconciler.plan.lock import without_sections

    path, environment = target.root / LOCK_FILE, target.environment.name
    if not os.path.lexists(path):
        return
    there, known = pipeline_names(target.root), known_pipelines(target)
    before, after = rewrite_text(
        path,
        target.root,
        lambda text: without_sections(text, lambda name, at: at == environment and (name in there or name not in known)),
    )
    if after != before:
        note(f"{'wrote' if after is not None else 'removed'} {LOCK_FILE}: it had locks of removals that are done with")


def _lock_is_good(target: Target, plan: Plan) -> bool:
    if plan.is_denied:
        note(f"{plan.pipeline}: policy.yaml denies this plan; a lock can't approve it")
        return False
    if not plan.needs_approval:
        return True
    from reconciler.apply.requiring_approval import describe_lock, read_lock_state
    from reconciler.plan.lock import Matches

    state = read_lock_state(target, plan)
    if isinstance(state, Matches):
        return True
    note(f"{plan.pipeline}: {describe_lock(state)}; run: reconcile plan {plan.pipeline} --write-lock")
    return False
