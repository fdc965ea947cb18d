"""Outputs follow the published step: pinned, written, ticked off; after an apply they go on as the plan said."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import LeaseHeld
from reconciler.plan.model import Outcome
from reconciler.plan.text_form import render_text
from reconciler.registry.model import OutputState, Published, Sending
from reconciler.registry.placements import Placement
from reconciler.run.emitting import pin_emissions, ticked_off
from reconciler.testing.crashes import Crash, crash_at
from tests.acceptance.shop import write_shop
from tests.shops.emissions import OTHER_QUERY, PROGRAM, Shop, counts, files, lake


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def lease_is_lost() -> None:
    raise LeaseHeld("A503", "somebody took over")


def test_a_new_output_on_a_new_view_gets_everything_then_what_changes(shop: Shop) -> None:
    shop.rows(1, 1, 2)
    assert shop.apply(lake(), files())["v.lake"] is Outcome.SENDS_FULL_CONTENTS
    assert counts(shop.emit()["v.lake"]) == (3, 0)
    shop.step(1, 2, 2, 3)
    results = shop.emit()
    assert counts(results["v.lake"]) == (2, 1), "one of two equal rows goes, one comes, and a new one"
    assert shop.lake() == [1, 2, 2, 3]
    assert [(len(one.inserted), len(one.deleted)) for one in shop.messages()] == [(3, 0), (2, 1)]


def test_what_a_format_can_t_tell_is_counted(shop: Shop) -> None:
    shop.rows(1, 2)
    raw = files().replace("{name: json}", "{name: json, config: {update_format: raw}}")
    shop.apply(raw.replace("}\n", ", on_bootstrap: changes}\n"))
    shop.emit()
    shop.step(2, 3)
    result = shop.emit()["v.files"]
    assert (*counts(result), result.dropped) == (1, 0, 1)


def test_a_process_that_may_not_write_any_more_emits_nothing(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(files())
    with pytest.raises(LeaseHeld):
        shop.emit(check=lease_is_lost)
    assert shop.messages() == []
    assert counts(shop.emit()["v.files"]) == (1, 0)


def test_what_is_emitted_belongs_to_the_published_step(shop: Shop) -> None:
    shop.apply(lake())
    shop.emit()
    shop.step(1)
    shop.emit()
    published = shop.head().published
    assert published is not None
    emission = shop.engine.calls[-1]
    assert emission.step == published.step
    assert emission.after.version == published.relations["v"].version
    assert emission.commit["inputs"] == {"v": published.relations["v"].version}
    assert (emission.commit["pipeline"], emission.commit["step"]) == ("shop", published.step)


def test_nothing_new_emits_nothing(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    assert shop.emit()
    assert shop.emit() == {}


@pytest.mark.parametrize("name", ["emit:before", "emit:effected"])
@pytest.mark.parametrize("occurrence", [1, 2])
def test_a_crash_at_a_boundary_repeats_the_same_emission(shop: Shop, name: str, occurrence: int) -> None:
    shop.rows(1)
    shop.apply(lake(), files())
    shop.emit()
    shop.step(1, 2, 2)
    with pytest.raises(Crash):
        shop.emit(crash_at(name, occurrence))
    pinned = {key: state.sending for key, state in shop.head().outputs.items()}
    results = shop.emit()
    emitted = (name == "emit:effected") + (occurrence - 1)
    assert shop.lake() == [1, 2, 2], "a sink that keeps transactions has everything once"
    repeats = [count for count in Counter(one.serial for one in shop.messages()).values() if count > 1]
    assert repeats == ([2] if emitted else []), "v.files comes first: it gets again what nobody ticked off"
    assert results["v.lake"].reused == (emitted == 2)
    assert pinned["v.lake"] is not None, "nothing is ticked off before the head says so"
    assert {state.sending for state in shop.head().outputs.values()} == {None}


def without_id(shop: Shop) -> None:
    """Put what is pinned as an earlier version has pinned it."""
    registry = shop.pipeline.target.registry
    stored = registry.head("shop")
    assert stored is not None
    outputs = dict(stored.value.outputs)
    sending = outputs["v.lake"].sending
    assert sending is not None
    outputs["v.lake"] = replace(outputs["v.lake"], sending=replace(sending, id=""))
    registry.replace_head(stored.token, replace(stored.value, outputs=outputs), "an earlier version")


@pytest.mark.parametrize("sent", [False, True])
def test_what_an_earlier_version_pinned_is_finished_as_it_was_begun(shop: Shop, sent: bool) -> None:
    shop.rows(1)
    shop.apply(lake())
    without_id(shop)
    if sent:
        with pytest.raises(Crash):
            shop.emit(crash_at("emit:effected"))
    assert shop.emit()["v.lake"].reused == sent
    assert shop.lake() == [1]
    shop.step(1, 2)
    assert counts(shop.emit()["v.lake"]) == (1, 0)
    assert shop.lake() == [1, 2]


def is_sent_by_another(shop: Shop, *ids: int) -> None:
    """Have the sink get what comes next from somebody whose registry is a copy of this one."""
    folder = shop.root.with_name(f"{shop.root.name}-copy")
    shutil.copytree(shop.root, folder, ignore=lambda _, names: [name for name in names if name == "lake"])
    copy = Shop(folder)
    (folder / "lake").symlink_to(shop.root / "lake")
    for rows in range(len(ids)):
        copy.step(*ids[: rows + 1])
        copy.emit()


def test_what_another_one_sent_is_told_and_the_next_number_is_beyond_it(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake(), files())
    shop.emit()
    is_sent_by_another(shop, 7, 8, 9)
    shop.step(1, 2)

    results = shop.emit()

    error = results["v.lake"].error
    assert error is not None
    assert error.code == "X756"
    assert counts(results["v.files"]) == (1, 0), "the others go on"
    state = shop.head().outputs["v.lake"]
    assert state.sending is not None
    assert (state.sending.serial, state.serial) == (2, 4), "what the sink has got by now"
    assert shop.lake() == [7, 8, 9]


def test_who_was_taken_over_and_finds_what_another_one_sent_ends_as_such(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.emit()
    is_sent_by_another(shop, 7)
    shop.step(1, 2)
    asked: list[int] = []

    def check() -> None:
        asked.append(len(shop.engine.calls))
        if len(asked) == 2:
            lease_is_lost()

    with pytest.raises(LeaseHeld):
        shop.emit(check=check)
    assert asked[1] > asked[0], "it asks again once the sink has told"
    assert shop.head().outputs["v.lake"].serial == 2


def test_a_sink_that_fails_lags_and_catches_up_with_one_net_difference(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake(), files())
    shop.emit()
    shop.engine.sinks.failing.add("v.lake")
    shop.step(1, 2)
    results = shop.emit()
    assert results["v.lake"].error is not None
    assert results["v.lake"].error.code == "X750"
    assert counts(results["v.files"]) == (1, 0), "the others go on"
    for rows in [(3,), (3, 4), (3, 4, 5)]:
        shop.step(*rows)
        shop.emit(leave_out=("V.LAKE",))
    assert shop.lake() == [1]
    shop.engine.sinks.failing.clear()
    assert counts(shop.emit()["v.lake"]) == (1, 0), "first what was pinned when it failed"
    assert counts(shop.emit()["v.lake"]) == (3, 2), "then the net of all that came since"
    assert shop.lake() == [3, 4, 5]
    assert len(shop.messages()) == 5


def test_a_failing_output_keeps_its_pin_and_is_left_out_when_asked(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.engine.sinks.failing.add("v.lake")
    shop.emit()
    first = shop.head().outputs["v.lake"].sending
    assert first is not None
    shop.step(1, 2)
    assert shop.emit(leave_out=("v.lake",)) == {}
    assert shop.head().outputs["v.lake"].sending == first


@pytest.mark.parametrize(
    ("said", "outcome", "emitted", "replaces"),
    [
        ("", Outcome.SENDS_DIFFERENCE, (1, 2), False),
        (", on_bootstrap: changes", Outcome.SENDS_DIFFERENCE, (1, 2), False),
        (", on_bootstrap: full", Outcome.SENDS_FULL_CONTENTS, (3, 0), False),
        (", on_bootstrap: truncate", Outcome.TRUNCATES, (3, 0), True),
        (", on_bootstrap: silent", Outcome.SENDS_NOTHING_OF_IT, None, False),
    ],
)
def test_a_bootstrap_is_emitted_as_the_plan_said(
    shop: Shop, said: str, outcome: Outcome, emitted: tuple[int, int] | None, replaces: bool
) -> None:
    shop.rows(1, 2, 3, 4)
    shop.apply(lake(more=said))
    shop.emit()
    shop.rows(3, 4, 5)
    assert shop.apply(lake(more=said), program=OTHER_QUERY) == {"v.lake": outcome}
    results = shop.emit()
    if emitted is None:
        assert results == {}
    else:
        assert counts(results["v.lake"]) == emitted
        assert shop.engine.calls[-1].replaces == replaces
    expected = {"changes": [3, 4, 5], "full": [1, 2, 3, 3, 4, 4, 5], "truncate": [3, 4, 5], "silent": [1, 2, 3, 4]}
    assert shop.lake() == expected[said.rpartition(" ")[2] or "changes"]
    shop.step(3, 4, 5, 6)
    assert counts(shop.emit()["v.lake"]) == (1, 0), "whatever the bootstrap sent, the next step sends what it changes"


def test_what_was_pinned_before_a_silent_bootstrap_is_still_sent(shop: Shop) -> None:
    shop.rows(1)
    silent = lake(more=", on_bootstrap: silent")
    shop.apply(silent)
    shop.emit()
    shop.engine.sinks.failing.add("v.lake")
    shop.step(1, 2)
    shop.emit()
    shop.step(1, 2, 3)
    shop.rows(7, 8)
    shop.apply(silent, program=OTHER_QUERY)
    shop.step(7, 8, 9)
    shop.engine.sinks.failing.clear()
    for _ in range(4):
        shop.emit()
    assert shop.lake() == [1, 2, 3, 9], "all but the bootstrap"


def test_what_was_pinned_before_a_full_bootstrap_is_part_of_it(shop: Shop) -> None:
    shop.rows(1)
    said = lake(more=", on_bootstrap: truncate")
    shop.apply(said)
    shop.emit()
    shop.engine.sinks.failing.add("v.lake")
    shop.step(1, 2)
    shop.emit()
    shop.rows(7)
    shop.apply(said, program=OTHER_QUERY)
    shop.rows(8)
    # Not the first query again: its rows are kept.
    shop.apply(said, program=OTHER_QUERY.replace("> 1", "> 2"))
    shop.engine.sinks.failing.clear()
    assert counts(shop.emit()["v.lake"]) == (1, 0)
    assert shop.lake() == [8]
    assert shop.emit() == {}


@pytest.mark.parametrize(
    ("more", "outcome", "first"),
    [("", Outcome.SENDS_NEW_CHANGES, None), (", send_snapshot: true", Outcome.SENDS_FULL_CONTENTS, (2, 0))],
)
def test_a_new_output_on_an_existing_view(shop: Shop, more: str, outcome: Outcome, first: tuple[int, int] | None) -> None:
    shop.rows(1, 2)
    shop.apply()
    assert shop.apply(lake(more=more)) == {"v.lake": outcome}
    results = shop.emit()
    assert ({} if first is None else {"v.lake": first}) == {key: counts(one) for key, one in results.items()}
    shop.step(1, 2, 3)
    assert counts(shop.emit()["v.lake"]) == (1, 0)


def test_a_new_output_on_a_modified_view_gets_everything(shop: Shop) -> None:
    shop.rows(1, 2)
    shop.apply(files())
    shop.emit()
    shop.rows(2, 3)
    outcomes = shop.apply(files(), lake(), program=OTHER_QUERY)
    assert outcomes["v.lake"] is Outcome.SENDS_FULL_CONTENTS
    assert counts(shop.emit()["v.lake"]) == (2, 0)


def test_send_snapshot_on_an_output_that_was_there_sends_nothing_and_the_plan_says_so(shop: Shop) -> None:
    shop.rows(1, 2)
    shop.apply(lake())
    shop.emit()
    commits = shop.commits()
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + lake(more=", send_snapshot: true"))

    said = render_text(shop.pipeline.plan())

    assert (
        "send_snapshot of v.lake: false → true (sends nothing by itself: it says how a new or changed output begins" in said
    )
    assert "to send all rows, seek the output to snapshot" in said
    assert shop.apply(lake(more=", send_snapshot: true")) == {"v.lake": Outcome.RESUMES}
    assert shop.emit() == {}
    assert shop.commits() == commits
    assert "it is modified; send_snapshot: true" in _sent_by(shop, lake("lake2", more=", send_snapshot: true"))


def _sent_by(shop: Shop, *connectors: str) -> str:
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + "".join(connectors))
    return render_text(shop.pipeline.plan())


@pytest.mark.parametrize(("more", "moved"), [("", []), (", send_snapshot: true", [1, 2])])
def test_a_modified_output_goes_on_under_its_new_settings(shop: Shop, more: str, moved: list[int]) -> None:
    shop.rows(1, 2)
    shop.apply(lake(more=more))
    shop.emit()
    before = shop.head().outputs["v.lake"]
    assert shop.apply(lake("elsewhere", more)) == {"v.lake": Outcome.SENDS_FULL_CONTENTS if moved else Outcome.RESUMES}
    shop.emit()
    assert shop.commits("elsewhere") == (0 if moved else None)
    shop.step(1, 2, 3)
    shop.emit()
    assert shop.lake("elsewhere") == [*moved, 3]
    assert shop.lake() == [1, 2]
    assert shop.head().outputs["v.lake"].id == before.id, "a sink that it has written to knows it again"


def test_a_modified_output_that_sent_nothing_yet_sends_it_under_its_new_settings(shop: Shop) -> None:
    shop.rows(1, 2, 3)
    shop.apply(lake("unreachable"))
    shop.engine.sinks.failing.add("v.lake")
    shop.emit()
    before = shop.head().outputs["v.lake"]
    assert before.sending is not None
    assert "resumes (it is modified, its view is not; it continues from what it sent last" in _sent_by(shop, lake())
    shop.apply(lake())
    assert shop.head().outputs["v.lake"] == before
    shop.engine.sinks.failing.clear()
    shop.step(1, 2, 3, 4)
    assert counts(shop.emit()["v.lake"]) == (3, 0)
    assert counts(shop.emit()["v.lake"]) == (1, 0)
    assert shop.lake() == [1, 2, 3, 4]
    assert shop.emit() == {}


def test_a_modified_output_that_was_behind_goes_on_from_what_it_sent_last(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.emit()
    sent = shop.head().outputs["v.lake"].sent
    shop.engine.sinks.failing.add("v.lake")
    shop.step(2, 3)
    shop.emit()
    shop.step(3, 4)
    shop.apply(lake("elsewhere").replace("name: lake,", "name: pond,"), more="  moved: [{from: v.lake, to: v.pond}]\n")
    assert shop.head().outputs["v.pond"].sent == sent
    shop.engine.sinks.failing.clear()
    assert counts(shop.emit()["v.pond"]) == (2, 1), "what was pinned goes out as it was pinned"
    assert counts(shop.emit()["v.pond"]) == (1, 1)
    assert shop.lake("elsewhere") == [3, 4]
    assert shop.lake() == [1]


def test_what_a_sink_has_but_nobody_ticked_off_is_not_sent_twice_because_an_option_changed(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    with pytest.raises(Crash):
        shop.emit(crash_at("emit:effected"))
    option = ", 'fs.s3a.connection.maximum': '7'"
    shop.apply(lake("lake" + option))
    assert shop.emit()["v.lake"].reused
    assert shop.lake() == [1]


@pytest.mark.parametrize("said", ["changes", "full", "truncate", "silent"])
def test_an_output_that_is_modified_with_its_view_sends_everything(shop: Shop, said: str) -> None:
    more = f", on_bootstrap: {said}"
    shop.rows(1, 2)
    shop.apply(lake("unreachable", more))
    shop.engine.sinks.failing.add("v.lake")
    shop.emit()
    before = shop.head().outputs["v.lake"]
    shop.rows(2, 3)
    assert shop.apply(lake(more=more), program=OTHER_QUERY) == {"v.lake": Outcome.SENDS_FULL_CONTENTS}
    assert shop.head().outputs["v.lake"].sent is None
    shop.engine.sinks.failing.clear()
    assert counts(shop.emit()["v.lake"]) == (2, 0)
    assert shop.lake() == [2, 3]
    assert shop.head().outputs["v.lake"].serial > before.serial
    assert shop.emit() == {}


@pytest.mark.parametrize("program", [OTHER_QUERY, OTHER_QUERY.replace("> 1", "> 2")])
def test_a_sink_that_was_to_be_emptied_still_is_when_its_output_is_modified(shop: Shop, program: str) -> None:
    truncates = ", on_bootstrap: truncate"
    shop.rows(1, 2)
    shop.apply(lake(more=truncates))
    shop.emit()
    shop.engine.sinks.failing.add("v.lake")
    shop.rows(2)
    shop.apply(lake(more=truncates), program=OTHER_QUERY)
    shop.emit()
    option = ", 'fs.s3a.connection.maximum': '7'"
    shop.apply(lake("lake" + option, truncates), program=program)
    shop.engine.sinks.failing.clear()
    shop.emit()
    assert shop.lake() == [2]


def test_what_a_silent_bootstrap_left_out_is_left_out_of_a_modified_output_too(shop: Shop) -> None:
    silent = ", on_bootstrap: silent"
    shop.rows(1)
    shop.apply(lake("unreachable", silent))
    shop.engine.sinks.failing.add("v.lake")
    shop.emit()
    shop.rows(1, 5)
    shop.apply(lake("unreachable", silent), program=OTHER_QUERY)
    shop.apply(lake(more=silent), program=OTHER_QUERY)
    shop.step(1, 5, 6)
    shop.engine.sinks.failing.clear()
    for _ in range(3):
        shop.emit()
    assert shop.lake() == [1, 6]


RENAMES = "  moved: [{from: v.lake, to: v.pond}]\n"


@pytest.mark.parametrize(
    ("since", "more"),
    [
        (lake("elsewhere"), ""),
        (lake().replace("name: lake,", "name: pond,"), RENAMES),
        (lake(more=", on_bootstrap: full"), ""),
    ],
)
def test_a_restore_keeps_what_an_output_has_to_send_whatever_it_was_called_since(shop: Shop, since: str, more: str) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.emit()
    sent = shop.head().outputs["v.lake"]
    shop.step(1, 2)
    shop.pipeline.checkpoint("good")
    shop.engine.sinks.failing |= {"v.lake", "v.pond"}
    shop.emit()
    shop.apply(since, more=more)
    shop.step(3)
    shop.pipeline.restore("good", approve_as="Ann")
    after = shop.head().outputs["v.lake"]
    assert (after.id, after.sent) == (sent.id, sent.sent)
    shop.engine.sinks.failing.clear()
    shop.emit()
    shop.emit()
    assert shop.lake() == [1, 2]


def test_no_version_is_told_as_sent_that_was_left_out(shop: Shop) -> None:
    def told() -> dict[str, Any] | None:
        (one,) = shop.pipeline.status().connectors
        return one.position

    shop.rows(1, 2)
    shop.apply()
    shop.apply(lake())
    version = published(shop)["v"].version
    assert told() == {"sent_version": None, "left_out_to": version, "pending": False}
    shop.step(1, 2, 3)
    shop.emit()
    version = published(shop)["v"].version
    assert told() == {"sent_version": version, "pending": False}
    shop.step(4)
    shop.pipeline.seek_connector("lake", "latest")
    version = published(shop)["v"].version
    assert told() == {"sent_version": None, "left_out_to": version, "pending": False}


def test_an_output_that_comes_back_is_not_taken_for_the_one_before(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.emit()
    shop.step(1, 2)
    shop.emit()
    before = shop.head().outputs["v.lake"]
    shop.apply()
    assert shop.head().outputs == {}
    shop.step(1, 2, 3)
    shop.apply(lake())
    after = shop.head().outputs["v.lake"]
    assert (after.id != before.id, after.serial > before.serial) == (True, True)
    shop.step(1, 2, 3, 4)
    assert counts(shop.emit()["v.lake"]) == (1, 0)
    assert shop.lake() == [1, 2, 4]


def test_what_was_sent_before_a_rename_is_ticked_off_under_the_new_name(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake(), files())
    state = shop.head().outputs["v.lake"]
    other = shop.head().outputs["v.files"]
    assert state.sending is not None
    assert other.sending is not None
    head = replace(shop.head(), outputs={"v.pond": state, "v.files": other})

    known = ticked_off(head, {"v.lake": state.sending})

    assert known.outputs == {"v.pond": replace(state, sent=state.sending.after, sending=None), "v.files": other}
    # What an earlier version pinned has no id: another output may have its equal.
    pinned = replace(state.sending, id="")
    earlier = replace(head, outputs={"v.files": replace(other, sending=pinned)})
    assert ticked_off(earlier, {"v.lake": pinned}) == earlier
    assert ticked_off(earlier, {"v.files": pinned}).outputs["v.files"].sending is None


def test_a_renamed_output_keeps_its_state(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.engine.sinks.failing.add("v.lake")
    shop.emit()
    before = shop.head().outputs["v.lake"]
    assert before.sending is not None
    renamed = lake().replace("name: lake,", "name: pond,")
    shop.apply(renamed, more="  moved: [{from: v.lake, to: v.pond}]\n")
    assert shop.head().outputs == {"v.pond": before}
    assert counts(shop.emit()["v.pond"]) == (1, 0)


def test_a_renamed_view_keeps_the_state_of_its_outputs(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.emit()
    before = shop.head().outputs["v.lake"]
    shop.answers["w"] = shop.answers["v"]
    shop.apply(
        lake().replace("view: v", "view: w"),
        program=PROGRAM.replace("VIEW v", "VIEW w"),
        more="  moved: [{from: v, to: w}]\n",
    )
    assert shop.head().outputs == {"w.lake": before}
    assert shop.emit() == {}


def test_a_cleared_table_below_reaches_the_sink_as_changes(shop: Shop) -> None:
    shop.rows(1, 2)
    shop.apply(lake())
    shop.emit()
    shop.rows()
    shop.apply(lake(), program=PROGRAM.replace("id BIGINT", "id BIGINT, more STRING"), more="  evolution: clear\n")
    assert counts(shop.emit()["v.lake"]) == (0, 2)
    assert shop.lake() == []


PLAIN = PROGRAM.replace("MATERIALIZED VIEW", "VIEW")


@pytest.mark.parametrize(("more", "first"), [("", None), (", send_snapshot: true", (2, 0))])
def test_a_plain_view_is_stored_for_its_first_output(shop: Shop, more: str, first: tuple[int, int] | None) -> None:
    shop.rows(1, 2)
    shop.apply(program=PLAIN)
    assert set(published(shop)) == {"t"}
    shop.apply(lake(more=more), program=PLAIN)
    assert set(published(shop)) == {"t", "v"}
    results = shop.emit()
    assert {key: counts(one) for key, one in results.items()} == ({} if first is None else {"v.lake": first})
    shop.step(1, 2, 3)
    assert counts(shop.emit()["v.lake"]) == (1, 0)


def test_a_plain_view_is_stored_no_more_without_an_output(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake(), program=PLAIN)
    shop.emit()
    folder = shop.root / "warehouse" / published(shop)["v"].location
    assert folder.exists()
    shop.apply(program=PLAIN)
    assert set(published(shop)) == {"t"}
    assert not folder.exists()
    shop.step(1, 2)
    assert shop.lake() == [1]


def published(shop: Shop) -> dict[str, Placement]:
    found = shop.head().published
    assert found is not None
    return dict(found.relations)


def test_a_removed_pipeline_has_no_outputs(shop: Shop) -> None:
    shop.rows(1)
    shop.apply(lake())
    shop.emit()
    pipeline = shop.pipeline
    shutil.rmtree(shop.root / "pipelines" / "shop")
    pipeline.apply()
    stored = pipeline.target.registry.head("shop")
    assert stored is not None
    assert stored.value.outputs == {}
    assert shop.lake() == [1], "what was written stays"


def test_pins_are_pure_and_stay_until_they_are_written(shop: Shop) -> None:
    shop.apply(lake())
    program = shop.program()
    head = shop.head()
    empty: dict[str, Any] = {}
    published = Published(9, "now", {"v": Placement("shop/v", 5), "t": Placement("shop/t", 2)})
    at = replace(head, published=published, outputs=empty)
    assert pin_emissions(at, program).outputs["v.lake"].sent == 5, "an older version wrote no outputs: nothing is owed"
    behind = replace(at, outputs={"v.lake": OutputState(3, None, 7, id="i")})
    pinned = pin_emissions(behind, program, lambda: "new")
    assert pinned.outputs == {"v.lake": OutputState(3, Sending(3, 5, False, 9, 8, "new"), 8, id="i")}
    assert behind.outputs == {"v.lake": OutputState(3, None, 7, id="i")}
    further = replace(pinned, published=replace(published, step=10, relations={"v": Placement("shop/v", 6)}))
    assert pin_emissions(further, program).outputs == pinned.outputs
    skipping = replace(at, outputs={"v.lake": OutputState(2, None, 7, id="i", skips=((3, 4), (4, 5)))})
    found = pin_emissions(skipping, program, lambda: "new").outputs["v.lake"].sending
    assert found == Sending(2, 3, False, 9, 8, "new")
    at_the_gap = replace(at, outputs={"v.lake": OutputState(3, None, 8, id="i", skips=((3, 4), (4, 5)))})
    assert pin_emissions(at_the_gap, program).outputs["v.lake"] == OutputState(5, None, 8, id="i", left_out=5)
