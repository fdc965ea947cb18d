"""Explanations as text for a terminal or a pipe. Plain characters; colour, if any, is added by the caller through `paint`.

What users wrote is shown and does not act. With a width, lines are broken between words and nothing is lost.
"""

from collections.abc import Callable, Iterable, Sequence

from reconciler.base.printing import printable
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.incremental.words import describe_maintenance
from reconciler.plan.explain.model import ColumnExplanation, Part, RelationExplanation, RelationLine, State, Stored, Written
from reconciler.plan.explain.origins import Origins
from reconciler.plan.impact import Measure
from reconciler.plan.impact_words import bytes_words, rows_words, seconds_words
from reconciler.plan.text_form import no_paint, query_difference
from reconciler.plan.wrapping import columns_of, wrap

Paint = Callable[[str, str], str]

_STATE_WORDS = {State.SPARED: "unaffected", State.UNTOUCHED: "unchanged"}
"""The glossary's words for states that the JSON form calls otherwise."""

_PAINTED = frozenset({State.ADDED, State.MODIFIED, State.REMOVED})


def render_lines(title: str, lines: Sequence[RelationLine], paint: Paint = no_paint, width: int | None = None) -> str:
    """A pipeline's relations in dependency order, a line each, ending in a newline."""
    cells = [(line.name, line.kind, _count(line.columns), _state_words(line.state)) for line in lines]
    widths = [max((columns_of(printable(row[place])) for row in cells), default=0) for place in range(4)]
    text = [paint(printable(title), "title")]
    for line, row in zip(lines, cells, strict=True):
        start = "  ".join(_padded(printable(cell), widths[place]) for place, cell in enumerate(row))
        broken = wrap(f"  {start}  {printable(line.why)}", width, 6)
        text += [paint(one, line.state.value) for one in broken] if line.state in _PAINTED else broken
    return "\n".join(text) + "\n"


def render_relation(title: str, one: RelationExplanation, paint: Paint = no_paint, width: int | None = None) -> str:
    """One relation, ending in a newline."""
    page = _Page(paint, width)
    effect = f", {one.effect}" if one.effect else ""
    page.heading(f"{one.kind} {one.name} ({title}): {_state_words(one.state)}{effect}")
    if one.declared is not None:
        page.line(f"  declared at {one.declared}")
    elif not one.is_declared and one.state is not State.UNKNOWN:
        page.line("  no longer declared; this is the applied definition")
    page.line(f"  {_place(one.stored)}")
    page.section("why", one.why)
    if one.maintained is not None:
        page.section("brought up to date", describe_maintenance(one.maintained))
    page.section("columns", _column_lines(one.columns))
    if not one.columns:
        page.section("columns", ["not known without Spark"])
    if one.rows_from is not None:
        page.section("its rows are decided by", [_origin_words(one.rows_from) or "only the rows that it reads"])
    page.section("reads", [f"{read.relation}: {', '.join(read.columns) or 'its rows only'}" for read in one.reads])
    page.section("read by", [", ".join(one.read_by)] if one.read_by else [])
    page.section("fingerprint", _part_lines(one.parts))
    page.section("attributes outside the fingerprint", [", ".join(map(_written_words, one.written))])
    if one.same_meaning is not None and one.texts is not None:
        page.section("text that changed", query_difference(*one.texts))
        page.section("meaning, the same on both sides", masked_in_code(one.same_meaning)[0].split("\n"))
    page.section("connectors", [f"{item.connector}: {item.outcome.value} ({item.reason})" for item in one.connectors])
    page.section("hazards", [f"{hazard.code} {hazard.message}" for hazard in one.hazards], "hazard")
    return page.text()


class _Page:
    """Lines as they come, broken and painted."""

    def __init__(self, paint: Paint, width: int | None) -> None:
        self._paint = paint
        self._width = width
        self._lines: list[str] = []

    def heading(self, text: str) -> None:
        self._lines.append(self._paint(printable(text), "title"))

    def line(self, text: str) -> None:
        indent = len(text) - len(text.lstrip())
        self._lines += wrap(printable(text), self._width, indent + 4)

    def section(self, title: str, lines: Iterable[str], style: str | None = None) -> None:
        """A title and lines under it; nothing when there are none."""
        found = list(lines)
        if not found:
            return
        self._lines += ["", f"  {title}"]
        for line in found:
            broken = wrap(f"    {printable(line)}", self._width, 8)
            self._lines += [self._paint(one, style) for one in broken] if style is not None else broken

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _state_words(state: State) -> str:
    return _STATE_WORDS.get(state, state.value)


def _place(stored: Stored | None) -> str:
    if stored is None:
        return "not stored"
    learnt = stored.measure.seconds
    took = f"; its last bootstrap took {seconds_words(learnt)}" if learnt is not None else ""
    place = f"stored at {stored.location}, Delta version {stored.version}: {_size(stored.measure)}{took}"
    if stored.state is None:
        return place
    keys = stored.keys
    seen = f"; {rows_words(keys.rows)} of step {keys.step} had {keys.keys:,} keys" if keys is not None else ""
    return f"{place}; it remembers {_size(stored.state)}{seen}"


def _size(measure: Measure) -> str:
    size = [rows_words(measure.rows)] if measure.rows is not None else []
    size += [bytes_words(measure.bytes)] if measure.bytes is not None else []
    return ", ".join(size) or "size not known"


def _column_lines(columns: Sequence[ColumnExplanation]) -> list[str]:
    names = max((columns_of(printable(column.name)) for column in columns), default=0)
    kinds = [_type_words(column) for column in columns]
    widest = max(map(columns_of, kinds), default=0)
    return [
        "  ".join(
            part
            for part in (_padded(printable(column.name), names), _padded(kind, widest), _from_words(column.origins))
            if part
        ).rstrip()
        for column, kind in zip(columns, kinds, strict=True)
    ]


def _type_words(column: ColumnExplanation) -> str:
    if column.type is None:
        return ""
    return column.type if column.nullable else f"{column.type} NOT NULL"


def _from_words(origins: Origins | None) -> str:
    if origins is None:
        return ""
    words = _origin_words(origins)
    return f"from {words}" if words else "from no column"


def _origin_words(origins: Origins) -> str:
    columns = ", ".join(origins.columns)
    if origins.is_exact:
        return columns
    return f"anything that is read ({columns})" if columns else "anything that is read"


def _part_lines(parts: Sequence[Part]) -> list[str]:
    widest = max((columns_of(printable(part.name)) for part in parts), default=0)
    return [f"{_padded(printable(part.name), widest)}  {_digests(part)}" for part in parts]


def _digests(part: Part) -> str:
    if part.applied == part.desired:
        return part.applied or ""
    return f"{part.applied or '(none)'} → {part.desired or '(none)'}"


def _written_words(written: Written) -> str:
    return f"{written.what} (changed)" if written.differs else written.what


def _count(columns: int | None) -> str:
    if columns is None:
        return "? columns"
    return "1 column" if columns == 1 else f"{columns} columns"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns_of(text))
