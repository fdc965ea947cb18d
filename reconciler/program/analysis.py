"""What is known of one query, from the cache where it was found out before.

Two things are kept, each under a key of all that it depends on:
- facts, of the text alone: which relations it names, whether it can make names data;
- the analysis, of the text and of the columns of what it names: what it reads, gives and descends from, and its canonical
  text.

Only of queries that parse and that nothing is wrong with: what is said of others has places and hints that depend on more.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reconciler.cache import Cache
from reconciler.diagnostics import Diagnostic
from reconciler.manifest.model import ViewDeclaration, ViewKind
from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.lineage import Lineage, OutputLineage

if TYPE_CHECKING:
    from reconciler.sql.query import ParsedQuery


@dataclass(frozen=True, slots=True)
class Facts:
    """What a query's text says by itself. `names` are the relations that it names, folded and sorted; None where that can't
    be told without knowing which there are."""

    names: tuple[str, ...] | None
    may_make_names_data: bool


@dataclass(frozen=True, slots=True)
class Analysed:
    """What a query means in its program. `reads` are the relations read (folded) with the columns used, `columns` its
    outputs with types where known."""

    canonical: str
    reads: tuple[tuple[str, tuple[str, ...]], ...]
    columns: tuple[tuple[str, str | None], ...]
    lineage: Lineage | None
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the meaning of a query depends on besides its text, the same for all views of a program. `functions` are the
    numbers of parameters of the program's own, by folded name."""

    ansi: bool
    names_are_data: bool
    functions: Mapping[str, int]


class Queries:
    """The queries of one program while it is compiled: parses each at most once, and only what the cache does not know."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._parsed: dict[str, ParsedQuery] = {}

    def facts(self, query: str) -> Facts:
        """Facts of a query's text."""
        key = f"facts:{digest_of(query)}"
        kept = self._cache.recall(key)
        if kept is not None:
            names, makes = json.loads(kept)
            return Facts(tuple(names), makes)
        from reconciler.sql.query import Parsed
        from reconciler.sql.references import named_relations
        from reconciler.sql.spelling import may_make_names_data

        parsed = self._parse(query)
        if not isinstance(parsed, Parsed):
            return Facts(None, may_make_names_data(query))
        names = tuple(sorted({name.lower() for name in named_relations(parsed, query)}))
        found = Facts(names, may_make_names_data(query))
        self._cache.remember(key, _text([names, found.may_make_names_data]))
        return found

    def named(self, query: str, facts: Facts, known: Collection[str], reader: str) -> tuple[str, ...]:
        """Which of the known relations (folded names) the query of `reader` reads."""
        if facts.names is not None:
            return tuple(name for name in facts.names if name in known)
        from reconciler.sql.references import relations_among

        return relations_among(self._parse(query), query, known, reader)

    def analyse(
        self,
        view: ViewDeclaration,
        facts: Facts,
        relations: Mapping[str, Mapping[str, str | None]],
        digests: Mapping[str, str],
        surroundings: Surroundings,
    ) -> Analysed:
        """The analysis of a view's query. `digests` are those of the columns of `relations`, by folded name."""
        key = None
        if facts.names is not None and all(name in digests for name in facts.names):
            key = _analysis_key(view, facts.names, digests, surroundings)
            kept = self._cache.recall(key)
            if kept is not None:
                self._parsed.pop(view.query, None)
                return _decode(kept)
        found = self._analyse(view, relations, surroundings)
        # What is read beyond what is named was guessed from words, which depends on all relations that there are.
        guessed = any(relation not in (facts.names or ()) for relation, _ in found.reads)
        if key is not None and not found.diagnostics and not guessed:
            self._cache.remember(key, _encode(found))
        return found

    def _analyse(
        self, view: ViewDeclaration, relations: Mapping[str, Mapping[str, str | None]], surroundings: Surroundings
    ) -> Analysed:
        from reconciler.sql.check import analyse_query

        analysis = analyse_query(
            view.query,
            view.query_location,
            relations,
            stored=view.kind is ViewKind.MATERIALIZED,
            column_names=view.column_names,
            ansi=surroundings.ansi,
            parsed=self._parse(view.query),
            functions=surroundings.functions,
        )
        # Trees are large: each goes as soon as it was looked at.
        self._parsed.pop(view.query, None)
        canonical = canonical_query(view.query, surroundings.names_are_data)
        reads = tuple((read.relation, read.columns) for read in analysis.reads)
        return Analysed(canonical, reads, analysis.columns, analysis.lineage, analysis.diagnostics)

    def _parse(self, query: str) -> "ParsedQuery":
        from reconciler.sql.query import parse_query

        if query not in self._parsed:
            self._parsed[query] = parse_query(query)
        return self._parsed[query]


def digest_of(text: str) -> str:
    """A short digest for keys."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def columns_digest(columns: Mapping[str, str | None]) -> str:
    """The digest of a relation's columns with their types."""
    return digest_of(_text(list(columns.items())))


def _analysis_key(
    view: ViewDeclaration, names: tuple[str, ...], digests: Mapping[str, str], surroundings: Surroundings
) -> str:
    parts = [
        view.query,
        view.kind.value,
        view.column_names,
        [(name, digests[name]) for name in names],
        surroundings.ansi,
        surroundings.names_are_data,
        sorted(surroundings.functions.items()),
    ]
    return f"analysis:{digest_of(_text(parts))}"


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _encode(found: Analysed) -> str:
    lineage = found.lineage
    return _text(
        [
            found.canonical,
            found.reads,
            found.columns,
            None
            if lineage is None
            else [
                [(one.name, one.sources, one.repeatable) for one in lineage.outputs],
                lineage.rows,
                lineage.rows_repeatable,
            ],
        ]
    )


def _decode(kept: str) -> Analysed:
    canonical, reads, columns, lineage = json.loads(kept)
    return Analysed(
        canonical,
        tuple([(relation, tuple(names)) for relation, names in reads]),
        tuple([(name, kind) for name, kind in columns]),
        None if lineage is None else _decode_lineage(*lineage),
    )


def _decode_lineage(outputs: list[Any], rows: list[Any], rows_repeatable: bool) -> Lineage:
    decoded = [OutputLineage(name, tuple([(one, other) for one, other in sources]), same) for name, sources, same in outputs]
    return Lineage(tuple(decoded), tuple([(relation, column) for relation, column in rows]), rows_repeatable)
