from hypothesis import given
from hypothesis import strategies as some

from reconciler.project.program.order import Frontier, cycles, topological

GRAPHS = some.dictionaries(
    some.sampled_from("abcdefg"), some.lists(some.sampled_from("abcdefgh"), max_size=3, unique=True), max_size=7
)


def test_what_is_read_comes_first_and_ties_go_by_name() -> None:
    assert topological({"c": [], "b": ["c"], "a": ["c"], "d": ["a"]}) == ("c", "a", "b", "d")


def test_names_that_are_no_keys_are_ignored() -> None:
    assert topological({"b": ["zz"], "a": ["b"]}) == ("b", "a")


def test_a_circle_and_what_is_behind_it_come_last() -> None:
    assert topological({"z": [], "a": ["b"], "b": ["a"], "c": ["b"]}) == ("z", "a", "b", "c")


def test_one_cycle_a_group_the_shortest_from_its_smallest_name() -> None:
    assert cycles({"a": ["b"], "b": ["c"], "c": ["a", "b"], "d": ["d"], "e": ["a"]}) == (("a", "b", "c"), ("d",))


def test_a_cycle_that_avoids_the_smallest_name_is_found_too() -> None:
    assert cycles({"a": ["b"], "b": ["c"], "c": ["b"]}) == (("b", "c"),)


@given(GRAPHS)
def test_a_frontier_gives_each_name_once_and_as_soon_as_all_is_done_that_it_reads(graph: dict[str, list[str]]) -> None:
    frontier, taken, done = Frontier(graph), set[str](), set[str]()
    for name in topological(graph):
        batch = frontier.take()
        assert not batch & taken
        taken |= batch
        assert taken == {one for one, reads in graph.items() if {read for read in reads if read in graph} <= done}
        done.add(name)
        frontier.done(name)


@given(GRAPHS)
def test_every_name_stands_once_and_after_what_it_reads_unless_circular(graph: dict[str, list[str]]) -> None:
    order = topological(graph)
    assert sorted(order) == sorted(graph)
    if not cycles(graph):
        place = {name: index for index, name in enumerate(order)}
        assert all(place[read] < place[name] for name in graph for read in graph[name] if read in graph)


@given(GRAPHS)
def test_cycles_are_cycles_and_do_not_overlap(graph: dict[str, list[str]]) -> None:
    seen: set[str] = set()
    for cycle in cycles(graph):
        assert all(read in graph[name] for name, read in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        assert not seen & set(cycle)
        seen |= set(cycle)


def test_deep_graphs() -> None:
    deep = {f"v{index:05}": [f"v{index - 1:05}"] for index in range(20000)}
    assert topological(deep)[-1] == "v19999"
    assert cycles(deep) == ()
