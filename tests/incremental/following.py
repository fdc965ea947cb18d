"""What is kept of a query over a history, step by step, held against the query from scratch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, assert_never

from reconciler.incremental import changed_groups, summaries
from reconciler.incremental.added_rows import added_query
from reconciler.incremental.changed_rows import changed_rows_query
from reconciler.incremental.first_rows import FirstRows
from reconciler.incremental.kept_aggregate import (
    KEPT,
    both_query,
    changed_query,
    finishing_query,
    kept_keys,
    key_columns,
    state_query,
)
from reconciler.incremental.linked_reads import LinkedRead, TermReads, linked_reads
from reconciler.incremental.model import (
    ChangedGroups,
    KeptAggregate,
    LinearRows,
    Method,
    froms_of,
    read_whole,
    reads_of_terms,
)
from reconciler.incremental.needed_rows import KeyRange, needed_rows
from reconciler.incremental.terms import changed_source, former_source
from reconciler.sql.check import analyse_query
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.sql.row_condition import RowCondition, Sign
from tests.incremental.queries import Row, Tables, changes, groups_of, kept_of, linear_of, multiset


class Computes(Protocol):
    """What computes queries over rows that it is given. `failing`: what it raises where a query fails. `holds_back`: it can
    be given any rows of what is kept."""

    failing: type[Exception]
    holds_back: bool

    def give(self, name: str, columns: Mapping[str, str | None], rows: Sequence[Row]) -> None: ...

    def run(self, query: str) -> tuple[Any, list[Row]]:
        """The columns, in whatever form, and the rows."""

    def keep(self, query: str, names: Sequence[str]) -> Mapping[str, str]:
        """Compute what is kept, and give it under its name; the types of its columns."""


def follow(engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]) -> int:
    """How often rows were followed, and not computed anew. Raises AssertionError where a step gives other rows."""
    kept = kept_of(query)
    followed = 0
    before = history[0]
    for name, rows in before.items():
        engine.give(name, columns[name], rows)
    types = engine.keep(state_query(kept), ())
    for step, tables in enumerate(history[1:], 1):
        at_once: list[Row] | None = None
        changed = [name for name in kept.relations if changes(before[name], tables[name])]
        for name, rows in tables.items():
            engine.give(name, columns[name], rows)
        if kept.fixed.isdisjoint(changed):
            for name in changed:
                with_change = {**columns[name], "__change": "STRING"}
                engine.give(changed_source(name), with_change, changes(before[name], tables[name]))
                engine.give(former_source(name), columns[name], before[name])
            narrowed = leave_out(engine, kept, changed, before, tables, columns)
            rest = _hold_back(engine, kept, changed, before, tables, columns, types) if engine.holds_back else []
            try:
                asked = changed_query(kept, changed, types, "__change")
                both = None if rest else both_query(kept, types, asked)
                if both is not None:
                    at_once = [row[len(types) : -1] for row in engine.run(both)[1] if row[-1]]
                types = engine.keep(asked, tuple(types))
                if rest:
                    engine.give(KEPT, types, [*engine.run(f"SELECT * FROM `{KEPT}`")[1], *rest])
                followed += 1
            except engine.failing:
                # A least or greatest value may have gone.
                assert kept.extremes, query
                give_back(engine, narrowed, tables, columns)
                types = engine.keep(state_query(kept), ())
            give_back(engine, narrowed, tables, columns)
        else:
            types = engine.keep(state_query(kept), ())
        found, wanted = engine.run(finishing_query(kept, types)), engine.run(query)
        assert found[0] == wanted[0], query
        assert at_once is None or multiset(at_once) == multiset(wanted[1]), f"step {step}, at once: {query}"
        assert multiset(found[1]) == multiset(wanted[1]), f"step {step} of {KEPT}: {query}\n{before}\n{tables}"
        before = tables
    return followed


def follow_summary(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]], most: int
) -> int | None:
    """The same for a query of whose groups a summary is kept; of those that come first, at most `most` more than it shows.
    How often a summary followed, and was not taken of all groups. None: there is no summary."""
    kept = kept_of(query)
    before = history[0]
    for name, rows in before.items():
        engine.give(name, columns[name], rows)
    types = engine.keep(state_query(kept), ())
    summary = summaries.summary_of(kept, types)
    if summary is None or kept.fixed:
        return None
    if isinstance(summary, FirstRows):
        summary = replace(summary, most=summary.count + most)
    width, place = len(key_columns(kept)), list(types).index("rows")
    groups = {row[:width]: row for row in engine.run(f"SELECT * FROM `{KEPT}`")[1]}

    def of_all() -> tuple[Mapping[str, str], list[Row], bool]:
        engine.give(summaries.ALL, types, list(groups.values()))
        found = engine.keep(summaries.summary_query(summary), ()), engine.run(f"SELECT * FROM `{KEPT}`")[1]
        return *found, summaries.has_all(summary, len(found[1]))

    own, held, has_all = of_all()
    followed = 0
    for step, tables in enumerate(history[1:], 1):
        changed = [name for name in kept.relations if changes(before[name], tables[name])]
        for name, rows in tables.items():
            engine.give(name, columns[name], rows)
        for name in changed:
            with_change = {**columns[name], "__change": "STRING"}
            engine.give(changed_source(name), with_change, changes(before[name], tables[name]))
            engine.give(former_source(name), columns[name], before[name])
        were, came = dict(groups), []
        try:
            engine.give(KEPT, types, list(groups.values()))
            came = engine.run(changed_query(kept, changed, types, "__change", only_changed=True))[1]
        except engine.failing:
            assert kept.extremes, query
            types = engine.keep(state_query(kept), ())
            groups = {row[:width]: row for row in engine.run(f"SELECT * FROM `{KEPT}`")[1]}
            own, held, has_all = of_all()
        else:
            groups |= {row[:width]: row for row in came}
            groups = {key: row for key, row in groups.items() if row[place]}
            engine.give(summaries.CAME, types, came)
            engine.give(summaries.WERE, types, list(were.values()))
            engine.give(KEPT, own, held)
            asked = summaries.changed_summary_query(kept, summary, own, "__change", are_all=has_all)
            try:
                own = engine.keep(asked, tuple(own))
                held = engine.run(f"SELECT * FROM `{KEPT}`")[1]
                has_all = has_all and summaries.has_all(summary, len(held))
                followed += 1
            except engine.failing:
                assert isinstance(summary, KeptAggregate), query
                assert summary.extremes, query
                own, held, has_all = of_all()
            if not summaries.is_enough(summary, len(held), are_all=has_all):
                own, held, has_all = of_all()
        engine.give(KEPT, own, held)
        found, wanted = engine.run(summaries.rest_query(kept, summary, types, own)), engine.run(query)
        assert found[0] == wanted[0], query
        assert multiset(found[1]) == multiset(wanted[1]), f"step {step}: {query}\n{before}\n{tables}"
        before = tables
    return followed


def follow_added(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]
) -> int:
    """The same for a query to which rows only come, over a history in which none goes; what it reads in another way does not
    change. How many rows came."""
    method = linear_of(query)

    def step(changed: Sequence[str], types: Sequence[Column], held: Sequence[Row]) -> tuple[list[Row], int]:
        found = engine.run(added_query(method, changed, types))[1]
        return [*held, *found], len(found)

    own = _OwnRows(engine, query, method, columns, method.beside, says_what_became=False)
    return own.follow(history, reads_of_terms, step)


def follow_changed(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]
) -> int:
    """The same over any history; what it has no rule for does not change. How many distinct rows came or went."""
    method = linear_of(query)

    def step(changed: Sequence[str], types: Sequence[Column], held: Sequence[Row]) -> tuple[list[Row], int]:
        found = engine.run(changed_rows_query(method, changed, types, "__change"))[1]
        assert len(multiset(row[:-1] for row in found)) == len(found), f"a row twice: {query}"
        return brought(held, found), len(found)

    return _OwnRows(engine, query, method, columns, method.fixed).follow(history, reads_of_terms, step)


def follow_groups(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]
) -> int:
    """The same for a query whose groups that changed are computed anew, one by one. How many keys there were."""
    method = groups_of(query)

    def step(changed: Sequence[str], types: Sequence[Column], held: Sequence[Row]) -> tuple[list[Row], int]:
        keys, found = engine.run(changed_groups.keys_query(method, changed))
        named = [one[0] if isinstance(one, tuple) else one for one in keys]
        kinds = [types[item][1] for item in method.groups.items]
        names = [name for name, _ in types]
        given = {**own.now, changed_groups.KEYS: found, changed_groups.OWN: held}
        order = {**{name: [*of] for name, of in columns.items()}, changed_groups.KEYS: named, changed_groups.OWN: names}
        narrowed = linked(changed_groups.reads_of_groups(method, names), given.__getitem__, order.__getitem__)
        some = {name: [rows[at] for at in sorted(narrowed.get(name, range(len(rows))))] for name, rows in given.items()}
        for name, rows in some.items():
            if name in columns:
                engine.give(name, columns[name], rows)
        engine.give(changed_groups.KEYS, dict(zip(named, kinds, strict=True)), found)
        engine.give(changed_groups.OWN, dict(types), some[changed_groups.OWN])
        return brought(held, engine.run(changed_groups.changed_groups_query(method, types))[1]), len(found)

    own = _OwnRows(engine, query, method, columns, method.fixed)
    return own.follow(history, reads_of_terms, step)


Column: TypeAlias = tuple[str, str]
Step: TypeAlias = Callable[[Sequence[str], Sequence[Column], Sequence[Row]], tuple[list[Row], int]]
"""What a step makes of the rows that a view had after relations changed: those that it has, and how many were looked at."""


@dataclass(slots=True)
class _OwnRows:
    """A view whose own rows follow. Relations that stand `still` never change; `says_what_became`: of rows that changed."""

    engine: Computes
    query: str
    method: LinearRows | ChangedGroups
    columns: Mapping[str, Mapping[str, str | None]]
    still: Collection[str]
    says_what_became: bool = True
    now: Tables = field(default_factory=dict)

    def follow(self, history: Sequence[Tables], reads: Callable[..., Any], step: Step) -> int:
        self.now, count = history[0], 0
        self.give_all()
        names, rows = self.engine.run(self.query)
        held = list(rows)
        types = [one if isinstance(one, tuple) else (one, "NUMERIC" if one.startswith("n") else "TEXT") for one in names]
        for tables in history[1:]:
            before, self.now = self.now, {name: self.now[name] if name in self.still else tables[name] for name in tables}
            changed = [name for name in self.method.relations if changes(before[name], self.now[name])]
            self.give_all()
            for name in changed:
                self._give_changed(name, changes(before[name], self.now[name]))
            for name in reads(self.method, changed)[0]:
                self.engine.give(former_source(name), self.columns[name], before[name])
            if changed:
                leave_out(self.engine, self.method, changed, before, self.now, self.columns)
                held, more = step(changed, types, held)
                self.give_all()
                count += more
            assert multiset(held) == multiset(self.engine.run(self.query)[1]), f"{self.query}\n{before}\n{self.now}"
        return count

    def give_all(self) -> None:
        """Give the relations as they are."""
        for name, rows in self.now.items():
            self.engine.give(name, self.columns[name], rows)

    def _give_changed(self, name: str, rows: Sequence[Row]) -> None:
        if self.says_what_became:
            self.engine.give(changed_source(name), {**self.columns[name], "__change": "STRING"}, rows)
        else:
            self.engine.give(changed_source(name), self.columns[name], [row[:-1] for row in rows])


def brought(held: Sequence[Row], changed: Sequence[Row]) -> list[Row]:
    """Rows with those that come, and without those that go, which are there."""
    left = list(held)
    for *row, copies in changed:
        left += [tuple(row)] * max(copies, 0)
        for _ in range(-copies):
            del left[next(at for at, one in enumerate(left) if multiset([one]) == multiset([tuple(row)]))]
    return left


def leave_out(
    engine: Computes,
    method: Method,
    changed: Sequence[str],
    before: Tables,
    now: Tables,
    columns: Mapping[str, Mapping[str, str | None]],
) -> list[str]:
    """Give all that is not needed for what changed no more, row by row; the names of sources. What is needed lies between
    the ends of keys, and equalities lead to it. Columns that the query does not use are NULL."""

    def keys(name: str, column: str) -> KeyRange | None:
        at = list(columns[name]).index(column)
        values = [row[at] for row in changes(before[name], now[name]) if row[at] is not None]
        return KeyRange(min(values), max(values)) if values else None

    needed = needed_rows(froms_of(method), changed, keys)
    terms = linked_reads(froms_of(method), changed, read_whole(method))
    found = linked(terms, lambda name: _rows(name, before, now), lambda name: [*columns[_relation(name)]])
    narrowed = sorted({name for name in needed if name not in read_whole(method)} | found.keys())
    for name in narrowed:
        relation = name.removeprefix(former_source(""))
        order, within = list(columns[relation]), needed.get(name, {})
        rows = [
            row
            for at, row in enumerate(_rows(name, before, now))
            if all(_is_within(row[order.index(one)], of) for one, of in within.items()) and at in found.get(name, {at})
        ]
        unused = [at for at, column in enumerate(order) if column not in _used(method.query, relation, columns)]
        engine.give(name, columns[relation], [_without(row, unused) for row in rows])
    return narrowed


def _used(query: str, relation: str, columns: Mapping[str, Mapping[str, str | None]]) -> set[str]:
    """The columns of a relation that a query looks at."""
    reads = {one.relation: set(one.columns) for one in analyse_query(query, None, columns).reads}
    return set(columns[relation]) if ALL_COLUMNS in reads[relation] else reads[relation]


def _without(row: Row, unused: Collection[int]) -> Row:
    return tuple(None if at in unused else value for at, value in enumerate(row))


def linked(
    terms: Sequence[TermReads], rows_of: Callable[[str], Sequence[Row]], names_of: Callable[[str], list[str]]
) -> dict[str, set[int]]:
    """By sources of which not all rows are needed, the places of those to which equalities lead. `rows_of` gives the rows of
    a source, `names_of` its columns."""
    found: dict[str, set[int]] = {}
    whole = set()
    for term in terms:
        reads: list[Sequence[Row] | None] = [rows_of(term[0].name)]
        leading = [_meeting(rows_of(term[0].name), names_of(term[0].name), term[0])]
        for one in term[1:]:
            via = None if one.via is None else (reads if one.with_null else leading)[one.via]
            if via is None or one.via is None:
                whole.add(one.name)
                reads.append(None)
                leading.append(None)
                continue
            if one.is_whole:
                whole.add(one.name)
            theirs, own = (names_of(name) for name in (term[one.via].name, one.name))
            null = set() if one.with_null else {None}
            values = [{row[theirs.index(start)] for row in via} - null for start, _ in one.pairs]
            rows = rows_of(one.name)
            ends = [own.index(end) for _, end in one.pairs]
            places = [
                at for at, row in enumerate(rows) if all(row[end] in some for end, some in zip(ends, values, strict=True))
            ]
            found.setdefault(one.name, set()).update(places)
            reads.append([rows[at] for at in places])
            leading.append(_meeting([rows[at] for at in places], own, one))
            if one.narrows:
                ends_met = [{row[end] for row in leading[-1] or ()} - {None} for end in ends]
                starts = [theirs.index(start) for start, _ in one.pairs]
                leading[one.via] = [
                    row for row in via if all(row[start] in some for start, some in zip(starts, ends_met, strict=True))
                ]
    return {name: places for name, places in found.items() if name not in whole}


def _meeting(rows: Sequence[Row], names: list[str], read: LinkedRead) -> Sequence[Row] | None:
    """The rows from which a read leads on."""
    return [row for row in rows if all(_meets(row[names.index(one.column)], one) for one in read.conditions)]


def _meets(value: Any, condition: RowCondition) -> bool:
    first = condition.values[0]
    if value is None:
        return False
    match condition.sign:
        case Sign.AMONG:
            return value in condition.values
        case Sign.LESS:
            return bool(value < first)
        case Sign.AT_MOST:
            return bool(value <= first)
        case Sign.MORE:
            return bool(value > first)
        case Sign.AT_LEAST:
            return bool(value >= first)
        case Sign.BEGINS:
            return bool(value.startswith(first))
        case Sign.ENDS:
            return bool(value.endswith(first))
        case Sign.HOLDS:
            return first in value
        case _:
            assert_never(condition.sign)


def _relation(name: str) -> str:
    return name.removeprefix(former_source("")).removeprefix(changed_source(""))


def _rows(name: str, before: Tables, now: Tables) -> list[Row]:
    """The rows of a source."""
    relation = _relation(name)
    if name == changed_source(relation):
        return [*changes(before[relation], now[relation])]
    return [*(before[relation] if name == former_source(relation) else now[relation])]


def _hold_back(
    engine: Computes,
    kept: KeptAggregate,
    changed: Sequence[str],
    before: Tables,
    now: Tables,
    columns: Mapping[str, Mapping[str, str | None]],
    types: Mapping[str, str],
) -> list[Row]:
    """Give those rows of what is kept no more that stay as they are; these rows."""
    held = engine.run(f"SELECT * FROM `{KEPT}`")[1]
    terms = linked_reads(froms_of(kept), changed, read_whole(kept), kept_keys(kept))
    found = linked(
        terms,
        lambda name: held if name == KEPT else _rows(name, before, now),
        lambda name: [*types] if name == KEPT else [*columns[_relation(name)]],
    )
    needed = found.get(KEPT, set(range(len(held))))
    engine.give(KEPT, types, [held[at] for at in sorted(needed)])
    return [row for at, row in enumerate(held) if at not in needed]


def give_back(engine: Computes, names: Sequence[str], now: Tables, columns: Mapping[str, Mapping[str, str | None]]) -> None:
    """Give all rows of relations as they are now."""
    for name in names:
        if name in now:
            engine.give(name, columns[name], now[name])


def _is_within(value: Any, of: KeyRange) -> bool:
    return value is not None and of.least <= value <= of.greatest
