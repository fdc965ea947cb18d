"""What is known of one query, from the cache where it was found out before.

Two things are kept, each under a key of all that it depends on:
- facts, of the text alone: which relations it names, whether it can make names data;
- the analysis, of the text and of the columns of what it names: what it reads, gives and descends from, and its canonical
  text.

Only of queries that parse and that nothing is wrong with: what is said of others has places and hints that depend on more.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.cache import Cache
from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ViewDeclaration, ViewKind
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import read_json
from reconciler.base.names import fold
from reconciler.project.program.order import Frontier
from reconciler.sql.canonicalise import canonical_text
from reconciler.sql.lineage import Lineage, OutputLineage
from reconciler.sql.spelling import Spelling
from reconciler.sql.surroundings import QuerySurroundings

if TYPE_CHECKING:
    from reconciler.sql.query import ParsedQuery

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a query's text says by itself. `digest` is the text's; `names` are the relations that it names, folded and
    sorted; None where that can't be told without knowing which there are."""

    digest: str
    names: tuple[str, ...] | None
    may_make_names_data: bool


@dataclass(frozen=True, slots=True)
class Analysed:
    """What a query means in its program. `reads` are the relations read (folded) with the columns used, `columns` its
    outputs with types where known; then their digest, and whether all have different names. `brought`: how many columns were
    looked at (`sql.limits`). `joins_crosswise`: each row is surely joined with each (`sql.cross_joins`)."""

    canonical: str
    reads: tuple[tuple[str, tuple[str, ...]], ...]
    columns: tuple[tuple[str, str | None], ...]
    columns_digest: str
    columns_differ: bool
    lineage: Lineage | None
    diagnostics: tuple[Diagnostic, ...] = ()
    brought: int = 0
    joins_crosswise: bool = False


@dataclass(frozen=True)
class Surroundings(QuerySurroundings):
    """What the meaning of a query depends on besides its text, the same for all views of a program. What names one of the
    `refused` relations is wrong, and never kept. What the registry holds is under no `limit`."""

    spelling: Spelling = Spelling.EVENED_OUT

    @cached_property
    def key(self) -> str:
        """All of it in one text."""
        functions = ",".join(
            f"{name} {count}{' steady' * (name in self.steady)}" for name, count in sorted(self.functions.items())
        )
        return f"{self.ansi} {self.spelling.name} {functions}"


class Queries:
    """The queries of one program while it is compiled: parses each at most once, and only what the cache does not know."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._parsed: dict[str, ParsedQuery] = {}
        self._missing: dict[tuple[str, str], str] = {}

    def facts(self, queries: Mapping[str, str]) -> dict[str, Facts]:
        """Facts of the texts of queries, each by its key."""
        digests = {key: digest_of(query) for key, query in queries.items()}
        self._cache.prepare(f"facts:{digest}" for digest in digests.values())
        return {key: self._facts(query, digests[key]) for key, query in queries.items()}

    def _facts(self, query: str, digest: str) -> Facts:
        key = f"facts:{digest}"
        kept = self._cache.recall(key)
        if kept is not None:
            return _decode_facts(digest, kept)
        from reconciler.sql.query import Parsed
        from reconciler.sql.references import named_relations
        from reconciler.sql.spelling import may_make_names_data

        parsed = self._parse(query)
        if not isinstance(parsed, Parsed):
            return Facts(digest, None, may_make_names_data(query))
        names = tuple(sorted({name.lower() for name in named_relations(parsed, query)}))
        found = Facts(digest, names, may_make_names_data(query))
        self._cache.remember(key, _text([names, found.may_make_names_data]))
        return found

    def named(self, query: str, facts: Facts, known: Collection[str], reader: str) -> tuple[str, ...]:
        """Which of the known relations (folded names) the query of `reader` reads."""
        if facts.names is not None:
            return tuple(name for name in facts.names if name in known)
        from reconciler.sql.references import relations_among

        return relations_among(self._parse(query), query, known, reader)

    def recall(
        self,
        views: Mapping[str, tuple[ViewDeclaration, Surroundings]],
        facts: Mapping[str, Facts],
        digests: Mapping[str, str],
    ) -> dict[str, Analysed]:
        """What the cache knows of views, by their keys: it is asked for all of them together. `digests` as in `analyse`."""
        keys = {name: _analysis_key(view, facts[name], digests, around) for name, (view, around) in views.items()}
        self._cache.prepare(key for key in keys.values() if key is not None)
        found: dict[str, Analysed] = {}
        for name, key in keys.items():
            view, surroundings = views[name]
            known = self._recall(view, key, surroundings) if key is not None else None
            if known is not None:
                found[name] = known
            elif key is not None:
                self._missing[view.name, facts[name].digest] = key
        return found

    def _recall(self, view: ViewDeclaration, key: str, surroundings: Surroundings) -> Analysed | None:
        kept = self._cache.recall(key)
        known = _decode(kept) if kept is not None else None
        # What was kept may have been found without a limit.
        if known is None or (surroundings.limit is not None and known.brought > surroundings.limit):
            return None
        self._parsed.pop(view.query, None)
        return known

    def analyse(
        self,
        view: ViewDeclaration,
        facts: Facts,
        relations: Mapping[str, Mapping[str, str | None]],
        digests: Mapping[str, str],
        surroundings: Surroundings,
    ) -> Analysed:
        """The analysis of a view's query. `digests` are those of the columns of `relations`, by folded name."""
        key = self._missing.get((view.name, facts.digest))
        if key is None:
            key = _analysis_key(view, facts, digests, surroundings)
            known = self._recall(view, key, surroundings) if key is not None else None
            if known is not None:
                return known
        found = self._analyse(view, relations, surroundings)
        # What is read beyond what is named was guessed from words, which depends on all relations that there are.
        guessed = any(relation not in (facts.names or ()) for relation, _ in found.reads)
        if key is not None and not found.diagnostics and not guessed:
            self._cache.remember(key, _encode(found))
        return found

    def _analyse(
        self, view: ViewDeclaration, relations: Mapping[str, Mapping[str, str | None]], surroundings: Surroundings
    ) -> Analysed:
        from reconciler.sql.check import ViewShape, analyse_query
        from reconciler.sql.cross_join_signs import may_cross_join
        from reconciler.sql.cross_joins import cross_joins

        parsed = self._parse(view.query)
        is_stored = view.kind in (ViewKind.MATERIALIZED, ViewKind.STREAM)
        analysis = analyse_query(
            view.query,
            view.query_location,
            relations,
            ViewShape(is_stored, view.column_names, is_read_in_place=not is_stored),
            surroundings,
            parsed,
        )
        # Asked of a plan's new views only, but asked later it would take parsing them again.
        crosswise = may_cross_join(view.query) and cross_joins(parsed, relations) > 0
        # Trees are large: each goes as soon as it was looked at.
        self._parsed.pop(view.query, None)
        canonical = canonical_text(view.query, surroundings.spelling)
        reads = tuple((read.relation, read.columns) for read in analysis.reads)
        # It is proven for texts that Spark reads as it does by itself.
        lineage = None if surroundings.spelling is Spelling.LAYOUT_ASIDE else analysis.lineage
        digest = columns_digest(analysis.columns)
        differ = len({fold(name) for name, _ in analysis.columns}) == len(analysis.columns)
        return Analysed(
            canonical,
            reads,
            analysis.columns,
            digest,
            differ,
            lineage,
            analysis.diagnostics,
            analysis.brought,
            crosswise,
        )

    def _parse(self, query: str) -> "ParsedQuery":
        from reconciler.sql.query import parse_query

        if query not in self._parsed:
            self._parsed[query] = parse_query(query)
        return self._parsed[query]


class Recalled:
    """What the cache knows of the views of a program, asked for as many at a time as there are of which all that they read
    is settled: a look for each would take longer than to analyse a plan's few new views. `digests` are those of columns, by
    relation; those of views are put in as they become known. Columns of `circular` views count as unknown."""

    def __init__(
        self, queries: Queries, facts: Mapping[str, Facts], digests: dict[str, str], circular: Collection[str]
    ) -> None:
        self._queries = queries
        self._facts = facts
        self._digests = digests
        self._circular = circular
        self._frontier = Frontier({key: one.names or () for key, one in facts.items()})
        self._found: dict[str, Analysed] = {}

    def of(self, key: str, asked: Callable[[str], tuple[ViewDeclaration, Surroundings]]) -> Analysed | None:
        """What is known of a view. `asked` says what is to be asked of any."""
        if key in self._frontier.ready:
            while self._frontier.ready:
                views = {name: asked(name) for name in self._frontier.take()}
                for name, found in self._queries.recall(views, self._facts, self._digests).items():
                    self._found[name] = found
                    self.settle(name, found)
        return self._found.pop(key, None)

    def settle(self, key: str, analysed: Analysed) -> None:
        """A view was analysed."""
        if key not in self._circular and analysed.columns_differ:
            self._digests[key] = analysed.columns_digest
        self._frontier.done(key)


def unknown(view: ViewDeclaration) -> Analysed:
    """What stands for a view that is not looked at."""
    columns = tuple((name, None) for name in view.column_names)
    return Analysed(view.query, (), columns, columns_digest(columns), True, None)


def digest_of(text: str) -> str:
    """A short digest for keys."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def columns_digest(columns: Iterable[tuple[str, str | None]]) -> str:
    """The digest of a relation's columns with their types."""
    return digest_of(_text(list(columns)))


def _analysis_key(view: ViewDeclaration, facts: Facts, digests: Mapping[str, str], surroundings: Surroundings) -> str | None:
    """None where it can't be told what the query names, or nothing is known of that."""
    if facts.names is None or not all(name in digests for name in facts.names):
        return None
    parts = [
        facts.digest,
        view.kind.value,
        ",".join(view.column_names),
        *[f"{name} {digests[name]}" for name in facts.names],
        surroundings.key,
    ]
    return f"analysis:{digest_of(chr(10).join(parts))}"


def _text(value: object) -> str:
    return _ENCODER.encode(value)


def _encode(found: Analysed) -> str:
    lineage = found.lineage
    return _text(
        [
            found.canonical,
            found.reads,
            found.columns,
            found.columns_digest,
            found.columns_differ,
            found.brought,
            found.joins_crosswise,
            None
            if lineage is None
            else [
                [(one.name, one.sources, one.repeatable, one.functions) for one in lineage.outputs],
                lineage.rows,
                lineage.rows_repeatable,
                lineage.rows_functions,
            ],
        ]
    )


@lru_cache(maxsize=1 << 16)
def _decode_facts(digest: str, kept: str) -> Facts:
    names, makes = read_json(kept)
    return Facts(digest, tuple(names), makes)


@lru_cache(maxsize=1 << 16)
def _decode(kept: str) -> Analysed:
    """Remembered: what is applied and what is desired mostly hold the same queries."""
    canonical, reads, columns, digest, differ, brought, crosswise, lineage = read_json(kept)
    return Analysed(
        canonical,
        tuple([(relation, tuple(names)) for relation, names in reads]),
        tuple([(name, kind) for name, kind in columns]),
        digest,
        differ,
        None if lineage is None else _decode_lineage(*lineage),
        brought=brought,
        joins_crosswise=crosswise,
    )


def _decode_lineage(outputs: list[Any], rows: list[Any], rows_repeatable: bool, rows_functions: list[str]) -> Lineage:
    decoded = [
        OutputLineage(name, tuple([(one, other) for one, other in sources]), same, tuple(functions))
        for name, sources, same, functions in outputs
    ]
    pairs = tuple([(relation, column) for relation, column in rows])
    return Lineage(tuple(decoded), pairs, rows_repeatable, tuple(rows_functions))
