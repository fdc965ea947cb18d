"""Whatever two pipelines go through: what the reader publishes is what its queries give over what it says that it read, and
all that it read of the other pipeline stood so at one step of that one."""

from pathlib import Path
from random import Random

import pytest

from reconciler.base.boundaries import no_boundary
from reconciler.base.errors import ReconcileError
from reconciler.engine.protocol import ViewBuild
from reconciler.query.reading import published_place, query_of, sources_for
from reconciler.registry.placements import foreign_placements
from reconciler.state.step_history import read_step
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.workspace.foreign import read_applied_state
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.shops.two_pipelines import GRADES, SALES, Pair, two_pipelines

SALES_PROGRAMS = (
    SALES,
    SALES.replace("SUM(price)", "SUM(price) * 100"),
    SALES.replace("COUNT(*)", "COUNT(*) + 1"),
    SALES.replace("price INT", "price BIGINT"),
    "CREATE TABLE unread (id BIGINT);\n" + SALES,
)
GRADES_PROGRAMS = (
    GRADES,
    GRADES.replace("r.total >= l.least", "r.total > l.least"),
    GRADES.replace("CREATE MATERIALIZED VIEW everybody", "CREATE VIEW everybody"),
    GRADES.replace("SELECT customer FROM sales.orders", "SELECT number FROM sales.revenue"),
    GRADES + "CREATE MATERIALIZED VIEW below AS SELECT g.customer FROM good g JOIN everybody e ON true;\n",
)
BOUNDARIES = (
    *("view:before", "view:effected", "step:before"),
    *("bootstrap_view:effected", "publish_view:effected", "open:recorded"),
)


def require_agreement(pair: Pair) -> None:
    """See the module."""
    state, head = read_applied_state(pair.project.target, "grades"), pair.head()
    if state is None or head.published is None:
        return
    program, published = state.program, head.published
    if "sales" in published.foreign:
        read = published.foreign["sales"]
        there = read_step(pair.project.target.registry, pair.head("sales"), read.step).relations
        versions = {name: one.version for name, one in read.relations.items()}
        assert versions == {name: there[name].version for name in read.relations}
        assert {f"sales.{name}" for name in read.relations} == set(program.foreign)
    place = published_place(
        program, pair.project.target.warehouse, {**published.relations, **foreign_placements(published.foreign)}
    )
    engine = RecordingEngine(DeltaWriter())
    for key, view in program.views.items():
        if not view.is_stored:
            continue
        sources = sources_for(program, [one.relation for one in view.reads], place)
        staging = str(pair.root / "fresh" / f"{published.step}-{key}-{len(list(pair.root.glob('fresh/*')))}")
        engine.build_view(ViewBuild(view.name, query_of(view), (), sources, staging, {}))
        assert sorted(DeltaWriter().read(staging, 0).rows) == pair.rows(key), (key, published)


@pytest.mark.parametrize("seed", mostly_slow(range(4), 0))
def test_what_is_published_agrees_with_what_was_read(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    pair = two_pipelines(tmp_path)
    pair.apply("sales", "grades")
    seen = 0
    for number in range(14):
        boundary = crash_at(random.choice(BOUNDARIES), random.choice((1, 2))) if random.random() < 0.3 else no_boundary
        try:
            match random.choice(("sell", "sales", "grades", "apply sales", "apply grades", "run", "run", "limit")):
                case "sell":
                    pair.sell((number, random.choice(("Ada", "Bob")), number))
                case "sales":
                    pair.write("sales", random.choice(SALES_PROGRAMS))
                    pair.apply("sales")
                case "grades":
                    pair.write("grades", random.choice(GRADES_PROGRAMS))
                    pair.pipeline("grades").observed(boundary=boundary).apply()
                case "apply sales":
                    pair.apply("sales")
                case "apply grades":
                    pair.pipeline("grades").observed(boundary=boundary).apply()
                case "run":
                    pair.run(boundary=boundary)
                case "limit":
                    pair.pipeline("grades").execute(f"INSERT INTO limits VALUES ('Ada', {number})")
        except Crash:
            continue
        except ReconcileError as error:
            if error.code not in ("A560", "A507"):
                raise
        seen += pair.head().intent is None and pair.head().journal is None
        require_agreement(pair)
    pair.apply("sales", "grades")
    pair.run()
    require_agreement(pair)
    published, there = pair.head().published, pair.head("sales").published
    assert published is not None
    assert there is not None
    for name, placement in published.foreign["sales"].relations.items():
        assert placement.version == there.relations[name].version
    assert seen > 2
