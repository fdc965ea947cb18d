"""What an output has sent is a fact about a place: whatever happens to outputs, no sink gets what is no difference to it.

The matrix: what happened to an output since a checkpoint, and what then brings it back. Views have one row that is another
whenever any row below is (`RecordingEngine`), so a sink that got a wrong difference has two rows, or the wrong one.
"""

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply.restore_plans import Restore, plan_restore
from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.connectors.transport import Direction
from reconciler.plan.model import Outcome
from reconciler.project.program.model import Connector
from reconciler.registry.model import Head, LeftOutput, OutputState
from reconciler.run.outputs_by_place import outputs_of, states_known
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.applied import read_snapshot
from reconciler.state.checkpoints import find_checkpoint
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.workspace.output_places import place_settings
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

PROGRAM = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"
WITHOUT_VIEW = "CREATE TABLE t (id BIGINT);\n"
OTHER_QUERY = PROGRAM.replace("FROM t;", "FROM t WHERE id > 0;")
Row = tuple[Any, ...]


def output(place: str, name: str = "lake", more: str = ", send_snapshot: true") -> str:
    return f"    - {{name: {name}, view: v, transport: {{name: delta_table_output, config: {{uri: {place}}}}}{more}}}\n"


class Outputs:
    """Pipelines of one program, and what lies in their sinks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.engine = RecordingEngine(DeltaWriter())
        self._inserted = 0

    def __getitem__(self, name: str) -> Pipeline:
        return Project.open(self.root, engine=self.engine).new_pipeline(name)

    def files(self, *outputs: str, name: str = "f", program: str = PROGRAM, more: str = "") -> None:
        folder = self.root / "pipelines" / name
        folder.mkdir(parents=True, exist_ok=True)
        (self.root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
        (folder / "program.sql").write_text(program)
        listed = "  connectors:\n" + "".join(outputs) if outputs else ""
        head = f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: {name}}}\nspec:\n  bootstrap_policy: allow\n"
        (folder / "pipeline.yaml").write_text(head + more + listed)

    def apply(self, *outputs: str, name: str = "f", program: str = PROGRAM, more: str = "") -> dict[str, Outcome]:
        self.files(*outputs, name=name, program=program, more=more)
        plan = self[name].apply().plan
        assert plan is not None
        return {one.connector: one.outcome for one in plan.connectors}

    def row(self, name: str = "f") -> None:
        """A row that nothing had before."""
        self._inserted += 1
        self[name].execute(f"INSERT INTO t VALUES ({self._inserted})")

    def run(self, name: str = "f") -> None:
        self[name].run_once()

    def head(self, name: str = "f") -> Head:
        stored = self[name].target.registry.head(name)
        assert stored is not None
        return stored.value

    def view(self, name: str = "f") -> list[Row]:
        published = self.head(name).published
        assert published is not None
        place = published.relations["v"]
        return sorted(self.engine.writer.read(str(self.root / "warehouse" / place.location), place.version).rows)

    def sink(self, place: str) -> list[Row] | None:
        version = self.engine.writer.latest(str(self.root / place))
        return None if version is None else sorted(self.engine.writer.read(str(self.root / place), version).rows)

    def clear(self, place: str) -> None:
        shutil.rmtree(self.root / place, ignore_errors=True)


@pytest.fixture
def shop(tmp_path: Path) -> Outputs:
    return Outputs(tmp_path)


def moves(*places: str) -> Callable[[Outputs], None]:
    def move(shop: Outputs) -> None:
        for place in places:
            shop.apply(output(place))
            shop.row()
            shop.run()

    return move


def renames(place: str) -> Callable[[Outputs], None]:
    def rename(shop: Outputs) -> None:
        shop.apply(output(place, "pond"), more="  moved: [{from: v.lake, to: v.pond}]\n")
        shop.row()
        shop.run()

    return rename


def moves_while_it_lags(shop: Outputs) -> None:
    shop.engine.sinks.failing.add("v.lake")
    shop.row()
    with pytest.raises(Exception, match="can't be reached"):
        shop.run()
    shop.apply(output("B"))
    shop.row()
    shop.engine.sinks.failing.clear()
    shop.run()


def is_taken_out(shop: Outputs) -> None:
    shop.apply()
    shop.row()


def is_put_anew_where_somebody_cleared(shop: Outputs) -> None:
    is_taken_out(shop)
    shop.clear("A")
    shop.apply(output("A"))
    shop.row()
    shop.run()


def takes_another_view_of_that_name(shop: Outputs) -> None:
    shop.apply(output("A"), program=OTHER_QUERY)
    shop.row()
    shop.run()


def trades_places(shop: Outputs) -> None:
    shop.apply(output("A"), output("B", "pond"))
    shop.row()
    shop.run()
    shop.apply(output("B"), output("A", "pond"))
    shop.row()
    shop.run()


HAPPENED: dict[str, Callable[[Outputs], None]] = {
    "nothing": lambda shop: None,
    "moved": moves("B"),
    "moved there and back": moves("B", "A"),
    "moved twice": moves("B", "C"),
    "moved thrice": moves("B", "C", "B"),
    "renamed": renames("A"),
    "renamed and moved": renames("B"),
    "moved while it lagged": moves_while_it_lags,
    "taken out": is_taken_out,
    "put anew": is_put_anew_where_somebody_cleared,
    "another query": takes_another_view_of_that_name,
    "traded places": trades_places,
}


def is_restored(shop: Outputs) -> None:
    shop["f"].restore("CP")


def is_restored_and_applied(shop: Outputs) -> None:
    """Back, and forward again by the files."""
    shop["f"].restore("CP")
    shop.run()
    shop["f"].apply()


def is_restored_both_ways(shop: Outputs) -> None:
    shop["f"].checkpoint("late")
    shop["f"].restore("CP")
    shop.run()
    shop.row()
    shop.run()
    shop["f"].restore("late")


def takes_over_and_comes_back(shop: Outputs) -> None:
    """Another pipeline's program comes and goes."""
    shop.apply(output("H"), name="h")
    shop.row("h")
    shop.row("h")
    shop.run("h")
    shop["h"].checkpoint("theirs")
    shop["f"].checkpoint("own")
    shop["f"].restore("theirs", "h", replaces=True)
    shop.run()
    assert shop.sink("H") == shop.view("h"), "what they sent there is theirs"
    shop["f"].restore("CP")


def takes_over_and_is_applied(shop: Outputs) -> None:
    takes_over_and_comes_back(shop)
    shop["f"].restore("theirs", "h", replaces=True)
    shop.run()
    assert shop.sink("H") == shop.view("h")
    shop["f"].apply()


def is_applied_as_it_was(shop: Outputs) -> None:
    shop.apply(output("A"))


def changes_query(shop: Outputs) -> None:
    """In the files; what else they say stays."""
    file = shop.root / "pipelines/f/program.sql"
    file.write_text(PROGRAM.replace("FROM t;", "FROM t WHERE id IS NOT NULL;"))


def is_promoted(shop: Outputs) -> None:
    changes_query(shop)
    shop["f"].stage()
    shop["f"].promote()


def is_rolled_back(shop: Outputs) -> None:
    changes_query(shop)
    shop["f"].apply()
    shop.row()
    shop.run()
    shop["f"].rollback("v")


BROUGHT_BACK: dict[str, Callable[[Outputs], None]] = {
    "restore": is_restored,
    "restore and apply": is_restored_and_applied,
    "restore both ways": is_restored_both_ways,
    "takeover and restore": takes_over_and_comes_back,
    "takeover and apply": takes_over_and_is_applied,
    "apply": is_applied_as_it_was,
    "promote": is_promoted,
    "rollback": is_rolled_back,
}

# A user who takes an output out, and puts one in again, has a new one: it sends all rows, as its plan says.
NEW_BY_THE_FILES = {("taken out", "apply")}
CELLS = [(happened, back) for happened in HAPPENED for back in BROUGHT_BACK if (happened, back) not in NEW_BY_THE_FILES]
KEPT = (
    ("moved there and back", "restore and apply"),
    ("moved while it lagged", "restore"),
    ("taken out", "restore both ways"),
    ("traded places", "restore"),
    ("moved", "takeover and apply"),
    ("moved", "apply"),
    ("moved twice", "promote"),
)


def sinks_show_their_view(shop: Outputs) -> None:
    applied = shop.head().applied
    assert applied is not None
    assert applied.record is not None
    outputs = outputs_of(read_snapshot(shop["f"].target, "f", applied.record).program)
    assert [*shop.head().outputs] == [*outputs]
    places = [one.settings["transport"]["config"]["uri"] for one in outputs.values()]
    assert {place: shop.sink(place) for place in places} == dict.fromkeys(places, shop.view())


@pytest.mark.parametrize(("happened", "back"), mostly_slow(CELLS, *KEPT))
def test_whatever_happened_to_an_output_its_sink_is_brought_to_its_view(shop: Outputs, happened: str, back: str) -> None:
    shop.apply(output("A"))
    shop.row()
    shop.run()
    shop["f"].checkpoint("CP")
    shop.row()
    shop.run()
    HAPPENED[happened](shop)
    BROUGHT_BACK[back](shop)
    shop.run()
    sinks_show_their_view(shop)
    shop.row()
    shop.run()
    sinks_show_their_view(shop)


def test_an_output_that_was_taken_out_and_is_put_in_again_is_a_new_one(shop: Outputs) -> None:
    shop.apply(output("A"))
    shop.row()
    shop.run()
    is_taken_out(shop)
    assert shop.apply(output("A", more="")) == {"v.lake": Outcome.SENDS_NEW_CHANGES}
    assert shop.head().left == ()


@pytest.mark.parametrize("more", ["", ", on_bootstrap: truncate", ", send_snapshot: true"])
@pytest.mark.parametrize("is_new", [True, False])
def test_taking_over_writes_nothing_to_the_sinks_of_the_other_pipeline(shop: Outputs, more: str, is_new: bool) -> None:
    shop.apply(output("A", more=more))
    shop.row()
    shop.run()
    shop["f"].checkpoint("CP")
    before = shop.sink("A")
    if not is_new:
        shop.apply(output("H"), name="h")
        shop.row("h")
        shop.run("h")
    told: list[str] = []
    restored = shop["h"].observed(tell=told.append).restore("CP", "f", replaces=not is_new)
    shop.run("h")
    assert shop.sink("A") == before == shop.view()
    shop.row()
    shop.run()
    assert shop.sink("A") == shop.view()
    assert told[0].startswith(
        "output v.lake (A): f's checkpoint has the same output there; the output sends changes from now on; "
        "to hold them back:"
    )
    assert [line.partition(":")[0] for line in told[1:]] == ([] if is_new else ["output v.lake (H)"])
    assert [one.outcome for one in restored.outputs] == [Outcome.SENDS_NEW_CHANGES, *([] if is_new else [None])]


@pytest.mark.parametrize(
    ("more", "outcome", "sent"),
    [
        ("", Outcome.SENDS_NEW_CHANGES, []),
        (", on_bootstrap: truncate", Outcome.TRUNCATES, ["view"]),
        (", send_snapshot: true", Outcome.SENDS_FULL_CONTENTS, ["old", "view"]),
        (", send_snapshot: true, on_bootstrap: truncate", Outcome.TRUNCATES, ["view"]),
    ],
)
def test_where_nothing_is_known_an_output_begins_as_it_says(
    shop: Outputs, more: str, outcome: Outcome, sent: list[str]
) -> None:
    shop.apply(output("A", more=more))
    shop.row()
    shop.run()
    old = shop.sink("A")
    assert old is not None
    shop["f"].checkpoint("CP")
    shop.apply(output("B", more=more))
    registry = shop["f"].target.registry
    stored = registry.head("f")
    assert stored is not None
    # A version that kept nothing of it.
    registry.replace_head(stored.token, replace(stored.value, left=()), "an earlier version")
    shop.row()
    shop.run()
    restored = shop["f"].restore("CP")
    assert [one.outcome for one in restored.outputs] == [outcome, None]
    shop.run()
    rows = {"view": shop.view(), "old": old}
    assert shop.sink("A") == (sorted(row for one in sent for row in rows[one]) if sent else old)
    state = shop.head().outputs["v.lake"]
    assert state.serial >= stored.token, "no consumer takes what comes for a repeat"


def test_the_plan_of_a_restore_says_what_outputs_are_sent(shop: Outputs) -> None:
    shop.apply(output("A"), output("X", "extra"))
    shop.row()
    shop.run()
    shop["f"].checkpoint("CP")
    shop.apply(output("B"), output("X", "extra"), output("Y", "more"))
    target = shop["f"].target
    checkpoint = find_checkpoint(target, "f", "CP")
    restore = Restore("f", "CP", "f", checkpoint.record)
    plan = plan_restore(target, restore, read_snapshot(target, "f", checkpoint.record))
    assert {one.connector: one.outcome for one in plan.connectors} == {
        "v.lake": Outcome.SENDS_DIFFERENCE,
        "v.extra": Outcome.SENDS_DIFFERENCE,
        "v.more": Outcome.DETACHES,
    }


def test_what_may_be_written_by_another_name_is_not_known(shop: Outputs) -> None:
    """A link leads to the folder that was left: what its own sent there is not the last word on it any more."""
    shop.apply(output("A"))
    shop.row()
    shop.run()
    (shop.root / "L").symlink_to("A")
    shop.apply(output("L", more=""))
    assert shop.head().left == ()
    shop.row()
    shop.run()
    assert shop.sink("A") == shop.view()
    # No difference to what it held when it was left: as one that is changed, it continues from what it sent last.
    assert shop.apply(output("A", more="")) == {"v.lake": Outcome.RESUMES}
    shop.row()
    shop.run()
    assert shop.sink("A") == shop.view()


def test_what_a_sink_had_and_nobody_ticked_off_when_its_output_left(shop: Outputs) -> None:
    shop.apply(output("A"))
    shop.row()
    shop.run()
    shop.row()
    with pytest.raises(Crash):
        shop["f"].observed(boundary=crash_at("emit:effected")).run_once()
    shop.apply(output("B"))
    (left,) = shop.head().left
    assert left.state.sending is not None
    shop.run()
    shop.apply(output("A"))
    assert shop.head().outputs["v.lake"].sending == left.state.sending
    shop.row()
    shop.run()
    shop.run()
    assert shop.sink("A") == shop.view()


def test_a_table_that_is_made_anew_is_another(shop: Outputs) -> None:
    shop.apply(output("A"))
    shop.row()
    shop.run()
    shop.apply(output("B"))
    shop.apply(program=WITHOUT_VIEW)
    assert shop.head().left == ()


def test_a_pipeline_that_goes_leaves_nothing(shop: Outputs) -> None:
    shop.apply(output("A"))
    shop.apply(output("B"))
    pipeline = shop["f"]
    shutil.rmtree(shop.root / "pipelines/f")
    pipeline.apply()
    assert shop.head().left == ()


def sent(connector: str, settings: JsonObject, version: int = 3, location: str = "f/v") -> LeftOutput:
    return LeftOutput(connector, location, settings, OutputState(version))


def topic(servers: str, topic: str = "totals") -> JsonObject:
    config = {"bootstrap.servers": servers, "topic": topic}
    return {"transport": {"name": "kafka_output", "config": config}, "format": {"name": "json"}}


def table(uri: str, **more: str) -> JsonObject:
    return {"transport": {"name": "delta_table_output", "config": {"uri": uri, **more}}}


def known(wanted: dict[str, JsonObject], *those: LeftOutput) -> dict[str, str]:
    connectors = {
        key: Connector(ConnectorDeclaration("v", key, 0, settings), key.partition(".")[2], Direction.OUTPUT)
        for key, settings in wanted.items()
    }
    return {key: one.connector for key, one in states_known(connectors, {"v": "f/v"}, those).items()}


@pytest.mark.parametrize(
    ("wanted", "left", "same"),
    [
        (table("out/A"), table("./out/A/"), True),
        (table("out/A"), table("out/a"), False),
        (table("/out/A"), table("file:///out/A"), True),
        (table("out/A"), table("/out/A"), False),
        (table("s3://b/A", aws_endpoint="http://x"), table("s3a://b/A/", aws_endpoint="http://x/"), True),
        (table("s3://b/A", aws_endpoint="http://x"), table("s3://b/A", aws_endpoint="http://y"), False),
        (table("${secret:a}"), table("${secret:b}"), False),
        (table("A", mode="truncate"), table("A"), True),
        (topic("a:1,b:1"), topic("B:1, c:1"), True),
        (topic("a:1"), topic("b:1"), False),
        (topic("${secret:A}"), topic("${secret:A}, b:1"), True),
        (topic("${secret:A}"), topic("${secret:a}"), False),
        (topic("a:1"), topic("a:1", "others"), False),
        (table("A"), {"transport": {"name": "file_output", "config": {"path": "A"}}, "format": {"name": "json"}}, False),
    ],
)
def test_which_places_are_surely_one(wanted: JsonObject, left: JsonObject, same: bool) -> None:
    assert known({"v.lake": wanted}, sent("v.old", place_settings(left))) == ({"v.lake": "v.old"} if same else {})


def test_of_several_that_would_fit_that_of_its_own_name_does() -> None:
    one, two = sent("v.a", topic("a:1")), sent("v.b", topic("a:1"))
    assert known({"v.b": topic("a:1")}, one, two) == {"v.b": "v.b"}
    assert known({"v.c": topic("a:1")}, one, two) == {}
    assert known({"v.b": topic("a:1"), "v.c": topic("a:1")}, one, two) == {"v.b": "v.b", "v.c": "v.a"}
    assert known({"v.c": topic("a:1"), "v.d": topic("a:1")}, one) == {}, "whose it is can't be told"
    assert known({"v.lake": table("A")}, sent("v.lake", table("A"), location="f/w")) == {}, "of another view"


@pytest.mark.parametrize("boundary", ["open:recorded", "commit_snapshot:intended", "commit_snapshot:effected"])
def test_a_move_back_that_is_killed_is_finished_by_whoever_comes_next(shop: Outputs, boundary: str) -> None:
    shop.apply(output("A"))
    shop.row()
    shop.run()
    shop.apply(output("B"))
    shop.row()
    shop.run()
    shop.files(output("A"))
    with pytest.raises(Crash):
        shop["f"].observed(boundary=crash_at(boundary)).apply()
    shop["f"].apply()
    shop.run()
    sinks_show_their_view(shop)


WALKED = (
    "row",
    "row",
    "move",
    "move",
    "rename",
    "take out",
    "query",
    "option",
    "checkpoint",
    "restore",
    "take over",
    "lag",
    "gone",
)
KILLED = ("", "", "step:intended", "restore:effected", "history:recorded", "step:recorded")


@pytest.mark.parametrize(("seed", "steps"), mostly_slow([(3, 6), *((seed, 14) for seed in range(24))], (3, 6)))
def test_no_walk_leads_to_a_sink_that_shows_something_else(shop: Outputs, seed: int, steps: int) -> None:
    """Whatever is done in whatever order: each sink that an output writes to shows its view, once it has run."""
    draw = random.Random(seed)
    place, name, program, mode = "A", "lake", PROGRAM, ""
    checkpoints: list[str] = []
    walked: list[tuple[str, ...]] = []
    shop.apply(output("H"), name="h")
    shop.row("h")
    shop.row("h")
    shop.run("h")
    shop["h"].checkpoint("theirs")

    def now(more: str = "") -> None:
        if any(one.removed and one.settings["transport"]["config"]["uri"] == place for one in shop.head().left):
            # Who puts one in again that sends all rows clears the sink.
            shop.clear(place)
        shop.apply(output(place, name, f", send_snapshot: true{mode}"), program=program, more=more)

    shop.apply(output(place))
    for number in range(steps):
        step = draw.choice(WALKED)
        before = (place, name)
        match step:
            case "row":
                shop.row()
            case "move":
                place = draw.choice("ABC")
                now()
            case "rename":
                place, former = draw.choice((place, "A", "B", "C")), name
                name = "pond" if name == "lake" else "lake"
                now(f"  moved: [{{from: v.{former}, to: v.{name}}}]\n" if former in _outputs_named(shop) else "")
            case "take out":
                shop.apply(program=program)
                shop.run()
                now()
            case "query":
                program = OTHER_QUERY if program == PROGRAM else PROGRAM
                now()
            case "option":
                mode = draw.choice(("", ", on_bootstrap: truncate", ", on_bootstrap: changes"))
                now()
            case "checkpoint":
                shop["f"].checkpoint(f"CP{number}")
                checkpoints.append(f"CP{number}")
            case "restore" | "gone" if checkpoints:
                if step == "gone":
                    shop.apply(program=program)
                    shop.run()
                killed = draw.choice(KILLED)
                pipeline = shop["f"].observed(boundary=crash_at(killed)) if killed else shop["f"]
                with suppress(Crash):
                    pipeline.restore(draw.choice(checkpoints))
            case "take over":
                shop["f"].restore("theirs", "h", replaces=True)
                shop.run()
                assert shop.sink("H") == shop.view("h"), walked
                continue
            case "lag":
                shop.engine.sinks.failing |= {"v.lake", "v.pond"}
                shop.row()
                shop["f"].execute("DELETE FROM t WHERE id = 1")
                with suppress(EngineError):
                    shop.run()
                shop.engine.sinks.failing.clear()
        walked.append((step, *before, place, name))
        if draw.random() < 0.8:
            shop.run()
            shop.run()
            sinks_show_their_view(shop)


def _outputs_named(shop: Outputs) -> set[str]:
    return {key.partition(".")[2] for key in shop.head().outputs}


@pytest.mark.parametrize(("days", "knows"), [(0, True), (2, False)])
def test_what_was_sent_is_known_until_a_prune_lets_go_of_it(shop: Outputs, days: int, knows: bool) -> None:
    short = "  retention: {versions: 0, steps: 1h}\n"
    shop.apply(output("A", more=""), more=short)
    shop.row()
    shop.run()
    shop.apply(output("B", more=""), more=short)
    for _ in range(4):
        shop.row()
        shop.run()
    (left,) = shop.head().left
    now = datetime.now(UTC) + timedelta(days=days)
    shop["f"].prune(now=lambda: now)
    assert shop.head().left == ((left,) if knows else ())
    assert shop.apply(output("A", more=""), more=short) == {"v.lake": Outcome.RESUMES}
    assert (shop.head().outputs["v.lake"].sent == left.state.sent) is knows
    shop.row()
    shop.run()
    assert (shop.sink("A") == shop.view()) is knows
