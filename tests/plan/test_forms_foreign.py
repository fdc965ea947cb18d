"""Relations of other pipelines in the forms of a plan."""

from reconciler.plan.graph_form import State, graph_of, render_mermaid
from tests.golden.test_golden import read_plan

CLAIM = "rows_read_of_another_pipeline_changed_modify_everything_that_reads_them"


def test_a_graph_shows_what_is_read_of_other_pipelines() -> None:
    plan, applied, desired = read_plan(CLAIM)
    assert applied is not None
    assert desired is not None
    graph = graph_of(plan, applied.program, desired.program)
    nodes = {node.id: node for node in graph.nodes}
    edges = {(nodes[source].name, nodes[target].name) for source, target in graph.edges}
    assert edges >= {("other.revenue", "good"), ("other.revenue", "customers"), ("customers", "names")}
    assert [node.state for node in graph.nodes if node.name == "other.revenue"] == [State.UNCHANGED]
    assert "other.revenue (materialized view)" in render_mermaid(graph)
