"""Orders of a graph of names: what reads comes after what it reads; ties go by name. Cycles are found, not fatal."""

from collections.abc import Collection, Iterable, Mapping
from heapq import heapify, heappop, heappush


def topological(reads: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """All keys, each after what it reads, the smallest possible name first.

    Names that are no keys are ignored. Nodes on a cycle, and those behind one, come last, by name.
    """
    waiting = {name: {read for read in parents if read in reads and read != name} for name, parents in reads.items()}
    readers: dict[str, list[str]] = {name: [] for name in reads}
    for name, parents in waiting.items():
        for parent in parents:
            readers[parent].append(name)
    ready = [name for name, parents in waiting.items() if not parents]
    heapify(ready)
    ordered: list[str] = []
    while ready:
        name = heappop(ready)
        ordered.append(name)
        for reader in readers[name]:
            waiting[reader].discard(name)
            if not waiting[reader]:
                heappush(ready, reader)
    done = set(ordered)
    return (*ordered, *sorted(name for name in reads if name not in done))


class Frontier:
    """Goes through a graph of names, each after what it reads: `ready` are those of which all is done that they read. Names
    that are no keys are done."""

    def __init__(self, reads: Mapping[str, Collection[str]]) -> None:
        self._readers: dict[str, list[str]] = {name: [] for name in reads}
        self._waiting: dict[str, int] = {}
        for name, parents in reads.items():
            within = [read for read in parents if read in reads]
            self._waiting[name] = len(within)
            for read in within:
                self._readers[read].append(name)
        self.ready = {name for name, count in self._waiting.items() if count == 0}

    def take(self) -> set[str]:
        """Those that are ready; each is given once."""
        taken, self.ready = self.ready, set()
        return taken

    def done(self, name: str) -> None:
        """A name is done."""
        for reader in self._readers[name]:
            self._waiting[reader] -= 1
            if self._waiting[reader] == 0:
                self.ready.add(reader)


def cycles(reads: Mapping[str, Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """One cycle for each group of names that reach one another, itself included when it names itself.

    A cycle starts at its smallest name and goes from reader to read; it is the shortest one through that name.
    """
    if _is_acyclic(reads):
        # So it is with nearly every graph, and to tell that is half the work.
        return ()
    edges = {name: sorted({read for read in parents if read in reads}) for name, parents in reads.items()}
    found = [_shortest(group[0], group, edges) for group in _components(edges)]
    return tuple(sorted(cycle for cycle in found if cycle))


def _is_acyclic(reads: Mapping[str, Iterable[str]]) -> bool:
    """Whether a graph has no cycle: all of it can be gone through, each after what it reads."""
    frontier, left = Frontier({name: {*parents} for name, parents in reads.items()}), len(reads)
    while frontier.ready:
        for name in frontier.take():
            left -= 1
            frontier.done(name)
    return left == 0


def _shortest(start: str, group: list[str], edges: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The shortest way from `start` back to it inside its group, without the repeat; empty when there is none."""
    inside = set(group)
    before: dict[str, str] = {}
    ends = [start]
    while ends:
        further: list[str] = []
        for end in ends:
            for step in edges[end]:
                if step == start:
                    return _way(start, end, before)
                if step in inside and step not in before:
                    before[step] = end
                    further.append(step)
        ends = further
    return ()


def _way(start: str, end: str, before: Mapping[str, str]) -> tuple[str, ...]:
    """From start to end, by what stands before each."""
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return tuple(reversed(way))


def _components(edges: Mapping[str, list[str]]) -> list[list[str]]:
    """Strongly connected groups (Tarjan's way, without recursion: programs may be deep), each sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[list[str]] = []
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, children = work[-1]
            child = next(children, None)
            if child is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == index[name]:
                    group: list[str] = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member == name:
                            break
                    groups.append(sorted(group))
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                on_stack.add(child)
                work.append((child, iter(edges[child])))
            elif child in on_stack:
                low[name] = min(low[name], index[child])
    return groups
