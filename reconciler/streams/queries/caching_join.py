"""Rows of two inputs that have equal keys and event times no further apart than the expiry; and those that found nobody.

- A row is cached while its event time and the expiry are not before the watermark. It is late when they are before the
  watermark that the step before left, or when it has no event time: then it is dropped. Keys that are NULL are equal to
  nothing.
  (The seed drops an entry when the watermark is its event time and the expiry. There a watermark says that the rows of its
  own time have come, too; here they may still come in time, and have to find what they are near enough to.)
- A pair is given when the later of its rows comes: in a later step, or later in the order of the step, where of rows of
  equal event time those of the left input come before those of the right. So a longer expiry makes no pairs of rows that are
  both cached when it begins.
- `all`: a row is joined with each cached row of the other side that is near enough. `latest`: with one of those that came
  before it, which has the latest event time; of several, the one that came last.
- A row that was in no pair is given when it leaves the cache at the end of a step, with NULL for the other side.
- `event_time` is the later one of the two. What both sides have besides the keys is called `<side's name>_<column>`; so is a
  column `event_time` of one side.

The state has the cached rows of both sides: `__side` (`left` or `right`), `__step`, `__matched`, and the columns of each
side as `__left_<column>` and `__right_<column>`, NULL in rows of the other.
"""

from typing import Final

from reconciler.base.names import fold, quoted
from reconciler.streams.model import Matches, OuterCachingJoin
from reconciler.streams.queries import Input, LateQueries, Memory, Moment, StreamQueries
from reconciler.streams.queries.parts import (
    EVENT_TIME,
    NEW,
    TIME,
    after,
    greatest_multiple,
    keys_in,
    late_queries,
    listed,
    literal,
    micros,
    names_of,
    not_within,
    order_of,
    partition,
    query,
    together,
    within,
)

_SIDES: Final = ("left", "right")
_SIDE, _STEP, _MATCHED = "`__side`", "`__step`", "`__matched`"
_SPAN = "`__span`"
_JOINS, _ID, _CHOSEN = "`__joins`", "`__id`", "`__chosen`"
_LEFT, _RIGHT = f"{_SIDE} = 'left'", f"{_SIDE} = 'right'"


def join_queries(
    transformation: OuterCachingJoin, inputs: tuple[Input, ...], state: str | None, moment: Moment
) -> StreamQueries:
    """The queries of a step."""
    join = _Join(transformation, inputs, state, moment)
    return StreamQueries(join.output(), join.state(), join.late(), EVENT_TIME, join.memory())


class _Side:
    """One of the inputs: `kept` are its columns as the state has them, `keys` those of them that are keys."""

    def __init__(self, name: str, source: Input, keys: tuple[str, ...]) -> None:
        self.name, self.source = name, source
        self.columns = names_of(source)
        self.kept = [quoted(f"__{name}_{column}") for column, _ in source.columns]
        by_column = dict(zip(self.columns, self.kept, strict=True))
        self.keys = [by_column[key] for key in keys_in(source, keys)]
        folded = set(map(fold, keys))
        self.others = [column for column, _ in source.columns if fold(column) not in folded]
        self.event_time = by_column[quoted(source.event_time)]

    def order(self) -> list[str]:
        return order_of(self.source, self.kept)


class _Join:
    """What is known of a step, and the texts that are made of it. All parts have the rows of both sides, in the form of the
    state, with their keys as `__key_1`, …"""

    def __init__(self, given: OuterCachingJoin, inputs: tuple[Input, ...], state: str | None, moment: Moment) -> None:
        self.given, self.known, self.moment, self.expiry = given, state, moment, given.expiry
        self.left, self.right = (_Side(name, source, given.keys) for name, source in zip(_SIDES, inputs, strict=True))
        self.columns = [*self.left.kept, *self.right.kept]
        self.keys = [quoted(f"__key_{place}") for place in range(1, len(given.keys) + 1)]

    def _cached(self, taken: str) -> list[tuple[str, str]]:
        """The rows that are cached, and those that came in time, where they meet a condition; `__joins` says that no key is
        NULL."""
        rows = together(
            self.known
            and f"SELECT {listed([_SIDE, _STEP, _MATCHED, *self.columns])}, FALSE AS {NEW}\nFROM {quoted(self.known)}",
            self._came(self.left),
            self._came(self.right),
        )
        keys = zip(self.left.keys, self.right.keys, self.keys, strict=True)
        known = f"unix_micros(COALESCE({self.left.event_time}, {self.right.event_time})) AS {TIME}"
        found = [*(f"COALESCE({left}, {right}) AS {key}" for left, right, key in keys), known]
        joins = " AND ".join(f"{key} IS NOT NULL" for key in self.keys)
        columns = listed([_SIDE, _STEP, _MATCHED, *self.columns, NEW])
        return [
            ("__rows", rows),
            ("__keyed", f"SELECT {columns}, {listed(found)}\nFROM `__rows`"),
            ("__cached", f"SELECT {columns}, {listed([*self.keys, TIME])}, {joins} AS {_JOINS}\nFROM `__keyed`{taken}"),
        ]

    def _came(self, side: _Side) -> str:
        columns = dict(zip(side.kept, side.columns, strict=True))
        taken = listed(f"{columns.get(kept, 'NULL')} AS {kept}" for kept in self.columns)
        return (
            f"SELECT {literal(side.name)} AS {_SIDE}, CAST({self.moment.step} AS BIGINT) AS {_STEP}, FALSE AS {_MATCHED}, "
            f"{taken}, TRUE AS {NEW}\n"
            f"FROM {quoted(side.source.name)}\nWHERE {within(micros(side.source), self.moment, self.expiry)}"
        )

    def _parts(self, taken: str = "") -> list[tuple[str, str]]:
        """The last one, `__seen`, has all rows that meet the condition, and says whether they were in a pair by the end of
        the step. Where each row is joined with one only, `__choosing` says with which."""
        cached = self._cached(taken)
        if self.given.matches is Matches.ALL:
            return [*cached, ("__near", self._near()), ("__seen", self._seen_near())]
        return [*cached, *self._chosen(), ("__seen", self._seen_chosen())]

    def _names(self) -> str:
        return listed([_SIDE, _STEP, *self.columns, *self.keys, TIME])

    def _near(self) -> str:
        """The nearest rows of each side, before and after each row: of those that came, and of all. The rows of a key stand
        in order of time, so the next one is the nearest, whichever comes first of those of one time."""
        taken = [("", f"{_SIDE} = "), *([("new_", f"{NEW} AND {_SIDE} = ")] if self.known else ())]
        times = [
            f"{function}(CASE WHEN {which}{literal(side)} THEN {TIME} END) IGNORE NULLS OVER "
            f"({partition(self.keys)} ORDER BY {TIME}) AS `__nearest_{where}_{rows}{side}`"
            for function, where in (("LAG", "before"), ("LEAD", "after"))
            for rows, which in taken
            for side in _SIDES
        ]
        return f"SELECT {self._names()}, {listed([_MATCHED, _JOINS, NEW, *times])}\nFROM `__cached`"

    def _seen_near(self) -> str:
        """A cached row is in no pair with a cached one, however near: where the expiry was shorter before, they may have
        been too far apart for it."""

        def found(rows: str) -> str:
            return (
                f"{TIME} - `__nearest_before_{rows}` <= {self.expiry} OR `__nearest_after_{rows}` - {TIME} <= {self.expiry}"
            )

        cases = [f"WHEN {NEW} AND {_LEFT} THEN {found('right')}", f"WHEN {NEW} THEN {found('left')}"]
        if self.known:
            cases += [f"WHEN {_LEFT} THEN {found('new_right')}", f"ELSE {found('new_left')}"]
        near = f"COALESCE(CASE {' '.join(cases)} END, FALSE)"
        return f"SELECT {self._names()}, {_MATCHED} OR {_JOINS} AND {near} AS {_MATCHED}\nFROM `__near`"

    def _chosen(self) -> list[tuple[str, str]]:
        """With which row each new one is joined: the last one of the other side that came before it, if it is near enough.
        Rows of a key have numbers in the order of event time, then in the order in which they came."""
        order = listed([TIME, _STEP, _SIDE, *self.left.order(), *self.right.order()])
        number = f"ROW_NUMBER() OVER ({partition(self.keys)} ORDER BY {order}) AS {_ID}"
        names = f"{self._names()}, {listed([_MATCHED, _JOINS, NEW])}"

        def last(rows: str, up_to: str) -> str:
            found = f"CASE WHEN {rows} THEN struct({TIME}, {_ID}) END"
            return (
                f"MAX({found}) OVER ({partition(self.keys)} ORDER BY {TIME} RANGE BETWEEN UNBOUNDED PRECEDING AND {up_to})"
            )

        # What was cached may be of a later event time; what comes in the same step comes in order.
        later = f"CAST({self.expiry} AS BIGINT) FOLLOWING"
        just_before = "CAST(1 AS BIGINT) PRECEDING"
        for_left = [last(f"{_RIGHT} AND NOT {NEW}", later), last(f"{_RIGHT} AND {NEW}", just_before)]
        for_right = [last(f"{_LEFT} AND NOT {NEW}", later), last(f"{_LEFT} AND {NEW}", "CURRENT ROW")]
        found = f"CASE WHEN {_LEFT} THEN GREATEST({listed(for_left)}) ELSE GREATEST({listed(for_right)}) END AS `__found`"
        near = f"{NEW} AND {_JOINS} AND `__found`.{TIME} >= {TIME} - {self.expiry}"
        return [
            ("__numbered", f"SELECT {names}, {number}\nFROM `__cached`"),
            ("__finding", f"SELECT {names}, {_ID}, {found}\nFROM `__numbered`"),
            (
                "__choosing",
                f"SELECT {names}, {_ID}, CASE WHEN {near} THEN `__found`.{_ID} END AS {_CHOSEN}\nFROM `__finding`",
            ),
        ]

    def _seen_chosen(self) -> str:
        chosen = f"SELECT DISTINCT {listed([*self.keys, _CHOSEN])}\nFROM `__choosing`\nWHERE {_CHOSEN} IS NOT NULL"
        on = " AND ".join([*(f"`__s`.{key} = `__c`.{key}" for key in self.keys), f"`__s`.{_ID} = `__c`.{_CHOSEN}"])
        names = listed(f"`__s`.{one}" for one in (_SIDE, _STEP, *self.columns, *self.keys, TIME))
        matched = f"`__s`.{_MATCHED} OR `__s`.{_CHOSEN} IS NOT NULL OR `__c`.{_CHOSEN} IS NOT NULL AS {_MATCHED}"
        return f"SELECT {names}, {matched}\nFROM `__choosing` AS `__s`\nLEFT JOIN (\n{chosen}\n) AS `__c` ON {on}"

    def output(self) -> str:
        left, right = ([quoted(f"__{side.name}_{one}") for one in side.others] for side in (self.left, self.right))
        names = [*keys_in(self.left.source, self.given.keys), *self._output_names(), quoted(EVENT_TIME)]

        def given(values: list[str]) -> str:
            return f"SELECT {listed(f'{value} AS {name}' for value, name in zip(values, names, strict=True))}"

        gone = f"WHERE NOT {_MATCHED} AND {TIME} + {self.expiry} < {after(self.moment)}"
        alone = given([*self.keys, *left, *right, f"timestamp_micros({TIME})"])
        pair = given([*self._of_pair(left, right), f"timestamp_micros(GREATEST(`__l`.{TIME}, `__r`.{TIME}))"])
        pairs = [f"{pair}\nFROM {rows}" for rows in self._pairs()]
        return query(self._parts(), together(*pairs, f"{alone}\nFROM `__seen`\n{gone}"))

    def _of_pair(self, left: list[str], right: list[str]) -> list[str]:
        """The keys and these columns of each side, of a pair `__l` and `__r`."""
        if self.given.matches is Matches.ALL:
            of_left = [f"`__l`.{one}" for one in (*self.keys, *left)]
            return [*of_left, *(f"`__r`.{one}" for one in right)]
        # Either row may be of either side, and has NULL for the columns of the other one.
        return [f"COALESCE(`__l`.{one}, `__r`.{one})" for one in (*self.keys, *left, *right)]

    def _pairs(self) -> list[str]:
        """The pairs of this step, as relations `__l` and `__r`. Where all that match are given, `__l` is of the left."""
        equal = [f"`__l`.{key} = `__r`.{key}" for key in self.keys]
        if self.given.matches is Matches.LATEST:
            on = " AND ".join([*equal, f"`__l`.{_CHOSEN} = `__r`.{_ID}"])
            return [f"`__choosing` AS `__l`\nJOIN `__choosing` AS `__r` ON {on}"]
        # Rows of a key are compared with those near them alone: a span of time has those of the left, and every span that
        # is near enough to one of the right has that.
        span = 4 * max(self.expiry, 1)
        ends = listed(greatest_multiple(f"({TIME} {sign} {self.expiry})", span) for sign in "-+")
        of_left = f"{greatest_multiple(TIME, span)} AS {_SPAN}"
        of_right = f"explode(array_distinct(array({ends}))) AS {_SPAN}"

        def rows(span_of: str, side: str) -> str:
            columns = listed([*self.columns, *self.keys, TIME, NEW, span_of])
            return f"SELECT {columns}\nFROM `__cached`\nWHERE {side} AND {_JOINS}"

        left, right = rows(of_left, _LEFT), rows(of_right, _RIGHT)
        near = f"ABS(`__l`.{TIME} - `__r`.{TIME}) <= {self.expiry}"
        on = " AND ".join([*equal, f"`__l`.{_SPAN} = `__r`.{_SPAN}", near])
        # What was cached is not compared with what was cached.
        came = [f"`__l`.{NEW}", f"NOT `__l`.{NEW} AND `__r`.{NEW}"] if self.known else [f"`__l`.{NEW}"]
        return [f"(\n{left}\n) AS `__l`\nJOIN (\n{right}\n) AS `__r` ON {on}\nWHERE {one}" for one in came]

    def _output_names(self) -> list[str]:
        """What the output's columns are called, after the keys."""
        both = {fold(one) for one in self.left.others} & {fold(one) for one in self.right.others} | {EVENT_TIME}
        sides = ((self.given.left, self.left), (self.given.right, self.right))
        return [quoted(f"{name}_{one}" if fold(one) in both else one) for name, side in sides for one in side.others]

    def state(self) -> str:
        """Whom a cached row was in a pair with was no further from it than the expiry, so earlier rows need not be looked
        at."""
        cached = f"\nWHERE {TIME} + {self.expiry} >= {after(self.moment)}"
        near = f"\nWHERE {TIME} + {2 * self.expiry} >= {after(self.moment)}"
        return query(self._parts(near), f"SELECT {listed([_SIDE, _STEP, _MATCHED, *self.columns])}\nFROM `__seen`{cached}")

    def memory(self) -> Memory:
        """A row that found nobody is given when it leaves the cache. All rows of a key are remembered anew with those that
        come: some may have found somebody."""
        time = f"unix_micros(COALESCE({self.left.event_time}, {self.right.event_time}))"
        gone = f"CASE WHEN NOT {_MATCHED} THEN {time} + {self.expiry + 1} END"
        return Memory(
            (_SIDE, _STEP, _MATCHED, *self.columns),
            tuple(zip(self.left.keys, self.right.keys, strict=True)),
            tuple((side.source.name, tuple(keys_in(side.source, self.given.keys))) for side in (self.left, self.right)),
            f"{time} + {self.expiry}",
            due=(gone, gone),
        )

    def late(self) -> LateQueries:
        sides = (self.left.source, self.right.source)
        return late_queries((), *(not_within(source, self.moment, self.expiry) for source in sides))
